"""Grid-following converters: current sources kept in step with their bus by a phase-locked loop.

Per unit on the converter's own base `s_n`; angles in rad against a frame that turns at nominal frequency;
time in s.

Control diagram (v_d + j v_q is the bus voltage in the frame of the phase-locked loop)::

    v_q -> kp_pll + ki_pll/s -> speed of the frame -> 2 pi f_n/s -> theta

    p -> 1/(1 + s t_p) -> p_m      p_ref - p_m -> kp_p + ki_p/s -> i_d_ref
    q -> 1/(1 + s t_q) -> q_m      q_ref - q_m -> kp_q + ki_q/s -> -i_q_ref

    (i_d_ref, i_q_ref) -> limit i_max, reactive first -> (i_d_cmd, i_q_cmd)
    i_d_cmd -> 1/(1 + s t_i) -> i_d      i_q_cmd -> 1/(1 + s t_i) -> i_q

The other form measures v -> 1/(1 + s t_v) -> v_m and puts v_ref - v_m in the place of q_ref - q_m.

The closed current loop acts as a lag 1/(1 + s t_i): that is what its PI controller is tuned for, by
cancelling the pole of the filter reactor (Yazdani and Iravani, chapter 8). The current limit i_max gives
way to reactive current first, as REEC_A does with PQFLAG = 0, and leaves a tenth of the limit to active
current. What it cuts off is fed back to the two outer integrators with the gain k_aw (K. J. Astrom and T.
Hagglund, Advanced PID Control, 2006, chapter 3), so that they do not wind up in a fault. The integrator of
the phase-locked loop has non-windup limits.

Sources: A. Yazdani and R. Iravani, Voltage-Sourced Converters in Power Systems (2010), chapter 8
(phase-locked loop, current control, real and reactive power controller); EPRI 3002027129, Model User Guide
for Generic Renewable Energy System Models (2023), REGC_A and REEC_A, for the order of measurement, outer
control, current limit and current source.

The static var compensator of the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag, limit_with_priority, rotate
from psmr.devices.machines.textbook import F_N, S_BASE, S_N

PU = "pu on converter base"


class _GridFollowing(Component):
    """Parameters and variables that both forms of the grid-following converter share."""

    outputs = ("i_re", "i_im")
    limits = {"x_pll": ("dw_min", "dw_max")}
    together = (("i_d", "i_q"),)
    units = {"theta": "rad"}

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    kp_pll = Parameter("pu speed per pu voltage", "proportional gain of the phase-locked loop", positive)
    ki_pll = Parameter("1/s", "integral gain of the phase-locked loop", positive)
    dw_min = Parameter("pu", "lower limit of the loop's integrator, a deviation of speed")
    dw_max = Parameter("pu", "upper limit of the loop's integrator, a deviation of speed")
    t_p = Parameter("s", "time constant of the active-power measurement", positive)
    kp_p = Parameter("1", "proportional gain of the active-power control", nonnegative)
    ki_p = Parameter("1/s", "integral gain of the active-power control", positive)
    t_i = Parameter("s", "time constant of the closed current loop", positive)
    i_max = Parameter(PU, "limit of the current's magnitude", positive)
    k_aw = Parameter("1/s", "gain of the anti-windup feedback", nonnegative)


def _converter(m: Any, v: Any, p: Any, reactive: Any) -> tuple[tuple[Any, ...], tuple[Any, Any], Any]:
    """Return (derivatives of theta, x_pll, p_m, x_p, x_q, i_d, i_q), the injection, and the reactive power.

    `reactive` is the pair (proportional part, rate of the integrator) of the reactive channel.
    """
    v_d, v_q = rotate(m, v.v_re, v.v_im, v.theta)
    p_e, q_e = v_d * v.i_d + v_q * v.i_q, v_q * v.i_d - v_d * v.i_q
    error_p = v.p_ref - v.p_m
    proportional, rate = reactive
    d_ref, q_ref = p.kp_p * error_p + v.x_p, -(proportional + v.x_q)
    q_cmd, d_cmd = limit_with_priority(m, q_ref, d_ref, p.i_max)
    derivatives = (
        2 * np.pi * p.f_n * (p.kp_pll * v_q + v.x_pll),
        p.ki_pll * v_q,
        lag(p_e, v.p_m, p.t_p),
        p.ki_p * error_p + p.k_aw * (d_cmd - d_ref),
        rate - p.k_aw * (q_cmd - q_ref),
        lag(d_cmd, v.i_d, p.t_i),
        lag(q_cmd, v.i_q, p.t_i),
    )
    base = p.s_n / p.s_base
    i_re, i_im = rotate(m, v.i_d, v.i_q, -v.theta)
    return derivatives, (base * i_re, base * i_im), q_e


def _converter_guess(terminal: Any, p: Any) -> dict[str, Any]:
    theta = np.angle(terminal.voltage)
    i = terminal.current * p.s_base / p.s_n * np.exp(-1j * theta)
    power = np.abs(terminal.voltage) * i.real
    return {
        "theta": theta,
        "p_m": power,
        "p_ref": power,
        "x_p": i.real,
        "x_q": -i.imag,
        "i_d": i.real,
        "i_q": i.imag,
    }


class GridFollowingConverter(_GridFollowing):
    """Grid-following converter that holds active and reactive power; diagram and sources: module text."""

    role = "converter"
    grid = "follows"
    states = ("theta", "x_pll", "p_m", "x_p", "x_q", "i_d", "i_q", "q_m")
    inputs = ("v_re", "v_im", "p_ref", "q_ref")

    t_q = Parameter("s", "time constant of the reactive-power measurement", positive)
    kp_q = Parameter("1", "proportional gain of the reactive-power control", nonnegative)
    ki_q = Parameter("1/s", "integral gain of the reactive-power control", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and the current into the bus."""
        error = v.q_ref - v.q_m
        derivatives, injection, q_e = _converter(m, v, p, (p.kp_q * error, p.ki_q * error))
        return (*derivatives, lag(q_e, v.q_m, p.t_q)), (), injection

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        power = terminal.voltage * np.conj(terminal.current) * p.s_base / p.s_n
        return _converter_guess(terminal, p) | {"q_m": power.imag, "q_ref": power.imag}


class GridFollowingConverterV(_GridFollowing):
    """Grid-following converter that holds active power and bus voltage; diagram and sources: module text."""

    role = "converter"
    grid = "follows"
    integrates_voltage = True
    states = ("theta", "x_pll", "p_m", "x_p", "x_q", "i_d", "i_q", "v_m")
    inputs = ("v_re", "v_im", "p_ref", "v_ref")

    t_v = Parameter("s", "time constant of the voltage measurement", positive)
    kp_v = Parameter(
        "pu on converter base per pu voltage", "proportional gain of the voltage control", nonnegative
    )
    ki_v = Parameter("1/s", "integral gain of the voltage control", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and the current into the bus."""
        error = v.v_ref - v.v_m
        derivatives, injection, _ = _converter(m, v, p, (p.kp_v * error, p.ki_v * error))
        return (*derivatives, lag(m.sqrt(v.v_re**2 + v.v_im**2), v.v_m, p.t_v)), (), injection

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        magnitude = np.abs(terminal.voltage)
        return _converter_guess(terminal, p) | {"v_m": magnitude, "v_ref": magnitude}


class CSVGN1(Component):
    """Static var compensator: a capacitor beside a reactor whose current thyristors control.

    ::

        |v| - v_ref -> k (1 + s t_1)/(1 + s t_3) -> (1 + s t_2)/(1 + s t_4), limits [v_min, v_max] -> demand
        s_n demand -> 1/(1 + s t_5), limits [r_min, s_n] -> reactor
        i = -j ((c_base - reactor)/s_base) v - g v

    reactor and c_base are in Mvar at rated voltage, i is the current into the bus. s_n is the reactor's size:
    the generator's base in the network file. The limits [v_min, v_max] hold for the output of the second
    lead-lag and, without windup, for its state. The held input g is the conductance that takes the active
    power which the power flow gives the generator, zero for a compensator as such. Source: PSS/E, Model
    Library, CSVGN1 (static shunt compensator).
    """

    role = "converter"
    records = ("CSVGN1 k t_1 t_2 t_3 t_4 t_5 r_min v_max v_min c_base",)
    grid = "follows"
    states = ("x_3", "x_4", "reactor")
    inputs = ("v_re", "v_im", "v_ref", "g")
    outputs = ("i_re", "i_im")
    limits = {"x_4": ("v_min", "v_max"), "reactor": ("r_min", "s_n")}
    lags = {"x_3": ("t_3",), "x_4": ("t_4",), "reactor": ("t_5",)}
    units = {"reactor": "Mvar"}

    s_n = S_N
    s_base = S_BASE
    k = Parameter("pu per pu", "gain", positive)
    t_1 = Parameter("s", "first lead", nonnegative)
    t_2 = Parameter("s", "second lead", nonnegative)
    t_3 = Parameter("s", "first lag", nonnegative)
    t_4 = Parameter("s", "second lag", nonnegative)
    t_5 = Parameter("s", "time constant of the thyristors", nonnegative)
    r_min = Parameter("Mvar", "least power of the reactor")
    v_max = Parameter("pu of the reactor", "upper limit of the regulator")
    v_min = Parameter("pu of the reactor", "lower limit of the regulator")
    c_base = Parameter("Mvar", "power of the capacitor")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags and to crossed limits."""
        limits = (("v_min", "v_max"), ("r_min", "s_n"))
        return crossed(p, *limits) or improper(p, ("t_1", "t_3"), ("t_2", "t_4"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of lead-lags and reactor, and the current into the bus."""
        error = p.k * (m.sqrt(v.v_re**2 + v.v_im**2) - v.v_ref)
        first, d_3 = lead_lag(error, v.x_3, p.t_1, p.t_3)
        second, d_4 = lead_lag(first, v.x_4, p.t_2, p.t_4)
        demand = m.clip(second, p.v_min, p.v_max)
        b = (p.c_base - v.reactor) / p.s_base
        derivatives = (d_3, d_4, (p.s_n * demand - v.reactor) / p.t_5)
        return derivatives, (), (b * v.v_im - v.g * v.v_re, -b * v.v_re - v.g * v.v_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the power that the power flow gives."""
        power = terminal.voltage * np.conj(terminal.current)
        square = np.abs(terminal.voltage) ** 2
        reactor = p.c_base - power.imag / square * p.s_base
        demand = reactor / p.s_n
        v_ref = np.abs(terminal.voltage) - demand / p.k
        return {"x_3": demand, "x_4": demand, "reactor": reactor, "v_ref": v_ref, "g": -power.real / square}
