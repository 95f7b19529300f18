"""Scales of an axis: where a value stands, and which values are written beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from psmr.base.arrays import Reals

# Steps between ticks, times a power of ten.
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Scale(Protocol):
    """What a scale offers: its name in matplotlib, and whether values must be above 0."""

    name: ClassVar[str]
    only_positive: ClassVar[bool]

    def forward(self, values: ArrayLike) -> Reals:
        """Return where values stand, in units of the scale."""

    def inverse(self, places: ArrayLike) -> Reals:
        """Return the values that stand at places."""

    def ticks(self, low: float, high: float, most: int) -> list[float]:
        """Return the values to write between two values, `most` or fewer."""


@dataclass(frozen=True)
class Linear:
    """Equal distances for equal differences."""

    name: ClassVar[str] = "linear"
    only_positive: ClassVar[bool] = False

    def forward(self, values: ArrayLike) -> Reals:
        """See `Scale`."""
        return np.asarray(values, dtype=float)

    def inverse(self, places: ArrayLike) -> Reals:
        """See `Scale`."""
        return np.asarray(places, dtype=float)

    def ticks(self, low: float, high: float, most: int) -> list[float]:
        """See `Scale`: multiples of 1, 2, 2.5 or 5 times a power of ten."""
        span = high - low
        if not (span > 0.0 and math.isfinite(span)):
            return [low]
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next((s * power for s in STEPS if span / (s * power) <= most), 10.0 * power)
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        # A multiple of the step to its last digit, as it is written.
        digits = max(0, 2 - math.floor(math.log10(step)))
        return [round(k * step, digits) for k in range(first, last + 1)]


LINEAR = Linear()


@dataclass(frozen=True)
class Log:
    """Equal distances for equal ratios; values are above 0."""

    name: ClassVar[str] = "log"
    only_positive: ClassVar[bool] = True

    def forward(self, values: ArrayLike) -> Reals:
        """See `Scale`."""
        return np.log10(np.asarray(values, dtype=float))

    def inverse(self, places: ArrayLike) -> Reals:
        """See `Scale`."""
        return np.asarray(10.0 ** np.asarray(places, dtype=float))

    def ticks(self, low: float, high: float, most: int) -> list[float]:
        """See `Scale`: powers of ten, every second, third, ... where there are many."""
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        every = max(1, math.ceil((last - first + 1) / most))
        return [10.0**k for k in range(first, last + 1, every)]


@dataclass(frozen=True)
class SymLog:
    """Linear up to `linear` on both sides of 0, logarithmic beyond; `share` decades long each linear side."""

    name: ClassVar[str] = "symlog"
    only_positive: ClassVar[bool] = False

    linear: float
    share: float = 1.0

    @property
    def _length(self) -> float:
        return self.share / (1.0 - 0.1)

    def forward(self, values: ArrayLike) -> Reals:
        """See `Scale`."""
        given = np.asarray(values, dtype=float)
        size = np.abs(given) / self.linear
        beyond = self._length + np.log10(np.maximum(size, 1.0))
        return np.asarray(np.where(size <= 1.0, given / self.linear * self._length, np.sign(given) * beyond))

    def inverse(self, places: ArrayLike) -> Reals:
        """See `Scale`."""
        given = np.asarray(places, dtype=float)
        size = np.abs(given)
        beyond = 10.0 ** np.maximum(size - self._length, 0.0)
        values = np.where(size <= self._length, given / self._length, np.sign(given) * beyond)
        return np.asarray(values * self.linear)

    def ticks(self, low: float, high: float, most: int) -> list[float]:
        """See `Scale`: 0 and powers of ten on both sides."""
        found = [0.0] if low <= 0.0 <= high else []
        first = round(math.log10(self.linear))
        for sign, end in ((-1.0, -low), (1.0, high)):
            if end >= self.linear:
                last = math.floor(math.log10(end) + 1e-9)
                found += [sign * 10.0**k for k in range(first, last + 1)]
        found = sorted(value for value in found if low <= value <= high)
        every = max(1, math.ceil(len(found) / most))
        # 0 stays, and what is thinned out is counted from there.
        zero = found.index(0.0) if 0.0 in found else 0
        return [value for k, value in enumerate(found) if (k - zero) % every == 0]


def tick_texts(values: list[float]) -> list[str]:
    """Return what is written at ticks: all with as many decimals as the one that needs most."""
    texts = [f"{value:.6g}" for value in values]
    if not any("e" in text for text in texts):
        decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
        steps = np.diff(values)
        if len(steps) and np.allclose(steps, steps[0]):
            texts = [f"{value:.{decimals}f}" for value in values]
    return [text.replace("-", "\N{MINUS SIGN}") for text in texts]
