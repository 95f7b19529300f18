"""Colours and strokes of the figures of a page."""

from __future__ import annotations

from collections.abc import Sequence

THEME = {
    "#1c2330": "ink",
    "#3a3f47": "ink",
    "#6b7280": "faint",
    "#8a8f98": "faint",
    "#5b6472": "faint",
    "#b9bec6": "rule",
    "#e3e5e8": "grid",
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

LIGHT = ";".join(f"--{name}:{colour}" for colour, name in reversed(THEME.items()))
"""The same as a style, for a figure that stands in no page."""


def colour_of(colour: str) -> str:
    """Return a colour as the page has it."""
    return f"var(--{THEME[colour]})" if colour in THEME else colour


def stroke(colour: str, width: float, dashes: Sequence[float] = ()) -> str:
    """Return the style of a line; lengths of dashes in parts of its width."""
    dashed = ",".join(f"{width * part:.2f}" for part in dashes)
    style = f"fill:none;stroke:{colour_of(colour)};stroke-width:{width:g}"
    return f"{style};stroke-dasharray:{dashed}" if dashed else style


def filled(colour: str, alpha: float = 1.0, edge: str = "none", width: float = 0.0) -> str:
    """Return the style of an area."""
    look = f"fill:{colour_of(colour)}" + ("" if alpha == 1.0 else f";fill-opacity:{alpha:g}")
    return f"{look};stroke:{colour_of(edge)};stroke-width:{width:g}" if edge != "none" and width else look
