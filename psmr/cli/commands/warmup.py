"""``psmr warmup``: compile everything in advance."""

from __future__ import annotations

import argparse
from typing import Any

from psmr.cli.console import show
from psmr.cli.options import add_command


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    add_command(
        subparsers,
        "warmup",
        command,
        "compile everything in advance",
        "psmr warmup",
        json_flag=False,
    )


def command(arguments: argparse.Namespace) -> None:
    """Compile everything in advance."""
    from psmr.study.warmup import warmup

    show(warmup())
