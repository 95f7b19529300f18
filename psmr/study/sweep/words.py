"""What a terminal shows of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from psmr.study.sweep.swept import Swept

SHOWN = {
    "outcomes": (
        "synchronism", "lost_at", "lost_machines", "angle_spread", "lowest_voltage", "lowest_voltage_bus",
        "nadir",
    ),
    "clearing-time": ("critical_clearing_time", "lost_then"),
    "damping": ("damping_ratio", "frequency", "mode_real", "mode_imag", "dominant_state"),
    "stability": ("stable", "spectral_radius", "deformation", "damping_change"),
}  # fmt: skip
"""By measure: the columns that a reader sees first."""

ROWS = 10


def shown(swept: Swept, rows: int) -> pd.DataFrame:
    """Return the worst rows with the columns that a reader sees first."""
    table = swept.ranked().head(rows)
    columns = ["run", *swept.labels, *SHOWN[swept.sweep.measure.kind]]
    if (table["status"] == "failed").any():
        columns.append("message")
    return table[columns]


def headline(swept: Swept) -> str:
    """Return what came of a sweep in a sentence or two."""
    table, kind = swept.table, swept.sweep.measure.kind
    failed = len(swept.failed)
    words = [f"{len(table)} points"]
    if kind == "outcomes":
        lost = int((table["synchronism"] == "lost").sum())
        stopped = int(table["stopped"].notna().sum())
        words.append(f"{lost} lost synchronism")
        words += [f"{stopped} were stopped by a monitor"] if stopped else []
    elif kind == "clearing-time" and len(table) > failed:
        best = table["critical_clearing_time"]
        words.append(f"critical clearing times from {best.min():.4g} s to {best.max():.4g} s")
    elif kind == "damping" and len(table) > failed:
        least = table["damping_ratio"]
        words.append(f"least damping from {100 * least.min():.3g} % to {100 * least.max():.3g} %")
    elif kind == "stability":
        words.append(f"{int((table['stable'] == False).sum())} unstable")  # noqa: E712
    words += [f"{failed} failed"] if failed else []
    return ", ".join(words) + "."


def summary(swept: Swept) -> str:
    """Return head, worst rows and files as lines of text."""
    table = shown(swept, ROWS)
    for name in ("message", "lost_then", "lost_machines"):
        if name in table:
            table[name] = table[name].map(lambda words: _cut(words, 60))
    text = table.to_string(index=False, float_format=lambda value: f"{value:.4g}", na_rep="")
    more = f"... {len(swept.table) - ROWS} more" if len(swept.table) > ROWS else ""
    again = f" ({swept.resumed} were done before)" if swept.resumed else ""
    head = f"{swept.sweep.name}: {headline(swept)}{again} {swept.seconds:.1f} s."
    return "\n".join(part for part in (head, "", text, more) if part or part == "")


def _cut(words: object, length: int) -> str:
    text = words if isinstance(words, str) else ""
    return text if len(text) <= length else f"{text[: length - 3]}..."
