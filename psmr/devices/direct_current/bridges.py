"""Bridges of a line-commutated converter in series: what commutation makes of voltage and reactive power.

With the ideal no-load voltage V_d0, the angle a at which a valve takes over (the firing angle of a rectifier,
the margin angle gamma of an inverter), the overlap u and the current I,

    V_d = V_d0 cos a - (d_x + d_r) I,    cos a - cos(a + u) = 2 d_x I / V_d0,
    Q = V_d0 I cos(u/2) (u / sin u - cos s) / (2 sin(s/2)) - d_r I^2 tan(phi),    s = 2 a + u,
    tan(phi) = (2 u + sin 2a - sin 2(a + u)) / (cos 2a - cos 2(a + u)) = (u / sin u - cos s) / sin s,

where d_x = N 3 X / pi and d_r = 2 N R of N bridges in series. The reactive power is written so that it is
regular at a + u/2 = 90 degrees, where the power is zero. Sources: Kundur (1994), section 10.3; E. W. Kimbark,
Direct Current Transmission (1971), chapter 3, for the power factor.
"""

from __future__ import annotations

import math
from typing import Any

NO_LOAD = 3 * math.sqrt(2) / math.pi
"""Ideal no-load DC voltage of a bridge per line-to-line voltage behind its transformer."""

_SMALL = 1e-3
"""Overlap in rad below which u / sin u is its series, exact to rounding there."""

_FLAT = 0.05


def overlap_ratio(m: Any, u: Any) -> Any:
    """Return u / sin u."""
    small = 1 + u * u / 6 * (1 + 7 * u * u / 60)
    return m.where(m.le(u, _SMALL), small, u / m.sin(m.max(u, _SMALL)))


def reactive_power(m: Any, a: Any, end: Any, no_load: Any, current: Any, d_r: Any) -> Any:
    """Return what bridges take at angles in rad where a commutation begins (or its margin) and ends."""
    s, u = a + end, end - a
    above = overlap_ratio(m, u) - m.cos(s)
    # Only the resistances, which are small, have the tangent, which has no limit at 90 degrees.
    flat = m.sin(s)
    flat = m.where(m.ge(flat, 0), m.max(flat, _FLAT), m.min(flat, -_FLAT))
    return current * (no_load * m.cos(u / 2) * above / (2 * m.sin(s / 2)) - d_r * current * above / flat)


def arccosine(m: Any, cosine: Any) -> Any:
    """Return the angle of a cosine between -1 and 1, exclusive."""
    return m.atan2(m.sqrt(1 - cosine * cosine), cosine)
