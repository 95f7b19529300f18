"""The deformation report as one self-contained HTML page, and its parts for the page of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from markupsafe import Markup

from psmr.base.errors import percent_text
from psmr.figures.chart import Drawing
from psmr.figures.modes.figures import USUAL, deformations, height_of, oscillations, whole_spectrum
from psmr.figures.modes.render import complex_text, render
from psmr.figures.svg.writer import svg
from psmr.pencil.deformation.report import Deformation
from psmr.pencil.modes.spectrum import REPRESENTED
from psmr.pencil.modes.verdict import DampingLimit, changed_most, sentences_on

HEADS = (
    "mode [1/s]",
    "f [Hz]",
    "damping ratio",
    "as simulated [1/s]",
    "deformation",
    "damping error",
    "frequency error",
    "mostly in",
    "status",
)

# Dots that a reader looks through; the table has every mode.
MOST_DOTS = 24


@dataclass(frozen=True)
class Row:
    """A row of a table: its cells, its class in the style sheet, and where its first cell leads."""

    cells: Sequence[str]
    mark: str = ""
    link: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of a page: the drawing, and what it shows in words."""

    svg: Markup
    words: str


def page(report: Deformation) -> str:
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
    report: Deformation,
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
    panel = deformations(report, limit, most=MOST_DOTS)
    plane = "modes of the system and of the scheme in the complex plane"
    drawn = (
        (Drawing((oscillations(report, limit),), 5.0, 4.1), f"Oscillatory {plane}"),
        (Drawing((whole_spectrum(report, limit),), 5.0, 4.1), f"All {plane}"),
        (Drawing((panel,), 5.0, height_of(panel)), "Relative deformation of each mode"),
    )
    figures = [Picture(svg(drawing, words), words) for drawing, words in drawn]
    return {
        "figures": figures,
        "heads": HEADS if dominant_states else (*HEADS[:-2], HEADS[-1]),
        "rows": [_row(report, k, dominant_states or {}) for k in range(len(report.columns["status"]))],
        "spurious": _spurious(report),
    }


def _row(report: Deformation, k: int, dominant_states: Mapping[complex, str]) -> Row:
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


def _spurious(report: Deformation) -> list[Row]:
    columns = report.spurious_columns
    return [
        Row((complex_text(real, imag), f"{size:.4g}", name))
        for real, imag, size, name in zip(
            *(columns[name] for name in ("real_z", "imag_z", "magnitude", "dominant_variable")), strict=True
        )
    ]
