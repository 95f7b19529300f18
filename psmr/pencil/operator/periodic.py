"""Products of linear maps over a period: what a DAE whose Jacobian changes with the time does, and a scheme.

E w' = J(t) w with the states first in w, in E and in the rows of J. The product over a period, the monodromy
matrix, has the multipliers exp(s T) of the exponents s. Source: M. Farkas, Periodic Motions (1994), chapter
2; the exact one by Radau IIA of order 9, Hairer and Wanner, Solving Ordinary Differential Equations II
(1996), section IV.5; of large systems the outermost multipliers by Arnoldi on the product.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from psmr.base.errors import SingularError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.operator.equation import Equation
from psmr.pencil.operator.equations import equations_with, side_matrices
from psmr.pencil.operator.step_operator import factorised, map_of

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Columns = Callable[[Reals], Reals]
Jacobian = Callable[[float], sp.csr_array]
"""(n + m, n + m) Jacobian at a time in s."""

POINTS = 128
"""Points within a period by which exponents are told apart: up to 64 times its frequency."""

LIKELY = 0.5
"""Mean of a shape, in parts of the largest, with which a multiple is as likely: phases at fault mix two."""

DENSE = 200
"""Order up to which the matrix of the product is made and every multiplier found."""

OUTERMOST, MORE = 30, 10
"""Multipliers that Arnoldi looks for beyond it, and more of a scheme to match them with."""

BASIS, RESTARTS, TOLERANCE = 3, 4, 1e-8
"""Vectors for each of them, how often Arnoldi starts again, and the residual of what it finds."""

EXACT_STEPS = 128
"""Steps of Radau IIA over a period."""

RESOLVED = 2.0
"""Exponents times such a step up to which they are resolved: its error is 2.2e-9 times the 10th power."""

AGREED, PROBED = 1e-4, 6
"""Change by half as many steps of the largest multipliers, and of how many."""


@dataclass(frozen=True, eq=False)
class Product:
    """Linear maps over a period, one after another.

    `step`: Returns the k-th of them.
    `steps`, `length`: How many there are, and the period in s.
    `order`, `n`: Length of what they map, and the states, which come first.
    """

    step: Callable[[int], Columns]
    steps: int
    length: float
    order: int
    n: int

    def over(self, columns: Reals) -> tuple[Reals, Reals, Reals]:
        """Return what (order, k) columns become, and (J,) times in s and the (J, n, k) states by then."""
        times, within, every = [], [], max(1, self.steps // POINTS)
        for k in range(self.steps):
            if k % every == 0:
                times.append(k * self.length / self.steps)
                within.append(columns[: self.n])
            columns = self.step(k)(columns)
        return columns, np.array(times), np.array(within)


@dataclass(frozen=True, eq=False)
class Monodromy:
    """What changes become over a period.

    `product`: The maps.
    `multipliers`, `shapes`: (k,) multipliers, and (n, k) changes of the states at the begin of the period, of
      length 1.
    `times`, `within`: (J,) times in s since its begin, and (J, n, k) what they are by then.
    `complete`: Whether these are all multipliers, or the outermost ones.
    """

    product: Product
    multipliers: Complexes
    shapes: Complexes
    times: Reals
    within: Complexes
    complete: bool

    @property
    def radius(self) -> float:
        """Largest magnitude of a multiplier."""
        return float(np.abs(self.multipliers).max(initial=0.0))

    def exponents(self) -> Exponents:
        """Return the exponents, with the shapes of the states at the begin of the period."""
        z, period = self.multipliers, self.product.length
        s = np.log(np.where(z == 0, np.finfo(float).tiny, z)) / period
        moving = self.within * np.exp(-s * self.times[:, None, None])
        turns = np.arange(-(len(self.times) // 2) + 1, (len(self.times) + 1) // 2)
        base = np.exp(-2j * np.pi / period * np.outer(turns, self.times))
        means = np.linalg.norm(np.tensordot(base, moving, 1), axis=1)
        largest = np.maximum(means.max(axis=0), np.finfo(float).tiny)
        return Exponents(s[None] + 2j * np.pi / period * turns[:, None], means / largest, self.shapes)


@dataclass(frozen=True, eq=False)
class Exponents:
    """Exponents in 1/s of a system over a period, which are known but for multiples of j 2 pi / period.

    With the right multiple the shape of a mode is nearly constant but for its growth: its mean is large.

    `candidates`, `weights`: (K, k) exponents with several multiples, and the mean of the shape over the
      period with each, in parts of the largest one.
    `shapes`: (n, k) changes of the states at the begin of the period.
    """

    candidates: Complexes
    weights: Reals
    shapes: Complexes

    @property
    def likeliest(self) -> Complexes:
        """(k,) exponents with the largest mean."""
        return np.asarray(np.take_along_axis(self.candidates, self.weights.argmax(axis=0)[None], 0)[0])

    def nearest(self, modes: NDArray[np.intp], to: Complexes) -> Complexes:
        """Return (j,) exponents of some modes: of the likely ones those nearest to given values."""
        far = np.where(self.weights[:, modes] >= LIKELY, np.abs(self.candidates[:, modes] - to), np.inf)
        return np.asarray(np.take_along_axis(self.candidates[:, modes], far.argmin(axis=0)[None], 0)[0])


def monodromy(product: Product, more: int = 0) -> Monodromy:
    """Return the multipliers of a product: all up to the order `DENSE`, beyond `OUTERMOST` and some `more`.

    Raises SingularError where none of them converges.
    """
    if product.order <= DENSE:
        matrix, times, within = product.over(np.eye(product.order))
        z, shapes = np.linalg.eig(matrix)
        return _normed(product, z.astype(complex), shapes, times, within @ shapes, True)
    operator = LinearOperator(
        (product.order, product.order), matvec=lambda v: product.over(v.reshape(-1, 1))[0], dtype=float
    )
    start, most = np.random.default_rng(0).standard_normal(product.order), OUTERMOST + more
    basis = min(BASIS * most, product.order)
    try:
        z, shapes = eigs(operator, most, ncv=basis, which="LM", tol=TOLERANCE, maxiter=RESTARTS, v0=start)
    except ArpackNoConvergence as partial:
        z, shapes = partial.eigenvalues, partial.eigenvectors
    if not z.size:
        raise SingularError(
            f"period of {product.length:g} s: Arnoldi finds no multiplier of the product of the steps"
        )
    _, times, within = product.over(np.hstack([shapes.real, shapes.imag]))
    return _normed(product, z, shapes, times, within[..., : z.size] + 1j * within[..., z.size :], False)


def _normed(
    product: Product, z: Complexes, shapes: Complexes, times: Reals, within: Complexes, complete: bool
) -> Monodromy:
    sizes = np.linalg.norm(shapes[: product.n], axis=0)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    return Monodromy(product, z, shapes[: product.n] / sizes, times, within / sizes, complete)


def product_of_steps(
    scheme: Scheme, linear: LinearDae, jacobian: Jacobian, begin: float, steps: int
) -> Product:
    """Return the steps of a scheme over a period from `begin` in s.

    On the states alone where they decide the step: with one rate and no points before it. Otherwise on all
    variables, of which two rates leave algebraic ones that do not follow from the states, and after them on
    what is remembered of earlier points.

    `scheme`: its step is a program; `linear`: the system as it is at `begin`; `jacobian`: that at a time in
    s; `begin`, `steps`: where the period begins, and the steps in it. Raises SchemeError for a scheme whose
    step is no program, and a partition of another system.
    """
    h, n, known = scheme.step, linear.n, side_matrices(linear, scheme)
    at_time = functools.lru_cache(4)(jacobian)  # the end of a step is the start of the next

    def made(k: int) -> Columns:
        matrices = known.with_jacobian(lambda part: at_time(begin + (k + part) * h))
        return map_of(equations_with(matrices, scheme)).apply

    order = sum(equations_with(known, scheme).sizes)
    if order > n + linear.m or scheme.two_rates is not None:
        return Product(_kept(made, order), steps, steps * h, order, n)
    consistent = _consistent(jacobian(begin), n)

    def on_states(k: int) -> Columns:
        step, kept = made(k), slice(n if k == steps - 1 else None)
        return lambda w: step(consistent(w) if k == 0 else w)[kept]

    return Product(_kept(on_states, n), steps, steps * h, n, n)


def _kept(made: Callable[[int], Columns], order: int) -> Callable[[int], Columns]:
    """Return the steps, kept where Arnoldi needs them more than once."""
    return made if order <= DENSE else functools.cache(made)


def exact_monodromy(jacobian: Jacobian, begin: float, period: float, n: int) -> Monodromy:
    """Return the multipliers of the equations themselves, by Radau IIA.

    Raises SingularError where half as many steps do not agree on the slowest modes.
    """
    coarse, found = (
        monodromy(_radau(jacobian, begin, period, k, n)) for k in (EXACT_STEPS // 2, EXACT_STEPS)
    )
    z = found.multipliers
    slow = z[np.abs(found.exponents().likeliest) * period < EXACT_STEPS / 4]
    slow = slow[np.argsort(-np.abs(slow), kind="stable")[:PROBED]]
    if any(np.abs(coarse.multipliers - each).min() > AGREED for each in slow):
        raise SingularError(
            f"monodromy over {period:g} s from t = {begin:g} s: {EXACT_STEPS} steps and half as many do not"
            " agree; is a limit or a switch active within the period?"
        )
    return found


STAGES = 5


def _collocation(stages: int) -> tuple[Reals, Reals]:
    """Return the nodes and weights of Radau IIA, of order 2 stages - 1: collocation at the Radau points."""
    last_two = [*np.zeros(stages - 1), 1.0, -1.0]
    nodes = (np.sort(np.polynomial.legendre.legroots(last_two)) + 1) / 2
    powers = np.arange(1, stages + 1)
    weights = (nodes[:, None] ** powers / powers) @ np.linalg.inv(nodes[:, None] ** (powers - 1))
    return nodes, weights


_NODES, _WEIGHTS = _collocation(STAGES)


def _radau(jacobian: Jacobian, begin: float, period: float, steps: int, n: int) -> Product:
    """Return steps of Radau IIA on the states: the stages of all variables at once."""
    h = period / steps
    size = jacobian(begin).shape[0]
    matrix = _StageMatrix(jacobian(begin), n)

    def made(k: int) -> Columns:
        t = begin + k * h
        left = matrix.at(h, [jacobian(t + c * h).data for c in _NODES])
        factors = factorised(Equation("stages", left, (), f"Radau IIA, step {h:g} s from t = {t:g} s"))

        def step(x: Reals) -> Reals:
            right = np.zeros((STAGES, size, x.shape[1]))
            right[:, :n] = x
            return np.asarray(factors.solve(right.reshape(STAGES * size, -1))[-size:][:n])

        return step

    return Product(functools.cache(made), steps, period, n, n)


class _StageMatrix:
    """The matrix of all stages of Radau IIA, of Jacobians (CSR) with their entries in the same places."""

    def __init__(self, jacobian: sp.csr_array, n: int) -> None:
        size, entries = jacobian.shape[0], sp.coo_array(jacobian)
        states = np.flatnonzero(entries.row < n)
        i, j = np.divmod(np.arange(STAGES**2), STAGES)
        rates = (i[:, None] * size + entries.row[states], j[:, None] * size + entries.col[states])
        stage = np.arange(STAGES)[:, None] * size
        others = np.flatnonzero(entries.row >= n)
        below = (stage + entries.row[others], stage + entries.col[others])
        mass = (stage + np.arange(n)).ravel()
        self._states, self._others, self._mass = states, others, np.ones(mass.size)
        places = [np.concatenate([a.ravel(), b.ravel(), mass]) for a, b in zip(rates, below, strict=True)]
        self._places, self._shape = tuple(places), (STAGES * size, STAGES * size)

    def at(self, h: float, data: Sequence[Reals]) -> sp.csc_array:
        """Return the matrix of a step of h in s, of the entries of the Jacobian at each stage."""
        at_stages = np.array(data)
        rates = -h * _WEIGHTS[:, :, None] * at_stages[None, :, self._states]
        values = np.concatenate([rates.ravel(), at_stages[:, self._others].ravel(), self._mass])
        return sp.csc_array((values, self._places), shape=self._shape)


def _consistent(jacobian: sp.csr_array, n: int) -> Columns:
    """Return what adds to states the algebraic variables that follow from them."""
    below = sp.csr_array(jacobian)[n:]
    factors = factorised(Equation("algebraic variables", below[:, n:], (), "at the begin of a period"))
    return lambda x: np.vstack([x, -factors.solve(below[:, :n] @ x)])
