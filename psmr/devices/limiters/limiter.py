"""What limiters share: that they rest at their limits, powers of a current, currents of the stator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Parameter, nonnegative
from psmr.devices.blocks import machine_frame
from psmr.devices.diagram import BlockDiagram

NEAR = 1e-9
"""How near a state is to its limit where it counts as there."""

STATOR = ("v_re", "v_im", "delta", "i_d", "i_q")
"""What the currents and powers of the stator depend on."""


class Limiter(BlockDiagram, part=True):
    """A limiter; `acts_at` is where alone its signal has sense, ``"error"`` or ``"gate"``; empty for both."""

    closed = True
    acts_on = "source"
    acts_at: ClassVar[str] = ""

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, float]:
        """Return nothing: the equations lead to the values at rest in one line."""
        return {}


def limits_of(what: str) -> tuple[Parameter, Parameter]:
    """Return the parameters of an upper and a lower limit."""
    return Parameter("pu", f"upper limit of {what}"), Parameter("pu", f"lower limit of {what}")


def lead_and_lag(what: str) -> tuple[Parameter, Parameter]:
    """Return the time constants of a lead-lag."""
    lead = Parameter("s", f"lead time constant of {what}", nonnegative)
    return lead, Parameter("s", f"lag time constant of {what}", nonnegative)


def pid_gains(what: str) -> tuple[Parameter, Parameter, Parameter, Parameter]:
    """Return the gains of a PID, and the time constant of its derivative."""
    return (
        Parameter("pu", f"proportional gain of {what}", nonnegative),
        Parameter("pu/s", f"integral gain of {what}", nonnegative),
        Parameter("pu s", f"derivative gain of {what}", nonnegative),
        Parameter("s", f"time constant of the derivative of {what}", nonnegative),
    )


def power(b: Any, x: Any, exponent: Any) -> Any:
    """Return x to an exponent, of an x that is above zero where it counts."""
    return b.exp(exponent * b.log(b.max(x, NEAR)))


def reactive(m: Any, v: Any) -> Any:
    """Return the reactive power at the machine's terminals."""
    v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
    return v_q * v.i_d - v_d * v.i_q


def active(m: Any, v: Any) -> Any:
    """Return the active power at the machine's terminals."""
    v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
    return v_d * v.i_d + v_q * v.i_q
