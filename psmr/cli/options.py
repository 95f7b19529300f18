"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import argparse


def case_options(
    command: argparse.ArgumentParser, metavar: str = "CASE", help: str = "case file", start: bool = True
) -> None:
    """Add the case file, and how it is read; with `start`, how its power flow is solved, too."""
    command.add_argument("case", metavar=metavar, help=help)
    group = command.add_argument_group("reading a case")
    group.add_argument("--dynamics", metavar="FILE", help="DYR file with the dynamic data of a .raw file")
    group.add_argument(
        "--skip-unknown-models",
        action="store_true",
        help="leave out devices that psmr has no model of, with a warning for each",
    )
    group.add_argument(
        "--frequency", type=float, metavar="HZ", help="nominal frequency, which .m files do not have"
    )
    if start:
        group.add_argument(
            "--reactive-limits",
            action="store_true",
            help="let the power flow keep generators within q_min_mvar and q_max_mvar",
        )


def output_option(command: argparse.ArgumentParser, metavar: str, help: str) -> None:
    """Add -o."""
    command.add_argument("-o", "--output", metavar=metavar, help=help)


def scheme_options(command: argparse.ArgumentParser) -> None:
    """Add the options that make a scheme."""
    group = command.add_argument_group("scheme, for a case file")
    group.add_argument(
        "--method", choices=("FEM", "TM", "BEM", "RK4", "SDIRK2"), help="single rate, with --h"
    )
    group.add_argument("--h", type=float, metavar="S", help="step size in s")
    group.add_argument("--delta", type=float, metavar="D", help="multirate: threshold in 1/s")
    group.add_argument("--algebraic", choices=("participation", "fast"))
    group.add_argument("--h-slow", type=float, metavar="S", help="macro step in s")
    group.add_argument("--h-fast", type=float, metavar="S", help="fast step in s")
    group.add_argument("--predictor", choices=("FEM", "TM", "BEM"))
    group.add_argument("--solution", choices=("TM", "BEM"))
    group.add_argument("--interpolation", choices=("linear", "spline"))
    group.add_argument("--predict", choices=("all", "slow"))
    group.add_argument("--corrections", type=corrections, metavar="K", help="0, 1, 2, ... or converge")


def corrections(text: str) -> int | str:
    """Read a number of corrections or ``converge``."""
    return text if text == "converge" else int(text)


def fraction(text: str) -> float:
    """Read 1%, 0.2pp or 0.01 as a fraction."""
    number = text.strip().removesuffix("pp").removesuffix("%").strip()
    value = float(number)
    return value / 100.0 if number != text.strip() else value


def hertz(text: str) -> float:
    """Read 2Hz or 2 as a frequency in Hz."""
    return float(text.strip().lower().removesuffix("hz"))
