"""Several cases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import StudyError
from psmr.base.keywords import explains_keywords
from psmr.sweep.axes.axis import CASE, Base, check_distinct, take_texts
from psmr.sweep.variation import Points, Variation


@explains_keywords(StudyError)
@dataclass(frozen=True)
class CaseAxis:
    """Several cases in place of the study's own.

    Parameters
    ----------
    cases
        Case files, beside the study's own; read with its options.
    """

    cases: tuple[str, ...]

    together: ClassVar[str] = ""
    kind: ClassVar[str] = "case"
    rank: ClassVar[int] = CASE

    def __post_init__(self) -> None:
        take_texts(self, "cases")
        settle_fields(self, StudyError, numbers=True)
        if not self.cases:
            raise StudyError(f"{self.kind}: cases is empty; give at least one file")
        check_distinct(self, "cases", self.cases)

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        return [Variation((("case", Path(case).name),), case=k) for k, case in enumerate(self.cases)]
