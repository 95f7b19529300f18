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
from typing import Any

from psmr.cli import commands
from psmr.cli.options import case_options, fraction, hertz, output_option, scheme_options
from psmr.errors import InputError, PsmrError, PsmrWarning


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
    page = run.add_mutually_exclusive_group()
    page.add_argument(
        "--html", action="store_true", help="write report.html even where the study has html = false"
    )
    page.add_argument("--no-report", action="store_true", help="leave out report.html")
    run.add_argument(
        "--signals", nargs="+", metavar="NAME", help="what to write and draw, in place of the study's signals"
    )
    output_option(run, "FOLDER", "write the results here, in place of the study's own folder or results/NAME")

    check = _command(
        subparsers,
        "check",
        commands.check_command,
        "say whether a case starts at rest, and what is off: power flow, set-points, limits, residuals",
        "psmr check cases/wscc9/wscc9.toml",
    )
    case_options(check, "CASE|STUDY", "case file, or study file for its case")
    check.add_argument("--all", action="store_true", help="show every bus, device and variable")
    check.add_argument(
        "--modes", action="store_true", help="look for growing oscillations in a large system, too"
    )
    output_option(check, "FILE", "write the table of variables as CSV")

    modes = _command(
        subparsers,
        "modes",
        commands.modes_command,
        "list the modes of a case",
        "psmr modes cases/wscc9/wscc9.toml",
    )
    case_options(modes)
    output_option(modes, "FILE", "write the table as CSV")

    partition = _command(
        subparsers,
        "partition",
        commands.partition_command,
        "say which variables are fast, and why",
        "psmr partition cases/wscc9/wscc9.toml --delta 20",
    )
    case_options(partition)
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
    output_option(partition, "FILE", "write the table as CSV")

    deform = _command(
        subparsers,
        "deformation",
        commands.deformation_command,
        "say how much a scheme deforms each mode",
        "psmr deformation cases/wscc9/deformation.toml -o report.html",
    )
    case_options(deform, "CASE|STUDY", "study file, or case file with a scheme")
    deform.add_argument("--pencil", choices=("exact", "published"), default="exact")
    deform.add_argument(
        "--least-damped", type=int, metavar="K", help="only the K least damped modes, by sparse matrices"
    )
    deform.add_argument(
        "--band", type=float, nargs=2, metavar=("LO", "HI"), help="only modes between these frequencies in Hz"
    )
    scheme_options(deform)
    output_option(deform, "FILE", "write the report as one page (.html) or the table (.csv)")

    tune = _command(
        subparsers,
        "tune",
        commands.tune_command,
        "find the cheapest scheme that bends the modes of a band by less than asked",
        "psmr tune cases/wscc9/wscc9.toml --accuracy 1% --up-to 2Hz -o out",
    )
    case_options(tune)
    tune.add_argument(
        "--up-to",
        type=hertz,
        required=True,
        metavar="F",
        help="modes up to this frequency count, for instance 2Hz",
    )
    tune.add_argument(
        "--accuracy", type=fraction, metavar="P", help="largest relative deformation, for instance 1%%"
    )
    tune.add_argument(
        "--damping-error",
        type=fraction,
        metavar="P",
        help="largest change of a damping ratio, for instance 0.2pp",
    )
    tune.add_argument(
        "--frequency-error",
        type=fraction,
        metavar="P",
        help="largest change of a frequency, for instance 0.5%%",
    )
    tune.add_argument(
        "--margin",
        type=fraction,
        default=0.1,
        metavar="P",
        help="stable with steps longer by this, too (default 10%%)",
    )
    output_option(tune, "FOLDER", "write the winner as a study, the Pareto figure and every candidate (CSV)")

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
    case_options(convert, "SOURCE", "case file: .raw, .m or .toml", start=False)
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
    output_option(paper, "FOLDER", "write tables (CSV), figures and a page with every claim beside ours")

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


def _show_warning(message: Any, category: type[Warning], *place: Any, **rest: Any) -> None:
    print(f"psmr: warning: {message}", file=sys.stderr)


def _fail(error: object, code: int) -> int:
    print(f"psmr: error: {error}", file=sys.stderr)
    return code


def _version() -> str:
    from psmr import __version__

    return __version__
