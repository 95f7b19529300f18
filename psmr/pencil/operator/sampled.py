"""Samples on a linear DAE: what they make of it over their common period, by themselves and with a scheme.

Between samples  E w' = J w + B z  with w = (x, y), and z, the sampled states and outputs, held: they are
states of a larger DAE whose rates are 0. At an instant t all samplers that are due read (x, z, y) as they are
just before, then all write,

    z(t+) = M z(t-) + N x(t-) + L y(t-),      0 = g_x x + g_y y(t+) + g_z z(t+)

so that the product of what happens in a period in which all samplers come round, and the steps of a scheme
with them, has the multipliers exp(s P) of the modes s. With exp(A h) between the instants it is what sampling
alone does: Kalman and Bertram, A unified approach to the theory of sampling systems, J. Franklin Institute
267 (1959); one sampler with a delay is in Astrom and Wittenmark, Computer-Controlled Systems (1997), section
2.3. With the steps of a scheme it is what a run shows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.errors import SchemeError
from psmr.base.threads import on_one_thread
from psmr.dae.system.linear import LinearDae, LinearSampler
from psmr.integrate.control.grid import TimeGrid
from psmr.integrate.schemes.scheme import Scheme, steady_program
from psmr.pencil.operator.equation import Equation
from psmr.pencil.operator.equations import SampledStep, equations_with, side_matrices
from psmr.pencil.operator.loops import matrices_of
from psmr.pencil.operator.step_operator import factorised, map_of

Reals = NDArray[np.float64]

LARGEST_DENOMINATOR = 10**9
"""Times of samples are fractions of a second with at most this denominator: nanoseconds, thirds of 1 us."""

MOST_INSTANTS = 20_000
"""Instants in a common period up to which it is worked with; beyond, the slowest samplers are held."""


class NotLinearisedError(SchemeError):
    """Samples that are not linearised, so that there is no operator with them."""


def exact_time(t: float) -> Fraction:
    """Return a time in s as the fraction that it was meant to be."""
    return Fraction(t).limit_denominator(LARGEST_DENOMINATOR)


def common_period(periods: Iterable[Fraction]) -> Fraction:
    """Return the shortest time of which all periods are parts."""
    periods = list(periods)
    return Fraction(lcm(*(p.numerator for p in periods)), gcd(*(p.denominator for p in periods)))


@dataclass(frozen=True, eq=False)
class SampledDae:
    """A linear DAE with samplers.

    `linear`: Of the states (x, z) and the algebraic variables y, with the rates of z 0.
    `s`: How many z there are.
    `samplers`: Who writes them.
    `source`: The linear DAE of (x, y) with these samples.
    `out`: Devices whose samples are left out: what they wrote is held.
    """

    linear: LinearDae
    s: int
    samplers: tuple[LinearSampler, ...]
    source: LinearDae
    out: frozenset[str] = frozenset()

    @classmethod
    def of(cls, linear: LinearDae) -> SampledDae:
        """Return a linear DAE (x, y) that has samples as one of (x, z, y)."""
        samples = linear.samples
        assert samples is not None
        n, s, b = linear.n, len(samples.names), samples.b
        labels = linear.groups.max(initial=-1) + 1 + np.arange(s)
        held = replace(
            linear,
            fx=sp.csc_matrix(sp.block_array([[linear.fx, b[:n]], [None, sp.csc_array((s, s))]])),
            fy=sp.csc_matrix(sp.vstack([linear.fy, sp.csc_array((s, linear.m))])),
            gx=sp.csc_matrix(sp.hstack([linear.gx, b[n:]])),
            names_x=(*linear.names_x, *samples.names),
            groups=np.concatenate([linear.groups[:n], labels, linear.groups[n:]]),
            held=(),
            linearised_samples=None,
        )
        return cls(held, s, samples.samplers, linear)

    @property
    def scalable(self) -> bool:
        """Whether it is known what other periods do."""
        return self.source.samples is not None and self.source.samples.at_periods is not None

    def scaled(self, factor: float) -> SampledDae:
        """Return the same with all periods, offsets and delays times a factor."""
        assert self.source.samples is not None
        assert self.source.samples.at_periods is not None
        made = functools.partial(self.source.samples.at_periods, factor)
        return SampledDae.of(replace(self.source, linearised_samples=made))

    def without_delays(self) -> SampledDae:
        """Return the same with what a sample computes written at once."""
        found: list[LinearSampler] = []
        for sampler in self.samplers:
            last = found[-1] if found else None
            if last is None or last.device != sampler.device or last.offset == sampler.offset:
                found.append(sampler)
                continue
            computed = replace(self, samplers=(last,)).jump((0,))
            both = sp.csr_array(sp.vstack([last.map, sampler.map @ computed]))
            found[-1] = replace(last, at=np.concatenate([last.at, sampler.at]), map=both)
        return self if len(found) == len(self.samplers) else replace(self, samplers=tuple(found))

    @property
    def states(self) -> int:
        """Number of continuous states."""
        return self.linear.n - self.s

    @property
    def held(self) -> range:
        """Places of the sampled variables."""
        return range(self.states, self.linear.n)

    @functools.cached_property
    def period(self) -> Fraction:
        """Common period in s of all samplers."""
        return common_period(exact_time(self.samplers[k].period) for k in self.active)

    @property
    def active(self) -> list[int]:
        """Which samplers are not left out."""
        return [k for k, sampler in enumerate(self.samplers) if sampler.device not in self.out]

    def instants(self, period: Fraction) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
        """Yield the instants behind 0 and up to the end of a period, and which samplers are due."""
        times = set[Fraction]()
        clocks = [
            (k, exact_time(self.samplers[k].period), exact_time(self.samplers[k].offset)) for k in self.active
        ]
        for _, step, offset in clocks:
            first = offset % step or step
            times |= {first + k * step for k in range(int((period - first) / step) + 1)}
        for t in sorted(times):
            yield t, tuple(k for k, step, offset in clocks if not (t - offset) % step)

    def jump(self, due: tuple[int, ...]) -> sp.csr_array:
        """Return (N, N) what samplers make of (x, z, y), with y as it was."""
        n, N = self.states, self.linear.n + self.linear.m
        if not due:
            return sp.csr_array(sp.eye_array(N))
        written = np.concatenate([self.samplers[k].at for k in due]) + n
        kept = sp.diags_array(np.where(np.isin(np.arange(N), written), 0.0, 1.0))
        place = sp.csr_array((np.ones(written.size), (written, np.arange(written.size))), (N, written.size))
        return sp.csr_array(kept + place @ sp.vstack([self.samplers[k].map for k in due]))


def repeated(pieces: Iterable[tuple[Hashable, Callable[[], Reals]]], size: int) -> Reals:
    """Return the product of maps one after another, equal ones in a row by squaring.

    `pieces`: A key and what makes the matrix of each; equal keys have equal matrices.
    """
    known: dict[Hashable, Reals] = {}
    product, last, count = np.eye(size), None, 0
    for key, make in pieces:
        if key not in known:
            known[key] = make()
        if key != last:
            product, last, count = _times(known, last, count, product), key, 0
        count += 1
    return _times(known, last, count, product)


def _times(known: dict[Hashable, Reals], key: Hashable, count: int, product: Reals) -> Reals:
    if not count:
        return product
    if count > 1 and (key, count) not in known:
        known[key, count] = np.linalg.matrix_power(known[key], count)
    return np.asarray(known[key if count == 1 else (key, count)] @ product)


@on_one_thread
def exact_operator(sampled: SampledDae, period: Fraction) -> Reals:
    """Return (n + s, n + s) what (x, z) becomes in a period, solved exactly between the samples."""
    linear = sampled.linear
    A, follow, n = linear.state_matrix(), linear.following(), linear.n

    def jumped(due: tuple[int, ...]) -> Reals:
        matrix = sampled.jump(due)[:n]
        return np.asarray(matrix[:, :n] + matrix[:, n:] @ follow)

    jumps, flows = functools.cache(jumped), functools.cache(lambda h: scipy.linalg.expm(A * float(h)))

    def made(h: Fraction, due: tuple[int, ...]) -> Reals:
        return jumps(due) @ flows(h) if due else flows(h)

    def pieces() -> Iterator[tuple[Hashable, Callable[[], Reals]]]:
        t = Fraction(0)
        for instant, due in [*sampled.instants(period), (period, ())]:
            if instant > t:
                yield (instant - t, due), functools.partial(made, instant - t, due)
            t = instant

    return repeated(pieces(), n)


def workable(sampled: SampledDae, scheme: Scheme) -> tuple[SampledDae, tuple[str, ...]]:
    """Return a DAE whose period is not too long, with the slowest samplers held, and sentences on that."""
    left, held = sampled, list[str]()
    while True:
        periods = {left.samplers[k].device: left.samplers[k].period for k in left.active}
        period = scheme_period(left, scheme)
        if sum(period / exact_time(each) for each in periods.values()) <= MOST_INSTANTS:
            return left, tuple(held)
        slowest = max(periods.values())
        out = [device for device, each in periods.items() if each == slowest]
        if len(out) == len(periods):
            raise SchemeError(
                f"{', '.join(out[:3])}: more than {MOST_INSTANTS} samples in the {float(period):.4g} s in "
                "which samples and steps come round; take times with a short common period"
            )
        held.append(
            f"Held as it is: {', '.join(out)}, sampled every {slowest:g} s, since the common period of "
            f"{float(period):.4g} s is too long to work with beside the others' samples."
        )
        left = replace(left, out=left.out | {*out})


def scheme_period(sampled: SampledDae, scheme: Scheme) -> Fraction:
    """Return the shortest time in s in which samplers and steps of a scheme come round."""
    if not samples_within(sampled, scheme):
        return sampled.period
    return common_period([sampled.period, exact_time(scheme.step)])


def samples_within(sampled: SampledDae, scheme: Scheme) -> bool:
    """Return whether samples are points within the macro steps, as fast equations alone read what they write.

    Otherwise a step ends at each.
    """
    if scheme.two_rates is None or scheme.split is None or scheme.two_rates.ratio < 2:
        return False
    slow = ~np.concatenate([scheme.split.fast_x, scheme.split.fast_g])
    n, s, linear = sampled.states, sampled.s, sampled.linear
    read = sp.vstack([sp.csc_array(linear.fx)[:n, n:], sp.csc_array(linear.gx)[:, n:]], format="csr")
    fast = exact_time(scheme.two_rates.h_fast)
    times = (
        exact_time(t)
        for k in sampled.active
        for t in (sampled.samplers[k].period, sampled.samplers[k].offset)
    )
    return bool(not s or not read[slow].nnz) and all((t / fast).denominator == 1 for t in times)


def with_held(scheme: Scheme, sampled: SampledDae) -> Scheme:
    """Return a scheme for the DAE in which sampled values are fast states: no equation interpolates them."""
    split = scheme.split
    if split is None:
        return scheme
    linear = sampled.linear
    if split.names_x != linear.names_x[: sampled.states] or split.names_y != linear.names_y:
        raise SchemeError(f"{scheme}: split is a partition of another system")
    fast_x = np.append(split.fast_x, np.ones(sampled.s, bool))
    names = (linear.names_x, linear.names_y, linear.names_g)
    extended = Partition(fast_x, split.fast_y, split.fast_g, split.delta, split.algebraic, *names)
    return replace(scheme, split=extended)  # type: ignore[type-var]


@on_one_thread
def sampled_operator(sampled: SampledDae, scheme: Scheme) -> Reals:
    """Return the matrix of what (x, z, y), and what a scheme remembers, become in a `scheme_period`.

    Raises SchemeError for a partition of another system or a scheme whose step is no program; SingularError
    when an equation of the step has no unique solution.
    """
    extended, linear, period = with_held(scheme, sampled), sampled.linear, scheme_period(sampled, scheme)
    known, history = side_matrices(linear, extended), steady_program(extended).history
    size, N = linear.n + linear.m + history * known.remembered.size, linear.n + linear.m
    read = abs(sp.csc_array(linear.gx)[:, sampled.states :]).sum(axis=0) > 0.0

    def made(step: SampledStep, due: tuple[int, ...]) -> Reals:
        matrix = map_of(equations_with(known, extended, sampled=step)).apply(np.eye(size))
        if due:
            mass, _, constraints = matrices_of(sp.csr_array(linear.jacobian_at_once()), linear.n)
            jump = sampled.jump(due)
            if not read[np.concatenate([sampled.samplers[k].at for k in due])].any():
                matrix[:N] = jump @ matrix[:N]  # no algebraic equation answers
                return matrix
            after = Equation("y", (mass - constraints).tocsr(), (), "algebraic variables after samples")
            matrix[:N] = factorised(after).solve(np.asarray(mass @ jump @ matrix[:N]))
        return matrix

    def pieces() -> Iterator[tuple[Hashable, Callable[[], Reals]]]:
        for key, step, due in _steps(sampled, scheme, period, history):
            yield key, functools.partial(made, step, due)

    return repeated(pieces(), size)


def operator_with_samples(linear: LinearDae, scheme: Scheme) -> Reals:
    """Return the `sampled_operator` of a linear DAE that has samples."""
    return sampled_operator(SampledDae.of(linear), scheme)


Steps = Iterator[tuple[Hashable, SampledStep, tuple[int, ...]]]


def _steps(sampled: SampledDae, scheme: Scheme, period: Fraction, history: int) -> Steps:
    """Yield the steps of a period as a run takes them: a key, the step, and who is due at its end."""
    instants = dict(sampled.instants(period))
    if samples_within(sampled, scheme):
        yield from _steps_with_points(sampled, scheme, period, instants, history)
        return
    stops = np.array([float(t) for t in instants if t < period])
    (grid,) = TimeGrid.windows(0.0, float(period), scheme.step, np.inf, stops)
    due_at = {float(t): due for t, due in instants.items()}
    steps = list(zip(np.round(grid.steps, 15).tolist(), [*grid.times[1:].tolist(), grid.end], strict=True))
    before, held = tuple[float, ...](), sampled.held
    for again in (False, True):  # what is remembered at the start of a period is what the one before left
        for h, end in steps:
            due = due_at.get(end, ())
            if again:
                yield (h, before, due), SampledStep(h, before, held=held), due
            before = () if due else (h, *(h + back for back in before))[:history]


def _steps_with_points(
    sampled: SampledDae,
    scheme: Scheme,
    period: Fraction,
    instants: dict[Fraction, tuple[int, ...]],
    history: int,
) -> Steps:
    """Yield the macro steps of a period within which values are sampled."""
    assert scheme.two_rates is not None
    h, ratio = exact_time(scheme.step), scheme.two_rates.ratio
    before = tuple((k + 1) * scheme.step for k in range(history))
    for k in range(int(period / h)):
        found = [(i, t) for i in range(1, ratio + 1) if (t := k * h + i * h / ratio) in instants]
        within = {i: sampled.jump(instants[t]) for i, t in found if i < ratio}
        due = {i: instants[t] for i, t in found}
        step = SampledStep(scheme.step, before, within, sampled.held)
        yield tuple(due.items()), step, due.get(ratio, ())
