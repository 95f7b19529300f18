"""The deformation report as one self-contained HTML page, and its parts for the page of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from markupsafe import Markup

from psmr.base.printable import percent_text
from psmr.figures.modes.canvas import close
from psmr.figures.modes.figures import USUAL, deformation_bars, oscillations, whole_spectrum
from psmr.figures.modes.render import complex_text, inline_svg, render
from psmr.pencil.deformation.reported import Reported
from psmr.pencil.modes.damping import DampingLimit, changed_most, sentences_on
from psmr.pencil.modes.matching import REPRESENTED

HEADS = (
    *("mode [1/s]", "f [Hz]", "damping ratio", "as simulated [1/s]", "deformation", "damping error"),
    *("frequency error", "mostly in", "status"),
)

# Bars that a reader looks through; the table has every mode.
MOST_BARS = 24


@dataclass(frozen=True)
class Row:
    """A row of a table: its cells, and the class of the row in the style sheet."""

    cells: Sequence[str]
    mark: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of a page: the drawing, what it shows in words, whether it scrolls where narrow."""

    svg: Markup
    words: str
    wide: bool = False


def page(report: Reported) -> str:
    """Return the page: scheme, partition, verdict, warnings, figures, modes and spurious multipliers."""
    split = getattr(report.scheme, "split", None)
    changed = [mode for mode in changed_most(report.columns, USUAL) if mode[0] not in report.hidden]
    return render(
        "deformation.html",
        title="Mode deformation",
        scheme=str(report.scheme),
        partition="" if split is None else str(split),
        pencil=report.pencil,
        step=f"{report.step:g}",
        colour="red" if not report.stable else "amber" if report.hidden or changed else "green",
        badge="",
        verdict=report.verdict,
        warnings=(*sentences_on(changed, USUAL, "system"), *report.warnings),
        **parts(report),
    )


def parts(
    report: Reported,
    dominant_states: Mapping[complex, str] | None = None,
    limit: DampingLimit = USUAL,
) -> dict[str, Any]:
    """Return what the template of modes shows: figures, heads and rows of the table, spurious multipliers.

    Parameters
    ----------
    report
        A `psmr.pencil.deformation.report.Deformation`.
    dominant_states
        By mode (1/s, rad/s) the state that takes most part in it.
    limit
        By how much a damping ratio may change before a mode is red.
    """
    figures = [
        _picture(draw(report, limit), words)
        for draw, words in (
            (oscillations, "Oscillatory modes of the system and of the scheme in the complex plane"),
            (whole_spectrum, "All modes of the system and of the scheme in the complex plane"),
            (bars, "Relative deformation of each mode as a bar"),
        )
    ]
    return {
        "figures": figures,
        "heads": HEADS if dominant_states else (*HEADS[:-2], HEADS[-1]),
        "rows": [_row(report, k, dominant_states or {}) for k in range(len(report.columns["status"]))],
        "spurious": _spurious(report),
    }


def bars(report: Reported, limit: DampingLimit = USUAL) -> Any:
    """Draw the deformation of the modes of largest deformation."""
    return deformation_bars(report, most=MOST_BARS, limit=limit)


def _picture(figure: Any, words: str) -> Picture:
    drawn = Picture(inline_svg(figure, words), words)
    close(figure)
    return drawn


def _row(report: Reported, k: int, dominant_states: Mapping[complex, str]) -> Row:
    row = SimpleNamespace(**{name: values[k] for name, values in report.columns.items()})
    dominant = k == report.dominant_at
    numerical = complex_text(row.real_numerical, row.imag_numerical)
    cells = [
        complex_text(row.real, row.imag),
        f"{row.frequency_hz:.3f}" if row.imag else "",
        percent_text(row.damping_ratio),
        numerical if row.status == REPRESENTED else "",
        percent_text(row.relative_deformation),
        percent_text(row.damping_error, "+", "pp"),
        percent_text(row.frequency_error, "+"),
    ]
    if dominant_states:
        known = np.array(list(dominant_states))
        cells.append(dominant_states[known[np.abs(known - complex(row.real, row.imag)).argmin()]])
    status = row.status + (", least damped oscillation" if dominant else "")
    return Row((*cells, status), "dominant" if dominant else "")


def _spurious(report: Reported) -> list[Row]:
    columns = report.spurious_columns
    return [
        Row((complex_text(real, imag), f"{size:.4g}", name))
        for real, imag, size, name in zip(
            *(columns[name] for name in ("real_z", "imag_z", "magnitude", "dominant_variable")), strict=True
        )
    ]
