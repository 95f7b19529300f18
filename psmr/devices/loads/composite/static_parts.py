"""The parts of a composite load without a motor: electronics, which trip at low voltage, and static load.

::

    electronics  p and q are constant, as impedances that belong to v_y (see `air_conditioner`); as v_m falls
                 from v_d1 to v_d2 all of them leave; of what has left the part frcel comes back as v_m rises
                 to v_d1
    static       p = p_s (p1c (v/v_l)^p1e + p2c (v/v_l)^p2e + p3) (1 + p_frq df),  p3 = 1 - p1c - p2c
                 q = q_s (q1c (v/v_l)^q1e + q2c (v/v_l)^q2e + q3) (1 + q_frq df),  q3 = 1 - q1c - q2c

v_l is the voltage of the load bus at the start. Below v_z the static load is the impedance it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Action, Parameter, crossed, fraction, positive
from psmr.devices.blocks import returning_part
from psmr.devices.loads.composite.air_conditioner import NEVER


def _power_factor(value: float) -> str | None:
    return None if 0 < abs(value) <= 1 else "must be from -1 to 1 and not 0; below 0 it is leading"


PARAMETERS: dict[str, Parameter] = {
    "pf_el": Parameter("1", "power factor of the electronics, below 0 leading", _power_factor, 1.0),
    "v_d1": Parameter("pu", "voltage below which the first electronics leave", positive),
    "v_d2": Parameter("pu", "voltage at which all have left", positive),
    "frcel": Parameter("1", "part of them that comes back", fraction),
    "pf_s": Parameter("1", "power factor of the static load, below 0 leading", _power_factor),
    "p1e": Parameter("1", "first exponent of the static power", default=2.0),
    "p1c": Parameter("1", "first part of the static power", default=1.0),
    "p2e": Parameter("1", "second exponent of the static power", default=1.0),
    "p2c": Parameter("1", "second part of the static power", default=0.0),
    "p_frq": Parameter("1", "effect of the frequency on the static power", default=0.0),
    "q1e": Parameter("1", "first exponent of the static reactive power", default=2.0),
    "q1c": Parameter("1", "first part of the static reactive power", default=1.0),
    "q2e": Parameter("1", "second exponent of the static reactive power", default=1.0),
    "q2c": Parameter("1", "second part of the static reactive power", default=0.0),
    "q_frq": Parameter("1", "effect of the frequency on the static reactive power", default=0.0),
    "v_z": Parameter("pu", "voltage below which the static load is an impedance", positive, 0.7),
}

DECIDED: dict[str, Parameter] = {
    "v_l": Parameter("pu", "voltage of the load bus at the start", default=1.0),
    "v_el": Parameter("pu", "lowest voltage since the first electronics left", default=NEVER),
}
"""What the start and the actions set."""


def conflict(p: Mapping[str, float]) -> str | None:
    """Object to electronics that leave at once."""
    return crossed(p, ("v_d2", "v_d1"))


def tangent(power_factor: Any) -> Any:
    """Return Q/P of a power factor, which is leading (Q below 0) where it is negative."""
    return (1 - power_factor**2) ** 0.5 / power_factor


def electronics(m: Any, v: Any, p: Any, u: tuple, power: Any) -> tuple[Any, Any]:
    """Return the current (re, im) of electronics of which all have the power `power`."""
    part = returning_part(m, v.v_m, p.v_d2, p.v_d1, p.v_el, p.frcel)
    # Where the voltage falls faster than its measurement the impedance stays what it is at v_d2.
    square = m.max(v.v_y, p.v_d2) ** 2
    g, b = part * power / square, -part * power * tangent(p.pf_el) / square
    return g * u[0] - b * u[1], g * u[1] + b * u[0]


def static(m: Any, p: Any, u: tuple, voltage: Any, df: Any, power: Any, reactive: Any) -> tuple[Any, Any]:
    """Return the current (re, im) of a static load with these powers at the start."""
    inside = m.max(voltage, p.v_z)
    x = inside / p.v_l
    with_p = (p.p1c * x**p.p1e + p.p2c * x**p.p2e + 1 - p.p1c - p.p2c) * (1 + p.p_frq * df)
    with_q = (p.q1c * x**p.q1e + p.q2c * x**p.q2e + 1 - p.q1c - p.q2c) * (1 + p.q_frq * df)
    g, b = power * with_p / inside**2, -reactive * with_q / inside**2
    return g * u[0] - b * u[1], g * u[1] + b * u[0]


def actions(rises: Any) -> tuple[Action, ...]:
    """Return what notes the lowest voltage; ``rises(m, v, p)`` is the voltage less v_m, and more."""
    return (
        Action(
            "",
            lambda m, v, p: m.min(m.min(p.v_el, p.v_d1) - v.v_m, rises(m, v, p)[0]),
            effect=lambda v, p: {"v_el": v.v_m},
            used=lambda p: p.f_el > 0,
        ),
    )
