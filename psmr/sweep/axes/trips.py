"""The loss of every generator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import StudyError
from psmr.base.slips import explains_slips
from psmr.network.topology.plants import plants
from psmr.study.events import GeneratorTrip
from psmr.sweep.axes.axis import EVENT, Base, check_start, chosen, take_texts
from psmr.sweep.variation import Points, Variation


@explains_slips(StudyError)
@dataclass(frozen=True)
class GeneratorTrips:
    """Every generator lost, one at a time.

    Parameters
    ----------
    start
        Time of the trips in s.
    generators
        Names or patterns.
    beside, together
        As in `BranchOutages`.
    """

    start: float
    generators: tuple[str, ...] = ("*",)
    beside: bool = False
    together: str = ""

    kind: ClassVar[str] = "generator-trips"
    rank: ClassVar[int] = EVENT

    def __post_init__(self) -> None:
        take_texts(self, "generators")
        settle_fields(self, StudyError, numbers=True)
        check_start(self)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        return [
            Variation((("generator", name),), events=(GeneratorTrip(name, self.start),), beside=self.beside)
            for name in chosen(self.generators, tuple(plants(base.system)), "generator")
        ]
