"""Equal steps of one side in a row, in closed form: a power of an affine map, by repeated squaring.

Which steps, and that the first and the last one may weigh what they add otherwise, is left to the caller.

The variables z of a side go from one step to the next by

    z_(i+1) = A z_i + B0 q(s_i) + B1 q(s_i - d),    s_(i+1) = s_i + d

with q the variables of the other side, interpolated: a polynomial in the part s of the macro step. With the
coefficients c_j of q(s_i + u) in u as further variables, which one step of d maps to sum_k (k over j)
d^(k - j) c_k, the map is linear and its powers follow from squares. Sums over the steps are carried along.

Beside them the matrices of the equations of a side's stages, of a Jacobian that may change with the time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import comb

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.dae.system.linear import LinearDae
from psmr.integrate.step.network_response import response_matrix
from psmr.integrate.step.program import Add, Rate, Repeat, Side, Stage, value
from psmr.integrate.step.sides import Sides

# Largest difference, in parts of the largest weight, between weights and their polynomial that is rounding,
# and largest degree that is looked for.
ROUNDING = 1e-13
MOST_DEGREE = 3


@dataclass(frozen=True, eq=False)
class Steps:
    """What some steps in a row make of z, of its sum over them, and of the coefficients c.

    `distance`: Length of the steps together, in parts of the macro step.
    `z_of_z`, `z_of_c`: (F, F) and (degree + 1, F, L) parts of z behind them.
    `sum_of_z`, `sum_of_c`: The same of the sum of z behind each of them.
    """

    distance: float
    z_of_z: Reals
    z_of_c: Reals
    sum_of_z: Reals
    sum_of_c: Reals

    def then(self, other: Steps) -> Steps:
        """Return these steps with others behind them."""
        moved = _shift(len(self.z_of_c), self.distance)
        return Steps(
            self.distance + other.distance,
            other.z_of_z @ self.z_of_z,
            other.z_of_z @ self.z_of_c + np.tensordot(moved, other.z_of_c, (0, 0)),
            self.sum_of_z + other.sum_of_z @ self.z_of_z,
            self.sum_of_c + other.sum_of_z @ self.z_of_c + np.tensordot(moved, other.sum_of_c, (0, 0)),
        )


def one_step(own: Reals, at_end: Reals, at_start: Reals, distance: float, degree: int) -> Steps:
    """Return one step of `distance`: A (F, F), B0 and B1 (F, L); see the module's text."""
    powers = (-distance) ** np.arange(degree + 1.0)
    of_c = powers[:, None, None] * at_start
    of_c[0] += at_end
    return Steps(distance, own, of_c, own, of_c)


def power(step: Steps, times: int) -> Steps:
    """Return a step done `times` times, at least once."""
    done: Steps | None = None
    while True:
        if times % 2:
            done = step if done is None else done.then(step)
        times //= 2
        if not times:
            assert done is not None
            return done
        step = step.then(step)


def polynomials(weights: Reals, distance: float) -> Reals | None:
    """Return the coefficients (K, degree + 1) of weights (K, times) in the distance from the first ones.

    None where they are no polynomials of the lowest degrees.
    """
    count, times = weights.shape
    powers = np.vander(distance * np.arange(times), min(max(count, 1), MOST_DEGREE + 1), increasing=True)
    found = np.linalg.lstsq(powers, weights.T, rcond=None)[0].T
    if count and np.abs(found @ powers.T - weights).max() > ROUNDING * np.abs(weights).max():
        return None
    return found


def _shift(count: int, distance: float) -> Reals:
    """Return what takes coefficients in u to those in u - distance."""
    return np.array(
        [[comb(k, j) * distance ** (k - j) if k >= j else 0.0 for k in range(count)] for j in range(count)]
    )


@dataclass(frozen=True, eq=False)
class OneSide:
    """The equations of a side's stages.

    `rows`, `variables`: Positions of its rows and variables.
    `others`: What takes q, the variables of the other side less their response to this one, out of w.
    `mass`, `rates`: The side's rows of E and of f, above empty ones for q.
    """

    rows: np.ndarray
    variables: np.ndarray
    others: sp.csr_array
    mass: sp.csr_array
    rates: sp.csr_array


@dataclass(frozen=True, eq=False)
class Loop:
    """Some equal steps of a loop.

    `stage`, `steps`: What is solved, and how many of them there are.
    `sums`: Points to which the side's variables are added, and with which weight.
    `distance`, `time`: Length of a step, and time of the last of these, in parts of the macro step.
    `coefficients`, `last`: (K, degree + 1) polynomials of the weights of the points outside, from the first
      step on, and (K,) weights at the last of them.
    """

    stage: Stage
    steps: int
    sums: tuple[tuple[str, float], ...]
    distance: float
    time: float
    coefficients: np.ndarray
    last: np.ndarray


@dataclass(frozen=True, eq=False)
class LoopResult:
    """What the steps make of a point: ``to = of_start @ present + sum(matrix @ q(point))``.

    `to`, `adds`: The point, and whether that is added to it.
    `of_start`, `of_others`: What is made of the present point, and (point, matrix) pairs.
    """

    to: str
    adds: bool
    of_start: sp.csr_array
    of_others: tuple[tuple[str, sp.csr_array], ...]


def uniform(repeat: Repeat, inner: range) -> Loop | None:
    """Return some steps of a loop, counted from 0, if they are powers of one map, with what they need.

    None where they do more than solve one side and add up its variables, are not equally long, or have
    weights that are no polynomials of the time.
    """
    stage, *sums = repeat.body
    if not isinstance(stage, Stage) or stage.to != stage.base or stage.rate is not None:
        return None
    renewed = {each.name for each in repeat.between if isinstance(each, Rate)}
    if len(renewed) != len(repeat.between) or not renewed >= {name for name, _ in stage.rates}:
        return None
    at = np.array([value(stage.at, i) for i in range(repeat.times)])
    distance = (at[-1] - at[0]) / (repeat.times - 1)
    if np.abs(np.diff(at) - distance).max() > ROUNDING:
        return None
    added = []
    for each in sums:
        if not isinstance(each, Add) or each.rows != stage.rows or each.anew:
            return None
        weight = value(each.weights, inner[0])
        if any(value(each.weights, i) != weight for i in inner):
            return None
        added.append((each.to, weight))
    weights = np.array([[value(w, i) for i in inner] for _, w in stage.outside]).reshape(-1, len(inner))
    coefficients = polynomials(weights, distance)
    if coefficients is None:
        return None
    return Loop(stage, len(inner), tuple(added), distance, float(at[inner[-1]]), coefficients, weights[:, -1])


def loop_results(loop: Loop, side: OneSide, matrix: sp.csr_array, h: float) -> list[LoopResult]:
    """Return what a loop makes of the present point, then of each of its sums, h being the macro step in s.

    `matrix` is that of the stage's equation: the side's rows, then `others`.
    """
    identity = sp.eye_array(side.mass.shape[1], format="csr")
    own = identity[side.variables]
    into, spread = own.T.tocsr(), identity[np.setdiff1d(np.arange(own.shape[1]), side.variables)].T.tocsr()
    lift = into - spread @ (side.others @ into) if side.others.shape[0] else into  # w of z where q is 0
    step, read = _one_step(loop, side, matrix, h, own, lift, spread)
    done = power(step, loop.steps)
    picked = sp.eye_array(side.others.shape[0], format="csr")[read]

    def made(to: str, adds: bool, of_z: np.ndarray, of_c: np.ndarray, out: sp.csr_array) -> LoopResult:
        others = []
        for k, (name, _) in enumerate(loop.stage.outside):
            of_q = out @ sp.csr_array(np.tensordot(loop.coefficients[k], of_c, 1)) @ picked
            others.append((name, of_q if adds else of_q + loop.last[k] * spread))
        return LoopResult(to, adds, out @ sp.csr_array(of_z) @ own, tuple(others))

    first = made(loop.stage.to, False, done.z_of_z, done.z_of_c, lift)
    sums = [made(to, True, weight * done.sum_of_z, weight * done.sum_of_c, into) for to, weight in loop.sums]
    return [first, *sums]


def _one_step(
    loop: Loop,
    side: OneSide,
    matrix: sp.csr_array,
    h: float,
    own: sp.csr_array,
    lift: sp.csr_array,
    spread: sp.csr_array,
) -> tuple[Steps, np.ndarray]:
    """Return one step, and which entries of q it reads."""
    count = len(side.rows)
    inverse = splu(sp.csc_matrix(matrix)).solve(own.T.toarray(), trans="T").T  # its rows for the side
    right = side.mass
    for _, weight in loop.stage.rates:
        right = right + h * weight * side.rates
    start = inverse[:, :count] @ right[:count]
    at_end, at_start = inverse[:, count:], start @ spread
    read = np.flatnonzero(np.abs(at_end).max(0, initial=0.0) + np.abs(at_start).max(0, initial=0.0))
    degree = loop.coefficients.shape[1] - 1
    return one_step(start @ lift, at_end[:, read], at_start[:, read], loop.distance, degree), read


Matrices = tuple[sp.csr_array, sp.csr_array, sp.csr_array]


def matrices(linear: LinearDae) -> Matrices:
    """Return `matrices_of` a linear DAE."""
    return matrices_of(sp.csr_array(linear.jacobian_at_once()), linear.n)


def matrices_of(jacobian: sp.csr_array, n: int) -> Matrices:
    """E = diag(I_n, 0), the rates [J_f; 0] and the constraints [0; J_g], each (N, N), with n states."""
    size = jacobian.shape[0]
    mass = sp.diags_array(np.repeat([1.0, 0.0], [n, size - n]), format="csr")
    count, (data, columns) = jacobian.indptr[n], (jacobian.data, jacobian.indices)
    above, below = np.minimum(jacobian.indptr, count), np.maximum(jacobian.indptr, count) - count
    rates = sp.csr_array((data[:count], columns[:count], above), shape=(size, size))
    constraints = sp.csr_array((data[count:], columns[count:], below), shape=(size, size))
    return mass, rates, constraints


def implicit_matrix(parts: Sequence[sp.csr_array], a_star: float) -> sp.csr_array:
    """E - [a* J_f; J_g], of the three `matrices`."""
    mass, rates, constraints = parts
    return (mass - a_star * rates - constraints).tocsr()


Jacobian = Callable[[float], sp.csr_array]
"""(n + m, n + m) Jacobian at a time, in parts of the step."""


@dataclass(frozen=True, eq=False)
class StageParts:
    """What the equations of a side's stages are made of at any time.

    `own`: Positions of its rows.
    `others`: What takes the variables of the other side out of w.
    `mass`: The side's rows of E, above empty ones for the other side's variables.
    `picked`, `older`: `others` below empty rows, on w and on the remembered variables.
    """

    own: np.ndarray
    others: sp.csr_array
    mass: sp.csr_array
    picked: sp.csr_array
    older: sp.csr_array


@dataclass(frozen=True, eq=False)
class SideMatrices:
    """The matrices of the stages of a step, each made once.

    `linear`, `sides`: The system, and who is on which side.
    `remembered`: Positions in w of the variables whose values at earlier points a step reads.
    `jacobian`: The Jacobian at a time in parts of the step; None: that of `linear` at every time.
    """

    linear: LinearDae
    sides: Sides
    remembered: np.ndarray
    jacobian: Jacobian | None = None
    _parts: dict[tuple[Side, bool], StageParts] = field(default_factory=dict)
    _known: dict[object, sp.csr_array] = field(default_factory=dict)
    _matrices: dict[float, Matrices] = field(default_factory=dict)

    def with_jacobian(self, jacobian: Jacobian) -> SideMatrices:
        """Return the same with another Jacobian; what does not depend on it is made once for all."""
        other = replace(self, jacobian=jacobian, _known={}, _matrices={})
        vars(other).update(identity=self.identity, place=self.place)
        return other

    @functools.cached_property
    def identity(self) -> sp.csr_array:
        """The identity on w."""
        return sp.eye_array(self.linear.n + self.linear.m, format="csr")

    @functools.cached_property
    def place(self) -> sp.csr_array:
        """What takes the remembered variables to their places in w."""
        return self.identity[self.remembered].T.tocsr()

    def parts_of(self, side: Side, with_response: bool) -> StageParts:
        """Return what the stages of a side are made of."""
        if (side, with_response) not in self._parts:
            own, mass = self.sides.of(side)[0], matrices(self.linear)[0]
            others = self._responding() if with_response else self.identity[self.sides.beyond(side)]
            older = others @ self.place
            self._parts[side, with_response] = StageParts(
                own,
                others,
                mass=stacked_rows(mass[own], sp.csr_array((others.shape[0], mass.shape[1]))),
                picked=stacked_rows(sp.csr_array((len(own), mass.shape[1])), others),
                older=stacked_rows(sp.csr_array((len(own), older.shape[1])), older),
            )
        return self._parts[side, with_response]

    def rates_of(self, stage: Stage, time: float) -> sp.csr_array:
        """Return a side's rows of f at a time, above empty ones for the other side's variables."""
        key = ("rates", stage.rows, stage.with_response, self._time(time))
        if key not in self._known:
            parts, rates = self.parts_of(stage.rows, stage.with_response), self._matrices_at(time)[1]
            below = sp.csr_array((parts.others.shape[0], rates.shape[1]))
            self._known[key] = stacked_rows(rates[parts.own], below)
        return self._known[key]

    def left_of(self, stage: Stage, a_star: float, time: float) -> sp.csr_array:
        """Return the matrix of a stage's equation with f times a* in s: one object for all with the same."""
        key = (stage.rows, a_star, self._time(time))
        if key not in self._known:
            parts = self.parts_of(stage.rows, stage.with_response)
            left = implicit_matrix(self._matrices_at(time), a_star)
            self._known[key] = stacked_rows(left[parts.own], parts.others) if parts.others.shape[0] else left
        return self._known[key]

    def _time(self, time: float) -> float:
        return 0.0 if self.jacobian is None else time

    def _matrices_at(self, time: float) -> Matrices:
        """Return E, the rates and the constraints at a time."""
        time = self._time(time)
        if time not in self._matrices:
            known = self.jacobian
            found = matrices(self.linear) if known is None else matrices_of(known(time), self.linear.n)
            self._matrices[time] = found
        return self._matrices[time]

    def _responding(self) -> sp.csr_array:
        """Return what takes the slow variables out of w, the responding ones less their response."""
        n, sides = self.linear.n, self.sides
        jacobian = sp.csr_array(self.linear.jacobian_at_once())
        read = np.unique(jacobian[sides.fast_rows].indices)
        read = np.intersect1d(read[read >= n], sides.slow)
        algebraic_rows, algebraic = sides.of("slow", algebraic_from=n)
        gains = response_matrix(jacobian[algebraic_rows], algebraic, sides.fast, read)
        spread = sp.eye_array(sides.slow.size, format="csr")[np.searchsorted(sides.slow, read)]
        return (self.identity[sides.slow] - spread.T @ gains @ self.identity[sides.fast]).tocsr()


def stacked_rows(above: sp.csr_array, below: sp.csr_array) -> sp.csr_array:
    """Return two matrices as one."""
    if not below.shape[0]:
        return above
    return sp.vstack([above, below], format="csr")
