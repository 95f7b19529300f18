"""Commands that make runs, and show them: one of a study, many of a sweep, two beside each other."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from psmr.base.declared import ALLOW_CODE, Option
from psmr.base.errors import InputError
from psmr.base.files import PICTURES
from psmr.cli.console import Progress, is_large, print_result, show, write_csv
from psmr.cli.options import (
    CSV,
    JSON,
    PICTURE,
    TABLE,
    Fills,
    Given,
    input_file,
    path,
    require_target,
)


def _study_file(text: str) -> str:
    """Return the path of a study; a case of another program is refused with what makes a study of it."""
    path = input_file(text)
    if (suffix := Path(path).suffix.lower()) in (".raw", ".rawx", ".epc", ".m", ".dyr"):
        raise argparse.ArgumentTypeError(
            f"{path} is a case or its dynamic data, and a study says what happens to it; `psmr new study NAME"
            f" {'CASE' if suffix == '.dyr' else path}` writes one (with --dynamics FILE for a DYR file)"
        )
    return path


STUDY = Option(
    "study file (TOML), or a name that `psmr cases` lists; - reads it from standard input", "STUDY"
)
ASKED = Fills("psmr.study.file.study.Output", "interactive network signals save")
KEPT = Fills("psmr.study.record.record.Record", "signals every memory")
SWEEP = Fills("psmr.sweep.run_sweep.sweep", "workers scheduler signals worst many report allow_code")
COLUMNS = Fills("psmr.study.trace.trace.read_trace", "columns shift")
SERVING = Fills("psmr.viewer.server.view", "dynamics port allow_code show")
CLASS = Fills(
    "psmr.viewer.classroom.Classroom",
    "address public key sessions workers seconds memory runs shared",
    "with --class",
)
SAVED = Fills("psmr.study.run.saved.load_run", "modules allow_code")


def run(
    study: Annotated[str, _study_file, STUDY],
    *,
    json: Annotated[bool, JSON] = False,
    figure: Annotated[bool, "write run.svg: trajectories with the events marked"] = False,
    html: Annotated[
        bool, "write report.html even where the study has html = false", Option(either="page")
    ] = False,
    no_report: Annotated[bool, "leave out report.html", Option(either="page")] = False,
    asked: Annotated[Given, ASKED],
    kept: Annotated[Given, KEPT],
    force: Annotated[bool, "replace results of another study in the folder"] = False,
    yes: Annotated[bool, "run even if the estimate says that it is too large for this machine"] = False,
    allow_code: Annotated[bool, ALLOW_CODE] = False,
    output: Annotated[
        str | None,
        path,
        "write the results here, in place of the study's own folder or results/NAME",
        "FOLDER",
        Option(name="o,output"),
    ] = None,
) -> None:
    """Run a study file.

    example: psmr run cases/wscc9/fault.toml -o out
    """
    from psmr.cli.run_study import run_study
    from psmr.study.file.read_study import read_study, usual_folder

    given = read_study(study, allow_code)
    folder = output or (None if given.output else usual_folder(given.source))
    extra: dict[str, Any] = {"figure": "svg"} if figure else {}
    extra |= {"html": False} if no_report else {"html": True} if html or "interactive" in asked else {}
    with Progress(given.t_end) as progress:
        _, done, files = run_study(
            given,
            folder,
            progress,
            {**extra, **asked},
            record=kept,
            stage=progress.stage,
            large=yes,
            force=force,
        )
    nothing = f"\nNothing is written: [output] of {study} asks for no file (csv, html, figure, save)"
    words = () if files else (nothing,)
    print_result(json, lambda: _record(given.name, done, files), done.summary(), *words, listed=files)
    if json:
        return
    from psmr.study.output import FORMATS

    large = [file.name for file in files if file.suffix in FORMATS and is_large(file)]
    if large:
        show(
            f"\n{' and '.join(large)}: large; --signals NAME ... writes fewer signals, --every K every "
            "K-th step alone, --record NAME ... keeps no other signals in memory either (of the study: "
            "signals in [output], every and record in [simulation])"
        )


def _record(title: str, run: Any, files: Sequence[Any]) -> dict[str, Any]:
    from dataclasses import asdict

    certificates = ("certificate", "certificate_unequal", "certificate_after")
    found = {name: getattr(run, name) for name in certificates}
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
        **{name: None if one is None else one.record() for name, one in found.items()},
        "stats": run.stats.record(),
        "files": [str(path) for path in files],
    }


def sweep(
    sweep: Annotated[str, input_file, "sweep file (TOML), or a name that `psmr cases` lists", "SWEEP"],
    *,
    json: Annotated[bool, JSON] = False,
    how: Annotated[
        Given,
        SWEEP,
    ],
    output: Annotated[
        str | None,
        path,
        "write the results here, in place of the file's own folder or results/NAME; a sweep that was"
        " interrupted goes on where it was",
        "FOLDER",
        Option(name="o,output"),
    ] = None,
) -> int:
    """Run a study at every combination of what a sweep file varies.

    example: psmr sweep cases/new-england/n-1.toml -o out
    """
    from json import loads

    from psmr.sweep.run_sweep import sweep as run_sweep

    with Progress(None, unit=" points") as bar:

        def progress(done: float, count: int) -> None:
            bar.t_end = count
            bar(done)

        found = run_sweep(sweep, folder=output, progress=progress, **how)
    record = {"name": found.sweep.name, "folder": str(found.folder), "seconds": found.seconds}
    record |= {"resumed": found.resumed, "rows": loads(found.table.to_json(orient="records"))}
    record |= {"files": [str(file) for file in found.files]}
    print_result(json, record, found, listed=(*found.files, found.folder / "runs"))
    return int(len(found.failed) == len(found.table))  # where every point failed


def plot(
    run: Annotated[str, "a run saved by `psmr run --save`, or a study file, which is run first", "RUN"],
    other: Annotated[str | None, "another one, drawn over the first, dashed", "RUN2"] = None,
    *,
    json: Annotated[bool, JSON] = False,
    signals: Annotated[
        tuple[str, ...] | None, "names or patterns; speeds and voltages where left out", "NAME"
    ] = None,
    reading: Annotated[Given, SAVED],
    output: Annotated[
        str, path, "the picture: .svg (default: plot.svg), .png or .pdf", "FILE", Option(name="o,output")
    ] = "plot.svg",
) -> None:
    """Draw signals of a run, or two runs over one another with their difference.

    example: psmr plot results/fault/run.psmr --signals 'G*.p' 'bus*.v' -o power.svg
    """
    require_target("-o", output, PICTURES)
    from psmr.cli.run_study import saved_or_run
    from psmr.figures.run.plots import comparison, trajectories
    from psmr.figures.with_matplotlib import save

    first = saved_or_run(run, **reading)
    table = None
    if other is None:
        save(trajectories(first, signals), output)
    else:
        second = saved_or_run(other, **reading)
        labels = _label(run, first, reading), _label(other, second, reading)
        save(comparison(first, second, signals, labels=labels), output)
        found = first.compare(second, signals)
        table = found.table
    words = []
    if table is not None:
        words = [f"Note: {found.note}"] if found.note else []
        words.append(table.head(20).to_string(index=False, float_format=lambda value: f"{value:.4g}"))
    record = {"file": output, "differences": None if table is None else table.to_dict("records")}
    print_result(json, record, *words, written=[output])


def _label(path: str, run: Any, reading: Given) -> str:
    """Return what a run is called in a picture: the title of its study, else its file; and its scheme."""
    from psmr.study.file.read_study import is_study, read_study

    name = read_study(path, bool(reading.get("allow_code"))).name if is_study(path) else path
    return f"{name} ({run.scheme})"


def compare(
    run: Annotated[
        str, input_file, "a study file, which is run first, or a run saved by psmr run --save", "RUN"
    ],
    trace: Annotated[str, path, "text: a line of names, then numbers; one is the time", "TRACE"],
    *,
    json: Annotated[bool, JSON] = False,
    columns: Annotated[Given, COLUMNS],
    reading: Annotated[Given, SAVED],
    figure: Annotated[
        str | None, PICTURE, "draw the most different signals (.svg, .png, .pdf)", "FILE"
    ] = None,
    output: Annotated[str | None, TABLE, CSV] = None,
) -> None:
    """Say how far a run is from a trace of another program, and how much of that is numerics.

    example: psmr compare mine.toml trace.csv --map columns.csv
    """
    from psmr.cli.run_study import saved_or_run
    from psmr.study.trace.against import compare_trace
    from psmr.study.trace.trace import read_trace

    other = read_trace(trace, **columns)
    found = compare_trace(saved_or_run(run, **reading), other)
    if figure:
        from psmr.figures.with_matplotlib import save

        save(found.plot(), figure)
    write_csv(output, found.table)
    record = {"signals": found.table.to_dict("records"), "devices": found.devices.to_dict("records")}
    print_result(json, record, found, written=(figure, output))


def view(
    file: Annotated[str, input_file, "case or study file, or a name that `psmr cases` lists", "FILE"],
    *,
    classroom: Annotated[
        bool, "serve a class: each browser tab its own study and runs, no files, limits", Option(name="class")
    ] = False,
    serving: Annotated[Given, SERVING],
    limits: Annotated[Given, CLASS],
) -> None:
    """Edit, run and compare studies on a local page in the browser, or serve the page to a class.

    example: psmr view wscc9/fault
    """
    from psmr.viewer.classroom import Classroom
    from psmr.viewer.server import view, view_for_class

    if limits and not classroom:
        raise InputError(f"--{next(iter(limits))} is for a class; give --class as well")
    if classroom and serving.get("allow_code"):
        raise InputError(
            "--allow-code with --class: whoever has the address would run code as you; leave it out"
        )
    if classroom:
        served = view_for_class(file, Classroom(**limits), serving.get("dynamics"), serving.get("port", 0))
        show(f"{served.url}\nServed to whoever has the address and reaches it; Ctrl-C ends it.")
    else:
        served = view(file, **{**serving, "show": False})
        show(f"{served.url}\nServed on this machine alone, to whoever has the address; Ctrl-C ends it.")
    if not classroom and serving.get("show", True) and not served.open():
        show("No browser was found: open the address in one.")
    try:
        threading.Event().wait()
    finally:
        served.stop()
