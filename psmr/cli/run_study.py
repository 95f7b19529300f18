"""Carry a study out: case to system, recipe to scheme, run to the files of its folder."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from psmr.base.errors import EventError, InputError, PsmrError, PsmrWarning, SchemeError, StudyError
from psmr.base.files import OutputTransaction
from psmr.cli.console import Progress
from psmr.dae.system.system import System
from psmr.figures.run.report import ReportOrigin
from psmr.files.text import STANDARD_INPUT
from psmr.network.dynamic.switching import dynamic_elements
from psmr.network.signals.signals import Signals
from psmr.study.certificate.network_deformation import (
    NetworkDeformation,
    compared_with_full,
    whole_network,
)
from psmr.study.file.read_study import is_study, read_study
from psmr.study.file.recipe import Recipe
from psmr.study.file.study import FIGURES, Output, Study, check_signals, load_system, refuse_event
from psmr.study.output import check_writable, require_pyarrow
from psmr.study.record.record import Record
from psmr.study.run.run import Run
from psmr.study.run.saved import load_run
from psmr.study.run.simulate import simulate

PARTIAL = ".partial"
"""What stands in the names of the files of a run that failed."""

OF_STUDY = ".study"
"""The file in a folder of results that has the path of the study they are of."""


@dataclass(frozen=True)
class ReportPage:
    """What the report on a run says beside the run: its system, its title, how to make it again.

    `network` returns what leaving out dynamics of the network does to the modes of a run, or in words why
    that is not known; None: the report says nothing of it.
    """

    system: System
    title: str
    origin: ReportOrigin | None = None
    network: Callable[[Run], NetworkDeformation | str] | None = None


def _named(output: Output, kind: str, mark: str = "") -> Path:
    """Return the file of a kind, which is its ending, with a mark before that."""
    return Path(output.folder) / f"{'report' if kind == 'html' else 'run'}{mark}.{kind}"


def _asked(output: Output, mark: str = "") -> dict[str, Path]:
    """Return the files that an output table asks for by their kinds, signals over time first."""
    wanted = {"csv": output.csv, "parquet": output.parquet, "psmr": output.save}
    wanted |= {output.figure: output.figure != "none", "html": output.html}
    return {kind: _named(output, kind, mark) for kind, asked in wanted.items() if asked}


def _mark(study: Study, output: Output, transaction: OutputTransaction) -> None:
    """Say in the folder of a run whose results are there."""
    if study.source not in ("", STANDARD_INPUT):
        with transaction.file(Path(output.folder) / OF_STUDY) as path:
            path.write_text(f"{Path(study.source).resolve()}\n", "utf-8")


def _refuse_results_of_another(study: Study, output: Output) -> None:
    """Refuse a folder with the results of another study, which the new ones would replace."""
    place, own = Path(output.folder), Path(study.source).resolve()
    if study.source in ("", STANDARD_INPUT) or not (place / OF_STUDY).is_file():
        return
    other = (place / OF_STUDY).read_text("utf-8").strip()
    if other != str(own):
        free = place.with_name(f"{own.parent.name}-{own.stem}")
        raise StudyError(
            f"{place} has the results of another study, {other}; give -o {free} or another folder, or"
            " --force to replace them"
        )


def _earlier(output: Output, *marks: str) -> list[Path]:
    """Return the files that an earlier run may have left in a folder, out of date once there are new ones."""
    kinds = ("csv", "parquet", "psmr", *(kind for kind in FIGURES if kind != "none"), "html")
    return [_named(output, kind, mark) for mark in marks for kind in kinds]


def _warn_of_removed(paths: Sequence[Path]) -> None:
    """Warn of what was removed of an earlier run that came to its end."""
    whole = [str(path) for path in paths if path.suffix and not path.stem.endswith(PARTIAL)]
    if whole:
        warnings.warn(
            f"removed {', '.join(whole)}, of an earlier run: beside the new files it would be out of date",
            PsmrWarning,
            stacklevel=3,
        )


def write_outputs(
    run: Run,
    output: Output,
    page: ReportPage,
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
    files = _asked(output, mark)
    for kind, path in files.items():
        if path in written:
            continue
        network = None
        if kind == "html" and page.network is not None:
            say("following the modes to full dynamics of the network")
            network = page.network(run)
        say(f"{'writing' if kind in ('csv', 'parquet', 'psmr') else 'drawing'} {path.name}")
        if kind in ("csv", "parquet"):
            run.write_table(path, output.signals, transaction)
        elif kind == "psmr":
            run.save(path, transaction)
        elif kind == "html":
            from psmr.figures.run.report import run_page, write_page

            words = run_page(
                run, page.system, page.title, output.signals, page.origin, output.interactive, network
            )
            write_page(path, words, transaction)
        else:
            from psmr.figures.with_matplotlib import save

            save(run.plot(output.signals, title=page.title), path, transaction)
    return tuple(files.values())


def write_partial(
    run: Run, output: Output, page: ReportPage, stage: Callable[[str], None] | None = None
) -> str:
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
    run: Run, output: Output, page: ReportPage, stage: Callable[[str], None] | None
) -> tuple[Path, ...]:
    """Write the files of a run that failed, in the place of those that an earlier one left."""
    with OutputTransaction(StudyError, instead=_earlier(output, PARTIAL)) as transaction:
        return write_outputs(run, output, page, transaction, stage=stage, mark=PARTIAL)


def prepare(study: Study) -> tuple[System, Recipe]:
    """Return the system of a study and the recipe of its scheme."""
    return load_system(study.case, study.events), study.recipe


def run_study(
    study: Study,
    folder: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
    extra: Mapping[str, Any] | None = None,
    write: bool = True,
    record: Mapping[str, Any] | None = None,
    large: bool = False,
    stage: Callable[[str], None] | None = None,
    force: bool = False,
) -> tuple[System, Run, tuple[Path, ...]]:
    """Run a study and write what it asks for.

    Parameters
    ----------
    study
        From `read_study`.
    folder
        Takes the place of the study's own output folder.
    progress
        Called with the time reached in s.
    extra
        Outputs asked for beside the study's own, by the field names of `Output`.
    write
        Whether anything is written.
    record
        What the run keeps, by the field names of `psmr.Record`, in place of what the study says.
    large
        See `simulate`.
    stage
        Called with what is done beside the simulation, in words: a search for a partition, a file.
    force
        Whether results of another study in the folder are replaced.

    Returns
    -------
    System, Run, tuple of Path
        The system, the run, and the files written.

    Raises
    ------
    StudyError
        For a study without a simulation, and for a folder that cannot be written, or has the results of
        another study; before the run.
    SimulationError
        When a step does not converge. What was computed up to there is written as such, under names of its
        own, and is `partial` of the error.
    """
    if study.t_end is None:
        raise StudyError(
            f"{study.source}: there is nothing to run; add [simulation] with t_end, "
            "or ask for `psmr deformation` of it"
        )
    output = _output_of(study, folder, extra or {}) if write else None
    if output:
        if not force:
            _refuse_results_of_another(study, output)
        check_writable(output.folder, [path.name for path in _asked(output).values()])
    kept = replace(study.record or Record(), **record) if record else study.record
    system, recipe = prepare(study)
    streamed: tuple[Path, ...] = ()
    if output:
        check_output(study, output, system, kept)
        if kept is not None and output.signals is None:
            streamed = tuple(path for kind, path in _asked(output).items() if kind in ("csv", "parquet"))
            kept = replace(kept, files=streamed)
    try:
        scheme = recipe.scheme(system.linearise(), stage)
    except SchemeError as error:
        raise SchemeError(f"{study.places.scheme}: {error}" if study.places.scheme else str(error)) from error
    earlier = () if output is None else (*_earlier(output, "", PARTIAL), Path(output.folder) / OF_STUDY)
    try:
        with OutputTransaction(StudyError, instead=earlier) as transaction:
            run = simulate(
                system,
                scheme,
                study.t_end,
                study.events,
                all=study.fast_points,
                progress=progress,
                partial=output is not None,
                monitors=study.monitors,
                criteria=study.criteria,
                record=kept,
                large=large,
                transaction=transaction,
            )
            if output is None:
                return system, run, ()
            page = ReportPage(system, study.name, _origin(study), _network(study, system, output))
            files = write_outputs(run, output, page, transaction, streamed, stage)
            if files:
                _mark(study, output, transaction)
    except EventError as error:
        refuse_event(study, system, error)
    except PsmrError as error:
        if output is not None and error.partial is not None:
            page = ReportPage(system, f"{study.name}: partial run", _origin(study))
            error.args = (f"{error}\n{write_partial(error.partial, output, page, stage)}",)
        raise
    _warn_of_removed(transaction.removed)
    return system, run, files


def saved_or_run(path: str, modules: Sequence[str] = (), allow_code: bool = False) -> Run:
    """Return a saved run, or the run of a study file, of which nothing is written."""
    if not is_study(path):
        return load_run(path, modules, allow_code)
    if modules:
        raise InputError(f"--modules: {path} is a study, which names its own; give --allow-code for those")
    study = read_study(path, allow_code)
    with Progress(study.t_end) as progress:
        return run_study(study, progress=progress, write=False)[1]


def _origin(study: Study) -> ReportOrigin | None:
    """Return what a report says of where its run came from, of a study that was read from a file."""
    if not study.source:
        return None
    code = " --allow-code" if study.case.allow_code else ""
    # Double quotes are those of sh, PowerShell and cmd alike.
    source = study.source if re.fullmatch(r"[\w./\\:-]+", study.source) else f'"{study.source}"'
    return ReportOrigin(f"psmr run {source}{code}", study.text, str(study.case.path))


def _network(
    study: Study, system: System, output: Output
) -> Callable[[Run], NetworkDeformation | str] | None:
    """Return what compares the modes of a run with full dynamics of the network, where that is wanted."""
    dynamic = bool(dynamic_elements(system))
    if not dynamic and not output.network:
        return None

    def compare(run: Run) -> NetworkDeformation | str:
        region = study.case.region() if dynamic else None
        whole = whole_network(region, True if region is None else region.stator_speed)
        scheme = (
            None
            if run.certificate is None
            else run.certificate.judged(run.scheme.after(run.stats.counters.by_order))
        )
        try:
            return compared_with_full(system, load_system(replace(study.case, dynamic=whole)), scheme)
        except PsmrError as error:
            return str(error)

    return compare


def _output_of(study: Study, folder: str | Path | None, extra: Mapping[str, Any]) -> Output | None:
    if folder is not None:
        extra = {**extra, "folder": str(folder)}
    if study.output:
        return replace(study.output, **extra)
    if extra and folder is None:
        raise StudyError(
            f"{study.source}: there is no folder for {', '.join(extra)}; add [output], or give -o FOLDER"
        )
    return Output(**extra) if extra else None


def check_output(study: Study, output: Output, system: System, record: Record | None) -> None:
    """Raise InputError for a misspelt signal and a missing writer, before half of the files are written."""
    check_signals(study, system, output.signals, None if record is None else record.signals)
    chosen = Signals.of(system).select(output.signals)
    if record is not None and record.signals is not None:
        kept = set(Signals.of(system).select(record.signals))
        lost = [name for name in chosen if name not in kept] if output.signals is not None else ()
        if lost:
            raise StudyError(
                f"the outputs ask for {lost[0]}, which the run does not keep; add it to record "
                "(--record), or choose signals that are kept (--signals)"
            )
    if output.parquet:
        require_pyarrow()
    if output.html and output.interactive:
        from psmr.figures.run.report import require_bokeh

        require_bokeh()
