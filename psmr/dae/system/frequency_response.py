"""Frequency responses: the complex gains from inputs to outputs over frequency."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.errors import InputError, nearest, shown
from psmr.base.files import atomic, require_suffix
from psmr.base.modules import draw

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]

USUAL = (0.01, 100.0, 400)
"""First and last frequency in Hz and number of them where none are given, evenly in their logarithm."""

# Of a solution that rounding decides: |x| |A| / |b| beyond it.
SINGULAR = 1e15


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyResponse:
    """Complex gains over frequency.

    Attributes
    ----------
    f
        (K,) frequencies in Hz.
    values
        (K, p, q) gains from q inputs to p outputs, unit of the output per unit of the input.
    inputs, outputs, input_units, output_units
        Names and units.
    name
        Name of the case.
    scheme
        The scheme whose simulation it is; "" for the system itself.
    """

    f: Reals
    values: Complexes
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    input_units: tuple[str, ...]
    output_units: tuple[str, ...]
    name: str = ""
    scheme: str = ""

    def __repr__(self) -> str:
        of = f" as {self.scheme} has it" if self.scheme else ""
        return (
            f"FrequencyResponse({self.name!r}{of}, {len(self.f)} frequencies from {self.f[0]:g} to "
            f"{self.f[-1]:g} Hz, {len(self.inputs)} inputs, {len(self.outputs)} outputs)"
        )

    def __getitem__(self, pair: tuple[str, str]) -> Complexes:
        """Return the (K,) gains of an (output, input) pair of names."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputError(f"{shown(pair)}: give an output and an input, response['bus5.v', 'AVR1.v_ref']")
        for what, name, known in zip(("output", "input"), pair, (self.outputs, self.inputs), strict=True):
            if name not in known:
                raise InputError(f"there is no {what} {name!r}{nearest(str(name), known)}")
        return self.values[:, self.outputs.index(pair[0]), self.inputs.index(pair[1])]

    def frame(self) -> pd.DataFrame:
        """Return a row per frequency, output and input: magnitude and phase in degrees, unwrapped."""
        import pandas as pd

        parts = []
        for k, output in enumerate(self.outputs):
            for j, name in enumerate(self.inputs):
                gain = self.values[:, k, j]
                columns: dict[str, Any] = {"frequency_hz": self.f, "output": output, "input": name}
                columns |= {"magnitude": np.abs(gain), "phase_deg": np.degrees(np.unwrap(np.angle(gain)))}
                parts.append(pd.DataFrame(columns | {"real": gain.real, "imag": gain.imag}))
        return pd.concat(parts, ignore_index=True)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table of `frame`."""
        require_suffix(path, (".csv",))
        with atomic(path) as temporary:
            self.frame().to_csv(temporary, index=False)

    def plot(self, other: FrequencyResponse | None = None) -> Figure:
        """Draw magnitude and phase over frequency; `other` is drawn beside it, dashed."""
        return draw("frequency.bode", self, other)  # type: ignore[no-any-return]


def checked_frequencies(f: ArrayLike | None) -> Reals:
    """Return (K,) frequencies in Hz as an array of floats, the usual ones for None.

    Raises InputError for what is no list of finite numbers >= 0.
    """
    if f is None:
        return np.geomspace(*USUAL)
    try:
        hertz = np.atleast_1d(np.asarray(f, dtype=float))
    except (TypeError, ValueError):
        raise InputError(f"f = {shown(f)}: must be frequencies in Hz") from None
    if hertz.ndim != 1 or not hertz.size:
        raise InputError(f"f has shape {hertz.shape}: must be a list of frequencies in Hz")
    wrong = hertz[~(np.isfinite(hertz) & (hertz >= 0))]
    if wrong.size:
        raise InputError(f"f = {wrong[0]:g} Hz: must be a finite frequency of 0 or above")
    return hertz


def gains(form: Any, s: NDArray[np.complexfloating]) -> Complexes:
    """Return (K, p, q) gains of a descriptor form at (K,) complex frequencies in 1/s; see `Descriptor`.

    Raises InputError where one is a pole.
    """
    columns = form.B.toarray().astype(complex)
    direct, with_rate = form.D.toarray(), form.D_rate.toarray()
    found = np.empty((len(s), form.C.shape[0], form.B.shape[1]), dtype=complex)
    for k, at in enumerate(s):
        A, C = form.A, form.C
        if form.delays is not None:
            A = A + form.delays.at(at)
            C = C + form.C_late @ sparse.diags_array(np.exp(-at * form.delays.tau)) @ form.delays.c
        where = f"f = {at.imag / (2 * np.pi):g} Hz"
        found[k] = C @ solved(sparse.csc_matrix(at * form.E - A), columns, where) + direct + at * with_rate
    return found


def solved(matrix: sparse.csc_matrix, columns: Complexes, where: str) -> Complexes:
    """Return the solution of a sparse complex system, which must not be singular.

    Raises InputError where it is, with the place in words.
    """
    try:
        found = splu(matrix).solve(columns)
    except RuntimeError:
        found = np.full_like(columns, np.inf)
    size = abs(matrix).sum(axis=1).max()
    if columns.size and not np.abs(found).max() * size <= SINGULAR * max(np.abs(columns).max(), 1e-300):
        raise InputError(
            f"{where} is a pole of the system, so that it has no gain there (at 0 Hz all angles of a system "
            "without an infinite bus turn together); take a frequency beside it"
        )
    return np.asarray(found)
