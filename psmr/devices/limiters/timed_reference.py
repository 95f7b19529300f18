"""What OEL2C and SCL2C share: a reference that an inverse time brings down, and the regulator behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Action, Parameter, nonnegative, positive
from psmr.devices.exciters.exciter import Condition, flag_of, switched, until
from psmr.devices.limiters.limiter import NEAR, Limiter, limits_of, power


class TimedReference(Limiter, part=True):
    """A limiter whose reference goes down from i_inst to i_lim at the end of a count, and up again after it.

    The parameter that `end` names is the count at which it goes down.
    """

    end: ClassVar[str]
    units: ClassVar[Mapping[str, str]] = {"timer": "s"}

    i_reset = Parameter("pu", "addition to the reference where it is not active")
    t_off = Parameter("s", "time below i_inst after which it is not", nonnegative)
    ith_off = Parameter("pu", "by how much below", nonnegative)
    itf_pu = Parameter("pu", "reference of the inverse time", positive)
    i_inst = Parameter("pu", "instantaneous limit", positive)
    i_lim = Parameter("pu", "thermal limit", positive)
    t_a = Parameter("s", "time constant of the reference", nonnegative)
    c_1 = Parameter("1", "exponent of the rate of the reference", nonnegative)
    k_1 = Parameter("pu/s", "gain of the rate of the reference")
    c_2 = Parameter("1", "exponent of the inverse time", nonnegative)
    k_2 = Parameter("1", "gain of the inverse time")
    v_inv_max, v_inv_min = limits_of("the inverse time")
    fixed_ru = Parameter("1", "rate of the count up to itf_pu")
    fixed_rd = Parameter("1", "rate of the count above itf_pu")
    t_max = Parameter("s", "upper limit of the count")
    t_min = Parameter("s", "lower limit of the count")
    k_fb = Parameter("1/s", "feedback of the count", nonnegative)
    k_rd = Parameter("pu/s", "rate of the reference downwards")
    k_ru = Parameter("pu/s", "rate of the reference upwards")
    k_zru = Parameter("1", "part of the count that has to be left for the reference to rise", nonnegative)
    above = flag_of("the current is above itf_pu")
    rising = flag_of("the reference rises", 1.0)
    falling = flag_of("the reference falls")

    @classmethod
    def objection(cls, p: Mapping[str, float]) -> str | None:
        """Object to a count that does not reach its end."""
        if p["t_max"] < p[cls.end]:
            least = f"{cls.end} = {p[cls.end]:g}"
            return f"t_max = {p['t_max']:g}: must be at least {least}, or it never acts"
        return None

    @classmethod
    def time_left(cls, v: Any, p: Any) -> Any:
        """Return the time until the count is at its end."""
        inverse = p.k_2 * (np.maximum(v.i / p.itf_pu, NEAR) ** p.c_2 - 1)
        rate = p.fixed_ru + p.above * (p.fixed_rd - p.fixed_ru) - p.k_fb * v.timer
        return until(v.timer, getattr(p, cls.end), rate + np.clip(inverse, p.v_inv_min, p.v_inv_max))

    @staticmethod
    def reference(b: Any, v: Any, p: Any, i: Any, inverse_rates: Any) -> Any:
        """Return the reference for a measured current, by the inverse time or at the fixed rates."""
        inverse = p.k_2 * (power(b, i / p.itf_pu, p.c_2) - 1)
        inverse = b.named(
            "w", b.clip(inverse, p.v_inv_min, p.v_inv_max), "k_2 ((i/itf_pu)^c_2 - 1) in its limits"
        )
        rate = p.fixed_ru + p.above * (p.fixed_rd - p.fixed_ru) + inverse - p.k_fb * v.timer
        words = "fixed_rd where i > itf_pu, else fixed_ru, + w - k_fb timer"
        b.timer("timer", rate, ("t_min", "t_max"), words)
        own = p.k_1 * (power(b, i / p.itf_pu, p.c_1) - 1)
        up, down = (b.where(inverse_rates, own, rate) for rate in (p.k_ru, p.k_rd))
        words = "k_ru or k_rd, or by sw_1 k_1 ((i/itf_pu)^c_1 - 1)"
        slope = p.rising * up + (1 - p.rising) * p.falling * down
        return b.timer("i_ref", slope, ("i_lim", "i_inst"), words, rests=1)


def counting(end: str) -> tuple[Action, ...]:
    """Return the actions of the count, and of the reference that rises."""
    return (
        # A regulator may hold the current at itf_pu itself, where rounding would switch without end.
        *switched("above", lambda m, v, p: v.i - p.itf_pu, lambda m, v, p: p.itf_pu - 1e-6 - v.i),
        *switched("rising", lambda m, v, p: getattr(p, end) * (1 - p.k_zru) - v.timer),
    )


def activity(flag: str, t_en: str, below: Condition, over: Condition, ended: Condition) -> tuple[Action, ...]:
    """Return how a regulator is inactive after t_off `below`, active after t_en `over` or where `ended`."""
    return (
        *switched(flag, below, ended, delay=lambda p: p.t_off),
        Action(
            "",
            lambda m, v, p: m.min(over(m, v, p), getattr(p, flag) - 0.5),
            lambda p: getattr(p, t_en),
            lambda v, p: {flag: 0.0},
        ),
    )


def regulated(b: Any, output: str, error: Any, side: str, tail: str, rests: int) -> None:
    """Connect the PID and the two lead-lags of one side; `tail` ends the names of its parameters."""
    third, second, first = ((f"v_{side}_min{k}", f"v_{side}_max{k}") for k in (3, 2, 1))
    gains = (f"k_p{tail}", f"k_i{tail}", f"k_d{tail}")
    x = b.pid((f"x_i{tail}", f"x_d{tail}"), error, gains, f"t_d{tail}", third, rests=rests)
    x = b.lead_lag(f"x_2{tail}", x, f"t_c2{tail}", f"t_b2{tail}", second)
    b.output(output, b.lead_lag(f"x_1{tail}", x, f"t_c1{tail}", f"t_b1{tail}", first))
