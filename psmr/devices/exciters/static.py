"""Static excitation systems: ESST1A and its kin, those with a bridge, and ST5B to ST8C of IEEE 421.5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.base.errors import InputError
from psmr.dae.declare.component import Parameter, flag, nonnegative, positive, ungained, whole
from psmr.devices.blocks import error_at_rest, rectified
from psmr.devices.exciters.direct_current import moving_limits
from psmr.devices.exciters.exciter import (
    WITH_FIELD_CURRENT,
    Exciter,
    Regulator,
    measured,
    place_of,
    regulated_voltage,
)


class ESST1A(Exciter):
    """Bus-fed static excitation system, IEEE type ST1A (1992), with its limiter of the field current.

    The stabiliser's signal v_s is v_s1 with vos = 1, at the error, and v_s2 with vos = 2, behind the
    regulator. i_f is the field current of the machine. Gates of limiters are behind the limits of the error
    (code 2 of oel, uel, the record's first number) and behind the regulator (3). Source: IEEE Std 421.5-2005,
    type ST1A; PSS/E, Model Library, ESST1A.
    """

    records = (
        "ESST1A uel vos t_r v_i_max v_i_min t_c t_b t_c1 t_b1 k_a t_a v_a_max v_a_min v_r_max "
        "v_r_min k_c k_f t_f k_lr i_lr",
    )
    states = ("v_m", "x_l", "x_l1", "v_a", "x_f")
    inputs = WITH_FIELD_CURRENT

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
    oel, uel = place_of("OEL", 2, 3.0), place_of("UEL", 2)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect limiters, feedback, transducer, lead-lags and regulator."""
        behind, magnitude = b.ge(p.vos, 2), b.magnitude(v.v_re, v.v_im)
        less = b.max(p.k_lr * (v.i_f - p.i_lr), 0)
        v_s2 = b.named("v_s2", b.where(behind, v.v_s, 0), "v_s with vos = 2")
        v_l = b.named("v_l", b.gated(v.v_a + v_s2 - less, 3))
        v_s1 = b.named("v_s1", b.where(behind, 0, v.v_s), "v_s with vos = 1")
        error = v.v_ref + v_s1 - measured(b, v) - b.rate("x_f", v_l, "k_f", "t_f")
        led = b.lead_lag("x_l", b.gated(b.limit(error, "v_i_min", "v_i_max")), "t_c", "t_b")
        b.lag("v_a", p.k_a * b.lead_lag("x_l1", led, "t_c1", "t_b1"), "t_a", ("v_a_min", "v_a_max"))
        b.output("v_f", b.clip(v_l, magnitude * p.v_r_min, magnitude * p.v_r_max - p.k_c * v.i_f))
        b.ordered("v_r_min", "v_r_max")


def through_bridge(b: Any, v: Any, p: Any, output: Any, name: str) -> None:
    """Connect a regulator, whose output has a name, to the field by a bridge: that of `SCRX`."""
    fed = b.where(b.ge(p.c_switch, 1), 1, b.magnitude(v.v_re, v.v_im)) * output
    crowbar = b.where(b.le(p.rc_rfd, 0), fed, -p.rc_rfd * v.i_f)
    sources = f"|v| {name} with c_switch = 0, {name} with c_switch = 1"
    words = f"{sources}; -rc_rfd i_f while i_f < 0 and rc_rfd > 0"
    b.output("v_f", b.where(b.ge(v.i_f, 0), fed, crowbar), words)


class SCRX(Exciter):
    """Static exciter fed from the bus or from a battery: `SEXS` with the source's voltage and a diode bridge.

    The bridge carries no negative current: the field then discharges through a crowbar, whose resistance is
    rc_rfd times that of the field. With rc_rfd = 0 the bridge carries both: so PowerSimulationsDynamics.jl,
    whose traces are PSS/E's; OpenIPSL takes rc_rfd = 0 as a short circuit of the field. The standard gives
    t_a/t_b in the place of t_a. Source: PSS/E, Model Library, SCRX.
    """

    records = ("SCRX ta_tb t_b k t_e e_min e_max c_switch rc_rfd",)
    inputs = WITH_FIELD_CURRENT

    t_a = Parameter("s", "lead time constant", nonnegative)
    t_b = Parameter("s", "lag time constant", nonnegative)
    k = Parameter("pu", "gain", positive)
    t_e = Parameter("s", "time constant of the exciter", nonnegative)
    e_min = Parameter("pu", "lower limit of the exciter's output")
    e_max = Parameter("pu", "upper limit of the exciter's output")
    c_switch = Parameter("1", "0 fed from the bus, 1 from a constant source", flag)
    rc_rfd = Parameter("1", "crowbar by field resistance, 0 for a bridge of both currents", nonnegative)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect lead-lag, exciter and bridge."""
        led = b.lead_lag("x_l", v.v_ref + v.v_s - regulated_voltage(b, v), "t_a", "t_b")
        through_bridge(b, v, p, b.lag("v_a", p.k * led, "t_e", ("e_min", "e_max")), "v_a")


class StaticExciter(Regulator):
    """Bus-fed static excitation system: EXST1 without the regulation of the rectifier (k_c = 0).

    It reads no field current, which the two-axis machine does not give; EXST1 needs one. Source: IEEE
    Committee Report, Excitation System Models for Power System Stability Studies (1981), type ST1.
    """

    states: ClassVar[tuple[str, ...]] = ("v_m", "x_l", "v_a", "x_f")

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

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, feedback, lead-lag, regulator and bridge."""
        drop, magnitude = cls.drop(v, p), b.magnitude(v.v_re, v.v_im)
        error = v.v_ref + v.v_s - measured(b, v) - b.rate("x_f", cls.fed_back(v), "k_f", "t_f")
        led = b.lead_lag("x_l", b.limit(error, "v_i_min", "v_i_max"), "t_c", "t_b")
        v_a = b.lag("v_a", p.k_a * led, "t_a")
        b.output("v_f", b.clip(v_a, magnitude * p.v_r_min - drop, magnitude * p.v_r_max - drop))
        b.ordered("v_r_min", "v_r_max")

    @classmethod
    def drop(cls, v: Any, p: Any) -> Any:
        """Return what the rectifier takes off the ceiling."""
        return 0

    @classmethod
    def fed_back(cls, v: Any) -> Any:
        """Return what the rate feedback is of."""
        return v.v_f


class EXST1(StaticExciter):
    """Bus-fed static excitation system, IEEE type ST1 (1981), with the rectifier's limits on v_f.

    i_f is the field current of the machine. The feedback is of the regulator's output before the rectifier's
    limits, as a trace of PSS/E through a fault has it (docs/benchmarks/psse.md). Source: IEEE Committee
    Report, Excitation System Models for Power System Stability Studies (1981), type ST1; PSS/E, Model
    Library, EXST1.
    """

    records = ("EXST1 t_r v_i_max v_i_min t_c t_b k_a t_a v_r_max v_r_min k_c k_f t_f",)
    inputs = WITH_FIELD_CURRENT

    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)

    @classmethod
    def drop(cls, v: Any, p: Any) -> Any:
        """Return what the rectifier takes off the ceiling."""
        return p.k_c * v.i_f

    @classmethod
    def fed_back(cls, v: Any) -> Any:
        """Return the regulator's output before the rectifier's limits."""
        return v.v_a


class OEX12T(EXST1):
    """Bus-fed static excitation system, IEEE type ST1 (1981), of Ontario Hydro without its limiters.

    The equations are those of EXST1. The record has limiters of the terminal voltage and of the field current
    besides, for which no public description gives the equations: it is read where their values are zero
    (VTMAX, VTMIN, LIMOUT, IFLMT, KIFL, ETLMT, KETL, TL1, TL2, VOMX, VOMN), the ceiling is in proportion to
    the terminal voltage (ACON = 0, BCON = 1) and VEMAX, VEMIN are out of reach, as in every public record.
    ETMIN, the least terminal voltage of the supply, changes nothing: the ceiling falls with the voltage.
    Source: IEEE Committee Report, Excitation System Models for Power System Stability Studies (1981), type
    ST1; PSS/E, Model Library, OEX12T; for the order of its values the reader of DSPSS (PETSc).
    """

    records = (
        "OEX12T t_r v_i_max v_i_min t_c t_b k_a t_a v_r_max v_r_min k_c k_f t_f -et_min vt_max=0 vt_min=0 "
        "limout=0 acon=0 bcon=1 ve_max=99.9 ve_min=-99.9 iflmt=0 kifl=0 etlmt=0 ketl=0 tl_1=0 tl_2=0 "
        "vo_max=0 vo_min=0",
    )


class SEXS(Exciter):
    """Simplified excitation system: a lead-lag and a gain with one lag, non-windup limits on v_f.

    The standard gives t_a/t_b in the place of t_a. Source: PSS/E, Model Library, SEXS.
    """

    records = ("SEXS ta_tb t_b k t_e e_min e_max",)

    t_a = Parameter("s", "lead time constant", nonnegative)
    t_b = Parameter("s", "lag time constant", nonnegative)
    k = Parameter("pu", "gain", positive)
    t_e = Parameter("s", "time constant of the exciter", nonnegative)
    e_min = Parameter("pu", "lower limit of the field voltage")
    e_max = Parameter("pu", "upper limit of the field voltage")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect lead-lag and exciter."""
        led = b.lead_lag("x_l", v.v_ref + v.v_s - regulated_voltage(b, v), "t_a", "t_b")
        b.lag("v_f", p.k * led, "t_e", ("e_min", "e_max"))


class EXNI(Regulator):
    """Static exciter fed from the bus or from a battery, with rate feedback and a diode bridge.

    The bridge is that of `SCRX`. The field voltage is within 8e-5 pu of PSS/E's 9 s after steps of the load
    and of the reference (docs/conformance.md). Source: PSS/E, Model Library, EXNI; for the place of the
    feedback and the order of the values OpenIPSL, EXNI.
    """

    records = ("EXNI t_r k_a t_a v_r_max v_r_min k_f t_f1 t_f2 c_switch rc_rfd",)
    states = ("v_m", "v_r", "x_f", "x_f2")
    inputs = WITH_FIELD_CURRENT

    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f1 = Parameter("s", "first time constant of the rate feedback", nonnegative)
    t_f2 = Parameter("s", "second time constant of the rate feedback", nonnegative)
    c_switch = Parameter("1", "0 fed from the bus, 1 from a constant source", flag)
    rc_rfd = Parameter("1", "crowbar by field resistance, 0 for a bridge of both currents", nonnegative)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect bridge, feedback, transducer and regulator."""
        through_bridge(b, v, p, v.v_r, "v_r")
        fed_back = b.lag("x_f2", b.rate("x_f", v.v_r, "k_f", "t_f1"), "t_f2")
        b.lag("v_r", p.k_a * (v.v_ref + v.v_s - measured(b, v) - fed_back), "t_a", ("v_r_min", "v_r_max"))
        b.ordered("v_r_min", "v_r_max")


class ST5B(Regulator):
    """Bus-fed static excitation system, IEEE type ST5B: two limited lead-lags, a gain, the bridge.

    i_f is the field current of the machine. The limits of a lead-lag hold for its output and, without
    windup, for its state (here by k_r). The gates of over- and underexcitation limiters are at the error.
    The lead-lags that would be in force beyond a gate are left out: the record's values TUC1 to TOB2
    change nothing, t_c1 to t_b2 stay in force. The record URST5T is the same system. Source: IEEE Std
    421.5-2005, type ST5B; PSS/E, Model Library, ST5B and URST5T.
    """

    records = (
        "ST5B t_r t_c1 t_b1 t_c2 t_b2 k_r v_r_max v_r_min t_1 k_c -t_uc1 -t_ub1 -t_uc2 -t_ub2 -t_oc1 -t_ob1 "
        "-t_oc2 -t_ob2",
        "URST5T t_r t_c1 t_b1 t_c2 t_b2 k_r v_r_max v_r_min t_1 k_c",
    )
    inputs = WITH_FIELD_CURRENT
    places = {"oel": 2, "uel": 2}

    t_c1 = Parameter("s", "first lead time constant", nonnegative)
    t_b1 = Parameter("s", "first lag time constant", nonnegative)
    t_c2 = Parameter("s", "second lead time constant", nonnegative)
    t_b2 = Parameter("s", "second lag time constant", nonnegative)
    k_r = Parameter("pu", "gain of the regulator", positive)
    v_r_max = Parameter("pu", "upper limit of the regulator, and of v_f at rated bus voltage")
    v_r_min = Parameter("pu", "lower limit of the regulator, and of v_f at rated bus voltage")
    t_1 = Parameter("s", "time constant of the bridge's firing", nonnegative)
    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, lead-lags and bridge."""
        limits = ("v_r_min", "v_r_max")
        error = b.gated(v.v_ref + v.v_s - measured(b, v))
        first = b.lead_lag("x_1", p.k_r * error, "t_c1", "t_b1", limits)
        v_r = b.named("v_r", b.lead_lag("x_2", first, "t_c2", "t_b2", limits))
        b.lag("v_f", v_r - p.k_c * v.i_f, "t_1", moving_limits(b, v, p, "v_f"))


class ST6B(Regulator):
    """Bus-fed static excitation system, IEEE type ST6B, with its limiter of the field current.

    i_f is the field current of the machine. The limits of the regulator hold for its integral part,
    without windup, and for its output. The gates of limiters are at the error: with oel = 1, the record's
    number, the low gate comes before the high one, with 2 behind it, with 0 there is none. Source: IEEE
    Std 421.5-2005, type ST6B; IEEE Std 421.5-2016, type ST6C; PSS/E, Model Library, ST6B.
    """

    records = (
        "ST6B oel t_r k_pa k_ia k_da t_da v_a_max v_a_min k_ff k_m k_ci k_lr i_lr v_r_max v_r_min k_g t_g",
    )
    inputs = WITH_FIELD_CURRENT

    k_pa = Parameter("pu", "proportional gain of the regulator", nonnegative)
    k_ia = Parameter("pu/s", "integral gain of the regulator", nonnegative)
    k_da = Parameter("pu s", "derivative gain of the regulator", nonnegative)
    t_da = Parameter("s", "time constant of the derivative", nonnegative)
    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    k_ff = Parameter("pu", "gain of the feedforward", nonnegative)
    k_m = Parameter("pu", "gain of the inner loop", nonnegative)
    k_ci = Parameter("1", "factor of i_lr", nonnegative)
    k_lr = Parameter("pu", "gain of the limiter of the field current", nonnegative)
    i_lr = Parameter("pu", "field current of the limiter")
    v_r_max = Parameter("pu", "upper limit of the field voltage at rated bus voltage")
    v_r_min = Parameter("pu", "lower limit of the field voltage at rated bus voltage")
    k_g = Parameter("pu", "gain of the inner feedback", nonnegative)
    t_g = Parameter("s", "time constant of the inner feedback", nonnegative)
    oel = Parameter("code", "gate of the OEL: 1 before that of the UEL, 2 behind, 0 none", whole(0, 2), 2.0)
    places = {"uel": 2}

    @classmethod
    def place(cls, kind: str, values: Mapping[str, float]) -> int:
        """Return the code of a limiter's gate, of which 3 is the first."""
        if kind == "oel" and values.get(kind, 2.0) == 0:
            raise InputError("oel = 0: there is no input for an over-excitation limiter; set it to 1 or 2")
        return 3 if kind == "oel" and values.get(kind) == 1 else super().place(kind, values)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to an inner loop without gains."""
        wrong = ungained(p, ("k_m", "k_ff"))
        return f"{wrong}, or the regulator acts on nothing" if wrong else None

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, regulator, limiter of the field current and inner loop."""
        error = b.gated(b.gated(b.named("e", v.v_ref + v.v_s - measured(b, v)), 3))
        regulated = b.pid(("x_i", "x_d"), error, ("k_pa", "k_ia", "k_da"), "t_da", ("v_a_min", "v_a_max"))
        v_a = b.named("v_a", regulated)
        v_lr = b.named("v_lr", b.max((p.k_ci * p.i_lr - v.i_f) * p.k_lr, p.v_r_min))
        upper = b.where(b.le(p.k_lr, 0), p.v_r_max, b.min(v_lr, p.v_r_max))
        upper = b.named("upper", upper, "min(v_lr, v_r_max), v_r_max with k_lr = 0")
        v_g = b.lag("v_g", p.k_g * v.v_f, "t_g")
        v_r = b.clip((v_a - v_g) * p.k_m + p.k_ff * v_a, p.v_r_min, upper)
        b.ordered("v_r_min", "v_r_max")
        magnitude = b.magnitude(v.v_re, v.v_im)
        b.output("v_f", magnitude * b.named("v_r", v_r))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_m = terminal.signals.get("v_f", 1.0), np.abs(terminal.voltage)
        v_g = p.k_g * v_f
        v_a = (v_f / v_m + p.k_m * v_g) / (p.k_m + p.k_ff)
        error = error_at_rest(v_a, p.k_pa, p.k_ia)
        return {"v_m": v_m, "x_i": v_a, "x_d": error, "v_g": v_g, "v_f": v_f, "v_ref": v_m + error}


class ST8C(Regulator):
    """Static excitation system, IEEE type ST8C, whose source is independent of the bus.

    i_f is the field current of the machine. The limits of a PI regulator hold for its integral part,
    without windup, and for its output. The switch SW1 has to be 0 (a source of its own, k_p), and the
    compounding from the machine's current has to be off (K_I2 = 0). The gates of limiters are before the
    current regulator: codes 2 of oel, uel and scl, the record's first numbers. Source: IEEE Std
    421.5-2016, type ST8C; PSS/E, Model Library, ST8C.
    """

    records = (
        "ST8C oel uel scl sw1=0 t_r k_pr k_ir v_pi_max v_pi_min k_pa k_ia v_a_max v_a_min k_a t_a v_r_max "
        "v_r_min k_f t_f k_c1 k_p -k_i1 -x_l -theta_p v_b1_max -k_c2 k_i2=0 -v_b2_max",
    )
    states = ("v_m", "x_r", "x_a", "v_r", "i_m")
    inputs = WITH_FIELD_CURRENT

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
    oel, uel, scl = place_of("OEL"), place_of("UEL"), place_of("SCL")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, both regulators, bridge and source."""
        error = v.v_ref + v.v_s - measured(b, v)
        i_ref = b.named("i_ref", b.pi("x_r", error, "k_pr", "k_ir", ("v_pi_min", "v_pi_max")))
        inner = i_ref - b.lag("i_m", p.k_f * v.i_f, "t_f")
        regulated = b.pi("x_a", b.gated(inner), "k_pa", "k_ia", ("v_a_min", "v_a_max"))
        v_r = b.lag("v_r", p.k_a * regulated, "t_a", ("v_r_min", "v_r_max"))
        b.ordered("v_r_min", "v_r_max")
        v_b = b.min(rectified(b, p.k_p, p.k_c1 * v.i_f), p.v_b1_max)
        b.output("v_f", b.named("v_b", v_b, "min(k_p F_EX(k_c1 i_f/k_p), v_b1_max)") * v_r)
