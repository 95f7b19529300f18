"""The deformation of chosen modes of a large system: no step operator, no state matrix, no full spectrum."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from psmr.dae.system.linear import LinearDae
from psmr.errors import SingularError
from psmr.numerics.schemes.scheme import Scheme
from psmr.pencil.deformation.refine import ACCEPTED, Pair, Refinement
from psmr.pencil.modes.choice import ModeChoice
from psmr.pencil.modes.columns import deformation_columns
from psmr.pencil.modes.matching import NOT_REPRESENTED, status_of, unwrapped_logarithm
from psmr.pencil.modes.search import find
from psmr.pencil.modes.shift_invert import EPS, ShiftInvert
from psmr.pencil.modes.verdict import mode_text
from psmr.pencil.operator.step_map import StepMap, step_map
from psmr.pencil.report.report import Deformation, dominant_row

# A refined vector that shares less than half of the mode's length has become another mode.
UNLIKE = 0.5

# Two refined pairs are one when their vectors are parallel to this and their multipliers agree to ACCEPTED.
PARALLEL = 1.0 - 1e-6

# Arnoldi run for the largest multipliers: those a hundredth outside the unit circle are found in fewer
# restarts (measured on the chain of WSCC 9-bus copies); those that crowd inside it are not, and need not be.
LARGEST, BASIS, RESTARTS, TOLERANCE = 6, 60, 6, 1e-6

# Multipliers nearer to the unit circle than this are not judged by that run: z = 1 of the common angle is so
# badly conditioned that Arnoldi puts it up to 2e-5 outside (measured on a chain of six).
CIRCLE = 1e-3

# Steps of the growth check, over how many of the last it is measured, and what growth a step is no transient:
# slow angles of a random state still rise by 0.2 % a step there.
GROWTH_STEPS, GROWTH_OVER, GROWTH = 300, 100, 1e-2

# A refined multiplier is on the unit circle within this: the residual accepted of a pair.
ROUNDING = ACCEPTED


def deformation_at_size(
    linear: LinearDae, scheme: Scheme, choice: ModeChoice, said: tuple[str, ...] = ()
) -> Deformation:
    """Return the report on chosen modes; see `psmr.pencil.deformation.deformation.deformation`.

    Modes come from sparse shift-invert on (J, E), multipliers from the refinement of each mode on the step
    map.

    Raises
    ------
    InputError
        For a mode that does not exist, or a band without modes.
    SchemeError
        For a partition of another system, or corrections that diverge.
    SingularError
        For a singular gy, or an equation of the step without a unique solution.
    """
    pencil = ShiftInvert(linear)
    _regular(pencil, linear)
    found = find(pencil, choice)
    step = step_map(linear, scheme)
    refinement = Refinement(linear, scheme, step)
    s, pairs, mode_residuals, applied = [], [], [], 0
    for value, vector in zip(found.s, found.vectors.T, strict=True):
        value, vector, lu, shift = pencil.polished(value, vector)
        pair = refinement.multiplier(value, vector, lu, shift)
        s.append(complex(value.real, 0.0 if abs(value.imag) <= 1e-12 * abs(value) else value.imag))
        pairs.append(pair)
        mode_residuals.append(pencil.residual(value, vector))
        applied += pair.steps
    modes = np.array(s)
    status = _status(modes, pairs, scheme.step)
    shown = np.array([not words.startswith(NOT_REPRESENTED) for words in status])
    z = np.array([pair.z for pair in pairs])
    s_hat = np.where(shown, unwrapped_logarithm(z, modes, scheme.step), np.nan)
    table = deformation_columns(modes, s_hat, status)
    table["residual"] = [pair.residual for pair in pairs]
    table["mode_residual"] = mode_residuals
    order = np.lexsort((-modes.imag, -modes.real))
    table = table.iloc[order].reset_index(drop=True)
    outer = _outermost(step)
    spurious = _left_over(outer, z, scheme.step, linear.names_x + linear.names_y, step.size)
    growth = _growth(step)
    size = np.abs(outer[0])
    radius = float(max(np.abs(z).max(), np.where(np.abs(size - 1.0) < CIRCLE, 1.0, size).max(initial=0.0)))
    stable = radius <= 1.0 + ROUNDING and growth <= 1.0 + GROWTH
    return Deformation(
        scheme=scheme,
        pencil="exact",
        step=scheme.step,
        table=table,
        multipliers=z[order],
        dominant=dominant_row(table),
        stable=stable,
        spectral_radius=radius,
        spurious=spurious,
        verdict=_verdict(modes, z, growth, spurious, scheme.step),
        warnings=(
            *said,
            f"Sparse path: {choice} of {linear.n} states and {linear.m} algebraic variables. "
            f"{found.coverage}; each "
            f"multiplier by refinement on the step map ({applied} steps in all), largest residual "
            f"{max(pair.residual for pair in pairs):.1e}.",
            _radius_note(outer, radius, growth),
            *_unstable_note(modes),
        ),
    )


def _regular(pencil: ShiftInvert, linear: LinearDae) -> None:
    """Refuse a DAE that is not of index 1 before any shift hides it."""
    from scipy.sparse.linalg import splu

    if linear.m == 0:
        return
    try:
        pivots = np.abs(splu(linear.gy.tocsc()).U.diagonal())
    except RuntimeError:
        pivots = np.zeros(1)
    if pivots.min() <= EPS * pivots.max():
        raise SingularError(
            f"gy of order {linear.m} is singular: the algebraic equations do not determine the algebraic "
            f"variables here "
            "(the DAE is not of index 1); look for a bus without a path to any source"
        )


def _status(modes: np.ndarray, pairs: list[Pair], step: float) -> list[str]:
    status: list[str] = []
    for k, (s, pair) in enumerate(zip(modes, pairs, strict=True)):
        words = status_of(s, pair.z, step, 0.0)
        if pair.residual > ACCEPTED:
            words = f"{NOT_REPRESENTED}: not found, residual {pair.residual:.1g} after {pair.steps} steps"
        elif pair.similarity < UNLIKE:
            words = f"{NOT_REPRESENTED}: no multiplier is like it, |z| = {abs(pair.z):.3g} comes nearest"
        else:
            for j in range(k):
                same = abs(pairs[j].z - pair.z) <= ACCEPTED and not status[j].startswith(NOT_REPRESENTED)
                if same and abs(np.vdot(pairs[j].vector, pair.vector)) > PARALLEL:
                    words = f"{NOT_REPRESENTED}: its multiplier is that of mode {mode_text(modes[j])}"
                    break
        status.append(words)
    return status


def _outermost(step: StepMap) -> tuple[np.ndarray, np.ndarray]:
    """Return the multipliers of largest magnitude that an Arnoldi run resolves, and their vectors."""
    if step.order <= 2 * BASIS:
        values, vectors = np.linalg.eig(
            np.column_stack([step.apply(column) for column in np.eye(step.order)])
        )
        return values, vectors
    operator = LinearOperator((step.order, step.order), matvec=lambda v: step.apply(np.ravel(v)), dtype=float)
    start = step.apply(np.random.default_rng(0).standard_normal(step.order))
    try:
        return eigs(operator, k=LARGEST, ncv=BASIS, which="LM", maxiter=RESTARTS, tol=TOLERANCE, v0=start)
    except ArpackNoConvergence as partial:
        return partial.eigenvalues, partial.eigenvectors


def _growth(step: StepMap) -> float:
    """Return the factor a step by which a random state grows after many steps."""
    state = np.random.default_rng(1).standard_normal(step.order)
    logarithm = 0.0
    for k in range(GROWTH_STEPS):
        state = step.apply(state)
        length = float(np.linalg.norm(state))
        if length == 0.0:
            return 0.0
        state /= length
        if k >= GROWTH_STEPS - GROWTH_OVER:
            logarithm += np.log(length)
    return float(np.exp(logarithm / GROWTH_OVER))


def _left_over(
    outer: tuple[np.ndarray, np.ndarray], z: np.ndarray, step: float, names: tuple[str, ...], size: int
) -> pd.DataFrame:
    """Return the outermost multipliers outside the unit circle that belong to none of the chosen modes."""
    values, vectors = outer
    apart = np.array([np.abs(z - value).min(initial=np.inf) > TOLERANCE for value in values], dtype=bool)
    keep = np.flatnonzero(apart & (np.abs(values) > 1.0 + CIRCLE))
    left = values[keep]
    s_hat = np.log(left.astype(complex)) / step
    largest = np.abs(vectors[:size, keep]).argmax(axis=0) if len(keep) else []
    return pd.DataFrame(
        {
            "real_z": left.real,
            "imag_z": left.imag,
            "magnitude": np.abs(left),
            "real_numerical": s_hat.real,
            "imag_numerical": s_hat.imag,
            "dominant_variable": [names[k] for k in largest],
        }
    )


def _verdict(modes: np.ndarray, z: np.ndarray, growth: float, spurious: pd.DataFrame, step: float) -> str:
    outside = np.flatnonzero(np.abs(z) > 1.0 + ROUNDING)
    blamed = [k for k in outside if modes[k].real <= 0.0]
    if len(spurious):
        row = spurious.iloc[int(np.argmax(spurious["magnitude"].to_numpy()))]
        return f"Unstable: |z| = {row.magnitude:.6g}, a multiplier mostly in {row.dominant_variable}, grows."
    if blamed:
        culprit, size = mode_text(modes[blamed[0]]), abs(z[blamed[0]])
        return f"Unstable: mode {culprit}, damped in the system, grows, |z| = {size:.6g}."
    if len(outside):
        return f"Unstable, as the system is: |z| = {abs(z[outside[0]]):.6g}."
    if growth > 1.0 + GROWTH:
        return f"Unstable: a random state grows by a factor {growth:.6g} a step."
    return f"No multiplier outside the unit circle found, with a step of {step:g} s."


def _radius_note(outer: tuple[np.ndarray, np.ndarray], radius: float, growth: float) -> str:
    grows = f"a random state changes by a factor {growth:.6f} a step after {GROWTH_STEPS} steps"
    if len(outer[0]) and np.abs(outer[0]).max() > 1.0 + CIRCLE:
        return f"The spectral radius {radius:.6g} was found by an Arnoldi run on the step map; {grows}."
    return (
        f"The spectral radius is bounded from below by {radius:.8g}, the largest multiplier computed. An "
        f"Arnoldi run on "
        f"the step map found none outside the unit circle, and {grows}; one within a per cent of the circle "
        f"could hide."
    )


def _unstable_note(modes: np.ndarray) -> tuple[str, ...]:
    growing = modes[modes.real > 0.0]
    return (f"The system itself is unstable: mode {mode_text(growing[0])}.",) if len(growing) else ()
