"""The modes of a linear DAE that reads signals with a delay: roots of its characteristic equation.

    M(s) v = 0,   M(s) = s E - J - sum over k of b_k c_k e^{-s tau_k}

has infinitely many. Guesses come from the DAE in which each delayed signal is a wave that passes at unit
speed along [-tau, 0], collocated at Chebyshev points (Breda, Maset and Vermiglio, Pseudospectral differencing
methods for characteristic roots of delay differential equations, SIAM J. Sci. Comput. 27, 2005); each is then
a start of Newton's method on M itself, and is a root that it leads to close by.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import SuperLU, splu

from psmr.base.errors import InputError, SingularError
from psmr.dae.system.linear import Delays, LinearDae

Complex = NDArray[np.complex128]

# Chebyshev points of each delayed signal: roots up to some |s| tau = 2 NODES are found.
NODES = 24

# Newton's method ends at this relative step, and what it ended at is a root if its residual is as small.
CONVERGED, RESIDUAL, ITERATIONS = 1e-13, 1e-9, 30

# Guesses farther off than this, relative to their size, are of the collocation alone.
CLOSE = 0.05

# Roots closer than this, relative to their size, are one.
SAME = 1e-9

# Beside a root that is exact to the last digit, relative to its size.
BESIDE = (0.0, 1e-12, 1e-10, 1e-8)

# Beyond, e^{-s tau} has no square in double precision; no such root is found by collocation.
LARGEST_EXPONENT = 200.0

# Dense eigenvalues of more unknowns take minutes.
MOST_UNKNOWNS = 3000


class Roots(NamedTuple):
    """Roots of the characteristic equation, of a conjugate pair both.

    Attributes
    ----------
    s
        (k,) in 1/s.
    right, left
        (n + m, k) vectors of length 1 with M(s) v = 0 and u^H M(s) = 0.
    error
        (k,) bounds of the rounding error of each s in 1/s.
    """

    s: Complex
    right: Complex
    left: Complex
    error: NDArray[np.float64]


def characteristic_roots(linear: LinearDae) -> Roots:
    """Return the roots of a linear DAE with delays that collocation finds, each to rounding.

    They are those of |s| tau up to some 48, of the longest delay.

    Raises
    ------
    InputError
        Where the system is too large for dense eigenvalues.
    SingularError
        When gy is singular: the DAE is not of index 1 at this point.
    """
    assert linear.delays is not None
    n, size = linear.n, linear.n + linear.m
    mass = sp.diags_array(np.repeat([1.0, 0.0], [n, linear.m]), format="csc")
    jacobian = sp.csc_array(linear.jacobian_at_once())
    found: list[tuple[complex, Complex, Complex, float]] = []
    for guess, vector in _guesses(linear, linear.delays):
        if guess.imag < 0.0:
            continue
        root = _newton(mass, jacobian, linear.delays, guess, vector)
        if root is None or root[0].imag < -SAME * abs(root[0]):
            continue
        if all(abs(root[0] - other[0]) > SAME * max(1.0, abs(root[0])) for other in found):
            found.append(root)
    for s, v, u, error in found.copy():
        if abs(s.imag) > SAME * max(1.0, abs(s)):
            found.append((s.conjugate(), v.conj(), u.conj(), error))
    columns = [np.array([root[k] for root in found]).T for k in (1, 2)]
    right, left = (c if c.size else np.zeros((size, 0), complex) for c in columns)
    return Roots(
        np.array([root[0] for root in found], complex), right, left, np.array([root[3] for root in found])
    )


def _chebyshev(nodes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points cos(k pi / nodes) and the derivative of the polynomial through values there.

    Source: Trefethen, Spectral Methods in MATLAB (2000), chapter 6.
    """
    x = np.cos(np.pi * np.arange(nodes + 1) / nodes)
    c = np.ones(nodes + 1)
    c[[0, -1]] = 2.0
    c *= (-1.0) ** np.arange(nodes + 1)
    apart = x[:, None] - x[None, :] + np.eye(nodes + 1)
    derivative = np.outer(c, 1.0 / c) / apart
    return x, derivative - np.diag(derivative.sum(axis=1))


def _guesses(linear: LinearDae, delays: Delays) -> list[tuple[complex, Complex]]:
    """Return eigenvalues of the collocated DAE, and what their vectors have in w."""
    n, m = linear.n, linear.m
    pairs = [
        (int(source), float(tau))
        for source, tau in zip(sp.csr_matrix(delays.c).indices, delays.tau, strict=True)
    ]
    signals = list(dict.fromkeys(pairs))
    unknowns = n + NODES * len(signals)
    if unknowns > MOST_UNKNOWNS:
        raise InputError(
            f"{len(signals)} delayed signals of a system of {n} states: their roots need dense eigenvalues "
            f"of order {unknowns}, above {MOST_UNKNOWNS}; delay fewer, or take linear.without_delays()"
        )
    _, derivative = _chebyshev(NODES)
    # z = (x, each signal at NODES points behind the first, which is the signal itself); y = follow z.
    drive = np.zeros((n + m, unknowns))
    drive[:, :n] = np.vstack([linear.fx.toarray(), linear.gx.toarray()])
    for k, pair in enumerate(pairs):
        column = n + NODES * (signals.index(pair) + 1) - 1
        drive[:, column] += delays.b[:, [k]].toarray().ravel()
    follow = np.zeros((m, unknowns))
    if m:
        try:
            follow = -splu(sp.csc_matrix(linear.gy)).solve(drive[n:])
        except RuntimeError as error:
            raise SingularError(
                "g_y is singular: the algebraic equations do not determine the algebraic variables here"
            ) from error
    matrix = np.zeros((unknowns, unknowns))
    matrix[:n] = drive[:n] + linear.fy @ follow
    w = np.vstack([np.eye(n, unknowns), follow])
    for j, (source, tau) in enumerate(signals):
        rows = slice(n + NODES * j, n + NODES * (j + 1))
        matrix[rows, rows] += 2.0 / tau * derivative[1:, 1:]
        matrix[rows] += 2.0 / tau * derivative[1:, [0]] * w[[source]]
    s, vectors = scipy.linalg.eig(matrix)
    order = np.lexsort((s.imag, -s.real))
    return [(complex(s[k]), w @ vectors[:, k]) for k in order]


def _factorised(
    mass: sp.csc_array, jacobian: sp.csc_array, delays: Delays, s: complex
) -> tuple[complex, sp.csc_matrix, SuperLU]:
    """Return M(s) and its factors, where it is singular to the last digit beside s: the s that it is of."""
    for beside in BESIDE:
        near = s + beside * (abs(s) + 1.0)
        matrix = sp.csc_matrix(near * mass - jacobian - delays.at(near))
        try:
            return near, matrix, splu(matrix)
        except RuntimeError:
            continue
    raise SingularError(
        f"M(s) is singular wherever s is near {s:.6g} 1/s: the algebraic equations do not determine y here"
    )


def _newton(
    mass: sp.csc_array, jacobian: sp.csc_array, delays: Delays, s: complex, v: Complex
) -> tuple[complex, Complex, Complex, float] | None:
    """Return the root near a guess, its right and left vectors and its error; None where there is none.

    Newton's method on M(s) v = 0 with the component of v along its start held.
    """
    size = mass.shape[0]
    if not np.isfinite(s) or not np.any(v):
        return None  # of a signal that nothing drives
    v = v / np.linalg.norm(v)
    along = v.conj()
    begin, reach = s, CLOSE * (abs(s) + 1.0 / float(delays.tau.max()))
    with np.errstate(all="ignore"):
        for _ in range(ITERATIONS):
            if abs(s - begin) > reach or -s.real * float(delays.tau.max()) > LARGEST_EXPONENT:
                return None
            s, matrix, lu = _factorised(mass, jacobian, delays, s)
            slope = mass - delays.at(s, 1)
            new = lu.solve(slope @ v)
            step = (along @ v) / (along @ new)
            v = new / np.linalg.norm(new)
            s = complex(s - step)
            if not np.isfinite(s):
                return None
            if abs(step) <= CONVERGED * max(1.0, abs(s)):
                break
    left = np.random.default_rng(0).standard_normal(size).astype(complex)
    for _ in range(3):
        left = lu.solve(slope.conj().T @ left, trans="H")
        left /= np.linalg.norm(left)
    terms = sp.csr_matrix(abs(s) * mass + abs(jacobian) + abs(delays.at(s)))
    left_over = matrix @ v
    scale = np.maximum(terms @ np.abs(v), np.finfo(float).tiny)
    if not np.linalg.norm(left_over) <= RESIDUAL * np.linalg.norm(scale):
        return None
    speed = abs(left.conj() @ (slope @ v))
    error = np.finfo(float).eps * float(np.abs(left) @ scale) / max(speed, np.finfo(float).tiny)
    s = complex(s.real, 0.0) if abs(s.imag) <= SAME * max(1.0, abs(s)) else s
    return s, v, left, max(error, abs(step))
