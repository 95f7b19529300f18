"""The excitation systems with a rotating direct-current exciter, and the type 1 of the textbooks."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

from psmr.dae.declare.component import NumericMath, Parameter, nonnegative, positive
from psmr.devices.blocks import exponential_saturation, quadratic_saturation, saturation_conflict
from psmr.devices.exciters.compound import NO_LIMIT, ExciterSource, exciter_source
from psmr.devices.exciters.exciter import Exciter, Regulator, measured, place_of, regulated_voltage

BEHIND_REGULATOR, BEHIND_PID = 2, 3
"""Codes of the gates of limiters, which a type has in one of these places."""


class DirectCurrent(Regulator, part=True):
    """A direct-current exciter, and a regulator with rate feedback of the field voltage."""

    field_limits: ClassVar[tuple[str | None, str | None] | None] = None
    states: ClassVar[tuple[str, ...]] = ("v_m", "v_r", "v_f", "x_f")

    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    k_e = Parameter("pu", "constant of the exciter (1: separately excited; 0: v_r starts at v_r_max / 10)")
    t_e = Parameter("s", "time constant of the exciter", positive)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    e_1 = Parameter("pu", "first field voltage of the saturation curve", nonnegative)
    se_1 = Parameter("1", "saturation at e_1", nonnegative)
    e_2 = Parameter("pu", "second field voltage of the saturation curve", nonnegative)
    se_2 = Parameter("1", "saturation at e_2", nonnegative)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to an impossible saturation curve."""
        return saturation_conflict(p, p["e_1"], "se_1", p["e_2"], "se_2")

    @staticmethod
    def at_start(v: Mapping[str, float], p: Mapping[str, float]) -> Mapping[str, float]:
        """Return for k_e = 0 the constant with which v_r is a tenth of its upper limit, as PSS/E has it.

        PSS/E's traces of IEEEX1, ESDC1A and ESDC2A are met so (docs/benchmarks/psse.md).
        """
        if p["k_e"] != 0 or v["v_f"] == 0:
            return {}
        saturated = _current(NumericMath, v["v_f"], SimpleNamespace(**p))
        return {"k_e": (0.1 * p["v_r_max"] - float(saturated)) / v["v_f"]}

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, regulator, exciter and feedback."""
        v_r = cls.regulator(b, v, p, cls.voltage_error(b, v, p))
        cls.exciter(b, v, p, b.gated(v_r, BEHIND_REGULATOR))

    @classmethod
    def voltage_error(cls, b: Any, v: Any, p: Any) -> Any:
        """Return the error of the voltage less the rate feedback."""
        return v.v_ref + v.v_s - measured(b, v) - b.rate("x_f", v.v_f, "k_f", "t_f")

    @classmethod
    def regulator(cls, b: Any, v: Any, p: Any, error: Any) -> Any:
        """Return the regulator's output v_r."""
        return b.lag("v_r", p.k_a * error, "t_a", ("v_r_min", "v_r_max"))

    @classmethod
    def exciter(cls, b: Any, v: Any, p: Any, driving: Any) -> None:
        """Connect the exciter to what drives it."""
        b.integrator("v_f", driving - exciter_current(b, v, p), t="t_e", limits=cls.field_limits)


def exciter_current(b: Any, v: Any, p: Any) -> Any:
    """Return v_fe, the voltage that holds the field voltage v_f: (k_e + S_E(v_f)) v_f.

    S_E(v_f) v_f = b (v_f - a)^2 above a, through the two given points.
    """
    return b.named("v_fe", _current(b, v.v_f, p), "(k_e + S_E(v_f)) v_f")


def _current(m: Any, v_f: Any, p: Any) -> Any:
    return p.k_e * v_f + quadratic_saturation(m, v_f, p.e_1, p.se_1, p.e_2, p.se_2)


class IEEET1(DirectCurrent):
    """IEEE type 1 excitation system (1968): regulator, self-excited exciter with saturation, rate feedback.

    S_E(v_f) v_f = b (v_f - a)^2 above a, through the two given points. Source: IEEE Committee Report,
    Computer Representation of Excitation Systems (1968), type 1; PSS/E, Model Library, IEEET1.
    """

    records = ("IEEET1 t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",)


class IEEEX1(DirectCurrent):
    """IEEE type DC1 excitation system (1981): as `IEEET1`, with a lead-lag before the regulator.

    Source: IEEE Committee Report, Excitation System Models for Power System Stability Studies (1981), type
    DC1; PSS/E, Model Library, IEEEX1.
    """

    records: ClassVar[tuple[str, ...]] = (
        "IEEEX1 t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",
    )
    states = ("v_m", "x_l", "v_r", "v_f", "x_f")

    t_b = Parameter("s", "lag time constant before the regulator", nonnegative)
    t_c = Parameter("s", "lead time constant before the regulator", nonnegative)

    @classmethod
    def regulator(cls, b: Any, v: Any, p: Any, error: Any) -> Any:
        """Return the regulator's output v_r."""
        led = b.lead_lag("x_l", error, "t_c", "t_b")
        return b.lag("v_r", p.k_a * led, "t_a", cls.limits_of_regulator(b, v, p))

    @classmethod
    def limits_of_regulator(cls, b: Any, v: Any, p: Any) -> tuple[str, str]:
        """Return the limits of v_r."""
        return "v_r_min", "v_r_max"


class EXDC1(IEEEX1):
    """IEEE type DC1 excitation system (1981): the equations of `IEEEX1`.

    Source: IEEE Committee Report, Excitation System Models for Power System Stability Studies (1981), type
    DC1. The PSS/E library has this name no more; public files have records of it with the sixteen values of
    IEEEX1 in their order.
    """

    records = ("EXDC1 t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",)


class ESDC1A(IEEEX1):
    """IEEE type DC1A excitation system (1992): `IEEEX1` with a floor of v_f.

    Source: IEEE Std 421.5-2005, type DC1A; PSS/E, Model Library, ESDC1A. Its data sheet has the floor of zero
    as OpenIPSL reproduces it; PowerSimulationsDynamics.jl has none. Type DC1C of IEEE Std 421.5-2016 is the
    same, with limiters' gates behind the regulator: codes 2 of oel and uel, the first two numbers; the order
    of its values is that of PowerWorld and of a record of PSS/E 36 in InterPSS' public test data.
    """

    records = (
        "DC1C oel uel t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f e_1 se_1 e_2 se_2 v_f_max v_f_min",
        "ESDC1A t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",
    )
    field_limits = ("v_f_min", "v_f_max")

    v_f_min = Parameter("pu", "lower limit of the field voltage", default=0.0)
    v_f_max = Parameter("pu", "upper limit of the field voltage", default=NO_LIMIT)
    oel, uel = place_of("OEL"), place_of("UEL")


class IEEET2(DirectCurrent):
    """IEEE type 2 excitation system (1968): a rotating rectifier, with the feedback taken before the exciter.

    Source: IEEE Committee Report, Computer Representation of Excitation Systems (1968), type 2; PSS/E, Model
    Library, IEEET2.
    """

    records = ("IEEET2 t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f t_f2 e_1 se_1 e_2 se_2",)
    states = ("v_m", "v_r", "v_f", "x_f", "x_f2")

    t_f2 = Parameter("s", "second time constant of the rate feedback", nonnegative)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect exciter, feedback, transducer and regulator."""
        cls.exciter(b, v, p, v.v_r)
        fed_back = cls.feedback(b, b.rate("x_f", v.v_r, "k_f", "t_f"))
        cls.regulator(b, v, p, v.v_ref + v.v_s - measured(b, v) - fed_back)

    @classmethod
    def feedback(cls, b: Any, rate: Any) -> Any:
        """Return the feedback of the rate of v_r."""
        return b.lag("x_f2", rate, "t_f2")


class ESAC5A(IEEET2):
    """Brushless excitation system, IEEE type AC5A (1992).

    The exciter has no brushes, so the feedback is of what drives it. With k_e = 0 the constant of the
    exciter is the one with which v_r is v_r_max / 10 at the start. Source: IEEE Std 421.5-2005, type AC5A;
    PSS/E, Model Library, ESAC5A, whose TF1 is t_f; the place of the feedback is that of InterPSS and ANDES,
    the order of the values that of a record of PSS/E 36 in InterPSS' public test data.
    """

    records = ("ESAC5A t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f t_f2 t_f3 e_1 se_1 e_2 se_2",)
    field_limits = ("v_f_min", None)

    t_f2 = Parameter("s", "second lag time constant of the feedback", nonnegative)
    t_f3 = Parameter("s", "lead time constant of the feedback", nonnegative)
    v_f_min = Parameter("pu", "lower limit of the field voltage: the diodes", default=0.0)

    @classmethod
    def feedback(cls, b: Any, rate: Any) -> Any:
        """Return the feedback of the rate of v_r."""
        b.ordered("v_r_min", "v_r_max")
        return b.named("feedback", b.lead_lag("x_f2", rate, "t_f3", "t_f2"))


def moving_limits(b: Any, v: Any, p: Any, limited: str = "v_r") -> tuple[str, str]:
    """Declare the limits v_r_min and v_r_max times the voltage of the terminals, and return their names."""
    magnitude, low, high = b.magnitude(v.v_re, v.v_im), f"{limited}_low", f"{limited}_high"
    b.output(low, magnitude * p.v_r_min)
    b.output(high, magnitude * p.v_r_max)
    return low, high


class EXDC2(IEEEX1):
    """IEEE type DC2 excitation system (1981): as `IEEEX1`, with a regulator fed from the terminals.

    v_r_low and v_r_high are the limits as they move with the voltage. Source: IEEE Committee Report,
    Excitation System Models for Power System Stability Studies (1981), type DC2; PSS/E, Model Library, EXDC2.
    """

    records: ClassVar[tuple[str, ...]] = (
        "EXDC2 t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",
    )

    @classmethod
    def limits_of_regulator(cls, b: Any, v: Any, p: Any) -> tuple[str, str]:
        """Return the limits of v_r, which move with the voltage of the terminals."""
        return moving_limits(b, v, p)


class ESDC2A(EXDC2):
    """IEEE type DC2A excitation system (1992): the equations of `EXDC2`.

    Source: IEEE Std 421.5-1992, type DC2A; PSS/E, Model Library, ESDC2A.
    """

    records = ("ESDC2A t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",)


class DC2C(EXDC2):
    """IEEE type DC2C excitation system (2016): `EXDC2` with limits of v_f.

    Limiters' gates are behind the regulator: codes 2 of oel and uel, the record's first numbers. Source:
    IEEE Std 421.5-2016, type DC2C; the order of the values is that of PowerWorld and of a record of PSS/E
    36 in InterPSS' public test data.
    """

    records = (
        "DC2C oel uel t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f e_1 se_1 e_2 se_2 v_f_max v_f_min",
    )
    field_limits = ("v_f_min", "v_f_max")

    v_f_min = Parameter("pu", "lower limit of the field voltage", default=0.0)
    v_f_max = Parameter("pu", "upper limit of the field voltage", default=NO_LIMIT)
    oel, uel = place_of("OEL"), place_of("UEL")


class DC4B(DirectCurrent):
    """Direct-current exciter with a PID regulator fed from the terminals, IEEE type DC4B (2005).

    The limits of the PID hold for its integral part x_i (here with k_a), without windup, and for its
    output. The gates of limiters are behind the PID: codes 2 of oel and uel, the record's first two
    numbers, of a signal in the unit of the PID without k_a. Source: IEEE Std 421.5-2005, type DC4B;
    PSS/E, Model Library, DC4B.
    """

    records: ClassVar[tuple[str, ...]] = (
        "DC4B oel uel t_r k_pr k_ir k_dr t_dr v_r_max v_r_min k_a t_a k_e t_e k_f t_f v_f_min e_1 "
        "se_1 e_2 se_2",
    )
    states = ("v_m", "x_i", "x_d", "v_r", "v_f", "x_f")
    field_limits = ("v_f_min", None)

    k_pr = Parameter("pu", "proportional gain of the regulator", nonnegative)
    k_ir = Parameter("pu/s", "integral gain of the regulator", nonnegative)
    k_dr = Parameter("pu s", "derivative gain of the regulator", nonnegative)
    t_dr = Parameter("s", "time constant of the derivative", nonnegative)
    v_f_min = Parameter("pu", "lower limit of the field voltage", default=0.0)
    oel, uel = place_of("OEL"), place_of("UEL")

    @classmethod
    def place(cls, kind: str, values: Mapping[str, float]) -> int:
        """Return the code of a limiter's place, where a gate is that behind the PID."""
        code = super().place(kind, values)
        return BEHIND_PID if code == BEHIND_REGULATOR else code

    @classmethod
    def regulator(cls, b: Any, v: Any, p: Any, error: Any) -> Any:
        """Return the regulator's output, behind its PID and the voltage of the terminals."""
        regulated = b.named("x_r", cls.controller(b, p, error))
        return b.lag("v_r", b.magnitude(v.v_re, v.v_im) * regulated, "t_a", moving_limits(b, v, p))

    @classmethod
    def controller(cls, b: Any, p: Any, error: Any) -> Any:
        """Return the output of the PID."""
        gains, limits = ("k_pr", "k_ir", "k_dr"), ("v_r_min", "v_r_max")
        output = b.pid(("x_i", "x_d"), b.named("e", error), gains, "t_dr", limits, scale="k_a")
        return p.k_a * b.gated(output / p.k_a, BEHIND_PID) if b.gates else output


class DC4C(ExciterSource, DC4B):
    """Direct-current exciter with a PID regulator and a source of its own, IEEE type DC4C (2016).

    The limits of the PID hold for its integral part x_i (here with k_a), without windup, and for its
    output. The gates of limiters are those of `DC4B`, with scl as third number. Source: IEEE Std
    421.5-2016, type DC4C; PowerWorld, DC4C, in whose order a record of PSS/E 36 in InterPSS' public test
    data has its values; InterPSS has v_fe in the source's rectifier.
    """

    records = (
        "DC4C oel uel scl sw_1 t_r k_pr k_ir k_dr t_dr v_r_max v_r_min k_a t_a k_e t_e k_f t_f v_f_min "
        "e_1 se_1 e_2 se_2 k_p k_i x_l theta_p_deg k_c1 v_b_max",
    )
    inputs = tuple(name for name in ExciterSource.inputs if name != "i_f")
    scl = place_of("SCL")

    @classmethod
    def regulator(cls, b: Any, v: Any, p: Any, error: Any) -> Any:
        """Return the regulator's output, behind its PID."""
        return b.lag("v_r", cls.controller(b, p, error), "t_a", ("v_r_min", "v_r_max"))

    @classmethod
    def exciter(cls, b: Any, v: Any, p: Any, driving: Any) -> None:
        """Connect the exciter to the source that the regulator scales."""
        v_fe = exciter_current(b, v, p)
        b.integrator("v_f", exciter_source(b, v, v_fe, p) * driving - v_fe, t="t_e", limits=cls.field_limits)


class _Type1(Exciter, part=True):
    """The type 1 exciter of the textbooks."""

    states: ClassVar[tuple[str, ...]] = ("v_r", "r_f", "v_f")

    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", positive)
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)")
    t_e = Parameter("s", "time constant of the exciter", positive)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    a_x = Parameter("pu", "saturation S_E = a_x exp(b_x v_f)", nonnegative)
    b_x = Parameter("1/pu", "exponent of the saturation", nonnegative)
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    v_r_max = Parameter("pu", "upper limit of the regulator's output")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, regulator, rate feedback and exciter (Sauer and Pai, chapter 4)."""
        rate = (p.k_f / p.t_f) * v.v_f
        feedback = b.named("feedback", rate - b.lag("r_f", rate, "t_f"))
        error = v.v_ref + v.v_s - cls.voltage(b, v) - feedback
        v_r = b.lag("v_r", p.k_a * error, "t_a", ("v_r_min", "v_r_max"))
        needed = (p.k_e + exponential_saturation(b, v.v_f, p.a_x, p.b_x)) * v.v_f
        b.integrator("v_f", v_r - b.named("v_fe", needed, "(k_e + a_x exp(b_x v_f)) v_f"), t="t_e")

    @classmethod
    def voltage(cls, b: Any, v: Any) -> Any:
        """Return the voltage that the regulator is given."""
        return regulated_voltage(b, v)


class ExciterType1(_Type1):
    """IEEE type 1 exciter (DC1A without lead-lag) with a voltage transducer and a non-windup limit on v_r.

    The feedback is s k_f/(1 + s t_f) v_f. Source: Sauer and Pai (1998), chapter 4; IEEE Std 421.5-1992, type
    DC1A, for the transducer and the place of the stabiliser's signal v_s. Per unit: voltage on the bus base;
    v_f = 1 gives rated voltage on the open stator.
    """

    states = ("v_m", "v_r", "r_f", "v_f")

    t_r = Parameter("s", "time constant of the voltage transducer", positive)

    @classmethod
    def voltage(cls, b: Any, v: Any) -> Any:
        """Return the measured voltage."""
        return measured(b, v)


class ExciterType1Direct(_Type1):
    """IEEE type 1 exciter as in the textbooks: the voltage acts on the regulator without a transducer.

    Everything else is as in `ExciterType1`. Source: Sauer and Pai (1998), chapter 4, and the case of
    its chapter 7.
    """
