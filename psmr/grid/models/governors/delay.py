"""A transport delay as a rational function: the Padé approximation of second order."""

from __future__ import annotations

from typing import Any


def delayed(u: Any, x: Any, q: Any, t: Any) -> tuple[Any, Any, Any]:
    """Return (output, derivative of x, derivative of q) of a delay t of u.

    (1 - s t/2 + (s t)^2/12)/(1 + s t/2 + (s t)^2/12), with the states x and q = t x'. At rest x = u, q = 0.
    Its gain is 1 at every frequency; its phase is that of the delay to 0.08 degrees at s t = j, to 2 at 2 j.
    Where t is zero both states are algebraic, and the output is u. Source: G. A. Baker and P. Graves-Morris,
    Padé Approximants (1996), chapter 1: the approximant [2/2] of the exponential function.
    """
    return u - q, q / t, 12 / t * (u - x - q / 2)
