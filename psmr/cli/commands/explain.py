"""``psmr explain``: say in words what one macro step does."""

from __future__ import annotations

import argparse
from typing import Any

from psmr.cli.console import print_json, show
from psmr.cli.options import add_command, code_option, input_file


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    explain = add_command(
        subparsers,
        "explain",
        command,
        "describe, step by step, what the solver does in one macro step",
        "psmr explain cases/wscc9/fault.toml",
    )
    explain.add_argument(
        "study",
        type=input_file,
        metavar="STUDY",
        help="study file, or a name that `psmr cases` lists; - reads it from standard input",
    )
    code_option(explain)


def command(arguments: argparse.Namespace) -> None:
    """Say in words what one macro step does."""
    from dataclasses import asdict

    from psmr.cli.run_study import prepare
    from psmr.study.explain import explain
    from psmr.study.file.read_study import read_study

    system, recipe = prepare(read_study(arguments.study, arguments.allow_code))
    explanation = explain(system, recipe.scheme(system.linearise()))
    if arguments.json:
        print_json(asdict(explanation))
        return
    show(explanation)
