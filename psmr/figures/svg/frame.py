"""What stands around a panel: axes with their ticks, grid, labels, title and legend."""

from __future__ import annotations

import math

from psmr.figures.svg.ink import colour_of, stroke
from psmr.figures.svg.sheet import Panel
from psmr.figures.svg.words import box_of, element, width_of

INK, LINE, GRID = "#1c2330", "#6b7280", "#e3e5e8"
TICK, PAD = 3.5, 3.0  # length of a tick and distance of its label, in points
TITLE, LABEL, ENTRY = 10.0, 9.0, 8.5  # font sizes
GAP = 14.0  # points between two entries of a legend
SAMPLE = 26.0  # width of a sample and what parts it from its word


def frame(axes: Panel) -> str:
    """Return the elements around and below what a panel shows."""
    left, top, right, bottom = axes.box()
    parts = []
    below = bottom
    if axes.framed:
        x_ticks = axes.xaxis.ticks(max(2, int((right - left) / 40.0)))
        y_ticks = axes.yaxis.ticks(max(2, int((bottom - top) / 22.0)))
        columns = [(left + part * (right - left), label) for part, label in x_ticks]
        rows = [(bottom - part * (bottom - top), label) for part, label in y_ticks]
        grid = "".join(f"M{x:.2f} {top:.2f}V{bottom:.2f}" for x, _ in columns) if "x" in axes.gridded else ""
        grid += "".join(f"M{left:.2f} {y:.2f}H{right:.2f}" for y, _ in rows) if "y" in axes.gridded else ""
        if grid:
            parts.append(f'<path d="{grid}" style="{stroke(GRID, 0.6)}"/>')
        ticks = f"M{left:.2f} {top:.2f}V{bottom:.2f}H{right:.2f}"
        ticks += "".join(f"M{x:.2f} {bottom:.2f}v{axes.xaxis.length:g}" for x, _ in columns)
        if axes.yaxis.length:
            ticks += "".join(f"M{left:.2f} {y:.2f}h{-axes.yaxis.length:g}" for y, _ in rows)
        parts.append(f'<path d="{ticks}" style="fill:none;{stroke(LINE, 0.7)}"/>')
        below, aside = bottom + TICK + PAD, left - axes.yaxis.length - PAD
        for x, label in columns:
            parts.append(_word(axes, label.text, x, below, axes.xaxis.size, "center", "top", label.weight))
        for y, label in rows:
            parts.append(_word(axes, label.text, aside, y, axes.yaxis.size, "right", "center", label.weight))
        below += axes.xaxis.size + 2.0
        if axes.xaxis.label:
            parts.append(_word(axes, axes.xaxis.label, (left + right) / 2, below, LABEL, "center", "top"))
            below += LABEL + 4.0
        if axes.yaxis.label:
            widest = max((width_of(label.text, axes.yaxis.size) for _, label in rows), default=0.0)
            parts.append(_turned(axes, axes.yaxis.label, aside - widest - 5.0, (top + bottom) / 2))
    if axes.title:
        parts.append(_word(axes, axes.title, left, top - 6.0, TITLE, "left", "bottom"))
    if axes.legend_at is not None and axes.entries:
        parts.append(_legend(axes, below + 3.0))
    return "".join(parts)


def _word(axes: Panel, text: str, x: float, y: float, size: float, ha: str, va: str, weight: str = "") -> str:
    axes.figure.covers(box_of(text, x, y, size, ha, va))
    return element(text, x, y, size, ha, va, INK, weight)


def _turned(axes: Panel, text: str, x: float, y: float) -> str:
    """Return a label that is read from below, with its base line at x."""
    half = width_of(text, LABEL) / 2
    axes.figure.covers((x - LABEL, y - half, x, y + half))
    return element(text, x, y, LABEL, "center", "baseline", INK, turned=True)


def _legend(axes: Panel, below: float) -> str:
    """Return what was drawn with a label: under the panel in rows, or in its lower right corner."""
    left, _, right, bottom = axes.box()
    given = axes.legend_at or {}
    widths = [SAMPLE + width_of(label, ENTRY) + GAP for label, _ in axes.entries]
    columns = 1 if given.get("loc") == "lower right" else min(given.get("ncols", 1), len(widths))
    rows = math.ceil(len(widths) / columns)
    # Every column as wide as its widest entry.
    wide = [max(widths[k::columns]) for k in range(columns)]
    start = (left + right - sum(wide) + GAP) / 2
    top = below + ENTRY
    if given.get("loc") == "lower right":
        start, top = right - sum(wide), bottom - rows * 1.5 * ENTRY
    start = max(start, 0.0)
    parts = []
    for k, (label, sample) in enumerate(axes.entries):
        x, y = start + sum(wide[: k % columns]), top + (k // columns) * 1.6 * ENTRY
        parts.append(f'<g transform="translate({x:.2f} {y - 3.0:.2f})">{sample}</g>')
        axes.figure.covers(box_of(label, x + SAMPLE, y, ENTRY, "left", "baseline"))
        parts.append(element(label, x + SAMPLE, y, ENTRY, colour=colour_of(INK)))
    return "".join(parts)
