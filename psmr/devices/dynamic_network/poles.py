"""Branches, reactors and loads with a pole in each phase at one of their buses, which opens by itself.

The element reads the voltage of its bus less that across the poles: u_k of phase k, as a vector of the frame
2/3 sum of u_k exp(-j theta_k), in the zero sequence sum of u_k / 3. A closed pole has u_k = 0; in an open one
the current stays at zero: 0 = (1 / w0) di_k/dt + i_k, which takes away what an instant of opening beside the
zero leaves of it. What an element has to ground at that bus, its charging, stays there until it is out of
service with the last of its phases. Source: P. C. Krause, O. Wasynczuk and S. D. Sudhoff, Analysis of
Electric Machinery and Drive Systems (2002), chapter 3, for the frame and the zero sequence.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, flag, nonzero, positive, rows_of, whole
from psmr.devices.dynamic_network.zero_crossing import (
    OPENINGS,
    PHASES,
    SIGN,
    SIGNS,
    opening_at_zero,
    phase_values,
    turned,
)
from psmr.devices.loads.zip import StaticLoad
from psmr.devices.network import OPEN

CLOSED = dict.fromkeys(("trip", *OPENINGS, *SIGNS), 0.0)
"""The parameters of an element with no phase open or to be opened."""

DRAWN = ("p", "q")
"""The parameters of a load that are zero without it."""

POLES = ("u_a", "u_b", "u_c")
"""Variables with the voltage across each pole."""

UNGROUNDED, GROUNDED, THROUGH = range(3)
"""What the zero sequence of an element is: none, an impedance to ground, one to its other bus."""

_INPUTS = {UNGROUNDED: (), GROUNDED: ("v_0", "i_0"), THROUGH: ("v_0", "i_0", "v_0_far")}


@functools.cache
def with_poles(component: type[Component], end: str, zero: int) -> type[Component]:
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
        u = [o * getattr(v, name) for o, name in zip(opened, POLES, strict=True)]
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
            for o, name, (c, s) in zip(opened, POLES, phases, strict=True)
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
    return type(
        f"{component.__name__}_poles",
        (component,),
        {
            "__doc__": f"{component.__name__} with a pole in each phase. {component.__doc__}",
            "__module__": component.__module__,
            "made_by": (with_poles, component, end, zero),
            "inputs": (*component.inputs, *_INPUTS[zero]),
            "algebraic": (*component.algebraic, *POLES),
            "rows": (*rows_of(component), *POLES),
            "ramps": (*component.ramps, *OPENINGS),
            "actions": opening_at_zero(currents, _to_open, opened),
            "equations": staticmethod(equations),
            **declared,
            **SIGN,
        },
    )


def _to_open(p: Any) -> list[Any]:
    """Return whether each phase is to open and is still closed."""
    return [
        np.isin(p.trip, [code for code, phases in enumerate(OPEN) if letter in phases])
        & (getattr(p, f"open_{letter}") == 0)
        for letter in PHASES
    ]
