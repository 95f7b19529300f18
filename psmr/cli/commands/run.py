"""``psmr run``: run a study and show the result."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from psmr.cli.console import Progress, is_large, list_written, print_json, show
from psmr.cli.options import add_command, code_option, input_file, output_option


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    run = add_command(
        subparsers, "run", command, "run a study file", "psmr run cases/wscc9/fault.toml -o out"
    )
    run.add_argument(
        "study",
        type=_study_file,
        metavar="STUDY",
        help="study file (TOML), or a name that `psmr cases` lists; - reads it from standard input",
    )
    run.add_argument(
        "--figure", action="store_true", help="write run.svg: trajectories with the events marked"
    )
    page = run.add_mutually_exclusive_group()
    page.add_argument(
        "--html", action="store_true", help="write report.html even where the study has html = false"
    )
    page.add_argument(
        "--interactive",
        action="store_true",
        help="write report.html with figures to zoom and hover over as well (needs bokeh: psmr[report])",
    )
    page.add_argument("--no-report", action="store_true", help="leave out report.html")
    run.add_argument(
        "--network",
        action="store_true",
        help="say in report.html what leaving out dynamics of the network does to the modes",
    )
    run.add_argument(
        "--signals", nargs="+", metavar="NAME", help="what to write and draw, in place of the study's signals"
    )
    run.add_argument(
        "--record",
        nargs="+",
        metavar="NAME",
        help="keep these signals only, written while the run goes, in place of the study's record",
    )
    run.add_argument("--every", type=int, metavar="K", help="keep and write only every K-th accepted step")
    run.add_argument(
        "--memory",
        type=float,
        metavar="MIB",
        help="memory in MiB for what is kept; the rest goes to a temporary file",
    )
    run.add_argument("--save", action="store_true", help="write run.psmr, the whole run for `psmr plot`")
    run.add_argument(
        "--yes",
        action="store_true",
        help="run even if the estimate says that it is too large for this machine",
    )
    code_option(run)
    output_option(run, "FOLDER", "write the results here, in place of the study's own folder or results/NAME")


def command(arguments: argparse.Namespace) -> None:
    """Run a study and show the result."""
    from psmr.cli.run_study import default_folder, run_study
    from psmr.study.file.read_study import read_study

    study = read_study(arguments.study, arguments.allow_code)
    folder = arguments.output or (None if study.output else default_folder(study))
    with Progress(study.t_end) as progress:
        extra: dict[str, Any] = {"figure": "svg"} if arguments.figure else {}
        extra |= {"html": False} if arguments.no_report else {"html": True} if arguments.html else {}
        extra |= {"html": True, "interactive": True} if arguments.interactive else {}
        extra |= {"network": True} if arguments.network else {}
        extra |= {"save": True} if arguments.save else {}
        extra |= {"signals": tuple(arguments.signals)} if arguments.signals else {}
        record: dict[str, Any] = {"signals": tuple(arguments.record)} if arguments.record else {}
        record |= {"every": arguments.every} if arguments.every is not None else {}
        record |= {"memory": arguments.memory} if arguments.memory is not None else {}
        _, run, files = run_study(
            study, folder, progress, extra, record=record, stage=progress.stage, large=arguments.yes
        )
    if arguments.json:
        print_json(_run_record(study.name, run, files))
        return
    show(run.summary())
    if files:
        list_written(files)
        from psmr.study.output.tables import FORMATS

        large = [file.name for file in files if file.suffix in FORMATS and is_large(file)]
        if large:
            show(
                f"\n{' and '.join(large)}: large; --signals NAME ... writes fewer signals, --every K every "
                "K-th step alone, --record NAME ... keeps no other signals in memory either (of the study: "
                "signals in [output], every and record in [simulation])"
            )
    else:
        show(
            f"\nNothing is written: [output] of {arguments.study} asks for no file (csv, html, figure, save)"
        )


def _run_record(title: str, run: Any, files: Sequence[Any]) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "study": title,
        "system": run.name,
        "scheme": str(run.scheme),
        "t_end": float(run.t[-1]),
        "points": len(run.t),
        "outcome": {"colour": run.judgement.colour, "headline": run.judgement.headline}
        | {"reasons": run.judgement.reasons}
        | asdict(run.outcome),
        "events": [{"t": t, "label": label} for t, label in run.instants],
        "events_not_done": list(run.unmet),
        "stopped": None if run.stopped is None else asdict(run.stopped),
        "certificate": None if run.certificate is None else run.certificate.record(),
        "certificate_unequal": None if run.certificate_unequal is None else run.certificate_unequal.record(),
        "certificate_after": None if run.certificate_after is None else run.certificate_after.record(),
        "stats": run.stats.record(),
        "files": [str(path) for path in files],
    }


def _study_file(text: str) -> str:
    """Return the path of a study; a case of another program is refused with what makes a study of it."""
    path = input_file(text)
    if Path(path).suffix.lower() in (".raw", ".rawx", ".epc", ".m"):
        raise argparse.ArgumentTypeError(
            f"{path} is a case, and a study says what happens to it; `psmr new study NAME {path}` writes one"
            " (with --dynamics FILE for a DYR file)"
        )
    return path
