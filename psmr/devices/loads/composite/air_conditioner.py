"""Motor D of a composite load: single-phase air conditioners, described by what tests of them have shown.

Per unit on the motors' own base, with the frequency's deviation df and the voltage v of the load bus that
the characteristic follows, |u| -> 1/(1 + s t_y) -> v_y::

    running   v > v_brk        p = (p_run + kp1 (v - v_brk)^np1) (1 + kpf df), q alike with kq1, nq1, kqf
              v_x < v < v_brk  p = (p_run + kp2 (v_brk - v)^np2) (1 + kpf df), q alike with kq2, nq2
              v < v_x          the impedance r_stall + j x_stall
    stalled                    the impedance r_stall + j x_stall

    v below v_stall for t_stall: all stall. v above v_rst for t_rst: the part f_rst runs again.
    v_stall and v_brk are multiplied by 1 + lf_adj (lf_d - 1).
    v_x is where the running motors' power is that of the impedance, v_stall at most.

    part on line: k_uv k_con ((1 - f_rst) k_th(theta_1) + f_rst k_th(theta_2))
    k_uv   1 - f_uvr once v_m has been below uvtr1 for ttr1_d, or below uvtr2 for ttr2_d
    k_con  as v_m falls from vc1off to vc2off from 1 to 0; what was lost comes back from vc2on to vc1on
    k_th   from 1 at th1t to 0 at th2t, of the highest temperature so far
    t_th dtheta/dt = r_stall |i|^2 - theta

In the curves of running and stalled motors v is v_y, elsewhere |u|; their impedances belong to it. A power
that rises as the voltage falls has no solution beyond a fold; the reference implementation takes the
impedance of the voltage one step of some milliseconds ago, which t_y stands for.
The jump between the two characteristics at v_x is spread over 0.01 pu of voltage, the accuracy to which the
specification looks for v_x: as a jump it has no solution where stalled motors take less than running ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Action, Parameter, crossed, fraction, nonnegative, positive
from psmr.devices.blocks import lag, returning_part
from psmr.devices.loads.motors import PU

SPREAD = 0.01
"""Range of voltage in pu in which one characteristic becomes the other."""

NEVER = 10.0
"""Voltage in pu that none is above: nothing has been lost at it."""


def _exponent(value: float) -> str | None:
    return None if value >= 1 else "must be >= 1"


PARAMETERS: dict[str, Parameter] = {
    "t_stall": Parameter("s", "time below v_stall after which motor D stalls", nonnegative),
    "t_rst": Parameter("s", "time above v_rst after which a part runs again", nonnegative),
    "t_v": Parameter("s", "time constant of the measured voltage", positive),
    "t_f": Parameter("s", "time constant of the measured frequency", positive),
    "t_y": Parameter("s", "time constant with which impedances follow the voltage", positive, 0.004),
    "lf_d": Parameter("1", "load of motor D over its base", positive),
    "pf_d": Parameter("1", "power factor of motor D", fraction),
    "v_stall": Parameter("pu", "voltage below which motor D stalls", nonnegative),
    "r_stall": Parameter(PU, "resistance of stalled motors", positive),
    "x_stall": Parameter(PU, "reactance of stalled motors", nonnegative),
    "lf_adj": Parameter("1", "effect of lf_d on v_stall and v_brk", default=0.0),
    "kp1": Parameter("1", "gain of the power above v_brk", default=0.0),
    "np1": Parameter("1", "exponent of the power above v_brk", _exponent, 1.0),
    "kq1": Parameter("1", "gain of the reactive power above v_brk", default=6.0),
    "nq1": Parameter("1", "exponent of the reactive power above v_brk", _exponent, 2.0),
    "kp2": Parameter("1", "gain of the power below v_brk", default=12.0),
    "np2": Parameter("1", "exponent of the power below v_brk", _exponent, 3.2),
    "kq2": Parameter("1", "gain of the reactive power below v_brk", default=11.0),
    "nq2": Parameter("1", "exponent of the reactive power below v_brk", _exponent, 2.5),
    "v_brk": Parameter("pu", "voltage at which the characteristic breaks", positive, 0.86),
    "f_rst": Parameter("1", "part of the stalled motors that can run again", fraction),
    "v_rst": Parameter("pu", "voltage above which they do", positive),
    "kpf": Parameter("1", "effect of the frequency on the power", default=1.0),
    "kqf": Parameter("1", "effect of the frequency on the reactive power", default=-3.3),
    "vc1off": Parameter("pu", "voltage below which the first contactors open", nonnegative),
    "vc2off": Parameter("pu", "voltage below which all have opened", nonnegative),
    "vc1on": Parameter("pu", "voltage above which all have closed again", nonnegative),
    "vc2on": Parameter("pu", "voltage above which the first close again", nonnegative),
    "t_th": Parameter("s", "thermal time constant", positive),
    "th1t": Parameter("1", "temperature at which the first motors trip", nonnegative),
    "th2t": Parameter("1", "temperature at which all have tripped, th1t for none", nonnegative),
    "f_uvr": Parameter("1", "part of the motors with an under-voltage relay", fraction),
    "uvtr1": Parameter("pu", "first set value of the relay", nonnegative),
    "ttr1_d": Parameter("s", "time below it", nonnegative),
    "uvtr2": Parameter("pu", "second set value of the relay", nonnegative),
    "ttr2_d": Parameter("s", "time below it", nonnegative),
}

DECIDED: dict[str, Parameter] = {
    "p_run": Parameter(PU, "power of running motors at v_brk", default=0.0),
    "q_run": Parameter(PU, "reactive power of running motors at v_brk", default=0.0),
    "v_x": Parameter("pu", "voltage at which running motors are stalled ones", default=0.5),
    "stalled_1": Parameter("1", "1 while what cannot run again is stalled", default=0.0),
    "stalled_2": Parameter("1", "1 while what can run again is stalled", default=0.0),
    "tripped": Parameter("1", "1 once the under-voltage relay has tripped", default=0.0),
    "v_con": Parameter("pu", "lowest voltage since the contactors opened", default=NEVER),
    "hot_1": Parameter("1", "highest temperature of what cannot run again", default=0.0),
    "hot_2": Parameter("1", "highest temperature of what can run again", default=0.0),
}
"""What the start and the actions set."""

STATES = ("theta_1", "theta_2")


def conflict(p: Mapping[str, float]) -> str | None:
    """Object to contactors that open after they have opened, and to no power factor."""
    if p["pf_d"] == 0:
        return "pf_d = 0: must be > 0"
    return crossed(p, ("vc2off", "vc1off"), ("vc2on", "vc1on"))


def breaking(p: Any) -> Any:
    """Return v_brk as the load adjusts it."""
    return p.v_brk * (1 + p.lf_adj * (p.lf_d - 1))


def stalling(p: Any) -> Any:
    """Return v_stall as the load adjusts it."""
    return p.v_stall * (1 + p.lf_adj * (p.lf_d - 1))


def above_run(m: Any, p: Any, v: Any) -> tuple[Any, Any]:
    """Return by how much P and Q of running motors at v are above those at v_brk."""
    above, below = m.max(v - breaking(p), 0), m.max(breaking(p) - v, 0)
    return (
        p.kp1 * above**p.np1 + p.kp2 * below**p.np2,
        p.kq1 * above**p.nq1 + p.kq2 * below**p.nq2,
    )


def admittances(m: Any, p: Any, v: Any, df: Any) -> tuple[tuple, tuple]:
    """Return (g, b) of the motors that cannot run again and of those that can, all of them on line."""
    square = p.r_stall**2 + p.x_stall**2
    g_0, b_0 = p.r_stall / square, -p.x_stall / square
    inside = m.max(v, p.v_x)
    more_p, more_q = above_run(m, p, inside)
    g = (p.p_run + more_p) * (1 + p.kpf * df) / inside**2
    b = -(p.q_run + more_q) * (1 + p.kqf * df) / inside**2
    standing = m.min(m.max((p.v_x - v) / SPREAD + 0.5, 0), 1)
    g, b = g + standing * (g_0 - g), b + standing * (b_0 - b)
    found = []
    for stalled in (p.stalled_1, p.stalled_2):
        still = m.ge(stalled, 0.5)
        found.append((m.where(still, g_0, g), m.where(still, b_0, b)))
    return found[0], found[1]


def heating(m: Any, v: Any, p: Any, voltage: Any, df: Any) -> tuple[Any, Any]:
    """Return the derivatives of the two temperatures."""
    return tuple(  # type: ignore[return-value]
        lag((g**2 + b**2) * voltage**2 * p.r_stall, getattr(v, name), p.t_th)
        for name, (g, b) in zip(STATES, admittances(m, p, v.v_y, df), strict=True)
    )


def motors(m: Any, v: Any, p: Any, u: tuple, df: Any) -> tuple[Any, Any]:
    """Return the current (re, im) of all motors on line, on their base."""
    (g_1, b_1), (g_2, b_2) = admittances(m, p, v.v_y, df)
    first = (1 - p.f_rst) * _not_tripped(m, p, v.theta_1, p.hot_1)
    second = p.f_rst * _not_tripped(m, p, v.theta_2, p.hot_2)
    k = (1 - p.f_uvr * p.tripped) * contactors(m, p, v.v_m)
    g, b = k * (first * g_1 + second * g_2), k * (first * b_1 + second * b_2)
    return g * u[0] - b * u[1], g * u[1] + b * u[0]


def contactors(m: Any, p: Any, v_m: Any) -> Any:
    """Return the part whose contactors are closed."""

    def along(x: Any, low: Any, high: Any) -> Any:
        return (m.min(m.max(x, low), high) - low) / (high - low)

    left = along(p.v_con, p.vc2off, p.vc1off)
    began = along(p.v_con, p.vc2on, p.vc1on)
    room = m.where(m.ge(began, 1), 1, 1 - began)
    back = m.where(m.ge(began, 1), 1, (along(v_m, p.vc2on, p.vc1on) - began) / room)
    falling = m.le(v_m, p.v_con)
    return m.where(falling, along(v_m, p.vc2off, p.vc1off), left + (1 - left) * back)


def _not_tripped(m: Any, p: Any, theta: Any, hottest: Any) -> Any:
    """Return the part whose thermal protection has not tripped."""
    none = m.le(p.th2t, p.th1t)
    all_off = m.where(none, p.th1t + 1, p.th2t)
    return m.where(none, 1, returning_part(m, -theta, -all_off, -p.th1t, -hottest, 0))


def actions(voltage: Any, rises: Any) -> tuple[Action, ...]:
    """Return what the motors and their protection do.

    `voltage`: ``voltage(m, v, p)``, that of the load bus; `rises`: ``rises(m, v, p)``, (voltage less v_m, the
    rates of the two temperatures).
    """

    def there(p: Any) -> Any:
        return p.fm_d > 0

    def restarts(p: Any) -> Any:
        return there(p) & (p.f_rst > 0)

    def relayed(p: Any) -> Any:
        return there(p) & (p.f_uvr > 0)

    def thermal(p: Any) -> Any:
        return there(p) & (p.th2t > p.th1t)

    return (
        _stalling("stalled_1", "motor D stalls", voltage, there),
        _stalling("stalled_2", "", voltage, restarts),
        Action(
            "a part of motor D runs again",
            lambda m, v, p: m.min(voltage(m, v, p) - p.v_rst, p.stalled_2 - 0.5),
            lambda p: p.t_rst,
            lambda v, p: {"stalled_2": 0.0},
            restarts,
        ),
        # The lowest voltage and the highest temperatures are noted where they turn.
        Action(
            "",
            lambda m, v, p: m.min(m.min(p.v_con, p.vc1off) - v.v_m, rises(m, v, p)[0]),
            effect=lambda v, p: {"v_con": v.v_m},
            used=there,
        ),
        Action(
            "",
            lambda m, v, p: m.min(v.v_m - p.vc1on, NEVER / 2 - p.v_con),
            effect=lambda v, p: {"v_con": NEVER},
            used=there,
        ),
        *(_relay(n, relayed) for n in (1, 2)),
        *(_hottest(n, rises, thermal) for n in (1, 2)),
    )


def _stalling(part: str, name: str, voltage: Any, used: Any) -> Action:
    """Return how a part of the motors stalls."""
    return Action(
        name,
        lambda m, v, p: m.min(stalling(p) - voltage(m, v, p), 0.5 - getattr(p, part)),
        lambda p: p.t_stall,
        lambda v, p: {part: 1.0},
        used,
    )


def _relay(n: int, used: Any) -> Action:
    """Return what the under-voltage relay does below its set value n."""
    return Action(
        "motor D trips by its under-voltage relay",
        lambda m, v, p: m.min(getattr(p, f"uvtr{n}") - v.v_m, 0.5 - p.tripped),
        lambda p: getattr(p, f"ttr{n}_d"),
        lambda v, p: {"tripped": 1.0},
        used,
        protects=True,
        kind="trip",
    )


def _hottest(n: int, rises: Any, used: Any) -> Action:
    """Return what notes the highest temperature n where it turns."""
    return Action(
        "",
        lambda m, v, p: m.min(
            getattr(v, f"theta_{n}") - m.max(getattr(p, f"hot_{n}"), p.th1t), -rises(m, v, p)[n]
        ),
        effect=lambda v, p: {f"hot_{n}": getattr(v, f"theta_{n}")},
        used=used,
    )
