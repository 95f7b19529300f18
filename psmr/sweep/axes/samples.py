"""A parameter of devices over random samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from psmr.base.arguments import settle_fields
from psmr.base.errors import StudyError, shown
from psmr.base.keywords import explains_keywords
from psmr.sweep.axes.axis import PARAMETER, Base, check_many
from psmr.sweep.axes.parameter import devices_with
from psmr.sweep.variation import Points, points_over

Distribution = Literal["uniform", "log-uniform", "normal"]


@explains_keywords(StudyError)
@dataclass(frozen=True)
class SampleAxis:
    """A parameter of a device, or of several, over random samples that a seed determines.

    Parameters
    ----------
    device, name, factor, together
        As in `ParameterAxis`. Sampled axes mostly advance together.
    count
        Number of samples.
    seed
        Whole number; the same one gives the same samples.
    distribution
        ``"uniform"`` or ``"log-uniform"`` between `low` and `high`, ``"normal"`` with `mean` and
        `deviation`.
    low, high, mean, deviation
        Its parameters.

    Raises
    ------
    StudyError
        For parameters that do not belong to the distribution, or are invalid.
    """

    device: str
    name: str
    count: int
    seed: int
    distribution: Distribution = "uniform"
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    deviation: float | None = None
    factor: bool = False
    together: str = ""

    kind: ClassVar[str] = "samples"
    rank: ClassVar[int] = PARAMETER

    def __post_init__(self) -> None:
        settle_fields(self, StudyError, numbers=True)
        what = f"samples of {self.device}.{self.name}"
        if self.distribution not in get_args(Distribution):
            known = ", ".join(get_args(Distribution))
            raise StudyError(f"{what}: distribution = {shown(self.distribution)}: must be one of {known}")
        if self.count < 1 or self.seed < 0:
            raise StudyError(f"{what}: count = {self.count}, seed = {self.seed}: must be >= 1 and >= 0")
        check_many(what, self.count)
        needed = ("mean", "deviation") if self.distribution == "normal" else ("low", "high")
        for name in ("low", "high", "mean", "deviation"):
            value = getattr(self, name)
            if (value is None) == (name in needed):
                words = "is missing" if value is None else "does not belong"
                raise StudyError(
                    f"{what}: {name} {words}; {self.distribution} has {needed[0]} and {needed[1]}"
                )
            if value is not None and not math.isfinite(value):
                raise StudyError(f"{what}: {name} = {value}: must be finite")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise StudyError(f"{what}: low = {self.low:g} must be below high = {self.high:g}")
        if self.distribution == "log-uniform" and self.low is not None and self.low <= 0:
            raise StudyError(f"{what}: low = {self.low:g}: must be > 0 for a log-uniform distribution")
        if self.deviation is not None and self.deviation <= 0:
            raise StudyError(f"{what}: deviation = {self.deviation:g}: must be > 0")

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        devices = devices_with(base.case, self.device, self.name)
        return points_over(f"{self.device}.{self.name}", devices, self.name, self.drawn(), self.factor)

    def drawn(self) -> np.ndarray:
        """Return the (count,) samples."""
        draw = np.random.default_rng(self.seed)
        if self.mean is not None and self.deviation is not None:
            return draw.normal(self.mean, self.deviation, self.count)
        assert self.low is not None
        assert self.high is not None
        if self.distribution == "log-uniform":
            return np.exp(draw.uniform(math.log(self.low), math.log(self.high), self.count))
        return draw.uniform(self.low, self.high, self.count)
