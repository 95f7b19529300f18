"""``psmr modes``: list the modes of a case."""

from __future__ import annotations

import argparse
from typing import Any

from psmr.base.files import TABLES
from psmr.cli.console import give_table
from psmr.cli.options import add_command, case_file, case_options, output_option, require_targets


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    modes = add_command(
        subparsers,
        "modes",
        command,
        "list the modes of a case",
        "psmr modes cases/wscc9/wscc9.toml",
    )
    case_options(modes)
    modes.add_argument(
        "--network",
        action="store_true",
        help="beside each mode, what it is where the network has its own dynamics",
    )
    output_option(modes, "FILE", "write the table as CSV")


def command(arguments: argparse.Namespace) -> None:
    """List the modes of a case."""
    require_targets({"-o": arguments.output}, TABLES)
    from psmr.dae.system.eigenvalues import modes
    from psmr.study.file.study import load_system

    file = case_file(arguments)
    if arguments.network:
        from psmr.study.certificate.network_deformation import network_deformation

        found = network_deformation(file.read(), power_flow=file.solve)
        give_table(arguments, found.table, str(found))
        return
    system = load_system(file)
    table = modes(system.linearise())
    head = (
        f"{system.name}: {system.n} states, {system.m} algebraic variables; eigenvalues in 1/s and rad/s, one"
        " row for both of a conjugate pair"
    )
    give_table(arguments, table, head)
