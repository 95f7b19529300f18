"""Faults through an inductance, whose currents are states.

Source: P. C. Krause, O. Wasynczuk and S. D. Sudhoff, Analysis of Electric Machinery and Drive Systems (2002),
chapter 3, for the phases in the frame that turns at nominal frequency.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, flag, nonnegative, positive, whole
from psmr.devices.dynamic_network.bus import STORAGE, rate_of
from psmr.devices.dynamic_network.poles import (
    OPENINGS,
    PHASES,
    SIGN,
    SIGNS,
    opening_at_zero,
    phase_values,
    turned,
)
from psmr.devices.machines.textbook import F_N
from psmr.devices.network import FAULTS, in_or_out

JOINT = 1e-3
"""Resistance in pu of each phase up to where two phases and the ground meet, where phases are simulated."""

IDLE = {"r": 0.0, "x": 1e-4} | dict.fromkeys(("status", "clearing", *OPENINGS, *SIGNS), 0.0)
"""The parameters without a fault."""


class FaultInductor(Component):
    """A fault at a bus through r + j x, with the current through x as a state.

    All phases alike, in the frame: (x / w0) di/dt = v - (r + j x) i. Where phases differ, or open one by one,
    in phase quantities: (x / w0) di_k/dt = v_k - r i_k for each phase k to ground; v_k - v_j in place of v_k
    between two phases. Two phases and the ground are a star: `JOINT` from each of the phases to its point,
    from there r + j x to ground. Out of service, as without a fault, it has no current.
    """

    structural = ("phases", "grounded")
    states = ("i_l_re", "i_l_im")
    inputs = ("v_re", "v_im")
    outputs = ("i_re", "i_im")
    ramps = ("status",)

    f_n = F_N
    phases = Parameter("1", "phases of the fault, their place in FAULTS", whole(1, 10), default=1.0)
    grounded = Parameter("1", "whether its bus has a zero sequence", flag, default=0.0)
    r = Parameter("pu", "resistance", nonnegative, default=0.0)
    x = Parameter("pu", "reactance", positive, default=1e-4)
    status = Parameter("1", "1 while there is a fault, 0 without", in_or_out, default=0.0)
    clearing = Parameter("1", "whether it ends in each phase at the zero of its current", flag, default=0.0)
    open_a = Parameter("1", "whether phase a is interrupted", flag, default=0.0)
    open_b = Parameter("1", "whether phase b is interrupted", flag, default=0.0)
    open_c = Parameter("1", "whether phase c is interrupted", flag, default=0.0)
    sign_a = SIGN["sign_a"]
    sign_b = SIGN["sign_b"]
    sign_c = SIGN["sign_c"]
    storage = STORAGE

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of a current that all phases have, and the current into the bus."""
        w, on = rate_of(p), p.status
        derivatives = (
            w * ((on * v.v_re - p.r * v.i_l_re) / p.x + v.i_l_im),
            w * ((on * v.v_im - p.r * v.i_l_im) / p.x - v.i_l_re),
        )
        return derivatives, (), (-on * v.i_l_re, -on * v.i_l_im)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return variables, equations and actions for the phases of a fault and its bus."""
        phases, grounded = FAULTS[choice[0]], bool(choice[1])
        if phases == "abc" and not grounded:
            return {"ramps": ()}
        loops = tuple(phases) if phases == "abc" else ("g" if len(phases) == 3 else phases.removesuffix("g"),)

        def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
            """Return the derivatives of the currents of such a fault, and the currents into the bus."""
            volts = _volts(m, v, p)
            currents, rates = _currents(phases, v, p, volts)
            w0, on = rate_of(p), p.status
            found = [0.0, 0.0, 0.0]
            for i, (c, s) in zip(currents, turned(m, p.f_n, v.t), strict=True):
                parts = 2 / 3 * i * c, -2 / 3 * i * s, i / 3
                found = [so_far - on * part for so_far, part in zip(found, parts, strict=True)]
            return tuple(w0 / p.x * rate for rate in rates), (), tuple(found if grounded else found[:2])

        def currents(m: Any, v: Any, p: Any) -> list[Any]:
            return _currents(phases, v, p, _volts(m, v, p))[0]

        return {
            "states": tuple(f"i_{loop}" for loop in loops),
            "inputs": ("v_re", "v_im", *(("v_0",) if grounded else ())),
            "outputs": ("i_re", "i_im", *(("i_0",) if grounded else ())),
            "equations": staticmethod(equations),
            "actions": opening_at_zero(currents, _waiting(phases), _opened(choice[0])) if grounded else (),
        }


def _volts(m: Any, v: Any, p: Any) -> list[Any]:
    return phase_values(m, p.f_n, v.t, v.v_re, v.v_im, getattr(v, "v_0", 0.0))


def _currents(phases: str, v: Any, p: Any, volts: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the currents of the three phases into the fault, and x / w0 times the rates of its states."""
    on = p.status
    closed = dict(zip(PHASES, (1 - p.open_a, 1 - p.open_b, 1 - p.open_c), strict=True))
    volt = dict(zip(PHASES, volts, strict=True))
    found: dict[str, Any] = dict.fromkeys(PHASES, 0.0)
    own = phases.removesuffix("g")
    if phases == "abc" or len(own) == 1:
        rates = []
        for k in own:
            i = getattr(v, f"i_{k}")
            found[k] = closed[k] * i
            rates.append(closed[k] * on * volt[k] - p.r * i)
        return list(found.values()), rates
    k, j = tuple(own)
    if "g" not in phases:
        i = getattr(v, f"i_{own}")
        found[k], found[j] = i, -i
        return list(found.values()), [on * (volt[k] - volt[j]) - p.r * i]
    # The point of the star has the mean of the voltages of the phases that are still connected to it.
    i, count = v.i_g, closed[k] + closed[j]
    between = closed[k] * closed[j] * (volt[k] - volt[j]) / (2 * JOINT)
    found[k], found[j] = closed[k] * i / count + between, closed[j] * i / count - between
    point = (closed[k] * volt[k] + closed[j] * volt[j]) / count
    return list(found.values()), [on * point - (p.r + JOINT / count) * i]


def _waiting(phases: str) -> Any:
    def waiting(p: Any) -> list[Any]:
        on = (p.clearing > 0) & (p.status > 0)
        return [on & (getattr(p, f"open_{k}") == 0) & (k in phases) for k in PHASES]

    return waiting


def _opened(code: int) -> Any:
    phases = FAULTS[code]
    # The current between two phases has one zero for both.
    needed = 1 if len(phases) == 2 else len(phases.removesuffix("g"))

    def opened(p: Any, numbers: list[int]) -> Mapping[str, float]:
        new = {f"open_{PHASES[k]}": 1.0 for k in numbers}
        count = sum(bool(getattr(p, name)) or name in new for name in OPENINGS)
        if count < needed:
            return new
        return IDLE | {f"acts_on.{name}": 0.0 for name in ("fault", "r_fault", "x_fault")}

    return opened
