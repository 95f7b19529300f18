"""Exciters with alternators whose regulators have integral parts: AC3A, AC5C, AC7B and AC8B, and their C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Parameter, nonnegative, positive, whole
from psmr.devices.exciters.alternator import Alternator
from psmr.devices.exciters.compound import NO_LIMIT, ExciterSource, exciter_source
from psmr.devices.exciters.exciter import measured, place_of


class AC3C(Alternator):
    """Alternator with rectifier that feeds its own regulator, IEEE types AC3A (1992) and AC3C (2016).

    The limits of the PID hold for its integral part, without windup, and for its output. v_e_max is the
    v_e at which v_fe would be v_fe_max. The gates of limiters are behind the lead-lag: codes 2 of oel and
    uel, the first two numbers of the record AC3C. The record ESAC3A has no PID: k_pr = 1. Source: IEEE
    Std 421.5-2005, type AC3A; IEEE Std 421.5-2016, type AC3C; PowerWorld, AC3C and ESAC3A; the places of
    the blocks are those of InterPSS, the orders of the values those of its records of PSS/E 36.
    """

    records = (
        "ESAC3A t_r t_b t_c k_a t_a v_a_max v_a_min t_e v_e_min k_r k_f t_f k_n e_fdn k_c k_d k_e v_fe_max "
        "e_1 se_1 e_2 se_2",
        "AC3C oel uel t_r t_b t_c k_a t_a v_a_max v_a_min t_e v_e_min k_r k_f t_f k_n e_fdn k_c k_d k_e "
        "v_fe_max e_1 se_1 e_2 se_2 k_pr k_ir k_dr t_dr v_pid_max v_pid_min",
    )
    states = ("v_m", "x_i", "x_d", "x_l", "v_a", "v_e", "x_f")

    t_b = Parameter("s", "lag time constant before the regulator", nonnegative)
    t_c = Parameter("s", "lead time constant before the regulator", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    k_r = Parameter("pu", "supply of the regulator by the field voltage", positive)
    k_f = Parameter("s", "gain of the rate feedback up to e_fdn", nonnegative)
    k_n = Parameter("s", "gain of the rate feedback above e_fdn", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    e_fdn = Parameter("pu", "field voltage at which the gain of the feedback changes")
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)", positive)
    v_fe_max = Parameter("pu", "upper limit of the exciter's field current", positive)
    k_pr = Parameter("pu", "proportional gain of the PID", nonnegative, 1.0)
    k_ir = Parameter("pu/s", "integral gain of the PID", nonnegative, 0.0)
    k_dr = Parameter("pu s", "derivative gain of the PID", nonnegative, 0.0)
    t_dr = Parameter("s", "time constant of the derivative", nonnegative, 0.0)
    v_pid_max = Parameter("pu", "upper limit of the PID's output", default=NO_LIMIT)
    v_pid_min = Parameter("pu", "lower limit of the PID's output", default=-NO_LIMIT)
    oel, uel = place_of("OEL"), place_of("UEL", default=2.0)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, PID, lead-lag, regulator, exciter and feedback."""
        v_fe = cls.field_current(b, v, p)
        v_n = p.k_f * b.min(v.v_f, p.e_fdn) + p.k_n * b.max(v.v_f - p.e_fdn, 0)
        fed_back = b.washout("x_f", b.named("v_n", v_n), "t_f") / p.t_f
        fed_back = b.named("feedback", fed_back, "s/(1 + s t_f) v_n")
        error = b.named("e", v.v_ref + v.v_s - measured(b, v))
        regulated = b.pid(("x_i", "x_d"), error, ("k_pr", "k_ir", "k_dr"), "t_dr", ("v_pid_min", "v_pid_max"))
        led = b.named("v_l", b.lead_lag("x_l", regulated, "t_c", "t_b"))
        v_a = b.lag("v_a", p.k_a * (b.gated(led) - fed_back), "t_a", ("v_a_min", "v_a_max"))
        b.ordered("v_a_min", "v_a_max")
        cls.alternator(b, v, p, p.k_r * v.v_f * v_a, v_fe)


class AC5C(Alternator):
    """Brushless excitation system, IEEE type AC5C (2016): `ESAC5A` with an alternator and its rectifier.

    The gates of limiters are behind the regulator: codes 2 of oel and uel, the record's first two numbers.
    Source: IEEE Std 421.5-2016, type AC5C; PowerWorld, AC5C; the place of the feedback and the order
    of the values are those of InterPSS, which has a record of PSS/E 36 in its public test data.
    """

    records = (
        "AC5C oel uel t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f t_f2 t_f3 e_1 se_1 e_2 se_2 k_c k_d "
        "v_fe_max v_e_min",
    )
    states = ("v_m", "v_r", "v_e", "x_f", "x_f2")

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
    oel, uel = place_of("OEL"), place_of("UEL")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, regulator, exciter and feedback."""
        v_fe = cls.field_current(b, v, p)
        cls.alternator(b, v, p, b.gated(v.v_r), v_fe)
        fed_back = b.lead_lag("x_f2", b.rate("x_f", v.v_r, "k_f", "t_f"), "t_f3", "t_f2")
        error = v.v_ref + v.v_s - measured(b, v) - b.named("feedback", fed_back)
        b.lag("v_r", p.k_a * error, "t_a", ("v_r_min", "v_r_max"))
        b.ordered("v_r_min", "v_r_max")


class AC7C(Alternator, ExciterSource):
    """Alternator with uncontrolled rectifier, PID voltage regulator and PI field regulator, IEEE type AC7C.

    The limits of both regulators hold for their integral parts, without windup, and for their outputs.
    v_e_max is the v_e at which v_fe would be v_fe_max. Gates of limiters are at the error (code 2 of oel,
    uel), behind the first regulator (3) and behind the second (4 of oel). VOS, which places the
    stabiliser before or behind a gate, changes nothing: it is before. The record AC7B is sw_1 = sw_2 = 1
    with k_i = x_l = k_c1 = 0: v_x = k_p |v|. Source: IEEE Std 421.5-2005, type AC7B; IEEE Std 421.5-2016,
    type AC7C; PSS/E, Model Library, AC7B and AC7C; for the order of their values OpenIPSL's verification
    script and InterPSS.
    """

    records = (
        "AC7B t_r k_pr k_ir k_dr t_dr v_r_max v_r_min k_pa k_ia v_a_max v_a_min k_p k_l k_f1 k_f2 k_f3 t_f "
        "k_c k_d k_e t_e v_fe_max v_e_min e_1 se_1 e_2 se_2",
        "AC7C oel uel -vos sw_1 sw_2 t_r k_pr k_ir k_dr t_dr v_r_max v_r_min k_pa k_ia v_a_max v_a_min k_p "
        "k_l k_f1 k_f2 k_f3 t_f k_c k_d k_e t_e v_fe_max v_e_min e_1 se_1 e_2 se_2 k_i x_l theta_p_deg k_c1 "
        "v_b_max k_r",
    )
    states = ("v_m", "x_i", "x_d", "x_a", "v_e", "x_f")
    inputs = ExciterSource.inputs

    sw_2 = Parameter("code", "supply of the regulator: 1 the source, 2 the field voltage", whole(1, 2), 1.0)
    k_pr = Parameter("pu", "proportional gain of the voltage regulator", nonnegative)
    k_ir = Parameter("pu/s", "integral gain of the voltage regulator", nonnegative)
    k_dr = Parameter("pu s", "derivative gain of the voltage regulator", nonnegative)
    t_dr = Parameter("s", "time constant of the derivative", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the voltage regulator")
    v_r_min = Parameter("pu", "lower limit of the voltage regulator")
    k_pa = Parameter("pu", "proportional gain of the field regulator", nonnegative)
    k_ia = Parameter("pu/s", "integral gain of the field regulator", nonnegative)
    v_a_max = Parameter("pu", "upper limit of the field regulator")
    v_a_min = Parameter("pu", "lower limit of the field regulator")
    k_l = Parameter("pu", "lower limit of the exciter's input by v_fe", nonnegative)
    k_f1 = Parameter("pu", "feedback of the field voltage", nonnegative)
    k_f2 = Parameter("pu", "feedback of the exciter's field current", nonnegative)
    k_f3 = Parameter("pu s", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", nonnegative)
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)", positive)
    v_fe_max = Parameter("pu", "upper limit of the exciter's field current", positive)
    k_r = Parameter("pu", "supply by the field voltage", nonnegative, 0.0)
    oel, uel = place_of("OEL", 3), place_of("UEL", 2)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a missing supply and to an impossible saturation curve."""
        if p["sw_2"] == 2 and p["k_r"] == 0:
            return "k_r = 0: must be > 0 where sw_2 is 2, or the field regulator has no supply"
        return Alternator.objection(p)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, both regulators, their supply, exciter and feedback."""
        v_fe = cls.field_current(b, v, p)
        error = b.named("e", v.v_ref + v.v_s - measured(b, v) - b.rate("x_f", v_fe, "k_f3", "t_f"))
        gains, limits = ("k_pr", "k_ir", "k_dr"), ("v_r_min", "v_r_max")
        v_r = b.gated(b.pid(("x_i", "x_d"), b.gated(error), gains, "t_dr", limits), 3)
        inner = b.named("v_r", v_r) - p.k_f1 * v.v_f - p.k_f2 * v_fe
        v_a = b.named("v_a", b.gated(b.pi("x_a", inner, "k_pa", "k_ia", ("v_a_min", "v_a_max")), 4))
        supply = b.where(b.ge(p.sw_2, 2), p.k_r * v.v_f, exciter_source(b, v, v_fe, p))
        v_x = b.named("v_x", supply, "v_b with sw_2 = 1, k_r v_f with sw_2 = 2")
        cls.alternator(b, v, p, b.max(v_x * v_a, -p.k_l * v_fe), v_fe)


class AC8B(Alternator):
    """Alternator with uncontrolled rectifier and PID regulator, IEEE type AC8B (2005).

    The limits of the regulator's PID hold for its integral part, without windup, and for its output. v_e_max
    is the v_e at which v_fe would be v_fe_max: it falls as the field current i_f of the machine rises. The
    record ESAC8B has k_c = k_d = 0 and neither limits of the PID nor of v_fe. Source: IEEE Std 421.5-2005,
    type AC8B; PSS/E, Model Library, AC8B and ESAC8B.
    """

    records: ClassVar[tuple[str, ...]] = (
        "ESAC8B t_r k_pr k_ir k_dr t_dr k_a t_a v_r_max v_r_min t_e k_e e_1 se_1 e_2 se_2",
        "AC8B t_r k_pr k_ir k_dr t_dr v_pid_max v_pid_min v_r_max v_r_min v_fe_max v_e_min t_a k_a "
        "t_e k_c k_d k_e e_1 se_1 e_2 se_2",
    )

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
    k_c = Parameter("pu", "regulation of the rectifier", nonnegative, 0.0)
    k_d = Parameter("pu", "demagnetisation by the field current", nonnegative, 0.0)
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)", positive)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, PID, amplifier, its supply and exciter."""
        v_fe = cls.field_current(b, v, p)
        error = b.gated(b.named("e", v.v_ref + v.v_s - measured(b, v)))
        regulated = b.pid(("x_i", "x_d"), error, ("k_pr", "k_ir", "k_dr"), "t_dr", ("v_pid_min", "v_pid_max"))
        v_r = b.lag("v_r", p.k_a * b.gated(regulated, 3), "t_a", ("v_r_min", "v_r_max"))
        cls.alternator(b, v, p, cls.supplied(b, v, p, v_r, v_fe), v_fe)

    @classmethod
    def supplied(cls, b: Any, v: Any, p: Any, v_r: Any, v_fe: Any) -> Any:
        """Return what the amplifier makes of its supply."""
        return v_r


class AC8C(ExciterSource, AC8B):
    """Alternator with rectifier, and PID regulator with a source of its own, IEEE type AC8C (2016).

    The limits are those of `AC8B`. Gates of limiters are at the error (code 2 of oel, uel) and behind the
    PID (3). VOS, which places the stabiliser before or behind a gate, changes nothing: it is before.
    Source: IEEE Std 421.5-2016, type AC8C; PowerWorld, AC8C; the order of the values is that of a record
    of PSS/E 36 in InterPSS' public test data.
    """

    records = (
        "AC8C oel uel -vos sw_1 t_r k_pr k_ir k_dr t_dr v_pid_max v_pid_min k_a t_a v_r_max v_r_min k_c "
        "k_d k_e t_e v_fe_max v_e_min e_1 se_1 e_2 se_2 k_p k_i x_l theta_p_deg k_c1 v_b_max",
    )
    inputs = ExciterSource.inputs
    oel, uel = place_of("OEL", 2), place_of("UEL", 2)

    @classmethod
    def supplied(cls, b: Any, v: Any, p: Any, v_r: Any, v_fe: Any) -> Any:
        """Return what the amplifier makes of its source."""
        return exciter_source(b, v, v_fe, p) * v_r
