"""Carry a study out: case to system, recipe to scheme, run to files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from psmr.dae.system.system import System
from psmr.errors import StudyError
from psmr.io.read import CaseFile
from psmr.study.file.recipe import Recipe
from psmr.study.file.study import Output, Study
from psmr.study.output.files import check_writable
from psmr.study.output.report import Origin
from psmr.study.record.signals import Signals
from psmr.study.run.run import Run, require_pyarrow
from psmr.study.run.simulate import simulate


def load_system(file: CaseFile) -> System:
    """Return the system of a case file at its equilibrium."""
    from psmr.grid.powerflow.powerflow import power_flow
    from psmr.grid.start.initialise import build

    case = file.read()
    flow = power_flow(case, file.reactive_limits)
    return build(case, flow, start_at_limits=file.start_at_limits)


def prepare(study: Study) -> tuple[System, Recipe]:
    """Return the system of a study and the recipe of its scheme."""
    return load_system(study.case), study.recipe


def run_study(
    study: Study,
    folder: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
    extra: Mapping[str, Any] | None = None,
    write: bool = True,
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

    Returns
    -------
    System, Run, tuple of Path
        The system, the run, and the files written.

    Raises
    ------
    StudyError
        For a study without a simulation, and for a folder that cannot be written; before the run.
    """
    if study.t_end is None:
        raise StudyError(
            f"{study.source}: there is nothing to run; add [simulation] with t_end, "
            "or ask for `psmr deformation` of it"
        )
    output = _output_of(study, folder, extra or {}) if write else None
    if output:
        check_writable(output.folder)
    system, recipe = prepare(study)
    if output:
        _check_output(output, system)
    scheme = recipe.scheme(system.linearise())
    run = simulate(
        system,
        scheme,
        study.t_end,
        study.events,
        all=study.fast_points,
        progress=progress,
        monitors=study.monitors,
    )
    if output is None:
        return system, run, ()
    return system, run, write_outputs(run, output, system, study.name, _origin(study))


def default_folder(study: Study) -> Path:
    """Return where a run of a study is written that names no folder: ``results/NAME``, after its file."""
    return Path("results") / Path(study.source).stem


def _origin(study: Study) -> Origin | None:
    """Return what a report says of where its run came from, of a study that was read from a file."""
    if not study.source:
        return None
    text = Path(study.source).read_text(encoding="utf-8")
    return Origin(f"psmr run {study.source}", text, str(study.case.path))


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


def _check_output(output: Output, system: System) -> None:
    """Find a misspelt signal and a missing writer before the run, not after half of the files are written."""
    Signals.of(system).select(output.signals)
    if output.parquet:
        require_pyarrow()
    if output.html and output.interactive:
        from psmr.study.output.interactive import require_bokeh

        require_bokeh()


def write_outputs(
    run: Run, output: Output, system: System, title: str, origin: Origin | None = None
) -> tuple[Path, ...]:
    """Write the files that an output table asks for, each whole or not at all, and return their paths."""
    place = Path(output.folder)
    files = []
    page = ""
    if output.html:
        from psmr.study.output.report import run_page, write_page

        # Before the first file: what cannot be shown leaves nothing behind.
        page = run_page(run, system, title, output.signals, origin, output.interactive)
    if output.csv:
        files.append(place / "run.csv")
        run.to_csv(files[-1], output.signals)
    if output.parquet:
        files.append(place / "run.parquet")
        run.to_parquet(files[-1], output.signals)
    if output.save:
        files.append(place / "run.psmr")
        run.save(files[-1])
    if output.figure != "none":
        from psmr.study.output.canvas import close, save

        files.append(place / f"run.{output.figure}")
        figure = run.plot(output.signals, title=title)
        save(figure, files[-1])
        close(figure)
    if output.html:
        files.append(place / "report.html")
        write_page(files[-1], page)
    return tuple(files)
