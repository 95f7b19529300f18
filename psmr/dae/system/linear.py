"""The linearised DAE  E w' = J w  with J = [[fx, fy], [gx, gy]].

Where signals are read with a delay it is  E w'(t) = J w(t) + sum over k of b_k c_k w(t - tau_k). A delay as
states is the Pade approximant of e^{-s tau} of some order in numerator and denominator: Golub and Van Loan,
Matrix Computations (1996), section 11.3, for the coefficients.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import factorial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.errors import InputError, SingularError, shown


@dataclass(frozen=True)
class Delay:
    """An input that is read as it was some time ago.

    `input`: Position in w of the value that is read.
    `source`: Position in w of the state or algebraic variable that it was.
    `tau`: How long ago, in s.
    """

    input: int
    source: int
    tau: float


Reals = NDArray[np.float64]

# Coefficients of higher orders span more than double precision has.
MOST = 10


class Pade(NamedTuple):
    """p' = A p + B u, late = C p + D u: of a delay of 1 s; that of tau has A / tau and B / tau."""

    A: Reals
    B: Reals
    C: Reals
    D: float


def pade(order: object) -> Pade:
    """Return the approximant of an order as matrices of that many states.

    Raises InputError for an order that is no whole number from 1 to `MOST`.
    """
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= MOST:
        raise InputError(f"order = {shown(order)}: must be a whole number from 1 to {MOST}, of the Pade form")
    k = range(order + 1)
    below = np.array(
        [factorial(2 * order - j) / (factorial(j) * factorial(order - j)) for j in k], dtype=float
    )
    # In z = s / scale first and last coefficient of the denominator are equal: all stay moderate.
    scale = (below[0] / below[-1]) ** (1.0 / order)
    below = below * scale ** np.arange(order + 1.0)
    below /= below[-1]
    above = below * (-1.0) ** np.arange(order + 1)
    direct = float(above[-1])
    A = np.eye(order, k=1)
    A[-1] = -below[:-1]
    B = np.zeros(order)
    B[-1] = 1.0
    return Pade(scale * A, scale * B, (above - direct * below)[:-1], direct)


def read_only(array: Any) -> Any:
    """Return a view of an array that cannot be written to."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False, repr=False)
class Delays:
    """The delayed terms of a linearised DAE; its arrays are read-only.

    `b`: (n + m, q) derivatives of f and g with respect to what is read with a delay.
    `c`: (q, n + m) what is read, as a row on w.
    `tau`: (q,) delays in s.
    `names`: Names of the q inputs that read.
    """

    b: sparse.csc_matrix
    c: sparse.csc_matrix
    tau: NDArray[np.float64]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", read_only(self.tau))

    def at(self, s: complex, scale: int = 0) -> sparse.csc_array:
        """Return sum of (-tau)^scale e^{-s tau} b c: the delayed terms for e^{s t}, or a derivative by s."""
        weights = (-self.tau) ** scale * np.exp(-s * self.tau)
        return sparse.csc_array(self.b @ sparse.diags_array(weights) @ self.c)


@dataclass(frozen=True, eq=False)
class LinearSampler:
    """What a device writes at its samples, linearised.

    `device`: Its name.
    `period`, `offset`: It is due at offset + k period, in s.
    `at`: (q,) places among the sampled variables that it writes.
    `map`: (q, n + s + m) what it writes, of states, sampled and algebraic variables just before.
    """

    device: str
    period: float
    offset: float
    at: NDArray[np.intp]
    map: sparse.csr_array


@dataclass(frozen=True, eq=False)
class LinearSamples:
    """The samples of a system, linearised; the four blocks of `LinearDae` have sampled variables held.

    `b`: (n + m, s) derivatives of f and g by the sampled variables.
    `names`: Names of these.
    `samplers`: What is written when; of a device with a computing delay, what comes later follows directly.
    `at_periods`: Returns the same with all periods, offsets and delays times a factor; None where unknown.
    `broken`: Why the samples cannot be linearised; "" where they are.
    `whole`: Sampled variables that external code takes as whole numbers or switches on: they are held.
    """

    b: sparse.csc_array
    names: tuple[str, ...]
    samplers: tuple[LinearSampler, ...]
    at_periods: Callable[[float], LinearSamples] | None = None
    broken: str = ""
    whole: tuple[str, ...] = ()


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
    delays
        What is read with a delay, which the four blocks do not have; None where nothing is.
    held
        Names of what samples write: the four blocks have it held, and so have the modes of these.
    linearised_samples
        Returns `samples`; None where nothing is sampled.
    """

    fx: sparse.csc_matrix
    fy: sparse.csc_matrix
    gx: sparse.csc_matrix
    gy: sparse.csc_matrix
    names_x: tuple[str, ...]
    names_y: tuple[str, ...]
    names_g: tuple[str, ...]
    groups: NDArray[np.intp]
    delays: Delays | None = None
    held: tuple[str, ...] = ()
    linearised_samples: Callable[[], LinearSamples] | None = None

    def __post_init__(self) -> None:
        for matrix in (self.fx, self.fy, self.gx, self.gy):
            matrix.sort_indices()
            for name in ("data", "indices", "indptr"):
                setattr(matrix, name, read_only(getattr(matrix, name)))
        object.__setattr__(self, "groups", read_only(self.groups))

    def __repr__(self) -> str:
        sampled = f", {len(self.held)} sampled variables held" if self.held else ""
        return f"LinearDae(n={self.n}, m={self.m}{sampled})"

    @functools.cached_property
    def samples(self) -> LinearSamples | None:
        """What samples write, linearised when it is asked for; None where nothing is sampled."""
        return None if self.linearised_samples is None else self.linearised_samples()

    @property
    def n(self) -> int:
        """Number of states."""
        return len(self.names_x)

    @property
    def m(self) -> int:
        """Number of algebraic variables."""
        return len(self.names_y)

    def without_delays(self) -> LinearDae:
        """Return the same with every delay taken as 0."""
        if self.delays is None:
            return self
        matrix = sparse.csc_matrix(self.jacobian_at_once() + self.delays.b @ self.delays.c)
        n = self.n
        blocks = matrix[:n, :n], matrix[:n, n:], matrix[n:, :n], matrix[n:, n:]
        fx, fy, gx, gy = map(sparse.csc_matrix, blocks)
        return replace(self, fx=fx, fy=fy, gx=gx, gy=gy, delays=None)

    def with_pade(self, order: int) -> LinearDae:
        """Return a DAE in which states stand for each delay: its Pade approximant of an order.

        The states of ``AVR2.v_re`` are ``AVR2.v_re.pade1`` and so on, behind those of the DAE. At an order k
        modes up to some |s| tau = k are right.

        Raises
        ------
        InputError
            For an order that is no whole number from 1 to 10.
        """
        form = pade(order)
        if self.delays is None:
            return self
        n, delays = self.n, self.delays
        once, rates = self.jacobian_at_once(), sparse.diags_array(1.0 / delays.tau)
        direct = sparse.csc_matrix(once + form.D * (delays.b @ delays.c))
        late = sparse.csc_matrix(delays.b @ sparse.kron(sparse.eye_array(len(delays.tau)), form.C[None, :]))
        driven = sparse.csc_matrix(sparse.kron(rates, form.B[:, None]) @ delays.c)
        names = tuple(f"{name}.pade{k + 1}" for name in delays.names for k in range(order))
        labels = self.groups.max(initial=0) + 1 + np.arange(len(names))
        return replace(
            self,
            fx=sparse.bmat(
                [[direct[:n, :n], late[:n]], [driven[:, :n], sparse.kron(rates, form.A)]], format="csc"
            ),
            fy=sparse.vstack([direct[:n, n:], driven[:, n:]], format="csc"),
            gx=sparse.hstack([direct[n:, :n], late[n:]], format="csc"),
            gy=sparse.csc_matrix(direct[n:, n:]),
            names_x=(*self.names_x, *names),
            groups=np.concatenate([self.groups[:n], labels, self.groups[n:]]),
            delays=None,
        )

    def require_no_delays(self, what: str) -> None:
        """Raise InputError where signals are read with a delay; `what` is what there is not with them."""
        if self.delays is not None:
            count, first = len(self.delays.names), self.delays.names[0]
            raise InputError(
                f"{count} signal{'s are' if count > 1 else ' is'} read with a delay (the first one by "
                f"{first}): with delays there is no {what}; the step operator of a scheme has them, "
                "linear.with_pade(order) has states for each delay, and linear.without_delays() takes it as 0"
            )

    def jacobian(self) -> sparse.csc_matrix:
        """Return J, (n + m, n + m).

        Raises
        ------
        InputError
            Where signals are read with a delay: see `jacobian_at_once` and `without_delays`.
        """
        self.require_no_delays("one Jacobian")
        return self.jacobian_at_once()

    def jacobian_at_once(self) -> sparse.csc_matrix:
        """Return J, (n + m, n + m), without what is read with a delay."""
        return sparse.csc_matrix(sparse.block_array([[self.fx, self.fy], [self.gx, self.gy]], format="csc"))

    def state_matrix(self) -> NDArray[np.float64]:
        """Return A = fx - fy gy^-1 gx, dense (n, n), in 1/s.

        Raises
        ------
        InputError
            Where signals are read with a delay.
        SingularError
            When gy is singular: the DAE is not of index 1 at this point.
        """
        return np.asarray(self.fx.toarray() + self.fy @ self.following())

    def following(self) -> NDArray[np.float64]:
        """Return -gy^-1 gx, dense (m, n): how the algebraic variables follow the states.

        Raises InputError and SingularError as `state_matrix`.
        """
        self.require_no_delays("state matrix")
        if self.m == 0:
            return np.zeros((0, self.n))
        try:
            return np.asarray(-splu(self.gy).solve(self.gx.toarray()))
        except RuntimeError as error:
            raise SingularError(
                "g_y is singular: the algebraic equations do not determine the algebraic variables "
                f"at this point ({self._suspect()}); look for a bus without a path to any source "
                "or a voltage of zero"
            ) from error

    def _suspect(self) -> str:
        """Name the variable that carries most of the near-null vector of gy."""
        _, _, right = scipy.linalg.svd(self.gy.toarray())
        return f"undetermined: {self.names_y[int(np.argmax(np.abs(right[-1])))]}"
