"""``psmr partition``: show a partition, or thresholds worth trying."""

from __future__ import annotations

import argparse
from typing import Any

from psmr.base.errors import InputError
from psmr.base.files import PICTURES, TABLES
from psmr.cli.console import give_table
from psmr.cli.options import add_command, case_file, case_options, output_option, path, require_targets


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    partition = add_command(
        subparsers,
        "partition",
        command,
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
        "--figure", type=path, metavar="FILE", help="draw it on the one-line graph (.svg, .png, .pdf)"
    )
    output_option(partition, "FILE", "write the table as CSV")


def command(arguments: argparse.Namespace) -> None:
    """Show a partition, or thresholds worth trying."""
    require_targets({"-o": arguments.output}, TABLES)
    require_targets({"--figure": arguments.figure}, PICTURES)
    import partitioning
    from psmr.study.file.recipe import Split, partition_of
    from psmr.study.file.study import load_system

    system = load_system(case_file(arguments))
    linear = system.linearise()
    if arguments.suggest:
        if arguments.figure:
            raise InputError("--figure draws one partition; give --delta in place of --suggest")
        head = f"{system.name}: thresholds in the gaps of the spectrum"
        give_table(arguments, partitioning.suggest_delta(linear), head)
        return
    split = partition_of(Split(delta=arguments.delta, algebraic=arguments.algebraic), linear)
    if arguments.figure:
        from psmr.figures.canvas import save
        from psmr.figures.run.oneline import one_line

        save(one_line(system, split), arguments.figure)
    give_table(arguments, split.table, f"{system.name}: {split}", arguments.figure)
