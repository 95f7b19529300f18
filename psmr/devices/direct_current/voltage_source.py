"""A voltage-source converter between an AC and a DC bus: what it holds on either side, limits, losses.

    p_ord = p_ref + k_dc (v_dref - v_d) + x_v,    x_v' = k_idc (v_dref - v_d),    t_p p_ac' = p_ord - p_ac
    q_ord = (k_ac e_v + x_q) / (1 + k_ac droop),  x_q' = k_iac (e_v - droop q_ord),  e_v = ac_ref - v_m
    v_d i + loss_a + loss_b |i| = |v| i_p,        i_p = p_ac / |v|, i_q = q_ord / |v| within their limits

p_ac is what flows into the DC grid, q what it gives to the AC bus. With k_dc = k_idc = 0 it holds its power,
with k_dc alone its power droops with the DC voltage, with k_idc it holds the DC voltage. With ac = 1 it
holds the AC voltage, with 0 the reactive power ac_ref. The current is at most i_max, active current first
with priority 1, reactive first with 0, up to 99.5 % of it; the reactive current at most what the voltage
v_cmax of the bridge drives through the reactor x_r. What it takes from a DC grid fades where the DC voltage
is low, what it gives where that is high, from v_dlow and v_dhigh of v_dref on: a grid whose voltage nothing
holds any more, in a fault at the AC side of the converter that does, is not drained or filled. Its own
current control is faster than all that and has no states.

Sources: Siemens PTI, PSS/E Model Library, VSCDCT, for the control of the AC voltage and its limits (on the
rating of the converter there, of the system here); T. M. Haileselassie and K. Uhlen, Impact of DC line
voltage drops on power flow of MTDC using droop control, IEEE Trans. Power Systems 27 (2012), for the droop;
losses as PSS/E's ALOSS and BLOSS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import (
    Action,
    Component,
    Parameter,
    Terms,
    crossed,
    flag,
    nonnegative,
    positive,
)
from psmr.devices.direct_current.line_commutated import injection, magnitude

_LEAST = 0.05
"""AC voltage in pu below which a power is no longer followed."""
_FADES = 0.3
"""DC voltage, of the one ordered, within which a power fades."""
FIRST = 0.995
"""Part of the limit that the current with priority may take: a tenth is left to the other one."""


def _wanted(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return AC voltage, active current and reactive current before the limit of both."""
    ac = magnitude(m, v)
    held = m.clip((p.k_ac * (v.ac_ref - v.v_m) + v.x_q) / (1 + p.k_ac * p.droop), p.q_min, p.q_max)
    reactive = p.ac * held + (1 - p.ac) * v.ac_ref
    u = m.max(ac, _LEAST)
    highest = m.where(m.le(p.x_r, 0), 1e6, (p.v_cmax - ac) / (p.x_r + m.where(m.le(p.x_r, 0), 1, 0)))
    relative = v.v_d / v.v_dref
    out = m.clip(1 + (relative - p.v_dlow) / _FADES, 0, 1)
    into = m.clip(1 + (p.v_dhigh - relative) / _FADES, 0, 1)
    return ac, m.where(m.ge(v.p_ac, 0), into, out) * v.p_ac / u, m.min(reactive / u, highest)


def _rest(m: Any, p: Any, used: Any) -> Any:
    """Return what one current leaves of the limit to the other."""
    return m.sqrt(p.i_max * p.i_max - used * used)


class VoltageSource(Component):
    """A voltage-source converter; i is its current into the DC bus."""

    role = "dc_converter"
    states = ("p_ac", "x_v", "v_m", "x_q")
    algebraic = ("i", "i_p", "i_q")
    inputs = ("v_re", "v_im", "v_d", "p_ref", "v_dref", "ac_ref")
    outputs = ("i_re", "i_im", "i_d")
    lags: ClassVar[Mapping[str, tuple[str, ...]]] = {"p_ac": ("t_p",), "v_m": ("t_m",)}
    integrals: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"x_v": "k_idc", "x_q": ("ac", "k_iac")}
    limits = {"x_q": ("q_min", "q_max")}
    memory = ("loss_a", "loss_b", "limited")

    t_p = Parameter("s", "lag of the power behind its order", nonnegative, default=0.02)
    k_dc = Parameter(
        "pu", "power per DC voltage: the inverse of a droop, or the gain of a regulator", nonnegative, 0.0
    )
    k_idc = Parameter("pu/s", "integral gain of the DC voltage's regulator, 0 for none", nonnegative, 0.0)
    ac = Parameter("1", "1 holds the AC voltage, 0 the reactive power", flag, default=0.0)
    k_ac = Parameter("pu", "proportional gain of the AC voltage's regulator", nonnegative, default=0.0)
    k_iac = Parameter("pu/s", "its integral gain", nonnegative, default=10.0)
    droop = Parameter("pu", "AC voltage per reactive power", nonnegative, default=0.0)
    t_m = Parameter("s", "lag of the measured AC voltage", nonnegative, default=0.02)
    q_min = Parameter("pu", "smallest reactive power of the AC voltage's regulator", default=-1e6)
    q_max = Parameter("pu", "largest reactive power of the AC voltage's regulator", default=1e6)
    i_max = Parameter("pu", "largest AC current", positive)
    priority = Parameter("1", "1 for active current first, 0 for reactive", flag, default=1.0)
    v_dlow = Parameter(
        "1", "DC voltage, of the ordered one, below which it takes less from the grid", positive, 0.8
    )
    v_dhigh = Parameter(
        "1", "DC voltage, of the ordered one, above which it gives less", positive, default=1.2
    )
    x_r = Parameter(
        "pu", "reactance of the AC reactor, 0 for no limit of the bridge's voltage", nonnegative, 0.0
    )
    v_cmax = Parameter("pu", "largest voltage of the bridge", positive, default=1.2)
    loss_a = Parameter("pu", "losses without current", default=0.0)
    loss_b = Parameter("pu", "losses per DC current", nonnegative, default=0.0)
    limited = Parameter("1", "whether its current is limited", default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the regulators, the currents, and what flows into both buses."""
        ac, active, reactive = _wanted(m, v, p)
        top = FIRST * p.i_max
        first, second = m.clip(active, -top, top), m.clip(reactive, -top, top)
        most_p = p.priority * top + (1 - p.priority) * _rest(m, p, second)
        most_q = p.priority * _rest(m, p, first) + (1 - p.priority) * top
        error = v.ac_ref - v.v_m - p.droop * v.i_q * ac
        deviation = v.v_dref - v.v_d
        return (
            (
                (v.p_ref + p.k_dc * deviation + v.x_v - v.p_ac) / p.t_p,
                p.k_idc * deviation,
                (ac - v.v_m) / p.t_m,
                p.ac * p.k_iac * error,
            ),
            (
                v.v_d * v.i + p.loss_a + p.loss_b * m.abs(v.i) - ac * v.i_p,
                m.min(m.max(first, -most_p), most_p) - v.i_p,
                m.min(m.max(second, -most_q), most_q) - v.i_q,
            ),
            (*injection(m, v, p, ac * v.i_p, -ac * v.i_q), v.i),
        )

    actions = (
        Action(
            "current limited",
            lambda m, v, p: m.min(_size(m, v, p) - p.i_max, 0.5 - p.limited),
            effect=lambda v, p: {"limited": 1.0},
            kind="limiter",
        ),
        Action(
            "current within its limit",
            lambda m, v, p: m.min(0.99 * p.i_max - _size(m, v, p), p.limited - 0.5),
            effect=lambda v, p: {"limited": 0.0},
            kind="limiter",
        ),
    )

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to limits that cross."""
        return crossed(p, ("q_min", "q_max"))


def _size(m: Any, v: Any, p: Any) -> Any:
    """Return the current that is asked for."""
    _, active, reactive = _wanted(m, v, p)
    return m.sqrt(active * active + reactive * reactive + 1e-12)
