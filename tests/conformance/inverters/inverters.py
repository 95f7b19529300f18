"""Two grid-forming inverters of PowerSimulationsDynamics.jl behind a reactance, as components of one's own.

Per unit on the inverter's base, angles in rad, everything in the frame of the infinite bus, which turns at
nominal frequency. Pairs are complex numbers; those of the control are in the frame whose d axis is at `theta`
and turns with w::

    w: outer control                       v_ref = v_set + k_q (q_ref - q_m),   q_m' = w_f (q - q_m)
    v* = v_ref - j w l_v i_o                                                    virtual impedance
    i* = k_pv (v* - v_c) + k_iv x_v + j w c_f v_c,       x_v' = v* - v_c        voltage control
    e  = k_pc (i* - i) + k_ic x_i + j w l_f i - k_ad (v_c - phi),  x_i' = i* - i    current control
    phi' = w_ad (v_c - phi)                                                     active damping

    e --- r_f + j l_f --- i --> --+-- v_c --- r_g + j l_g --- i_o --> --- j x --- infinite bus
                                j c_f

Sources: the documentation of PowerSimulationsDynamics.jl (BSD-3-Clause), pages on outer and inner control,
frequency estimator and filter; S. D'Arco, J. A. Suul and O. B. Fosso, A Virtual Synchronous Machine
implementation for distributed control of power converters in SmartGrids, Electric Power Systems Research 122,
2015, whose inverter this is. The numbers are those of its tests 08 and 23.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import psmr
from psmr import Component, Device, Parameter
from tests.internals import polish

PU = "pu on the inverter's base"
W_N = 2.0 * np.pi * 60.0

RATED, SYSTEM = 2.75, 100.0
"""MVA of the inverter and of the system."""
REACTANCE = (0.075 + 5e-6) * RATED / SYSTEM
INFINITE = 1.00001

DROOP = 2.0 * np.pi * 5.0
"""Corner of the measured active power of the droop control, 1/s."""

FILTER = ("i_re", "i_im", "v_re", "v_im", "i_ore", "i_oim")
INNER = ("x_vd", "x_vq", "x_id", "x_iq", "phi_d", "phi_q")


class _Inverter(Component):
    """Filter, inner control and droop of the voltage, which both inverters have."""

    inputs = ("p_ref", "q_ref", "v_set")
    units = {"theta": "rad", "theta_pll": "rad"}

    l_f = Parameter(PU, "inductance at the bridge", default=0.08)
    r_f = Parameter(PU, "resistance at the bridge", default=0.003)
    c_f = Parameter(PU, "capacitance of the filter", default=0.074)
    l_g = Parameter(PU, "inductance towards the grid", default=0.2)
    r_g = Parameter(PU, "resistance towards the grid", default=0.01)
    l_v = Parameter(PU, "virtual inductance", default=0.2)
    k_pv = Parameter("1", "proportional gain of the voltage control", default=0.59)
    k_iv = Parameter("1/s", "integral gain of the voltage control", default=736.0)
    k_pc = Parameter("1", "proportional gain of the current control", default=1.27)
    k_ic = Parameter("1/s", "integral gain of the current control", default=14.3)
    k_ad = Parameter("1", "gain of the active damping", default=0.2)
    w_ad = Parameter("1/s", "corner of the active damping", default=50.0)
    k_q = Parameter("1", "droop of the voltage", default=0.2)
    w_f = Parameter("1/s", "corner of the measured reactive power", default=1000.0)


def _power(v: Any) -> tuple[Any, Any]:
    """Return p and q of the capacitor's voltage and the current to the grid."""
    return v.v_re * v.i_ore + v.v_im * v.i_oim, v.v_im * v.i_ore - v.v_re * v.i_oim


def _to_control(m: Any, re: Any, im: Any, theta: Any) -> tuple[Any, Any]:
    s, c = m.sin(theta), m.cos(theta)
    return re * c + im * s, im * c - re * s


def _filter(v: Any, p: Any, e_re: Any, e_im: Any) -> tuple[Any, ...]:
    """Return the derivatives of the filter between the bridge's voltage and the line."""
    # The line is a phasor's: its reactance has no state.
    u_re, u_im = INFINITE - REACTANCE * v.i_oim, REACTANCE * v.i_ore
    return (
        W_N * ((e_re - v.v_re - p.r_f * v.i_re) / p.l_f + v.i_im),
        W_N * ((e_im - v.v_im - p.r_f * v.i_im) / p.l_f - v.i_re),
        W_N * ((v.i_re - v.i_ore) / p.c_f + v.v_im),
        W_N * ((v.i_im - v.i_oim) / p.c_f - v.v_re),
        W_N * ((v.v_re - u_re - p.r_g * v.i_ore) / p.l_g + v.i_oim),
        W_N * ((v.v_im - u_im - p.r_g * v.i_oim) / p.l_g - v.i_ore),
    )


def _inner(m: Any, v: Any, p: Any, w: Any) -> tuple[Any, ...]:
    """Return the derivatives of the filter, the inner control and q_m."""
    v_d, v_q = _to_control(m, v.v_re, v.v_im, v.theta)
    i_d, i_q = _to_control(m, v.i_re, v.i_im, v.theta)
    i_od, i_oq = _to_control(m, v.i_ore, v.i_oim, v.theta)
    off_d = v.v_set + p.k_q * (v.q_ref - v.q_m) + w * p.l_v * i_oq - v_d
    off_q = -w * p.l_v * i_od - v_q
    miss_d = p.k_pv * off_d + p.k_iv * v.x_vd - w * p.c_f * v_q - i_d
    miss_q = p.k_pv * off_q + p.k_iv * v.x_vq + w * p.c_f * v_d - i_q
    e_d = p.k_pc * miss_d + p.k_ic * v.x_id - w * p.l_f * i_q - p.k_ad * (v_d - v.phi_d)
    e_q = p.k_pc * miss_q + p.k_ic * v.x_iq + w * p.l_f * i_d - p.k_ad * (v_q - v.phi_q)
    e_re, e_im = _to_control(m, e_d, e_q, -v.theta)
    return (
        *_filter(v, p, e_re, e_im),
        *(off_d, off_q, miss_d, miss_q, p.w_ad * (v_d - v.phi_d), p.w_ad * (v_q - v.phi_q)),
        p.w_f * (_power(v)[1] - v.q_m),
    )


class VirtualSynchronousMachine(_Inverter):
    """Test 08: a swing equation with damping towards the speed of a phase-locked loop."""

    states = (*FILTER, *INNER, "q_m", "theta", "omega", "v_dpll", "v_qpll", "x_pll", "theta_pll")

    t_a = Parameter("s", "inertia", default=2.0)
    k_d = Parameter("pu", "damping towards the loop's speed", default=400.0)
    k_w = Parameter("pu", "droop of the power", default=20.0)
    w_lp = Parameter("1/s", "corner of the loop's voltage", default=500.0)
    k_p = Parameter("pu/rad", "proportional gain of the loop", default=0.084)
    k_i = Parameter("pu/(rad s)", "integral gain of the loop", default=4.69)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
        """Return the derivatives."""
        v_d, v_q = _to_control(m, v.v_re, v.v_im, v.theta_pll)
        error = m.atan2(v.v_qpll, v.v_dpll)
        w_pll = 1.0 + p.k_p * error + p.k_i * v.x_pll
        torque = v.p_ref - _power(v)[0] - p.k_d * (v.omega - w_pll) - p.k_w * (v.omega - 1.0)
        return (
            (
                *_inner(m, v, p, v.omega),
                W_N * (v.omega - 1.0),
                torque / p.t_a,
                p.w_lp * (v_d - v.v_dpll),
                p.w_lp * (v_q - v.v_qpll),
                error,
                W_N * (w_pll - 1.0),
            ),
            (),
            (),
        )


class Droop(_Inverter):
    """Test 23: the speed falls with the measured power; nothing measures a frequency."""

    states = (*FILTER, *INNER, "q_m", "theta", "p_m")

    r_p = Parameter("pu", "droop of the speed", default=0.05)
    w_z = Parameter("1/s", "corner of the measured power", default=DROOP)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
        """Return the derivatives."""
        w = 1.0 + p.r_p * (v.p_ref - v.p_m)
        rates = (*_inner(m, v, p, w), W_N * (w - 1.0), p.w_z * (_power(v)[0] - v.p_m))
        return rates, (), ()


def system(inverter: type[_Inverter]) -> psmr.System:
    """Return an inverter that gives half of its rating at 1 pu of voltage, at its equilibrium."""
    device = Device("INV", inverter, {})
    p = type("Parameters", (), device.parameters)
    angle = np.arcsin(0.5 * REACTANCE / INFINITE)
    u = np.exp(1j * angle)
    i_o = (u - INFINITE) / (1j * REACTANCE)
    v_c = u + (p.r_g + 1j * p.l_g) * i_o
    i = i_o + 1j * p.c_f * v_c
    behind = v_c + 1j * p.l_v * i_o
    turn = np.exp(-1j * np.angle(behind))
    power = v_c * np.conj(i_o)
    start = {
        **{"theta": np.angle(behind), "q_m": power.imag, "p_ref": power.real, "q_ref": power.imag},
        **{"v_set": abs(behind), "omega": 1.0, "p_m": power.real},
        **{"v_dpll": abs(v_c), "v_qpll": 0.0, "x_pll": 0.0, "theta_pll": np.angle(v_c)},
    }
    pairs = {
        ("i_re", "i_im"): i,
        ("v_re", "v_im"): v_c,
        ("i_ore", "i_oim"): i_o,
        ("x_vd", "x_vq"): turn * i_o / p.k_iv,
        ("x_id", "x_iq"): turn * (v_c + p.r_f * i) / p.k_ic,
        ("phi_d", "phi_q"): turn * v_c,
    }
    for (real, imaginary), value in pairs.items():
        start |= {real: value.real, imaginary: value.imag}
    known = (*inverter.states, *inverter.inputs)
    return polish(psmr.assemble([device], {f"INV.{name}": float(start[name]) for name in known}))
