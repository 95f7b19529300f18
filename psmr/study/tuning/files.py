"""The files of a tuning: the winner as a study, the figure, and every candidate."""

from __future__ import annotations

import json
import os
import textwrap
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from psmr.base.above import draw
from psmr.base.errors import StudyError
from psmr.base.files import OutputTransaction
from psmr.files.read import CaseFile
from psmr.study.output.files import placed
from psmr.study.tuning.confirmation import Confirmation
from psmr.study.tuning.tuning import Candidate, Tuning

WIDTH = 110


def tuning_record(tuning: Tuning, confirmation: Confirmation) -> dict[str, Any]:
    """Return the result as plain numbers by name."""

    def record(candidate: Candidate | None) -> dict[str, Any] | None:
        if candidate is None:
            return None
        names = ("cost", "deformation", "damping_error", "frequency_error")
        return {"scheme": candidate.recorded, **{name: getattr(candidate, name) for name in names}}

    return {
        "system": tuning.name,
        "target": asdict(tuning.target),
        "advice": tuning.advice,
        "winner": record(tuning.winner),
        "best_single": record(tuning.best_single),
        "best_multirate": record(tuning.best_multirate),
        "candidates": len(tuning.candidates),
        "confirmation": asdict(confirmation),
    }


FILES = ("tuned.toml", "pareto.svg", "candidates.csv")
"""What `write_tuning` writes."""


def write_tuning(folder: str | os.PathLike[str], tuning: Tuning, case: CaseFile) -> tuple[Path, ...]:
    """Write study, figure and table into a folder, all or none, and return their paths.

    Raises
    ------
    StudyError
        When the folder cannot be written.
    """
    place = Path(folder)
    files = tuple(place / name for name in FILES)
    with OutputTransaction(StudyError) as transaction:
        with transaction.file(files[2]) as temporary:
            temporary.write_text(tuning.table.to_csv(index=False), encoding="utf-8")
        draw("run.tuning.save_pareto", tuning, files[1], transaction)
        write_study(files[0], tuning, case, transaction)
    return files


def write_study(
    path: str | os.PathLike[str], tuning: Tuning, case: CaseFile, transaction: OutputTransaction | None = None
) -> None:
    """Write the winner as a study file beside which, or from which, the case file is found.

    The file appears at once, or with the others of `transaction`.

    Raises
    ------
    StudyError
        When it cannot be written.
    """
    place = Path(path)

    def relative(file: str | os.PathLike[str]) -> str:
        return os.path.relpath(Path(file).resolve(), place.resolve().parent).replace(os.sep, "/")

    # What a study file need not say of its case is left out.
    reading = {
        f.name: getattr(case, f.name) for f in fields(case) if f.name not in ("path", "format") and f.compare
    }
    given = [f.name for f in fields(case) if f.name in reading and reading[f.name] != f.default]
    if case.dynamics is not None:
        reading["dynamics"] = relative(case.dynamics)
    lines = [
        f"# The cheapest scheme for {tuning.name} with {tuning.target}.",
        *(f"# {line}" for line in textwrap.wrap(str(tuning.winner), WIDTH - 2)),
        'format = "psmr-study"',
        "version = 1",
        f"name = {_toml(f'{tuning.name}, tuned')}",
        f"case = {_toml(relative(case.path))}",
        *(f"{name} = {_toml(reading[name])}" for name in given),
        "",
        "[scheme]",
        *(f"{key} = {_toml(value)}" for key, value in tuning.winner.recorded.items()),
        "",
        "[simulation]",
        "t_end = 10.0  # s; add [[event]] tables",
    ]
    with placed(place, transaction) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    # A JSON string is a TOML basic string; numbers read alike.
    return json.dumps(value, ensure_ascii=False)
