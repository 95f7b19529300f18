"""The schemes that a tuning tries, and what a macro step of each costs on this machine.

A macro step of r fast steps with K corrections costs

    start + (1 + K) (slow + r fast)            single rate: one step

in seconds. The terms are the engine's own compiled loops, timed on a decaying oscillation for each partition
and predictor, so that Newton iterations, factorisations by order and the overhead of a step are in them.
Processor time is taken, the smallest of several runs: other programs slow a run down, none speeds it up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

import partitioning
from partitioning import Partition, PartitionError
from psmr.base.arrays import Reals
from psmr.base.errors import SimulationError, SingularError
from psmr.base.threads import one_thread
from psmr.dae.system.eigenvalues import modes_of
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.integrate.control.grid import NO_STOPS
from psmr.integrate.run.advance_span import autonomous
from psmr.integrate.schemes.multirate import EXTRAPOLATION, SCHUR, Multirate
from psmr.integrate.schemes.one_step import SingleRate
from psmr.integrate.schemes.scheme import Scheme, advance
from psmr.integrate.solve.algebraic_solve import consistent
from psmr.integrate.solve.status import DONE, FULL
from psmr.pencil.deformation.deformation import LARGEST
from psmr.pencil.modes.search import ModeChoice, ShiftInvert, find

if TYPE_CHECKING:
    from psmr.integrate.schemes.multirate import Multirate


# Steps in s: about five to a doubling, numbers that a person would type.
GRID = tuple(
    1e-3 * ms
    for ms in (0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12.5, 15, 20, 25, 30, 40, 50, 60, 80, 100)
)

METHODS = ("TM", "BEM", "SDIRK2", "RK4", "FEM")
RATIOS = (2, 5, 10)

# Predictor and predicted set. BEM predicts with the work of TM; its errors differ, so both are tried.
PREDICTIONS = (
    ("FEM", "all"),
    ("FEM", "slow"),
    ("TM", "all"),
    ("BEM", "all"),
    (EXTRAPOLATION, "all"),
    (EXTRAPOLATION, "slow"),
)

# Interpolation and corrections.
COUPLINGS = (("linear", 0), ("spline", 0), ("linear", 1))

# Thresholds from the widest gaps of the spectrum, and for how many of them all algebraic variables are fast,
# too.
GAPS, ALGEBRAIC_FAST = 4, 2

# Of a large system, where a candidate takes seconds to judge.
RATIOS_AT_SIZE, GAPS_AT_SIZE = (5, 10), 2
PREDICTIONS_AT_SIZE = (("FEM", "all"), ("FEM", "slow"), (EXTRAPOLATION, "all"), (EXTRAPOLATION, "slow"))

# A gap narrower than this separates nothing: 1.5 is what one step of the grid changes.
NARROWEST = 1.5


@dataclass(frozen=True, eq=False)
class Family:
    """Schemes that differ in their step alone.

    `choices`: What a study file would say of them, the step left out; empty `split` for single rate.
    `split`: Threshold in 1/s and what becomes of the algebraic variables.
    `make`: Scheme of a step (h or h_slow) in s.
    """

    choices: Mapping[str, Any]
    split: Mapping[str, Any]
    make: Callable[[float], SingleRate | Multirate]

    def recorded(self, step: float) -> dict[str, Any]:
        """Return the fields of the [scheme] table of a study file."""
        if not self.split:
            return {"type": "single", **self.choices, "h": step}
        return {"type": "multirate", **self.split, "h_slow": step, **self.choices}


def families(linear: LinearDae) -> Iterator[Family]:
    """Yield every family for a system: single rate first, then each partition with each coupling."""
    yield from _single()
    for split, partition in partitions(linear):
        for ratio in RATIOS:
            for predictor, predict in PREDICTIONS:
                for interpolation, corrections in COUPLINGS:
                    yield _multirate(split, partition, ratio, predictor, predict, interpolation, corrections)


def families_at_size(linear: LinearDae) -> Iterator[Family]:
    """Yield the families for a system of more than 2,000 variables."""
    yield from _single()
    for split, partition in partitions_at_size(linear):
        for ratio in RATIOS_AT_SIZE:
            for predictor, predict in PREDICTIONS_AT_SIZE:
                yield _multirate(split, partition, ratio, predictor, predict, "linear", 0)


def _single() -> Iterator[Family]:
    for method in METHODS:
        yield Family({"method": method}, {}, lambda h, method=method: SingleRate(method, h))  # type: ignore[misc]


def _multirate(
    split: Mapping[str, Any],
    partition: Partition,
    ratio: int,
    predictor: str,
    predict: str,
    interpolation: str,
    corrections: int,
) -> Family:
    choices: dict[str, Any] = {
        "ratio": ratio,
        "predictor": predictor,
        "predict": predict,
        "solution": "TM",
        "interpolation": interpolation,
        "corrections": corrections,
    }
    return Family(choices, split, lambda h: Multirate(partition, h, **choices))


def partitions(linear: LinearDae) -> list[tuple[dict[str, Any], Partition]]:
    """Return the partitions worth trying, each once, with the threshold that makes it."""
    linear = linear.without_delays()
    gaps = partitioning.suggest_delta(linear, rows=50)
    gaps = gaps[gaps["ratio"] >= NARROWEST]
    found: list[tuple[dict[str, Any], Partition]] = []
    seen: set[tuple[bytes, bytes]] = set()
    for algebraic, count in (("participation", GAPS), ("fast", ALGEBRAIC_FAST)):
        for delta in gaps["delta"].head(count):
            # Three digits stay inside a gap and are what a person would write.
            delta = float(f"{delta:.3g}")
            try:
                with one_thread(linear.n):
                    split = partitioning.by_participation(linear, delta, algebraic=algebraic)
            except PartitionError:
                continue  # no split at this threshold is well posed; the next one may be
            fast = (*split.fast_x, *split.fast_y)
            key = (split.fast_x.tobytes(), split.fast_y.tobytes())
            if any(fast) and not all(fast) and key not in seen:
                seen.add(key)
                found.append(({"delta": delta, "algebraic": algebraic}, split))
    return found


def partitions_at_size(linear: LinearDae) -> list[tuple[dict[str, Any], Partition]]:
    """Return partitions by devices, without the modes of the system.

    A device is as fast as the fastest eigenvalue of its own states with everything around it at rest, which
    is a block of fx. The devices beyond the widest gaps between these are fast, one partition for each gap.
    """
    rates = device_rates(linear)
    values = np.array(sorted({rate for rate in rates.values() if rate > 0.0}))
    ratios = values[1:] / values[:-1]
    found: list[tuple[dict[str, Any], Partition]] = []
    for k in np.argsort(-ratios, kind="stable")[:GAPS_AT_SIZE]:
        if ratios[k] < NARROWEST:
            break
        fast = [device for device, rate in rates.items() if rate > values[k]]
        try:
            split = partitioning.by_device(linear, fast)
        except PartitionError:
            continue  # nothing makes this split well posed; the next one may be
        if not all((*split.fast_x, *split.fast_y)):
            found.append(({"fast_devices": fast}, split))
    return found


def device_rates(linear: LinearDae) -> dict[str, float]:
    """Return by device the largest magnitude of an eigenvalue of its own states, in 1/s."""
    owners: dict[str, list[int]] = {}
    for place, name in enumerate(linear.names_x):
        owners.setdefault(name.rpartition(".")[0], []).append(place)
    fx = linear.fx.tocsr()
    rates = {}
    for device, places in owners.items():
        block = fx[places][:, places].toarray()
        rates[device] = float(np.abs(np.linalg.eigvals(block)).max())
    return rates


Terms = tuple[float, float, float]

# The oscillation that is timed: large enough that Newton iterates as it does after a disturbance, small
# enough that no limit is reached (the largest variable moves by a hundredth).
KICK = 1e-2

# In a large system it is one of those nearest to 1 Hz, in 1/s: one factorisation finds them.
AMONG = 2j * math.pi

# Magnitude in 1/s below which an eigenvalue is that of a common angle, and a frequency none.
NO_MODE = 1e-6

NEVER = (math.inf, math.inf, math.inf)

# Steps of a timed run, repetitions, and the ratios by which start and fast steps are separated.
STEPS, REPEATS, TIMED_RATIOS = 50, 5, (2, 12)
# The same for a large system, of which a step is no moment.
QUICK_STEPS, QUICK_REPEATS = 10, 2

# Steps of the timed runs in s: the next one where the scheme is not stable with the first.
TRIED = (0.02, 0.005, 0.001, 2e-4)


@dataclass(frozen=True, eq=False)
class CostModel:
    """Seconds of work by scheme.

    `terms`: (start, slow, fast) in seconds, by what a scheme's step is made of (`work_of`).
    `seconds`: Processor time that the calibration took.
    `reads_past`: Whether a run reads signals with a delay; what that takes is not in the costs.
    """

    terms: dict[Hashable, Terms]
    seconds: float
    reads_past: bool = False

    def of(self, scheme: Scheme) -> float:
        """Return the seconds of work for one second of simulated time, with every correction made.

        Raises KeyError for a method or a partition that was not calibrated.
        """
        start, slow, fast = self.terms[work_of(scheme)]
        if (two_rates := scheme.two_rates) is None:
            return (start + slow + fast) / scheme.step
        return (start + two_rates.passes * (slow + two_rates.ratio * fast)) / scheme.step


def work_of(scheme: Scheme) -> Hashable:
    """Return what the work of a step depends on, step sizes and corrections aside."""
    return scheme.with_step(1.0) if scheme.two_rates is None else scheme.two_rates.work


def calibrate(system: System, schemes: Iterable[Scheme], quick: bool = False) -> CostModel:
    """Time what the given schemes are made of; steps, ratios and corrections of theirs do not matter.

    `system`: at its equilibrium; `schemes`: every method and every combination of partition, predictor and
    solution that will be asked for; `quick`: whether a few steps are enough, as for a large system.
    """
    w = moved_along_mode(system)
    timing = (QUICK_STEPS, QUICK_REPEATS) if quick else (STEPS, REPEATS)
    schemes = list(schemes)
    for scheme in schemes[:1]:  # what is not compiled yet is compiled before the clock runs
        _timed(system, scheme, w, 1, 0)
    began = time.process_time()
    terms: dict[Hashable, Terms] = {}
    for scheme in schemes:
        if (work := work_of(scheme)) not in terms:
            timed = _step if scheme.two_rates is None else _terms
            terms[work] = _first_stable(timed, system, scheme, w, timing)
    return CostModel(terms, time.process_time() - began, bool(system.delays))


def moved_along_mode(system: System, near: complex | None = None, size: float = KICK) -> Reals:
    """Return the start moved along a mode by `size` in its largest variable; y is consistent.

    `near`: the mode, in 1/s; the least damped oscillation where it is None.
    """
    vector = _shape(system, near).real
    vector = size * vector / np.abs(vector).max()
    x = system.x0 + vector[: system.n]
    x = np.clip(x, *system.limits(system.w0))
    return system.buffer(x, consistent(system, x, system.y0 + vector[system.n :]))


def _shape(system: System, near: complex | None) -> NDArray[np.complex128]:
    """Return the vector of the mode nearest to a value, or of a mode of little damping; see `_liveliest`."""
    linear = system.linearise()
    if system.n + system.m > LARGEST:
        pencil = ShiftInvert(linear)
        if near is None:
            s, vectors, _ = pencil.near(AMONG)
            found = vectors[:, _liveliest(np.where(np.abs(s) > NO_MODE, s, 0.0))]
        else:
            found = find(pencil, ModeChoice(near=(near,))).vectors[:, 0]
        # Turned so that its largest entry is real: a vector is known but for a factor.
        return np.asarray(found / found[np.abs(found).argmax()])
    modes = modes_of(linear)
    chosen = _liveliest(modes.s) if near is None else int(np.abs(modes.s - near).argmin())
    return np.asarray(modes.vectors[:, chosen])


def _liveliest(s: NDArray[np.complex128]) -> int:
    """Return the position of the least damped oscillation; of the slowest mode where nothing oscillates."""
    oscillating = s.imag > NO_MODE
    if not oscillating.any():
        return int(np.argmin(np.where(s != 0.0, np.abs(s), np.inf)))
    return int(np.where(oscillating, -s.real / np.maximum(np.abs(s), NO_MODE), np.inf).argmin())


def measured(system: System, scheme: Scheme, t_end: float) -> float:
    """Return the processor time in s for one simulated second of the oscillation, by the clock."""
    steps = max(1, round(t_end / scheme.step))
    return _timed(system, scheme, moved_along_mode(system), steps, REPEATS) / scheme.step


def _first_stable(
    timed: Callable[..., Terms], system: System, scheme: Any, w: Reals, timing: tuple[int, int]
) -> Terms:
    """Return what the first step that can be run takes, infinity where none can."""
    for h in TRIED:
        try:
            return timed(system, scheme, w, h, timing)
        except (SimulationError, SingularError):
            continue
    return NEVER


def _step(system: System, scheme: Scheme, w: Reals, h: float, timing: tuple[int, int]) -> Terms:
    return 0.0, _timed(system, scheme.with_step(h), w, *timing), 0.0


def _terms(system: System, scheme: Scheme, w: Reals, h: float, timing: tuple[int, int]) -> Terms:
    """Solve three timed runs for (start, slow, fast)."""
    multirate = cast("Multirate", scheme)
    plain = replace(multirate, h_slow=h, ratio=TIMED_RATIOS[0], corrections=0, interpolation="linear")
    few, many = (_timed(system, replace(plain, ratio=ratio), w, *timing) for ratio in TIMED_RATIOS)
    fast = max(0.0, (many - few) / (TIMED_RATIOS[1] - TIMED_RATIOS[0]))
    if multirate.interface == SCHUR:  # nothing is corrected, and one pass need not be separated from the rest
        return max(0.0, few - TIMED_RATIOS[0] * fast), 0.0, fast
    # A correction can end early when it agrees; with an epsilon below rounding each is made.
    again = _timed(system, replace(plain, corrections=1, epsilon=1e-300), w, *timing)
    slow = max(0.0, again - few - TIMED_RATIOS[0] * fast)
    return max(0.0, few - slow - TIMED_RATIOS[0] * fast), slow, fast


def _timed(system: System, scheme: Scheme, start: Reals, steps: int, repeats: int) -> float:
    """Return processor time in s for a macro step."""
    parameters = [matrix.copy() for matrix in system.parameters]
    engine = scheme.engine(system, parameters, start.copy(), False)
    h = scheme.step
    best = np.inf
    for _ in range(repeats + 1):  # the first one chooses pivots
        w, status = start.copy(), int(FULL)
        engine.forget(autonomous(system, parameters))
        engine.begin(float(w[-1]) + steps * h, w, NO_STOPS)
        began = time.process_time()
        while status != DONE:
            piece, status = advance(engine, steps, w)
            if status not in (DONE, FULL):
                raise SimulationError(f"{scheme}: the timed oscillation does not converge at t = {w[-1]:g} s")
            if piece.parts.any():
                raise SimulationError(f"{scheme}: the timed oscillation needs shorter steps than {h:g} s")
        best = min(best, time.process_time() - began)
    return best / steps
