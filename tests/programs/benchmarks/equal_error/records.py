"""Measured rows as lines of JSON: a line for each round of each study, appended as it ends.

The lines are what docs/benchmarks/performance.md and docs/benchmarks/when-multirate-pays.md are made
from; a measurement that was broken off goes on after the last one.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tests.programs.benchmarks.equal_error.measure import Measured

ROOT = Path(__file__).parents[4]

# Digits of what is kept.
DIGITS = 4


@dataclass(frozen=True)
class Study:
    """All rounds of one case and disturbance.

    Attributes
    ----------
    key
        Case, share of converters or number of plants, disturbance.
    facts
        What else is known: number of variables, of fast ones.
    rounds
        How many were measured.
    rows
        With the median of the costs.
    """

    key: tuple[str, float, str]
    facts: dict[str, Any]
    rounds: int
    rows: list[Measured]

    def of(self, family: str) -> list[Measured]:
        """Return the rows of a family that have a solution."""
        return [row for row in self.rows if row.family == family and np.isfinite(row.seconds)]


def version() -> str:
    """Return the last commit that changed what is measured.

    Raises
    ------
    RuntimeError
        Where the package differs from it.
    """

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    if git("status", "--porcelain", "psmr", "partitioning"):
        raise RuntimeError("the package has changes that no commit has: what would be measured has no name")
    return git("log", "-1", "--format=%h", "--", "psmr", "partitioning")


def append(path: Path, key: tuple[str, float, str], facts: dict[str, Any], rows: Sequence[Measured]) -> None:
    """Append a round."""
    record = {"study": key, "version": version(), "date": f"{datetime.now(UTC):%Y-%m-%d}"} | facts
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record | {"rows": [_row(row) for row in rows]}) + "\n")


def _row(row: Measured) -> list[Any]:
    family, label, *numbers = vars(row).values()
    kept = [_rounded(number) if np.isfinite(number) else None for number in numbers]
    while kept[-1] in (None, 0) and len(kept) > 1:
        kept.pop()
    return [family, label, *kept]


def _rounded(number: float) -> float:
    return int(number) if float(number).is_integer() else float(f"{number:.{DIGITS}g}")


def _measured(kept: Sequence[Any]) -> Measured:
    family, label, *numbers = kept
    return Measured(family, label, *(np.nan if number is None else number for number in numbers))


def done(path: Path) -> dict[tuple[str, float, str], list[list[Measured]]]:
    """Return the rounds of each study in a file, in their order; none where there is no file."""
    found: dict[tuple[str, float, str], list[list[Measured]]] = {}
    for record in _records(path):
        found.setdefault(tuple(record["study"]), []).append([_measured(row) for row in record["rows"]])
    return found


def _records(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def studies(path: Path) -> list[Study]:
    """Return the studies of a file with medians over their rounds."""
    facts = {tuple(r["study"]): {k: r[k] for k in r if k != "rows"} for r in _records(path)}
    found = []
    for key, rounds in done(path).items():
        costs: dict[tuple[str, str], list[float]] = {}
        for row in (row for each in rounds for row in each):
            costs.setdefault((row.family, row.label), []).append(row.seconds)
        rows = [replace(row, seconds=float(np.median(costs[row.family, row.label]))) for row in rounds[0]]
        found.append(Study(key, facts[key], facts[key].get("rounds", len(rounds)), rows))
    return found


def gather(sources: Sequence[Path], target: Path) -> None:
    """Write the studies of some files to one, a line for each with the medians of its rounds.

    Raises
    ------
    RuntimeError
        For a file that is not there, a study in two of them, and rows of several versions; before writing.
    """
    if missing := [source for source in sources if not source.is_file()]:
        raise RuntimeError(f"{missing[0]}: there is no such file of rows")
    found = [study for source in sources for study in studies(source)]
    if twice := [key for key, count in Counter(study.key for study in found).items() if count > 1]:
        raise RuntimeError(f"{twice[0]}: in two files")
    records = [
        study.facts | {"rounds": study.rounds, "rows": [_row(row) for row in study.rows]} for study in found
    ]
    _one_version(target, records)
    target.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def versions(path: Path) -> tuple[str, str]:
    """Return the version that was measured and the days on which it was.

    Raises
    ------
    RuntimeError
        Where the lines are of more than one version.
    """
    records = list(_records(path))
    version = _one_version(path, records)
    days = sorted({record["date"] for record in records})
    return version, days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def _one_version(path: Path, records: Sequence[Mapping[str, Any]]) -> str:
    """Return the version of all records; raise RuntimeError where they have several, or there are none."""
    names = {record["version"] for record in records}
    if len(names) != 1:
        raise RuntimeError(f"{path}: rows of versions {', '.join(sorted(names))}: a page has one")
    return str(names.pop())
