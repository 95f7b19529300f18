"""Buses at which elements with their own dynamics meet, and faults through an inductance there.

In the frame that turns at nominal frequency a capacitance keeps the equation (b / w0) dv/dt = i - j b v, an
inductance (x / w0) di/dt = v - j x i; at rest both are the phasor equations. Voltages and currents are per
unit on the system base, b and x at nominal frequency. Source: P. C. Krause, O. Wasynczuk and S. D. Sudhoff,
Analysis of Electric Machinery and Drive Systems (2002), chapter 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, flag, nonnegative, positive, whole
from psmr.devices.dynamic_network.breaker_poles import (
    OPENINGS,
    PHASES,
    SIGN,
    SIGNS,
    opening_at_zero,
    phase_values,
    turned,
)
from psmr.devices.machines.textbook import F_N
from psmr.devices.network import FAULTS, Bus, in_or_out

STORAGE = Parameter(
    "1", "part of its stored energy that an element has; towards 0 it becomes a phasor", positive, default=1.0
)


PAIRS = ("g_ab", "g_bc", "g_ca")
"""Conductances of a dynamic bus between phases."""


def rate_of(p: Any) -> Any:
    """Return w0 / storage in 1/s, the factor of the derivatives of an element's own states."""
    return 2 * np.pi * p.f_n / p.storage


class DynamicBus(Bus):
    """A bus with the capacitance of what is connected to it: charging of lines, capacitors.

    (b / w0) d(v_re + j v_im)/dt = i_re + j i_im - j b (v_re + j v_im)

    i is the current of the capacitance, what is left of the currents into the bus and of that of a fault, b
    the sum of the susceptances of what is in service. A susceptance that closes is taken to have the voltage
    of the bus already.

    A conductance between two phases turns with twice the frequency here: with the phase voltages v_k =
    Re((v_re + j v_im) exp(j (w0 t - 2 pi k / 3))) and the current i_bc = g_bc (v_b - v_c).
    """

    instantaneous = True
    states = ("v_re", "v_im")
    algebraic = ("i_re", "i_im", "b")
    rows = ("i_re", "i_im", "b")
    together = (("v_re", "v_im"), ("i_re", "i_im"))

    ramps: ClassVar[tuple[str, ...]] = PAIRS

    f_n = F_N
    g_ab = Parameter("pu", "conductance between the phases a and b", nonnegative, default=0.0)
    g_bc = Parameter("pu", "conductance between the phases b and c", nonnegative, default=0.0)
    g_ca = Parameter("pu", "conductance between the phases c and a", nonnegative, default=0.0)
    storage = STORAGE

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of the voltage, and what the sums of currents and susceptances lack."""
        w = rate_of(p)
        (), (fault_im, fault_re), () = Bus.equations(m, v, p)
        # 2 g cos^2, 2 g sin^2, 2 g sin cos of w0 t + pi / 6 (ab), - pi / 2 (bc), + 5 pi / 6 (ca), added up.
        g = p.g_ab + p.g_bc + p.g_ca
        even, odd = (p.g_ab + p.g_ca) / 2 - p.g_bc, 3**0.5 / 2 * (p.g_ab - p.g_ca)
        c, s = m.cos(4 * np.pi * p.f_n * v.t), m.sin(4 * np.pi * p.f_n * v.t)
        along, across = even * c - odd * s, even * s + odd * c
        fault_re = fault_re - (g + along) * v.v_re + across * v.v_im
        fault_im = fault_im + across * v.v_re - (g - along) * v.v_im
        derivatives = w * (v.i_re / v.b + v.v_im), w * (v.i_im / v.b - v.v_re)
        return derivatives, (fault_re - v.i_re, fault_im - v.i_im, -v.b), ()


class JunctionBus(Bus):
    """A bus without capacitance where only elements meet whose currents are states.

    0 = sum of currents into the bus

    One of the currents, that of a branch, is then no state of its own: it is what the others leave, and its
    rate follows from theirs. That branch reads d_re + j d_im, the sum of di/dt / w0 of the others into the
    bus, and its voltage equation determines the voltage of the bus: index 1, without a capacitance or a
    relaxation. Source: S. E. Mattsson and G. Soderlind, Index reduction in differential-algebraic equations
    using dummy derivatives, SIAM Journal on Scientific Computing 14, 1993.
    """

    instantaneous = True
    algebraic = ("v_re", "v_im", "d_re", "d_im")
    rows = ("i_im", "i_re", "d_re", "d_im")
    together = (("v_re", "v_im"), ("d_re", "d_im"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the bus's own part of both sums; everything else is added by the devices at the bus."""
        (), (i_im, i_re), () = Bus.equations(m, v, p)
        return (), (i_im, i_re, -v.d_re, -v.d_im), ()


TO_GROUND = ("g_a", "g_b", "g_c")
"""Conductances of a three-phase bus between a phase and the ground."""

PLACES = {name: tuple("abcg".index(letter) for letter in f"{name[2:]}g"[:2]) for name in (*PAIRS, *TO_GROUND)}
"""The two ends of each conductance: phases by their numbers, 3 for the ground."""


def _currents_of_fault(m: Any, v: Any, p: Any) -> list[Any]:
    """Return the currents of a bus's fault in the three phases."""
    u = phase_values(m, p.f_n, v.t, v.v_re, v.v_im, v.v_0)
    between = dict(zip(((0, 1), (1, 2), (0, 2)), (p.g_ab, p.g_bc, p.g_ca), strict=True))
    found = [g * volts for g, volts in zip((p.g_a, p.g_b, p.g_c), u, strict=True)]
    for (k, j), g in between.items():
        found[k], found[j] = found[k] + g * (u[k] - u[j]), found[j] + g * (u[j] - u[k])
    return found


def _burning(p: Any) -> list[Any]:
    """Return whether each phase of a bus is at fault, to be cleared at the zero of its current."""
    on = p.clearing > 0
    return [
        on & (p.g_a + p.g_ab + p.g_ca > 0),
        on & (p.g_b + p.g_ab + p.g_bc > 0),
        on & (p.g_c + p.g_bc + p.g_ca > 0),
    ]


def _extinguished(p: Any, phases: list[int]) -> Mapping[str, float]:
    """Return the conductances of a fault without the phases whose currents are at zero."""
    g = np.zeros((4, 4))
    for name, (k, j) in PLACES.items():
        g[k, j] = g[j, k] = getattr(p, name)
    for k in phases:
        # What is connected to a phase that carries no current any more is in series through it.
        if total := g[k].sum():
            g += np.outer(g[k], g[k]) / total
        g[k], g[:, k] = 0.0, 0.0
        np.fill_diagonal(g, 0.0)
    found = {name: float(g[place]) for name, place in PLACES.items()}
    if not g.any():
        found |= dict.fromkeys(("fault", "r_fault", "x_fault", "clearing", *SIGNS), 0.0)
    return found


class ThreePhaseBus(DynamicBus):
    """A bus with capacitance and a zero sequence: each phase may have a fault of its own to ground.

    i_k = g_k v_k + (the same conductance in all phases) flows from phase k to ground, beside what flows
    between phases. Source: Krause and others (2002), chapter 3, as for `zero_crossing`.
    """

    inputs = ("v_0",)
    outputs = ("i_0",)
    ramps = (*PAIRS, *TO_GROUND)

    g_a = Parameter("pu", "conductance between phase a and the ground", nonnegative, default=0.0)
    g_b = Parameter("pu", "conductance between phase b and the ground", nonnegative, default=0.0)
    g_c = Parameter("pu", "conductance between phase c and the ground", nonnegative, default=0.0)
    clearing = Parameter("1", "whether a fault ends in each phase at the zero of its current", flag, 0.0)
    sign_a = SIGN["sign_a"]
    sign_b = SIGN["sign_b"]
    sign_c = SIGN["sign_c"]

    actions = opening_at_zero(_currents_of_fault, _burning, _extinguished)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the equations of a dynamic bus with the currents of faults to ground, and their mean."""
        derivatives, (i_re, i_im, b), () = DynamicBus.equations(m, v, p)
        i_0 = -p.g_fault * v.v_0
        for name, (c, s) in zip(TO_GROUND, turned(m, p.f_n, v.t), strict=True):
            i = getattr(p, name) * (v.v_re * c - v.v_im * s + v.v_0)
            i_re, i_im, i_0 = i_re - 2 / 3 * i * c, i_im + 2 / 3 * i * s, i_0 - i / 3
        return derivatives, (i_re, i_im, b), (i_0,)


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

    instantaneous = True
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
