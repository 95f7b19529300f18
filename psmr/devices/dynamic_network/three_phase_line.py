"""Lines of which each phase may be open by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, flag, nonzero, whole
from psmr.devices.dynamic_network.branch import DynamicLine, line_equations
from psmr.devices.dynamic_network.zero_crossing import (
    OPENINGS,
    PHASES,
    SIGN,
    SIGNS,
    opening_at_zero,
    phase_values,
    turned,
)
from psmr.devices.network import OPEN

CLOSED = dict.fromkeys(("trip", *OPENINGS, *SIGNS), 0.0)
"""The parameters of a line with no phase open or to be opened."""


def _line_currents(m: Any, v: Any, p: Any) -> list[Any]:
    return phase_values(m, p.f_n, v.t, v.i_re, v.i_im, v.i_0)


def _to_open(p: Any) -> list[Any]:
    """Return whether each phase of a line is to open and is still closed."""
    return [
        np.isin(p.trip, [code for code, phases in enumerate(OPEN) if letter in phases])
        & (getattr(p, f"open_{letter}") == 0)
        for letter in PHASES
    ]


def _opened(p: Any, phases: list[int]) -> Mapping[str, float]:
    """Return the parameters with these phases open; with the last of three the line is out of service."""
    opened = {f"open_{PHASES[k]}": 1.0 for k in phases}
    if all(getattr(p, name) or name in opened for name in OPENINGS):
        return {"status": 0.0} | CLOSED
    return opened


class ThreePhaseLine(DynamicLine):
    """A line of one pi section with a zero sequence, each phase of which may be open by itself.

    (x / w0) di/dt = v_i - v_j - u - (r + j x) i,   (x_0 / w0) di_0/dt = v_0i - v_0j - u_0 - r_0 i_0

    u_k is the voltage across the pole of phase k, and u + j.., u_0 those of all phases in the frame. A closed
    pole has u_k = 0; in an open one the current stays at zero: 0 = (1 / w0) di_k/dt + i_k, which takes away
    what an instant of opening beside the zero leaves of it. The poles are in series with the impedance; the
    charging stays at the buses until the line is out of service with the last of its phases. Source: Krause
    and others (2002), chapter 3, for the frame and the zero sequence.
    """

    inputs = (*DynamicLine.inputs, "v_0_i", "v_0_j", "i_0")
    algebraic = ("u_a", "u_b", "u_c")
    rows = ("u_a", "u_b", "u_c")
    ramps = OPENINGS

    r_0 = Parameter("pu", "series resistance in the zero sequence", default=0.0)
    x_0 = Parameter("pu", "series reactance in the zero sequence", nonzero)
    open_a = Parameter("1", "whether phase a is open", flag, default=0.0)
    open_b = Parameter("1", "whether phase b is open", flag, default=0.0)
    open_c = Parameter("1", "whether phase c is open", flag, default=0.0)
    trip = Parameter(
        "1", "phases that are to open at the zeros of their currents, their place in OPEN", whole(0, 7), 0.0
    )
    sign_a = SIGN["sign_a"]
    sign_b = SIGN["sign_b"]
    sign_c = SIGN["sign_c"]

    actions = opening_at_zero(_line_currents, _to_open, _opened)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the rows of the poles, and currents and susceptances at both buses."""
        return ThreePhaseLine.shape(1, 1, 1)["equations"].__func__(m, v, p)  # type: ignore[no-any-return]

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return variables and equations for the kinds of both ends."""
        end_i, end_j, _ = choice
        found = dict(DynamicLine.shape(end_i, end_j, 1))
        found["inputs"] += ("v_0_i", "v_0_j", "i_0")

        def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
            """Return the equations of a three-phase line between such ends."""
            opened, phases = (p.open_a, p.open_b, p.open_c), list(turned(m, p.f_n, v.t))
            # With the factor the equations of a closed line do not read the time.
            u = [o * u_k for o, u_k in zip(opened, (v.u_a, v.u_b, v.u_c), strict=True)]
            u_re = 2 / 3 * sum(u_k * c for u_k, (c, _) in zip(u, phases, strict=True))
            u_im = -2 / 3 * sum(u_k * s for u_k, (_, s) in zip(u, phases, strict=True))
            derivatives, (), injections = line_equations(v, p, end_i, end_j, 1, (u_re, u_im))
            on = p.status
            d_re = on * (v.v_re_i - v.v_re_j - u_re) - p.r * v.i_re
            d_im = on * (v.v_im_i - v.v_im_j - u_im) - p.r * v.i_im
            d_0 = p.x / p.x_0 * (on * (v.v_0_i - v.v_0_j - sum(u) / 3) - p.r_0 * v.i_0)
            rows = tuple(
                (1 - o) * u_k + o * (d_re * c - d_im * s + d_0 + p.x * (v.i_re * c - v.i_im * s + v.i_0))
                for o, u_k, (c, s) in zip(opened, (v.u_a, v.u_b, v.u_c), phases, strict=True)
            )
            return derivatives, rows, injections

        return found | {"equations": staticmethod(equations)}
