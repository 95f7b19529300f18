"""The static excitation system with two PI regulators of the standard library, IEEE type ST8C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, nonnegative, positive, ungained
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import error_at_rest, lag, rectified
from psmr.devices.exciters.compensator import regulated_voltage


class ST8C(Component):
    """Static excitation system, IEEE type ST8C, whose source is independent of the bus.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      e = v_ref + v_s - v_m
        e -> k_pr + k_ir/s, limits [v_pi_min, v_pi_max] -> i_ref
        i_ref - k_f/(1 + s t_f) i_f -> k_pa + k_ia/s, limits [v_a_min, v_a_max]
        -> k_a/(1 + s t_a), limits [v_r_min, v_r_max] -> v_r
        v_f = v_b v_r      v_b = min(k_p F_EX(k_c1 i_f/k_p), v_b1_max)

    i_f is the field current of the machine. The limits of a PI regulator hold for its integral part, without
    windup, and for its output. The switch SW1 has to be 0 (a source of its own, k_p), and the compounding
    from the machine's current has to be off (K_I2 = 0). The gates of limiters are left out: the record's
    numbers OEL, UEL and SCL, which place them, change nothing. Source: IEEE Std 421.5-2016, type ST8C; PSS/E,
    Model Library, ST8C.
    """

    role = "exciter"
    records = (
        "ST8C -oel -uel -scl sw1=0 t_r k_pr k_ir v_pi_max v_pi_min k_pa k_ia v_a_max v_a_min k_a t_a v_r_max "
        "v_r_min k_f t_f k_c1 k_p -k_i1 -x_l -theta_p v_b1_max -k_c2 k_i2=0 -v_b2_max",
    )
    states = ("v_m", "x_r", "x_a", "v_r", "i_m")
    algebraic = ("v_f",)
    inputs = ("v_re", "v_im", "v_s", "i_f", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"x_r": ("v_pi_min", "v_pi_max"), "x_a": ("v_a_min", "v_a_max"), "v_r": ("v_r_min", "v_r_max")}
    lags = {"v_m": ("t_r",), "v_r": ("t_a",), "i_m": ("t_f",)}
    integrals = {"x_r": "k_ir", "x_a": "k_ia"}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    k_pr = Parameter("pu", "proportional gain of the voltage regulator", nonnegative)
    k_ir = Parameter("pu/s", "integral gain of the voltage regulator", nonnegative)
    v_pi_max = Parameter("pu", "upper limit of the voltage regulator")
    v_pi_min = Parameter("pu", "lower limit of the voltage regulator")
    k_pa = Parameter("pu", "proportional gain of the current regulator", nonnegative)
    k_ia = Parameter("pu/s", "integral gain of the current regulator", nonnegative)
    v_a_max = Parameter("pu", "upper limit of the current regulator")
    v_a_min = Parameter("pu", "lower limit of the current regulator")
    k_a = Parameter("pu", "gain of the bridge", positive)
    t_a = Parameter("s", "time constant of the bridge", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the bridge")
    v_r_min = Parameter("pu", "lower limit of the bridge")
    k_f = Parameter("pu", "gain of the measured field current", nonnegative)
    t_f = Parameter("s", "time constant of the measured field current", nonnegative)
    k_c1 = Parameter("pu", "regulation of the rectifier", nonnegative)
    k_p = Parameter("pu", "voltage of the source", positive)
    v_b1_max = Parameter("pu", "upper limit of the source's voltage", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to regulators without any gain and to crossed limits."""
        limits = (("v_pi_min", "v_pi_max"), ("v_a_min", "v_a_max"), ("v_r_min", "v_r_max"))
        return ungained(p, ("k_pr", "k_ir"), ("k_pa", "k_ia")) or crossed(p, *limits)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulators, bridge and measured current; field voltage."""
        error = v.v_ref + v.v_s - v.v_m
        asked = m.clip(p.k_pr * error + v.x_r, p.v_pi_min, p.v_pi_max)
        inner = asked - v.i_m
        regulated = m.clip(p.k_pa * inner + v.x_a, p.v_a_min, p.v_a_max)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            p.k_ir * error,
            p.k_ia * inner,
            lag(p.k_a * regulated, v.v_r, p.t_a),
            lag(p.k_f * v.i_f, v.i_m, p.t_f),
        )
        return derivatives, (_source(m, v.i_f, p) * v.v_r - v.v_f,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, i_f = terminal.signals.get("v_f", 1.0), terminal.signals.get("i_f", 1.0)
        v_r = v_f / _source(NumericMath, i_f, p)
        x_a, i_m = v_r / p.k_a, p.k_f * i_f
        asked = i_m + error_at_rest(x_a, p.k_pa, p.k_ia)
        v_m = np.abs(terminal.voltage)
        found = {"v_m": v_m, "x_r": asked, "x_a": x_a, "v_r": v_r, "i_m": i_m, "v_f": v_f}
        return found | {"v_ref": v_m + error_at_rest(asked, p.k_pr, p.k_ir)}


def _source(m: Any, i_f: Any, p: Any) -> Any:
    """Return the voltage of the source behind its rectifier."""
    return m.min(rectified(m, p.k_p, p.k_c1 * i_f), p.v_b1_max)
