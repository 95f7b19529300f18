"""Published methods beside psmr's own on one suite of DAEs with two rates, in plain numpy.

`M w' = F(w, t)`, where M is 1 for the first n rows and 0 for the others. Work is counted in rows: a solution
of a linear system of K rows, with the evaluation of its right-hand side, counts K. The methods:

- `MultirateRos2`: ROS2 with local refinement in time slabs, V. Savcenco, W. Hundsdorfer and J. G. Verwer, A
  multirate time stepping strategy for stiff ordinary differential equations, BIT 47, 2007.
- `mri_gark`: MRI-GARK-ESDIRK34a, A. Sandu, A class of multirate infinitesimal GARK methods, SIAM J. Numer.
  Anal. 57, 2019; fast steps by the SDIRK method of order 3 of R. Alexander, SIAM J. Numer. Anal. 14, 1977.
- `partitioned`: the trapezoidal rule for states, network apart and in turn with them, G. Tzounas and G. Hug,
  Unified numerical stability and accuracy analysis of the partitioned-solution approach, IEEE Transactions on
  Power Systems 39, 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

Reals = NDArray[np.float64]
Places = NDArray[np.intp]

# Newton's corrections end here, relative to max(1, |value|); more of them than this are a failure.
NEWTON, CORRECTIONS = 1e-7, 25


class NoSolutionError(RuntimeError):
    """Newton does not converge, or values grow beyond all bounds."""


@dataclass
class Work:
    """What a run took, in rows: of solutions with an evaluation each, and of matrices factorised.

    `folded`: Those of the solutions if fast steps had the network's response folded into the rows of the fast
    side, as the Schur interface of psmr has; 0 for methods without fast steps of that kind.
    """

    solved: int = 0
    factorised: int = 0
    steps: int = 0
    folded: int = 0


@dataclass(frozen=True)
class Problem:
    """A DAE with two rates.

    `n`: Number of states; they come first.
    `rate`, `jacobian`: F and its derivative at (w, t).
    `fast`: (N,) which variables are fast.
    `start`: (N,) values at the first of the `times`.
    `times`, `exact`: (K,) times in s and (K, N) values there.
    `watched`: Positions at which errors are taken.
    `group`: (N,) numbers: variables that are refined together. A row of an algebraic equation has no variable
      of its own, so that those of a bus and its plant cannot be parted.
    """

    name: str
    n: int
    rate: Callable[[Reals, float], Reals]
    jacobian: Callable[[Reals, float], sparse.csc_matrix]
    fast: NDArray[np.bool_]
    times: Reals
    exact: Reals
    watched: Places
    group: Places

    @property
    def start(self) -> Reals:
        """Values at the first of the times."""
        return self.exact[0].copy()

    @property
    def scale(self) -> Reals:
        """The larger of 1 and the largest value of each variable."""
        return np.maximum(1.0, np.abs(self.exact).max(axis=0))

    def error(self, found: Reals) -> float:
        """Return the largest error of what is watched, relative to the scale."""
        return float((np.abs(found - self.exact) / self.scale)[:, self.watched].max())


@dataclass
class Matrix:
    """Factors of some rows and columns of `diag(own) - h J`, taken at one point and kept."""

    work: Work
    at: Places
    factors: Any = None
    count: int = 0

    def factorise(self, own: Reals, h: Reals, jacobian: sparse.csc_matrix) -> Matrix:
        """Factorise for the chosen rows: `h` is a factor for each of them."""
        part = jacobian[self.at][:, self.at]
        self.factors = splu(sparse.csc_matrix(sparse.diags(own) - sparse.diags(h) @ part))
        self.work.factorised += len(self.at)
        return self

    def solve(self, right: Reals) -> Reals:
        """Return the solution, counted."""
        self.work.solved += len(self.at)
        self.count += 1
        return np.asarray(self.factors.solve(right))


# ---- ROS2 with local refinement

GAMMA = 1.0 - 1.0 / np.sqrt(2.0)
# A step becomes no more than this many times longer, and keeps this distance from what its error allows.
GROWTH, SAFETY = 2.0, 0.9
# Steps in s, and slabs, beyond which a run has failed.
SHORTEST, MOST = 1e-7, 50_000

Outside = Callable[[float], Reals]


@dataclass
class MultirateRos2:
    """Slabs that cost least by the errors of the last; what is off by more is done over in two halves.

    `refine`: False gives all variables one step. `fixed`: slab in s, and step in s of what is fast, with
    which an order is tried. `own`: the step in s that each variable wants.
    """

    problem: Problem
    tolerance: float
    refine: bool = True
    fixed: tuple[float, float] | None = None
    work: Work = field(default_factory=Work)
    own: Reals = field(default_factory=lambda: np.zeros(0))

    def run(self, slab: float = 1e-3) -> tuple[Reals, Work]:
        """Return the values at the times, and the work; the first slab in s."""
        problem, every = self.problem, np.arange(len(self.problem.fast))
        slab = slab if self.fixed is None else self.fixed[0]
        w, t, found = problem.start, float(problem.times[0]), [problem.start]
        self.own = np.full(len(every), slab)
        for end in problem.times[1:]:
            while t < end - 1e-12:
                h = min(slab, end - t) if not slab < end - t < 2.0 * slab else (end - t) / 2.0
                new = self._refined(w, t, h, every, lambda s, w=w: w.copy())
                self.work.steps += 1
                if self.work.steps > MOST:
                    raise NoSolutionError(f"{problem.name}: {MOST} slabs at {t:g} s")
                if self.fixed is None:
                    slab = _cheapest(h, self.own) if self.refine else float(self.own.min())
                if self.fixed is not None or self.refine or slab > SAFETY * h:
                    w, t = new, t + h
            found.append(w.copy())
        return np.array(found), self.work

    def _again(self, error: Reals, at: Places, t: float, h: float) -> NDArray[np.bool_]:
        """Return which of the variables `at` are done over, and note what steps they want."""
        problem = self.problem
        size = np.abs(error) / problem.scale[at] / self.tolerance
        self.own[at] = h * np.minimum(GROWTH, SAFETY / np.sqrt(np.maximum(size, 1e-6)))
        if not np.isfinite(size).all() or h < SHORTEST:
            raise NoSolutionError(f"{problem.name}: step {h:g} s at {t:g} s")
        if self.fixed is not None:
            return problem.fast[at] & (h > 1.01 * self.fixed[1])
        return np.isin(problem.group[at], problem.group[at][size > 1.0]) & self.refine

    def _refined(self, own: Reals, t: float, h: float, at: Places, outside: Outside) -> Reals:
        """Return the variables `at` after a step from `own`, some of them by two halves beside the others.

        `outside` returns all variables at a time, of which those `at` are replaced.
        """
        new, error = self._step(own, t, h, at, outside)
        again = self._again(error, at, t, h)
        if not again.any():
            return new

        def within(s: float) -> Reals:
            whole = outside(s)
            whole[at] = own + (s - t) / h * (new - own)
            return whole

        middle = self._refined(own[again], t, h / 2.0, at[again], within)
        end = self._refined(middle, t + h / 2.0, h / 2.0, at[again], within)
        whole = outside(t + h)
        whole[at] = new
        whole[at[again]] = end
        rows = at[at >= self.problem.n]
        if rows.size:
            # What was refined and what was not do not fit together: without this the next estimate sees what
            # the algebraic equations lack, which no shorter step makes smaller.
            jacobian = self.problem.jacobian(whole, t + h)
            matrix = Matrix(self.work, rows).factorise(np.zeros(len(rows)), np.ones(len(rows)), jacobian)
            for _ in range(2):
                whole[rows] += matrix.solve(self.problem.rate(whole, t + h)[rows])
        return np.asarray(whole[at])

    def _step(self, own: Reals, t: float, h: float, at: Places, outside: Outside) -> tuple[Reals, Reals]:
        """Return the variables `at` after a step, and their estimated errors."""

        def whole(values: Reals, t: float) -> Reals:
            w = outside(t)
            w[at] = values
            return w

        problem, mass, d = self.problem, (at < self.problem.n).astype(float), 1e-3 * h
        rate = problem.rate(whole(own, t), t)[at]
        drift = (problem.rate(whole(own, t + d), t + d)[at] - rate) / d
        jacobian = problem.jacobian(whole(own, t), t)
        matrix = Matrix(self.work, at).factorise(mass, np.full(len(at), GAMMA * h), jacobian)
        k1 = matrix.solve(h * rate + GAMMA * h**2 * drift)
        later = problem.rate(whole(own + k1, t + h), t + h)[at]
        k2 = matrix.solve(h * later - GAMMA * h**2 * drift - 2.0 * mass * k1)
        return own + 1.5 * k1 + 0.5 * k2, 0.5 * (k1 + k2)


def _cheapest(step: float, own: Reals) -> float:
    """Return the slab in s that costs least rows a second where each variable wants the step `own`."""

    def cost(slab: float) -> float:
        levels = np.maximum(0, np.ceil(np.log2(slab / own))).astype(int)
        counts = np.bincount(levels)
        return float(sum(2.0**k * counts[k:].sum() for k in range(len(counts)))) / slab

    return min((step * GROWTH**p for p in (-1.0, -0.5, 0.0, 0.5, 1.0)), key=cost)


# ---- MRI-GARK

BETA = 0.4358665215084590
# Slow rates (columns: stages 0, 2, 4, 6) in each stage; every second one is a third of a step of fast steps.
STAGES = (
    (1 / 3, 0.0, 0.0, 0.0),
    (-BETA, BETA, 0.0, 0.0),
    (-0.3045790611944505, 0.6379123945277838, 0.0, 0.0),
    (0.2116913105640267, -0.6475578320724857, BETA, 0.0),
    (0.4454209388055495, 0.8813784805616198, -0.9934660860338360, 0.0),
    (-BETA, 0.0, 0.0, BETA),
)
# Alexander's SDIRK3, stiffly accurate.
ALEXANDER = (
    (BETA, 0.0, 0.0),
    ((1 - BETA) / 2, BETA, 0.0),
    (-(6 * BETA**2 - 16 * BETA + 1) / 4, (6 * BETA**2 - 20 * BETA + 5) / 4, BETA),
)


def mri_gark(problem: Problem, h: float, ratio: int) -> tuple[Reals, Work]:
    """Return the values at the times, and the work, with macro steps of h in s and 3 x `ratio` fast ones.

    Algebraic variables follow in the fast steps and in the slow stages.
    """
    work, n, N = Work(), problem.n, len(problem.fast)
    algebraic = np.arange(n, N)
    fast_x = np.flatnonzero(problem.fast[:n])
    slow_x = np.flatnonzero(~problem.fast[:n])
    fast = Matrix(work, np.concatenate([fast_x, algebraic]))
    slow = Matrix(work, np.concatenate([slow_x, algebraic]))
    w, t, found = problem.start, float(problem.times[0]), [problem.start]
    for end in problem.times[1:]:
        count = max(1, round((end - t) / h))
        step = (end - t) / count
        small = step / 3 / ratio
        for _ in range(count):
            jacobian = problem.jacobian(w, t)
            _ready(fast, small * BETA, n, jacobian)
            _ready(slow, step * BETA, n, jacobian)
            rates = [problem.rate(w, t)[slow_x]]
            for stage, row in enumerate(STAGES):
                drift = sum(g * r for g, r in zip(row, rates, strict=False))
                at = t + step * (stage // 2 + 1) / 3
                if stage % 2:
                    base = w[slow_x] + step * drift
                    w = _newton(problem, slow, slow_x, base, step * BETA, w, at)
                    rates.append((w[slow_x] - base) / (step * BETA))
                    continue
                begin = w[slow_x].copy()
                for k in range(ratio):
                    x, own = w[fast_x].copy(), []
                    for a in ALEXANDER:
                        since = (k + sum(a)) * small
                        base = x + small * sum((c * r for c, r in zip(a, own, strict=False)), 0.0 * x)
                        w = w.copy()
                        w[slow_x] = begin + since * 3.0 * drift
                        w = _newton(problem, fast, fast_x, base, small * BETA, w, at - step / 3 + since)
                        own.append((w[fast_x] - base) / (small * BETA))
            t += step
            work.steps += 1
        found.append(w.copy())
        t = float(end)
    slow_algebraic = int((~problem.fast[n:]).sum())
    work.folded = work.solved - fast.count * slow_algebraic
    return np.array(found), work


def _ready(matrix: Matrix, h: float, n: int, jacobian: sparse.csc_matrix) -> None:
    mass = (matrix.at < n).astype(float)
    matrix.factorise(mass, np.where(mass > 0.0, h, 1.0), jacobian)


def _newton(
    problem: Problem, matrix: Matrix, states: Places, base: Reals, h: float, w: Reals, t: float
) -> Reals:
    """Return w with the states at base + h F and their algebraic variables, from the start w."""
    w, count = w.copy(), len(states)
    for _ in range(CORRECTIONS):
        right = problem.rate(w, t)[matrix.at]
        right[:count] = base + h * right[:count] - w[states]
        change = matrix.solve(right)
        w[matrix.at] += change
        if np.max(np.abs(change) / np.maximum(1.0, np.abs(w[matrix.at]))) < NEWTON:
            return w
        if not np.isfinite(change).all():
            break
    raise NoSolutionError(f"{problem.name}: Newton at {t:g} s")


# ---- states and network in turn


def partitioned(problem: Problem, h: float, turns: int) -> tuple[Reals, Work]:
    """Return the values at the times, and the work, with steps of h in s at one rate.

    States by the trapezoidal rule with the network as predicted by the last two points, the network with
    these states, and so on `turns` times.
    """
    work, n, N = Work(), problem.n, len(problem.fast)
    nothing = np.zeros(0, np.intp)
    x, y = Matrix(work, np.arange(n)), Matrix(work, np.arange(n, N))
    w, t, found = problem.start, float(problem.times[0]), [problem.start]
    before = w[n:].copy()
    for end in problem.times[1:]:
        count = max(1, round((end - t) / h))
        step = (end - t) / count
        for _ in range(count):
            if work.steps % 10 == 0:
                jacobian = problem.jacobian(w, t)
                _ready(x, step / 2, n, jacobian)
                _ready(y, step / 2, n, jacobian)
            base = w[:n] + step / 2 * problem.rate(w, t)[:n]
            before, w = w[n:].copy(), np.concatenate([w[:n], 2.0 * w[n:] - before])
            for _ in range(turns):
                w = _newton(problem, x, x.at, base, step / 2, w, t + step)
                w = _newton(problem, y, nothing, base[:0], step / 2, w, t + step)
            if not np.abs(w).max() < 1e6:
                raise NoSolutionError(f"{problem.name}: grows at {t:g} s")
            t += step
            work.steps += 1
        found.append(w.copy())
        t = float(end)
    return np.array(found), work
