"""A transport delay as a rational function: the Padé approximation of an even order."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any


def pade(order: int) -> list[float]:
    """Return the coefficients c_k of the denominator sum c_k (s t)^k; the numerator has c_k (-s t)^k."""
    n = order
    return [
        factorial(2 * n - k) * factorial(n) / (factorial(2 * n) * factorial(k) * factorial(n - k))
        for k in range(n + 1)
    ]


def delayed(u: Any, q: Sequence[Any], t: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return (output, derivatives of q) of a delay t of u, by as many states as `q` has: an even number.

    q_k is (t d/dt)^k of the delayed signal's inner state: at rest q_0 = u, all others are 0. Its gain is 1 at
    every frequency. Its phase is that of the delay to 0.1 degrees up to w t = 1 with two states, up to 6 with
    six. Where t is zero all states are algebraic, and the output is u. Source: G. A. Baker and P.
    Graves-Morris, Padé Approximants (1996), chapter 1: the approximants [n/n] of the exponential function.
    """
    c = pade(len(q))
    highest = (u - sum(a * x for a, x in zip(c, q, strict=False))) / c[-1]
    output = u - 2 * sum(a * x for a, x in zip(c[1::2], q[1::2], strict=False))
    return output, tuple(x / t for x in (*q[1:], highest))
