"""Three inverters of PowerSimulationsDynamics.jl, as components of one's own.

Per unit on the inverter's base, angles in rad, everything in the frame of the network, which turns at nominal
frequency. Pairs are complex numbers; those of the control are in the frame whose d axis is at `theta` and
turns with w::

    e --- r_f + j l_f -- i_c --> --+-- v_c --- r_g + j l_g --- i_o --> bus
                                j c_f

Grid-forming, tests 08, 10 and 11 (virtual synchronous machine) and 23 (droop)::

    w: outer control                       v_ref = v_set - k_q q_m,   q_m' = w_f (q - q_m)
    v* = v_ref - j w l_v i_o                                                    virtual impedance
    i* = k_pv (v* - v_c) + k_iv x_v + j w c_f v_c,       x_v' = v* - v_c        voltage control
    e  = k_pc (i* - i) + k_ic x_i + j w l_f i - k_ad (v_c - phi),  x_i' = i* - i    current control
    phi' = w_ad (v_c - phi)                                                     active damping

Grid-following, test 24, with its phase-locked loop at `theta`::

    v_q' = w_lp (v_cq - v_q),   x_pll' = v_q,   w = 1 + k_p v_q + k_i x_pll
    i*_q = k_o (p_ref - p_m) + k_io x_p,   x_p' = p_ref - p_m,   p_m' = w_z (p - p_m)
    i*_d = k_o (q_ref - q_m) + k_io x_q,   x_q' = q_ref - q_m,   q_m' = w_z (q - q_m)
    e  = k_pc (i* - i) + k_ic x_i + j w l_f i + v_c,   x_i' = i* - i

The active power sets the current in the q axis, at right angles to the voltage: that project's equations have
it so, and with the axes the other way round its eigenvalues are not found.

Sources: the documentation of PowerSimulationsDynamics.jl (BSD-3-Clause), pages on outer and inner control,
frequency estimator and filter; S. D'Arco, J. A. Suul and O. B. Fosso, A Virtual Synchronous Machine
implementation for distributed control of power converters in SmartGrids, Electric Power Systems Research 122,
2015, whose the grid-forming inverter is. The numbers are those of its tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psmr import Component, Parameter

PU = "pu on the inverter's base"

FILTER = ("i_cre", "i_cim", "v_cre", "v_cim", "i_ore", "i_oim")
INNER = ("x_vd", "x_vq", "x_id", "x_iq", "phi_d", "phi_q")


class _Inverter(Component):
    """An averaged bridge and its filter between bridge and bus."""

    outputs = ("i_re", "i_im")
    units = {"theta": "rad", "theta_pll": "rad"}

    s_n = Parameter("MVA", "rating")
    s_base = Parameter("MVA", "base of the system")
    f_n = Parameter("Hz", "nominal frequency")
    l_f = Parameter(PU, "inductance at the bridge", default=0.08)
    r_f = Parameter(PU, "resistance at the bridge", default=0.003)
    c_f = Parameter(PU, "capacitance of the filter", default=0.074)
    l_g = Parameter(PU, "inductance towards the grid", default=0.2)
    r_g = Parameter(PU, "resistance towards the grid", default=0.01)


def _power(v: Any) -> tuple[Any, Any]:
    """Return p and q of the capacitor's voltage and the current to the grid."""
    return v.v_cre * v.i_ore + v.v_cim * v.i_oim, v.v_cim * v.i_ore - v.v_cre * v.i_oim


def _to_control(m: Any, re: Any, im: Any, theta: Any) -> tuple[Any, Any]:
    s, c = m.sin(theta), m.cos(theta)
    return re * c + im * s, im * c - re * s


def _filter(v: Any, p: Any, e_re: Any, e_im: Any) -> tuple[Any, ...]:
    """Return the derivatives of the filter between the bridge's voltage and the bus."""
    w_n = 2 * np.pi * p.f_n
    return (
        w_n * ((e_re - v.v_cre - p.r_f * v.i_cre) / p.l_f + v.i_cim),
        w_n * ((e_im - v.v_cim - p.r_f * v.i_cim) / p.l_f - v.i_cre),
        w_n * ((v.i_cre - v.i_ore) / p.c_f + v.v_cim),
        w_n * ((v.i_cim - v.i_oim) / p.c_f - v.v_cre),
        w_n * ((v.v_cre - v.v_re - p.r_g * v.i_ore) / p.l_g + v.i_oim),
        w_n * ((v.v_cim - v.v_im - p.r_g * v.i_oim) / p.l_g - v.i_ore),
    )


def _to_bus(v: Any, p: Any) -> tuple[Any, Any]:
    base = p.s_n / p.s_base
    return base * v.i_ore, base * v.i_oim


def _filter_at_rest(terminal: Any, p: Any) -> tuple[complex, complex, complex]:
    """Return v_c, i and i_o."""
    i_o = terminal.current * p.s_base / p.s_n
    v_c = terminal.voltage + (p.r_g + 1j * p.l_g) * i_o
    return v_c, i_o + 1j * p.c_f * v_c, i_o


def _parts(pairs: dict[tuple[str, str], complex]) -> dict[str, float]:
    return {
        name: part for names, z in pairs.items() for name, part in zip(names, (z.real, z.imag), strict=True)
    }


class _Forming(_Inverter):
    """Filter, inner control and droop of the voltage, which both grid-forming inverters have."""

    inputs = ("v_re", "v_im", "p_ref", "v_set")

    l_v = Parameter(PU, "virtual inductance", default=0.2)
    k_pv = Parameter("1", "proportional gain of the voltage control", default=0.59)
    k_iv = Parameter("1/s", "integral gain of the voltage control", default=736.0)
    k_pc = Parameter("1", "proportional gain of the current control", default=1.27)
    k_ic = Parameter("1/s", "integral gain of the current control", default=14.3)
    k_ad = Parameter("1", "gain of the active damping", default=0.2)
    w_ad = Parameter("1/s", "corner of the active damping", default=50.0)
    k_q = Parameter("1", "droop of the voltage", default=0.2)
    w_f = Parameter("1/s", "corner of the measured reactive power", default=1000.0)

    @staticmethod
    def guess(terminal: Any, p: Any) -> dict[str, float]:
        """Return the equilibrium."""
        v_c, i, i_o = _filter_at_rest(terminal, p)
        behind = v_c + 1j * p.l_v * i_o
        turn = np.exp(-1j * np.angle(behind))
        power = v_c * np.conj(i_o)
        pairs = {
            ("i_cre", "i_cim"): i,
            ("v_cre", "v_cim"): v_c,
            ("i_ore", "i_oim"): i_o,
            ("x_vd", "x_vq"): turn * i_o / p.k_iv,
            ("x_id", "x_iq"): turn * (v_c + p.r_f * i) / p.k_ic,
            ("phi_d", "phi_q"): turn * v_c,
        }
        return _parts(pairs) | {
            **{"theta": np.angle(behind), "q_m": power.imag, "p_m": power.real, "omega": 1.0},
            **{"v_dpll": abs(v_c), "v_qpll": 0.0, "x_pll": 0.0, "theta_pll": np.angle(v_c)},
            **{"p_ref": power.real, "v_set": abs(behind) + p.k_q * power.imag},
        }


def _inner(m: Any, v: Any, p: Any, w: Any) -> tuple[Any, ...]:
    """Return the derivatives of the filter, the inner control and q_m."""
    v_d, v_q = _to_control(m, v.v_cre, v.v_cim, v.theta)
    i_d, i_q = _to_control(m, v.i_cre, v.i_cim, v.theta)
    i_od, i_oq = _to_control(m, v.i_ore, v.i_oim, v.theta)
    off_d = v.v_set - p.k_q * v.q_m + w * p.l_v * i_oq - v_d
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


class VirtualSynchronousMachine(_Forming):
    """Tests 08, 10 and 11: a swing equation with damping towards the speed of a phase-locked loop."""

    role = "converter"
    states = (*FILTER, *INNER, "q_m", "theta", "omega", "v_dpll", "v_qpll", "x_pll", "theta_pll")

    t_a = Parameter("s", "inertia", default=2.0)
    k_d = Parameter("pu", "damping towards the loop's speed", default=400.0)
    k_w = Parameter("pu", "droop of the power", default=20.0)
    w_lp = Parameter("1/s", "corner of the loop's voltage", default=500.0)
    k_p = Parameter("pu/rad", "proportional gain of the loop", default=0.084)
    k_i = Parameter("pu/(rad s)", "integral gain of the loop", default=4.69)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
        """Return the derivatives and the current into the bus."""
        v_d, v_q = _to_control(m, v.v_cre, v.v_cim, v.theta_pll)
        error = m.atan2(v.v_qpll, v.v_dpll)
        w_pll = 1.0 + p.k_p * error + p.k_i * v.x_pll
        torque = v.p_ref - _power(v)[0] - p.k_d * (v.omega - w_pll) - p.k_w * (v.omega - 1.0)
        rates = (
            *_inner(m, v, p, v.omega),
            2 * np.pi * p.f_n * (v.omega - 1.0),
            torque / p.t_a,
            p.w_lp * (v_d - v.v_dpll),
            p.w_lp * (v_q - v.v_qpll),
            error,
            2 * np.pi * p.f_n * (w_pll - 1.0),
        )
        return rates, (), _to_bus(v, p)


class Droop(_Forming):
    """Test 23: the speed falls with the measured power; nothing measures a frequency."""

    role = "converter"
    states = (*FILTER, *INNER, "q_m", "theta", "p_m")

    r_p = Parameter("pu", "droop of the speed", default=0.05)
    w_z = Parameter("1/s", "corner of the measured power", default=2.0 * np.pi * 5.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
        """Return the derivatives and the current into the bus."""
        w = 1.0 + p.r_p * (v.p_ref - v.p_m)
        rates = (*_inner(m, v, p, w), 2 * np.pi * p.f_n * (w - 1.0), p.w_z * (_power(v)[0] - v.p_m))
        return rates, (), _to_bus(v, p)


class Following(_Inverter):
    """Test 24: a current control behind integral controls of both powers and a phase-locked loop."""

    role = "converter"
    states = (*FILTER, "x_p", "p_m", "x_q", "q_m", "x_id", "x_iq", "v_q", "x_pll", "theta")
    inputs = ("v_re", "v_im", "p_ref", "q_ref")

    l_f = Parameter(PU, "inductance at the bridge", default=0.009)
    r_f = Parameter(PU, "resistance at the bridge", default=0.016)
    c_f = Parameter(PU, "capacitance of the filter", default=2.5)
    l_g = Parameter(PU, "inductance towards the grid", default=0.002)
    r_g = Parameter(PU, "resistance towards the grid", default=0.003)
    k_o = Parameter("1", "proportional gain of both powers", default=2.0)
    k_io = Parameter("1/s", "integral gain of both powers", default=30.0)
    w_z = Parameter("1/s", "corner of both measured powers", default=0.132 * 2.0 * np.pi * 50.0)
    k_pc = Parameter("1", "proportional gain of the current control", default=0.37)
    k_ic = Parameter("1/s", "integral gain of the current control", default=0.7)
    w_lp = Parameter("1/s", "corner of the loop's voltage", default=1.32 * 2.0 * np.pi * 50.0)
    k_p = Parameter("pu/pu", "proportional gain of the loop", default=2.0)
    k_i = Parameter("pu/(pu s)", "integral gain of the loop", default=20.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
        """Return the derivatives and the current into the bus."""
        v_d, v_q = _to_control(m, v.v_cre, v.v_cim, v.theta)
        i_d, i_q = _to_control(m, v.i_cre, v.i_cim, v.theta)
        p_e, q_e = _power(v)
        off_p, off_q = v.p_ref - v.p_m, v.q_ref - v.q_m
        miss_d = p.k_o * off_q + p.k_io * v.x_q - i_d
        miss_q = p.k_o * off_p + p.k_io * v.x_p - i_q
        w = 1.0 + p.k_p * v.v_q + p.k_i * v.x_pll
        e_d = p.k_pc * miss_d + p.k_ic * v.x_id - w * p.l_f * i_q + v_d
        e_q = p.k_pc * miss_q + p.k_ic * v.x_iq + w * p.l_f * i_d + v_q
        e_re, e_im = _to_control(m, e_d, e_q, -v.theta)
        rates = (
            *_filter(v, p, e_re, e_im),
            *(off_p, p.w_z * (p_e - v.p_m), off_q, p.w_z * (q_e - v.q_m), miss_d, miss_q),
            p.w_lp * (v_q - v.v_q),
            v.v_q,
            2 * np.pi * p.f_n * (w - 1.0),
        )
        return rates, (), _to_bus(v, p)

    @staticmethod
    def guess(terminal: Any, p: Any) -> dict[str, float]:
        """Return the equilibrium."""
        v_c, i, i_o = _filter_at_rest(terminal, p)
        theta, power = np.angle(v_c), v_c * np.conj(i_o)
        i_dq = i * np.exp(-1j * theta)
        pairs = {
            ("i_cre", "i_cim"): i,
            ("v_cre", "v_cim"): v_c,
            ("i_ore", "i_oim"): i_o,
            ("x_q", "x_p"): i_dq / p.k_io,
            ("x_id", "x_iq"): p.r_f * i_dq / p.k_ic,
        }
        return _parts(pairs) | {
            **{"theta": theta, "v_q": 0.0, "x_pll": 0.0, "p_m": power.real, "q_m": power.imag},
            **{"p_ref": power.real, "q_ref": power.imag},
        }
