"""Induction motors of the standard library: one cage or two, in two circuits.

Per unit on the motor base `s_n`, with the stator's r_s + j x_s in series in front of::

    type 1:  j x_m  parallel to  r_1/slip + j x_1  and to  r_2/slip + j x_2
    type 2:  j x_m  parallel to  j x_1 in series with (r_1/slip  parallel to  r_2/slip + j x_2)

The stator has no transients, as the network has none. With the current i into the motor, the flux linkages
of stator and cages are

    psi_s = (x_s + x_m) i + x_m (i_1 + i_2),    psi_1 = x_m i + l_1 i_1 + l_12 i_2,
    psi_2 = x_m i + l_12 i_1 + l_2 i_2,         l_1 = x_m + x_1,
    type 1: l_12 = x_m, l_2 = x_m + x_2,        type 2: l_12 = x_m + x_1, l_2 = x_m + x_1 + x_2

in a frame that turns at nominal frequency, and

    v = r_s i + j psi_s,    dpsi_k/dt = 2 pi f_n (-r_k i_k - j slip psi_k),    k = 1, 2
    2 h dslip/dt = t_load - Im(conj(psi_s) i)

The subtransient form of the PSS/E models, with the transient and subtransient reactances and time constants
of these circuits, is the same motor. With one cage there is no second one. The reactive power that the motor
does not take itself is a susceptance at its bus, `b_shunt`, as that of `InductionMotor`.

Source: PSS/E, Model Library, CIM5, CIM6 and CIMW; circuits and constants after the models of OpenIPSL and
STEPS, which differ for type 2, where the circuit decides; P. Kundur, Power System Stability and Control
(1994), chapter 7, for the equations of the induction machine.

What a motor takes at a voltage has no closed form over two cages: its running branch, the slips from 0 to the
first maximum of that, is looked at in `SLIPS`, and between two of them by bisection. `taken` is a function of
the slip, increasing along the branch: the power in pu, or the conductance of the motor's circuit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive, whole
from psmr.devices.loads.motors import PU, SHED, STANDSTILL, into_bus
from psmr.devices.machines.textbook import F_N, S_BASE, S_N

LEAST_SPEED = 0.01
"""Speed in pu below which a power of it is not taken: near rest a negative exponent has no value."""


class CageMotor(Component):
    """Circuit and shaft of an induction motor with one cage or two; see the module's text."""

    states = ("slip", "a_re", "a_im")
    inputs = ("v_re", "v_im", "t_0", "b_shunt")
    outputs = ("i_re", "i_im")
    structural = ("cages",)
    together = (("a_re", "a_im"),)
    limits = {"slip": (None, "standstill")}
    units = {"t_0": PU}

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    cages = Parameter("1", "number of cages, 1 or 2", whole(1, 2))
    circuit = Parameter("1", "circuit: type 1 or 2", whole(1, 2), default=1.0)
    r_s = Parameter(PU, "stator resistance", nonnegative)
    x_s = Parameter(PU, "stator leakage reactance", positive)
    x_m = Parameter(PU, "magnetising reactance", positive)
    r_1 = Parameter(PU, "resistance of the first cage", positive)
    x_1 = Parameter(PU, "leakage reactance of the first cage", positive)
    r_2 = Parameter(PU, "resistance of the second cage", nonnegative, default=0.0)
    x_2 = Parameter(PU, "leakage reactance of the second cage", nonnegative, default=0.0)
    h = Parameter("s", "inertia constant of motor and load on the motor base", positive)
    standstill = STANDSTILL
    shed = SHED

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the states of one cage or two."""
        if choice == (1,):
            return {}
        both = ("slip", "a_re", "a_im", "b_re", "b_im")
        return {"states": both, "together": (("a_re", "a_im"), ("b_re", "b_im"))}

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a second cage without its circuit."""
        if p["cages"] == 2 and (p["r_2"] == 0 or p["x_2"] == 0):
            return f"cages = 2, r_2 = {p['r_2']:g} and x_2 = {p['x_2']:g}: both must be > 0, or cages 1"
        return None

    @staticmethod
    def most_power(p: Any, voltage: float) -> float:
        """Return the most power that the running motor takes at a voltage, pu on the motor base."""
        return most_taken(lambda slip: voltage**2 * (1 / impedance(p, slip)).real)


class CIM5(CageMotor):
    """Induction motor whose load torque is a power of its speed: t_load = t_0 (1 - slip)^d.

    The torque t_0 at synchronous speed follows from the start; the torque T_nom of a motor that is started
    has no part. Source: module text; for the torque OpenIPSL, CIM5.
    """

    role = "motor"

    d = Parameter("1", "exponent of the speed in the load torque", default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of slip and fluxes, and the current into the bus."""
        return turning(m, v, p, m.max(1 - v.slip, LEAST_SPEED) ** p.d)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the steady state on the running branch."""
        return running(terminal, p, lambda speed: speed**p.d)


class CIM6(CageMotor):
    """Induction motor whose load torque is a sum of powers of its speed w = 1 - slip.

    ::

        t_load = t_0 (a w^2 + b w + c_0 + d w^e)

    t_0 follows from the start; the torque T_nom of a motor that is started has no part. Source: module text;
    for the torque PowerWorld and OpenIPSL, CIM6.
    """

    role = "motor"

    a = Parameter("1", "part of the load torque with the square of the speed", default=0.0)
    b = Parameter("1", "part of the load torque with the speed", default=0.0)
    d = Parameter("1", "part of the load torque with the power e of the speed", default=0.0)
    e = Parameter("1", "exponent of the part d", default=0.0)
    c_0 = Parameter("1", "constant part of the load torque", default=0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a torque without parts, and to a second cage without its circuit."""
        total = p["a"] + p["b"] + p["d"] + p["c_0"]
        if total <= 0:
            return f"a + b + d + c_0 = {total:g}: must be > 0; they are the parts of the load torque"
        return CageMotor.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of slip and fluxes, and the current into the bus."""
        speed = 1 - v.slip
        power = m.max(speed, LEAST_SPEED) ** p.e
        return turning(m, v, p, p.a * speed**2 + p.b * speed + p.c_0 + p.d * power)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the steady state on the running branch."""
        return running(terminal, p, lambda w: p.a * w**2 + p.b * w + p.c_0 + p.d * w**p.e)


class CIMW(CageMotor):
    """Induction motor whose load torque is 1 at its speed w_0 at the start, and has powers of its speed w.

    ::

        t_load = t_0 (a w^2 + b w + c_0 + d w^e),    c_0 = 1 - a w_0^2 - b w_0 - d w_0^e

    t_0 is the torque at the start. Source: module text; for the torque PowerWorld, CIMW; the record is that
    of CIM6 without its last two values.
    """

    role = "motor"
    memory = ("w_0",)

    a = Parameter("1", "part of the load torque with the square of the speed", default=0.0)
    b = Parameter("1", "part of the load torque with the speed", default=0.0)
    d = Parameter("1", "part of the load torque with the power e of the speed", default=0.0)
    e = Parameter("1", "exponent of the part d", default=0.0)
    v_0 = Parameter("pu", "voltage of the power flow")
    p_0 = Parameter("pu", "power of the power flow, on the system base")
    w_0 = Parameter("pu", "speed at the start", positive, default=1.0)

    @staticmethod
    def prepared(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the speed at which the motor takes the power of the power flow."""
        one = SimpleNamespace(**p)
        wanted = p["p_0"] * p["s_base"] / p["s_n"]
        taken = slip_at(lambda slip: p["v_0"] ** 2 * (1 / impedance(one, slip)).real, wanted)
        return {"w_0": 1 - taken}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of slip and fluxes, and the current into the bus."""
        speed = 1 - v.slip
        power = m.max(speed, LEAST_SPEED) ** p.e - p.w_0**p.e
        return turning(m, v, p, 1 + p.a * (speed**2 - p.w_0**2) + p.b * (speed - p.w_0) + p.d * power)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the steady state on the running branch."""
        return running(terminal, p, lambda _: 1.0)


def _linked(p: Any, double: bool) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Return (share of psi_1, of psi_2 in psi_s, x'', and the inverse of the cages' inductances).

    The inverse is given by (11, 12, 22); of one cage the others are 0.
    """
    l_1 = p.x_m + p.x_1
    if not double:
        return p.x_m / l_1, 0, p.x_s + p.x_m - p.x_m**2 / l_1, 1 / l_1, 0, 0
    l_12 = p.x_m + (p.circuit - 1) * p.x_1
    l_2 = l_12 + p.x_2
    det = l_1 * l_2 - l_12**2
    n_11, n_12, n_22 = l_2 / det, -l_12 / det, l_1 / det
    g_1, g_2 = p.x_m * (n_11 + n_12), p.x_m * (n_12 + n_22)
    return g_1, g_2, p.x_s + p.x_m - p.x_m * (g_1 + g_2), n_11, n_12, n_22


def turning(m: Any, v: Any, p: Any, load: Any) -> tuple[Terms, Terms, Terms]:
    """Return the equations of a motor whose load torque is t_0 times `load`."""
    double = hasattr(v, "b_re")
    g_1, g_2, x_2, n_11, n_12, n_22 = _linked(p, double)
    b_re, b_im = (v.b_re, v.b_im) if double else (0, 0)
    # The voltage behind r_s + j x'' is j times what the cages link with the stator.
    e_re, e_im = -(g_1 * v.a_im + g_2 * b_im), g_1 * v.a_re + g_2 * b_re
    square = p.r_s**2 + x_2**2
    d_re, d_im = v.v_re - e_re, v.v_im - e_im
    i_re, i_im = (p.r_s * d_re + x_2 * d_im) / square, (p.r_s * d_im - x_2 * d_re) / square
    turn = 2 * np.pi * p.f_n
    a_re, a_im = v.a_re - p.x_m * i_re, v.a_im - p.x_m * i_im
    c_re, c_im = b_re - p.x_m * i_re, b_im - p.x_m * i_im
    derivatives = [
        (v.t_0 * load - (e_re * i_re + e_im * i_im)) / (2 * p.h),
        turn * (v.slip * v.a_im - p.r_1 * (n_11 * a_re + n_12 * c_re)),
        turn * (-v.slip * v.a_re - p.r_1 * (n_11 * a_im + n_12 * c_im)),
    ]
    if double:
        derivatives += [
            turn * (v.slip * b_im - p.r_2 * (n_12 * a_re + n_22 * c_re)),
            turn * (-v.slip * b_re - p.r_2 * (n_12 * a_im + n_22 * c_im)),
        ]
    return tuple(derivatives), (), into_bus(v, p, i_re, i_im)


def impedance(p: Any, slip: Any) -> Any:
    """Return the complex impedance of the circuit at a slip, pu on the motor base."""
    double = np.all(np.asarray(p.cages) == 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = slip / (p.r_1 + 1j * slip * np.where(p.circuit == 2, 0.0, p.x_1))
        second = slip / (p.r_2 + 1j * slip * p.x_2) if double else 0.0
        rotor = first + second
        # Type 2: x_1 stands in series with both cages. A single cage has it in series as well.
        in_series = np.where(p.circuit == 2, p.x_1, 0.0)
        rotor = rotor / (1 + 1j * in_series * rotor)
    return p.r_s + 1j * p.x_s + 1 / (1 / (1j * p.x_m) + rotor)


def running(terminal: Any, p: Any, load: Callable[[Any], Any]) -> Mapping[str, Any]:
    """Return the steady state of a motor that takes the active power of its terminal."""
    power = -(terminal.voltage * np.conj(terminal.current))
    given = vars(p)
    count = np.broadcast(*(np.asarray(x) for x in (terminal.voltage, *given.values()))).size
    asked = np.broadcast_to(power.real * p.s_base / p.s_n, count)
    size = np.broadcast_to(np.abs(terminal.voltage), count)
    each = [
        SimpleNamespace(**{k: np.broadcast_to(x, count)[i] for k, x in given.items()}) for i in range(count)
    ]

    def slip_of(one: Any, power: float, voltage: float) -> float:
        return slip_at(lambda slip: voltage**2 * (1 / impedance(one, slip)).real, power)

    found = np.array([slip_of(one, asked[i], size[i]) for i, one in enumerate(each)])
    slip = found if np.ndim(terminal.voltage) else found[0]
    current = terminal.voltage / impedance(p, slip)
    psi_s = (terminal.voltage - p.r_s * current) / 1j
    double = bool(np.all(np.asarray(p.cages) == 2))
    air = psi_s - p.x_s * current
    inside = air + np.where(p.circuit == 2, p.x_1, 0.0) * (air / p.x_m - current) if double else air
    # The cages see the flux behind the common reactance; each current is the flux over its own impedance.
    own = np.where((p.circuit == 2) & double, 0.0, p.x_1)
    i_1 = -1j * slip * inside / (p.r_1 + 1j * slip * own)
    start = {"slip": slip, "a_re": (inside + own * i_1).real, "a_im": (inside + own * i_1).imag}
    if double:
        i_2 = -1j * slip * inside / (p.r_2 + 1j * slip * p.x_2)
        start |= {"b_re": (inside + p.x_2 * i_2).real, "b_im": (inside + p.x_2 * i_2).imag}
    torque = (np.conj(psi_s) * current).imag
    taken = (terminal.voltage * np.conj(current)).imag * p.s_n / p.s_base
    return start | {
        "t_0": torque / load(1 - slip),
        "b_shunt": (taken - power.imag) / np.abs(terminal.voltage) ** 2,
    }


SLIPS = np.concatenate([[0.0], np.logspace(-7, 0, 1401)])
"""Slips among which the branch is looked for."""


def most_taken(taken: Callable[[Any], Any]) -> float:
    """Return the most_taken that a motor takes on its running branch."""
    along = taken(SLIPS)
    return float(along[_top(along)])


def slip_at(taken: Callable[[Any], Any], wanted: float) -> float:
    """Return the slip on the running branch at which the motor takes `wanted`; NaN where there is none."""
    along = taken(SLIPS)
    top = _top(along)
    if not along[0] <= wanted <= along[top]:
        return float("nan")
    place = int(np.searchsorted(along[: top + 1], wanted))
    low, high = float(SLIPS[max(place - 1, 0)]), float(SLIPS[place])
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if taken(middle) < wanted else (low, middle)
    return middle


def _top(along: Any) -> int:
    """Return where what rises from slip 0 has its first maximum."""
    falls = np.flatnonzero(np.diff(along) < 0)
    return int(falls[0]) if falls.size else len(along) - 1
