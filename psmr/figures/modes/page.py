"""The page on modes, and its parts for reports of runs: deformations by the scheme, and by the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from markupsafe import Markup

from psmr.base.errors import percent_text
from psmr.figures.chart import BLUE, INK, Dots, Drawing, LogScale, Mark, Panel, PanelAxis
from psmr.figures.modes.figures import (
    SMALLEST,
    USUAL,
    deformations,
    height_of,
    mode_axis,
    oscillations,
    whole_spectrum,
)
from psmr.figures.modes.render import complex_text, render
from psmr.figures.svg import svg
from psmr.pencil.deformation.report import Deformation
from psmr.pencil.modes.spectrum import REPRESENTED
from psmr.pencil.modes.verdict import DampingLimit, changed_most, sentences_on
from psmr.study.certificate.network_deformation import NetworkDeformation

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

# Inches of a figure on a narrow page, and where in it the complex plane stands.
WIDTH, PLANE = 4.45, (0.16, 0.11, 0.82, 0.79)


@dataclass(frozen=True)
class ModeRow:
    """A row of a table: its cells, its class in the style sheet, and where its first cell leads."""

    cells: Sequence[str]
    mark: str = ""
    link: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of a page: the drawing, and what it shows in words."""

    svg: Markup
    words: str


def picture(drawing: Drawing, words: str, whole: bool = False) -> Picture:
    """Return a drawing as a figure of a page, of its whole size or cut to what is drawn."""
    return Picture(svg(drawing, words, whole), words)


def page(report: Deformation, title: str = "Mode deformation") -> str:
    """Return the page: scheme, partition, verdict, warnings, figures, modes and spurious multipliers."""
    split = getattr(report.scheme, "split", None)
    changed = [mode for mode in changed_most(report.columns, USUAL) if mode[0] not in report.hidden]
    return render(
        "deformation.html",
        title=title,
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
    report: Deformation, dominant_states: Mapping[complex, str] | None = None, limit: DampingLimit = USUAL
) -> dict[str, Any]:
    """Return what the template of modes shows: figures, heads and rows of the table, spurious multipliers.

    `dominant_states` has by mode (1/s, rad/s) the state that takes most part in it; beyond `limit` of its
    damping ratio's change a mode is red.
    """
    panel = deformations(report, limit, most=MOST_DOTS)
    plane = "modes of the system and of the scheme in the complex plane"
    planes = [replace(one(report, limit), place=PLANE) for one in (oscillations, whole_spectrum)]
    drawn = (
        (Drawing(planes[:1], WIDTH, 3.7), f"Oscillatory {plane}"),
        (Drawing(planes[1:], WIDTH, 3.7), f"All {plane}"),
        (Drawing((panel,), WIDTH, height_of(panel)), "Relative deformation of each mode"),
    )
    figures = [picture(*both) for both in drawn]
    return {
        "figures": figures,
        "heads": HEADS if dominant_states else (*HEADS[:-2], HEADS[-1]),
        "rows": [_row(report, k, dominant_states or {}) for k in range(len(report.columns["status"]))],
        "spurious": _spurious(report),
    }


def _row(report: Deformation, k: int, dominant_states: Mapping[complex, str]) -> ModeRow:
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
    return ModeRow((*cells, status), "dominant" if dominant else "")


def _spurious(report: Deformation) -> list[ModeRow]:
    columns = report.spurious_columns
    return [
        ModeRow((complex_text(real, imag), f"{size:.4g}", name))
        for real, imag, size, name in zip(
            *(columns[name] for name in ("real_z", "imag_z", "magnitude", "dominant_variable")), strict=True
        )
    ]


NETWORK_HEADS = (
    "mode of this study [1/s]",
    "f [Hz]",
    "full dynamics of the network [1/s]",
    "by the model",
    "as simulated [1/s]",
    "by the scheme",
)


def network_parts(found: NetworkDeformation | str) -> dict[str, Any]:
    """Return what the template of a run's page shows: a note, and without an error figure, heads and rows."""
    if isinstance(found, str):
        return {"note": f"Not known: {found}", "rows": ()}
    words = "Deformation of each mode by the model of the network and by the scheme"
    panel = two_deformations(found)
    return {
        "note": (
            f"{found}. By the model: |mode of this study - full dynamics| / |full dynamics|; by the scheme:"
            " |as simulated - mode of this study| / |mode of this study|. A shorter step does not make the"
            " first smaller, nor a larger region the second."
        ),
        "figure": picture(Drawing((panel,), 6.5, height_of(panel)), words),
        "heads": NETWORK_HEADS,
        "rows": [_network_row(found, k) for k in _by_size(found)],
    }


def two_deformations(found: NetworkDeformation) -> Panel:
    """Return two dots for each mode; of more than `MOST_DOTS` those with the largest deformations."""
    both = 100.0 * np.array([found.by_model, found.by_numerics])
    size = np.nan_to_num(both, nan=0.0).max(axis=0, initial=0.0)
    kept = sorted(np.argsort(-size, kind="stable")[:MOST_DOTS].tolist(), key=lambda k: abs(found.modes[k]))
    both, place = np.maximum(both[:, kept], 100.0 * SMALLEST), np.arange(len(kept))
    kinds = (("o", BLUE, "by the model of the network"), ("x", INK, "by the scheme"))
    marks: list[Mark] = []
    for values, (shape, colour, label) in zip(both, kinds, strict=True):
        known = np.isfinite(values)
        if known.any():
            fill = "none" if shape == "x" else colour
            edge = colour if shape == "x" else "none"
            marks.append(Dots(values[known], place[known], shape, 7.0, fill, edge, label=label))
    low, high = np.nanmin(both, initial=1.0), np.nanmax(both, initial=1.0)
    left_out = len(found.modes) - len(kept)
    more = f", the {left_out} smallest left out" if left_out else ""
    return Panel(
        marks,
        PanelAxis("relative deformation [%]", (float(low) / 2.0, float(high) * 2.0), LogScale()),
        mode_axis("mode of this study [1/s]", [found.modes[k] for k in kept]),
        title=f"Two deformations of each mode{more}",
        legend="below" if marks else "",
    )


def _by_size(found: NetworkDeformation) -> list[int]:
    return sorted(range(len(found.modes)), key=lambda k: abs(found.modes[k]))


def _network_row(found: NetworkDeformation, k: int) -> ModeRow:
    s, full, shown = found.modes[k], found.full[k], found.numerical[k]
    return ModeRow(
        (
            complex_text(s.real, s.imag),
            f"{abs(s.imag) / (2 * np.pi):.3f}" if s.imag else "",
            "could not be followed" if full is None else complex_text(full.real, full.imag),
            percent_text(found.by_model[k]),
            "" if shown is None else complex_text(shown.real, shown.imag),
            percent_text(found.by_numerics[k]),
        )
    )
