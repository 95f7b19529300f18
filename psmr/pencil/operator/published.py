"""The published pencil of the multirate scheme, kept to reproduce the paper's Table 2.

Source: Huang and Tzounas, Matrix pencil-based analysis of multirate simulation schemes, appendix B. The paper
stacks y_t = (w_{t+(r-1)hf}, ..., w_t) against y_{t+hs} = (w_{t+r hf}, ..., w_{t+hf}) and lets the
interpolation to fast point i start at fast point i - 1. The components of the two overlap and nothing ties
them, so the eigenvalues are those of one fast step, not of the macro step: this is no measure of what a run
does. Slips of sign and factor in the printed matrices are corrected (b* for b, the factor i/r, no C_i in
B_i).
"""

from __future__ import annotations

from typing import cast

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from psmr.base.errors import SchemeError, SingularError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.multirate import Multirate
from psmr.integrate.schemes.scheme import Scheme
from psmr.integrate.step.sides import sides_of
from psmr.integrate.tableaux import COEFFICIENTS
from psmr.pencil.modes.spectrum import Multipliers, multipliers_of
from psmr.pencil.operator.loops import implicit_matrix, matrices

WARNING = (
    "The published pencil describes one fast step, not the macro step: its figures do not change with h_slow "
    "and no simulation shows them. Use pencil='exact' to judge a run."
)


def published_pencil(linear: LinearDae, scheme: Scheme) -> tuple[sp.csc_array, sp.csc_array]:
    """Stack the published block rows to ``F y_{t+hs} = G y_t``.

    Returns
    -------
    F, G
        Sparse, of order r (n + m); a mode is ``log(z) / h_fast``.

    Raises
    ------
    SchemeError
        For anything but a `Multirate` scheme with linear interpolation, no corrections, ``predict="all"`` and
        the usual couplings, or with prediction by extrapolation: the paper gives no other.
    """
    z, b, c = _blocks(linear, scheme)
    r = len(z)
    left: list[list[sp.sparray | None]] = [[None] * r for _ in range(r)]
    right: list[list[sp.sparray | None]] = [[None] * r for _ in range(r)]
    for i in range(1, r + 1):  # block column r - i holds fast point i of y_{t+hs} and i - 1 of y_t
        left[r - i][r - i] = z[i - 1]
        right[r - i][r - i] = b[i - 1]
        if i < r:
            left[r - i][0] = -c[i - 1]
    right[0][r - 1] = c[-1] if r > 1 else b[-1] + c[-1]
    return sp.block_array(left, format="csc"), sp.block_array(right, format="csc")


def published_multipliers(linear: LinearDae, scheme: Scheme) -> Multipliers:
    """Return the non-zero eigenvalues of the published pencil.

    The pencil falls apart: the points 2 to r - 1 enter no other row, so that its eigenvalues are those of the
    r - 2 pencils (Z_i, B_i) and of one pencil in the points 1 and r. That is what makes r = 50 affordable.

    Raises SchemeError as `published_pencil`; SingularError when a block row has no unique solution.
    """
    z, b, c = _blocks(linear, scheme)
    r, size = len(z), linear.n + linear.m
    if r == 1:
        return multipliers_of(_solve(z[0], b[0] + c[0]), size)
    left = sp.block_array([[z[0], -c[0]], [None, z[-1]]])
    right = sp.block_array([[b[0], None], [c[-1], b[-1]]])
    outer = multipliers_of(_solve(left, right), 2 * size)
    first, last = outer.vectors[:size], outer.vectors[size:]
    larger = np.linalg.norm(last, axis=0) > np.linalg.norm(first, axis=0)
    shares = np.where(larger, outer.participation[size:], outer.participation[:size])
    parts = [Multipliers(outer.z, np.where(larger, last, first), shares, outer.error)]
    parts += [multipliers_of(_solve(z[i], b[i]), size) for i in range(1, r - 1)]
    z_all = np.concatenate([part.z for part in parts])
    vectors = np.hstack([part.vectors for part in parts])
    order = np.lexsort((-z_all.imag, -np.abs(z_all)))
    return Multipliers(
        z_all[order],
        (vectors / np.linalg.norm(vectors, axis=0))[:, order],
        np.hstack([part.participation for part in parts])[:, order],
        np.concatenate([part.error for part in parts])[order],
    )


def _blocks(linear: LinearDae, scheme: Scheme) -> tuple[list[sp.sparray], list[sp.sparray], list[sp.sparray]]:
    """Z_i, B_i and C_i for i = 1..r, equations (B.12) and (B.13)."""
    scheme = _checked(scheme)
    sides = sides_of(linear, scheme.split)
    parts = mass, rates, _ = matrices(linear)
    n, m, r = linear.n, linear.m, scheme.ratio
    pick_slow = sp.eye_array(n + m, format="csr")[sides.slow]
    a, a_star = (scheme.h_slow * x for x in COEFFICIENTS[scheme.predictor])
    b, b_star = (scheme.h_fast * x for x in COEFFICIENTS[scheme.solution])
    c, c_star = (scheme.h_slow * x for x in COEFFICIENTS[scheme.solution])

    follow = np.zeros((m, n))  # y^P = -gy^-1 gx x^P
    if m:
        follow = _solve(-linear.gy, linear.gx)
    onto_slow = sp.csr_array(np.vstack([np.eye(n), follow]))[sides.slow]
    from_now = (onto_slow @ (mass + a * rates)[:n]).tocsr()  # slow rows of P_t
    from_next = (onto_slow @ (a_star * rates)[:n]).tocsr()  # slow rows of P_s

    fast_left = implicit_matrix(parts, b_star)[sides.fast_rows]
    fast_right = (mass + b * rates).tocsr()[sides.fast_rows]
    no_fast = sp.csr_array((len(sides.fast_rows), n + m))
    no_slow = sp.csr_array((len(sides.slow_rows), n + m))
    z = [sp.vstack([fast_left, pick_slow], format="csr")] * (r - 1)
    right, coupling = [], []
    for i in range(1, r):
        right.append(sp.vstack([fast_right, (1 - i / r) * pick_slow + (i / r) * from_now], format="csr"))
        coupling.append(sp.vstack([no_fast, (i / r) * from_next], format="csr"))
    z.append(sp.vstack([fast_left, implicit_matrix(parts, c_star)[sides.slow_rows]], format="csr"))
    right.append(sp.vstack([fast_right, no_slow], format="csr"))
    coupling.append(sp.vstack([no_fast, (mass + c * rates).tocsr()[sides.slow_rows]], format="csr"))
    return z, right, coupling


def _checked(scheme: Scheme) -> Multirate:
    two_rates = scheme.two_rates
    if two_rates is None:
        raise SchemeError(
            f"the published pencil is of the multirate scheme, not of '{scheme}'; use pencil='exact'"
        )
    if two_rates.predictor not in COEFFICIENTS:
        raise SchemeError(
            "the published pencil needs predictor = 'FEM', 'TM' or 'BEM', not "
            f"{two_rates.predictor!r}: the paper stacks the points of one step, "
            "and an extrapolation reads those before it; use pencil='exact'"
        )
    usual = (("interpolation", "linear"), ("corrections", 0), ("predict", "all"))
    for field, needed in (*usual, ("coupling", "end"), ("interface", "held")):
        if getattr(scheme, field) != needed:
            raise SchemeError(
                f"the published pencil needs {field} = {needed!r}, not {getattr(scheme, field)!r}; "
                "use pencil='exact'"
            )
    return cast("Multirate", scheme)


def _solve(matrix: sp.sparray, right: sp.sparray) -> np.ndarray:
    try:
        return splu(sp.csc_matrix(matrix)).solve(right.toarray())
    except RuntimeError as error:
        raise SingularError(
            f"a block row of the published pencil (order {matrix.shape[0]}) is singular: "
            "the partition is not well posed for these step sizes"
        ) from error
