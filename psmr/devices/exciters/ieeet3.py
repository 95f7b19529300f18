"""The compound-fed static exciter of 1968 of the standard library, IEEE type 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, Terms, nonnegative, positive
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import lag, remaining, washout
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.compound import Potential, potential_at_start, potential_now


class IEEET3(Potential):
    """Compound-fed static exciter, IEEE type 3 (1968).

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m - feedback -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max] -> v_r
        u = |k_p v + j k_i i|      v_b = sqrt(u^2 - (0.78 i_f)^2), 0 where u < 0.78 i_f
        v_r + v_b -> limits [0, v_b_max] -> 1/(k_e + s t_e) -> v_f      feedback = s k_f/(1 + s t_f) v_f

    i_f is the field current of the machine. Source: IEEE Committee Report, Computer Representation of
    Excitation Systems (1968), type 3; PSS/E, Model Library, IEEET3; for the order of its values OpenIPSL's
    verification script.
    """

    role = "exciter"
    records = ("IEEET3 t_r k_a t_a v_r_max v_r_min t_e k_f t_f k_p k_i v_b_max k_e",)
    states = ("v_m", "v_r", "v_f", "x_f")
    limits = {"v_r": ("v_r_min", "v_r_max")}
    lags = {"v_m": ("t_r",), "v_r": ("t_a",)}

    x_l = Parameter("pu on machine base", "reactance of the potential source", nonnegative, 0.0)
    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    t_e = Parameter("s", "time constant of the exciter", positive)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    v_b_max = Parameter("pu", "upper limit of the exciter's input", positive)
    k_e = Parameter("pu", "constant of the exciter", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, exciter and rate feedback."""
        washed, d_f = washout(v.v_f, v.x_f, p.t_f)
        error = v.v_ref + v.v_s - v.v_m - p.k_f / p.t_f * washed
        driven = m.clip(v.v_r + remaining(m, potential_now(m, v, p), DROP * v.i_f), 0, p.v_b_max)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            lag(p.k_a * error, v.v_r, p.t_a),
            (driven - p.k_e * v.v_f) / p.t_e,
            d_f,
        )
        return derivatives, (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, i_f = terminal.signals.get("v_f", 1.0), terminal.signals.get("i_f", 1.0)
        v_m = np.abs(terminal.voltage)
        v_r = p.k_e * v_f - remaining(NumericMath, potential_at_start(terminal, p), DROP * i_f)
        return {"v_m": v_m, "v_r": v_r, "v_f": v_f, "x_f": v_f, "v_ref": v_m + v_r / p.k_a}


DROP = 0.78
"""Commutating reactance of the rectifier in pu of field current, which the report fixes."""
