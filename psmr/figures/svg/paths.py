"""Paths of SVG from points, and the outlines of marks and arrows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def path(points: Reals, closed: bool = False) -> str:
    """Return the path through (K, 2) points, begun anew behind each that is not a number."""
    parts, pen = [], "M"
    for x, y in points.tolist():
        if x != x or y != y:
            pen = "M"
            continue
        parts.append(f"{pen}{x:.2f} {y:.2f}")
        pen = "L"
    return "".join(parts) + ("Z" if closed and parts else "")


def inside(points: Reals, left: float, top: float, right: float, bottom: float) -> Reals:
    """Return (K, 2) points with what is far outside a box drawn nearer: a renderer need not clip so much.

    A point is moved straight up, down or sideways, no nearer to the box than its own size; a line from it
    into the box then has another slope outside, and within only where it was far steeper than the box.
    """
    wide, high = 20.0 * (right - left), 20.0 * (bottom - top)
    limits = (left - wide, right + wide), (top - high, bottom + high)
    return np.column_stack([np.clip(points[:, k], *limits[k]) for k in (0, 1)])


def dot(kind: str, x: float, y: float, size: float) -> str:
    """Return the path of a mark `size` wide; its kinds are those of `psmr.figures.chart.Dots`."""
    r = size / 2.0
    if kind == "o":
        return f"M{x - r:.2f} {y:.2f}a{r:g} {r:g} 0 1 0 {size:g} 0a{r:g} {r:g} 0 1 0 {-size:g} 0Z"
    if kind == "s":
        return f"M{x - r:.2f} {y - r:.2f}h{size:g}v{size:g}h{-size:g}Z"
    if kind == "D":
        d = r * 2.0**0.5
        return f"M{x:.2f} {y - d:.2f}l{d:.2f} {d:.2f}l{-d:.2f} {d:.2f}l{-d:.2f} {-d:.2f}Z"
    if kind == "*":
        turns = np.arange(10) * np.pi / 5
        size_of = np.where(np.arange(10) % 2, 0.382 * r, r)
        return path(np.column_stack([x + size_of * np.sin(turns), y - size_of * np.cos(turns)]), closed=True)
    return f"M{x - r:.2f} {y - r:.2f}l{size:g} {size:g}M{x - r:.2f} {y + r:.2f}l{size:g} {-size:g}"


def head(start: Reals, end: Reals, size: float) -> str:
    """Return the path of an arrow head of `size` points at the end of a line."""
    along = end - start
    length = float(np.hypot(*along))
    if not length > 0.0:
        return ""
    along = along / length
    across = np.array([-along[1], along[0]])
    back = end - 0.4 * size * along
    return path(np.array([end, back + 0.2 * size * across, back - 0.2 * size * across]), closed=True)


def shortened(start: Reals, end: Reals, at_start: float, at_end: float) -> tuple[Reals, Reals]:
    """Return the ends of a line drawn shorter by so many points."""
    along = end - start
    length = float(np.hypot(*along))
    if length <= at_start + at_end:
        return start, end
    along = along / length
    return start + at_start * along, end - at_end * along
