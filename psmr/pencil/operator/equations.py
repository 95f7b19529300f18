"""The equations of one step on a linear DAE, as a list of block rows.

On x' = fx x + fy y, 0 = gx x + gy y every scheme is a short list of linear equations, each for one unknown
block (a stage, the prediction, the fast point i, the new point) in terms of the blocks before it and of the
state at t. The list is written once here; `psmr.pencil.operator.operator` stacks it into the pencil or
substitutes it into the step operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from psmr.dae.system.linear import LinearDae
from psmr.errors import SchemeError
from psmr.numerics.run.engine import Scheme as Scheme
from psmr.numerics.schemes.scheme import Multirate, SingleRate
from psmr.numerics.schemes.tableaux import TABLEAUX, coefficients
from psmr.pencil.operator.rows import Rows, implicit, matrices

STATE = "w(t)"
NEW = "w(t+h)"
OLDER = ("slow(t-h)", "slow(t-2h)")
NEW_OLDER = ("slow(t)", "slow(t-h) kept")

Term = tuple[str, sp.sparray]


@dataclass(frozen=True, eq=False)
class Equation:
    """One block row: ``matrix @ unknown = sum(term @ block for block, term in terms)``.

    Attributes
    ----------
    unknown
        Name of the block that the row is solved for.
    matrix
        Square matrix on the unknown.
    terms
        Pairs of a block name and its matrix. A block is one of the state, or an unknown of an equation.
    what
        Words for a message when the matrix is singular.
    """

    unknown: str
    matrix: sp.sparray
    terms: tuple[Term, ...]
    what: str


@dataclass(frozen=True, eq=False)
class StepEquations:
    """All block rows of one step.

    Attributes
    ----------
    equations
        In the order of solution.
    state
        Names of the blocks known at t, in the order of the state vector.
    successors
        The unknowns that are those blocks at t + h.
    slow
        Positions in w of the slow variables where the new point itself is the prediction
        (`corrections="converge"`), else None.
    """

    equations: tuple[Equation, ...]
    state: tuple[str, ...]
    successors: tuple[str, ...]
    slow: np.ndarray | None = None


def step_equations(linear: LinearDae, scheme: Scheme) -> StepEquations:
    """Write down one step of `scheme` on the linear DAE.

    Parameters
    ----------
    linear
        The DAE: sparse fx (n, n), fy (n, m), gx (m, n), gy (m, m).
    scheme
        `SingleRate` or `Multirate`.

    Returns
    -------
    StepEquations
        In the variables w = (x, y) of the linear DAE, in its order.

    Raises
    ------
    SchemeError
        For a partition of another system, or a scheme the pencil has no equations for.
    """
    if isinstance(scheme, SingleRate):
        return StepEquations(tuple(_single_rate(linear, scheme)), (STATE,), (NEW,))
    if isinstance(scheme, Multirate):
        return _multirate(linear, scheme)
    raise SchemeError(
        f"a {type(scheme).__name__} scheme has no sparse equations; SingleRate and Multirate have, and "
        "psmr.step_operator has the closed form of the others"
    )


def _single_rate(linear: LinearDae, scheme: SingleRate) -> Iterator[Equation]:
    tableau = TABLEAUX[scheme.method]
    mass, rates, _ = matrices(linear)
    blocks = [STATE if tableau.first_explicit else "stage 1"]
    blocks += [f"stage {i + 1}" for i in range(1, tableau.stages)]
    if tableau.stiffly_accurate:
        blocks[-1] = NEW

    def explicit(weights: np.ndarray) -> tuple[Term, ...]:
        terms: dict[str, sp.sparray] = {STATE: mass}
        for block, weight in zip(blocks, weights, strict=False):
            if weight:
                terms[block] = terms.get(block, 0) + scheme.h * weight * rates
        return tuple(terms.items())

    for i, block in enumerate(blocks):
        if block != STATE:
            matrix = implicit(linear, scheme.h * tableau.A[i, i])
            what = f"{scheme.method} with h = {scheme.h:g} s, stage {i + 1}"
            yield Equation(block, matrix, explicit(tableau.A[i, :i]), what)
    if not tableau.stiffly_accurate:
        what = f"{scheme.method}, algebraic equations at the new point"
        yield Equation(NEW, implicit(linear, 0.0), explicit(tableau.b), what)


def _multirate(linear: LinearDae, scheme: Multirate) -> StepEquations:
    rows = Rows.of(linear, scheme)
    iterated = scheme.corrections == "converge"
    spline = scheme.interpolation == "spline"
    equations: list[Equation] = []
    if iterated:
        equations += _one_pass(linear, scheme, rows, prediction=NEW, solution=NEW, label="")
    else:
        prediction = "prediction"
        equations.append(_predictor(linear, scheme, rows, prediction))
        passes = int(scheme.corrections) + 1
        for k in range(passes):
            solution = NEW if k == passes - 1 else f"w(t+h), pass {k + 1}"
            label = f", pass {k + 1}" if passes > 1 else ""
            equations += _one_pass(linear, scheme, rows, prediction, solution, label)
            prediction = solution
    if spline:
        identity = sp.eye_array(len(rows.sigma), format="csr")
        equations.append(Equation(NEW_OLDER[0], identity, ((STATE, rows.pick_slow),), "history"))
        equations.append(Equation(NEW_OLDER[1], identity, ((OLDER[0], identity),), "history"))
    state = (STATE, *OLDER) if spline else (STATE,)
    successors = (NEW, *NEW_OLDER) if spline else (NEW,)
    return StepEquations(tuple(equations), state, successors, rows.sigma if iterated else None)


def _predictor(linear: LinearDae, scheme: Multirate, rows: Rows, unknown: str) -> Equation:
    """Step 1: all of w, or the slow rows with the fast variables held."""
    mass, rates, _ = matrices(linear)
    a, a_star = coefficients(scheme.predictor, scheme.h_slow)
    left, right = implicit(linear, a_star), (mass + a * rates).tocsr()
    what = f"{scheme.predictor} predictor, step {scheme.h_slow:g} s"
    if scheme.predict == "all":
        return Equation(unknown, left, ((STATE, right),), what)
    left = sp.vstack([left[rows.slow], rows.pick_fast], format="csr")
    right = sp.vstack([right[rows.slow], rows.pick_fast], format="csr")
    return Equation(unknown, left, ((STATE, right),), what + ", slow rows (is the partition well posed?)")


def _one_pass(
    linear: LinearDae, scheme: Multirate, rows: Rows, prediction: str, solution: str, label: str
) -> Iterator[Equation]:
    """Write down steps 2 to 4: interpolate, fast points 1..r, slow rows."""
    mass, rates, _ = matrices(linear)
    b, b_star = coefficients(scheme.solution, scheme.h_fast)
    c, c_star = coefficients(scheme.solution, scheme.h_slow)
    no_fast = sp.csr_array((len(rows.phi), linear.n + linear.m))
    fast_left = sp.vstack([implicit(linear, b_star)[rows.fast], rows.pick_slow], format="csr")
    fast_right = sp.vstack([(mass + b * rates).tocsr()[rows.fast], 0 * rows.pick_slow], format="csr")
    what = f"{scheme.solution} fast rows, step {scheme.h_fast:g} s (is the partition well posed?)"
    previous = STATE
    for i in range(1, scheme.ratio + 1):
        terms = [(previous, fast_right)]
        for block, weight in interpolation_weights(scheme.interpolation, i / scheme.ratio).items():
            source = {"now": STATE, "predicted": prediction, "older": OLDER[0], "oldest": OLDER[1]}[block]
            pick = rows.pick_slow if source not in OLDER else sp.eye_array(len(rows.sigma), format="csr")
            empty = no_fast if source not in OLDER else no_fast[:, : len(rows.sigma)]
            if weight:
                terms.append((source, sp.vstack([empty, weight * pick], format="csr")))
        point = f"fast point {i}{label}"
        yield Equation(point, fast_left, _merged(terms), what)
        previous = point

    slow_left = sp.vstack([implicit(linear, c_star)[rows.slow], rows.pick_fast], format="csr")
    slow_right = sp.vstack([(mass + c * rates).tocsr()[rows.slow], no_fast], format="csr")
    no_slow = sp.csr_array((len(rows.sigma), linear.n + linear.m))
    handed_over = sp.vstack([no_slow, rows.pick_fast], format="csr")
    what = f"{scheme.solution} slow rows, step {scheme.h_slow:g} s (is the partition well posed?)"
    yield Equation(solution, slow_left, _merged([(STATE, slow_right), (previous, handed_over)]), what)


def interpolation_weights(kind: str, theta: float) -> dict[str, float]:
    """Return the weights of the slow values at t - 2h (oldest), t - h (older), t (now) and t + h (predicted).

    Parameters
    ----------
    kind
        ``"linear"`` or ``"spline"`` (the cubic through the four points, Lagrange form).
    theta
        Place in the macro step, 0 at t and 1 at t + h.
    """
    if kind == "linear":
        return {"now": 1.0 - theta, "predicted": theta}
    return {
        "oldest": -(theta + 1.0) * theta * (theta - 1.0) / 6.0,
        "older": (theta + 2.0) * theta * (theta - 1.0) / 2.0,
        "now": -(theta + 2.0) * (theta + 1.0) * (theta - 1.0) / 2.0,
        "predicted": (theta + 2.0) * (theta + 1.0) * theta / 6.0,
    }


def _merged(terms: list[Term]) -> tuple[Term, ...]:
    """Add up the terms of the same block."""
    merged: dict[str, sp.sparray] = {}
    for block, matrix in terms:
        merged[block] = merged[block] + matrix if block in merged else matrix
    return tuple(merged.items())
