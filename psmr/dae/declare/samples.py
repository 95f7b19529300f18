"""When a component samples, what its samples compute, and code from elsewhere that computes it.

A component with `Component.samples` is a digital controller: at each sample it reads, computes and writes;
between samples what it wrote is held. Sample k is at ``offset + k * period``. All samples that are due at one
instant read what there is just before it; then all write. States that live at the samples are written at
once, outputs after the computing delay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from psmr.base.arguments import settle_fields
from psmr.base.errors import InputError


@dataclass(frozen=True)
class Samples:
    """When a component samples: names of its parameters, all in s.

    Parameters
    ----------
    period
        Time between samples, above 0.
    offset
        Time of the first sample, at least 0; 0 where left out.
    delay
        Computing delay, from a sample to the instant at which its outputs are there: at least 0, at most the
        period, which is the classical delay of one sample; 0 where left out.
    hold
        0: outputs keep their value until the next one; 1: they go on along the line through the last two.

    Raises
    ------
    InputError
        For another hold.
    """

    period: str
    offset: str = ""
    delay: str = ""
    hold: int = 0

    def __post_init__(self) -> None:
        settle_fields(self)
        if isinstance(self.hold, bool) or self.hold not in (0, 1):
            raise InputError(
                f"Samples: hold = {self.hold}: must be 0 (outputs keep their value) or 1 (they go on along a "
                "line)"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that it names."""
        return tuple(name for name in (self.period, self.offset, self.delay) if name)

    def times(self, p: Mapping[str, float]) -> tuple[float, float, float]:
        """Return period, offset and delay in s of a device with parameters `p`."""
        return p[self.period], p.get(self.offset, 0.0), p.get(self.delay, 0.0)

    def objection(self, p: Mapping[str, float]) -> str | None:
        """Return what would be right where the times of a device with parameters `p` are wrong."""
        period, offset, delay = self.times(p)
        if not period > 0.0:
            return f"{self.period} = {period:g}: the time between samples must be > 0 s"
        if not offset >= 0.0:
            return f"{self.offset} = {offset:g}: the time of the first sample must be >= 0 s"
        if not 0.0 <= delay <= period:
            return (
                f"{self.delay} = {delay:g}: the computing delay must be between 0 s and the time between "
                f"samples, {self.period} = {period:g} s"
            )
        return None


class ExternalCode(Protocol):
    """Code from elsewhere that computes what a component's samples write: of one device.

    Attributes
    ----------
    address
        Of a C function ``int64 f(int64 handle, double t, const double *reads, double *values)``, which
        returns 0 where all is well. `reads` has what the component's `reads` returns; `values` the sampled
        states, then the outputs, as they are and, behind the call, as they are from then on.
    handle
        What the function is handed to know its instance.
    repeatable
        Whether the same call gives the same values: code with states of its own does not, and no step is done
        over around it.
    """

    @property
    def address(self) -> int: ...  # noqa: D102
    @property
    def handle(self) -> int: ...  # noqa: D102
    @property
    def repeatable(self) -> bool: ...  # noqa: D102

    def failure(self, t: float, reads: Sequence[float]) -> str:
        """Return a sentence on a call that did not return 0: the time in s, the instance, what it read."""
