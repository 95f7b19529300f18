"""The command line: run a study, look at modes, partitions and deformations.

Results go to standard output or to files, everything else to standard error; the exit code is 0 only for
success, 2 for input that is wrong and 1 for a failure, or for a case that `check` finds cannot start.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psmr.cli import commands
from psmr.errors import InputError, PsmrError, PsmrWarning

if TYPE_CHECKING:
    pass


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.simplefilter("always", PsmrWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        try:
            code = arguments.command(arguments)
            sys.stdout.flush()
        except InputError as error:
            return _fail(error, 2)
        except PsmrError as error:
            return _fail(error, 1)
        except KeyboardInterrupt:
            return _fail("interrupted; nothing was written", 130)
        except BrokenPipeError:
            # The reader of our output (`head`) has gone; standard output must not complain again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
    return code or 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="psmr",
        description="Multirate simulation of power systems that says how much the numerics deform each mode.",
    )
    top.add_argument("--version", action="version", version=f"psmr {_version()}")
    subparsers = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    run = _command(
        subparsers, "run", commands.run_command, "run a study file", "psmr run cases/wscc9/fault.toml -o out"
    )
    run.add_argument("study", metavar="STUDY", help="study file (TOML)")
    run.add_argument(
        "--figure", action="store_true", help="write run.svg: trajectories with the events marked"
    )
    run.add_argument(
        "--html", action="store_true", help="write report.html: one page with every figure inside"
    )
    _output(run, "FOLDER", "write the results here, in place of the study's own folder")

    check = _command(
        subparsers,
        "check",
        commands.check_command,
        "say whether a case starts at rest, and what is off: power flow, set-points, limits, residuals",
        "psmr check cases/wscc9/wscc9.toml",
    )
    _case(check)
    check.add_argument("--all", action="store_true", help="show every bus, device and variable")
    check.add_argument(
        "--modes", action="store_true", help="look for growing oscillations in a large system, too"
    )
    _output(check, "FILE", "write the table of variables as CSV")

    modes = _command(
        subparsers,
        "modes",
        commands.modes_command,
        "list the modes of a case",
        "psmr modes cases/wscc9/wscc9.toml",
    )
    _case(modes)
    _output(modes, "FILE", "write the table as CSV")

    partition = _command(
        subparsers,
        "partition",
        commands.partition_command,
        "say which variables are fast, and why",
        "psmr partition cases/wscc9/wscc9.toml --delta 20",
    )
    _case(partition)
    how = partition.add_mutually_exclusive_group(required=True)
    how.add_argument("--delta", type=float, metavar="D", help="threshold in 1/s; faster modes are fast")
    how.add_argument(
        "--suggest", action="store_true", help="list thresholds that lie in a gap of the spectrum"
    )
    partition.add_argument(
        "--algebraic",
        choices=("participation", "fast"),
        default="participation",
        help="where algebraic variables go: by their participation (default), or all fast",
    )
    partition.add_argument(
        "--figure", metavar="FILE", help="draw it on the one-line graph (.svg, .png, .pdf)"
    )
    _output(partition, "FILE", "write the table as CSV")

    deform = _command(
        subparsers,
        "deformation",
        commands.deformation_command,
        "say how much a scheme deforms each mode",
        "psmr deformation cases/wscc9/deformation.toml -o report.html",
    )
    _case(deform, "CASE|STUDY", "study file, or case file with a scheme")
    deform.add_argument("--pencil", choices=("exact", "published"), default="exact")
    deform.add_argument(
        "--least-damped", type=int, metavar="K", help="only the K least damped modes, by sparse matrices"
    )
    deform.add_argument(
        "--band", type=float, nargs=2, metavar=("LO", "HI"), help="only modes between these frequencies in Hz"
    )
    _scheme_options(deform)
    _output(deform, "FILE", "write the report as one page (.html) or the table (.csv)")

    tune = _command(
        subparsers,
        "tune",
        commands.tune_command,
        "find the cheapest scheme that bends the modes of a band by less than asked",
        "psmr tune cases/wscc9/wscc9.toml --accuracy 1% --up-to 2Hz -o out",
    )
    _case(tune)
    tune.add_argument(
        "--up-to",
        type=_hertz,
        required=True,
        metavar="F",
        help="modes up to this frequency count, for instance 2Hz",
    )
    tune.add_argument(
        "--accuracy", type=_fraction, metavar="P", help="largest relative deformation, for instance 1%%"
    )
    tune.add_argument(
        "--damping-error",
        type=_fraction,
        metavar="P",
        help="largest change of a damping ratio, for instance 0.2pp",
    )
    tune.add_argument(
        "--frequency-error",
        type=_fraction,
        metavar="P",
        help="largest change of a frequency, for instance 0.5%%",
    )
    tune.add_argument(
        "--margin",
        type=_fraction,
        default=0.1,
        metavar="P",
        help="stable with steps longer by this, too (default 10%%)",
    )
    _output(tune, "FOLDER", "write the winner as a study, the Pareto figure and every candidate (CSV)")

    explain = _command(
        subparsers,
        "explain",
        commands.explain_command,
        "say what one macro step of a study's scheme does to its system",
        "psmr explain cases/wscc9/fault.toml",
    )
    explain.add_argument("study", metavar="STUDY", help="study file")

    convert = _command(
        subparsers,
        "convert",
        commands.convert_command,
        "convert a case between TOML, PSS/E and MATPOWER",
        "psmr convert grid.raw grid.toml --dynamics grid.dyr",
    )
    _case(convert, "SOURCE", "case file: .raw, .m or .toml", start=False)
    convert.add_argument(
        "target", metavar="TARGET", help="file to write: .toml, .raw (with .dyr beside it) or .m"
    )
    group = convert.add_argument_group("dynamics, for a case that is only a power flow")
    group.add_argument(
        "--add-dynamics", action="store_true", help="give generators without devices standard ones"
    )
    group.add_argument(
        "--converters", type=float, metavar="S", help="part of the rating that becomes converters, 0 to 1"
    )
    group.add_argument("--seed", type=int, metavar="N", help="seed of what is drawn (default 0)")

    paper = _command(
        subparsers,
        "reproduce",
        commands.reproduce_command,
        "reproduce a paper's tables and figures",
        "psmr reproduce gil-sanfelice-nikravesh -o out",
    )
    paper.add_argument(
        "paper",
        metavar="NAME",
        help="huang-tzounas, shi-rojas, gil-sanfelice-nikravesh or kuznetsov-krasnikov",
    )
    _output(paper, "FOLDER", "write tables (CSV), figures and a page with every claim beside ours")

    _command(
        subparsers,
        "warmup",
        commands.warmup_command,
        "compile everything ahead",
        "psmr warmup",
        json_flag=False,
    )
    return top


def _command(
    subparsers: Any, name: str, function: Any, help: str, example: str, json_flag: bool = True
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = subparsers.add_parser(
        name, help=help, description=f"{help[0].upper()}{help[1:]}.", epilog=f"example: {example}"
    )
    command.set_defaults(command=function)
    if json_flag:
        command.add_argument("--json", action="store_true", help="print the result as JSON")
    return command


def _case(
    command: argparse.ArgumentParser, metavar: str = "CASE", help: str = "case file", start: bool = True
) -> None:
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


def _output(command: argparse.ArgumentParser, metavar: str, help: str) -> None:
    command.add_argument("-o", "--output", metavar=metavar, help=help)


def _scheme_options(command: argparse.ArgumentParser) -> None:
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
    group.add_argument("--corrections", type=_corrections, metavar="K", help="0, 1, 2, ... or converge")


def _corrections(text: str) -> int | str:
    return text if text == "converge" else int(text)


def _fraction(text: str) -> float:
    """Read 1%, 0.2pp or 0.01 as a fraction."""
    number = text.strip().removesuffix("pp").removesuffix("%").strip()
    value = float(number)
    return value / 100.0 if number != text.strip() else value


def _hertz(text: str) -> float:
    """Read 2Hz or 2 as a frequency in Hz."""
    return float(text.strip().lower().removesuffix("hz"))


def _show_warning(message: Any, category: type[Warning], *place: Any, **rest: Any) -> None:
    print(f"psmr: warning: {message}", file=sys.stderr)


def _fail(error: object, code: int) -> int:
    print(f"psmr: error: {error}", file=sys.stderr)
    return code


def _version() -> str:
    from psmr import __version__

    return __version__
