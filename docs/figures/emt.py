"""Make the tables and the figure of docs/emt.md, in about a minute: a converter in 50 us inside WSCC-9."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

import partitioning
import psmr
from psmr.base.errors import PsmrError
from psmr.figures.chart import COLOURS
from psmr.figures.with_matplotlib import forget, new_figure, save, styled

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
H_FAST = 5e-5
SETS = {"the converter": ["C3"], "the converter and its bus": ["C3", "bus3"]}
FAULT = (psmr.Fault(bus=5, start=1.0, clear=1.1),)
RIPPLE = (psmr.ParameterStep("C3", "v_2", 0.03, start=0.1),)
SHOWN = ("G2.omega", "C3.theta", "C3.i_d", "bus3.v", "bus5.v")


def splits(linear: object) -> dict[str, object]:
    return {name: partitioning.by_device(linear, fast=fast) for name, fast in SETS.items()}


def scheme(split: object, h_slow: float, predictor: str) -> psmr.Multirate:
    return psmr.Multirate(split, h_slow, round(h_slow / H_FAST), predictor=predictor, solution="TM")


def pencil_table(linear: object, modes: object) -> str:
    """What the pencil says: radius, and the deformation of three modes by what they are."""
    swings = modes[modes.dominant_state.str.endswith("omega")]
    chosen = {
        "electromechanical": swings.sort_values("imag").iloc[-1],
        "phase-locked loop": modes[modes.dominant_state == "C3.theta"].iloc[0],
        "power control": modes[modes.dominant_state == "C3.x_p"].iloc[0],
    }
    lines = [
        "| fast set | predictor | h_slow | verdict | " + " | ".join(
            f"{name} ({row.real:.3g} ± j{abs(row.imag):.3g})" for name, row in chosen.items()) + " |",
        "|---|---|---|---|--:|--:|--:|",
    ]  # fmt: skip
    for fast, split in splits(linear).items():
        for predictor in ("FEM", "TM"):
            for h in (0.001, 0.002, 0.005):
                report = psmr.deformation(linear, scheme(split, h, predictor))
                table = report.table
                found = []
                for row in chosen.values():
                    nearest = (np.abs(table.real - row.real) + np.abs(table.imag - row.imag)).idxmin()
                    found.append(f"{100 * table.relative_deformation[nearest]:.2g} %")
                verdict = "stable" if report.stable else f"**grows**, {report.spectral_radius:.3g} a step"
                lines.append(
                    f"| {fast} | {predictor} | {1e3 * h:g} ms | {verdict} | " + " | ".join(found) + " |"
                )
    return "\n".join(lines)


def run_table(system: object, linear: object, events: tuple, end: float, since: float) -> tuple[str, dict]:
    """What the simulation shows: largest error against 10 us after `since`, and the time it took."""
    runs: dict[str, psmr.Run | None] = {}
    exact = psmr.simulate(system, psmr.SingleRate("SDIRK2", 1e-5), end, events, certify=False)
    lines = [
        "| scheme | time | " + " | ".join(f"`{name}`" for name in SHOWN) + " |",
        "|---|--:|" + "--:|" * len(SHOWN),
    ]
    schemes: list[tuple[str, Callable[[], object]]] = [
        (f"TM, {1e6 * h:g} us", lambda h=h: psmr.SingleRate("TM", h)) for h in (5e-5, 2e-4, 1e-3)
    ]
    for fast, split in splits(linear).items():
        for predictor, h in (("FEM", 0.001), ("FEM", 0.005), ("TM", 0.001), ("TM", 0.005)):
            name = f"{predictor}/TM, {1e3 * h:g} ms and 50 us, fast: {fast}"
            schemes.append((name, lambda s=split, h=h, p=predictor: scheme(s, h, p)))
    for name, make in schemes:
        try:
            repeats = [psmr.simulate(system, make(), end, events, certify=False) for _ in range(3)]
        except PsmrError as problem:
            runs[name] = None
            lines.append(
                f"| {name} | | " + f"fails: {str(problem).split(',')[0]} |" + " |" * (len(SHOWN) - 1)
            )
            continue
        run = runs[name] = repeats[0]
        at = run.t[(run.t > since) & (run.t < end)]
        errors = [np.abs(run.at(at)[n].to_numpy() - exact.at(at)[n].to_numpy()).max() for n in SHOWN]
        seconds = float(np.median([r.stats.counters.seconds for r in repeats]))
        lines.append(f"| {name} | {1e3 * seconds:.0f} ms | " + " | ".join(f"{e:.1e}" for e in errors) + " |")
    runs["exact"] = exact
    return "\n".join(lines), runs


def radii(linear: object) -> dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
    """Return (h_slow, spectral radius) by fast set and predictor."""
    steps = H_FAST * np.array([5, 10, 20, 30, 36, 41, 42, 46, 52, 60, 70, 80, 100])
    return {
        (fast, predictor): (
            steps,
            np.array([psmr.deformation(linear, scheme(split, h, predictor)).spectral_radius for h in steps]),
        )
        for fast, split in splits(linear).items()
        for predictor in ("FEM", "TM")
    }


def draw(found: dict, fault: dict, ripple: dict) -> None:
    with styled():
        figure = new_figure(7.4, 8.6)
        pencil, swing, wave = figure.subplots(3, 1)
        for ((fast, predictor), (steps, radius)), colour, style in zip(
            found.items(),
            (COLOURS[1], COLOURS[0], COLOURS[3], COLOURS[2]),
            ("-", "-", "--", "--"),
            strict=True,
        ):
            pencil.plot(1e3 * steps, radius, style, color=colour, label=f"{predictor}, fast: {fast}")
        pencil.set(
            xlabel="macro step [ms], with fast steps of 50 us",
            ylabel="spectral radius of the macro step",
            ylim=(0.9, 3),
        )
        pencil.set_title("What the pencil says", loc="left")
        pencil.legend(fontsize=9, frameon=False)
        bus = "fast: the converter and its bus"
        lines = {
            "exact": ("SDIRK2, 10 us", COLOURS[0], "-"),
            f"FEM/TM, 5 ms and 50 us, {bus}": ("FEM/TM, 5 ms and 50 us", COLOURS[3], "-"),
            f"TM/TM, 5 ms and 50 us, {bus}": ("TM/TM, 5 ms and 50 us", COLOURS[1], "--"),
        }
        for name, (label, colour, style) in lines.items():
            voltage = fault[name]["bus3.v"]
            swing.plot(voltage.index, voltage, style, color=colour, label=label, linewidth=1.2)
        swing.set(xlabel="time [s]", ylabel="voltage at bus 3 [pu]", xlim=(0.98, 1.5))
        swing.set_title("The fault", loc="left")
        swing.legend(fontsize=9, frameon=False)
        for name, (label, colour, _) in lines.items():
            current = ripple[name]["C3.i_od"]
            # Between two macro points the ripple turns more than once: a line would say something else.
            look = (
                {"linewidth": 1.0}
                if name == "exact"
                else {"linestyle": "none", "marker": ".", "markersize": 4}
            )
            shown = label if name == "exact" else f"{label}: macro points"
            wave.plot(1e3 * current.index, current, color=colour, label=shown, **look)
        wave.set(
            xlabel="time [ms]",
            ylabel="current of the converter, d axis [pu]",
            xlim=(1000, 1050),
            ylim=(0.625, 0.72),
        )
        wave.set_title("3 % negative sequence", loc="left")
        wave.legend(fontsize=9, loc="upper right", frameon=False)
        save(figure, HERE / "emt.svg")
        forget(figure)


if __name__ == "__main__":
    system = psmr.build(psmr.read_case(ROOT / "cases/wscc9/wscc9-emt.toml"))
    linear = system.linearise()
    text = pencil_table(linear, psmr.modes(linear))
    print(text)
    (HERE / "emt-pencil.inc").write_text(text + "\n")
    fault, after_fault = run_table(system, linear, FAULT, 3.0, 1.1)
    print(fault)
    (HERE / "emt-fault.inc").write_text(fault + "\n")
    ripple, with_ripple = run_table(system, linear, RIPPLE, 2.0, 1.0)
    print(ripple)
    (HERE / "emt-ripple.inc").write_text(ripple + "\n")
    draw(radii(linear), after_fault, with_ripple)
