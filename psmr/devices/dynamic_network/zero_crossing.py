"""Phases that open at the zeros of their currents.

With the voltage v_re + j v_im in the frame at nominal frequency and the zero sequence v_0 the phases are v_k
= v_re cos(theta_k) - v_im sin(theta_k) + v_0, theta_k = w0 t - 2 pi k / 3 for k = 0, 1, 2 (a, b, c). The
inverse is v_re + j v_im = 2/3 sum of v_k exp(-j theta_k), v_0 = sum of v_k / 3. Source: P. C. Krause, O.
Wasynczuk and S. D. Sudhoff, Analysis of Electric Machinery and Drive Systems (2002), chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Action, Parameter, whole

PHASES = ("a", "b", "c")

OPENINGS = ("open_a", "open_b", "open_c")
"""Parameters with which each phase is open."""

NO_CURRENT = 1e-9
"""Current in pu below which a phase opens at once: it has none."""

LOOKS = 12
"""Points in a period while a zero is waited for: no step misses one."""

SIGNS = ("sign_a", "sign_b", "sign_c")
"""Parameters with the sign that a current had when its phase was to open, 0 before."""

SIGN = {
    name: Parameter("1", f"sign of the current of phase {k} when it was to open, 0 before", whole(-1, 1), 0.0)
    for name, k in zip(SIGNS, PHASES, strict=True)
}

Currents = Callable[[Any, Any, Any], list[Any]]
Waiting = Callable[[Any], list[Any]]


def turned(m: Any, f_n: Any, t: Any) -> Iterator[tuple[Any, Any]]:
    """Yield cos and sin of theta_k for the phases a, b and c."""
    for k in range(3):
        theta = 2 * np.pi * f_n * t - 2 * np.pi * k / 3
        yield m.cos(theta), m.sin(theta)


def phase_values(m: Any, f_n: Any, t: Any, re: Any, im: Any, zero: Any) -> list[Any]:
    """Return the values of the three phases."""
    return [re * c - im * s + zero for c, s in turned(m, f_n, t)]


def opening_at_zero(
    currents: Currents, waiting: Waiting, opened: Callable[[Any, list[int]], Mapping[str, Any]]
) -> tuple[Action, ...]:
    """Return the actions of a device whose phases open at the zeros of their currents.

    Parameters
    ----------
    currents
        ``currents(m, v, p)`` of the three phases.
    waiting
        ``waiting(p)``: whether each phase is still to open.
    opened
        ``opened(p, phases)`` returns the parameters with these phases open, by their numbers.
    """

    def condition(m: Any, v: Any, p: Any) -> Any:
        return _largest(_beyond(currents(m, v, p), waiting(p), p))

    def effect(v: Any, p: Any) -> Mapping[str, Any]:
        flowing = [float(np.ravel(i)[0]) for i in currents(np, v, p)]
        wait = waiting(p)
        new = [k for k in range(3) if wait[k] and getattr(p, SIGNS[k]) == 0]
        if new:
            signs = {SIGNS[k]: 1.0 if flowing[k] > 0 else -1.0 for k in new}
            return {**signs, **opened(p, [k for k in new if abs(flowing[k]) < NO_CURRENT])}
        beyond = _beyond(flowing, wait, p)
        due = [wait[k] and (beyond[k] >= -NO_CURRENT or beyond[k] == max(beyond)) for k in range(3)]
        return opened(p, [k for k in range(3) if due[k]])

    def words(p: Any, acts_on: str) -> str:
        noted = all(getattr(p, name) for name, wait in zip(SIGNS, waiting(p), strict=True) if wait)
        return "a phase opened at the zero of its current" if noted else ""

    def watched(m: Any, v: Any, p: Any) -> Any:
        return _largest([np.where(wait, 1.0, -1.0) for wait in waiting(p)])

    return (
        Action("phase", condition, effect=effect, at_zero=True, again=True, words=words),
        Action("", watched, delay=lambda p: 1 / (LOOKS * p.f_n), again=True),
    )


def _beyond(currents: list[Any], waiting: list[Any], p: Any) -> list[Any]:
    """Return for each phase a value above zero where it is to be looked at: first, and past its zero."""
    signs = [getattr(p, name) for name in SIGNS]
    return [
        np.where(wait, np.where(sign == 0, 1.0, -sign * i), -1.0)
        for i, wait, sign in zip(currents, waiting, signs, strict=True)
    ]


def _largest(values: list[Any]) -> Any:
    return np.maximum(np.maximum(values[0], values[1]), values[2])
