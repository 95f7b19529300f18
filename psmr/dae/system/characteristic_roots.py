"""The modes of a linear DAE that reads signals with a delay: roots of its characteristic equation.

    M(s) v = 0,   M(s) = s E - J - sum over k of b_k c_k e^{-s tau_k}

has infinitely many. Guesses come from the DAE in which each delayed signal is a wave that passes at unit
speed along [-tau, 0], collocated at Chebyshev points (Breda, Maset and Vermiglio, Pseudospectral differencing
methods for characteristic roots of delay differential equations, SIAM J. Sci. Comput. 27, 2005); each is then
a start of Newton's method on M itself, and is a root that it leads to close by.
"""

from __future__ import annotations

from dataclasses import replace
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

    `s`: (k,) in 1/s.
    `right`, `left`: (n + m, k) vectors of length 1 with M(s) v = 0 and u^H M(s) = 0.
    `error`: (k,) bounds of the rounding error of each s in 1/s.
    """

    s: Complex
    right: Complex
    left: Complex
    error: NDArray[np.float64]


def characteristic_roots(linear: LinearDae) -> Roots:
    """Return the roots of a linear DAE with delays that collocation finds, each to rounding.

    They are those of |s| tau up to some 48, of the longest delay.

    Raises InputError where the system is too large for dense eigenvalues; SingularError when gy is singular:
    the DAE is not of index 1 at this point.
    """
    assert linear.delays is not None
    n, size = linear.n, linear.n + linear.m
    mass = sp.diags_array(np.repeat([1.0, 0.0], [n, linear.m]), format="csc")
    jacobian = sp.csc_array(linear.jacobian_at_once())
    found: list[tuple[complex, Complex, Complex, float]] = []
    for guess, vector in _guesses(linear):
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


def collocated(linear: LinearDae) -> LinearDae:
    """Return the DAE without delays in which each delayed signal is a wave, collocated; sparse, of any size.

    Its states behind those of the DAE are the waves at `NODES` Chebyshev points each.
    """
    assert linear.delays is not None
    n, delays = linear.n, linear.delays
    _, derivative = _chebyshev(NODES)
    sources = sp.csr_matrix(delays.c).indices
    signals = list(dict.fromkeys(zip(sources.tolist(), delays.tau.tolist(), strict=True)))
    speed = sp.diags_array([2.0 / tau for _, tau in signals])
    own = sp.csr_array(
        (np.ones(len(signals)), (range(len(signals)), [source for source, _ in signals])),
        shape=(len(signals), n + linear.m),
    )
    which = [signals.index(pair) for pair in zip(sources.tolist(), delays.tau.tolist(), strict=True)]
    last = NODES * (np.array(which) + 1) - 1  # what is read is the far end of its wave
    read = sp.csr_array(
        (np.ones(len(which)), (range(len(which)), last)), shape=(len(which), NODES * len(signals))
    )
    once, late = sp.csc_matrix(linear.jacobian_at_once()), sp.csc_matrix(delays.b @ read)
    driven = sp.csc_matrix(sp.kron(speed, derivative[1:, [0]]) @ own)
    within = sp.kron(speed, derivative[1:, 1:])
    names = tuple(f"wave{j + 1}.{k + 1}" for j in range(len(signals)) for k in range(NODES))
    labels = linear.groups.max(initial=0) + 1 + np.arange(len(names))
    return replace(
        linear,
        fx=sp.csc_matrix(sp.bmat([[once[:n, :n], late[:n]], [driven[:, :n], within]])),
        fy=sp.csc_matrix(sp.vstack([once[:n, n:], driven[:, n:]])),
        gx=sp.csc_matrix(sp.hstack([once[n:, :n], late[n:]])),
        gy=sp.csc_matrix(once[n:, n:]),
        names_x=(*linear.names_x, *names),
        groups=np.concatenate([linear.groups[:n], labels, linear.groups[n:]]),
        delays=None,
    )


def roots_from(linear: LinearDae, guesses: Complex, vectors: Complex) -> Complex:
    """Return the roots that Newton's method reaches from guesses, each once.

    `linear`: a linear DAE with delays; `guesses`, `vectors`: (k,) values in 1/s and (n + m, k) vectors.
    """
    assert linear.delays is not None
    mass = sp.diags_array(np.repeat([1.0, 0.0], [linear.n, linear.m]), format="csc")
    jacobian = sp.csc_array(linear.jacobian_at_once())
    found: list[complex] = []
    for guess, vector in zip(guesses, vectors.T, strict=True):
        root = _newton(mass, jacobian, linear.delays, complex(guess), vector)
        if root is not None and all(abs(root[0] - s) > SAME * max(1.0, abs(s)) for s in found):
            found.append(root[0])
    return np.array(found, dtype=complex)


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


def _guesses(linear: LinearDae) -> list[tuple[complex, Complex]]:
    """Return eigenvalues of the collocated DAE, and what their vectors have in w."""
    n, waves = linear.n, collocated(linear)
    if waves.n > MOST_UNKNOWNS:
        raise InputError(
            f"{(waves.n - n) // NODES} delayed signals of a system of {n} states: their roots need dense "
            f"eigenvalues of order {waves.n}, above {MOST_UNKNOWNS}; take psmr.mode_shapes for chosen ones, "
            "delay fewer, or take linear.without_delays()"
        )
    s, vectors = scipy.linalg.eig(waves.state_matrix())
    w = vectors[:n]
    if linear.m:
        w = np.vstack([w, -splu(waves.gy).solve(waves.gx.toarray()) @ vectors])
    return [(complex(s[k]), w[:, k]) for k in np.lexsort((s.imag, -s.real))]


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
