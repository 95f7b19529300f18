"""Branches, reactors and loads with a pole in each phase at one of their buses, which opens by itself.

The element reads the voltage of its bus less that across the poles: u_k of phase k, as a vector of the frame
2/3 sum of u_k exp(-j theta_k), in the zero sequence sum of u_k / 3. A closed pole has u_k = 0; in an open one
the current stays at zero: 0 = (1 / w0) di_k/dt + i_k, which takes away what an instant of opening beside the
zero leaves of it. What an element has to ground at that bus, its charging, stays there until it is out of
service with the last of its phases. Source: P. C. Krause, O. Wasynczuk and S. D. Sudhoff, Analysis of
Electric Machinery and Drive Systems (2002), chapter 3, for the frame and the zero sequence.

Phases that open at the zeros of their currents.

With the voltage v_re + j v_im in the frame at nominal frequency and the zero sequence v_0 the phases are v_k
= v_re cos(theta_k) - v_im sin(theta_k) + v_0, theta_k = w0 t - 2 pi k / 3 for k = 0, 1, 2 (a, b, c). The
inverse is v_re + j v_im = 2/3 sum of v_k exp(-j theta_k), v_0 = sum of v_k / 3. Source: P. C. Krause, O.
Wasynczuk and S. D. Sudhoff, Analysis of Electric Machinery and Drive Systems (2002), chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from psmr.dae.declare.component import (
    Action,
    Component,
    Parameter,
    Terms,
    flag,
    nonzero,
    positive,
    rows_of,
    whole,
)
from psmr.dae.declare.derived import derived
from psmr.devices.loads.zip import StaticLoad
from psmr.devices.network import OPEN

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

    `currents`: ``currents(m, v, p)`` of the three phases; `waiting`: ``waiting(p)``: whether each phase is
    still to open; `opened`: ``opened(p, phases)`` returns the parameters with these phases open, by their
    numbers.
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


CLOSED = dict.fromkeys(("trip", *OPENINGS, *SIGNS), 0.0)
"""The parameters of an element with no phase open or to be opened."""

DRAWN = ("p", "q")
"""The parameters of a load that are zero without it."""

POLE_VOLTAGES = ("u_a", "u_b", "u_c")
"""Variables with the voltage across each pole."""

UNGROUNDED, GROUNDED, THROUGH = range(3)
"""What the zero sequence of an element is: none, an impedance to ground, one to its other bus."""

_INPUTS = {UNGROUNDED: (), GROUNDED: ("v_0", "i_0"), THROUGH: ("v_0", "i_0", "v_0_far")}


@derived
def with_breaker_poles(component: type[Component], end: str, zero: int) -> tuple[str, Mapping[str, Any]]:
    """Return an element with poles at its end ``"i"`` or ``"j"``, at its bus where `end` is empty.

    Its current must be a state, and its ends at buses with a capacitance or at phasors. `zero` is what its
    zero sequence is, whose current at the poles, i_0, is a state of another device.
    """
    inner, at = component.equations, f"_{end}" if end else ""
    ports = tuple(component.outputs.index(f"i_{part}{at}") for part in ("re", "im"))

    def into(m: Any, v: Any, p: Any, states: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the current through the poles, or its derivative, by the states or theirs."""
        dark = dict.fromkeys((*component.inputs, *component.algebraic), 0.0)
        flowing = inner(m, SimpleNamespace(**dark, **states, t=v.t), p)[2]
        return -flowing[ports[0]], -flowing[ports[1]]

    def zero_current(v: Any, p: Any) -> Any:
        return 0.0 if zero == UNGROUNDED else v.i_0 / p.tap_0

    def currents(m: Any, v: Any, p: Any) -> list[Any]:
        states = {name: getattr(v, name) for name in component.states}
        return phase_values(m, p.f_n, v.t, *into(m, v, p, states), zero_current(v, p))

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the element's equations behind its poles, and the rows of these."""
        w0, phases = 2 * np.pi * p.f_n, list(turned(m, p.f_n, v.t))
        opened = [getattr(p, name) for name in OPENINGS]
        # With the factor the equations of a closed element do not read the time.
        u = [o * getattr(v, name) for o, name in zip(opened, POLE_VOLTAGES, strict=True)]
        u_re = 2 / 3 * sum(u_k * c for u_k, (c, _) in zip(u, phases, strict=True))
        u_im = -2 / 3 * sum(u_k * s for u_k, (_, s) in zip(u, phases, strict=True))
        volts = getattr(v, f"v_re{at}") - u_re, getattr(v, f"v_im{at}") - u_im
        behind = SimpleNamespace(**vars(v) | dict(zip((f"v_re{at}", f"v_im{at}"), volts, strict=True)))
        derivatives = inner(m, behind, p)[0]
        _, residuals, injections = inner(m, v, p)
        i_re, i_im = into(m, v, p, {name: getattr(v, name) for name in component.states})
        d_re, d_im = into(m, v, p, dict(zip(component.states, derivatives, strict=True)))
        d_re, d_im = d_re / w0 - i_im, d_im / w0 + i_re
        i_0, d_0 = zero_current(v, p), 0.0
        if zero != UNGROUNDED:
            across = (v.v_0 - sum(u) / 3) / p.tap_0 - (v.v_0_far if zero == THROUGH else 0.0)
            d_0 = (across - p.r_0 * v.i_0) / p.x_0 / p.tap_0
        rows = tuple(
            (1 - o) * getattr(v, name) + o * (d_re * c - d_im * s + d_0 + i_re * c - i_im * s + i_0)
            for o, name, (c, s) in zip(opened, POLE_VOLTAGES, phases, strict=True)
        )
        return derivatives, (*residuals, *rows), injections

    gone = dict.fromkeys(DRAWN if issubclass(component, StaticLoad) else ("status",), 0.0) | CLOSED
    # Of three phases without a ground the last two are in series, and the third carries nothing.
    needed = 2 if zero == UNGROUNDED else 3

    def opened(p: Any, numbers: list[int]) -> Mapping[str, float]:
        """Return the parameters with these phases open; with the last one the element is out of service."""
        found = {f"open_{PHASES[k]}": 1.0 for k in numbers}
        count = sum(bool(getattr(p, name)) or name in found for name in OPENINGS)
        return gone if count == 3 or (count >= needed and p.trip == OPEN.index("abc")) else found

    declared: dict[str, Any] = {
        "r_0": Parameter("pu", "resistance in the zero sequence", default=0.0),
        "x_0": Parameter("pu", "reactance in the zero sequence", nonzero, default=1.0),
        "tap_0": Parameter("1", "turns ratio in the zero sequence at the poles", positive, default=1.0),
        "trip": Parameter("1", "phases to open at their zeros, their place in OPEN", whole(0, 7), 0.0),
    }
    declared |= {
        name: Parameter("1", f"whether phase {k} is open", flag, default=0.0)
        for name, k in zip(OPENINGS, PHASES, strict=True)
    }
    return "poles", {
        "__doc__": f"{component.__name__} with a pole in each phase. {component.__doc__}",
        "inputs": (*component.inputs, *_INPUTS[zero]),
        "algebraic": (*component.algebraic, *POLE_VOLTAGES),
        "rows": (*rows_of(component), *POLE_VOLTAGES),
        "ramps": (*component.ramps, *OPENINGS),
        "actions": opening_at_zero(currents, _phases_to_open, opened),
        "equations": staticmethod(equations),
        **declared,
        **SIGN,
    }


def _phases_to_open(p: Any) -> list[Any]:
    """Return whether each phase is to open and is still closed."""
    return [
        np.isin(p.trip, [code for code, phases in enumerate(OPEN) if letter in phases])
        & (getattr(p, f"open_{letter}") == 0)
        for letter in PHASES
    ]
