"""Static excitation systems of the standard library: ESST1A with its current limiter, SCRX.

The bus-fed static excitation system for machines that give no field current.

The bus-fed static excitation system of the standard library.

The simplified excitation system of the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    crossed,
    flag,
    improper,
    nonnegative,
    positive,
    whole,
)
from psmr.devices.blocks import lag, lead_lag, washout
from psmr.devices.exciters.compensator import regulated_voltage


class ESST1A(Component):
    """Bus-fed static excitation system, IEEE type ST1A (1992), with its limiter of the field current.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s1 - v_m - feedback -> limits [v_i_min, v_i_max]
        -> (1 + s t_c)/(1 + s t_b) -> (1 + s t_c1)/(1 + s t_b1) -> k_a/(1 + s t_a),
        limits [v_a_min, v_a_max] -> v_a      v_a + v_s2 - max(k_lr (i_f - i_lr), 0) -> v_l
        v_l -> limits [|v| v_r_min, |v| v_r_max - k_c i_f] -> v_f      feedback = s k_f/(1 + s t_f) v_l

    The stabiliser's signal v_s is v_s1 with vos = 1, at the error, and v_s2 with vos = 2, behind the
    regulator. i_f is the field current of the machine. The gates of over- and underexcitation limiters are
    left out: the record's number UEL, which places one, changes nothing. Source: IEEE Std 421.5-2005, type
    ST1A; PSS/E, Model Library, ESST1A.
    """

    role = "exciter"
    records = (
        "ESST1A -uel vos t_r v_i_max v_i_min t_c t_b t_c1 t_b1 k_a t_a v_a_max v_a_min v_r_max "
        "v_r_min k_c k_f t_f k_lr i_lr",
    )
    states = ("v_m", "x_l", "x_l1", "v_a", "x_f")
    algebraic = ("v_f",)
    inputs = ("v_re", "v_im", "v_s", "i_f", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"v_a": ("v_a_min", "v_a_max")}
    lags = {"v_m": ("t_r",), "x_l": ("t_b",), "x_l1": ("t_b1",), "v_a": ("t_a",)}

    vos = Parameter("code", "stabiliser at the error (1) or behind the regulator (2)", whole(1, 2), 1.0)
    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    v_i_max = Parameter("pu", "upper limit of the voltage error", positive)
    v_i_min = Parameter("pu", "lower limit of the voltage error")
    t_c = Parameter("s", "first lead time constant", nonnegative)
    t_b = Parameter("s", "first lag time constant", nonnegative)
    t_c1 = Parameter("s", "second lead time constant", nonnegative)
    t_b1 = Parameter("s", "second lag time constant", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    v_r_max = Parameter("pu", "upper limit of the field voltage at rated bus voltage")
    v_r_min = Parameter("pu", "lower limit of the field voltage at rated bus voltage")
    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    k_lr = Parameter("pu", "gain of the limiter of the field current", nonnegative)
    i_lr = Parameter("pu", "field current at which its limiter begins")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags and to crossed limits."""
        limits = (("v_i_min", "v_i_max"), ("v_r_min", "v_r_max"))
        return crossed(p, *limits) or improper(p, ("t_c", "t_b"), ("t_c1", "t_b1"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lags, regulator and feedback, and the field voltage."""
        magnitude = m.sqrt(v.v_re**2 + v.v_im**2)
        behind = m.ge(p.vos, 2)
        summed = v.v_a + m.where(behind, v.v_s, 0) - m.max(p.k_lr * (v.i_f - p.i_lr), 0)
        washed, d_f = washout(summed, v.x_f, p.t_f)
        error = v.v_ref + m.where(behind, 0, v.v_s) - v.v_m - p.k_f / p.t_f * washed
        first, d_l = lead_lag(m.clip(error, p.v_i_min, p.v_i_max), v.x_l, p.t_c, p.t_b)
        second, d_l1 = lead_lag(first, v.x_l1, p.t_c1, p.t_b1)
        limited = m.clip(summed, magnitude * p.v_r_min, magnitude * p.v_r_max - p.k_c * v.i_f)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            d_l,
            d_l1,
            lag(p.k_a * second, v.v_a, p.t_a),
            d_f,
        )
        return derivatives, (limited - v.v_f,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, i_f = terminal.signals.get("v_f", 1.0), terminal.signals.get("i_f", 1.0)
        v_m, v_a = np.abs(terminal.voltage), v_f + np.maximum(p.k_lr * (i_f - p.i_lr), 0.0)
        signals = {"v_a": v_a, "x_f": v_f, "v_f": v_f, "x_l": v_a / p.k_a, "x_l1": v_a / p.k_a}
        return signals | {"v_m": v_m, "v_ref": v_m + v_a / p.k_a}


def through_bridge(m: Any, v: Any, p: Any, output: Any) -> Any:
    """Return the field voltage behind a bridge that is fed with a regulator's output: that of `SCRX`."""
    magnitude = m.sqrt(v.v_re**2 + v.v_im**2)
    fed = m.where(m.ge(p.c_switch, 1), 1, magnitude) * output
    crowbar = m.where(m.le(p.rc_rfd, 0), fed, -p.rc_rfd * v.i_f)
    return m.where(m.ge(v.i_f, 0), fed, crowbar)


class SCRX(Component):
    """Static exciter fed from the bus or from a battery: `SEXS` with the source's voltage and a diode bridge.

    ::

        v_ref + v_s - |v| -> (1 + s t_a)/(1 + s t_b) -> k/(1 + s t_e), limits [e_min, e_max] -> v_a
        v_f = |v| v_a with c_switch = 0, v_a with c_switch = 1; -rc_rfd i_f while i_f < 0 and rc_rfd > 0

    The bridge carries no negative current: the field then discharges through a crowbar, whose resistance is
    rc_rfd times that of the field. With rc_rfd = 0 the bridge carries both: so PowerSimulationsDynamics.jl,
    whose traces are PSS/E's; OpenIPSL takes rc_rfd = 0 as a short circuit of the field. The standard gives
    t_a/t_b in the place of t_a. Source: PSS/E, Model Library, SCRX.
    """

    role = "exciter"
    records = ("SCRX ta_tb t_b k t_e e_min e_max c_switch rc_rfd",)
    states = ("x_l", "v_a")
    algebraic = ("v_f",)
    inputs = ("v_re", "v_im", "v_s", "i_f", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"v_a": ("e_min", "e_max")}
    lags = {"x_l": ("t_b",), "v_a": ("t_e",)}

    t_a = Parameter("s", "lead time constant", nonnegative)
    t_b = Parameter("s", "lag time constant", nonnegative)
    k = Parameter("pu", "gain", positive)
    t_e = Parameter("s", "time constant of the exciter", nonnegative)
    e_min = Parameter("pu", "lower limit of the exciter's output")
    e_max = Parameter("pu", "upper limit of the exciter's output")
    c_switch = Parameter("1", "0 fed from the bus, 1 from a constant source", flag)
    rc_rfd = Parameter("1", "crowbar by field resistance, 0 for a bridge of both currents", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag."""
        return improper(p, ("t_a", "t_b"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of lead-lag and exciter, and the field voltage."""
        led, d_l = lead_lag(v.v_ref + v.v_s - regulated_voltage(m, v), v.x_l, p.t_a, p.t_b)
        return (d_l, lag(p.k * led, v.v_a, p.t_e)), (through_bridge(m, v, p, v.v_a) - v.v_f,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_m = terminal.signals.get("v_f", 1.0), np.abs(terminal.voltage)
        v_a = v_f / np.where(p.c_switch > 0, 1.0, v_m)
        return {"x_l": v_a / p.k, "v_a": v_a, "v_f": v_f, "v_ref": v_m + v_a / p.k}


class StaticExciter(Component):
    """Bus-fed static excitation system: EXST1 without the regulation of the rectifier (k_c = 0).

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m - feedback -> limits [v_i_min, v_i_max]
        -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a) -> v_a -> limits [|v| v_r_min, |v| v_r_max] -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    It reads no field current, which the two-axis machine does not give; EXST1 needs one. Source: IEEE
    Committee Report, Excitation System Models for Power System Stability Studies (1981), type ST1.
    """

    role = "exciter"
    states = ("v_m", "x_l", "v_a", "x_f")
    algebraic = ("v_f",)
    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "v_s", "v_ref")
    optional = {"v_s": 0.0}
    lags = {"v_m": ("t_r",), "x_l": ("t_b",), "v_a": ("t_a",)}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    v_i_max = Parameter("pu", "upper limit of the voltage error", positive)
    v_i_min = Parameter("pu", "lower limit of the voltage error")
    t_c = Parameter("s", "lead time constant", nonnegative)
    t_b = Parameter("s", "lag time constant", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the field voltage at rated bus voltage")
    v_r_min = Parameter("pu", "lower limit of the field voltage at rated bus voltage")
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag and to crossed limits."""
        limits = (("v_i_min", "v_i_max"), ("v_r_min", "v_r_max"))
        return crossed(p, *limits) or improper(p, ("t_c", "t_b"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag, regulator and feedback, and the field voltage."""
        return bus_fed(m, v, p, 0, v.v_f)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f = terminal.signals.get("v_f", 1.0)
        v_m = np.abs(terminal.voltage)
        signals = {"v_a": v_f, "x_f": v_f, "v_f": v_f}
        return signals | {"v_m": v_m, "x_l": v_f / p.k_a, "v_ref": v_m + v_f / p.k_a}


def bus_fed(m: Any, v: Any, p: Any, drop: Any, fed_back: Any) -> tuple[Terms, Terms, Terms]:
    """Return the equations of a bus-fed exciter with rate feedback of `fed_back`.

    `drop` is what the rectifier takes off the ceiling.
    """
    magnitude = m.sqrt(v.v_re**2 + v.v_im**2)
    washed, d_f = washout(fed_back, v.x_f, p.t_f)
    error = m.clip(v.v_ref + v.v_s - v.v_m - p.k_f / p.t_f * washed, p.v_i_min, p.v_i_max)
    led, d_l = lead_lag(error, v.x_l, p.t_c, p.t_b)
    limited = m.clip(v.v_a, magnitude * p.v_r_min - drop, magnitude * p.v_r_max - drop)
    return (
        (lag(regulated_voltage(m, v), v.v_m, p.t_r), d_l, lag(p.k_a * led, v.v_a, p.t_a), d_f),
        (limited - v.v_f,),
        (),
    )


class EXST1(StaticExciter):
    """Bus-fed static excitation system, IEEE type ST1 (1981), with the rectifier's limits on v_f.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m - feedback -> limits [v_i_min, v_i_max]
        -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a) -> v_a
        v_a -> limits [|v| v_r_min - k_c i_f, |v| v_r_max - k_c i_f] -> v_f
        feedback = s k_f/(1 + s t_f) v_a

    i_f is the field current of the machine. The feedback is of the regulator's output before the rectifier's
    limits, as a trace of PSS/E through a fault has it (docs/benchmarks/psse.md). Source: IEEE Committee
    Report, Excitation System Models for Power System Stability Studies (1981), type ST1; PSS/E, Model
    Library, EXST1.
    """

    role = "exciter"
    records = ("EXST1 t_r v_i_max v_i_min t_c t_b k_a t_a v_r_max v_r_min k_c k_f t_f",)
    inputs = ("v_re", "v_im", "v_s", "i_f", "v_ref")

    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag, regulator and feedback, and the field voltage."""
        return bus_fed(m, v, p, p.k_c * v.i_f, v.v_a)


class SEXS(Component):
    """Simplified excitation system: a lead-lag and a gain with one lag, non-windup limits on v_f.

    ::

        v_ref + v_s - |v| -> (1 + s t_a)/(1 + s t_b) -> k/(1 + s t_e), limits [e_min, e_max] -> v_f

    The standard gives t_a/t_b in the place of t_a. Source: PSS/E, Model Library, SEXS.
    """

    role = "exciter"
    records = ("SEXS ta_tb t_b k t_e e_min e_max",)
    states = ("x_l", "v_f")
    inputs = ("v_re", "v_im", "v_s", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"v_f": ("e_min", "e_max")}
    lags = {"x_l": ("t_b",), "v_f": ("t_e",)}

    t_a = Parameter("s", "lead time constant", nonnegative)
    t_b = Parameter("s", "lag time constant", nonnegative)
    k = Parameter("pu", "gain", positive)
    t_e = Parameter("s", "time constant of the exciter", nonnegative)
    e_min = Parameter("pu", "lower limit of the field voltage")
    e_max = Parameter("pu", "upper limit of the field voltage")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag."""
        return improper(p, ("t_a", "t_b"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of lead-lag and exciter."""
        error = v.v_ref + v.v_s - regulated_voltage(m, v)
        led, d_l = lead_lag(error, v.x_l, p.t_a, p.t_b)
        return (d_l, lag(p.k * led, v.v_f, p.t_e)), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f = terminal.signals.get("v_f", 1.0)
        return {"x_l": v_f / p.k, "v_f": v_f, "v_ref": np.abs(terminal.voltage) + v_f / p.k}
