"""The files of a run in its output folder: all appear at once, those of a failed run marked as partial."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from psmr.base.errors import PsmrError, PsmrWarning, StudyError
from psmr.base.files import OutputTransaction
from psmr.dae.system.system import System
from psmr.figures.run.report import Origin
from psmr.study.certificate.network_deformation import NetworkDeformation
from psmr.study.file.study import FIGURES, Output
from psmr.study.run.run import Run

NAMES = ("run.csv", "run.parquet", "run.psmr", *(f"run.{kind}" for kind in FIGURES if kind != "none"))
"""Files of a run other than its report."""

REPORT = "report.html"


@dataclass(frozen=True)
class Page:
    """What the report on a run says beside the run: its system, its title, how to make it again.

    `network` returns what leaving out dynamics of the network does to the modes of a run, or in words why
    that is not known; None: the report says nothing of it.
    """

    system: System
    title: str
    origin: Origin | None = None
    network: Callable[[Run], NetworkDeformation | str] | None = None


def tables_of(output: Output, mark: str = "") -> Iterator[Path]:
    """Yield the files with signals over time that are asked for."""
    for wanted, name in ((output.csv, "run.csv"), (output.parquet, "run.parquet")):
        if wanted:
            yield _marked(Path(output.folder) / name, mark)


def planned(output: Output) -> tuple[str, ...]:
    """Return the names of the files that `write_outputs` makes."""
    asked = [
        (output.save, "run.psmr"),
        (output.figure != "none", f"run.{output.figure}"),
        (output.html, REPORT),
    ]
    return (*(path.name for path in tables_of(output)), *(name for wanted, name in asked if wanted))


def earlier_files(output: Output) -> tuple[Path, ...]:
    """Return the files that an earlier run may have left in a folder, out of date once there are new ones."""
    place = Path(output.folder)
    return tuple(_marked(place / name, mark) for mark in ("", PARTIAL) for name in (*NAMES, REPORT))


def warn_of_removed(paths: Sequence[Path]) -> None:
    """Warn of what was removed of an earlier run that came to its end."""
    whole = [str(path) for path in paths if not path.stem.endswith(PARTIAL)]
    if whole:
        warnings.warn(
            f"removed {', '.join(whole)}, of an earlier run: beside the new files it would be out of date",
            PsmrWarning,
            stacklevel=3,
        )


def write_outputs(
    run: Run,
    output: Output,
    page: Page,
    transaction: OutputTransaction,
    written: tuple[Path, ...] = (),
    stage: Callable[[str], None] | None = None,
    mark: str = "",
) -> tuple[Path, ...]:
    """Write the files that an output table asks for in a transaction, and return their paths.

    Those in `written` are there already; `stage` is called with the name of each before it is made. `mark` is
    put before the endings of their names.
    """
    say = stage or (lambda words: None)
    place = Path(output.folder)
    files = []
    for path in tables_of(output, mark):
        files.append(path)
        if path not in written:
            say(f"writing {path.name}")
            run.write_table(path, output.signals, transaction)
    if output.save:
        files.append(_marked(place / "run.psmr", mark))
        say(f"writing {files[-1].name}")
        run.save(files[-1], transaction)
    if output.figure != "none":
        from psmr.figures.canvas import forget_figure, save

        files.append(_marked(place / f"run.{output.figure}", mark))
        say(f"drawing {files[-1].name}")
        figure = run.plot(output.signals, title=page.title)
        save(figure, files[-1], transaction)
        forget_figure(figure)
    if output.html:
        from psmr.figures.run.report import run_page, write_page

        files.append(_marked(place / REPORT, mark))
        network = None
        if page.network is not None:
            say("following the modes to full dynamics of the network")
            network = page.network(run)
        say(f"drawing {files[-1].name}")
        words = run_page(
            run, page.system, page.title, output.signals, page.origin, output.interactive, network
        )
        write_page(files[-1], words, transaction)
    return tuple(files)


PARTIAL = ".partial"
"""What stands in the names of the files of a run that failed."""


def write_partial(run: Run, output: Output, page: Page, stage: Callable[[str], None] | None = None) -> str:
    """Write what a run that failed came to, under names that say so, and return a sentence on it.

    Files of an earlier run that ended well stay; those of one that failed are removed unless replaced.
    Nothing that goes wrong here hides what the run failed by: where its page cannot be drawn, that is said.
    """
    undrawn = ""
    try:
        try:
            files = _written_partial(run, output, page, stage)
        except PsmrError:
            raise
        except Exception as error:
            undrawn = f" The page and the figure could not be drawn: {type(error).__name__}: {error}"
            files = _written_partial(run, replace(output, html=False, figure="none"), page, stage)
    except Exception as error:
        return f"What was computed up to there could not be written: {error}{undrawn and '.'}{undrawn}"
    if not files:
        return undrawn.strip() or f"Nothing is written: {output.folder} was to have no file."
    listed = ", ".join(str(path) for path in files)
    kept = f"What was computed up to t = {run.t[-1]:.6g} s is kept, marked as partial: {listed}"
    return f"{kept}.{undrawn}" if undrawn else kept


def _written_partial(
    run: Run, output: Output, page: Page, stage: Callable[[str], None] | None
) -> tuple[Path, ...]:
    """Write the files of a run that failed, in the place of those that an earlier one left."""
    place = Path(output.folder)
    instead = [_marked(place / name, PARTIAL) for name in (*NAMES, REPORT)]
    with OutputTransaction(StudyError, instead=instead) as transaction:
        return write_outputs(run, output, page, transaction, stage=stage, mark=PARTIAL)


def _marked(path: Path, mark: str) -> Path:
    return path.with_name(f"{path.stem}{mark}{path.suffix}")
