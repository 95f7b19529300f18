"""The brushless excitation systems with a PID regulator of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    crossed,
    improper,
    nonnegative,
    positive,
    ungained,
)
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import error_at_rest, lag, washout
from psmr.devices.exciters.alternator import (
    Alternator,
    alternator_at_start,
    alternator_current,
    alternator_output,
)
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.compound import (
    NO_LIMIT,
    ExciterSource,
    exciter_source,
    potential_at_start,
    potential_now,
)


class AC8B(Component):
    """Alternator with uncontrolled rectifier and PID regulator, IEEE type AC8B (2005).

    ::

        |v| -> 1/(1 + s t_r) -> v_m      e = v_ref + v_s - v_m
        e -> k_pr + k_ir/s + s k_dr/(1 + s t_dr), limits [v_pid_min, v_pid_max]
        -> k_a/(1 + s t_a), limits [v_r_min, v_r_max] -> v_r
        v_r - v_fe -> 1/(s t_e), at least v_e_min, with v_fe at most v_fe_max -> v_e
        v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      v_f = v_e F_EX(k_c i_f/v_e)

    The limits of the regulator's PID hold for its integral part, without windup, and for its output. v_e_max
    is the v_e at which v_fe would be v_fe_max: it falls as the field current i_f of the machine rises. The
    record ESAC8B has k_c = k_d = 0 and neither limits of the PID nor of v_fe. Source: IEEE Std 421.5-2005,
    type AC8B; PSS/E, Model Library, AC8B and ESAC8B.
    """

    role = "exciter"
    records: ClassVar[tuple[str, ...]] = (
        "ESAC8B t_r k_pr k_ir k_dr t_dr k_a t_a v_r_max v_r_min t_e k_e e_1 se_1 e_2 se_2",
        "AC8B t_r k_pr k_ir k_dr t_dr v_pid_max v_pid_min v_r_max v_r_min v_fe_max v_e_min t_a k_a "
        "t_e k_c k_d k_e e_1 se_1 e_2 se_2",
    )
    states = ("v_m", "x_i", "x_d", "v_r", "v_e")
    algebraic = ("v_f", "v_e_max")
    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "v_s", "i_f", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"x_i": ("v_pid_min", "v_pid_max"), "v_r": ("v_r_min", "v_r_max"), "v_e": ("v_e_min", "v_e_max")}
    lags = {"v_m": ("t_r",), "x_d": ("t_dr",), "v_r": ("t_a",)}
    integrals = {"x_i": "k_ir"}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    k_pr = Parameter("pu", "proportional gain of the regulator", nonnegative)
    k_ir = Parameter("pu/s", "integral gain of the regulator", nonnegative)
    k_dr = Parameter("pu s", "derivative gain of the regulator", nonnegative)
    t_dr = Parameter("s", "time constant of the derivative", nonnegative)
    v_pid_max = Parameter("pu", "upper limit of the PID's output", default=NO_LIMIT)
    v_pid_min = Parameter("pu", "lower limit of the PID's output", default=-NO_LIMIT)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    v_fe_max = Parameter("pu", "upper limit of the exciter's field current", positive, NO_LIMIT)
    v_e_min = Parameter("pu", "lower limit of the exciter's voltage", default=0.0)
    t_a = Parameter("s", "time constant of the amplifier", nonnegative)
    k_a = Parameter("pu", "gain of the amplifier", positive)
    t_e = Parameter("s", "time constant of the exciter", positive)
    k_c = Parameter("pu", "regulation of the rectifier", nonnegative, 0.0)
    k_d = Parameter("pu", "demagnetisation by the field current", nonnegative, 0.0)
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)", positive)
    e_1 = Parameter("pu", "first exciter voltage of the saturation curve", nonnegative)
    se_1 = Parameter("1", "saturation at e_1", nonnegative)
    e_2 = Parameter("pu", "second exciter voltage of the saturation curve", nonnegative)
    se_2 = Parameter("1", "saturation at e_2", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a regulator without a gain, a derivative without its lag, crossed limits, saturation."""
        wrong = ungained(p, ("k_pr", "k_ir")) or improper(p, ("k_dr", "t_dr"))
        return wrong or crossed(p, ("v_pid_min", "v_pid_max")) or Alternator.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, PID, amplifier, exciter; field voltage and limit of v_e."""
        return _equations(m, v, p, alternator_current(m, v.v_e, v.i_f, p), v.v_r)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        return _guess(terminal, p, alternator_at_start(terminal, p)[2])


class AC8C(ExciterSource, AC8B):
    """Alternator with rectifier, and PID regulator with a source of its own, IEEE type AC8C (2016).

    ::

        |v| -> 1/(1 + s t_r) -> v_m      e = v_ref + v_s - v_m
        e -> k_pr + k_ir/s + s k_dr/(1 + s t_dr), limits [v_pid_min, v_pid_max]
        -> k_a/(1 + s t_a), limits [v_r_min, v_r_max] -> v_r
        v_b v_r - v_fe -> 1/(s t_e), at least v_e_min, with v_fe at most v_fe_max -> v_e
        v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      v_f = v_e F_EX(k_c i_f/v_e)
        v_b = min(u F_EX(k_c1 v_fe/u), v_b_max)
        sw_1 = 1: u = |K v + j (k_i + K x_l) i|, K = k_p e^(j theta_p)     sw_1 = 2: u = k_p

    The limits are those of `AC8B`. The gates of limiters are left out: the record's numbers OEL and UEL,
    which place them, change nothing, and neither does VOS, which places the stabiliser before or behind such
    a gate. Source: IEEE Std 421.5-2016, type AC8C; PowerWorld, AC8C; the order of the values is that of a
    record of PSS/E 36 in InterPSS' public test data.
    """

    role = "exciter"
    records = (
        "AC8C -oel -uel -vos sw_1 t_r k_pr k_ir k_dr t_dr v_pid_max v_pid_min k_a t_a v_r_max v_r_min k_c "
        "k_d k_e t_e v_fe_max v_e_min e_1 se_1 e_2 se_2 k_p k_i x_l theta_p_deg k_c1 v_b_max",
    )
    inputs = ExciterSource.inputs

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, PID, amplifier, exciter; field voltage and limit of v_e."""
        v_fe = alternator_current(m, v.v_e, v.i_f, p)
        return _equations(m, v, p, v_fe, exciter_source(m, potential_now(m, v, p), v_fe, p) * v.v_r)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_fe = alternator_at_start(terminal, p)[2]
        supply = exciter_source(NumericMath, potential_at_start(terminal, p), v_fe, p)
        return _guess(terminal, p, v_fe / supply)


def _equations(m: Any, v: Any, p: Any, v_fe: Any, driven: Any) -> tuple[Terms, Terms, Terms]:
    """Return the equations of the exciter whose field current is v_fe and whose field voltage is `driven`."""
    error = v.v_ref + v.v_s - v.v_m
    washed, d_d = washout(error, v.x_d, p.t_dr)
    regulated = m.clip(p.k_pr * error + v.x_i + p.k_dr / p.t_dr * washed, p.v_pid_min, p.v_pid_max)
    derivatives = (
        lag(regulated_voltage(m, v), v.v_m, p.t_r),
        p.k_ir * error,
        d_d,
        lag(p.k_a * regulated, v.v_r, p.t_a),
        (driven - v_fe) / p.t_e,
    )
    return derivatives, alternator_output(m, v, p), ()


def _guess(terminal: Any, p: Any, v_r: Any) -> Mapping[str, Any]:
    """Return the equilibrium for the regulator's output v_r."""
    v_f, v_e, _ = alternator_at_start(terminal, p)
    regulated = v_r / p.k_a
    error = error_at_rest(regulated, p.k_pr, p.k_ir)
    v_m = np.abs(terminal.voltage)
    found = {"v_m": v_m, "x_i": regulated, "x_d": error, "v_r": v_r, "v_e": v_e, "v_f": v_f}
    i_f = terminal.signals.get("i_f", 1.0)
    return found | {"v_e_max": (p.v_fe_max - p.k_d * i_f) / p.k_e, "v_ref": v_m + error}
