"""The modes of a linearised DAE as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.dae.system.characteristic_roots import characteristic_roots
from psmr.dae.system.eigenvalues import Eigen, eigen
from psmr.dae.system.linear import LinearDae

if TYPE_CHECKING:
    import pandas as pd


def eigen_of(linear: LinearDae) -> Eigen:
    """Return the eigenvalues of a linearised DAE, with delays those roots that are found.

    Their vectors have the states alone. Zeros by structure are those of the system without delays: it is at
    rest in the same points, and what is constant is not delayed.
    """
    if linear.delays is None:
        return eigen(linear.state_matrix())
    roots, n = characteristic_roots(linear), linear.n
    at_once = eigen(linear.without_delays().state_matrix())
    zero = at_once.values == 0
    least = np.sqrt(np.finfo(float).eps) * at_once.norm if zero.any() else -1.0
    own = np.abs(roots.s) > least
    return Eigen(
        np.concatenate([roots.s[own], at_once.values[zero]]),
        np.hstack([roots.left[:n, own], at_once.left[:, zero]]),
        np.hstack([roots.right[:n, own], at_once.right[:, zero]]),
        np.concatenate([roots.error[own], at_once.error[zero]]),
        at_once.norm,
    )


def modes(linear: LinearDae) -> pd.DataFrame:
    """Return the modes of a linearised DAE, least damped first.

    Returns
    -------
    DataFrame
        A row per real eigenvalue or complex pair (the one with positive imaginary part): ``real`` in 1/s,
        ``imag`` in rad/s, ``frequency_hz``, ``damping_ratio`` (a fraction; NaN at 0), ``dominant_state``
        (largest participation factor), ``participation`` (its share), ``pair``, and ``grows``: whether the
        real part is above 0 by more than rounding. Zeros by structure, such as a common angle or speed, are
        exactly 0 (`psmr.dae.system.eigenvalues`).

    Raises
    ------
    InputError
        For a system with delays that is too large for their characteristic equation.
    SingularError
        When gy is singular: the DAE is not of index 1 at this point.

    Notes
    -----
    Where signals are read with a delay these are the roots of the characteristic equation nearest to 0, of
    the infinitely many that there are (`psmr.dae.system.characteristic_roots`).

    Participation factors: Perez-Arriaga, Verghese and Schweppe, 1982.
    """
    import pandas as pd  # slow to import, for tables alone

    return pd.DataFrame(mode_columns(linear))


def mode_columns(linear: LinearDae) -> dict[str, list[Any]]:
    """Return the columns of the table of `modes`."""
    check_arguments(modes, locals())
    found = eigen_of(linear)
    values, factors = found.values, np.abs(found.left.conj() * found.right)
    share = factors / factors.sum(axis=0)
    names = (
        "real", "imag", "frequency_hz", "damping_ratio", "dominant_state", "participation", "pair", "grows"
    )  # fmt: skip
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for i in np.lexsort((values.imag, -values.real)):
        s = values[i]
        if s.imag < 0:
            continue
        state = int(np.argmax(share[:, i]))
        damping = -s.real / abs(s) if s != 0 else np.nan
        owner = (linear.names_x[state], share[state, i])
        grows = bool(s.real > found.error[i])
        row = (s.real, s.imag, s.imag / (2 * np.pi), damping, *owner, bool(s.imag > 0), grows)
        for name, value in zip(names, row, strict=True):
            columns[name].append(value)
    return columns
