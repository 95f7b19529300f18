"""The linearised DAE  E w' = J w  with J = [[fx, fy], [gx, gy]], and its modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.arguments import check_arguments
from psmr.base.errors import SingularError
from psmr.dae.system.eigenvalues import eigen

if TYPE_CHECKING:
    import pandas as pd


def read_only(array: Any) -> Any:
    """Return a view of an array that cannot be written to."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False, repr=False)
class LinearDae:
    """Four Jacobian blocks and the names of their rows and columns; its arrays are read-only.

    Attributes
    ----------
    fx, fy, gx, gy
        (n, n), (n, m), (m, n), (m, m) CSC matrices.
    names_x, names_y, names_g
        Names of states, algebraic variables and algebraic equations.
    groups
        (n + m,) labels; variables with one label stay on one side of a partition.
    """

    fx: sparse.csc_matrix
    fy: sparse.csc_matrix
    gx: sparse.csc_matrix
    gy: sparse.csc_matrix
    names_x: tuple[str, ...]
    names_y: tuple[str, ...]
    names_g: tuple[str, ...]
    groups: NDArray[np.intp]

    def __post_init__(self) -> None:
        for matrix in (self.fx, self.fy, self.gx, self.gy):
            matrix.sort_indices()
            for name in ("data", "indices", "indptr"):
                setattr(matrix, name, read_only(getattr(matrix, name)))
        object.__setattr__(self, "groups", read_only(self.groups))

    def __repr__(self) -> str:
        return f"LinearDae(n={self.n}, m={self.m})"

    @property
    def n(self) -> int:
        """Number of states."""
        return len(self.names_x)

    @property
    def m(self) -> int:
        """Number of algebraic variables."""
        return len(self.names_y)

    def jacobian(self) -> sparse.csc_matrix:
        """Return J, (n + m, n + m)."""
        return sparse.csc_matrix(sparse.block_array([[self.fx, self.fy], [self.gx, self.gy]], format="csc"))

    def state_matrix(self) -> NDArray[np.float64]:
        """Return A = fx - fy gy^-1 gx, dense (n, n), in 1/s.

        Raises
        ------
        SingularError
            When gy is singular: the DAE is not of index 1 at this point.
        """
        if self.m == 0:
            return np.asarray(self.fx.toarray())
        try:
            eliminated = splu(self.gy).solve(self.gx.toarray())
        except RuntimeError as error:
            raise SingularError(
                "g_y is singular: the algebraic equations do not determine the algebraic variables "
                f"at this point ({self._suspect()}); look for a bus without a path to any source "
                "or a voltage of zero"
            ) from error
        return np.asarray(self.fx.toarray() - self.fy @ eliminated)

    def _suspect(self) -> str:
        """Name the variable that carries most of the near-null vector of gy."""
        _, _, right = scipy.linalg.svd(self.gy.toarray())
        return f"undetermined: {self.names_y[int(np.argmax(np.abs(right[-1])))]}"


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

    Notes
    -----
    Participation factors: Perez-Arriaga, Verghese and Schweppe, 1982.
    """
    import pandas as pd  # slow to import, for tables alone

    return pd.DataFrame(mode_columns(linear))


def mode_columns(linear: LinearDae) -> dict[str, list[Any]]:
    """Return the columns of the table of `modes`."""
    check_arguments(modes, locals())
    found = eigen(linear.state_matrix())
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
