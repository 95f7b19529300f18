"""Exciters with alternators: AC1A to AC6A and their successors of IEEE 421.5-2016, with their PSS/E names.

i_f is the field current of the machine, v_fe that of the alternator, and v_e_max the v_e at which v_fe would
be v_fe_max.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Parameter, nonnegative, positive
from psmr.devices.blocks import quadratic_saturation, rectified, saturation_conflict, unrectified
from psmr.devices.exciters.exciter import WITH_FIELD_CURRENT, Regulator, measured, place_of


class Alternator(Regulator, part=True):
    """The alternator with uncontrolled rectifier of the excitation systems of type AC.

    i_f is the field current of the machine, v_fe that of the alternator. v_e_max is the v_e at which v_fe
    would be v_fe_max, where there is such a limit. Source: IEEE Std 421.5-2005, types AC1A, AC2A and AC6A.
    """

    inputs: ClassVar[tuple[str, ...]] = WITH_FIELD_CURRENT

    t_e = Parameter("s", "time constant of the exciter", positive)
    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)
    k_d = Parameter("pu", "demagnetisation by the field current", nonnegative)
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)")
    e_1 = Parameter("pu", "first exciter voltage of the saturation curve", nonnegative)
    se_1 = Parameter("1", "saturation at e_1", nonnegative)
    e_2 = Parameter("pu", "second exciter voltage of the saturation curve", nonnegative)
    se_2 = Parameter("1", "saturation at e_2", nonnegative)
    v_e_min = Parameter("pu", "lower limit of the exciter's voltage: the diodes", default=0.0)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to an impossible saturation curve."""
        return saturation_conflict(p, p["e_1"], "se_1", p["e_2"], "se_2")

    @staticmethod
    def known(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the field voltage that the machine needs, and the voltage of the alternator for it."""
        v_f, i_f = terminal.signals.get("v_f", 1.0), terminal.signals.get("i_f", 1.0)
        return {"v_f": v_f, "v_e": unrectified(v_f, p.k_c * i_f)}

    @classmethod
    def field_current(cls, b: Any, v: Any, p: Any) -> Any:
        """Return v_fe, the field current that the alternator needs for its voltage v_e."""
        return b.named("v_fe", _current(b, v.v_e, v, p), "(k_e + S_E(v_e)) v_e + k_d i_f")

    @classmethod
    def alternator(cls, b: Any, v: Any, p: Any, driving: Any, v_fe: Any) -> None:
        """Connect alternator and rectifier to what drives them."""
        limited = hasattr(cls, "v_fe_max")
        b.integrator("v_e", driving - v_fe, t="t_e", limits=("v_e_min", "v_e_max" if limited else None))
        b.output("v_f", rectified(b, v.v_e, p.k_c * v.i_f), "v_e F_EX(k_c i_f/v_e)")
        if limited:
            rest = (p.v_fe_max - p.k_d * v.i_f) / p.k_e
            words = "v_e at which v_fe is v_fe_max"
            b.implicit("v_e_max", lambda v_e: _current(b, v_e, v, p) - p.v_fe_max, rest, words)


def _current(b: Any, v_e: Any, v: Any, p: Any) -> Any:
    return p.k_e * v_e + quadratic_saturation(b, v_e, p.e_1, p.se_1, p.e_2, p.se_2) + p.k_d * v.i_f


class RateFeedback(Alternator, part=True):
    """What types AC1, AC1A and AC2 share: lead-lag, regulator, and feedback of v_fe by its rate."""

    states: ClassVar[tuple[str, ...]] = ("v_m", "x_l", "v_a", "v_e", "x_f")

    t_b = Parameter("s", "lag time constant before the regulator", nonnegative)
    t_c = Parameter("s", "lead time constant before the regulator", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, lead-lag, regulator, exciter and feedback."""
        v_fe = cls.field_current(b, v, p)
        fed_back = b.rate("x_f", v_fe, "k_f", "t_f")
        led = b.lead_lag("x_l", v.v_ref + v.v_s - measured(b, v) - fed_back, "t_c", "t_b")
        cls.alternator(b, v, p, cls.driving(b, p, p.k_a * led, v_fe), v_fe)

    @classmethod
    def driving(cls, b: Any, p: Any, amplified: Any, v_fe: Any) -> Any:
        """Connect the regulator, and return what drives the exciter."""
        v_a = b.lag("v_a", amplified, "t_a", ("v_a_min", "v_a_max"))
        return b.named("v_r", b.limit(b.gated(cls.second_stage(b, p, v_a, v_fe)), "v_r_min", "v_r_max"))

    @classmethod
    def second_stage(cls, b: Any, p: Any, v_a: Any, v_fe: Any) -> Any:
        """Return what is left of the regulator's output behind the feedback of v_fe."""
        return v_a


class EXAC1(RateFeedback):
    """Alternator with uncontrolled rectifier, IEEE type AC1 (1981).

    i_f is the field current of the machine. Source: IEEE Committee Report, Excitation System Models for Power
    System Stability Studies (1981), type AC1; PSS/E, Model Library, EXAC1.
    """

    records = ("EXAC1 t_r t_b t_c k_a t_a v_r_max v_r_min t_e k_f t_f k_c k_d k_e e_1 se_1 e_2 se_2",)
    states = ("v_m", "x_l", "v_r", "v_e", "x_f")

    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")

    @classmethod
    def driving(cls, b: Any, p: Any, amplified: Any, v_fe: Any) -> Any:
        """Connect the regulator, which drives the exciter itself."""
        return b.lag("v_r", amplified, "t_a", ("v_r_min", "v_r_max"))


class ESAC1A(RateFeedback):
    """Alternator with uncontrolled rectifier, IEEE type AC1A (1992), with its limiters' gates behind v_a.

    Source: IEEE Std 421.5-2005, type AC1A; PSS/E, Model Library, ESAC1A.
    """

    places = {"oel": 2, "uel": 2}

    records = (
        "ESAC1A t_r t_b t_c k_a t_a v_a_max v_a_min t_e k_f t_f k_c k_d k_e e_1 se_1 e_2 se_2 v_r_max "
        "v_r_min",
    )

    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    v_r_max = Parameter("pu", "upper limit of the exciter's input")
    v_r_min = Parameter("pu", "lower limit of the exciter's input")


class EXAC2(RateFeedback):
    """Alternator with uncontrolled rectifier, IEEE type AC2 (1981): feedback and limit of its field current.

    Source: IEEE Committee Report, Excitation System Models for Power System Stability Studies (1981), type
    AC2; PSS/E, Model Library, EXAC2.
    """

    records = (
        "EXAC2 t_r t_b t_c k_a t_a v_a_max v_a_min k_b v_r_max v_r_min t_e k_l k_h k_f t_f k_c k_d "
        "k_e v_lr e_1 se_1 e_2 se_2",
    )

    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    k_b = Parameter("pu", "gain of the second stage", positive)
    v_r_max = Parameter("pu", "upper limit of the exciter's input")
    v_r_min = Parameter("pu", "lower limit of the exciter's input")
    k_l = Parameter("pu", "gain of the limiter of the exciter's field current", nonnegative)
    k_h = Parameter("pu", "gain of the feedback of the exciter's field current", nonnegative)
    v_lr = Parameter("pu", "limit of the exciter's field current")

    @classmethod
    def second_stage(cls, b: Any, p: Any, v_a: Any, v_fe: Any) -> Any:
        """Return the lower of regulator and limiter, amplified."""
        return p.k_b * b.min(v_a - p.k_h * v_fe, p.k_l * (p.v_lr - v_fe))


class ESAC2A(RateFeedback):
    """Alternator with uncontrolled rectifier, IEEE types AC2A, AC1C, AC2C, with feedback of its current.

    v_e_max is the v_e at which v_fe would be v_fe_max. The gates of limiters are behind the second stage:
    codes 2 of oel and uel, the first two numbers of AC1C and AC2C. AC1C is k_b = 1 and k_h = 0. Source:
    IEEE Std 421.5-2005, type AC2A; IEEE Std 421.5-2016, types AC1C and AC2C, whose E_FEmax is v_r_max; PSS/E,
    Model Library, ESAC2A; the orders of the values are those of records of PSS/E 36 in InterPSS' public test
    data.
    """

    records = (
        "AC1C oel uel t_r t_b t_c k_a t_a v_a_max v_a_min t_e k_f t_f k_c k_d k_e e_1 se_1 e_2 se_2 "
        "v_r_max v_r_min v_fe_max v_e_min",
        "AC2C oel uel t_r t_b t_c k_a t_a v_a_max v_a_min k_b v_r_max v_r_min t_e v_fe_max k_h k_f t_f k_c "
        "k_d k_e e_1 se_1 e_2 se_2 v_e_min",
        "ESAC2A t_r t_b t_c k_a t_a v_a_max v_a_min k_b v_r_max v_r_min t_e v_fe_max k_h k_f t_f k_c k_d "
        "k_e e_1 se_1 e_2 se_2",
    )

    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    k_b = Parameter("pu", "gain of the second stage", positive, 1.0)
    v_r_max = Parameter("pu", "upper limit of the exciter's input")
    v_r_min = Parameter("pu", "lower limit of the exciter's input")
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)", positive)
    v_fe_max = Parameter("pu", "upper limit of the exciter's field current", positive)
    k_h = Parameter("pu", "gain of the feedback of the exciter's field current", nonnegative, 0.0)
    oel, uel = place_of("OEL", default=2.0), place_of("UEL", default=2.0)

    @classmethod
    def second_stage(cls, b: Any, p: Any, v_a: Any, v_fe: Any) -> Any:
        """Return the output less the feedback, amplified."""
        return p.k_b * (v_a - p.k_h * v_fe)


class ESAC6A(Alternator):
    """Alternator with uncontrolled rectifier, IEEE type AC6A (1992), with a limiter of its field current.

    The limits [v_a_min, v_a_max] hold for the output of the regulator's lead-lag and, without windup, for its
    state. Source: IEEE Std 421.5-2005, type AC6A, without its overexcitation limiter's gate; PSS/E, Model
    Library, ESAC6A.
    """

    records = (
        "ESAC6A t_r k_a t_a t_k t_b t_c v_a_max v_a_min v_r_max v_r_min t_e v_fe_lim k_h v_h_max t_h "
        "t_j k_c k_d k_e e_1 se_1 e_2 se_2",
    )

    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "lag time constant of the regulator", nonnegative)
    t_k = Parameter("s", "lead time constant of the regulator", nonnegative)
    t_b = Parameter("s", "lag time constant behind the regulator", nonnegative)
    t_c = Parameter("s", "lead time constant behind the regulator", nonnegative)
    v_a_max = Parameter("pu", "upper limit of the regulator")
    v_a_min = Parameter("pu", "lower limit of the regulator")
    v_r_max = Parameter("pu", "upper limit of the exciter's input at rated bus voltage")
    v_r_min = Parameter("pu", "lower limit of the exciter's input at rated bus voltage")
    v_fe_lim = Parameter("pu", "field current of the exciter at which its limiter begins")
    k_h = Parameter("pu", "gain of the limiter of the exciter's field current", nonnegative)
    v_h_max = Parameter("pu", "upper limit of this limiter's output", nonnegative)
    t_h = Parameter("s", "lag time constant of this limiter", nonnegative)
    t_j = Parameter("s", "lead time constant of this limiter", nonnegative)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, regulator, lead-lags and exciter."""
        magnitude, v_fe = b.magnitude(v.v_re, v.v_im), cls.field_current(b, v, p)
        error = v.v_ref + v.v_s - measured(b, v)
        regulated = b.lead_lag("x_a", p.k_a * error, "t_k", "t_a", ("v_a_min", "v_a_max"))
        led = b.named("v_l", b.lead_lag("x_l", regulated, "t_c", "t_b"))
        beyond = b.min(b.max(p.k_h * (v_fe - p.v_fe_lim), 0), p.v_h_max)
        held = b.named("v_h", b.lead_lag("x_h", beyond, "t_j", "t_h"))
        v_r = b.limit(led - held, "v_r_min", "v_r_max", magnitude)
        cls.alternator(b, v, p, b.named("v_r", v_r), v_fe)


class ESAC4A(Regulator):
    """Alternator with controlled rectifier, IEEE types AC4 (1981), AC4A (1992) and AC4C (2016).

    The limits hold without windup; i_f is the field current of the machine. The gates of limiters are
    behind the lead-lag: codes 2 of oel and uel, the first two numbers of AC4C. Source: IEEE Std
    421.5-2005, type AC4A; IEEE Std 421.5-2016, type AC4C; PSS/E, Model Library, ESAC4A, EXAC4; the orders
    of the values are those of records of PSS/E 36 in InterPSS' public test data.
    """

    records = tuple(
        f"{model} t_r v_i_max v_i_min t_c t_b k_a t_a v_r_max v_r_min k_c"
        for model in ("AC4C oel uel", "ESAC4A", "EXAC4")
    )
    inputs = WITH_FIELD_CURRENT

    v_i_max = Parameter("pu", "upper limit of the voltage error", positive)
    v_i_min = Parameter("pu", "lower limit of the voltage error")
    t_c = Parameter("s", "lead time constant before the regulator", nonnegative)
    t_b = Parameter("s", "lag time constant before the regulator", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the field voltage without field current")
    v_r_min = Parameter("pu", "lower limit of the field voltage")
    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)
    oel, uel = place_of("OEL"), place_of("UEL", default=2.0)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect transducer, lead-lag and regulator."""
        error = b.limit(v.v_ref + v.v_s - measured(b, v), "v_i_min", "v_i_max")
        led = b.gated(b.lead_lag("x_l", error, "t_c", "t_b"))
        v_r = b.lag("v_r", p.k_a * led, "t_a", ("v_r_min", "v_r_high"))
        b.ordered("v_r_min", "v_r_max")
        b.output("v_f", v_r)
        b.output("v_r_high", p.v_r_max - p.k_c * v.i_f)
