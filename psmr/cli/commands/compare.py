"""``psmr compare``: how far a run is from a trace of another program, and how much of that is numerics."""

from __future__ import annotations

import argparse
from typing import Any

from psmr.base.files import PICTURES, TABLES
from psmr.base.numbers import real_in
from psmr.cli.console import print_json, show, tell_written, write_csv
from psmr.cli.options import add_command, code_option, input_file, output_option, path, require_targets


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    compare = add_command(
        subparsers,
        "compare",
        command,
        "say how far a run is from a trace of another program, and how much of that is numerics",
        "psmr compare mine.toml trace.csv --map columns.csv",
    )
    compare.add_argument(
        "run",
        type=input_file,
        metavar="RUN",
        help="a study file, which is run first, or a run saved by psmr run --save",
    )
    compare.add_argument(
        "trace", type=path, metavar="TRACE", help="text: a line of names, then numbers; one is the time"
    )
    compare.add_argument(
        "--map",
        type=path,
        metavar="FILE",
        help="CSV that says which column is which signal: column,signal and a unit or scale,offset",
    )
    compare.add_argument(
        "--shift", type=real_in, default=0.0, metavar="S", help="added to the times of the trace"
    )
    compare.add_argument(
        "--modules",
        nargs="+",
        metavar="MODULE",
        default=(),
        help="modules of your own, by name, whose components, events or schemes a saved run has; imported",
    )
    code_option(compare)
    compare.add_argument(
        "--figure", type=path, metavar="FILE", help="draw the most different signals (.svg, .png, .pdf)"
    )
    output_option(compare, "FILE", "write the table as CSV")


def command(arguments: argparse.Namespace) -> None:
    """Compare a run with a trace."""
    require_targets({"--figure": arguments.figure}, PICTURES)
    require_targets({"-o": arguments.output}, TABLES)
    from psmr.cli.run_study import saved_or_run
    from psmr.study.trace.against import compare_trace
    from psmr.study.trace.trace import read_trace

    trace = read_trace(arguments.trace, arguments.map, arguments.shift)
    found = compare_trace(saved_or_run(arguments.run, arguments.modules, arguments.allow_code), trace)
    if arguments.figure:
        from psmr.figures.canvas import save

        save(found.plot(), arguments.figure)
    write_csv(arguments.output, found.table)
    if arguments.json:
        print_json({"signals": found.table.to_dict("records"), "devices": found.devices.to_dict("records")})
        return
    show(str(found))
    tell_written(arguments.figure, arguments.output)
