"""Two deformations of each mode side by side: by the model of the network, and by the scheme."""

from __future__ import annotations

from typing import Any

import numpy as np

from psmr.base.errors import percent_text
from psmr.figures.chart import BLUE, INK, Axis, Dots, Drawing, Mark, Panel
from psmr.figures.modes.figures import SMALLEST, height_of
from psmr.figures.modes.page import Picture, Row
from psmr.figures.modes.render import complex_text
from psmr.figures.scales import Log
from psmr.figures.svg.writer import svg
from psmr.study.certificate.network_deformation import NetworkDeformation

HEADS = (
    "mode of this study [1/s]",
    "f [Hz]",
    "full dynamics of the network [1/s]",
    "by the model",
    "as simulated [1/s]",
    "by the scheme",
)

MOST_DOTS = 24


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
        "figure": Picture(svg(Drawing((panel,), 6.5, height_of(panel)), words), words),
        "heads": HEADS,
        "rows": [_row(found, k) for k in _by_size(found)],
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
        Axis("relative deformation [%]", (float(low) / 2.0, float(high) * 2.0), Log()),
        Axis(
            "mode of this study [1/s]",
            (-0.6, len(kept) - 0.4),
            ticks=[(place, _short(found.modes[k])) for place, k in enumerate(kept)],
            size=8.5,
            length=0.0,
        ),
        title=f"Two deformations of each mode{more}",
        legend="below" if marks else "",
    )


def _short(s: complex) -> str:
    return f"{s.real:.4g} ± j{s.imag:.4g}" if s.imag else f"{s.real:.4g}"


def _by_size(found: NetworkDeformation) -> list[int]:
    return sorted(range(len(found.modes)), key=lambda k: abs(found.modes[k]))


def _row(found: NetworkDeformation, k: int) -> Row:
    s, full, shown = found.modes[k], found.full[k], found.numerical[k]
    return Row(
        (
            complex_text(s.real, s.imag),
            f"{abs(s.imag) / (2 * np.pi):.3f}" if s.imag else "",
            "could not be followed" if full is None else complex_text(full.real, full.imag),
            percent_text(found.by_model[k]),
            "" if shown is None else complex_text(shown.real, shown.imag),
            percent_text(found.by_numerics[k]),
        )
    )
