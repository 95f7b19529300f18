"""What came of a battery: a row per trial and strength, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psmr.acceptance.judge import FAIL, PASS

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Accepted:
    """What came of a battery.

    Attributes
    ----------
    table
        A row per trial and strength: ``scr``, ``x_r``, ``trial``, ``kind``, ``clause``, ``verdict``, ``why``
        and the numbers.
    folder
        Where rows, figure and page are.
    left_out
        Sentences on what was not tried, and why.
    name
        The plant.
    traces
        Of each strength (``scr``, ``x_r``) and trial, time in s, voltage in pu and active power in pu.
    files
        What was written.
    seconds
        Wall time.
    """

    table: pd.DataFrame = field(repr=False)
    folder: Path
    left_out: tuple[str, ...]
    name: str
    traces: dict[tuple[float, float, str], Any] = field(default_factory=dict, repr=False)
    files: tuple[Path, ...] = ()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether everything that was tried passed."""
        return bool((self.table["verdict"] == PASS).all())

    @property
    def headline(self) -> str:
        """What came of it, in a sentence."""
        failed = int((self.table["verdict"] == FAIL).sum())
        return f"{len(self.table) - failed} of {len(self.table)} trials passed, {failed} failed"

    def trials(self) -> pd.DataFrame:
        """Return a row per trial: at how many strengths it passed, and the first at which it did not."""
        rows = []
        for name, part in self.table.groupby("trial", sort=False):
            failed = part[part["verdict"] == FAIL]
            first = "" if failed.empty else f"SCR {failed['scr'].iloc[0]:g}, X/R {failed['x_r'].iloc[0]:g}: "
            why = first + (failed if len(failed) else part)["why"].fillna("").iloc[0]
            counts = {"passed": len(part) - len(failed), "of": len(part)}
            rows.append({"trial": name, **counts, "clause": part["clause"].iloc[0], "why": why})
        import pandas as pd

        return pd.DataFrame(rows)

    def __str__(self) -> str:
        table = self.trials()
        table["why"] = table["why"].str.slice(0, 90)
        lines = [f"{self.name}: {self.headline}, in {self.seconds:.1f} s.", "", table.to_string(index=False)]
        return "\n".join([*lines, *(f"\nLeft out: {words}" for words in self.left_out)])
