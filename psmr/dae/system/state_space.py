"""A linearised system between named inputs and outputs: its matrices, and what follows from them.

    E w' = J w + B u,    y = C w + D u + D_rate u'

with w = (x, y) of the linearised DAE, E = diag(I_n, 0) and sparse matrices; the algebraic variables
eliminated, x' = A x + B u, y = C x + D u + D_rate u'. `D_rate` is zero except where an output is the
frequency at a bus whose angle jumps with the input. What is read with a delay adds b e^{-s tau} c to J, and
what outputs have of it to C: exact in the frequency response, states of a Pade form in the matrices.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.errors import InputError, SingularError, nearest
from psmr.base.files import atomic, require_suffix
from psmr.base.modules import optional
from psmr.dae.system.eigenvalues import Eigen, eigen
from psmr.dae.system.frequency_response import FrequencyResponse, checked_frequencies, gains
from psmr.dae.system.linear import Delays, LinearDae, pade, read_only

if TYPE_CHECKING:
    import pandas as pd

Reals = NDArray[np.float64]

# A residue below this share of the largest one is one of rounding.
ROUNDING = 1e-13


class Descriptor(NamedTuple):
    """The sparse matrices of E w' = A w + B u, y = C w + D u + D_rate u', beside what is read with a delay.

    That adds b e^{-s tau} c of `delays` to A, and C_late e^{-s tau} c to C.
    """

    E: sparse.csc_array
    A: sparse.csc_array
    B: sparse.csc_array
    C: sparse.csr_array
    D: sparse.csr_array
    D_rate: sparse.csr_array
    delays: Delays | None
    C_late: sparse.csr_array


@dataclass(frozen=True, eq=False, repr=False)
class StateSpace:
    """The system as matrices between named inputs and outputs; made by `psmr.System.state_space`.

    Attributes
    ----------
    linear
        The linearised DAE.
    b
        (n + m, q) columns of the inputs in its equations, sparse.
    c
        (p, n + m) rows of the outputs over its variables, sparse.
    d, d_rate
        (p, q) what an input, and its rate of change in 1/s, add to an output at once.
    inputs, outputs
        Names.
    input_units, output_units
        Units.
    name
        Name of the case.
    c_late
        (p, delays) what outputs have of the signals that are read with a delay, sparse; by default nothing.
    """

    linear: LinearDae
    b: sparse.csc_array
    c: sparse.csr_array
    d: Reals
    d_rate: Reals
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    input_units: tuple[str, ...]
    output_units: tuple[str, ...]
    name: str = ""
    c_late: sparse.csr_array = field(default_factory=lambda: sparse.csr_array((0, 0)))

    def __post_init__(self) -> None:
        if self.c_late.shape == (0, 0):
            late = 0 if self.linear.delays is None else len(self.linear.delays.tau)
            object.__setattr__(self, "c_late", sparse.csr_array((len(self.outputs), late)))
        for name in ("d", "d_rate"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __repr__(self) -> str:
        return (
            f"StateSpace({self.name!r}, {len(self.states)} states, {len(self.inputs)} inputs, "
            f"{len(self.outputs)} outputs)"
        )

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the n states."""
        return self.linear.names_x

    @property
    def descriptor(self) -> Descriptor:
        """E, A, B, C, D and D_rate with the algebraic variables kept; sparse, of order n + m."""
        n, m = self.linear.n, self.linear.m
        mass = sparse.diags_array(np.repeat([1.0, 0.0], [n, m]), format="csc")
        matrix = sparse.csc_array(self.linear.jacobian_at_once())
        direct = (sparse.csr_array(self.d), sparse.csr_array(self.d_rate))
        return Descriptor(mass, matrix, self.b, self.c, *direct, self.linear.delays, self.c_late)

    def with_pade(self, order: int) -> StateSpace:
        """Return the system with states for each delay, of its Pade approximant of an order.

        Its A, B, C, D, residues and exports then are those of the approximant.

        Raises
        ------
        InputError
            For an order that is no whole number from 1 to 10.
        """
        form, delays, n = pade(order), self.linear.delays, self.linear.n
        if delays is None:
            return self
        count = order * len(delays.tau)
        c = sparse.csr_array(self.c + form.D * (self.c_late @ delays.c))
        late = self.c_late @ sparse.kron(sparse.eye_array(len(delays.tau)), form.C[None, :])
        none = sparse.csc_array((count, self.b.shape[1]))
        return replace(
            self,
            linear=self.linear.with_pade(order),
            b=sparse.csc_array(sparse.vstack([self.b[:n], none, self.b[n:]])),
            c=sparse.csr_array(sparse.hstack([c[:, :n], late, c[:, n:]])),
            c_late=self.c_late[:, :0],
        )

    @functools.cached_property
    def A(self) -> Reals:
        """(n, n) state matrix in 1/s, dense."""
        return np.asarray(read_only(self.linear.state_matrix()))

    @functools.cached_property
    def B(self) -> Reals:
        """(n, q) input matrix, dense."""
        n, b = self.linear.n, self.b.toarray()
        return np.asarray(read_only(b[:n] - self.linear.fy @ self._answer(b[n:])))

    @functools.cached_property
    def C(self) -> Reals:
        """(p, n) output matrix, dense."""
        n, c = self.linear.n, self.c.toarray()
        return np.asarray(read_only(c[:, :n] - (self.linear.gx.T @ self._answer(c[:, n:].T, "T")).T))

    @functools.cached_property
    def D(self) -> Reals:
        """(p, q) feedthrough, dense."""
        n = self.linear.n
        through = self.c[:, n:] @ self._answer(self.b[n:].toarray())
        return np.asarray(read_only(self.d - through))

    @functools.cached_property
    def _algebraic(self) -> Any:
        try:
            return splu(sparse.csc_matrix(self.linear.gy))
        except RuntimeError as error:
            raise SingularError("g_y is singular: the algebraic equations do not determine y here") from error

    def _answer(self, columns: Reals, trans: str = "N") -> Reals:
        """Return g_y^-1 times columns, (m, k), or the transpose's."""
        if not self.linear.m or not columns.shape[1]:
            return np.zeros_like(columns)
        return np.asarray(self._algebraic.solve(np.ascontiguousarray(columns), trans))

    def response(self, f: ArrayLike | None = None) -> FrequencyResponse:
        """Return the frequency response at (K,) frequencies in Hz; by default 0.01 to 100 Hz.

        A sparse factorisation of j w E - A for each of them. Delays are exact: e^{-j w tau}.

        Raises
        ------
        InputError
            For frequencies that are none, and where one is a pole of the system.
        """
        hertz = checked_frequencies(f)
        values = gains(self.descriptor, 2j * np.pi * hertz)
        names = (self.inputs, self.outputs, self.input_units, self.output_units)
        return FrequencyResponse(hertz, values, *names, name=self.name)

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """(n,) eigenvalues of A in 1/s; those that are zero by structure are exactly 0."""
        return self._eigen.values

    @functools.cached_property
    def _eigen(self) -> Eigen:
        return eigen(self.A)

    @functools.cached_property
    def _left(self) -> NDArray[np.complex128]:
        """(n, n) rows W with W V = 1."""
        found = self._eigen
        rows = found.left.conj().T
        return np.asarray(rows / np.einsum("ij,ji->i", rows, found.right)[:, None])

    def residues(self, output: str, input: str) -> pd.DataFrame:
        """Return the partial fractions of the transfer function from an input to an output.

        H(s) = D + sum residue / (s - s_i)^order.

        Returns
        -------
        DataFrame
            A row per pole, of a conjugate pair the one with positive imaginary part, largest residue first:
            ``real`` (1/s), ``imag`` (rad/s), ``frequency_hz``, ``damping_ratio``, ``order`` (2 for the second
            row of a double pole at zero), ``residue`` (complex, unit of the output per unit of the input and
            s), ``size`` (its magnitude) and ``angle_deg``.
        """
        import pandas as pd

        row, column = self._pair(output, input)
        found = self._eigen
        seen, driven = self.C[row] @ found.right, self._left @ self.B[:, column]
        at_zero = found.values == 0
        terms = [
            (s, 1, r) for s, r in zip(found.values, seen * driven, strict=True) if s != 0 and s.imag >= 0
        ]
        if at_zero.any():
            terms.append((0j, 1, complex((seen * driven)[at_zero].sum())))
            chain = self._left[at_zero] @ self.A @ found.right[:, at_zero]
            terms.append((0j, 2, complex(seen[at_zero] @ chain @ driven[at_zero])))
        largest = max((abs(r) for _, _, r in terms), default=0.0)
        rows = [
            {
                "real": s.real,
                "imag": s.imag,
                "frequency_hz": s.imag / (2 * np.pi),
                "damping_ratio": -s.real / abs(s) if s != 0 else np.nan,
                "order": order,
                "residue": r,
                "size": abs(r),
                "angle_deg": float(np.degrees(np.angle(r))),
            }
            for s, order, r in sorted(terms, key=lambda term: -abs(term[2]))
            if s != 0 or abs(r) > ROUNDING * largest
        ]
        return pd.DataFrame(rows)

    def mode_shapes(self) -> pd.DataFrame:
        """Return what part every output has in every mode: C v, complex, the largest of a mode equal to 1.

        Returns
        -------
        DataFrame
            A row per mode, least damped first, of a conjugate pair the one with positive imaginary part;
            ``real``, ``imag``, ``frequency_hz``, ``damping_ratio`` and a column for each output.
        """
        shapes = self.C @ self._eigen.right
        largest = shapes[np.abs(shapes).argmax(axis=0), np.arange(shapes.shape[1])]
        return self._by_mode(shapes / np.where(largest != 0, largest, 1.0))

    def participation(self) -> pd.DataFrame:
        """Return the participation of every mode in every output: C (W^T o V), rows of length 1.

        Source: Tzounas, Dassios and Milano, Modal participation factors of algebraic variables, IEEE Trans.
        Power Syst. 35, 2020, for any output. The table is that of `mode_shapes`.
        """
        factors = self.C @ (self._left.T * self._eigen.right)
        lengths = np.linalg.norm(factors, axis=1)
        return self._by_mode(np.abs(factors) / np.where(lengths > 0, lengths, 1.0)[:, None])

    def _by_mode(self, values: NDArray[Any]) -> pd.DataFrame:
        import pandas as pd

        s = self._eigen.values
        listed = [k for k in np.lexsort((s.imag, -s.real)) if s[k].imag >= 0]
        head: dict[str, Any] = {
            "real": s[listed].real,
            "imag": s[listed].imag,
            "frequency_hz": s[listed].imag / (2 * np.pi),
            "damping_ratio": [-v.real / abs(v) if v != 0 else np.nan for v in s[listed]],
        }
        return pd.DataFrame(head | {name: values[k, listed] for k, name in enumerate(self.outputs)})

    def _pair(self, output: str, input: str) -> tuple[int, int]:
        for what, name, known in (("output", output, self.outputs), ("input", input, self.inputs)):
            if name not in known:
                raise InputError(f"there is no {what} {name!r}{nearest(str(name), known)}")
        return self.outputs.index(output), self.inputs.index(input)

    def select(
        self, inputs: str | Iterable[str] | None = None, outputs: str | Iterable[str] | None = None
    ) -> StateSpace:
        """Return the same system between some of its inputs and outputs, by name."""
        wanted = [
            known if given is None else ((given,) if isinstance(given, str) else tuple(given))
            for given, known in ((inputs, self.inputs), (outputs, self.outputs))
        ]
        columns = [self._pair(self.outputs[0], name)[1] for name in wanted[0]]
        rows = [self._pair(name, self.inputs[0])[0] for name in wanted[1]]
        return replace(
            self,
            b=self.b[:, columns],
            c=self.c[rows],
            c_late=self.c_late[rows],
            d=self.d[np.ix_(rows, columns)],
            d_rate=self.d_rate[np.ix_(rows, columns)],
            inputs=tuple(wanted[0]),
            outputs=tuple(wanted[1]),
            input_units=tuple(self.input_units[k] for k in columns),
            output_units=tuple(self.output_units[k] for k in rows),
        )

    def to_scipy(self) -> Any:
        """Return a `scipy.signal.StateSpace`, which has no names.

        Raises
        ------
        InputError
            Where an output follows the rate of an input, which A, B, C and D cannot say, and where signals
            are read with a delay: `with_pade` has states for them.
        """
        from scipy.signal import StateSpace as Matrices

        return Matrices(*self._proper())

    def to_control(self) -> Any:
        """Return a `control.StateSpace` of the package python-control, with names.

        Raises
        ------
        InputError
            As `to_scipy`.
        PsmrError
            Where the package is not installed.
        """
        control = optional(
            "control", "StateSpace.to_control", "control", "take to_scipy() or save(), which need no package"
        )
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        return control.ss(*self._proper(), **{key: _plain(value) for key, value in names.items()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a MATLAB file (.mat): A, B, C, D, names and units, and the sparse E, J, Bw, Cw.

        Raises
        ------
        InputError
            As `to_scipy`, and for another suffix.
        """
        from scipy.io import savemat

        require_suffix(path, (".mat",))
        a, b, c, d = self._proper()
        sparse_form = self.descriptor
        names = {
            "states": self.states,
            "variables": (*self.states, *self.linear.names_y),
            "inputs": self.inputs,
            "outputs": self.outputs,
            "input_units": self.input_units,
            "output_units": self.output_units,
        }
        contents = {"A": a, "B": b, "C": c, "D": d, "E": sparse_form.E, "J": sparse_form.A}
        contents |= {"Bw": sparse_form.B, "Cw": sparse_form.C, "Dw": self.d, "name": self.name}
        contents |= {key: np.array(value, dtype=object) for key, value in names.items()}
        with atomic(path) as temporary, open(temporary, "wb") as file:
            savemat(file, contents)

    def _proper(self) -> tuple[Reals, Reals, Reals, Reals]:
        wrong = np.argwhere(self.d_rate != 0)
        if wrong.size:
            output, input = self.outputs[wrong[0, 0]], self.inputs[wrong[0, 1]]
            raise InputError(
                f"{output} follows the rate of change of {input}, as the angle there jumps with it: no A, B, "
                "C and D say that; leave one of the two out, or take response(f), which has it"
            )
        return self.A, self.B, self.C, self.D


def _plain(names: tuple[str, ...]) -> list[str]:
    """Return names as python-control takes them, without points."""
    return [name.replace(".", "_") for name in names]
