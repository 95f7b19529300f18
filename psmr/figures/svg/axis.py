"""One axis of a panel: its scale, limits, ticks and label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from psmr.figures.svg.scales import Linear, Log, Scale, SymLog, tick_texts


class TickLabel:
    """A label of a tick that may be set in bold."""

    def __init__(self, text: str) -> None:
        self.text, self.weight = text, ""

    def set_fontweight(self, weight: str) -> None:
        """Set the weight."""
        self.weight = weight


@dataclass
class Axis:
    """An axis.

    Attributes
    ----------
    scale, label
        Of its values.
    limits
        Both ends where they were set; otherwise None.
    low, high
        Of what was drawn, in values.
    margin
        Part of the length that stays free at both ends where limits were not set.
    own
        Ticks that were set and their labels; None: those of the scale.
    size
        Font size of the labels.
    """

    margin: float = 0.05
    size: float = 9.0
    scale: Scale = field(default_factory=Linear)
    label: str = ""
    limits: tuple[float, float] | None = None
    low: float = np.inf
    high: float = -np.inf
    own: tuple[list[float], list[TickLabel]] | None = None
    length: float = 3.5
    visible: bool = True
    formatter: Callable[[float, int], str] | None = None

    def took(self, values: ArrayLike) -> None:
        """Take note of values that are drawn."""
        given = np.asarray(values, dtype=float).ravel()
        given = given[np.isfinite(given)]
        if given.size:
            self.low, self.high = min(self.low, float(given.min())), max(self.high, float(given.max()))

    def ends(self) -> tuple[float, float]:
        """Return the values at both ends."""
        if self.limits is not None:
            return self._apart(*self.limits)
        low, high = self._apart(*((self.low, self.high) if self.low <= self.high else (0.0, 1.0)))
        a, b = self.scale.forward([low, high])
        room = self.margin * (b - a)
        first, last = self.scale.inverse([a - room, b + room])
        return float(first), float(last)

    def _apart(self, low: float, high: float) -> tuple[float, float]:
        """Return two ends that differ, around one value where both are that."""
        if low != high:
            return low, high
        if isinstance(self.scale, Log):
            return 0.9 * low, 1.1 * high
        room = 0.05 * max(abs(low), 1.0)
        return low - room, high + room

    def parts(self, values: ArrayLike) -> np.ndarray:
        """Return where values stand between both ends, 0 to 1."""
        a, b = self.scale.forward(list(self.ends()))
        return np.asarray((self.scale.forward(values) - a) / (b - a))

    def set_scale(self, name: str, linthresh: float = 1.0, linscale: float = 1.0) -> None:
        """Set the scale: ``"linear"``, ``"log"`` or ``"symlog"``."""
        known: dict[str, Scale] = {"linear": Linear(), "log": Log(), "symlog": SymLog(linthresh, linscale)}
        self.scale = known[name]

    def set_major_formatter(self, formatter: Callable[[float, int], str]) -> None:
        """Set how ticks are written."""
        self.formatter = formatter

    def set_visible(self, visible: bool) -> None:
        """Show or hide it."""
        self.visible = visible

    def set_ticks(self, values: Sequence[float], labels: Sequence[str] | None, size: float | None) -> None:
        """Set ticks and labels."""
        texts = tick_texts([float(v) for v in values]) if labels is None else list(labels)
        self.own = [float(v) for v in values], [TickLabel(text) for text in texts]
        self.size = self.size if size is None else size

    def ticks(self, most: int) -> list[tuple[float, TickLabel]]:
        """Return the ticks within the limits: where from 0 to 1, and what is written."""
        low, high = sorted(self.ends())
        if self.own is not None:
            values, labels = self.own
        else:
            values = self.scale.ticks(low, high, most)
            write: Any = self.formatter
            texts = tick_texts(values) if write is None else [write(v, k) for k, v in enumerate(values)]
            labels = [TickLabel(text) for text in texts]
        places = self.parts(values) if values else np.empty(0)
        return [
            (float(place), label)
            for place, label in zip(places, labels, strict=True)
            if -1e-6 <= place <= 1.0 + 1e-6
        ]
