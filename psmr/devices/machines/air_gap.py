"""A machine by its windings, both of whose mutual inductances saturate with the flux in the air gap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import NumericMath, Parameter, Terms, nonnegative, positive
from psmr.devices.blocks import machine_frame, machine_to_network
from psmr.devices.machines.psse import (
    D_AXIS,
    PU,
    SubtransientMachine,
    power_conflict,
    rising,
    saturation,
    turning,
)

OWN_Q_AXIS = ("x_q", "x_q1", "x_q2", "t_q01", "t_q02")


class AirGapMachine(SubtransientMachine):
    """Machine with field and damper in d, one or two dampers in q, saturated by the flux in the air gap.

    ::

        2 h omega' = t - (psi_ad i_q - psi_aq i_d) - d (omega - 1),   delta' = 2 pi f_n (omega - 1)
        t_d01 e_q'    = v_f - i_f,   i_f = ((x_d - x_l) e_q - (x_d - x_d1) psi_ad)/(x_d1 - x_l)
        t_d02 psi_1d' = -(x_d1 - x_l)/(x_2 - x_l) (psi_1d - psi_ad)
        t_q01 e_d'    = -((x_q - x_l) e_d + (x_q - x_q1) psi_aq)/(x_q1 - x_l)
        t_q02 psi_2q' = -(x_q1 - x_l)/(x_q2 - x_l) (psi_2q - psi_aq)
        0 = (1/(x_2 - x_l) + S/(x_d - x_l)) psi_ad + i_d - e_q/(x_d1 - x_l)
            - (1/(x_2 - x_l) - 1/(x_d1 - x_l)) psi_1d
        0 = (1/(x_q2 - x_l) + S/(x_q - x_l)) psi_aq + i_q + e_d/(x_q1 - x_l)
            - (1/(x_q2 - x_l) - 1/(x_q1 - x_l)) psi_2q
        0 = c (psi_ad - x_l i_d) - v_q - r_a i_q,   0 = -c (psi_aq - x_l i_q) - v_d - r_a i_d,   c = 1
        S = s_10 psi^n,   psi = sqrt(psi_ad^2 + psi_aq^2),   n = ln(s_12/s_10) / ln 1.2

    e_q and -e_d are the fluxes of the field and of the first damper in q, each times its share of the
    magnetising reactance, so that i_f has the unit in which 1 gives rated voltage on the open, unsaturated
    stator. x_q1 = x_q with t_q01 = 0 leaves the first damper out (salient poles). c = omega with stator =
    "speed" (speed_voltage = 1). Without saturation this is GENROU. Source: the model of RAMSES, as the user
    guide of STEPSS gives it (Synchronous Machine Model), with IBRATIO = x_d - x_l and the classical relations
    between its windings and the record XT; T. Van Cutsem and C. Vournas, Voltage Stability of Electric Power
    Systems (1998), section 3.1.
    """

    role = "machine"
    states = ("delta", "omega", "e_q", "psi_1d", "e_d", "psi_2q")
    algebraic = ("i_d", "i_q", "i_f", "psi_ad", "psi_aq")
    lags = {"e_d": ("t_q01",)}
    together = (("i_d", "i_q", "psi_ad", "psi_aq"),)

    x_2 = Parameter(PU, "subtransient reactance x''d of the d axis", positive)
    x_q1 = Parameter(PU, "transient reactance x'q, x_q for none", positive)
    x_q2 = Parameter(PU, "subtransient reactance x''q of the q axis", positive)
    t_q01 = Parameter("s", "open-circuit transient time constant T'q0, 0 for none", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to windings without leakage of their own, to half a winding, and to an impossible curve."""
        for name in (*D_AXIS[:3], *OWN_Q_AXIS[:3]):
            if p[name] <= p["x_l"]:
                return f"{name} = {p[name]:g}: must be above x_l = {p['x_l']:g}"
        if p["t_q01"] == 0 and p["x_q1"] != p["x_q"]:
            given = f"t_q01 = 0 and x_q1 = {p['x_q1']:g}: without the first damper in q x_q1 must be x_q"
            return f"{given} = {p['x_q']:g}"
        return power_conflict(p)

    @staticmethod
    def unlikely(p: Mapping[str, float]) -> Iterator[str]:
        """Yield the reactances that are in another order than those of windings."""
        return rising(p, D_AXIS, OWN_Q_AXIS[:3] if p["t_q01"] == 0 else OWN_Q_AXIS)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return swing, flux, stator and air-gap equations, and the current into the bus."""
        d, d_1, d_2 = (1 / (x - p.x_l) for x in (p.x_d, p.x_d1, p.x_2))
        q, q_1, q_2 = (1 / (x - p.x_l) for x in (p.x_q, p.x_q1, p.x_q2))
        s = saturation(m, m.sqrt(v.psi_ad**2 + v.psi_aq**2), p)
        speed = 1 + p.speed_voltage * (v.omega - 1)
        v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
        derivatives = (
            *turning(v, p, v.psi_ad * v.i_q - v.psi_aq * v.i_d),
            (v.v_f - v.i_f) / p.t_d01,
            -d_2 / d_1 * (v.psi_1d - v.psi_ad) / p.t_d02,
            -(q_1 / q * v.e_d + (q_1 / q - 1) * v.psi_aq) / p.t_q01,
            -q_2 / q_1 * (v.psi_2q - v.psi_aq) / p.t_q02,
        )
        residuals = (
            speed * (v.psi_ad - p.x_l * v.i_d) - v_q - p.r_a * v.i_q,
            -speed * (v.psi_aq - p.x_l * v.i_q) - v_d - p.r_a * v.i_d,
            d_1 / d * v.e_q - (d_1 / d - 1) * v.psi_ad - v.i_f,
            (d_2 + s * d) * v.psi_ad + v.i_d - d_1 * v.e_q - (d_2 - d_1) * v.psi_1d,
            (q_2 + s * q) * v.psi_aq + v.i_q + q_1 * v.e_d - (q_2 - q_1) * v.psi_2q,
        )
        i_re, i_im = machine_to_network(m, v.i_d, v.i_q, v.delta)
        base = p.s_n / p.s_base
        return derivatives, residuals, (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium itself: the flux in the air gap follows from the terminals."""
        i = terminal.current * p.s_base / p.s_n
        gap = terminal.voltage + (p.r_a + 1j * p.x_l) * i
        s = saturation(NumericMath, np.abs(gap), p)
        delta = np.angle(gap + 1j * (p.x_q - p.x_l) / (1 + s) * i)
        turn = np.exp(-1j * (delta - np.pi / 2))
        (i_d, i_q), (gap_d, gap_q) = ((z.real, z.imag) for z in (i * turn, gap * turn))
        i_f = (1 + s) * gap_q + (p.x_d - p.x_l) * i_d
        return {
            "delta": delta,
            "omega": 1.0,
            "e_q": ((p.x_d1 - p.x_l) * i_f + (p.x_d - p.x_d1) * gap_q) / (p.x_d - p.x_l),
            "psi_1d": gap_q,
            "e_d": (p.x_q - p.x_q1) / (p.x_q - p.x_l) * gap_d,
            "psi_2q": -gap_d,
            "i_d": i_d,
            "i_q": i_q,
            "i_f": i_f,
            "psi_ad": gap_q,
            "psi_aq": -gap_d,
            "v_f": i_f,
            "t_m": gap_q * i_q + gap_d * i_d,
        }
