"""The border between what survives and what does not, in whole numbers, by bisection."""

from __future__ import annotations

from collections.abc import Callable


def last_survivor(most: int, survives: Callable[[int], bool]) -> int:
    """Return the last number up to `most` that survives, where 0 does and the next one does not."""
    low, high = 0, most
    if survives(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if survives(middle) else (low, middle)
    return low


def confirmed_border(low: int, most: int, survives: Callable[[int], bool]) -> int:
    """Return the last number that survives beside one that was found less surely; 0 needs no trial."""
    down = low
    while down > 0 and not survives(down):
        down -= 1
    if down < low:
        return down
    while low < most and survives(low + 1):
        low += 1
    return low
