"""``psmr convert``: write a case in another format."""

from __future__ import annotations

import argparse
import os
from typing import Any

from psmr.base.errors import InputError
from psmr.cli.console import print_json, show, tell_written
from psmr.cli.options import add_command, case_file, case_options


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    convert = add_command(
        subparsers,
        "convert",
        command,
        "convert a case between TOML, PSS/E and MATPOWER",
        "psmr convert grid.raw grid.toml --dynamics grid.dyr",
    )
    case_options(convert, "SOURCE", "case file: .raw, .rawx, .epc, .m or .toml", start=False)
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


def command(arguments: argparse.Namespace) -> None:
    """Write a case in another format."""
    from psmr.files.case_file import write_case

    source, target = arguments.case, arguments.target
    beside = [os.path.splitext(target)[0] + ".dyr"] if target.lower().endswith(".raw") else []
    for written in (target, *beside):
        for read in filter(None, (source, arguments.dynamics)):
            if os.path.exists(written) and os.path.exists(read) and os.path.samefile(read, written):
                raise InputError(f"{written}: is the source itself; give another target")
    drawn = {key: getattr(arguments, key) for key in ("seed", "converters")}
    drawn = {key: value for key, value in drawn.items() if value is not None}
    if drawn and not arguments.add_dynamics:
        raise InputError(f"--{next(iter(drawn))} says what --add-dynamics draws; give that, too")
    case = case_file(arguments).read()
    if arguments.add_dynamics:
        from psmr.network.typical_plants import add_dynamics

        case = add_dynamics(case, **drawn)
    files = [str(path) for path in write_case(case, target)]
    if arguments.json:
        tables = ("buses", "lines", "transformers", "shunts", "loads", "generators")
        counts = {table: len(getattr(case, table)) for table in tables}
        devices = sum(len(generator.devices) for generator in case.generators)
        print_json({"case": case.name, "target": target, **counts, "devices": devices, "files": files})
        return
    show(case)
    if case.stored and os.path.splitext(target)[1].lower() in (".raw", ".m"):
        from psmr.network.powerflow.powerflow import power_flow

        show(f"Power flow: {power_flow(case).stored}")
    tell_written(*files)
