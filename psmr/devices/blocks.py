"""Control blocks and frame changes that several components share.

A block is a plain function: it returns its output and the derivative of its state. `m` is the namespace of
mathematical functions that the component's `equations` was given. Diagrams: P. Kundur, Power System Stability
and Control (1994), chapters 8 and 12; IEEE Std 421.5-2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import factorial
from typing import Any

import numpy as np

GATE = 1e-3
"""Band in pu over which `gate` opens: a thousandth of the voltage, less than a file gives of a threshold."""


def gate(m: Any, margin: Any) -> Any:
    """Return 0 where a margin in pu is below 0, 1 where it is above `GATE`, and straight between.

    A rate that stops at once where a voltage crosses a threshold, and moves that voltage itself, has no
    solution at the threshold; over a band it has the one that keeps to it (Filippov, Differential Equations
    with Discontinuous Righthand Sides, 1988, section 4).
    """
    # No limiter, which a start would be warned of.
    return m.where(m.le(margin, 0), 0, m.where(m.ge(margin, GATE), 1, margin / GATE))


def lag(u: Any, x: Any, t: Any) -> Any:
    """First-order lag 1 / (1 + s t): return the derivative of its state x, which is also its output."""
    return (u - x) / t


def washout(u: Any, x: Any, t: Any) -> tuple[Any, Any]:
    """Washout s t / (1 + s t): return (output, derivative of the state x, the lagged input)."""
    return u - x, (u - x) / t


def lead_lag(u: Any, x: Any, t_lead: Any, t_lag: Any) -> tuple[Any, Any]:
    """Lead-lag (1 + s t_lead) / (1 + s t_lag): return (output, derivative of the state, the lagged input)."""
    return x + (t_lead / t_lag) * (u - x), (u - x) / t_lag


def pade(order: int) -> list[float]:
    """Return the coefficients c_k of a Padé approximation of exp(-s t), sum c_k (-s t)^k/sum c_k (s t)^k."""
    n = order
    return [
        factorial(2 * n - k) * factorial(n) / (factorial(2 * n) * factorial(k) * factorial(n - k))
        for k in range(n + 1)
    ]


def error_at_rest(output: Any, k_p: Any, k_i: Any) -> Any:
    """Return the input k_p + k_i / s that gives an output at rest: zero with k_i, output / k_p without."""
    return np.where(k_i > 0, 0.0, output / np.where(k_i > 0, 1.0, k_p))


def exponential_saturation(m: Any, v: Any, a: Any, b: Any) -> Any:
    """Saturation S_E(v) = a exp(b v) of an exciter (Sauer and Pai 1998, chapter 4)."""
    return a * m.exp(b * v)


def machine_frame(m: Any, re: Any, im: Any, delta: Any) -> tuple[Any, Any]:
    """Return the (d, q) components of a network phasor, (d + jq) = (re + j im) exp(-j(delta - pi/2)).

    The q axis leads the network's real axis by delta, the d axis lags q by 90 degrees (Sauer and Pai 1998,
    chapter 6).
    """
    s, c = m.sin(delta), m.cos(delta)
    return re * s - im * c, re * c + im * s


def machine_to_network(m: Any, d: Any, q: Any, delta: Any) -> tuple[Any, Any]:
    """Return the (re, im) components of a machine's (d, q) phasor; the inverse of `machine_frame`."""
    s, c = m.sin(delta), m.cos(delta)
    return d * s + q * c, q * s - d * c


def rotate(m: Any, re: Any, im: Any, angle: Any) -> tuple[Any, Any]:
    """Return (d, q) of (re + j im) exp(-j angle), whose d axis is at `angle`; the inverse has -angle."""
    s, c = m.sin(angle), m.cos(angle)
    return re * c + im * s, im * c - re * s


def phasor_frequency(m: Any, re: Any, im: Any, x: Any, t: Any, f_n: Any) -> tuple[Any, Any]:
    """Return the deviation of a phasor's frequency in pu, s/(1 + s t) on its angle, and the derivative of x.

    x is the lagged angle. What the phasor leads it by is measured from it and not as a difference of two
    angles, so that there is no jump where the phasor's angle passes 180 degrees.
    """
    along, across = rotate(m, re, im, x)
    ahead = m.atan2(across, along)
    return ahead / (2 * np.pi * f_n * t), ahead / t


def limit_with_priority(m: Any, first: Any, second: Any, limit: Any, floor: float = 0.1) -> tuple[Any, Any]:
    """Return (first, second) with a magnitude of at most `limit`; `second` gets the room that `first` leaves.

    `second` keeps at least `floor` times the limit: the root of the room has no derivative at zero, and a
    converter needs some of the other component to hold on to its phase-locked loop. The magnitude then
    reaches sqrt(1 + floor^2) limit.
    """
    kept = m.clip(first, -limit, limit)
    room = m.sqrt(m.max(limit**2 - kept**2, (floor * limit) ** 2))
    return kept, m.clip(second, -room, room)


def limit_magnitude(m: Any, d: Any, q: Any, limit: Any) -> tuple[Any, Any]:
    """Return (d, q) shortened to a magnitude of at most `limit`, its angle kept."""
    # The small number keeps the root differentiable at zero; it is far below the rounding of any current.
    magnitude = m.sqrt(d**2 + q**2 + 1e-30)
    scale = m.clip(magnitude, -limit, limit) / magnitude
    return scale * d, scale * q


def limited_where(m: Any, used: Any, x: Any, low: Any, high: Any) -> Any:
    """Return x within [low, high]; the middle where it is not used: a limit without effect is not touched."""
    return m.clip(m.where(used, x, (low + high) / 2), low, high)


def remaining(m: Any, limit: Any, taken: Any) -> Any:
    """Return sqrt(limit^2 - taken^2): what a limit of the magnitude leaves to the other component.

    It is 0 where nothing is left. At zero the root has no derivative; there and beyond the function is
    constant.
    """
    # As a product: a difference of squares that is fused leaves roundoff where taken is the limit itself.
    square = (limit - taken) * (limit + taken)
    none = m.le(square, 0)
    return m.where(none, 0, m.sqrt(m.where(none, 1, square)))


def dead_band(m: Any, x: Any, low: Any, high: Any) -> Any:
    """Return by how much x is outside [low, high], 0 inside: a dead band without a step at its ends.

    Where low and high are equal there is none, and the derivative is 1 there too.
    """
    return m.where(m.ge(x, high), x - high, m.where(m.le(x, low), x - low, 0))


def error_band(m: Any, x: Any, low: Any, high: Any) -> Any:
    """Return the dead band of a regulator's error, open while initialisation looks for its reference.

    At rest any reference within the band would do; an open band gives the one whose error is zero.
    """
    return x if getattr(m, "opened", False) else dead_band(m, x, low, high)


def through_points(m: Any, x: Any, points: Sequence[tuple[Any, Any]]) -> Any:
    """Return the polygon through (x, y) points at x, constant before the first and after the last.

    A point whose x is not above the one before it is left out.
    """
    total = points[0][1]
    for (x_1, y_1), (x_2, y_2) in pairwise(points):
        none = m.le(x_2, x_1)
        part = m.min(m.max((x - x_1) / m.where(none, 1, x_2 - x_1), 0), 1)
        total = total + m.where(none, 0, part * (y_2 - y_1))
    return total


def returning_part(m: Any, x: Any, x_0: Any, x_1: Any, x_most: Any, part: Any) -> Any:
    """Return the part that is there at x: none below x_0, all above x_1, in proportion between.

    Of what was lost as x fell to x_most, the least so far, only `part` comes back on the way to x_1.
    """
    inside, deepest = m.min(m.max(x, x_0), x_1), m.min(m.max(x_most, x_0), x_1)
    width = x_1 - x_0
    lost, back = (inside - x_0) / width, (deepest - x_0 + part * (inside - deepest)) / width
    return m.where(m.le(inside, deepest), lost, back)


def quadratic_saturation(m: Any, x: Any, x_1: Any, s_1: Any, x_2: Any, s_2: Any) -> Any:
    """Return x S(x) of the scaled quadratic saturation S(x) = b (x - a)^2 / x, 0 where x < a.

    a and b are such that S(x_1) = s_1 and S(x_2) = s_2; with s_2 = 0 there is no saturation. This is the
    curve of the PSS/E models (PowerWorld, Saturation Modeling in Transient Stability, "scaled quadratic").
    """
    off = m.le(s_2 * x_2, 0)
    top = m.where(off, 1, s_2 * x_2)
    ratio = m.sqrt(m.where(off, 0, s_1 * x_1) / top)
    a = (x_1 - ratio * x_2) / (1 - ratio)
    b = m.where(off, 0, top / m.where(off, 1, (x_2 - a) ** 2))
    return b * m.max(x - a, 0) ** 2


def power_saturation(m: Any, x: Any, s_1: Any, x_2: Any, s_2: Any) -> Any:
    """Return the saturation S(x) = s_1 x^n, with n such that S(x_2) = s_2; 0 where s_1 or s_2 is.

    This is the "exponential" curve of the PSS/E models GENROE and GENSAE (PowerWorld, Saturation Modeling in
    Transient Stability).
    """
    off = m.le(s_1 * s_2, 0)
    n = m.log(m.where(off, 1, s_2 / m.where(off, 1, s_1))) / np.log(x_2)
    return m.where(off, 0, s_1 * m.exp(n * m.log(x)))


def saturation_conflict(p: Any, x_1: float, s_1: str, x_2: float, s_2: str) -> str | None:
    """Return the objection to two points that no scaled quadratic saturation goes through."""
    first, second = p[s_1] * x_1, p[s_2] * x_2
    if second <= 0 < first:
        return f"{s_2} = {p[s_2]:g} and {s_1} = {p[s_1]:g}: {s_2} must be > 0 where {s_1} is"
    if first == second != 0:
        return f"{s_1} = {p[s_1]:g} and {s_2} = {p[s_2]:g}: the two points must differ in saturation"
    return None


def rectified(m: Any, v_e: Any, drop: Any) -> Any:
    """Return v_e F_EX(drop / v_e), the voltage of a loaded bridge rectifier (IEEE Std 421.5-2016, annex D).

    `drop` is k_c i_f. The function is written without the quotient, which has no value at v_e = 0, and with
    the roots of 3 that the standard rounds to 0.577, 0.433 and 1.732, so that it is continuous.
    """
    root = 3**0.5
    square = 0.75 * v_e**2 - drop**2
    middle = m.sqrt(m.where(m.le(square, 0), 1, square))
    far = m.where(m.le(drop, v_e), root * (v_e - drop), 0)
    loaded = m.where(m.le(drop, 0.75 * v_e), middle, far)
    return m.where(m.le(drop, 0), v_e, m.where(m.le(drop, root / 4 * v_e), v_e - drop / root, loaded))


def unrectified(v_f: Any, drop: Any) -> Any:
    """Return the v_e with which ``rectified(v_e, drop)`` is v_f > 0."""
    root = 3**0.5
    near, middle = v_f + np.maximum(drop, 0) / root, np.sqrt((v_f**2 + drop**2) / 0.75)
    far = np.where(drop <= 0.75 * middle, middle, v_f / root + drop)
    return np.where(drop <= root / 4 * near, near, far)
