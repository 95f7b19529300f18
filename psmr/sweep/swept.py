"""What comes of a sweep, and what a terminal shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from psmr.base.arguments import check_arguments
from psmr.base.errors import StudyError, without_numbers
from psmr.sweep.sweep import Sweep

if TYPE_CHECKING:
    import pandas as pd

    from psmr.sweep.measures import Measure

ROWS = 10

# Messages of failed points, and warnings, that a terminal shows.
MESSAGES = 5


def worst_table(ranked: pd.DataFrame, labels: Sequence[str], measure: Measure, rows: int) -> pd.DataFrame:
    """Return the worst rows, which come first, with the columns that a reader of this measure sees first."""
    table = ranked.head(rows)
    columns = ["run", *labels, *measure.shown]
    if (table["status"] == "failed").any():
        columns.append("message")
    return table[columns]


def headline(table: pd.DataFrame, kind: str) -> str:
    """Return what came of a sweep with this measure in a sentence or two."""
    failed = int((table["status"] == "failed").sum())
    words = [f"{len(table)} point{'s' * (len(table) != 1)}"]
    if kind == "outcomes":
        lost = int((table["synchronism"] == "lost").sum())
        stopped = table["stopped"].notna()
        every = lost and (stopped == (table["synchronism"] == "lost")).all()
        words.append(f"{lost} lost synchronism{' (all stopped by the monitor)' if every else ''}")
        words += [f"{int(stopped.sum())} stopped by a monitor"] if stopped.any() and not every else []
        others = table["verdict"][table["synchronism"] != "lost"].value_counts()
        said = {"red": "red for another reason", "amber": "amber"}
        words += [f"{others[colour]} {end}" for colour, end in said.items() if colour in others]
    elif kind == "clearing-time" and len(table) > failed:
        best = table["critical_clearing_time"]
        words.append(f"critical clearing times from {best.min():.4g} s to {best.max():.4g} s")
        kept = int((table["bounded"] == False).sum())  # noqa: E712
        words += [f"{kept} of them above the longest time tried"] if kept else []
    elif kind == "load-margin" and len(table) > failed:
        margin = table["load_margin"]
        words.append(f"load margins from {margin.min():.4g} MW to {margin.max():.4g} MW")
    elif kind == "damping" and len(table) > failed:
        least = table["damping_ratio"]
        words.append(f"least damping from {100 * least.min():.3g} % to {100 * least.max():.3g} %")
    elif kind == "stability":
        words.append(f"{int((table['stable'] == False).sum())} unstable")  # noqa: E712
    words += [f"{failed} failed"] if failed else []
    return ", ".join(words) + "."


def worst_text(ranked: pd.DataFrame, labels: Sequence[str], measure: Measure) -> str:
    """Return the worst rows as lines of text, long words cut."""
    table = worst_table(ranked, labels, measure, ROWS)
    for name in ("message", "instability_above", "lost_machines"):
        if name in table:
            table[name] = table[name].fillna("").map(lambda w: w if len(w) <= 60 else f"{w[:57]}...")
    text = table.to_string(index=False, float_format=lambda value: f"{value:.4g}", na_rep="")
    more = len(ranked) - ROWS
    said = [_counted(ranked, "message", "Failed"), _counted(ranked, "warnings", "Warnings")]
    return "\n\n".join([f"{text}\n... {more} more" if more > 0 else text, *filter(None, said)])


def _counted(table: pd.DataFrame, column: str, title: str) -> str:
    """Return what points say in a column, the most frequent first; nothing where none says anything."""
    found = value_counts(table, column)
    lines = [f"  {count}: {words}" for words, count in found[:MESSAGES]]
    if len(found) > MESSAGES:
        lines.append(f"  ... {len(found) - MESSAGES} more, in the column {column}")
    return "\n".join([f"{title}:", *lines]) if found else ""


def value_counts(table: pd.DataFrame, column: str) -> list[tuple[str, int]]:
    """Return what points say in a column, and how many with whatever numbers, the most frequent first."""
    alike = table[column].map(without_numbers, na_action="ignore")
    counts = table.groupby(alike)[column].agg(["first", "size"])
    counts = counts.sort_values("size", ascending=False, kind="stable")
    return [(str(words), int(count)) for words, count in counts.itertuples(index=False)]


@dataclass(frozen=True, eq=False)
class Swept:
    """A finished sweep.

    Attributes
    ----------
    sweep
        What was swept.
    folder
        Where its results are.
    table
        A row per point, in their order: ``run``, what varied, ``status`` (``"done"`` or ``"failed"``), what
        was found out (see the columns of the measure), ``message`` and ``warnings``.
    labels
        The columns that say what varied.
    seconds
        Wall time of this call, page and reports included; less than the work where the sweep was resumed.
    resumed
        Points that were found done.
    files
        What was written beside the rows.
    """

    sweep: Sweep
    folder: Path
    table: pd.DataFrame = field(repr=False)
    labels: tuple[str, ...]
    seconds: float = 0.0
    resumed: int = 0
    files: tuple[Path, ...] = ()

    @property
    def failed(self) -> pd.DataFrame:
        """The rows of points that could not be carried out."""
        return self.table[self.table["status"] == "failed"]

    @property
    def headline(self) -> str:
        """What came of it, in a sentence or two."""
        return headline(self.table, self.sweep.measure.kind)

    def ranked(self) -> pd.DataFrame:
        """Return the rows, the worst first, those that failed before all.

        Runs are ordered by when synchronism was lost, then verdict, angle spread, lowest voltage and nadir;
        clearing times and damping ratios from the smallest, spectral radii from the largest.
        """
        order = self.sweep.measure.order
        keys = ["_failed", *(name for name, _ in order), "run"]
        rising = [False, *(small for _, small in order), True]
        given = self.table.assign(_failed=self.table["status"] == "failed")
        if "verdict" in keys:
            given["verdict"] = given["verdict"].map(["red", "amber", "green"].index, "ignore")
        return self.table.loc[given.sort_values(keys, ascending=rising, kind="stable").index]

    def signals(self, run: int) -> pd.DataFrame:
        """Return the signals that were kept of a run, with the time in s as index.

        Raises
        ------
        StudyError
            When none were kept of it.
        """
        check_arguments(Swept.signals, locals(), StudyError)
        import pyarrow.dataset as dataset

        place = self.folder / "signals"
        if not place.is_dir():
            raise StudyError(f"{self.folder}: no signals were kept; name some in signals")
        found = dataset.dataset(place, format="parquet").to_table(filter=dataset.field("run") == run)
        if not len(found):
            raise StudyError(f"{self.folder}: there are no signals of run {run}")
        return found.to_pandas().drop(columns="run").set_index("t").dropna(axis=1, how="all")

    def __str__(self) -> str:
        again = f" {self.resumed} were done before." if self.resumed else ""
        head = f"{self.sweep.name}: {self.headline}{again} Took {self.seconds:.1f} s."
        return f"{head}\n\n{worst_text(self.ranked(), self.labels, self.sweep.measure)}"

    def _repr_html_(self) -> str:
        head = f"<p><strong>{escape(self.sweep.name)}</strong></p>"
        return head + self.ranked().head(10)._repr_html_()  # type: ignore[operator]
