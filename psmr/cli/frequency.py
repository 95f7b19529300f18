"""Commands over frequencies: responses of a system and its simulation, impedances at a bus."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from psmr.base.declared import Option
from psmr.base.errors import InputError
from psmr.cli.console import print_result, write_csv
from psmr.cli.options import JSON, PICTURE, START, TABLE, Fills, Given, input_file, system_and_recipe

if TYPE_CHECKING:
    import pandas as pd

    from psmr.dae.system.system import System
    from psmr.integrate.schemes.scheme import Scheme

CASE = Option(
    "case file, or study file, whose scheme is looked at as well, or a name that `psmr cases` lists; - reads"
    " standard input",
    "CASE|STUDY",
)
BETWEEN = Fills("psmr.network.signals.state_space.state_space", "inputs outputs")
SIMULATION = Fills("psmr.pencil.operator.simulated_response.simulated_response", "input")
PLACE = Fills("psmr.network.impedance.impedance_scan", "bus plant")
COUNT = Option("number of them; default 400", "K")
FIGURE = Option("draw it (.svg, .png, .pdf)", "FILE")
GAINS = Option("write the gains as CSV", "FILE")


def response(
    case: Annotated[str, input_file, CASE],
    *,
    json: Annotated[bool, JSON] = False,
    reading: Annotated[Given, START],
    between: Annotated[Given, BETWEEN],
    low: Annotated[float, "default 0.01", "HZ", Option(name="from")] = 0.01,
    high: Annotated[float, "default 100", "HZ", Option(name="to")] = 100.0,
    count: Annotated[int, COUNT] = 400,
    simulation: Annotated[Given, SIMULATION],
    figure: Annotated[str | None, PICTURE, FIGURE] = None,
    table: Annotated[str | None, TABLE, GAINS] = None,
) -> None:
    """Show the frequency response from set-points or injections to signals, and what a simulation makes of it.

    example: psmr response cases/wscc9/wscc9.toml --input AVR2.v_ref --output G2.omega bus5.v --figure
    bode.svg
    """  # noqa: E501
    hertz = _frequencies(low, high, count)
    system, scheme = _system_and_scheme(case, reading)
    from psmr.figures.frequency import bode
    from psmr.figures.with_matplotlib import save
    from psmr.pencil.operator.simulated_response import response_sentences, simulated_response

    own = system.state_space(**between)
    exact = own.response(hertz)
    simulated, why = None, _without_simulation(scheme, hertz)
    if scheme is not None and not why:
        below = hertz[hertz <= 0.5 / scheme.step]
        simulated = simulated_response(own, scheme, below, **{"input": "linear", **simulation})
    if figure:
        save(bode(exact, simulated), figure)
    gains = _gains(exact, simulated)
    write_csv(table, gains)
    sentences = response_sentences(exact, simulated)
    head = f"{system.name}, {hertz[0]:g} to {hertz[-1]:g} Hz"
    if simulated is not None:
        head += f"; simulation: {scheme}"
    record = {"system": system.name, "scheme": None if simulated is None else str(scheme)}
    print_result(
        json,
        lambda: {**record, "sentences": sentences, "gains": gains.to_dict("records")},
        *(head, *sentences, *filter(None, [why])),
        written=(figure, table),
    )


def scan(
    case: Annotated[str, input_file, CASE],
    *,
    json: Annotated[bool, JSON] = False,
    reading: Annotated[Given, START],
    at: Annotated[Given, PLACE],
    modified_sequence: Annotated[bool, "modified sequence domain (p, n) in place of d and q"] = False,
    low: Annotated[float, "default 1", "HZ", Option(name="from")] = 1.0,
    high: Annotated[float, "default 1000", "HZ", Option(name="to")] = 1000.0,
    count: Annotated[int, COUNT] = 400,
    figure: Annotated[str | None, PICTURE, FIGURE] = None,
    table: Annotated[str | None, TABLE, GAINS] = None,
) -> None:
    """Scan the impedances of the grid and of a plant at a bus, and judge them by Nyquist and passivity.

    example: psmr scan cases/wscc9/wscc9-emt.toml --bus 3 --figure scan.svg
    """
    hertz = _frequencies(low, high, count)
    system, scheme = _system_and_scheme(case, reading)
    from psmr.figures.frequency import scan_figure
    from psmr.figures.with_matplotlib import save
    from psmr.network.impedance import impedance_scan
    from psmr.pencil.operator.simulated_response import response_sentences, simulated_response

    found = impedance_scan(system, **at, f=hertz)
    sentences = found.sentences()
    if why := _without_simulation(scheme, hertz):
        sentences.append(why)
    elif scheme is not None:
        own = found.matrices
        simulated = simulated_response(own, scheme, hertz[hertz <= 0.5 / scheme.step], "linear")
        sentences.append(f"As {scheme} has the voltage over a current into {found.bus}:")
        sentences += response_sentences(own.response(hertz), simulated)
    if modified_sequence:
        found = found.sequence
    if figure:
        save(scan_figure(found), figure)
    impedances: pd.DataFrame = found.frame()
    write_csv(table, impedances)
    plant = f"plant {', '.join(found.plant)}, " if found.plant else ""
    head = f"{system.name}, {found.bus}: {plant}{hertz[0]:g} to {hertz[-1]:g} Hz"
    record: dict[str, Any] = {
        "system": system.name,
        "bus": found.bus,
        "plant": list(found.plant),
        "stable": found.stable,
    }
    record |= {"unstable_modes": found.unstable, "sentences": sentences}
    print_result(
        json,
        lambda: {**record, "scan": impedances.to_dict("records")},
        *(head, *sentences),
        written=(figure, table),
    )


def _frequencies(low: float, high: float, count: int) -> Any:
    """Return `count` frequencies in Hz from `low` to `high`; raises InputError for a range that is none."""
    import numpy as np

    if not 0 < low < high < float("inf"):
        raise InputError(
            f"--from {low:g} --to {high:g}: must be frequencies in Hz above 0, the lower one first"
        )
    if not 2 <= count <= 1_000_000:
        raise InputError(f"--count {count}: must be from 2 to 1,000,000 frequencies")
    return np.geomspace(low, high, count)


def _without_simulation(scheme: Scheme | None, hertz: Any) -> str:
    """Return why a study's scheme has no response at frequencies in Hz, "" where it has or there is none."""
    if scheme is None:
        return ""
    if not math.isfinite(scheme.step):
        return f"Only the system is shown: the study's scheme ({scheme}) has no one step."
    if hertz[0] > (nyquist := 0.5 / scheme.step):
        return (
            f"Only the system is shown: with steps of {scheme.step:g} s a simulation has no gain above"
            f" {nyquist:g} Hz."
        )
    return ""


def _system_and_scheme(case: str, reading: Given) -> tuple[System, Scheme | None]:
    """Return the system of a case or study, and the study's scheme."""
    system, recipe = system_and_recipe(case, reading)
    return system, None if recipe is None else recipe.scheme(system.linearise())


def _gains(exact: Any, simulated: Any) -> pd.DataFrame:
    """Return the gains of the system and of the simulation in one table."""
    table: pd.DataFrame = exact.frame()
    if simulated is None:
        return table
    names = {name: f"{name}_simulated" for name in ("magnitude", "real", "imag")}
    other = simulated.frame().drop(columns=["phase_deg"]).rename(columns=names)
    return table.merge(other, on=["frequency_hz", "output", "input"], how="left")
