"""A machine with stator fluxes and its voltage regulator, of PowerSimulationsDynamics.jl, test 25.

Sources: that project's documentation (BSD-3-Clause), pages on machines and voltage regulators; F. Milano,
Power System Modelling and Scripting (2010), chapter 15, whose Marconato's model is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psmr import Component, Parameter

PU = "pu on the machine's base"


class Marconato(Component):
    """Two emf in each axis and the fluxes of the stator; T_AA = 0 and no stator resistance."""

    role = "machine"
    states = ("delta", "omega", "e_q1", "e_d1", "e_q2", "e_d2", "psi_d", "psi_q")
    inputs = ("v_re", "v_im", "v_f", "t_m")
    outputs = ("i_re", "i_im")
    units = {"delta": "rad"}

    s_n = Parameter("MVA", "rating")
    s_base = Parameter("MVA", "base of the system")
    f_n = Parameter("Hz", "nominal frequency")
    h = Parameter("s", "inertia constant", default=3.01)
    x_d = Parameter(PU, "x_d", default=1.3125)
    x_q = Parameter(PU, "x_q", default=1.2578)
    x_d1 = Parameter(PU, "x'_d", default=0.1813)
    x_q1 = Parameter(PU, "x'_q", default=0.25)
    x_d2 = Parameter(PU, "x''_d", default=0.14)
    x_q2 = Parameter(PU, "x''_q", default=0.18)
    t_d01 = Parameter("s", "T'_d0", default=5.89)
    t_q01 = Parameter("s", "T'_q0", default=0.6)
    t_d02 = Parameter("s", "T''_d0", default=0.5)
    t_q02 = Parameter("s", "T''_q0", default=0.023)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
        """Return the derivatives and the current into the bus."""
        w_n = 2 * np.pi * p.f_n
        s, c = m.sin(v.delta), m.cos(v.delta)
        v_d, v_q = v.v_re * s - v.v_im * c, v.v_re * c + v.v_im * s
        i_d, i_q = (v.e_q2 - v.psi_d) / p.x_d2, (-v.e_d2 - v.psi_q) / p.x_q2
        d, q = _between(p)
        torque = v.psi_d * i_q - v.psi_q * i_d
        rates = (
            w_n * (v.omega - 1),
            (v.t_m - torque) / (2 * p.h),
            (-v.e_q1 - (p.x_d - p.x_d1 - d) * i_d + v.v_f) / p.t_d01,
            (-v.e_d1 + (p.x_q - p.x_q1 - q) * i_q) / p.t_q01,
            (-v.e_q2 + v.e_q1 - (p.x_d1 - p.x_d2 + d) * i_d) / p.t_d02,
            (-v.e_d2 + v.e_d1 + (p.x_q1 - p.x_q2 + q) * i_q) / p.t_q02,
            w_n * (v.omega * v.psi_q + v_d),
            w_n * (-v.omega * v.psi_d + v_q),
        )
        base = p.s_n / p.s_base
        return rates, (), (base * (i_d * s + i_q * c), base * (i_q * s - i_d * c))

    @staticmethod
    def guess(terminal: Any, p: Any) -> dict[str, float]:
        """Return the equilibrium."""
        i = terminal.current * p.s_base / p.s_n
        delta = np.angle(terminal.voltage + 1j * p.x_q * i)
        v_dq, i_dq = (z * np.exp(-1j * (delta - np.pi / 2)) for z in (terminal.voltage, i))
        (i_d, i_q), (d, q) = (i_dq.real, i_dq.imag), _between(p)
        psi_d, psi_q = v_dq.imag, -v_dq.real
        e_q2, e_d2 = psi_d + p.x_d2 * i_d, -psi_q - p.x_q2 * i_q
        e_q1, e_d1 = e_q2 + (p.x_d1 - p.x_d2 + d) * i_d, (p.x_q - p.x_q1 - q) * i_q
        return {
            **{"delta": delta, "omega": 1.0, "e_q1": e_q1, "e_d1": e_d1, "e_q2": e_q2, "e_d2": e_d2},
            **{"psi_d": psi_d, "psi_q": psi_q, "v_f": e_q1 + (p.x_d - p.x_d1 - d) * i_d},
            "t_m": psi_d * i_q - psi_q * i_d,
        }


def _between(p: Any) -> tuple[Any, Any]:
    """Return Marconato's gamma_d and gamma_q."""
    return (
        p.t_d02 * p.x_d2 / (p.t_d01 * p.x_d1) * (p.x_d - p.x_d1),
        p.t_q02 * p.x_q2 / (p.t_q01 * p.x_q1) * (p.x_q - p.x_q1),
    )


class IntegralExciter(Component):
    """The field voltage is the integral of what the terminal voltage lacks."""

    role = "exciter"
    states = ("v_f",)
    inputs = ("v_re", "v_im", "v_ref")

    k_v = Parameter("1/s", "gain", default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
        """Return the derivative of the field voltage."""
        return (p.k_v * (v.v_ref - m.sqrt(v.v_re**2 + v.v_im**2)),), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> dict[str, float]:
        """Return the equilibrium for the field voltage that the machine needs."""
        return {"v_f": terminal.signals.get("v_f", 1.0), "v_ref": abs(terminal.voltage)}
