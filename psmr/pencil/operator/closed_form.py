"""Step operators of the schemes for singularly perturbed systems, in closed form.

These schemes solve g = 0 at every stage, so that one step is a map of the states alone, x(t + h) = M x(t),
with M a function of the state matrix A (stabilised explicit), of its four blocks (slow manifold), or that of
the base method (arc length at an equilibrium).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from psmr.dae.system.linear import LinearDae
from psmr.errors import SchemeError
from psmr.numerics.run.engine import Scheme
from psmr.numerics.schemes.adaptive import Adaptive
from psmr.numerics.schemes.arc_length import ArcLength
from psmr.numerics.schemes.runge_kutta import EXPLICIT
from psmr.numerics.schemes.scheme import Multirate
from psmr.numerics.schemes.slow_manifold import SlowManifold, require_fit
from psmr.numerics.schemes.smes import Smes
from psmr.numerics.schemes.smes_search import room_for_micro, setbacks
from psmr.numerics.schemes.stability import mode_words, narrowest
from psmr.numerics.steppers.exponential import integrals

Reals = NDArray[np.float64]


def slow_manifold_map(A: Reals, fast: NDArray[np.bool_], h: float) -> Reals:
    """Return M (n, n) of one slow-manifold step of h in s on x' = A x.

    Parameters
    ----------
    A
        State matrix, (n, n), in 1/s.
    fast
        (n,) which states are fast.

    Notes
    -----
    With K = g_z^-1 g_x, A0 = f_x - f_z K, S = [K I] and the integrals F1, F2 (`exponential`)::

        X1 = R4(h A0) [I 0] + f_z (F1(g_z) S + F2(g_z) K [f_x f_z])
        Y1 = E S + F1 K A0 [I 0] + F2 K A0 (X1 - [I 0]) / h      of g_z + K f_z
        M  = [X1; -K X1 + Y1]

    Gil, Sanfelice and Nikravesh (2013), steps 1 to 3, for linear f and g.
    """
    slow = ~fast
    fx, fz = A[np.ix_(slow, slow)], A[np.ix_(slow, fast)]
    gx, gz = A[np.ix_(fast, slow)], A[np.ix_(fast, fast)]
    p, q = int(slow.sum()), int(fast.sum())
    K = np.linalg.solve(gz, gx)
    reduced = fx - fz @ K
    select_x = np.hstack([np.eye(p), np.zeros((p, q))])
    S = np.hstack([K, np.eye(q)])
    _, I1, I2 = integrals(gz, h)
    E, F1, F2 = integrals(gz + K @ fz, h)
    X1 = stability_polynomial(h * reduced, "RK4") @ select_x + fz @ (I1 @ S + I2 @ K @ np.hstack([fx, fz]))
    Y1 = E @ S + F1 @ K @ reduced @ select_x + F2 @ K @ reduced @ (X1 - select_x) / h
    M = np.empty((p + q, p + q))
    order = np.concatenate([np.flatnonzero(slow), np.flatnonzero(fast)])
    M[np.ix_(order, order)] = np.vstack([X1, Y1 - K @ X1])
    return M


def smes_map(A: Reals, scheme: Smes) -> Reals:
    """Return M (n, n) of one macro step on x' = A x.

    For forward Euler M = (I + (h - N delta) A) (I + delta A)^N (Shi and Rojas, condition (14)); for the other
    base methods the re-equilibrated stages that `psmr.Smes` states, with matrices in place of states.
    """
    tableau, identity = EXPLICIT[scheme.base], np.eye(len(A))
    back = setbacks(scheme.base, scheme.nodes)
    spent = scheme.micro * scheme.delta
    settle = np.linalg.matrix_power(identity + scheme.delta * A, scheme.micro)
    rates = [A @ settle]
    for i in range(1, tableau.stages):
        c = tableau.c[i]
        along = sum(a / c * k for a, k in zip(tableau.A[i], rates, strict=False))
        rates.append(A @ settle @ (settle + (c * scheme.h - back[i] * spent) * along))
    return np.asarray(settle + (scheme.h - spent) * sum(b * k for b, k in zip(tableau.b, rates, strict=True)))


def stability_polynomial(matrix: Reals, method: str) -> Reals:
    """Return R(Z) = I + Z sum_i b_i k_i, k_i = I + Z sum_j A_ij k_j, of an explicit one-step method.

    Raises
    ------
    SchemeError
        For a method that is not an explicit one.
    """
    if method not in EXPLICIT:
        raise SchemeError(
            f"{method} is no explicit method; {', '.join(EXPLICIT)} have a stability polynomial"
        )
    tableau, identity = EXPLICIT[method], np.eye(len(matrix))
    stages: list[Reals] = []
    for row in tableau.A:
        stages.append(
            identity + matrix @ sum((a * k for a, k in zip(row, stages, strict=False)), 0.0 * identity)
        )
    return np.asarray(identity + matrix @ sum(b * k for b, k in zip(tableau.b, stages, strict=True)))


def of_slow_manifold(linear: LinearDae, scheme: SlowManifold) -> Reals:
    """Return the map M (n, n) of the states.

    Raises
    ------
    SchemeError
        For a partition of another system, or fast states without a quasi-steady state.
    """
    split = scheme.split
    if (split.names_x, split.names_y) != (linear.names_x, linear.names_y):
        raise SchemeError(
            f"split is a partition of {len(split.names_x)} states and {len(split.names_y)} algebraic "
            "variables of "
            f"another system; this one has {linear.n} and {linear.m}"
        )
    A, fast = linear.state_matrix(), split.fast_x
    names = tuple(name for name, side in zip(linear.names_x, fast, strict=True) if side)
    require_fit(A[np.ix_(fast, fast)], names, scheme.tolerance, "linearised system")
    return slow_manifold_map(A, fast, scheme.h)


def with_algebraic(linear: LinearDae, M: Reals) -> Reals:
    """Return T (n + m, n + m) on (x, y) from M: y(t) is not read, y(t + h) solves g = 0."""
    n, m = linear.n, linear.m
    T = np.zeros((n + m, n + m))
    T[:n, :n] = M
    if m:
        T[n:, :n] = -scipy.linalg.solve(linear.gy.toarray(), linear.gx @ M)
    return T


def closed_form(linear: LinearDae, scheme: object) -> Reals | None:
    """Return the step operator T (n + m, n + m) of one of these schemes, None for any other scheme.

    Raises
    ------
    SchemeError
        For a partition of another system, a scheme that does not fit this one, or a method that chooses its
        own steps and so has no operator.
    SingularError
        When g_y is singular.
    """
    if isinstance(scheme, SlowManifold):
        return with_algebraic(linear, of_slow_manifold(linear, scheme))
    if isinstance(scheme, Smes):
        return with_algebraic(linear, smes_map(linear.state_matrix(), scheme))
    if isinstance(scheme, ArcLength) and not isinstance(scheme.method, Adaptive):
        step = operator_step(scheme)
        return with_algebraic(linear, stability_polynomial(step * linear.state_matrix(), scheme.method))
    if isinstance(scheme, Adaptive | ArcLength):
        raise SchemeError(
            f"{scheme}: a method that chooses its own steps has no step operator; its steps follow the "
            "tolerance, and on a "
            "stiff system the stability limit of the method. For a report take a fixed-step method"
        )
    return None


def operator_step(scheme: Scheme) -> float:
    """Return the time in s that one application of the step operator spans.

    Along the arc the step is in lambda; at an equilibrium, where nothing but t moves, it is h / w_t in time.
    """
    return scheme.h / scheme.weight_t if isinstance(scheme, ArcLength) else scheme.step


def with_step(scheme: Scheme, h: float) -> Scheme:
    """Return the scheme with a step operator that spans h in s; partition, micro steps and weights stay.

    Raises
    ------
    SchemeError
        For a step of SMES without room for its micro steps, or a method that chooses its own steps.
    """
    if isinstance(scheme, Adaptive):
        raise SchemeError(f"{scheme}: a method that chooses its own steps has none to set")
    if isinstance(scheme, Multirate):
        return replace(scheme, h_slow=h)
    return replace(scheme, h=h * scheme.weight_t if isinstance(scheme, ArcLength) else h)


def shortest_step(scheme: Scheme) -> float:
    """Return the step in s above which a scheme is defined: room for the micro steps of SMES, else 0."""
    if not isinstance(scheme, Smes):
        return 0.0
    # Two per cent beyond the step that micro steps fill, where nothing would be left for the long step.
    return 1.02 * scheme.micro * scheme.delta / room_for_micro(scheme.base, 1.0)


def manifold_limit(linear: LinearDae, scheme: SlowManifold) -> str:
    """Say up to which step Runge-Kutta 4 is stable on the slow manifold, and which mode sets that."""
    A, fast = linear.state_matrix(), scheme.split.fast_x
    slow = ~fast
    K = np.linalg.solve(A[np.ix_(fast, fast)], A[np.ix_(fast, slow)])
    modes = np.linalg.eigvals(A[np.ix_(slow, slow)] - A[np.ix_(slow, fast)] @ K)
    damped = modes[modes.real < 0.0]
    if not damped.size:
        return ""
    limit, mode = narrowest(damped, "RK4")
    return (
        f"Runge-Kutta 4 on the slow states is stable up to about h = {limit:.3g} s, where the mode "
        f"{mode_words(mode)} sets the limit, or another partition"
    )


def remarks(scheme: Scheme) -> tuple[str, ...]:
    """Return what a report on the scheme must say besides its figures."""
    if not isinstance(scheme, ArcLength):
        return ()
    return (
        "Near an equilibrium nothing moves but time, so the arc is time itself: the run is its base "
        f"method, {scheme.method} "
        f"with a step of {operator_step(scheme):g} s, and the report is that method's. Away from it the "
        "steps are shorter. "
        "Where the base method is unstable at this step the run does not grow but chatters about the slow "
        "manifold; the "
        "run's counters say how often a step turned back.",
    )
