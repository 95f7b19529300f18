"""Names beside what they name, pushed apart so that none covers another."""

from __future__ import annotations

import re
from collections.abc import Sequence


def unbroken(text: str) -> str:
    """Return a text in which no line ends within ``h = 0.05 s``: between a name, its number and its unit."""
    hard = "\N{NO-BREAK SPACE}"
    return re.sub(r"(?<=\d) (?=(s|1/s|%)(?![\w/]))", hard, text.replace(" = ", f"{hard}={hard}"))


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Return ascending places moved as little as needed to be a gap apart and, if they fit, within [0, 1]."""
    moved = list(places)
    for k in range(1, len(moved)):
        moved[k] = max(moved[k], moved[k - 1] + gap)
    top = max(1.0, places[-1] if places else 1.0)
    for k in reversed(range(len(moved))):
        moved[k] = min(moved[k], top - gap * (len(moved) - 1 - k))
    # Upwards and downwards each leave a bunch to one side; half way stands before its lines.
    down = list(places)
    for k in reversed(range(len(down) - 1)):
        down[k] = min(down[k], down[k + 1] - gap)
    middle = [(a + b) / 2 for a, b in zip(moved, down, strict=True)]
    for k in range(1, len(middle)):
        middle[k] = max(middle[k], middle[k - 1] + gap)
    over = max(0.0, middle[-1] - top) if middle else 0.0
    return [place - over for place in middle]
