"""``psmr cases``: list the cases, studies and sweeps that ship with psmr."""

from __future__ import annotations

import argparse
from typing import Any

from psmr.base.files import TABLES
from psmr.cli.console import give_table
from psmr.cli.options import add_command, output_option, require_targets


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    cases = add_command(
        subparsers, "cases", command, "list the cases, studies and sweeps that ship with psmr", "psmr cases"
    )
    output_option(cases, "FILE", "write the table as CSV")


def command(arguments: argparse.Namespace) -> None:
    """List what ships with psmr."""
    require_targets({"-o": arguments.output}, TABLES)
    import pandas as pd

    from psmr.files.shipped import FOLDER, listed

    head = f"A name stands for the file, as in `psmr run wscc9/fault`; the files are in {FOLDER.resolve()}."
    give_table(arguments, pd.DataFrame(listed()), head, left=True)
