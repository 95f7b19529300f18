"""What the voltage regulators of static var systems have in common, and what they do by themselves."""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Action, Parameter, flag, nonnegative, positive, whole
from psmr.devices.blocks import lead_lag
from psmr.devices.network import in_or_out

LARGEST_BUS = 999_999


def measured_and_limited(slope: str) -> dict[str, Parameter]:
    """Return the parameters from the measured voltage to the limited error; `slope` is its flag's name."""
    return {
        "bus": Parameter("1", "regulated bus, 0 for its own", whole(0, LARGEST_BUS), default=0.0),
        slope: Parameter("1", "1 for a slope in three pieces, 0 for one", flag, default=0.0),
        "t_c1": Parameter("s", "lead of the measurement", nonnegative),
        "t_b1": Parameter("s", "lag of the measurement", nonnegative),
        "t_c2": Parameter("s", "lead of the transient gain reduction", nonnegative),
        "t_b2": Parameter("s", "lag of the transient gain reduction", nonnegative),
        "ve_max": Parameter("pu", "upper limit of the error", positive),
        "ve_min": Parameter("pu", "lower limit of the error"),
    }


def remembered() -> dict[str, Parameter]:
    """Return the parameters that only actions set."""
    return {
        "status": Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0),
        "short": Parameter("1", "whether the time for the short-term rating is over", default=0.0),
        "free": Parameter("1", "whether the error has left its dead band", default=0.0),
        "side": Parameter("1", "side on which the slow regulator's band has been left", default=0.0),
    }


def transient_gain(m: Any, v: Any, p: Any, band: Any) -> tuple[Any, Any]:
    """Return the error that the PI regulator reads, outside a dead band, and the derivative of x_e."""
    resting = m.where(m.le(band, 0), 0, 1 - p.free)
    counted = v.error if getattr(m, "opened", False) else m.where(m.ge(resting, 1), 0, v.error)
    return lead_lag(m.clip(counted, p.ve_min, p.ve_max), v.x_e, p.t_c2, p.t_b2)


def slow_part(m: Any, used: Any, asked: Any, p: Any) -> Any:
    """Return the output of the slow regulator within its limits, 0 where there is none."""
    # Without it its limits, which may both be 0, are none that a start is at.
    return m.clip(used * asked, used * p.vr_min + used - 1, used * p.vr_max + 1 - used)


def voltage(m: Any, v: Any) -> Any:
    """Return the magnitude of the regulated voltage."""
    return m.sqrt(v.u_re**2 + v.u_im**2)


def at_once(p: Any) -> float:
    """Return no delay."""
    return 0.0


def always(p: Any) -> bool:
    """Return that a device has an action whatever its parameters are."""
    return True


def sets(name: str, value: float, condition: Any, delay: Any = at_once, used: Any = always) -> Action:
    """Return the action that gives a parameter in the memory a value that it does not have."""

    def holds(m: Any, v: Any, p: Any) -> Any:
        return m.min(condition(m, v, p), m.abs(getattr(p, name) - value) - 0.5)

    return Action("", holds, delay, lambda v, p: {name: value}, used)


def trip(words: str, condition: Any, delay: str, threshold: str) -> Action:
    """Return the action that takes a static var system out of service; a threshold of 0 is none."""
    return Action(
        words,
        lambda m, v, p: m.min(condition(m, v, p), p.status - 0.5),
        lambda p: getattr(p, delay),
        lambda v, p: {"status": 0.0},
        lambda p: getattr(p, threshold) > 0,
        protects=True,
    )
