"""What a tuning is asked for and finds, and what a candidate does to the modes of the band."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse.linalg import SuperLU

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import InputError, SchemeError, SingularError
from psmr.dae.system.eigenvalues import Modes, modes_of
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.deformation.at_size import ACCEPTED, Refinement
from psmr.pencil.deformation.critical import refuse_unstable, refuse_unstable_at_size
from psmr.pencil.deformation.deformation import spectra_of
from psmr.pencil.deformation.report import deformation_columns
from psmr.pencil.modes.search import EIGENVALUE_TOLERANCE, ModeChoice, ShiftInvert, find
from psmr.pencil.modes.spectrum import REPRESENTED, Match, status_of, unwrapped_logarithm
from psmr.pencil.modes.verdict import mode_text, stable_and_radius
from psmr.pencil.operator.step_operator import outermost, step_map
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


NAMES = ("relative_deformation", "damping_error", "frequency_error")
LOST = (math.inf, math.inf, math.inf)

# Of a large system: so many of the least damped oscillations of the band, and the fastest modes near its edge
# in so many directions of the left half-plane, as angles from the imaginary axis.
LEAST_DAMPED, AT_THE_EDGE = 10, 3
DIRECTIONS = tuple(math.radians(angle) for angle in (0.0, 22.5, 45.0, 67.5, 90.0))

# A refined vector that shares less than half of the mode's length has become another mode.
UNLIKE = 0.5


@dataclass(frozen=True)
class ModeErrors:
    """What a scheme does to the modes of a band.

    `largest`: Largest deformation, damping error and frequency error; infinite where a mode is not
      represented.
    `worst`: The mode that is deformed most, in 1/s.
    `stable`: Whether no multiplier lies outside the unit circle; None where that was not asked, since the
      bounds are missed already.
    """

    largest: tuple[float, float, float]
    worst: complex
    stable: bool | None


class BandModes(Protocol):
    """The modes of a band, against which schemes are held.

    `count`: How many there are (a complex pair counts once).
    `coverage`: Which ones, where not all.
    """

    count: int
    coverage: str

    def of(self, scheme: Scheme) -> ModeErrors:
        """Return what a scheme does to the modes."""

    def stable(self, scheme: Scheme) -> bool:
        """Return whether no multiplier of a scheme lies outside the unit circle."""


class EveryMode:
    """Every mode of the band by the step operator of each candidate.

    Raises InputError for a band without modes, or a system that is unstable to begin with.
    """

    coverage = ""

    def __init__(self, linear: LinearDae, target: Target) -> None:
        self.linear, self.modes = linear, modes_of(linear)
        refuse_unstable(self.modes)
        self.band = _band(self.modes, target)
        self.count = int(self.band.sum())

    def of(self, scheme: Scheme) -> ModeErrors:
        """See `BandModes`."""
        s = self.modes.s[self.band]
        matched, stable = self._matched(scheme)
        if matched is None:
            return ModeErrors(LOST, complex(s[0]), False)
        status = np.array(matched.status)[self.band]
        if (missing := np.flatnonzero(status != REPRESENTED)).size:
            return ModeErrors(LOST, complex(s[missing[0]]), stable)
        errors = _errors(s, matched.s_numerical[self.band])
        largest = tuple(float(values.max()) for values in errors)
        return ModeErrors(largest, complex(s[int(errors[0].argmax())]), stable)  # type: ignore[arg-type]

    def stable(self, scheme: Scheme) -> bool:
        """See `BandModes`."""
        return self._matched(scheme)[1]

    def _matched(self, scheme: Scheme) -> tuple[Match | None, bool]:
        """Return the numerical modes, None where there is no operator, and whether the scheme is stable.

        A scheme has no operator at steps above a delay that it cannot read, either.
        """
        try:
            found = spectra_of(self.linear, scheme, self.modes)
        except (SingularError, SchemeError):
            return None, False
        return found.matched, stable_and_radius(found.excess)[0]


def _band(modes: Modes, target: Target) -> NDArray[np.bool_]:
    size = np.abs(modes.s)
    band = (size <= 2.0 * np.pi * target.up_to) & (size > 0.0) & (modes.s.imag >= 0.0)
    if not band.any():
        if not size.any():
            raise InputError(f"{len(size)} states and no mode but zero ones: there is nothing to tune for")
        slowest = modes.s[int(np.argmin(np.where(size > 0.0, size, np.inf)))]
        raise InputError(
            f"up_to = {target.up_to:g} Hz: no mode of the system is that slow; the slowest is "
            f"{mode_text(slowest)} ({abs(slowest) / (2 * np.pi):.3g} Hz)"
        )
    return np.asarray(band)


def _errors(s: NDArray[np.complex128], s_hat: NDArray[np.complex128]) -> list[NDArray[np.float64]]:
    """Return magnitudes of deformation, damping and frequency error, 0 where there is no such thing."""
    columns = deformation_columns(s, s_hat, [REPRESENTED] * len(s))
    return [np.nan_to_num(np.abs(columns[name]), nan=0.0) for name in NAMES]


@dataclass(frozen=True, eq=False)
class _Mode:
    """A mode with what its refinement needs; see `ShiftInvert.polished`."""

    s: complex
    vector: NDArray[np.complex128]
    lu: SuperLU
    shift: complex


class ChosenModes:
    """The least damped modes of the band and the fastest at its edge, from sparse matrices.

    The error of a scheme grows with the magnitude of a mode, so that the edge of the band decides, but for
    oscillations that partition or predictor bend for another reason: those are looked for among the least
    damped. The first mode that misses a bound ends the judgement of a candidate.

    Raises InputError for a band without modes, or a system that is unstable to begin with.
    """

    def __init__(self, linear: LinearDae, target: Target) -> None:
        self.linear, self.target = linear, target
        self.pencil = ShiftInvert(linear)
        refuse_unstable_at_size(self.pencil)
        # The one that missed last comes first: it will often miss again.
        self.modes = [_Mode(*self.pencil.polished(s, vector)) for s, vector in self._chosen()]
        self.count = len(self.modes)
        self.coverage = (
            f"{linear.n + linear.m} variables: judged by {self.count} modes of the band, the least damped "
            f"oscillations and the fastest at its edge; the others were not computed"
        )

    def _chosen(self) -> list[tuple[complex, NDArray[np.complex128]]]:
        edge = 2.0 * math.pi * self.target.up_to
        found: list[tuple[complex, NDArray[np.complex128]]] = []

        def add(s: NDArray[np.complex128], vectors: NDArray[np.complex128], most: int) -> None:
            inside = np.flatnonzero(
                (np.abs(s) <= edge) & (s.imag >= -EIGENVALUE_TOLERANCE * np.abs(s)) & (np.abs(s) > 1e-3)
            )
            for k in inside[np.argsort(-np.abs(s[inside]), kind="stable")][:most]:
                if all(abs(s[k] - known) > EIGENVALUE_TOLERANCE * abs(known) for known, _ in found):
                    found.append((complex(s[k]), vectors[:, k]))

        for angle in DIRECTIONS:
            shift = edge * complex(-math.sin(angle), math.cos(angle)) * (1.0 + 1e-6j)
            s, vectors, _ = self.pencil.near(shift)
            add(s, vectors, AT_THE_EDGE)
        band = (min(0.1, 0.5 * self.target.up_to), self.target.up_to)
        try:
            slow = find(self.pencil, ModeChoice(least_damped=LEAST_DAMPED, band_hz=band))
            add(slow.s, slow.vectors, LEAST_DAMPED)
        except InputError:  # nothing oscillates in the band: its real modes are left
            pass
        if not found:
            raise InputError(
                f"up_to = {self.target.up_to:g} Hz: no mode of the system that slow was found; ask for a "
                "wider band"
            )
        return found

    def of(self, scheme: Scheme) -> ModeErrors:
        """See `BandModes`."""
        largest, worst = (0.0, 0.0, 0.0), self.modes[0].s
        shown = self._shown_by(scheme)
        for place, mode in enumerate(self.modes):
            s_hat = shown(mode)
            if s_hat is None:
                errors = LOST
            else:
                errors = tuple(float(v[0]) for v in _errors(np.array([mode.s]), np.array([s_hat])))  # type: ignore[assignment]
            if errors[0] >= largest[0]:
                worst = mode.s
            largest = tuple(map(max, largest, errors))  # type: ignore[assignment]
            if self.target.shortfall(largest) > 1.0:
                self.modes.insert(0, self.modes.pop(place))
                return ModeErrors(largest, worst, None)
        return ModeErrors(largest, worst, self.stable(scheme))

    def _shown_by(self, scheme: Scheme):  # type: ignore[no-untyped-def]
        """Return what gives a mode as a scheme shows it in 1/s, None where it does not."""
        h = scheme.step
        if (tableau := scheme.tableau) is not None:
            return lambda mode: _shown(mode.s, complex(tableau.stability_function(h * mode.s)), h)
        try:
            refinement = Refinement(self.linear, scheme, step_map(self.linear, scheme))
        except (SingularError, SchemeError):
            return lambda mode: None

        def refined(mode: _Mode) -> complex | None:
            pair = refinement.multiplier(mode.s, mode.vector, mode.lu, mode.shift)
            if pair.residual > ACCEPTED or pair.similarity < UNLIKE:
                return None
            return _shown(mode.s, pair.z, h)

        return refined

    def stable(self, scheme: Scheme) -> bool:
        """See `BandModes`; as far as the Arnoldi method can tell."""
        try:
            return not bool(outermost(step_map(self.linear, scheme), scheme.step).outside.any())
        except (SingularError, SchemeError):
            return False


def _shown(s: complex, z: complex, h: float) -> complex | None:
    if status_of(s, z, h) != REPRESENTED:
        return None
    return complex(unwrapped_logarithm(z, s, h))
