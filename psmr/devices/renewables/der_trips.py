"""The trips of distributed generation: which part of it works at a voltage, and what it remembers.

Source: EPRI 3002015320, The New Aggregated Distributed Energy Resources (der_a) Model for Transmission
Planning Studies (2019); PowerWorld, DER_A.
"""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Action
from psmr.devices.blocks import phasor_frequency, returning_part

PER_UNIT = 5.0
"""A frequency below this is one per unit, above it one in Hz."""


def working_part(m: Any, v: Any, p: Any) -> Any:
    """Return the part of the units that works at v_m, from what has been recorded (see `DERA1`)."""
    low = _side(m, v.v_m, p.vl0, p.vl1, p.v_low, p.vrfrac, p.part_low)
    high = _side(m, -v.v_m, -p.vh0, -p.vh1, -p.v_high, p.vrfrac, p.part_high)
    watched, lost = m.ge(p.vtrip_flag, 1), m.ge(p.tripped, 1)
    return m.where(lost, 0, m.where(watched, low * high, 1))


def _side(m: Any, x: Any, x_0: Any, x_1: Any, x_most: Any, part: Any, parted: Any) -> Any:
    """Return the part that works at x; until `parted` all comes back, then as `returning_part` says."""
    # Without trips both ends are 0; the part counts for nothing then.
    x_1 = m.where(m.le(x_1, x_0), x_0 + 1, x_1)
    return returning_part(m, x, x_0, x_1, m.where(m.ge(parted, 1), x_most, x_1), part)


def _hertz(m: Any, value: Any, p: Any) -> Any:
    return m.where(m.le(value, PER_UNIT), value * p.f_n, value)


def _frequency(m: Any, v: Any, p: Any) -> Any:
    deviation, _ = phasor_frequency(m, v.v_re, v.v_im, v.x_theta, p.t_rf, p.f_n)
    return p.f_n * (1 + deviation)


def _while_working(m: Any, p: Any, value: Any) -> Any:
    return m.where(m.ge(p.tripped, 1), -1, value)


def _while_held(m: Any, v: Any, p: Any, value: Any) -> Any:
    """Return a condition on the frequency; below v_pr its measurement means nothing."""
    voltage = m.sqrt(v.v_re**2 + v.v_im**2)
    return _while_working(m, p, m.min(value, voltage - p.v_pr))


def _rising(m: Any, v: Any, p: Any) -> Any:
    return m.sqrt(v.v_re**2 + v.v_im**2) - v.v_m


TRIPPED = {"tripped": 1.0}

VOLTAGE_TRIPS = (
    Action(
        "all tripped by low voltage",
        lambda m, v, p: _while_working(m, p, p.vl0 - v.v_m),
        lambda p: p.tvl0,
        lambda v, p: TRIPPED,
        protects=True,
    ),
    Action(
        "all tripped by high voltage",
        lambda m, v, p: _while_working(m, p, v.v_m - p.vh0),
        lambda p: p.tvh0,
        lambda v, p: TRIPPED,
        protects=True,
    ),
    Action(
        "part tripped by low voltage",
        lambda m, v, p: _while_working(m, p, m.where(m.ge(p.part_low, 1), -1, p.vl1 - v.v_m)),
        lambda p: p.tvl1,
        lambda v, p: {"part_low": 1.0, "v_low": v.v_m},
        protects=True,
    ),
    Action(
        "part tripped by high voltage",
        lambda m, v, p: _while_working(m, p, m.where(m.ge(p.part_high, 1), -1, v.v_m - p.vh1)),
        lambda p: p.tvh1,
        lambda v, p: {"part_high": 1.0, "v_high": v.v_m},
        protects=True,
    ),
    Action(
        "",
        lambda m, v, p: m.where(m.ge(p.part_low, 1), m.min(p.v_low - v.v_m, _rising(m, v, p)), -1),
        effect=lambda v, p: {"v_low": v.v_m},
    ),
    Action(
        "",
        lambda m, v, p: m.where(m.ge(p.part_high, 1), m.min(v.v_m - p.v_high, -_rising(m, v, p)), -1),
        effect=lambda v, p: {"v_high": v.v_m},
    ),
)
"""What a voltage outside [vl1, vh1] does; the last two record the extreme where the voltage turns."""

FREQUENCY_TRIPS = (
    Action(
        "all tripped by low frequency",
        lambda m, v, p: _while_held(m, v, p, _hertz(m, p.fl, p) - _frequency(m, v, p)),
        lambda p: p.tfl,
        lambda v, p: TRIPPED,
        protects=True,
    ),
    Action(
        "all tripped by high frequency",
        lambda m, v, p: _while_held(m, v, p, _frequency(m, v, p) - _hertz(m, p.fh, p)),
        lambda p: p.tfh,
        lambda v, p: TRIPPED,
        protects=True,
    ),
)
"""What a frequency outside [fl, fh] does while the voltage is above v_pr."""
