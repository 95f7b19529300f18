"""Exciters with an over-excitation limiter of their own: GENERIC1 and GENERIC, of the Nordic system.

i_f is the field current of the machine, 1 at rated voltage on the open, unsaturated stator, as is v_f.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, negative, nonnegative, positive
from psmr.devices.exciters.exciter import (
    WITH_FIELD_CURRENT,
    Exciter,
    flag_of,
    regulated_voltage,
    switched,
    takes_over,
    until,
)


class GENERIC1(Exciter):
    """Exciter with transient gain reduction and an over-excitation limiter that takes over after a time.

    The timer y runs at f + s (i_f - i_f_lim) while the field current is above its limit: a fixed time with
    s = 0, an inverse one with f = 0. It stands while the current is less than -d below, else it goes back at
    k_2. Where it has run out, y >= 0, the lower of the errors of voltage and field current goes to the
    regulator, which keeps the current within its dead band [d, 0]; it lets go where y falls below 0. A
    stabiliser is a device of its own: K_p s/(1 + s T_w) and two lead-lags are STAB1 with k_t = K_p/T_w.
    Source: IEEE PES-TR19, Test Systems for Voltage Stability Analysis and Security Assessment (2015), figure
    6, as Nordic_test_system_V6 prints it; RAMSES, EXC GENERIC1, whose value K1 is in no such figure.
    """

    inputs = WITH_FIELD_CURRENT
    acts_on = "source"
    timers = ("y",)
    units = {"y": "s"}
    memory = ("above", "below", "limiting")
    actions = (
        *switched("above", lambda m, v, p: v.i_f - p.i_f_lim),
        *switched("below", lambda m, v, p: p.i_f_lim + p.d - v.i_f),
        *takes_over(lambda m, v, p: v.y),
    )

    i_f_lim = Parameter("pu", "limit of the field current", positive)
    d = Parameter("pu", "lower end of the band about the limit in which the timer stands", negative)
    f = Parameter("1", "rate of the timer above the limit", nonnegative)
    s = Parameter("1/pu", "rate of the timer by the excess of the field current", nonnegative)
    k_2 = Parameter("1", "rate of the timer below the band", negative, default=-1.0)
    l_1 = Parameter("s", "where the timer begins", negative)
    l_2 = Parameter("s", "how far the timer goes", positive, default=10.0)
    g = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "lead time constant of the regulator", nonnegative)
    t_b = Parameter("s", "lag time constant of the regulator", nonnegative)
    t_e = Parameter("s", "time constant of the exciter", nonnegative)
    l_3 = Parameter("pu", "lower limit of the field voltage")
    l_4 = Parameter("pu", "upper limit of the field voltage")
    above = flag_of("the field current is above its limit")
    below = flag_of("the field current is below the band", 1.0)
    limiting = flag_of("the timer has run out")

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a timer that does not run."""
        return (
            "f = s = 0: one of them must be > 0, or the timer never runs" if p["f"] == 0 == p["s"] else None
        )

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the limit of the field current."""
        return {"i_f": p["i_f_lim"]}

    @staticmethod
    def time_left(v: Any, p: Any) -> Any:
        """Return the time until the timer has run out."""
        return until(v.y, 0, p.above * (p.f + p.s * (v.i_f - p.i_f_lim)))

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect limiter, gate, regulator and exciter."""
        excess = b.named("x", v.i_f - p.i_f_lim)
        rate = p.above * (p.f + p.s * excess) + p.below * p.k_2
        b.timer("y", rate, ("l_1", "l_2"), "f + s x where x > 0, k_2 where x < d, 0 between")
        error = b.named("e", v.v_ref + v.v_s - regulated_voltage(b, v))
        # A gate that is closed until the timer has run out, which is when the flag is set.
        lower = b.named(
            "u", b.where(b.ge(p.limiting, 0.5), b.min(error, -excess), error), "e, min(e, -x) where y >= 0"
        )
        b.lag("v_f", p.g * b.lead_lag("x_l", lower, "t_a", "t_b"), "t_e", ("l_3", "l_4"))


class GENERIC(Exciter):
    """Exciter with transient gain reduction and an over-excitation limiter that lowers its reference.

    The excess of the field current, at most if_2_lim of it, is integrated up from l_1; from 0 on it takes
    k_oel y off the error, at most l_3. A stabiliser is a device of its own, as for GENERIC1. Source: RAMSES,
    EXC exc_GENERIC, as its documentation and its published code for user models (exc_GENERIC3) have it.
    """

    inputs = WITH_FIELD_CURRENT
    acts_on = "source"
    timers = ("y",)
    memory = ("limiting",)
    actions = takes_over(lambda m, v, p: v.y)

    g = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "lead time constant of the regulator", nonnegative)
    t_b = Parameter("s", "lag time constant of the regulator", nonnegative)
    t_e = Parameter("s", "time constant of the exciter", nonnegative)
    v_f_min = Parameter("pu", "lower limit of the field voltage")
    v_f_max = Parameter("pu", "upper limit of the field voltage")
    if_1_lim = Parameter("pu", "limit of the field current", positive)
    if_2_lim = Parameter("pu", "most of the excess that is integrated", positive)
    t_oel = Parameter("s", "time constant of the limiter", positive)
    k_oel = Parameter("pu", "gain of the limiter", positive)
    l_1 = Parameter("pu", "where the limiter's integral begins", negative)
    l_2 = Parameter("pu", "how far it goes", positive)
    l_3 = Parameter("pu", "most that is taken off the error", positive)
    limiting = flag_of("the limiter takes something off the error")

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the limit of the field current."""
        return {"i_f": p["if_1_lim"]}

    @staticmethod
    def time_left(v: Any, p: Any) -> Any:
        """Return the time until the limiter takes something off the error."""
        return until(v.y, 0, np.minimum(v.i_f - p.if_1_lim, p.if_2_lim) / p.t_oel)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect limiter, regulator and exciter."""
        excess = b.min(v.i_f - p.if_1_lim, p.if_2_lim)
        y = b.timer("y", excess / p.t_oel, ("l_1", "l_2"))
        taken = b.named("v_oel", b.min(b.max(p.k_oel * y, 0), p.l_3))
        error = v.v_ref + v.v_s - regulated_voltage(b, v) - taken
        led = b.lead_lag("x_l", error, "t_a", "t_b")
        b.lag("v_f", p.g * led, "t_e", ("v_f_min", "v_f_max"))
