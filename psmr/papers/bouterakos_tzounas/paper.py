"""What the abstract states of the theta method with delays: New England, figures, the numbers of its claims.

Abstract and introduction were at hand, not the paper's sections, tables and figures: the examples are ours.
Here the gains of the delayed stabilisers are -0.7 times those of the case: a stabiliser whose signal is late
by half a period acts the wrong way round, so that the delay of 0.3 s is what makes them damp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from psmr.base.arrays import Reals
from psmr.dae.system.assemble import assemble, with_delays
from psmr.dae.system.eigenvalues import modes
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.figures.chart import COLOURS, FAINT, INK
from psmr.figures.with_matplotlib import new_figure
from psmr.files.shipped import case
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.one_step import SingleRate
from psmr.integrate.schemes.scheme import Scheme
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.network.start.initialise import build
from psmr.papers.bouterakos_tzounas import scalar_equation
from psmr.papers.catalogue import Paper, Results
from psmr.pencil.modes.shapes import fit_mode
from psmr.pencil.operator.step_operator import step_operator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Delay in s, factor of the gains, and how many stabilisers are delayed at most: of plants 39, 38, 37, ...
TAU, GAIN, MOST = 0.3, -0.7, 5
PLANTS = tuple(range(39, 39 - MOST, -1))
STEPS = (0.3, 0.2, 0.15, 0.1)  # s
WATCHED = ("G37.omega", "G39.omega")


def delayed_stabilisers(plants: Sequence[int]) -> System:
    """Return the system with the stabilisers of some plants reversed and late by `TAU`."""
    system = build(case("new-england"))
    late = {f"PSS{plant}" for plant in plants}
    devices = [
        replace(device, parameters={**device.parameters, "k_s": GAIN * device.parameters["k_s"]})
        if device.name in late
        else device
        for device in system.devices
    ]
    names = (*system.names_x, *system.names_y, *system.names_u)
    start = dict(zip(names, map(float, system.w0[:-1]), strict=True))
    reversed_gains = assemble(devices, start, name=system.name)
    return with_delays(reversed_gains, {f"{name}.omega": TAU for name in sorted(late)})


def least_stable(linear: LinearDae) -> complex:
    """Return the least stable oscillation in 1/s, the angle of the whole system aside."""
    table = modes(linear)
    row = table[table["imag"] > 0.5].sort_values("real").iloc[-1]
    return complex(row["real"], row["imag"])


def least_stable_numerical(linear: LinearDae, scheme: Scheme) -> complex:
    """Return what a scheme has as its least stable oscillation, in 1/s."""
    z = np.linalg.eigvals(step_operator(linear, scheme)).astype(complex)
    s = np.log(z[np.abs(z) > 1e-9]) / scheme.step
    s = s[s.imag > 0.5]
    return complex(s[s.real.argmax()])


def by_number() -> pd.DataFrame:
    """Return the growth of the least stable oscillation in 1/s by the number of delayed stabilisers."""
    rows = []
    for count in range(1, MOST + 1):
        linear = delayed_stabilisers(PLANTS[:count]).linearise()
        row = {"delayed stabilisers": count, "exact": least_stable(linear).real}
        for method, h in (*(("TM", h) for h in STEPS), ("BEM", STEPS[0])):
            row[f"{method}, h = {h:g} s"] = least_stable_numerical(linear, SingleRate(method, h)).real
        rows.append(row)
    return pd.DataFrame(rows)


class Swings(NamedTuple):
    """Runs of the system with `MOST` delayed stabilisers after a small change of a speed.

    `curves` has (K,) times in s and the (K,) speed of plant 37 less that of plant 39 in pu by the words of
    the scheme; `run` and `pencil` the growing mode as the run and as the pencil have it, in 1/s.
    """

    curves: dict[str, tuple[Reals, Reals]]
    run: complex
    pencil: complex

    @property
    def apart(self) -> float:
        """Distance of the two in 1/s."""
        return abs(self.run - self.pencil)

    @property
    def ratio(self) -> tuple[float, ...]:
        """Largest difference of the speeds in the last 10 s over that in the first 10 s, by scheme."""
        sizes = [(t, np.abs(apart)) for t, apart in self.curves.values()]
        return tuple(float(size[t > t[-1] - 10.0].max() / size[t < 10.0].max()) for t, size in sizes)


def swings(t_end: float = 90.0, kick: float = 1e-5) -> Swings:
    """Return a run by the trapezoidal rule with h = TAU, and one whose steps follow its error."""
    system, scheme = delayed_stabilisers(PLANTS), SingleRate("TM", TAU)
    start = system.x0.copy()
    start[system.names_x.index(WATCHED[0])] += kick
    first, second = (system.names_x.index(name) for name in WATCHED)
    curves = {}
    for words, taken in ((f"TM, h = {TAU:g} s", scheme), ("steps by error", VariableStep(1e-6))):
        run = integrate(system, taken, t_end, start=(start, system.y0))
        curves[words] = (run.t, run.x[:, first] - run.x[:, second])
    t, apart = curves[f"TM, h = {TAU:g} s"]
    late = t > 0.5 * t_end
    pencil = least_stable_numerical(system.linearise(), scheme)
    return Swings(curves, fit_mode(t[late], apart[late], near=pencil), pencil)


def stable_numbers(table: pd.DataFrame, column: str) -> list[int]:
    """Return the numbers of delayed stabilisers that a column of `by_number` has as stable."""
    return [int(count) for count in table.loc[table[column] < 0.0, "delayed stabilisers"]]


def _look(words: str, k: int) -> dict[str, Any]:
    """Return the style of the k-th line, of the exact one as of all figures of this paper."""
    exact = {"color": INK, "linewidth": 2.6, "alpha": 0.35}
    return {**(exact if words == "exact" else {"color": COLOURS[k - 1], "linewidth": 1.2}), "label": words}


def delay_figure(r: Results) -> Figure:
    """Draw the growth of the test equation over its delay: exactly, and by schemes."""
    figure = new_figure(8.2, 3.8)
    axis = figure.subplots()
    axis.axhline(0.0, color=FAINT, linewidth=0.8)
    for k, (words, (tau, growth)) in enumerate(r.growth_by_delay.items()):
        axis.plot(tau, growth, **_look(words, k))
    axis.set(
        xlabel="delay τ [s]",
        ylabel="growth [1/s]",
        title="x' = 7j x + x(t - τ): the trapezoidal rule needs a longer delay",
        xlim=(0.05, 0.6),
        ylim=(-1.6, 1.1),
    )
    axis.legend(loc="lower left", ncols=2)
    return figure


def new_england_figure(r: Results) -> Figure:
    """Draw the growth by the number of delayed stabilisers, and two runs with all of them."""
    figure = new_figure(8.2, 3.6)
    left, right = figure.subplots(1, 2)
    left.axhline(0.0, color=FAINT, linewidth=0.8)
    lines = r.by_number.set_index("delayed stabilisers").drop(columns="BEM, h = 0.3 s")
    for k, (words, growth) in enumerate(lines.items()):
        left.plot(growth.index, growth, **_look(words, k), marker="o", ms=3)
    left.set(
        xlabel="delayed stabilisers",
        ylabel="growth of the least stable oscillation [1/s]",
        title="by the number of delayed signals",
        xticks=range(1, MOST + 1),
    )
    left.legend(loc="lower right")
    for (words, (t, apart)), colour in zip(r.swings.curves.items(), COLOURS, strict=False):
        right.plot(t, 1e6 * apart, color=colour, linewidth=0.8, label=words)
    right.set(
        xlabel="t [s]",
        ylabel="speed of plant 37 less 39 [1e-6 pu]",
        title=f"{MOST} delayed stabilisers: two runs",
    )
    right.legend(loc="upper left")
    return figure


def numbers(r: Results) -> dict[str, Any]:
    """Return the numbers by their names in ``claims.toml``."""
    bounds = r.boundaries.to_dict("list")
    by_step = r.thetas.set_index("theta")
    whole, quarter = r.simulated
    return {
        "tau": scalar_equation.TAU,
        "exact": scalar_equation.exact_growth(scalar_equation.oscillator(scalar_equation.TAU)),
        "trapezoidal": float(by_step.loc[0.5, "h = tau/1"]),
        "finer": float(by_step.loc[0.5, "h = tau/2"]),
        "theta": float(by_step.loc[0.51, "h = tau/1"]),
        "backward": float(by_step.loc[1.0, "h = tau/1"]),
        "formula": bounds["2 m tan(pi/4m)"],
        "least": bounds["oscillator, least (w - mu) tau"],
        "largest": bounds["x' = -b x(t - tau), largest b tau"],
        "independent": r.independent,
        "grown": whole.grown,
        "decayed": quarter.grown,
        "run_apart": max(whole.difference, quarter.difference),
        "exact_plants": list(r.by_number["exact"]),
        "few": float(r.by_number["TM, h = 0.2 s"].iloc[-2]),
        "many": float(r.by_number["TM, h = 0.2 s"].iloc[-1]),
        "stable": {
            column: str(len(stable_numbers(r.by_number, column)))
            for column in r.by_number
            if column.startswith("TM")
        },
        "finest": list(r.by_number["TM, h = 0.1 s"]),
        "backward_plants": list(r.by_number["BEM, h = 0.3 s"]),
        "swings": r.swings,
        "ratio": r.swings.ratio,
    }


PAPER = Paper(
    name="bouterakos-tzounas",
    citation="A. Bouterakos, G. Tzounas, Stability of the theta method for systems with multiple "
    "time-delayed variables, arXiv 2409.04399 (abstract and introduction)",
    parts={
        "scalar test equation": lambda r: {
            "boundaries": scalar_equation.boundaries(),
            "thetas": scalar_equation.thetas(),
            "growth_by_delay": scalar_equation.growth_by_delay(),
        },
        "delay-independent stability": lambda r: {"independent": scalar_equation.delay_independent()},
        "runs of the test equation": lambda r: {
            "simulated": [scalar_equation.simulated(parts) for parts in (1, 4)]
        },
        "New England with delayed stabilisers": lambda r: {"by_number": by_number(), "swings": swings()},
    },
    tables=lambda r: {
        "Boundaries: of stability by the trapezoidal rule": r.boundaries,
        "Theta: growth of the test equation in 1/s by theta and step": r.thetas,
        "Growth by number: New England, least stable oscillation in 1/s": r.by_number,
    },
    figures={
        "Test equation: growth over the delay": ("bouterakos-delay.svg", delay_figure),
        "New England: delayed stabilisers": ("bouterakos-new-england.svg", new_england_figure),
    },
    numbers=numbers,
)
