"""What comes of a sweep."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from psmr.base.arguments import check_arguments
from psmr.base.errors import StudyError
from psmr.sweep.sweep import Sweep

if TYPE_CHECKING:
    import pandas as pd


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
        Wall time of this call; less than the work where the sweep was resumed.
    resumed
        Points that were found done.
    files
        What was written beside the rows.
    """

    sweep: Sweep
    folder: Path
    table: pd.DataFrame = field(repr=False)
    labels: tuple[str, ...]
    seconds: float
    resumed: int = 0
    files: tuple[Path, ...] = ()

    @property
    def failed(self) -> pd.DataFrame:
        """The rows of points that could not be carried out."""
        return self.table[self.table["status"] == "failed"]

    @property
    def headline(self) -> str:
        """What came of it, in a sentence or two."""
        from psmr.sweep.terminal_text import headline

        return headline(self.table, self.sweep.measure.kind)

    def ranked(self) -> pd.DataFrame:
        """Return the rows, the worst first, those that failed before all.

        Runs are ordered by the time at which synchronism was lost, then by angle spread, lowest voltage and
        nadir; clearing times and damping ratios from the smallest, spectral radii from the largest.
        """
        order = self.sweep.measure.order
        keys = ["_failed", *(name for name, _ in order), "run"]
        rising = [False, *(small for _, small in order), True]
        given = self.table.assign(_failed=self.table["status"] == "failed")
        found = given.sort_values(keys, ascending=rising, na_position="last", kind="stable")
        return found.drop(columns="_failed")

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
        from psmr.sweep.terminal_text import cut

        again = f" {self.resumed} were done before." if self.resumed else ""
        head = f"{self.sweep.name}: {self.headline}{again} Took {self.seconds:.1f} s."
        return f"{head}\n\n{cut(self.ranked(), self.labels, self.sweep.measure)}"

    def _repr_html_(self) -> str:
        head = f"<p><strong>{escape(self.sweep.name)}</strong></p>"
        return head + self.ranked().head(10)._repr_html_()  # type: ignore[operator]
