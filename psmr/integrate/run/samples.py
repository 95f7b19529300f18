"""The samples of a run: whether they fit it, when they are, and those that Python takes itself.

Compiled code takes the samples within a march, Python those at its end; a march of fixed steps ends before
its instants fill the memory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import SchemeError
from psmr.dae.compile.decorators import lean
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.control.grid import NO_STOPS, times_off_grid
from psmr.integrate.schemes.scheme import Engine, Scheme, TwoRates
from psmr.integrate.solve.status import DONE
from psmr.integrate.step.sampling import NEAR, NOT_DUE, Samplers, next_sample, sample

MOST = 2**14
"""Samples of which a march on a grid has the instants."""

DIGITS = 10**8
"""Largest denominator of a period in s that is taken for a fraction."""


def samplers_in(system: System, scheme: Scheme, engine: Engine) -> Samplers | None:
    """Return what samples in a run; None where nothing does.

    Raises SchemeError for a scheme that takes no samples, for samples that are at no fast step of one with
    two rates, and code whose steps cannot be done over where they are.
    """
    if not system.samplers:
        return None
    found, first = engine.samplers, system.samplers[0]
    if found is None:
        raise SchemeError(
            f"{first.device} samples every {first.period:g} s, and {scheme} takes no samples; take "
            "psmr.SampledMultirate, psmr.VariableStep, psmr.SingleRate or psmr.Multirate"
        )
    if system.delays:
        late = system.names_u[system.delays[0].input - system.n - system.m]
        raise SchemeError(
            f"{first.device} samples, and {late} reads a signal with a delay: a run has the one or the other."
            " Give the samples a computing delay, or the signal a lag"
        )
    two = scheme.two_rates
    if two is not None and two.ratio > 1:
        _require_fast_points(found, engine, two)
        own = next((s.device for s in system.samplers if s.code is not None and not s.code.repeatable), "")
        if own and two.passes > 1:
            raise SchemeError(
                f"{own} keeps states of its own, so that its samples cannot be taken over again, and "
                f"{scheme} does macro steps over; take corrections = 0"
            )
    return found


def _require_fast_points(samplers: Samplers, engine: Engine, two: TwoRates) -> None:
    """Raise SchemeError for samples that are at no fast point of macro steps, whatever these begin with."""
    h, clocks = two.h_fast, [c for c in range(len(samplers.clocks)) if not _read_slowly(samplers, engine, c)]
    for c in clocks:
        period, offset = samplers.clocks[c]
        begun = offset - samplers.clocks[clocks[0]][1]
        off = [
            abs(part - round(part)) > TUNED.rounding * max(1.0, abs(part)) for part in (period / h, begun / h)
        ]
        if not any(off):
            continue
        name = samplers.of_clock(c)[0].device
        what = f"every {period:g} s" if off[0] else f"every {period:g} s from {offset:g} s on"
        times = [samplers.clocks[k] for k in clocks]
        raise SchemeError(
            f"{name} samples {what}, which is not at the fast steps of h_fast = {h:g} s: a sample within a "
            f"macro step must be at one. {_fitting(times, two)}"
        )


def _fitting(clocks: Sequence[tuple[float, float]], two: TwoRates) -> str:
    """Return a sentence on the fast step that fits all clocks."""
    first = clocks[0][1]
    times = [Fraction(t).limit_denominator(DIGITS) for p, o in clocks for t in (p, abs(o - first)) if t > 0.0]
    step = times[0]
    for t in times[1:]:
        step = Fraction(math.gcd(step.numerator * t.denominator, t.numerator * step.denominator),
                        step.denominator * t.denominator)  # fmt: skip
    slow = Fraction(two.h_fast * two.ratio).limit_denominator(DIGITS)
    least = (slow / step).numerator
    ratio = least * math.ceil(two.ratio / least)
    if ratio > 1000 * two.ratio:
        return "No fast step fits them all; take periods and offsets that are multiples of one time"
    return f"Take ratio = {ratio}, a fast step of {float(slow / ratio):g} s"


def _read_slowly(samplers: Samplers, engine: Engine, c: int) -> bool:
    """Return whether slow equations read what the samples of a clock write."""
    at = np.concatenate([sampler.at for sampler in samplers.of_clock(c)])
    return engine.read_slowly(at.tolist(), ())


def instants(clocks: Sequence[tuple[float, float]], a: float, b: float) -> Reals:
    """Return the ascending instants in s of some clocks behind a and before b in s, rounding aside."""
    found, near = [], NEAR * min((period for period, _ in clocks), default=0.0)
    for period, offset in clocks:
        first, last = (math.ceil((t + side - offset) / period) for t, side in ((a, near), (b, -near)))
        found.append(offset + period * np.arange(max(first, 0), max(last, 0)))
    if len(found) < 2:
        return np.asarray(found[0] if found else NO_STOPS)
    t = np.sort(np.concatenate(found), kind="stable")  # which merges what ascends
    return np.asarray(t[np.diff(t, prepend=-np.inf) > near])


class GridSamples:
    """When samples are on the grids of fixed steps.

    `samplers`, `engine`: What samples, and what takes the steps.
    `two`: Step sizes of a scheme with two rates; None at one rate, where each sample ends a step.
    """

    def __init__(self, samplers: Samplers, engine: Engine, two: TwoRates | None) -> None:
        self.samplers, self.two = samplers, two if two is not None and two.ratio > 1 else None
        slowly = [self.two is None or _read_slowly(samplers, engine, c) for c in range(len(samplers.clocks))]
        pairs = list(zip(samplers.clocks, slowly, strict=True))
        self.slow, self.fast = ([clock for clock, own in pairs if own is side] for side in (True, False))
        self.shortest = min(period for period, _ in samplers.clocks)

    def end(self, t: float, end: float) -> float:
        """Return where a march from t to `end` in s ends, so that there are not too many instants."""
        window = MOST * self.shortest
        if end - t <= window:
            return end
        if self.two is None:
            return float(instants([min(self.samplers.clocks)], t, t + window)[-1])
        h = self.two.h_fast * self.two.ratio
        begin = max([t, *instants(self.slow, t, t + window)[-1:].tolist()])
        ahead = begin + max(1.0, math.floor((t + window - begin) / h)) * h
        first = instants(self.fast, t, t + 2.0 * self.shortest)[:1]
        if self.fast and times_off_grid(t, first, self.two.h_fast).size:
            return float(first[0])  # from there the fast steps meet all
        return ahead if ahead < end else end

    def on_grid(self, t: float, end: float, stops: Reals) -> tuple[Reals, Reals]:
        """Return the instants between t and `end` in s, and those of them at which a step ends.

        `stops` are times in s at which a step ends in any case.
        """
        ending = instants(self.slow, t, end)
        if self.two is None:
            return ending, ending
        within, marks = instants(self.fast, t, end), np.union1d(stops, ending)
        every = instants(self.samplers.clocks, t, end) if ending.size else within
        marks = np.array([t, *marks[(marks > t) & (marks < end)], end])
        for a, b in itertools.pairwise(marks.tolist()):
            first, last = np.searchsorted(within, (a, b), side="right")
            if first < last:  # on the fast grid of one another, all are on that of the steps, or none is
                own = within[[first, last - 1]]
                ending = np.union1d(ending, times_off_grid(a, own, self.two.h_fast, b))
        return every, ending


@lean
def _sample(sampling, since, w):  # type: ignore[no-untyped-def]
    """Take samples as compiled code does; see `sample`, and `sample_now` for `since`."""
    if next_sample(sampling, since) > w[w.size - 1] + sampling.near:
        return DONE, NOT_DUE
    return sample(sampling, w)


def sample_now(samplers: Samplers, since: float, w: Reals) -> bool:
    """Take the samples that are due at the time in w; return whether there are any. Nothing is solved.

    Those that were due at `since`, in s, where the march to there began, have been taken.
    """
    status, effect = _sample(samplers.compiled, since, w)
    if status != DONE:
        raise samplers.failure(w)
    return bool(effect != NOT_DUE)
