"""``psmr sweep``: many runs of one study, over parameters, schemes, events and cases."""

from __future__ import annotations

import argparse
from typing import Any

from psmr.cli.console import Progress, list_written, print_json, show
from psmr.cli.options import add_command, code_option, input_file, output_option


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    sweep = add_command(
        subparsers,
        "sweep",
        command,
        "run a study at every combination of what a sweep file varies",
        "psmr sweep cases/new-england/n-1.toml -o out",
    )
    sweep.add_argument(
        "sweep", type=input_file, metavar="SWEEP", help="sweep file (TOML), or a name that `psmr cases` lists"
    )
    where = sweep.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", type=int, metavar="N", help="processes on this machine (default: one for each core)"
    )
    where.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask scheduler, tcp://host:8786 (needs psmr[sweep])"
    )
    sweep.add_argument(
        "--signals", nargs="+", metavar="NAME", help="signals to keep of every run, in place of the file's"
    )
    sweep.add_argument("--worst", type=int, metavar="N", help="runs of which reports are written (default 5)")
    sweep.add_argument("--yes", action="store_true", help="run even if there are more than 10,000 points")
    sweep.add_argument("--no-report", action="store_true", help="leave out figures, page and reports")
    code_option(sweep)
    output_option(
        sweep, "FOLDER", "write the results here, in place of the file's own folder or results/NAME; a sweep "
        "that was interrupted goes on where it was"
    )  # fmt: skip


def command(arguments: argparse.Namespace) -> int:
    """Run a sweep and show the result; the exit code is 1 where every point failed."""
    from psmr.sweep.run_sweep import sweep

    with Progress(None, unit=" points") as bar:

        def progress(done: float, count: int) -> None:
            bar.t_end = count
            bar(done)

        found = sweep(
            arguments.sweep,
            folder=arguments.output,
            signals=arguments.signals,
            worst=arguments.worst,
            workers=arguments.workers,
            scheduler=arguments.scheduler,
            many=arguments.yes,
            report=not arguments.no_report,
            progress=progress,
            allow_code=arguments.allow_code,
        )
    if arguments.json:
        import json

        rows = json.loads(found.table.to_json(orient="records"))
        record = {"name": found.sweep.name, "folder": str(found.folder), "seconds": found.seconds}
        print_json(record | {"resumed": found.resumed, "rows": rows, "files": [str(f) for f in found.files]})
    else:
        show(found)
        list_written((*found.files, found.folder / "runs"))
    return int(len(found.failed) == len(found.table))
