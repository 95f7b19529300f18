"""Grid-following converters in full: filter, bridge, current control and measurements, 50 us to 10 ms.

Per unit on the converter's own base `s_n`; angles in rad against a frame that turns at nominal frequency;
time in s. All d and q quantities are in the frame of the phase-locked loop, whose d axis is at `theta`; pairs
d + j q are written as one complex number.

Circuit and control diagram (v_b is the voltage of the bus, v_c that of the filter's capacitor)::

    e --- r_f + j x_f --- i --> --+-- v_c --- r_g + j x_g --- i_o --> v_b + v_2 + v_5 + v_7
                                  |
                               j b_f

    v_c -> 1/(1 + s t_m) -> v_m      v_mq -> kp_pll + ki_pll/s -> w - 1 -> 2 pi f_n/s -> theta
                                     (the integrator within dw_min and dw_max)
    p -> 1/(1 + s t_p) -> p_m        p_ref - p_m -> kp_p + ki_p/s -> i_d_ref
    q -> 1/(1 + s t_p) -> q_m        q_ref - q_m -> kp_q + ki_q/s -> -i_q_ref
    (i_d_ref, i_q_ref) -> limit i_max, reactive first -> i_cmd

    i_cmd - i -> kp_i + ki_i/s --> + ---> u -> 1/(1 + s t_d) -> e
               f_v v_m + j x_f i ----^ |
               k_ad (v_c - v_m) ------(-)

p and q are those of v_c and i_o. The bridge is averaged over the switching; t_d stands for computation and
modulation. k_ad damps the filter's resonance with what the measurement filter takes away. What the limit cuts
off is fed back to the outer integrators with the gain k_aw.

v_2, v_5 and v_7 are the negative sequence and harmonics of the voltage at the bus, see below.

Sources: A. Yazdani and R. Iravani, Voltage-Sourced Converters in Power Systems (2010), chapter 8
(phase-locked loop, current control, averaged bridge); S. D'Arco, J. A. Suul and O. B. Fosso, A Virtual
Synchronous Machine implementation for distributed control of power converters in SmartGrids, Electric Power
Systems Research 122, 2015, section 2 (filter, active damping of its resonance); K. J. Astrom and T. Hagglund,
Advanced PID Control (2006), chapter 3 (anti-windup).

The phasors of the network carry the fundamental alone. v_2, v_5 and v_7 are the negative sequence of an
unbalanced load nearby, and the 5th and the 7th harmonic (of negative and of positive sequence). Seen from a
stator they turn at -w_n, -5 w_n and 7 w_n, in a frame that turns at nominal frequency w_n at -2, -6 and +6
w_n. They are zero at the start; an event sets them. Their effect on the converter is modelled correctly. The
network responds to its currents at these frequencies with the impedance for the fundamental, which is wrong
for them: the ripple in the network is no study of unbalance or harmonics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, fraction, nonnegative, positive
from psmr.devices.blocks import lag, limit_with_priority, rotate
from psmr.devices.converters.following import PU
from psmr.devices.machines.textbook import F_N, S_BASE, S_N

V_2 = Parameter("pu", "negative sequence of the voltage at the bus", nonnegative, default=0.0)
V_5 = Parameter("pu", "fifth harmonic of the voltage at the bus", nonnegative, default=0.0)
V_7 = Parameter("pu", "seventh harmonic of the voltage at the bus", nonnegative, default=0.0)

HARMONICS = ("v_2", "v_5", "v_7")


def with_harmonics(m: Any, v: Any, p: Any) -> tuple[Any, Any]:
    """Return the real and the imaginary part of the whole voltage at the bus, pu.

    `m`, `v`, `p`: functions; `v_re`, `v_im` of the fundamental in pu and the time t in s; the sizes in pu and
    f_n in Hz.

    Source of the sequences: C. L. Fortescue, Method of symmetrical co-ordinates applied to the solution of
    polyphase networks, AIEE Transactions 37, 1918.
    """
    angle = 4 * np.pi * p.f_n * v.t
    c, s = m.cos(angle), m.sin(angle)
    c_6, s_6 = c * (4 * c**2 - 3), s * (3 - 4 * s**2)  # of three times the angle
    v_re = v.v_re + p.v_2 * c + (p.v_7 + p.v_5) * c_6
    return v_re, v.v_im - p.v_2 * s + (p.v_7 - p.v_5) * s_6


def lcl_filter(
    v: Any, p: Any, w: Any, source: tuple[Any, Any], bus: tuple[Any, Any], grid: tuple[Any, Any]
) -> Terms:
    """Return the derivatives of i_d, i_q (bridge), v_cd, v_cq (capacitor), i_od, i_oq (grid side), 1/s.

    `v`, `p`: the device's variables, those six among them, and its parameters: r_f, x_f and b_f of the filter
    in pu, f_n in Hz; `w`: speed of the frame, pu; `source`, `bus`: voltages of the bridge and of the bus, (d,
    q), pu; `grid`: resistance and reactance from the capacitor to the bus, pu.

    Kirchhoff's laws of the three elements in a frame that turns with w. Source: the papers of
    `GridFormingConverter` and `FilteredConverter`, which hold them.
    """
    w_n = 2 * np.pi * p.f_n
    (e_d, e_q), (v_d, v_q), (r, x) = source, bus, grid
    return (
        w_n * ((e_d - v.v_cd - p.r_f * v.i_d) / p.x_f + w * v.i_q),
        w_n * ((e_q - v.v_cq - p.r_f * v.i_q) / p.x_f - w * v.i_d),
        w_n * ((v.i_d - v.i_od) / p.b_f + w * v.v_cq),
        w_n * ((v.i_q - v.i_oq) / p.b_f - w * v.v_cd),
        w_n * ((v.v_cd - v_d - r * v.i_od) / x + w * v.i_oq),
        w_n * ((v.v_cq - v_q - r * v.i_oq) / x - w * v.i_od),
    )


class FilteredConverter(Component):
    """Grid-following converter with LCL filter and current control; diagram and sources: module text."""

    role = "converter"
    grid = "follows"
    states = (
        "theta",
        "x_pll",
        "v_md",
        "v_mq",
        "p_m",
        "q_m",
        "x_p",
        "x_q",
        "y_d",
        "y_q",
        "e_d",
        "e_q",
        "i_d",
        "i_q",
        "v_cd",
        "v_cq",
        "i_od",
        "i_oq",
    )
    inputs = ("v_re", "v_im", "p_ref", "q_ref")
    outputs = ("i_re", "i_im")
    limits = {"x_pll": ("dw_min", "dw_max")}
    together = (("i_d", "i_q"), ("v_cd", "v_cq"), ("i_od", "i_oq"), ("e_d", "e_q"))
    units = {"theta": "rad"}
    ramps = HARMONICS

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    t_m = Parameter("s", "time constant of the voltage measurement", positive)
    kp_pll = Parameter("pu speed per pu voltage", "proportional gain of the phase-locked loop", positive)
    ki_pll = Parameter("1/s", "integral gain of the phase-locked loop", positive)
    dw_min = Parameter("pu", "lower limit of the loop's integrator, a deviation of speed")
    dw_max = Parameter("pu", "upper limit of the loop's integrator, a deviation of speed")
    t_p = Parameter("s", "time constant of the power measurements", positive)
    kp_p = Parameter("1", "proportional gain of the active-power control", nonnegative)
    ki_p = Parameter("1/s", "integral gain of the active-power control", positive)
    kp_q = Parameter("1", "proportional gain of the reactive-power control", nonnegative)
    ki_q = Parameter("1/s", "integral gain of the reactive-power control", positive)
    i_max = Parameter(PU, "limit of the current's reference; its active part keeps a tenth of it", positive)
    k_aw = Parameter("1/s", "gain of the anti-windup feedback", nonnegative)
    kp_i = Parameter("pu voltage per pu current", "proportional gain of the current control", positive)
    ki_i = Parameter("1/s", "integral gain of the current control", positive)
    f_v = Parameter("1", "part of the measured voltage that is fed forward", fraction)
    k_ad = Parameter("1", "gain of the active damping", nonnegative, default=0.0)
    t_d = Parameter("s", "time constant of bridge and modulator", positive)
    r_f = Parameter(PU, "resistance of the filter's reactor", nonnegative)
    x_f = Parameter(PU, "reactance of the filter's reactor", positive)
    b_f = Parameter(PU, "susceptance of the filter's capacitor", positive)
    r_g = Parameter(PU, "resistance between filter and bus", nonnegative)
    x_g = Parameter(PU, "reactance between filter and bus", positive)
    v_2, v_5, v_7 = V_2, V_5, V_7

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and the current into the bus."""
        w_n = 2 * np.pi * p.f_n
        v_d, v_q = rotate(m, *with_harmonics(m, v, p), v.theta)
        w = 1 + p.kp_pll * v.v_mq + v.x_pll
        p_e, q_e = v.v_cd * v.i_od + v.v_cq * v.i_oq, v.v_cq * v.i_od - v.v_cd * v.i_oq
        error_p, error_q = v.p_ref - v.p_m, v.q_ref - v.q_m
        d_ref, q_ref = p.kp_p * error_p + v.x_p, -(p.kp_q * error_q + v.x_q)
        q_cmd, d_cmd = limit_with_priority(m, q_ref, d_ref, p.i_max)
        # Current control: the voltage that it asks the bridge for.
        u_d = p.f_v * v.v_md - p.k_ad * (v.v_cd - v.v_md) - p.x_f * v.i_q + p.kp_i * (d_cmd - v.i_d) + v.y_d
        u_q = p.f_v * v.v_mq - p.k_ad * (v.v_cq - v.v_mq) + p.x_f * v.i_d + p.kp_i * (q_cmd - v.i_q) + v.y_q
        derivatives = (
            w_n * (w - 1),
            p.ki_pll * v.v_mq,
            lag(v.v_cd, v.v_md, p.t_m),
            lag(v.v_cq, v.v_mq, p.t_m),
            lag(p_e, v.p_m, p.t_p),
            lag(q_e, v.q_m, p.t_p),
            p.ki_p * error_p + p.k_aw * (d_cmd - d_ref),
            p.ki_q * error_q - p.k_aw * (q_cmd - q_ref),
            p.ki_i * (d_cmd - v.i_d),
            p.ki_i * (q_cmd - v.i_q),
            lag(u_d, v.e_d, p.t_d),
            lag(u_q, v.e_q, p.t_d),
            *lcl_filter(v, p, w, (v.e_d, v.e_q), (v_d, v_q), (p.r_g, p.x_g)),
        )
        base = p.s_n / p.s_base
        i_re, i_im = rotate(m, v.i_od, v.i_oq, -v.theta)
        return derivatives, (), (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        i_o = terminal.current * p.s_base / p.s_n
        v_c = terminal.voltage + (p.r_g + 1j * p.x_g) * i_o
        theta = np.angle(v_c)
        power = v_c * np.conj(i_o)
        turn = np.exp(-1j * theta)
        i_o, v_c = i_o * turn, v_c * turn
        i = i_o + 1j * p.b_f * v_c
        e = v_c + (p.r_f + 1j * p.x_f) * i
        y = (1 - p.f_v) * v_c + p.r_f * i
        pairs = {"v_m": v_c, "y_": y, "e_": e, "i_": i, "v_c": v_c, "i_o": i_o}
        return {
            **{f"{name}d": value.real for name, value in pairs.items()},
            **{f"{name}q": value.imag for name, value in pairs.items()},
            "theta": theta,
            "p_m": power.real,
            "q_m": power.imag,
            "p_ref": power.real,
            "q_ref": power.imag,
            "x_p": i.real,
            "x_q": -i.imag,
        }
