"""What programs that write files leave of a number by rounding."""

from __future__ import annotations

import math

ROUNDING = 1e-6
"""How far two numbers may be apart, relatively and absolutely, and be one: solvers and texts round there."""


def in_order(low: float, high: float) -> tuple[float, float] | None:
    """Return two limits, both the first where the second is below it by rounding; None for a wrong order."""
    if low <= high:
        return low, high
    near = abs(low) < math.inf and low - high <= ROUNDING * max(1.0, abs(low))
    return (low, low) if near else None
