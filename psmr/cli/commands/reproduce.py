"""``psmr reproduce``: reproduce a paper's tables and figures."""

from __future__ import annotations

import argparse
from typing import Any

from psmr.cli.console import Progress, list_written, print_json, show
from psmr.cli.options import add_command, output_option


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    paper = add_command(
        subparsers,
        "reproduce",
        command,
        "reproduce a paper's tables and figures",
        "psmr reproduce gil-sanfelice-nikravesh -o out",
    )
    paper.add_argument(
        "paper",
        metavar="NAME",
        help="huang-tzounas, shi-rojas, gil-sanfelice-nikravesh, kuznetsov-krasnikov or bouterakos-tzounas",
    )
    output_option(paper, "FOLDER", "write tables (CSV), figures and a page with every claim beside ours")


def command(arguments: argparse.Namespace) -> None:
    """Reproduce a paper's tables and figures."""
    import tempfile

    from psmr.papers.catalogue import parts, reproduce
    from psmr.study.output.tables import check_writable

    named = parts(arguments.paper)
    if arguments.output:
        check_writable(arguments.output)
    with tempfile.TemporaryDirectory() as scratch, Progress(len(named), unit=" parts") as progress:

        def say(words: str) -> None:
            progress(named.index(words))
            if progress.bar is not None:
                progress.bar.set_description(words)

        result = reproduce(arguments.paper, scratch, say)
        files = result.write(arguments.output) if arguments.output else ()
    if arguments.json:
        record = result.record() | {"figures": {}, "files": [str(path) for path in files]}
        print_json(record)
        return
    show(result)
    if files:
        list_written(files)
