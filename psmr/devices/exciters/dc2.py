"""The excitation systems with a rotating exciter whose regulator is fed from the machine's own terminals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms
from psmr.devices.exciters.compound import NO_LIMIT
from psmr.devices.exciters.dc import IEEEX1


class EXDC2(IEEEX1):
    """IEEE type DC2 excitation system (1981): as `IEEEX1`, with a regulator fed from the terminals.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [|v| v_r_min, |v| v_r_max] -> v_r      v_r -> 1/(k_e + S_E(v_f) + s t_e) -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    v_r_low and v_r_high are the limits as they move with the voltage. Source: IEEE Committee Report,
    Excitation System Models for Power System Stability Studies (1981), type DC2; PSS/E, Model Library, EXDC2.
    """

    role = "exciter"
    records = ("EXDC2 t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",)
    algebraic = ("v_r_low", "v_r_high")
    limits = {"v_r": ("v_r_low", "v_r_high")}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of `IEEEX1`, and the regulator's limits."""
        derivatives, _, _ = IEEEX1.equations(m, v, p)
        magnitude = m.sqrt(v.v_re**2 + v.v_im**2)
        return derivatives, (magnitude * p.v_r_min - v.v_r_low, magnitude * p.v_r_max - v.v_r_high), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        magnitude = np.abs(terminal.voltage)
        limits = {"v_r_low": magnitude * p.v_r_min, "v_r_high": magnitude * p.v_r_max}
        return {**IEEEX1.guess(terminal, p), **limits}


class ESDC2A(EXDC2):
    """IEEE type DC2A excitation system (1992), without underexcitation limiter: the equations of `EXDC2`.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [|v| v_r_min, |v| v_r_max] -> v_r      v_r -> 1/(k_e + S_E(v_f) + s t_e) -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    Source: IEEE Std 421.5-1992, type DC2A; PSS/E, Model Library, ESDC2A.
    """

    role = "exciter"
    records = ("ESDC2A t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",)


class DC2C(EXDC2):
    """IEEE type DC2C excitation system (2016), without its limiters' gates: `EXDC2` with limits of v_f.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [|v| v_r_min, |v| v_r_max] -> v_r
        v_r -> 1/(k_e + S_E(v_f) + s t_e), limits [v_f_min, v_f_max] -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    OEL and UEL, the record's first two numbers, which place the gates, change nothing. Source: IEEE Std
    421.5-2016, type DC2C; the order of the values is that of PowerWorld and of a record of PSS/E 36 in
    InterPSS' public test data.
    """

    role = "exciter"
    records = (
        "DC2C -oel -uel t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f e_1 se_1 e_2 se_2 "
        "v_f_max v_f_min",
    )
    limits = {"v_r": ("v_r_low", "v_r_high"), "v_f": ("v_f_min", "v_f_max")}

    v_f_min = Parameter("pu", "lower limit of the field voltage", default=0.0)
    v_f_max = Parameter("pu", "upper limit of the field voltage", default=NO_LIMIT)
