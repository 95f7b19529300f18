"""``psmr response``: the frequency response between inputs and signals, of the system and its simulation."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from psmr.base.errors import InputError
from psmr.base.files import PICTURES, TABLES
from psmr.cli.console import print_json, show, tell_written, write_csv
from psmr.cli.options import (
    add_command,
    case_file,
    case_options,
    check_study_options,
    names_study,
    path,
    require_targets,
)

if TYPE_CHECKING:
    import pandas as pd

    from psmr.dae.system.system import System
    from psmr.integrate.schemes.scheme import Scheme


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    response = add_command(
        subparsers,
        "response",
        command,
        "show the frequency response from set-points or injections to signals, and what a simulation makes"
        " of it",
        "psmr response cases/wscc9/wscc9.toml --input AVR2.v_ref --output G2.omega bus5.v --figure bode.svg",
    )
    case_options(response, "CASE|STUDY", "case file, or study file, whose scheme is looked at as well")
    response.add_argument(
        "--input",
        nargs="+",
        metavar="NAME",
        required=True,
        help="set-points, injections (bus5.p), parameters",
    )
    response.add_argument("--output", nargs="+", metavar="NAME", required=True, help="signals, or patterns")
    range_options(response, 0.01, 100.0)
    response.add_argument(
        "--within-step",
        choices=("sampled", "linear", "held"),
        default="linear",
        help="what the input is within a step of the simulation: the sinusoid itself, a line between the ends"
        " as a time series has it (default), or held",
    )
    file_options(response)


def range_options(command: argparse.ArgumentParser, low: float, high: float) -> None:
    """Add the range of frequencies."""
    command.add_argument("--from", dest="low", type=float, default=low, metavar="HZ", help=f"default {low:g}")
    command.add_argument(
        "--to", dest="high", type=float, default=high, metavar="HZ", help=f"default {high:g}"
    )
    command.add_argument("--count", type=int, default=400, metavar="K", help="number of them; default 400")


def file_options(command: argparse.ArgumentParser) -> None:
    """Add the files that are written."""
    command.add_argument("--figure", type=path, metavar="FILE", help="draw it (.svg, .png, .pdf)")
    command.add_argument("--table", type=path, metavar="FILE", help="write the gains as CSV")


def frequencies(arguments: argparse.Namespace) -> Any:
    """Return the frequencies in Hz that the options ask for.

    Raises
    ------
    InputError
        For a range that is none.
    """
    import numpy as np

    low, high, count = arguments.low, arguments.high, arguments.count
    if not 0 < low < high < float("inf"):
        raise InputError(
            f"--from {low:g} --to {high:g}: must be frequencies in Hz above 0, the lower one first"
        )
    if not 2 <= count <= 1_000_000:
        raise InputError(f"--count {count}: must be from 2 to 1,000,000 frequencies")
    return np.geomspace(low, high, count)


def without_simulation(scheme: Scheme | None, hertz: Any) -> str:
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


def system_and_scheme(arguments: argparse.Namespace) -> tuple[System, Scheme | None]:
    """Return the system of a case or study, and the study's scheme."""
    from psmr.cli.run_study import prepare
    from psmr.study.file.read_study import read_study
    from psmr.study.file.study import load_system

    require_targets({"--figure": arguments.figure}, PICTURES)
    require_targets({"--table": arguments.table}, TABLES)
    if not names_study(arguments):
        return load_system(case_file(arguments)), None
    check_study_options(arguments, {})
    system, recipe = prepare(read_study(arguments.case, arguments.allow_code))
    return system, recipe.scheme(system.linearise())


def command(arguments: argparse.Namespace) -> None:
    """Show the frequency response between inputs and signals."""
    hertz = frequencies(arguments)
    system, scheme = system_and_scheme(arguments)
    from psmr.figures.canvas import save
    from psmr.figures.frequency import bode
    from psmr.pencil.operator.simulated_response import response_sentences, simulated_response

    own = system.state_space(arguments.input, arguments.output)
    exact = own.response(hertz)
    simulated, why = None, without_simulation(scheme, hertz)
    if scheme is not None and not why:
        below = hertz[hertz <= 0.5 / scheme.step]
        simulated = simulated_response(own, scheme, below, arguments.within_step)
    if arguments.figure:
        save(bode(exact, simulated), arguments.figure)
    table = _table(exact, simulated)
    write_csv(arguments.table, table)
    sentences = response_sentences(exact, simulated)
    if arguments.json:
        print_json(
            {
                "system": system.name,
                "scheme": None if simulated is None else str(scheme),
                "sentences": sentences,
                "gains": table.to_dict("records"),
            }
        )
        return
    head = f"{system.name}, {hertz[0]:g} to {hertz[-1]:g} Hz"
    show(f"{head}; simulation: {scheme}" if simulated is not None else head, *sentences)
    if why:
        show(why)
    tell_written(arguments.figure, arguments.table)


def _table(exact: Any, simulated: Any) -> pd.DataFrame:
    """Return the gains of the system and of the simulation in one table."""
    table: pd.DataFrame = exact.frame()
    if simulated is None:
        return table
    other = (
        simulated.frame()
        .drop(columns=["phase_deg"])
        .rename(columns={name: f"{name}_simulated" for name in ("magnitude", "real", "imag")})
    )
    return table.merge(other, on=["frequency_hz", "output", "input"], how="left")
