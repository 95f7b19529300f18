"""What static var systems do by themselves: they note what has happened, and trip."""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.action import Action

LARGEST_BUS = 999_999


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
