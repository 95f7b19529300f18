"""Colours and strokes of the figures of a page."""

from __future__ import annotations

from typing import Any

THEME = {
    "#1c2330": "ink",
    "#000000": "ink",
    "#6b7280": "faint",
    "#8a8f98": "faint",
    "#5b6472": "faint",
    "#b9bec6": "rule",
    "#e3e5e8": "grid",
    "#b0b0b0": "grid",
    "#ffffff": "paper",
    "#1f4e79": "blue",
    "#d1495b": "red",
    "#2a9d6f": "green",
    "#e09f3e": "orange",
    "#7b5ea7": "violet",
    "#4ea5d9": "sky",
    "#8a5a44": "brown",
    "#9aa437": "olive",
}
"""Colours of the figures by their names in the style sheet, where dark mode and print change them."""

_NAMED = {"black": "var(--ink)", "white": "var(--paper)"}


def colour_of(colour: str) -> str:
    """Return a colour as the page has it."""
    return _NAMED.get(colour) or (f"var(--{THEME[colour]})" if colour in THEME else colour)


def stroke(colour: str, width: float, dashes: Any = None) -> str:
    """Return the style of a line; `dashes` as in matplotlib: (offset, lengths in line widths), or ``":"``."""
    lengths = (1.0, 1.65) if dashes == ":" else dashes[1] if isinstance(dashes, tuple) else ()
    dashed = ",".join(f"{width * part:.2f}" for part in lengths)
    return f"stroke:{colour_of(colour)};stroke-width:{width:g}" + (
        f";stroke-dasharray:{dashed}" if dashed else ""
    )


def filled(colour: str, alpha: float | None = None, edge: str = "none", width: float = 0.0) -> str:
    """Return the style of an area."""
    look = f"fill:{colour_of(colour)}" + ("" if alpha is None else f";fill-opacity:{alpha:g}")
    return look + (f";{stroke(edge, width)}" if edge != "none" and width else "")
