"""The exact step operator and its pencil: what one step of a scheme does to a linear DAE.

Source: Huang and Tzounas, Matrix pencil-based analysis of multirate simulation schemes, section 2.2 and
equation (18), stacked without overlap of the points within the macro step.
"""

from __future__ import annotations

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
    return stacked(step_equations(linear, scheme))[1:]


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
    step = step_equations(linear, scheme, dense=True)
    if step.slow is None:
        return _substituted(step, _state_columns(step, linear))
    direct, feedback = _one_correction(step, linear)
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
    step = step_equations(linear, scheme.converged(), dense=True)
    if step.slow is None or len(step.slow) == 0:  # one side alone: nothing is predicted
        return 0.0
    _, feedback = _one_correction(step, linear)
    return float(np.abs(np.linalg.eigvals(feedback[step.slow])).max())


def _one_correction(step: StepEquations, linear: LinearDae) -> tuple[np.ndarray, np.ndarray]:
    """Return state(t+h) as (direct, feedback): from the state at t and from the predicted slow values."""
    assert step.slow is not None
    columns = _state_columns(step, linear)
    width, slow = next(iter(columns.values())).shape[1], len(step.slow)
    inputs = {name: np.hstack([block, np.zeros((len(block), slow))]) for name, block in columns.items()}
    guess = np.zeros((linear.n + linear.m, width + slow))
    guess[step.slow, width + np.arange(slow)] = 1.0
    both = _substituted(step, inputs | {NEW: guess})
    return both[:, :width], both[:, width:]


def _state_columns(step: StepEquations, linear: LinearDae) -> dict[str, np.ndarray]:
    """Return the blocks of the state at t as functions of the state: rows of the identity."""
    sizes = [linear.n + linear.m]
    sizes += [e.matrix.shape[0] for name in step.successors[1:] for e in step.equations if e.unknown == name]
    blocks = np.split(np.eye(sum(sizes)), np.cumsum(sizes)[:-1])
    return dict(zip(step.state, blocks, strict=True))


def _substituted(step: StepEquations, known: dict[str, np.ndarray]) -> np.ndarray:
    """Solve the block rows one after another, each for all columns at once."""
    blocks = dict(known)
    factors: dict[int, SuperLU] = {}  # the r fast points share one matrix object
    for equation in step.equations:
        lu = factors.get(id(equation.matrix))
        if lu is None:
            lu = factors[id(equation.matrix)] = factorised(equation)
        right = sum(term @ blocks[block] for block, term in equation.terms)
        blocks[equation.unknown] = lu.solve(np.ascontiguousarray(right))
    return np.vstack([blocks[name] for name in step.successors])


def factorised(equation: Equation) -> SuperLU:
    """Return the sparse LU of an equation's matrix.

    Raises
    ------
    SingularError
        When the equation has no unique solution.
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
