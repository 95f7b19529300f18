"""Over-excitation limiters: OEL1B to OEL5C of IEEE Std 421.5-2016, MAXEX1 and MAXEX2 of PSS/E."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import NumericMath, Parameter, negative, nonnegative, positive, whole
from psmr.devices.blocks import through_points
from psmr.devices.exciters.exciter import flag_of, switched, until
from psmr.devices.limiters.limiter import (
    NEAR,
    STATOR,
    Limiter,
    lead_and_lag,
    limits_of,
    pid_gains,
    power,
    reactive,
)
from psmr.devices.limiters.timed_reference import TimedReference, activity, counting, regulated

ANSI = 33.75
"""Overload (i^2 - 1) t in s that a field winding bears by ANSI C50.13: 2.09 for 10 s, 1.13 for 120 s."""


class OverExcitationLimiter(Limiter, part=True):
    """A limiter of the field current or, by a code, of the field voltage."""

    role = "over_excitation_limiter"
    inputs: ClassVar[tuple[str, ...]] = ("i_f", "v_f")


INPUT = Parameter("code", "what it limits: 1 field voltage, 2 field current", whole(1, 2), 2.0)


def measured(b: Any, v: Any, p: Any) -> Any:
    """Return what the code `input` says."""
    return b.named("x", b.where(b.ge(p.input, 2), v.i_f, v.v_f), "i_f with input = 2, v_f with 1")


def rest_limit(p: Mapping[str, float], value: float) -> Mapping[str, float]:
    """Return the highest value at rest of what the code `input` says."""
    return {"i_f" if p["input"] == 2 else "v_f": value}


class OEL1B(OverExcitationLimiter):
    """Over-excitation limiter with an instantaneous limit that comes down to a timed one, IEEE type OEL1B.

    Above itf_pu the overload theta is counted by ANSI C50.13, (i^2 - 1)/33.75 s, below itf_pu - hyst it
    cools down at k_cd (itf_pu^2 - i^2)/33.75 s. From theta = 1 until it is 0 again the limit goes down at
    k_ramp, otherwise up. The signal is the limit of the field voltage at rest, for the low-value gate of
    a static exciter. Source: IEEE Std 421.5-2005, clause 9, and 2016, type OEL1B; GridKit (ORNL) and
    PowerWorld for its parameters. That the cooling is measured as the overload is psmr's reading.
    """

    records = ("OEL1B itf_pu ifd_max ifd_lim hyst k_cd k_ramp ifd_rated",)
    inputs = ("i_f",)
    acts_at = "gate"
    memory = ("above", "timed_out")
    units = {"theta": "1"}
    actions = (
        *switched(
            "above",
            lambda m, v, p: v.i_f / p.ifd_rated - p.itf_pu,
            lambda m, v, p: p.itf_pu - p.hyst - v.i_f / p.ifd_rated,
        ),
        *switched("timed_out", lambda m, v, p: v.theta - 1 + NEAR, lambda m, v, p: NEAR - v.theta),
    )

    itf_pu = Parameter("pu", "current above which the overload is counted, by ifd_rated", positive)
    ifd_max = Parameter("pu", "instantaneous limit, by ifd_rated", positive)
    ifd_lim = Parameter("pu", "timed limit, by ifd_rated", positive)
    hyst = Parameter("pu", "by how much less the counting ends", nonnegative)
    k_cd = Parameter("1", "gain of the cooling", nonnegative)
    k_ramp = Parameter("pu/s", "rate of the limit, by ifd_rated", positive)
    ifd_rated = Parameter("pu", "rated field current", positive, 1.0)
    none = Parameter("1", "least overload", default=0.0)
    full = Parameter("1", "overload that is borne", default=1.0)
    above = flag_of("the overload is counted")
    timed_out = flag_of("the timed limit holds")

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the current above which the overload is counted."""
        return {"i_f": p["itf_pu"] * p["ifd_rated"]}

    @staticmethod
    def time_left(v: Any, p: Any) -> Any:
        """Return the time until the overload is full."""
        return until(v.theta, 1 - NEAR, p.above * ((v.i_f / p.ifd_rated) ** 2 - 1) / ANSI)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect timer and ramp."""
        i = b.named("i", v.i_f / p.ifd_rated)
        rate = (p.above * (i**2 - 1) - (1 - p.above) * p.k_cd * (p.itf_pu**2 - i**2)) / ANSI
        words = "(i^2 - 1)/33.75 counting, -k_cd (itf_pu^2 - i^2)/33.75 cooling"
        b.timer("theta", rate, ("none", "full"), words)
        ramp = p.k_ramp * (1 - 2 * p.timed_out)
        level = b.timer("level", ramp, ("ifd_lim", "ifd_max"), "-k_ramp timed out, else k_ramp", rests=1)
        b.output("v_oel", p.ifd_rated * level)


class MaximumExcitation(OverExcitationLimiter, part=True):
    """Maximum excitation limiters of PSS/E: three points of a time, then an integral."""

    acts_at = "error"
    memory = ("running", "latched")
    units = {"theta": "1"}

    time_1 = Parameter("s", "time at point 1", positive)
    time_2 = Parameter("s", "time at point 2", positive)
    time_3 = Parameter("s", "time at point 3", positive)
    des_1 = Parameter("pu", "point 1, by the rated value", positive)
    des_2 = Parameter("pu", "point 2, by the rated value", positive)
    des_3 = Parameter("pu", "point 3, by the rated value", positive)
    rated = Parameter("pu", "rated value of what it limits", positive)
    desired = Parameter("pu", "value to which it limits, by the rated one", positive)
    k_mx = Parameter("1/s", "gain of the integral", positive)
    v_low = Parameter("pu", "lower limit of the signal", negative)
    none = Parameter("1", "least value of the timer, and most of the signal", default=0.0)
    running = flag_of("the timer runs: its upper limit")
    latched = flag_of("the integral acts")

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to points that do not rise, and to a value beyond the first."""
        if not p["des_1"] < p["des_2"] < p["des_3"]:
            return f"des_1 = {p['des_1']:g}, des_2 = {p['des_2']:g}, des_3 = {p['des_3']:g}: must rise"
        if p["desired"] > p["des_1"]:
            return f"desired = {p['desired']:g}: must be at most des_1 = {p['des_1']:g}, or it never lets go"
        return None

    @classmethod
    def signal(cls, b: Any, v: Any, p: Any) -> Any:
        """Return what it limits."""
        raise NotImplementedError

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect timer and integral."""
        x = cls.signal(b, v, p)
        time = b.polygon(x / p.rated, [(p.des_1, p.time_1), (p.des_2, p.time_2), (p.des_3, p.time_3)])
        time = b.named("t", time, "polygon (des_1, time_1) to (des_3, time_3), by the rated value")
        b.state("theta", p.none - v.theta if b.opened else 1 / time, limits=("none", "running"))
        b.timer("v_oel", p.latched * p.k_mx * (p.desired * p.rated - x), ("v_low", "none"), rests=1)


def _rate(p: Any, x: Any) -> Any:
    """Return the rate of the timer of a maximum excitation limiter."""
    return p.running / through_points(
        NumericMath, x / p.rated, [(getattr(p, f"des_{k}"), getattr(p, f"time_{k}")) for k in (1, 2, 3)]
    )


def _of_points(signal: Any) -> tuple[Any, ...]:
    """Return how the timer of a maximum excitation limiter runs, and when its integral acts."""
    return (
        *switched("running", lambda m, v, p: signal(m, v, p) / p.rated - p.des_1),
        *switched(
            "latched",
            lambda m, v, p: v.theta - 1 + NEAR,
            lambda m, v, p: m.min(v.v_oel + NEAR, p.desired * p.rated - signal(m, v, p)),
        ),
    )


class MAXEX1(MaximumExcitation):
    """Maximum excitation limiter on the field voltage.

    theta counts to 1 in the time of the polygon through three points while the field voltage is above the
    first, and is 0 below. From then on the signal is an integral within [v_low, 0], until it has come
    back to 0 with the voltage below `desired`. Source: PSS/E, Model Library, MAXEX1; PowerWorld, MAXEX1,
    for the order of its values; Dynawo and RAMSES (MAXEX2) for the blocks.
    """

    records = ("MAXEX1 rated des_1 time_1 des_2 time_2 des_3 time_3 desired k_mx v_low",)
    inputs = ("v_f",)
    actions = _of_points(lambda m, v, p: v.v_f)

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the first point."""
        return {"v_f": p["des_1"] * p["rated"]}

    @staticmethod
    def time_left(v: Any, p: Any) -> Any:
        """Return the time until the timer has run out."""
        return until(v.theta, 1 - NEAR, _rate(p, v.v_f))

    @classmethod
    def signal(cls, b: Any, v: Any, p: Any) -> Any:
        """Return the field voltage."""
        return v.v_f


class MAXEX2(MaximumExcitation):
    """Maximum excitation limiter on the field voltage (code 0) or the field current (1): else as `MAXEX1`.

    Source: PSS/E, Model Library, MAXEX2; PowerWorld, MAXEX2, for the order of its values; Dynawo and
    RAMSES for the blocks.
    """

    records = ("MAXEX2 ic rated des_1 time_1 des_2 time_2 des_3 time_3 desired k_mx v_low",)
    actions = _of_points(lambda m, v, p: m.where(m.ge(p.ic, 1), v.i_f, v.v_f))

    ic = Parameter("code", "what it limits: 0 field voltage, 1 field current", whole(0, 1), 1.0)

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the first point."""
        return {"i_f" if p["ic"] else "v_f": p["des_1"] * p["rated"]}

    @staticmethod
    def time_left(v: Any, p: Any) -> Any:
        """Return the time until the timer has run out."""
        return until(v.theta, 1 - NEAR, _rate(p, np.where(p.ic >= 1, v.i_f, v.v_f)))

    @classmethod
    def signal(cls, b: Any, v: Any, p: Any) -> Any:
        """Return what the code says."""
        return b.named("x", b.where(b.ge(p.ic, 1), v.i_f, v.v_f), "i_f with ic = 1, v_f with 0")


class OEL3C(OverExcitationLimiter):
    """Over-excitation limiter at the error with an integral of the excess, IEEE type OEL3C.

    The proportional part acts while the integral is below 0. Source: IEEE Std 421.5-2016, type OEL3C, as
    Dynawo has it; the order of the record is that of PowerWorld's list.
    """

    records = (
        "OEL3C input itf_pu k_scale t_f k_1 k_oel t_oel k_poel v_oel_max1 v_oel_min1 v_oel_max2 v_oel_min2",
    )

    acts_at = "error"

    input = INPUT
    itf_pu = Parameter("pu", "level above which it integrates down", positive)
    k_scale = Parameter("1", "scale of what it reads", positive, 1.0)
    t_f = Parameter("s", "time constant of the measurement", nonnegative)
    k_1 = Parameter("1", "exponent of the error", positive)
    k_oel = Parameter("pu", "gain", positive)
    t_oel = Parameter("s", "integral time constant", positive)
    k_poel = Parameter("pu", "proportional gain", nonnegative)
    v_oel_max1, v_oel_min1 = limits_of("the integral")
    v_oel_max2, v_oel_min2 = limits_of("the signal")

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the level, unscaled."""
        return rest_limit(p, p["itf_pu"] / p["k_scale"])

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect measurement, error, integral and proportional part."""
        i = b.lag("i", p.k_scale * measured(b, v, p), "t_f")
        error = p.k_oel * (b.exp(p.k_1 * b.log(p.itf_pu)) - power(b, i, p.k_1))
        error = b.named("e", error, "k_oel (itf_pu^k_1 - i^k_1)")
        x = b.timer("x", error / p.t_oel, ("v_oel_min1", "v_oel_max1"), rests=1)
        both = x + p.k_poel * b.where(b.ge(x, 0), 0, error)
        b.output("v_oel", b.limit(both, "v_oel_min2", "v_oel_max2"))


class OEL4C(OverExcitationLimiter):
    """Limiter of the reactive power at the error, IEEE type OEL4C.

    When q has been above q_ref for t_delay the regulator acts, until its integral is back at 0 with q
    below q_ref; Dynawo stops it, and keeps its integral, where q falls below q_ref. Source: IEEE Std
    421.5-2016, type OEL4C; the order of the record is that of PowerWorld's list.
    """

    records = ("OEL4C q_ref t_delay k_p k_i v_min",)
    inputs = STATOR
    acts_at = "error"
    memory = ("active",)

    q_ref = Parameter("pu on machine base", "reactive power that it limits")
    t_delay = Parameter("s", "time for which the power has to be above it", nonnegative)
    k_p = Parameter("pu", "proportional gain", nonnegative)
    k_i = Parameter("pu/s", "integral gain", nonnegative)
    v_min = Parameter("pu", "lower limit of the signal", negative)
    none = Parameter("pu", "upper limit of the signal", default=0.0)
    active = flag_of("the regulator acts")
    actions = switched(
        "active",
        lambda m, v, p: reactive(m, v) - p.q_ref,
        lambda m, v, p: m.min(v.x_i + NEAR, p.q_ref - reactive(m, v)),
        delay=lambda p: p.t_delay,
    )

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect error and regulator."""
        error = p.active * (p.q_ref - b.named("q", reactive(b, v), "the reactive power"))
        regulated = b.pi("x_i", error, "k_p", "k_i", ("v_min", "none"), rests=1)
        b.output("v_oel", regulated)


class OEL5C(OverExcitationLimiter):
    """Over-excitation limiter that takes over, with an inverse time or a level, IEEE type OEL5C.

    The inverse time latches at ifd_lim and lets go at 0; while it is latched the reference is ifd_ref2.
    Where neither it nor the level acts, the signal is i_bias. The exciter's field current in place of
    i_bias (sw_1 = 2) is not modelled. Source: IEEE Std 421.5-2016, type OEL5C, as Dynawo has it; the
    order of the record is that of PowerWorld's list, with the switch behind the input.
    """

    records = (
        "OEL5C input sw_1=1 ifd_pu ifd_lim v_oel_max1 t_oel k_ifdt k t_coel t_boel ifd_pulev t_ifdlev "
        "ifd_ref1 ifd_ref2 k_poel k_ioel v_oel_max v_oel_min -k_pvfe -k_ivfe -v_vfe_max -v_vfe_min k_scale1 "
        "t_f1 -k_scale2 -t_f2 -v_fe_ref i_bias k_1",
    )
    memory = ("latched", "level")
    units = {"theta": "pu s"}
    actions = (
        *switched("latched", lambda m, v, p: v.theta - p.ifd_lim, lambda m, v, p: NEAR - v.theta),
        *switched("level", lambda m, v, p: v.i - p.ifd_pulev, delay=lambda p: p.t_ifdlev),
    )

    input = INPUT
    ifd_pu = Parameter("pu", "level above which the inverse time counts", positive)
    ifd_lim = Parameter("pu s", "count at which it latches", positive)
    v_oel_max1 = Parameter("pu s", "upper limit of the count", positive)
    t_oel = Parameter("s", "time constant of the count", positive)
    k_ifdt = Parameter("pu", "leak of the count", nonnegative)
    k = Parameter("pu", "gain of the lead-lag", nonnegative)
    t_coel, t_boel = lead_and_lag("the measurement")
    ifd_pulev = Parameter("pu", "level that acts after t_ifdlev", positive)
    t_ifdlev = Parameter("s", "time of this level", nonnegative)
    ifd_ref1 = Parameter("pu", "reference where the inverse time has not latched")
    ifd_ref2 = Parameter("pu", "reference where it has")
    k_poel = Parameter("pu", "proportional gain", nonnegative)
    k_ioel = Parameter("pu/s", "integral gain", nonnegative)
    v_oel_max, v_oel_min = limits_of("the regulator")
    k_scale1 = Parameter("1", "scale of what it reads", positive, 1.0)
    t_f1 = Parameter("s", "time constant of the measurement", nonnegative)
    i_bias = Parameter("pu", "signal where it does not act")
    k_1 = Parameter("1", "exponent of the inverse time", positive, 1.0)
    none = Parameter("pu s", "least count", default=0.0)
    latched = flag_of("the inverse time acts")
    level = flag_of("the level acts")

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a count that does not reach its latch."""
        if p["ifd_lim"] >= p["v_oel_max1"]:
            return f"ifd_lim = {p['ifd_lim']:g}: must be below v_oel_max1 = {p['v_oel_max1']:g}"
        return None

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return what the count bears at rest, unscaled."""
        return rest_limit(p, (p["ifd_pu"] + p["k_ifdt"] * p["ifd_lim"]) ** (1 / p["k_1"]) / p["k_scale1"])

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect measurement, inverse time, regulator and switches."""
        i = b.lag("i", p.k_scale1 * measured(b, v, p), "t_f1")
        count = (power(b, i, p.k_1) - p.ifd_pu - p.k_ifdt * v.theta) / p.t_oel
        b.timer("theta", count, ("none", "v_oel_max1"))
        reference = p.ifd_ref1 + p.latched * (p.ifd_ref2 - p.ifd_ref1)
        error = b.named("e", reference - p.k * b.lead_lag("x_l", i, "t_coel", "t_boel"))
        regulated = b.pi("x_i", error, "k_poel", "k_ioel", ("v_oel_min", "v_oel_max"), rests=1)
        regulated = b.named("regulated", regulated)
        acts = p.latched + p.level
        b.output(
            "v_oel", b.where(b.ge(acts, 0.5), regulated, p.i_bias), "regulated where it acts, else i_bias"
        )


class OEL2C(OverExcitationLimiter, TimedReference):
    """Over-excitation limiter with selectable pick-up and limiting characteristics, IEEE type OEL2C.

    The count `timer` moves by fixed_rd above itf_pu and by fixed_ru below, by the inverse time besides;
    at t_fcl the reference i_ref goes down from i_inst to i_lim, and up again where k_zru t_fcl of it is
    left. i_reset is added to the reference until the limiter is active: at the end of the count, after
    t_en above the reference, or always with t_en = 0; it is inactive again after t_off below i_inst by
    ith_off. The names say that fixed_ru were the one above; Dynawo has it below, and InterPSS too, whose
    tests follow a run of PSS/E. Source: IEEE Std 421.5-2016, type OEL2C; Dynawo and InterPSS; the order
    of the record is that of InterPSS' tests.
    """

    records = (
        "OEL2C input sw_1 t_c1 t_b1 t_c2 t_b2 k_p k_i k_d t_d v_oel_max3 v_oel_min3 v_oel_max2 v_oel_min2 "
        "v_oel_max1 v_oel_min1 i_reset t_en t_off ith_off k_scale t_r k_act itf_pu i_inst i_lim t_a c_1 k_1 "
        "c_2 k_2 v_inv_max v_inv_min fixed_ru fixed_rd t_fcl t_max t_min k_fb k_rd k_ru k_zru "
        "-ifd_rated",
    )
    memory = ("resting", "above", "rising", "falling")
    end = "t_fcl"
    actions = (
        *counting("t_fcl"),
        *switched("falling", lambda m, v, p: v.timer - p.t_fcl + NEAR),
        *activity(
            "resting",
            "t_en",
            lambda m, v, p: m.min(v.i_ref - p.i_inst + NEAR, v.i_ref - p.k_act * v.i - p.ith_off),
            lambda m, v, p: p.k_act * v.i - v.i_ref,
            lambda m, v, p: v.timer - p.t_fcl + NEAR,
        ),
    )

    input = INPUT
    sw_1 = Parameter("code", "rates of the reference: 1 fixed, 2 by the inverse time", whole(1, 2), 1.0)
    t_c1, t_b1 = lead_and_lag("the second lead-lag")
    t_c2, t_b2 = lead_and_lag("the first lead-lag")
    k_p, k_i, k_d, t_d = pid_gains("the regulator")
    v_oel_max3, v_oel_min3 = limits_of("the PID")
    v_oel_max2, v_oel_min2 = limits_of("the first lead-lag")
    v_oel_max1, v_oel_min1 = limits_of("the signal")
    t_en = Parameter("s", "time above the reference after which it is active, 0 for always", nonnegative)
    k_scale = Parameter("1", "scale of what it reads", positive, 1.0)
    t_r = Parameter("s", "time constant of the measurement", nonnegative)
    k_act = Parameter("1", "scale of the actual value", positive, 1.0)
    t_fcl = Parameter("s", "count at which the reference goes down", positive)
    resting = flag_of("it is not active", 1.0)

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the reference of the inverse time, unscaled."""
        return rest_limit(p, p["itf_pu"] / p["k_scale"])

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect measurement, count, reference and regulator."""
        i = b.lag("i", p.k_scale * measured(b, v, p), "t_r")
        i_ref = cls.reference(b, v, p, i, b.ge(p.sw_1, 2))
        reset = p.resting * b.where(b.le(p.t_en, 0), 0, p.i_reset)
        error = b.named("e", b.lag("i_a", i_ref, "t_a") + reset - p.k_act * i)
        regulated(b, "v_oel", error, "oel", "", rests=1)
