"""The way from a composite load's bus to its end uses: transformer with its tap changer, shunts, feeder.

::

    bus --- 1 : a --- j x_xf a^2 -+- low bus --- r_fdr + j x_fdr ---+--- load bus
                                  |                                 |
                        b_ss + f_b b_f                        (1 - f_b) b_f

    a = tap tfixls/tfixhs; x_xf is given on the low side of a ratio 1 and stands at the bus, times tfixhs^2

All on the base of the load's substation, `s_mva`. Where the feeder's susceptance b_f is below zero, all of it
stands at the low bus. With ltc = 1 the tap moves by `step` once |v_low - (r_cmp + j x_cmp) i_low| has been
outside [v_min, v_max] for t_d, and again each t_c while it is.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from psmr.dae.declare.component import Action, Parameter, flag, fraction, nonnegative, positive

PU = "pu on the substation's base"

LEAST_VOLTAGE = 0.95
"""Voltage in pu that the load bus has at least at the start: a longer feeder is shortened."""

PARAMETERS: dict[str, Parameter] = {
    "mva": Parameter("MVA", "base of substation and feeder; below 0 the load in MW over it, 0 as -0.8"),
    "b_ss": Parameter(PU, "susceptance of the substation's capacitors"),
    "r_fdr": Parameter(PU, "resistance of the feeder", nonnegative),
    "x_fdr": Parameter(PU, "reactance of the feeder", nonnegative),
    "f_b": Parameter("1", "part of the feeder's susceptance that is at the substation", fraction),
    "x_xf": Parameter(PU, "reactance of the transformer", nonnegative),
    "tfixhs": Parameter("pu", "fixed tap of the high side", positive, 1.0),
    "tfixls": Parameter("pu", "fixed tap of the low side", positive, 1.0),
    "ltc": Parameter("1", "1: the tap changer moves in a run, 0: it holds its tap", flag, 0.0),
    "t_min": Parameter("pu", "lowest tap", positive, 0.9),
    "t_max": Parameter("pu", "highest tap", positive, 1.1),
    "step": Parameter("pu", "step of the tap", positive, 0.00625),
    "v_min": Parameter("pu", "lower end of the regulated voltage", positive, 1.025),
    "v_max": Parameter("pu", "upper end of the regulated voltage", positive, 1.04),
    "t_d": Parameter("s", "time before the first step of the tap", nonnegative, 30.0),
    "t_c": Parameter("s", "time between steps of the tap", positive, 5.0),
    "r_cmp": Parameter(PU, "compensating resistance", default=0.0),
    "x_cmp": Parameter(PU, "compensating reactance", default=0.0),
}

DECIDED: dict[str, Parameter] = {
    "s_mva": Parameter("MVA", "base of substation and feeder", default=1.0),
    "shrink": Parameter("1", "part of the feeder's impedance that is there", default=1.0),
    "tap": Parameter("pu", "tap of the transformer", default=1.0),
    "moving": Parameter("1", "1 once the tap has begun to move", default=0.0),
}
"""What the start and the tap changer set."""


def towards_bus(m: Any, p: Any, base: Any, u: tuple, i: tuple, b_f: Any) -> SimpleNamespace:
    """Return voltages and currents from the load bus back to the bus, in pu on the base `base` in MVA.

    `u`: (re, im) of the load bus; `i`: (re, im) of the end uses' current; `b_f`: the feeder's susceptance.
    Returns (re, im) `low` of the low bus, `into` of the current into it, `bus` and `current` at the bus.
    """
    k = base / p.s_mva
    r, x = p.shrink * p.r_fdr * k, p.shrink * p.x_fdr * k
    at_low, at_load = shares(m, p, b_f)
    f_re, f_im = i[0] - at_load * u[1], i[1] + at_load * u[0]
    low = u[0] + r * f_re - x * f_im, u[1] + r * f_im + x * f_re
    b = p.b_ss / k + at_low
    into = f_re - b * low[1], f_im + b * low[0]
    a = p.tap * p.tfixls / p.tfixhs
    current = a * into[0], a * into[1]
    x_xf = p.x_xf * k * p.tfixhs**2
    bus = low[0] / a - x_xf * current[1], low[1] / a + x_xf * current[0]
    return SimpleNamespace(low=low, into=into, bus=bus, current=current)


def shares(m: Any, p: Any, b_f: Any) -> tuple[Any, Any]:
    """Return the feeder's susceptance at the low bus and at the load bus."""
    at_low = b_f * m.where(m.ge(b_f, 0), p.f_b, 1)
    return at_low, b_f - at_low


def regulated(m: Any, p: Any, base: Any, way: SimpleNamespace) -> Any:
    """Return the voltage that the tap changer regulates."""
    r, x = p.r_cmp * base / p.s_mva, p.x_cmp * base / p.s_mva
    re = way.low[0] - r * way.into[0] + x * way.into[1]
    im = way.low[1] - r * way.into[1] - x * way.into[0]
    return m.sqrt(re**2 + im**2)


def tap_actions(voltage: Any) -> tuple[Action, ...]:
    """Return what the tap changer does; ``voltage(m, v, p)`` is what it regulates."""

    def used(p: Any) -> Any:
        return (p.ltc > 0) & (p.x_xf > 0)

    def delay(p: Any) -> Any:
        return p.moving * p.t_c + (1 - p.moving) * p.t_d

    def moved(sign: int) -> Any:
        return lambda v, p: {"tap": p.tap + sign * p.step, "moving": 1.0}

    return (
        Action(
            "tap raised",
            lambda m, v, p: m.min(p.v_min - voltage(m, v, p), p.t_max - p.tap - p.step / 2),
            delay,
            moved(1),
            used,
            again=True,
            kind="tap",
        ),
        Action(
            "tap lowered",
            lambda m, v, p: m.min(voltage(m, v, p) - p.v_max, p.tap - p.t_min - p.step / 2),
            delay,
            moved(-1),
            used,
            again=True,
            kind="tap",
        ),
        Action(
            "",
            lambda m, v, p: m.min(
                m.min(voltage(m, v, p) - p.v_min, p.v_max - voltage(m, v, p)), p.moving - 0.5
            ),
            effect=lambda v, p: {"moving": 0.0},
            used=used,
        ),
    )
