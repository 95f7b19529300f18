"""Stator current limiters SCL1C and SCL2C of IEEE Std 421.5-2016."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Action, Parameter, nonnegative, positive, whole
from psmr.devices.exciters.exciter import flag_of, switched
from psmr.devices.limiters.limiter import (
    NEAR,
    STATOR,
    Limiter,
    active,
    lead_and_lag,
    limits_of,
    pid_gains,
    power,
    reactive,
)
from psmr.devices.limiters.timed_reference import TimedReference, activity, counting, regulated


class StatorCurrentLimiter(Limiter, part=True):
    """A limiter of the stator current: it lowers a high excitation and raises a low one."""

    role = "stator_current_limiter"
    inputs: ClassVar[tuple[str, ...]] = STATOR


def stator_current(m: Any, v: Any) -> Any:
    """Return the magnitude of the stator current."""
    return m.sqrt(v.i_d**2 + v.i_q**2)


class SCL1C(StatorCurrentLimiter):
    """Stator current limiter at the error, IEEE type SCL1C.

    It acts t_dscl after the measured current has passed i_scl_lim (sw_2 = 0) or, by an inverse time, when
    the current behind the lag t_inv has (1). With sw_1 = 2 what it regulates is the excess of the current
    to the power k, by the sign of the reactive power beyond v_scl_db; with 1 it is the lesser of this
    excess and of the reactive current beyond its dead band i_q_min, at once. Source: IEEE Std 421.5-2016,
    type SCL1C, as Dynawo has it; the order of the record is that of PowerWorld's list, with the switches
    first.
    """

    records = (
        "SCL1C sw_1 sw_2 i_scl_lim t_it k t_qscl i_q_min v_scl_db t_inv t_dscl k_poex k_ioex k_puex k_iuex "
        "v_scl_max v_scl_min",
    )
    acts_at = "error"
    memory = ("fixed", "inverse")
    actions = (
        *switched("fixed", lambda m, v, p: power(m, v.i_t, p.k) - p.i_scl_lim, delay=lambda p: p.t_dscl),
        *switched("inverse", lambda m, v, p: v.i_inv - p.i_scl_lim),
    )

    sw_1 = Parameter("code", "regulated: 1 reactive current, 2 excess of the current", whole(1, 2), 2.0)
    sw_2 = Parameter("code", "time: 0 fixed, 1 inverse", whole(0, 1), 1.0)
    i_scl_lim = Parameter("pu", "current that it limits", positive)
    t_it = Parameter("s", "time constant of the current", nonnegative)
    k = Parameter("1", "exponent of the current", positive, 1.0)
    t_qscl = Parameter("s", "time constant of the reactive current", nonnegative)
    i_q_min = Parameter("pu", "dead band of the reactive current", nonnegative)
    v_scl_db = Parameter("pu", "dead band of the reactive power", nonnegative)
    t_inv = Parameter("s", "time constant of the inverse time", nonnegative)
    t_dscl = Parameter("s", "fixed time", nonnegative)
    k_poex = Parameter("pu", "proportional gain, overexcited", nonnegative)
    k_ioex = Parameter("pu/s", "integral gain, overexcited", nonnegative)
    k_puex = Parameter("pu", "proportional gain, underexcited", nonnegative)
    k_iuex = Parameter("pu/s", "integral gain, underexcited", nonnegative)
    v_scl_max, v_scl_min = limits_of("each regulator")
    fixed = flag_of("the fixed time is over")
    inverse = flag_of("the inverse time is over")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect currents, times and both regulators."""
        i = b.lag("i_t", stator_current(b, v), "t_it")
        b.lag("i_inv", stator_current(b, v), "t_inv")
        q = b.named("q", reactive(b, v), "the reactive power")
        i_q = b.lag("i_q_m", q / b.magnitude(v.v_re, v.v_im), "t_qscl")
        excess = b.named("e", power(b, i, p.k) - p.i_scl_lim, "i_t^k - i_scl_lim")
        acts = b.where(b.ge(p.sw_2, 1), p.inverse, p.fixed)
        for sign, side, gains in ((1, "oel", ("k_poex", "k_ioex")), (-1, "uel", ("k_puex", "k_iuex"))):
            above = acts * b.where(b.ge(sign * q, p.v_scl_db), excess, 0)
            both = b.min(sign * i_q - p.i_q_min, excess)
            error = b.named(f"e_{side}", b.where(b.ge(p.sw_1, 2), above, both))
            regulated = b.max(b.pi(f"x_{side}", error, *gains, ("v_scl_min", "v_scl_max")), 0)
            b.output(f"v_scl_{side}", -sign * regulated)


def _over(m: Any, v: Any, p: Any) -> Any:
    """Return by how much the current of overexcitation is above the reference."""
    return m.sqrt((p.k_ip_oel * v.i_p_oel) ** 2 + (p.k_iq_oel * v.i_q_oel) ** 2) - v.i_a


def _under(m: Any, v: Any, p: Any) -> Any:
    """Return by how much the current of underexcitation is above the reference, or i_inst_uel."""
    current = m.sqrt((p.k_ip_uel * v.i_p_uel) ** 2 + (p.k_iq_uel * v.i_q_uel) ** 2)
    return current - m.min(v.i_a, p.i_inst_uel)


def _ended(m: Any, v: Any, p: Any) -> Any:
    """Return how far the count is beyond its end."""
    return v.timer - p.t_scl + NEAR


class SCL2C(StatorCurrentLimiter, TimedReference):
    """Stator current limiter with an inverse time and a regulator for each side, IEEE type SCL2C.

    Count and reference are those of `OEL2C`, of the stator current behind t_it. Each regulator has a current
    of its own, (k_ip i_p, k_iq i_q) behind lags, with i_p = P/v and i_q = Q/v. That of overexcitation acts
    where this is above the reference, i_q above i_q_min_oel and the voltage above v_t_min; that of
    underexcitation where it is above the reference and i_inst_uel, and i_q below i_q_max_uel. With k_p_ref
    the reference is what the active current leaves of it, unless nothing is left. Where the voltage is below
    v_t_reset the reference goes down, unless it rises, and the first regulator rests. Each rests, by
    i_reset, until the end of the count, t_en above its reference, or never with t_en = 0; it rests again
    after t_off below by ith_off, with the reference at its top. Source: IEEE Std 421.5-2016, type SCL2C, as
    Dynawo has it; that a regulator stays active in between is as in OEL2C, Dynawo has no memory. The order
    of the record is that of PowerWorld's list (printed on its page of SCL1C) and GridKit's (ORNL), with the
    switch first.
    """

    records = (
        "SCL2C sw_1 t_b1_oel t_c1_oel t_b2_oel t_c2_oel k_p_oel k_i_oel k_d_oel t_d_oel v_oel_max3 "
        "v_oel_min3 v_oel_max2 v_oel_min2 v_oel_max1 v_oel_min1 t_b1_uel t_c1_uel t_b2_uel t_c2_uel k_p_uel "
        "k_i_uel k_d_uel t_d_uel v_uel_max3 v_uel_min3 v_uel_max2 v_uel_min2 v_uel_max1 v_uel_min1 i_reset "
        "t_en_oel t_en_uel t_off ith_off t_iq_oel k_iq_oel t_ip_oel k_ip_oel t_iq_uel k_iq_uel t_ip_uel "
        "k_ip_uel t_it itf_pu i_inst i_inst_uel i_lim t_a c_1 k_1 c_2 k_2 v_inv_max v_inv_min fixed_ru "
        "fixed_rd t_scl t_max t_min k_fb k_rd k_ru k_zru t_vt v_t_min v_t_reset i_q_min_oel i_q_max_uel "
        "k_p_ref",
    )
    memory = ("resting_oel", "resting_uel", "above", "rising", "falling")
    end = "t_scl"
    actions = (
        *counting("t_scl"),
        *switched("falling", lambda m, v, p: m.max(_ended(m, v, p), p.v_t_reset - v.v_m)),
        *activity(
            "resting_oel",
            "t_en_oel",
            lambda m, v, p: m.min(v.i_ref - p.i_inst + NEAR, -_over(m, v, p) - p.ith_off),
            lambda m, v, p: m.min(_over(m, v, p), v.v_m - p.v_t_min),
            lambda m, v, p: m.min(_ended(m, v, p), v.v_m - p.v_t_min),
        ),
        Action(
            "",
            lambda m, v, p: m.min(p.v_t_reset - v.v_m, 0.5 - p.resting_oel),
            effect=lambda v, p: {"resting_oel": 1.0},
        ),
        *activity(
            "resting_uel",
            "t_en_uel",
            lambda m, v, p: m.min(
                v.i_ref - m.min(p.i_inst, p.i_inst_uel) + NEAR, -_under(m, v, p) - p.ith_off
            ),
            _under,
            _ended,
        ),
    )

    sw_1 = Parameter("code", "rates of the reference: 0 fixed, 1 by the inverse time", whole(0, 1), 0.0)
    t_c1_oel, t_b1_oel = lead_and_lag("the second lead-lag, overexcited")
    t_c2_oel, t_b2_oel = lead_and_lag("the first lead-lag, overexcited")
    k_p_oel, k_i_oel, k_d_oel, t_d_oel = pid_gains("the regulator, overexcited")
    v_oel_max3, v_oel_min3 = limits_of("the PID, overexcited")
    v_oel_max2, v_oel_min2 = limits_of("the first lead-lag, overexcited")
    v_oel_max1, v_oel_min1 = limits_of("the signal of overexcitation")
    t_c1_uel, t_b1_uel = lead_and_lag("the second lead-lag, underexcited")
    t_c2_uel, t_b2_uel = lead_and_lag("the first lead-lag, underexcited")
    k_p_uel, k_i_uel, k_d_uel, t_d_uel = pid_gains("the regulator, underexcited")
    v_uel_max3, v_uel_min3 = limits_of("the PID, underexcited")
    v_uel_max2, v_uel_min2 = limits_of("the first lead-lag, underexcited")
    v_uel_max1, v_uel_min1 = limits_of("the signal of underexcitation")
    t_en_oel = Parameter("s", "time above the reference, overexcited, 0 for always active", nonnegative)
    t_en_uel = Parameter("s", "time above the reference, underexcited, 0 for always active", nonnegative)
    t_iq_oel = Parameter("s", "time constant of the reactive current, overexcited", nonnegative)
    k_iq_oel = Parameter("1", "factor of the reactive current, overexcited", positive, 1.0)
    t_ip_oel = Parameter("s", "time constant of the active current, overexcited", nonnegative)
    k_ip_oel = Parameter("1", "factor of the active current, overexcited", nonnegative, 1.0)
    t_iq_uel = Parameter("s", "time constant of the reactive current, underexcited", nonnegative)
    k_iq_uel = Parameter("1", "factor of the reactive current, underexcited", positive, 1.0)
    t_ip_uel = Parameter("s", "time constant of the active current, underexcited", nonnegative)
    k_ip_uel = Parameter("1", "factor of the active current, underexcited", nonnegative, 1.0)
    t_it = Parameter("s", "time constant of the stator current", nonnegative)
    i_inst_uel = Parameter("pu", "instantaneous limit, underexcited", positive)
    t_scl = Parameter("s", "count at which the reference goes down", positive)
    t_vt = Parameter("s", "time constant of the voltage", nonnegative)
    v_t_min = Parameter("pu", "voltage above which it limits overexcitation", nonnegative)
    v_t_reset = Parameter("pu", "voltage below which the regulator of overexcitation rests", nonnegative)
    i_q_min_oel = Parameter("pu", "reactive current above which it limits overexcitation")
    i_q_max_uel = Parameter("pu", "reactive current below which it limits underexcitation")
    k_p_ref = Parameter("1", "part of the active current that is taken off the reference", nonnegative, 0.0)
    resting_oel = flag_of("the regulator of overexcitation rests", 1.0)
    resting_uel = flag_of("the regulator of underexcitation rests", 1.0)

    @classmethod
    def objection(cls, p: Mapping[str, float]) -> str | None:
        """Object to voltages that let the regulator of overexcitation rest and act at once."""
        if p["v_t_reset"] > p["v_t_min"]:
            return f"v_t_reset = {p['v_t_reset']:g}: must be at most v_t_min = {p['v_t_min']:g}"
        return super().objection(p)

    @staticmethod
    def rest_limits(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the reference of the inverse time."""
        return {"i": p["itf_pu"]}

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect measurements, count, reference and both regulators."""
        i = b.lag("i", stator_current(b, v), "t_it")
        i_ref = cls.reference(b, v, p, i, b.ge(p.sw_1, 1))
        u = b.magnitude(v.v_re, v.v_im)
        v_m = b.lag("v_m", u, "t_vt")
        i_p = b.named("i_p", active(b, v) / u, "P/v")
        i_q = b.named("i_q_t", reactive(b, v) / u, "Q/v")
        found = {}
        for side in ("oel", "uel"):
            along = getattr(p, f"k_ip_{side}") * b.lag(f"i_p_{side}", i_p, f"t_ip_{side}")
            across = getattr(p, f"k_iq_{side}") * b.lag(f"i_q_{side}", i_q, f"t_iq_{side}")
            words = f"sqrt((k_ip_{side} i_p_{side})^2 + (k_iq_{side} i_q_{side})^2)"
            reset = getattr(p, f"resting_{side}") * b.where(b.le(getattr(p, f"t_en_{side}"), 0), 0, p.i_reset)
            reset = b.named(f"r_{side}", reset, f"i_reset where it rests, 0 with t_en_{side} = 0")
            found[side] = across, b.named(f"i_{side}", b.magnitude(along, across), words), reset
        left = b.named("left", i_ref**2 - (p.k_p_ref * v.i_p_oel) ** 2, "i_ref^2 - (k_p_ref i_p_oel)^2")
        i_a = b.where(b.ge(left, NEAR), b.sqrt(b.max(left, NEAR)), i_ref)
        i_a = b.lag("i_a", b.named("i_left", i_a, "sqrt(left) where left > 0, else i_ref"), "t_a")
        across, current, reset = found["oel"]
        error = b.max(p.i_q_min_oel - across, b.max(i_a + reset - current, p.v_t_min - v_m))
        regulated(b, "v_scl_oel", b.named("e_oel", error), "oel", "_oel", rests=1)
        across, current, reset = found["uel"]
        error = b.min(p.i_q_max_uel - across, current - b.min(i_a, p.i_inst_uel) - reset)
        regulated(b, "v_scl_uel", b.named("e_uel", error), "uel", "_uel", rests=0)
