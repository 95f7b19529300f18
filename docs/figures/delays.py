"""Make the figure of docs/delays.md: python docs/figures/delays.py."""

from pathlib import Path

import numpy as np

import psmr
from psmr.figures.chart import COLOURS, FAINT, INK
from psmr.figures.with_matplotlib import STYLE, new_figure, save, styled

STYLE["svg.fonttype"] = "path"

PLANTS = (1, 2, 3)
DELAYS = np.linspace(0.0, 0.5, 26)  # s
RUNS = (5, 12, 19, 25)  # delays at which a run is made
# Title, delayed signals, the mode without delay in 1/s, steps of the trapezoidal rule in s; kicked and seen.
PANELS = (
    ("exciter mode, voltages late", "AVR{}.v", -0.23 + 1.27j, (0.2, 0.4), "AVR1.v_r", "G1.e_q"),
    ("rotor mode, stabilisers late", "PSS{}.omega", -0.2 + 8.37j, (0.02, 0.05, 0.1), "G2.omega", "G2.omega"),
)  # fmt: skip


def damping(s):
    """Return the damping ratio of a mode in per cent."""
    return -100.0 * s.real / np.abs(s)


def late(signal, tau):
    """Return the system with the signals of all plants late by tau in s."""
    return psmr.with_delays(system, {signal.format(plant): tau for plant in PLANTS})


def by_delay(signal, mode, schemes):
    """Return a mode by delay, exact and of each scheme."""
    found = np.empty((len(DELAYS), 1 + len(schemes)), complex)
    for k, tau in enumerate(DELAYS):
        linear = late(signal, tau).linearise()
        exact = psmr.modes(linear)
        s = exact["real"].to_numpy() + 1j * exact["imag"].to_numpy()
        mode = found[k, 0] = s[np.abs(s - mode).argmin()]
        for j, scheme in enumerate(schemes):
            table = psmr.deformation(linear, scheme).table
            row = table.iloc[np.hypot(table["real"] - mode.real, table["imag"] - mode.imag).argmin()]
            found[k, 1 + j] = complex(row["real_numerical"], row["imag_numerical"])
    return found


def of_run(signal, tau, scheme, kicked, seen, near):
    """Return the mode that a run of the nonlinear system shows after a small kick."""
    delayed = late(signal, tau)
    start = delayed.x0.copy()
    start[delayed.names_x.index(kicked)] += 1e-5
    run = psmr.simulate(delayed, scheme, 30.0, start=(start, delayed.y0), record=[seen], certify=False)
    settled = run.t > 3.0
    swing = run[seen].to_numpy() - delayed.x0[delayed.names_x.index(seen)]
    return psmr.fit_mode(run.t[settled], swing[settled], near=near)


system = psmr.build(psmr.case("wscc9"))
with styled():
    figure = new_figure(8.2, 3.4)
    for axis, panel in zip(figure.subplots(1, 2), PANELS, strict=True):
        title, signal, mode, steps, kicked, seen = panel
        schemes = [psmr.SingleRate("TM", h) for h in steps] + [psmr.SingleRate("BEM", 0.01)]
        found = by_delay(signal, mode, schemes)
        axis.axhline(0.0, color=FAINT, linewidth=0.8)
        axis.plot(1e3 * DELAYS, damping(found[:, 0]), color=INK, linewidth=2.6, alpha=0.35, label="exact")
        for scheme, numerical, colour in zip(schemes, found.T[1:], COLOURS, strict=False):
            label = f"{scheme.method}, h = {1e3 * scheme.h:g} ms"
            axis.plot(1e3 * DELAYS, damping(numerical), color=colour, linewidth=1.2, label=label)
            runs = [of_run(signal, DELAYS[k], scheme, kicked, seen, numerical[k]) for k in RUNS]
            axis.plot(1e3 * DELAYS[list(RUNS)], damping(np.array(runs)), "o", color=colour, markersize=4)
        axis.set(xlabel="delay [ms]", ylabel="damping ratio [%]", title=title)
        axis.legend()
save(figure, Path(__file__).parent / "delays.svg")
