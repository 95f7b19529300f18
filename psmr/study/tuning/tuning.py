"""The records of a tuning: what is asked, a scheme that was tried, the result."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Any

import pandas as pd

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import InputError
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.modes.verdict import mode_text
from psmr.study.tuning.candidates import CostModel

WIDTH = 110


@explains_keywords(InputError)
@dataclass(frozen=True)
class Target:
    """What is asked of a scheme.

    Attributes
    ----------
    up_to
        Natural frequency |s| / 2 pi in Hz up to which modes count, real ones included; zero modes never do.
    accuracy
        Largest relative deformation |s_hat - s| / |s|, a fraction.
    damping
        Largest change of a damping ratio, a fraction (0.01: one percentage point).
    frequency
        Largest relative change of a frequency, a fraction.
    margin
        Safety margin: the scheme must also be stable with steps longer by this fraction.

    Raises
    ------
    InputError
        For a value out of range, or no bound at all.
    """

    up_to: float
    accuracy: float | None = None
    damping: float | None = None
    frequency: float | None = None
    margin: float = 0.1

    def __post_init__(self) -> None:
        settle_fields(self)
        bounds = {"accuracy": self.accuracy, "damping": self.damping, "frequency": self.frequency}
        given = {name: value for name, value in bounds.items() if value is not None}
        if not given:
            raise InputError("nothing is asked for; give accuracy, damping or frequency as fractions")
        for name, value in {**given, "up_to": self.up_to}.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value <= 0:
                raise InputError(f"{name} = {value!r}: must be a finite number > 0")
        if not (isinstance(self.margin, int | float) and 0 <= self.margin < math.inf):
            raise InputError(f"margin = {self.margin!r}: must be a finite fraction >= 0")

    def __str__(self) -> str:
        parts = []
        if self.accuracy is not None:
            parts.append(f"deformed by at most {100 * self.accuracy:g} %")
        if self.damping is not None:
            parts.append(f"damping ratio wrong by at most {100 * self.damping:g} percentage points")
        if self.frequency is not None:
            parts.append(f"frequency wrong by at most {100 * self.frequency:g} %")
        bounds = ", ".join(parts)
        return f"modes up to {self.up_to:g} Hz {bounds}; stable with steps {100 * self.margin:g} % longer"

    def shortfall(self, errors: tuple[float, float, float]) -> float:
        """Return the largest error in units of its bound; up to 1 is what was asked."""
        bounds = (self.accuracy, self.damping, self.frequency)
        return max(error / bound for error, bound in zip(errors, bounds, strict=True) if bound is not None)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A scheme that was tried.

    Attributes
    ----------
    scheme, recorded
        The scheme, and the [scheme] table of a study file that makes it.
    cost
        Predicted seconds of work for a simulated second on this machine.
    deformation, damping_error, frequency_error
        Largest in the band, as magnitudes; infinite where a mode of the band is not represented.
    worst
        The mode of the band that is deformed most, in 1/s.
    stable
        Whether no multiplier lies outside the unit circle; None where the bounds are missed and it was not
        asked.
    meets
        Whether it is stable and meets every bound; the margin is not part of it.
    """

    scheme: Scheme
    recorded: dict[str, Any]
    cost: float
    deformation: float
    damping_error: float
    frequency_error: float
    worst: complex
    stable: bool | None
    meets: bool

    def __str__(self) -> str:
        return (
            f"{self.scheme}{_partition(self.scheme)}: {1e3 * self.cost:.3g} ms a simulated second, "
            f"deformation {100 * self.deformation:.3g} %, damping error {100 * self.damping_error:.3g} pp, "
            f"frequency error {100 * self.frequency_error:.3g} % (worst: mode {mode_text(self.worst)})"
        )


@dataclass(frozen=True, eq=False)
class Tuning:
    """The result of a tuning.

    Attributes
    ----------
    name
        Name of the system.
    target
        What was asked.
    winner
        The cheapest candidate that meets it, margin included.
    best_single, best_multirate
        The cheapest of each kind that meets the bounds, None where there is none.
    candidates
        All that were tried, in the order of their cost.
    costs
        The calibrated cost model.
    modes
        How many modes of the band were judged (a complex pair counts once).
    coverage
        Which ones, where not all.
    """

    name: str
    target: Target
    winner: Candidate
    best_single: Candidate | None
    best_multirate: Candidate | None
    candidates: tuple[Candidate, ...]
    costs: CostModel
    modes: int
    coverage: str = ""

    @property
    def table(self) -> pd.DataFrame:
        """A row per candidate, the cheapest first: [scheme] fields, cost (s a simulated s), errors."""
        rows = [
            {
                **candidate.recorded,
                "cost": candidate.cost,
                "deformation": candidate.deformation,
                "damping_error": candidate.damping_error,
                "frequency_error": candidate.frequency_error,
                "stable": candidate.stable,
                "meets": candidate.meets,
                "winner": candidate is self.winner,
            }
            for candidate in self.candidates
        ]
        return pd.DataFrame(rows)

    @property
    def advice(self) -> str:
        """One sentence: single rate or multirate, and by how much."""
        single, multi = self.best_single, self.best_multirate
        if multi is None and self.coverage:
            return "Single rate is better here: no multirate scheme that would be cheaper reaches it."
        if single is None or multi is None:
            kind = "multirate" if single is None else "single-rate"
            return f"Only {kind} schemes reach it."
        if self.winner.scheme.two_rates is None:
            better, other, factor = "Single rate", "multirate", multi.cost / single.cost
        else:
            better, other, factor = "Multirate", "single-rate", single.cost / multi.cost
        return f"{better} is better here: the cheapest {other} scheme costs {factor:.2f} times as much."

    def __str__(self) -> str:
        stable = sum(bool(candidate.stable) for candidate in self.candidates)
        meeting = sum(candidate.meets for candidate in self.candidates)
        past = ", without what reading delayed signals takes" if self.costs.reads_past else ""
        lines = [
            f"{self.name}: {self.target}",
            f"{self.modes} modes in the band; {len(self.candidates)} schemes tried, {stable} stable, "
            f"{meeting} meet the bounds; cost model calibrated in {self.costs.seconds:.2f} s{past}",
            *textwrap.wrap(self.coverage, WIDTH),
            "",
            self.advice,
            "",
        ]
        rows = [
            ("winner", self.winner),
            ("best single rate", self.best_single),
            ("best multirate", self.best_multirate),
        ]
        for words, candidate in rows:
            if candidate is not None and (candidate is not self.winner or words == "winner"):
                lines += textwrap.wrap(f"{words}: {candidate}", WIDTH, subsequent_indent="  ")
        return "\n".join(lines)


def _partition(scheme: Scheme) -> str:
    return f", {scheme.split}" if scheme.split is not None else ""
