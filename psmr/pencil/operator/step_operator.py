"""The exact step operator and its pencil: what one step of a scheme does to a linear DAE.

Source: Huang and Tzounas, Matrix pencil-based analysis of multirate simulation schemes, section 2.2 and
equation (18), stacked without overlap of the points within the macro step.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import SuperLU, splu

from psmr.base.arguments import check_arguments
from psmr.base.errors import SingularError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.operator.equation import NEW, Equation
from psmr.pencil.operator.equations import StepEquations, step_equations


def macro_pencil(linear: LinearDae, scheme: Scheme) -> tuple[sp.csc_array, sp.csc_array]:
    """Stack the equations of one step to ``F Y(t+h) = G Y(t)``.

    Y holds every point within the step (prediction, fast points of each pass, solution) and at its end the
    state vector of `step_operator`. Only that end of Y(t) enters, so the eigenvalues of ``z F - G`` are those
    of the step operator and zeros.

    Parameters
    ----------
    linear
        Linearised DAE of n states and m algebraic variables.
    scheme
        Any whose step is a program.

    Returns
    -------
    F, G
        Sparse, of order (number of points in the step) (n + m), plus the number of variables that spline or
        extrapolation remember, for each point before the step that they read.

    Raises
    ------
    SchemeError
        For a partition of another system.
    """
    return stacked(step_equations(linear, scheme, closed_up_to=0))[1:]


def stacked(step: StepEquations) -> tuple[list[Equation], sp.csc_array, sp.csc_array]:
    """Return the equations of a step, the successors of its state last, and F and G; see `macro_pencil`."""
    ordered = [e for e in step.equations if e.unknown not in step.successors]
    ordered += [e for name in step.successors for e in step.equations if e.unknown == name]
    place = {e.unknown: k for k, e in enumerate(ordered)}
    known = {name: place[successor] for name, successor in zip(step.state, step.successors, strict=True)}

    left: dict[tuple[int, int], sp.sparray] = {}
    right: dict[tuple[int, int], sp.sparray] = {}
    for row, equation in enumerate(ordered):
        left[row, row] = equation.matrix
        for block, term in equation.terms:
            if block in known:
                right[row, known[block]] = term
            else:
                left[row, place[block]] = -term
    sizes = np.array([e.matrix.shape[0] for e in ordered])
    return ordered, _stacked(left, sizes), _stacked(right, sizes)


def step_operator(linear: LinearDae, scheme: Scheme) -> np.ndarray:
    """Return the matrix T of one step: state(t + h) = T state(t).

    Parameters
    ----------
    linear
        Linearised DAE of n states and m algebraic variables.
    scheme
        Any that has one. For ``corrections="converge"`` T is the fixed point of the correction;
        whether the iteration gets there says `correction_rate`.

    Returns
    -------
    ndarray
        (N, N), N = n + m, on w = (x, y). With spline interpolation the state is (w(t), slow part of w(t -
        h_slow), slow part of w(t - 2 h_slow)), slow states before slow algebraic variables, and T is of order
        N + 2 n_slow. With prediction by extrapolation it is w(t) and w(t - h_slow), with the spline also w(t
        - 2 h_slow), whole or with ``predict="slow"`` their slow parts.

    Raises
    ------
    SchemeError
        For a partition of another system.
    SingularError
        When an equation of the step has no unique solution, as on a partition that is not well posed.
    """
    check_arguments(step_operator, locals())
    closed = scheme.operator(linear)
    if closed is not None:
        return closed
    step = step_equations(linear, scheme, closed_up_to=linear.n + linear.m)
    if step.slow is None:
        return Substitution(step).advance(_state_columns(step))
    direct, feedback = _one_correction(step)
    here = feedback[step.slow]  # slow(t+h) = direct + here slow(t+h)
    closed = _dense_solve(np.eye(len(step.slow)) - here, direct[step.slow], "fixed point of the corrections")
    return direct + feedback @ closed


def correction_rate(linear: LinearDae, scheme: Scheme) -> float:
    """Return the factor by which one correction of a macro step reduces the error of the prediction.

    This is the spectral radius of the map from the predicted to the solved slow values. At 1 or above
    ``corrections="converge"`` does not end and more corrections make the result worse. Of a scheme with
    ``interface="schur"``, which corrects nothing, it is that of the scheme with the interface held.

    Raises
    ------
    SchemeError
        For a scheme without corrections (single rate).
    """
    step = step_equations(linear, scheme.converged(), closed_up_to=linear.n + linear.m)
    if step.slow is None or len(step.slow) == 0:  # one side alone: nothing is predicted
        return 0.0
    _, feedback = _one_correction(step)
    return float(np.abs(np.linalg.eigvals(feedback[step.slow])).max())


def _one_correction(step: StepEquations) -> tuple[np.ndarray, np.ndarray]:
    """Return state(t+h) as (direct, feedback): from the state at t and from the predicted slow values."""
    assert step.slow is not None
    columns = _state_columns(step)
    width, slow = next(iter(columns.values())).shape[1], len(step.slow)
    inputs = {name: np.hstack([block, np.zeros((len(block), slow))]) for name, block in columns.items()}
    guess = np.zeros((step.sizes[0], width + slow))
    guess[step.slow, width + np.arange(slow)] = 1.0
    both = Substitution(step).advance(inputs | {NEW: guess})
    return both[:, :width], both[:, width:]


def _state_columns(step: StepEquations) -> dict[str, np.ndarray]:
    """Return the blocks of the state at t as functions of the state: rows of the identity."""
    blocks = np.split(np.eye(sum(step.sizes)), np.cumsum(step.sizes)[:-1])
    return dict(zip(step.state, blocks, strict=True))


class Substitution:
    """The equations of a step, solved one after another with every matrix factorised once.

    `step`: The equations.
    """

    def __init__(self, step: StepEquations) -> None:
        self.step = step
        self._factors: dict[int, SuperLU] = {}  # the r fast points share one matrix object
        self._terms: dict[str, tuple[sp.csr_matrix, list[str]]] = {}

    def factors(self, equation: Equation) -> SuperLU:
        """Return the factors of an equation's matrix; raises SingularError as `factorised`."""
        if id(equation.matrix) not in self._factors:
            self._factors[id(equation.matrix)] = factorised(equation)
        return self._factors[id(equation.matrix)]

    def solve(self, equation: Equation, blocks: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the unknown of an equation, a vector or columns like the blocks that it reads."""
        if equation.unknown not in self._terms:
            names = [name for name, _ in equation.terms]
            self._terms[equation.unknown] = sp.hstack([term for _, term in equation.terms], "csr"), names
        terms, names = self._terms[equation.unknown]
        right = terms @ np.concatenate([blocks[name] for name in names])
        return np.asarray(self.factors(equation).solve(np.ascontiguousarray(right)))

    def solve_all(self, known: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return all blocks, from those that are known at t."""
        blocks = dict(known)
        for equation in self.step.equations:
            blocks[equation.unknown] = self.solve(equation, blocks)
        return blocks

    def advance(self, known: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the state at t + h, from the blocks that are known at t."""
        blocks = self.solve_all(known)
        return np.concatenate([blocks[name] for name in self.step.successors])


def factorised(equation: Equation) -> SuperLU:
    """Return the sparse LU of an equation's matrix.

    Raises SingularError when the equation has no unique solution.
    """
    try:
        lu = splu(sp.csc_matrix(equation.matrix))
    except RuntimeError as error:
        raise SingularError(_singular(equation)) from error
    pivots = np.abs(lu.U.diagonal())
    # A pivot lost in the rounding of the largest one says nothing about the equation it stands for.
    if pivots.min() < np.finfo(float).eps * pivots.max():
        raise SingularError(_singular(equation))
    return lu


def _singular(equation: Equation) -> str:
    return (
        f"the equations of '{equation.unknown}' ({equation.what}) have no unique solution: "
        f"their matrix of order {equation.matrix.shape[0]} is singular; try another partition or step"
    )


def _dense_solve(matrix: np.ndarray, right: np.ndarray, what: str) -> np.ndarray:
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError as error:
        raise SingularError(
            f"{what}: the matrix of order {len(matrix)} is singular; try a smaller h_slow"
        ) from error


def _stacked(blocks: dict[tuple[int, int], sp.sparray], sizes: np.ndarray) -> sp.csc_array:
    """Place blocks given by (block row, block column) into one square sparse matrix."""
    start = np.concatenate([[0], np.cumsum(sizes)])
    parts = [(sp.coo_array(block), start[row], start[column]) for (row, column), block in blocks.items()]
    data = np.concatenate([part.data for part, _, _ in parts])
    rows = np.concatenate([part.row + first for part, first, _ in parts])
    columns = np.concatenate([part.col + first for part, _, first in parts])
    return sp.csc_array((data, (rows, columns)), shape=(start[-1], start[-1]))
