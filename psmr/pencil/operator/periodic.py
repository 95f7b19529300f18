"""Products of linear maps over a period: what a DAE whose Jacobian changes with the time does, and a scheme.

E w' = J(t) w with the states first in w, in E and in the rows of J. The product over a period, the monodromy
matrix, has the multipliers exp(s T) of the exponents s. Source: M. Farkas, Periodic Motions (1994), chapter
2; the exact one by Radau IIA of order 9, Hairer and Wanner, Solving Ordinary Differential Equations II
(1996), section IV.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from psmr.base.errors import SchemeError, SingularError
from psmr.integrate.step.program import NOW, CopyRate, Program, Rate, Restore, Stage

Reals = NDArray[np.float64]
Jacobian = Callable[[float], Reals]
"""(n + m, n + m) Jacobian at a time in s."""

POINTS = 128
"""Points within a period by which exponents are told apart: up to 64 times its frequency."""

LIKELY = 0.5
"""Mean of a shape, in parts of the largest, with which a multiple is as likely: phases at fault mix two."""

MOST_DOUBLINGS = 6
AGREED = 1e-6
"""Change of the monodromy matrix by half the steps, relative to its largest entry: 2^9 times its error."""


def step_over(program: Program, jacobian: Jacobian, t: float, h: float, w: Reals, n: int) -> Reals:
    """Return (n + m, k) columns after one step of a program from t in s, by h, with n states.

    Raises
    ------
    SchemeError
        For a step of several rates or with a memory, which has no such product here.
    """
    points, rates, now = {NOW: w}, {}, w
    times = {NOW: t}
    present = t
    for instruction in program.instructions:
        if isinstance(instruction, Rate):
            rates[instruction.name] = (jacobian(present) @ now)[:n]
        elif isinstance(instruction, CopyRate):
            rates[instruction.name] = rates[instruction.source]
        elif isinstance(instruction, Restore):
            now, present = points[instruction.source], times[instruction.source]
            points[instruction.to], times[instruction.to] = now, present
        elif isinstance(instruction, Stage) and instruction.rows == "all":
            present = t + h * instruction.at[0]
            matrix = jacobian(present)
            right = np.zeros_like(w)
            right[:n] = points[instruction.base][:n]
            for name, weight in instruction.rates:
                right[:n] += h * weight * rates[name]
            left = -h * instruction.gamma * matrix
            left[n:] = matrix[n:]
            left[:n, :n] += np.eye(n)
            now = _solved(left, right, present)
            points[instruction.to], times[instruction.to] = now, present
            if instruction.rate is not None:
                rates[instruction.rate] = (matrix @ now)[:n]
        else:
            raise SchemeError(
                "the product of the steps over a period is that of a single-rate scheme; simulate the"
                ' unbalance with one, for instance psmr.SingleRate("TM", h=...)'
            )
    if program.history:
        raise SchemeError(
            "the step reads points before it, so that it is no product of steps; take TM or BEM"
        )
    return now


@dataclass(frozen=True, eq=False)
class Monodromy:
    """What changes of the states become over a period.

    Attributes
    ----------
    matrix
        (n, n), after the whole period.
    times, within
        (J,) times in s since its begin, and (J, n, n) what they are by then.
    """

    matrix: Reals
    times: Reals
    within: Reals

    def exponents(self, period: float) -> Exponents:
        """Return the exponents, with the shapes of the states at the begin of the period in s."""
        z, shapes = np.linalg.eig(self.matrix)
        s = np.log(np.where(z == 0, np.finfo(float).tiny, z).astype(complex)) / period
        moving = (self.within @ shapes) * np.exp(-s * self.times[:, None, None])
        turns = np.arange(-(len(self.times) // 2) + 1, (len(self.times) + 1) // 2)
        base = np.exp(-2j * np.pi / period * np.outer(turns, self.times))
        means = np.linalg.norm(np.tensordot(base, moving, 1), axis=1)
        return Exponents(s[None] + 2j * np.pi / period * turns[:, None], means / means.max(axis=0), shapes)


@dataclass(frozen=True, eq=False)
class Exponents:
    """Exponents in 1/s of a system over a period, which are known but for multiples of j 2 pi / period.

    With the right multiple the shape of a mode is nearly constant but for its growth: its mean is large.

    Attributes
    ----------
    candidates, weights
        (K, n) exponents with several multiples, and the mean of the shape over the period with each, in parts
        of the largest one.
    shapes
        (n, n) changes of the states at the begin of the period.
    """

    candidates: NDArray[np.complex128]
    weights: Reals
    shapes: NDArray[np.complex128]

    @property
    def likeliest(self) -> NDArray[np.complex128]:
        """(n,) exponents with the largest mean."""
        return np.asarray(np.take_along_axis(self.candidates, self.weights.argmax(axis=0)[None], 0)[0])

    def nearest(self, modes: NDArray[np.intp], to: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Return (k,) exponents of some modes: of the likely ones those nearest to given values."""
        far = np.where(self.weights[:, modes] >= LIKELY, np.abs(self.candidates[:, modes] - to), np.inf)
        return np.asarray(np.take_along_axis(self.candidates[:, modes], far.argmin(axis=0)[None], 0)[0])


def monodromy_of_steps(
    program: Program, jacobian: Jacobian, begin: float, h: float, steps: int, n: int
) -> Monodromy:
    """Return the product of a program's steps from `begin` in s on the states."""
    w = _consistent(jacobian(begin), n)
    kept, within, every = [0.0], [w[:n]], max(1, steps // POINTS)
    for k in range(steps):
        w = step_over(program, jacobian, begin + k * h, h, w, n)
        if (k + 1) % every == 0 and k + 1 < steps:
            kept.append((k + 1) * h)
            within.append(w[:n])
    return Monodromy(w[:n], np.array(kept), np.array(within))


def exact_monodromy(jacobian: Jacobian, begin: float, period: float, steps: int, n: int) -> Monodromy:
    """Return the monodromy matrix to eight digits; `steps` is where the search for its steps begins.

    Raises
    ------
    SingularError
        Where shorter and shorter steps do not agree.
    """
    last = _radau(jacobian, begin, period, steps, n)
    for _ in range(MOST_DOUBLINGS):
        steps *= 2
        found = _radau(jacobian, begin, period, steps, n)
        if np.abs(found.matrix - last.matrix).max() <= AGREED * np.abs(found.matrix).max():
            return found
        last = found
    raise SingularError(
        f"monodromy over {period:g} s from t = {begin:g} s: {steps} and half as many steps do not agree; is a"
        " limit or a switch active within the period?"
    )


STAGES = 5


def _collocation(stages: int) -> tuple[Reals, Reals]:
    """Return the nodes and weights of Radau IIA, of order 2 stages - 1: collocation at the Radau points."""
    last_two = [*np.zeros(stages - 1), 1.0, -1.0]
    nodes = (np.sort(np.polynomial.legendre.legroots(last_two)) + 1) / 2
    powers = np.arange(1, stages + 1)
    weights = (nodes[:, None] ** powers / powers) @ np.linalg.inv(nodes[:, None] ** (powers - 1))
    return nodes, weights


_NODES, _WEIGHTS = _collocation(STAGES)


def _radau(jacobian: Jacobian, begin: float, period: float, steps: int, n: int) -> Monodromy:
    """Return the product of steps of Radau IIA on the states alone."""
    x, h = np.eye(n), period / steps
    kept, within, every = [], [], max(1, steps // POINTS)
    for k in range(steps):
        if k % every == 0:
            kept.append(k * h)
            within.append(x)
        rates = [_state_matrix(jacobian(begin + (k + c) * h), n) for c in _NODES]
        columns = [np.kron(_WEIGHTS[:, j : j + 1], rate) for j, rate in enumerate(rates)]
        left = np.eye(STAGES * n) - h * np.hstack(columns)
        x = _solved(left, np.tile(x, (STAGES, 1)), begin + k * h)[-n:]
    return Monodromy(x, np.array(kept), np.array(within))


def _state_matrix(matrix: Reals, n: int) -> Reals:
    return np.asarray(matrix[:n] @ _consistent(matrix, n))


def _consistent(matrix: Reals, n: int) -> Reals:
    """Return (n + m, n): the identity on the states, and what the algebraic variables are of them."""
    return np.vstack([np.eye(n), -_solved(matrix[n:, n:], matrix[n:, :n], np.nan)])


def _solved(left: Reals, right: Reals, t: float) -> Reals:
    try:
        return np.asarray(scipy.linalg.solve(left, right, check_finite=False))
    except scipy.linalg.LinAlgError as error:
        raise SingularError(f"t = {t:g} s: the step has no unique solution") from error
