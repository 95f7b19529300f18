"""Stator current limiter SCL1C of IEEE Std 421.5-2016."""

from __future__ import annotations

from typing import Any, ClassVar

from psmr.dae.declare.component import Parameter, nonnegative, positive, whole
from psmr.devices.exciters.exciter import flag_of, switched
from psmr.devices.limiters.limiter import STATOR, Limiter, limits_of, power, reactive


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
