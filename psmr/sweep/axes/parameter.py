"""A parameter of devices over given values or a range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from psmr.base.arguments import settle_fields
from psmr.base.errors import StudyError, nearest, shown
from psmr.base.keywords import explains_keywords
from psmr.network.case.case import Case
from psmr.sweep.axes.axis import PARAMETER, Base, check_distinct, check_many, chosen, take_numbers
from psmr.sweep.variation import Points, parameters_in, points_over


@explains_keywords(StudyError)
@dataclass(frozen=True)
class ParameterAxis:
    """A parameter of a device, or of several, over given values or over a range.

    Parameters
    ----------
    device
        Name or pattern, ``"GOV1"`` or ``"GOV*"``; all that are meant take the same value. A generator's row
        itself has `p_mw`, `q_mvar` and `v`; a load's `p_mw` and `q_mvar`.
    name
        Parameter as its component declares it.
    values
        Values in the parameter's unit; in their place
    start, stop, count
        the ends of a range and the number of its values.
    spacing
        Of the range: ``"linear"``, or ``"log"`` for equal ratios.
    factor
        Whether the values multiply those of the case.
    together
        Axes that bear the same name here advance together, in place of all combinations.

    Raises
    ------
    StudyError
        For neither or both of values and range, and for an invalid range.
    """

    device: str
    name: str
    values: tuple[float, ...] = ()
    start: float | None = None
    stop: float | None = None
    count: int | None = None
    spacing: Literal["linear", "log"] = "linear"
    factor: bool = False
    together: str = ""

    kind: ClassVar[str] = "parameter"
    rank: ClassVar[int] = PARAMETER

    def __post_init__(self) -> None:
        take_numbers(self, "values")
        settle_fields(self, StudyError, numbers=True)
        ends = (self.start, self.stop, self.count)
        given = [end is not None for end in ends]
        what = f"parameter {self.device}.{self.name}"
        if bool(self.values) == any(given) or (any(given) and not all(given)):
            raise StudyError(f"{what}: give values, or start, stop and count of a range")
        if not all(math.isfinite(end) for end in (*self.values, *ends) if end is not None):
            raise StudyError(f"{what}: values and ends of a range must be finite")
        if self.count is not None and self.count < 1:
            raise StudyError(f"{what}: count = {self.count}: must be at least 1")
        if self.count is not None:
            check_many(what, self.count)
        if self.spacing not in ("linear", "log"):
            raise StudyError(f'{what}: spacing = {shown(self.spacing)}: must be "linear" or "log"')
        if self.spacing == "log" and not all(end is not None and end > 0 for end in ends[:2]):
            raise StudyError(f"{what}: spacing = 'log' needs a range with both ends above 0")
        check_distinct(self, "values", self.values)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        devices = devices_with(base.case, self.device, self.name)
        if self.values:
            values = np.array(self.values)
        else:
            assert self.start is not None
            assert self.stop is not None
            assert self.count is not None
            space = np.linspace if self.spacing == "linear" else np.geomspace
            values = space(self.start, self.stop, self.count)
        return points_over(f"{self.device}.{self.name}", devices, self.name, values, self.factor)


def devices_with(case: Case, pattern: str, name: str) -> tuple[str, ...]:
    """Return the devices and rows of a case that a pattern means and that have a parameter.

    Raises
    ------
    StudyError
        When there is no such device, or none of them has the parameter.
    """
    known = parameters_in(case)
    meant = chosen([pattern], tuple(known), "device")
    found = tuple(device for device in meant if name in known[device])
    if not found:
        there = sorted(set().union(*(known[device] for device in meant)))
        raise StudyError(
            f"{pattern} has no parameter {name!r} in {case.name}{nearest(name, there)}; it has "
            f"{', '.join(there)}"
        )
    return found
