"""What goes into a march beside system and scheme, and what comes out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.errors import EventError
from psmr.numerics.counters import Counters

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """New values of parameters and held inputs, and devices that go out of service, from an instant on.

    Attributes
    ----------
    t
        Instant in s.
    parameters
        (device, parameter, value) triples.
    inputs
        (full name of a held input, value) pairs.
    label
        Words for messages and plots.
    out
        Names of devices that go out of service for the rest of the run: they inject nothing, and their own
        variables keep their last values.

    Raises
    ------
    EventError
        For a time or value that is not finite.
    """

    t: float
    parameters: tuple[tuple[str, str, float], ...] = ()
    inputs: tuple[tuple[str, float], ...] = ()
    label: str = ""
    out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not math.isfinite(self.t):
            raise EventError(f"{self}: t = {self.t!r}; it must be a finite time in s")
        named = [(f"{device}.{name}", value) for device, name, value in self.parameters] + list(self.inputs)
        for name, value in named:
            if not math.isfinite(value):
                raise EventError(f"{self}: {name} = {value!r}; it must be finite")

    def __str__(self) -> str:
        return self.label or f"change at t = {self.t:g} s"


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The result of a march: a row per accepted step, and two at the instant of a change.

    Attributes
    ----------
    t
        (K,) times in s.
    x, y
        (K, n) states and (K, m) algebraic variables.
    counters
        Work done.
    h
        Step size of the scheme in s (the macro step of a multirate one).
    """

    t: Reals
    x: Reals
    y: Reals
    counters: Counters
    h: float
