"""Synchronous machines as the textbooks have them, and a source that keeps its voltage and angle.

Per unit on the machine's own base `s_n`, angles in rad against a frame that turns at nominal frequency, speed
in per unit, time in s. Source: P. W. Sauer and M. A. Pai, Power System Dynamics and Stability (1998).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.blocks import machine_frame, machine_to_network

S_N = Parameter("MVA", "rating, the base of the machine's per-unit values", positive)
S_BASE = Parameter("MVA", "base of the system's per-unit values, from the case", positive)
F_N = Parameter("Hz", "nominal frequency, from the case", positive)


def swing(m: Any, v: Any, p: Any, t_e: Any) -> tuple[Any, Any]:
    """Return the derivatives of angle and speed (Sauer and Pai 1998, chapter 5, speed in per unit)."""
    return swing_by(v.t_m, v, p, t_e)


def swing_by(torque: Any, v: Any, p: Any, t_e: Any) -> tuple[Any, Any]:
    """Return the derivatives of angle and speed under a mechanical torque."""
    slip = v.omega - 1
    return 2 * np.pi * p.f_n * slip, (torque - t_e - p.d * slip) / (2 * p.h)


class ClassicalMachine(Component):
    """A constant voltage e behind the transient reactance, with the swing equation.

    delta' = 2 pi f_n (omega - 1),  2 h omega' = t_m - t_e - d (omega - 1),  e exp(j delta) = v + (r_a + j
    x_d1) i

    Source: Sauer and Pai (1998), chapter 5; Kundur (1994), chapter 13. The electromagnetic torque is the
    air-gap power.
    """

    role = "machine"
    records = ("GENCLS h d",)
    states = ("delta", "omega")
    inputs = ("v_re", "v_im", "e", "t_m")
    outputs = ("i_re", "i_im")
    units = {"delta": "rad"}

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    h = Parameter("s", "inertia constant on the machine base", positive)
    d = Parameter("pu on machine base", "damping torque per unit of speed", nonnegative)
    r_a = Parameter("pu on machine base", "stator resistance", nonnegative, default=0.0)
    x_d1 = Parameter("pu on machine base", "transient reactance x'd", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the swing equation and the current into the bus."""
        e_re, e_im = v.e * m.cos(v.delta), v.e * m.sin(v.delta)
        d_re, d_im = e_re - v.v_re, e_im - v.v_im
        square = p.r_a**2 + p.x_d1**2
        i_re = (p.r_a * d_re + p.x_d1 * d_im) / square
        i_im = (p.r_a * d_im - p.x_d1 * d_re) / square
        t_e = e_re * i_re + e_im * i_im
        base = p.s_n / p.s_base
        return swing(m, v, p, t_e), (), (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium itself: it has a closed form."""
        i = terminal.current * p.s_base / p.s_n
        e = terminal.voltage + (p.r_a + 1j * p.x_d1) * i
        return {"delta": np.angle(e), "omega": 1.0, "e": np.abs(e), "t_m": (e * np.conj(i)).real}


class TwoAxisMachine(Component):
    """Two-axis synchronous machine, four states; saturation and subtransients are left out.

    delta' = 2 pi f_n (omega - 1)
    2 h omega' = t_m - (e_d i_d + e_q i_q + (x_q1 - x_d1) i_d i_q) - d (omega - 1)
    t_d01 e_q' = -e_q - (x_d - x_d1) i_d + v_f
    t_q01 e_d' = -e_d + (x_q - x_q1) i_q
    0 = e_q - v_q - r_a i_q - x_d1 i_d,   0 = e_d - v_d - r_a i_d + x_q1 i_q

    Source: Sauer and Pai (1998), chapter 6, the multimachine two-axis model. v_f is the field voltage in
    the unit in which 1 gives the rated voltage on the open stator.
    """

    role = "machine"
    states = ("delta", "omega", "e_q", "e_d")
    algebraic = ("i_d", "i_q")
    inputs = ("v_re", "v_im", "v_f", "t_m")
    outputs = ("i_re", "i_im")
    together = (("i_d", "i_q"),)
    units = {"delta": "rad"}

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    h = Parameter("s", "inertia constant on the machine base", positive)
    d = Parameter("pu on machine base", "damping torque per unit of speed", nonnegative)
    r_a = Parameter("pu on machine base", "stator resistance", nonnegative, default=0.0)
    x_d = Parameter("pu on machine base", "synchronous reactance of the d axis", positive)
    x_q = Parameter("pu on machine base", "synchronous reactance of the q axis", positive)
    x_d1 = Parameter("pu on machine base", "transient reactance x'd", positive)
    x_q1 = Parameter("pu on machine base", "transient reactance x'q", positive)
    t_d01 = Parameter("s", "open-circuit transient time constant T'd0", positive)
    t_q01 = Parameter("s", "open-circuit transient time constant T'q0", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return swing and flux equations, the stator's two, and the current into the bus."""
        v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
        t_e = v.e_d * v.i_d + v.e_q * v.i_q + (p.x_q1 - p.x_d1) * v.i_d * v.i_q
        derivatives = (
            *swing(m, v, p, t_e),
            (-v.e_q - (p.x_d - p.x_d1) * v.i_d + v.v_f) / p.t_d01,
            (-v.e_d + (p.x_q - p.x_q1) * v.i_q) / p.t_q01,
        )
        # The row of i_d is the q-axis equation: there x_d1 i_d stands on the diagonal, which r_a may not.
        stator = (v.e_q - v_q - p.r_a * v.i_q - p.x_d1 * v.i_d, v.e_d - v_d - p.r_a * v.i_d + p.x_q1 * v.i_q)
        i_re, i_im = machine_to_network(m, v.i_d, v.i_q, v.delta)
        base = p.s_n / p.s_base
        return derivatives, stator, (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits (Sauer and Pai 1998, chapter 7)."""
        i = terminal.current * p.s_base / p.s_n
        delta = np.angle(terminal.voltage + (p.r_a + 1j * p.x_q) * i)
        v_dq, i_dq = (z * np.exp(-1j * (delta - np.pi / 2)) for z in (terminal.voltage, i))
        i_d, i_q = i_dq.real, i_dq.imag
        e_q = v_dq.imag + p.r_a * i_q + p.x_d1 * i_d
        e_d = (p.x_q - p.x_q1) * i_q
        return {
            "delta": delta,
            "omega": 1.0,
            "e_q": e_q,
            "e_d": e_d,
            "i_d": i_d,
            "i_q": i_q,
            "v_f": e_q + (p.x_d - p.x_d1) * i_d,
            "t_m": e_d * i_d + e_q * i_q + (p.x_q1 - p.x_d1) * i_d * i_q,
        }


class InfiniteBus(Component):
    """An ideal voltage behind an impedance: e exp(j delta) = v + (r_a + j x_d1) i, with e and delta held.

    It has no states and gives any power at nominal frequency. In PSS/E files it is a GENCLS with H = 0.
    Source: Kundur (1994), section 12.2.
    """

    role = "machine"
    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "e", "delta")
    outputs = ("i_re", "i_im")
    units = {"delta": "rad"}

    s_n = S_N
    s_base = S_BASE
    r_a = Parameter("pu on machine base", "resistance", nonnegative, default=0.0)
    x_d1 = Parameter("pu on machine base", "reactance", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus."""
        i_re, i_im = behind_impedance(m, v, p)
        base = p.s_n / p.s_base
        return (), (), (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the source itself: it has a closed form."""
        i = terminal.current * p.s_base / p.s_n
        e = terminal.voltage + (p.r_a + 1j * p.x_d1) * i
        return {"delta": np.angle(e), "e": np.abs(e)}


def behind_impedance(m: Any, v: Any, p: Any) -> tuple[Any, Any]:
    """Return (i_re, i_im) of the voltage e exp(j delta) behind r_a + j x_d1, per unit on the machine base."""
    d_re, d_im = v.e * m.cos(v.delta) - v.v_re, v.e * m.sin(v.delta) - v.v_im
    square = p.r_a**2 + p.x_d1**2
    return (p.r_a * d_re + p.x_d1 * d_im) / square, (p.r_a * d_im - p.x_d1 * d_re) / square
