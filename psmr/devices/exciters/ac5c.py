"""The simplified brushless excitation system of the standard library with its alternator, IEEE type AC5C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag, washout
from psmr.devices.exciters.alternator import (
    Alternator,
    alternator_at_start,
    alternator_current,
    alternator_output,
)
from psmr.devices.exciters.compensator import regulated_voltage


class AC5C(Alternator):
    """Brushless excitation system, IEEE type AC5C (2016): `ESAC5A` with an alternator and its rectifier.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> k_a/(1 + s t_a), limits [v_r_min, v_r_max] -> v_r
        v_r -> s k_f/(1 + s t_f) (1 + s t_f3)/(1 + s t_f2) -> feedback
        v_r - v_fe -> 1/(s t_e), at least v_e_min, with v_fe at most v_fe_max -> v_e
        v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      v_f = v_e F_EX(k_c i_f/v_e)

    The gates of limiters are left out: OEL and UEL, the record's first two numbers, which place them, change
    nothing. Source: IEEE Std 421.5-2016, type AC5C; PowerWorld, AC5C; the place of the feedback and the order
    of the values are those of InterPSS, which has a record of PSS/E 36 in its public test data.
    """

    role = "exciter"
    records = (
        "AC5C -oel -uel t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f t_f2 t_f3 e_1 se_1 e_2 se_2 k_c k_d "
        "v_fe_max v_e_min",
    )
    states = ("v_m", "v_r", "v_e", "x_f", "x_f2")
    algebraic = ("v_f", "v_e_max")
    limits = {"v_r": ("v_r_min", "v_r_max"), "v_e": ("v_e_min", "v_e_max")}
    lags = {"v_m": ("t_r",), "v_r": ("t_a",), "x_f2": ("t_f2",)}

    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)", positive)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    t_f2 = Parameter("s", "second lag time constant of the feedback", nonnegative)
    t_f3 = Parameter("s", "lead time constant of the feedback", nonnegative)
    v_fe_max = Parameter("pu", "upper limit of the exciter's field current", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag, to crossed limits and to an impossible saturation curve."""
        return improper(p, ("t_f3", "t_f2")) or crossed(p, ("v_r_min", "v_r_max")) or Alternator.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, exciter, feedback; field voltage, limit of v_e."""
        washed, d_f = washout(v.v_r, v.x_f, p.t_f)
        feedback, d_f2 = lead_lag(p.k_f / p.t_f * washed, v.x_f2, p.t_f3, p.t_f2)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            lag(p.k_a * (v.v_ref + v.v_s - v.v_m - feedback), v.v_r, p.t_a),
            (v.v_r - alternator_current(m, v.v_e, v.i_f, p)) / p.t_e,
            d_f,
            d_f2,
        )
        return derivatives, alternator_output(m, v, p), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_e, v_fe = alternator_at_start(terminal, p)
        v_m, i_f = np.abs(terminal.voltage), terminal.signals.get("i_f", 1.0)
        found = {"v_m": v_m, "v_r": v_fe, "v_e": v_e, "x_f": v_fe, "v_f": v_f}
        return found | {"v_e_max": (p.v_fe_max - p.k_d * i_f) / p.k_e, "v_ref": v_m + v_fe / p.k_a}
