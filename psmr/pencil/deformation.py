"""How much a scheme bends the modes of a system: the deformation report."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from psmr.dae.linear import LinearDae
from psmr.errors import InputError, SchemeError
from psmr.pencil.choice import ModeChoice
from psmr.pencil.columns import deformation_columns
from psmr.pencil.equations import Scheme
from psmr.pencil.matching import ZERO_MODE, Match, match
from psmr.pencil.operator import correction_rate, step_operator
from psmr.pencil.published import WARNING, published_multipliers
from psmr.pencil.singular import operator_step, remarks
from psmr.pencil.spectrum import Modes, Multipliers, modes_of, multipliers_of
from psmr.pencil.verdict import judge, stable_and_radius

Pencil = Literal["exact", "published"]
PENCILS = ("exact", "published")

# The step operator is dense, with all its eigenvalues: ten seconds and 0.3 GB at this order.
LARGEST = 2000
DEFAULT_COUNT = 20


@dataclass(frozen=True, eq=False)
class Deformation:
    """What one scheme does to the modes of one linearised system.

    Attributes
    ----------
    scheme
        The scheme that is judged.
    pencil
        ``"exact"`` or ``"published"``.
    step
        Time in s over which a multiplier acts: the (macro) step; the fast step for the published pencil.
    table
        A row per mode by descending real part; of a conjugate pair the one with positive imaginary part, and
        a row for every zero mode. Columns: ``real`` (1/s), ``imag`` (rad/s), ``frequency_hz``,
        ``damping_ratio`` of the system; ``real_numerical``, ``imag_numerical``, ``frequency_hz_numerical``,
        ``damping_ratio_numerical`` of the mode as the scheme shows it; ``relative_deformation`` = |s_hat - s|
        / |s|, ``real_deformation`` = Re(s_hat - s) / |s|
        (above 0: less damped than the system) and ``imag_deformation`` = Im(s_hat - s) / |s|, all fractions;
        ``damping_error``, the damping ratio of s_hat less that of s (0.01: one percentage point), and
        ``frequency_error``, the relative change of the frequency (NaN for a real mode);
        ``status``: ``"represented"``, ``"zero mode"`` (|s| is 0 within rounding, so that a relative figure
        has no meaning and is NaN), or ``"not represented: <why>, |z| = ..."`` (no s_hat). With chosen modes
        also ``residual`` = |T v - z v| / |v| of each pair of the scheme, and ``mode_residual`` of that of the
        system, relative to the terms of J w = s E w.
    multipliers
        (rows,) complex, the z of each row of the table; NaN where none is left.
    dominant
        The row of the least-damped oscillatory mode, None for a system without oscillation.
    stable
        Whether no multiplier lies outside the unit circle beyond its rounding error (and corrections that are
        to be converged do converge).
    spectral_radius
        Largest |z|; one that differs from 1 by no more than its rounding error counts as 1.
    spurious
        A row per multiplier that belongs to no mode: ``real_z``, ``imag_z``, ``magnitude``,
        ``real_numerical``, ``imag_numerical`` (principal logarithm), ``dominant_variable``.
    verdict
        One sentence.
    warnings
        What the reader must know besides.
    """

    scheme: Scheme
    pencil: Pencil
    step: float
    table: pd.DataFrame = field(repr=False)
    multipliers: np.ndarray = field(repr=False)
    dominant: pd.Series | None = field(repr=False)
    stable: bool
    spectral_radius: float
    spurious: pd.DataFrame = field(repr=False)
    verdict: str
    warnings: tuple[str, ...] = ()

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as CSV in full precision.

        Raises
        ------
        InputError
            When the file cannot be written.
        """
        write_text(path, self.table.to_csv(index=False))

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained HTML page: verdict, both figures, both tables.

        Raises
        ------
        InputError
            When the file cannot be written.
        """
        from psmr.pencil.page import page

        write_text(path, page(self))

    def __str__(self) -> str:
        from psmr.pencil.terminal import terminal_report

        return terminal_report(self)


def deformation(
    linear: LinearDae,
    scheme: Scheme,
    pencil: Pencil = "exact",
    modes: ModeChoice | Mapping[str, Any] | int | Iterable[complex] | None = None,
) -> Deformation:
    """Compare the modes of a linearised system with what a scheme makes of them.

    Every mode, from dense matrices; with `modes` only the chosen ones, from sparse matrices, at any size. A
    system of more than 2,000 variables takes the sparse path in any case, and the report says so.

    Parameters
    ----------
    linear
        The system, linearised at its equilibrium.
    scheme
        Any scheme but an adaptive one, which has no step operator.
    pencil
        ``"exact"``: the step the simulator takes. ``"published"``: appendix B of Huang and Tzounas, to
        reproduce their figures; it describes one fast step, and the report says so.
    modes
        A `psmr.ModeChoice`, its fields as a dictionary, a number (so many least damped) or a sequence of
        values in 1/s (the mode nearest to each). Not with the published pencil.

    Returns
    -------
    Deformation

    Raises
    ------
    SchemeError
        For a partition of another system, an unknown pencil, or a scheme the published pencil does not cover.
    SingularError
        When an equation of the step has no unique solution.
    InputError
        For a chosen mode that does not exist, or a band without modes.
    """
    if pencil not in PENCILS:
        raise SchemeError(f"pencil = {pencil!r}: must be one of {', '.join(map(repr, PENCILS))}")
    size = linear.n + linear.m
    if modes is not None or size > LARGEST:
        if pencil == "published":
            raise SchemeError(
                f"pencil = 'published': only for all modes of a system of at most {LARGEST} variables (this "
                f"one has "
                f"{size}); leave it out for the exact pencil"
            )
        from psmr.pencil.at_size import deformation_at_size

        return deformation_at_size(linear, scheme, *_chosen(modes, size))
    known, numerical, step, rate = _spectra(linear, scheme, pencil)
    matched = match(known, numerical, step)
    stable, radius = stable_and_radius(known, numerical, matched, step)
    verdict, warnings = judge(known, numerical, matched, step, rate, linear.names_x + linear.names_y)
    table, multipliers = _table(known, numerical, matched)
    return Deformation(
        scheme=scheme,
        pencil=pencil,
        step=step,
        table=table,
        multipliers=multipliers,
        dominant=dominant_row(table),
        stable=stable and rate < 1.0,
        spectral_radius=radius,
        spurious=_spurious(numerical, matched, step, linear.names_x + linear.names_y),
        verdict=verdict,
        warnings=((WARNING,) if pencil == "published" else ()) + warnings + remarks(scheme),
    )


def _chosen(wanted: Any, size: int) -> tuple[ModeChoice, tuple[str, ...]]:
    if wanted is not None:
        return ModeChoice.of(wanted), ()
    return ModeChoice(least_damped=DEFAULT_COUNT), (
        f"{size} variables are more than the {LARGEST} for which every mode is computed: the sparse path was "
        f"taken, "
        f"and only the {DEFAULT_COUNT} least damped modes are here; choose others with modes=.",
    )


def spectral_radius(linear: LinearDae, scheme: Scheme) -> float:
    """Return the largest |z| of the step operator, as `Deformation.spectral_radius`; above 1 is unstable.

    Raises
    ------
    SchemeError
        For a partition of another system.
    SingularError
        When an equation of the step has no unique solution.
    """
    modes, numerical, step, _ = _spectra(linear, scheme, "exact")
    return stable_and_radius(modes, numerical, match(modes, numerical, step), step)[1]


def _spectra(linear: LinearDae, scheme: Scheme, pencil: Pencil) -> tuple[Modes, Multipliers, float, float]:
    """Modes, multipliers, the time between them in s, and the correction rate where it decides (else 0)."""
    modes = modes_of(linear)
    if pencil == "published":
        return modes, published_multipliers(linear, scheme), scheme.h_fast, 0.0  # type: ignore[union-attr]
    iterated = getattr(scheme, "corrections", 0) == "converge"
    numerical = multipliers_of(step_operator(linear, scheme), linear.n + linear.m)
    return modes, numerical, operator_step(scheme), correction_rate(linear, scheme) if iterated else 0.0


def _table(modes: Modes, numerical: Multipliers, matched: Match) -> tuple[pd.DataFrame, np.ndarray]:
    zero = np.array([status == ZERO_MODE for status in matched.status])
    rows = np.flatnonzero((modes.s.imag >= 0.0) | zero)
    s = np.where(zero, 0.0, modes.s)[rows]
    s_hat = matched.s_numerical[rows]
    table = deformation_columns(s, s_hat, [matched.status[k] for k in rows])
    partner = matched.partner[rows]
    z = np.full(len(rows), np.nan + 0j)
    z[partner >= 0] = numerical.z[partner[partner >= 0]]
    return table, z


def dominant_row(table: pd.DataFrame) -> pd.Series | None:
    """Return the row of the least damped oscillatory mode, None where nothing oscillates."""
    oscillating = np.flatnonzero(table["imag"] > 0.0)
    if not len(oscillating):
        return None
    least = oscillating[np.argmin(table["damping_ratio"].to_numpy()[oscillating])]
    return table.iloc[int(least)]


def _spurious(numerical: Multipliers, matched: Match, step: float, names: tuple[str, ...]) -> pd.DataFrame:
    z = numerical.z[matched.spurious]
    s_hat = np.log(z) / step
    largest = np.abs(numerical.vectors[:, matched.spurious]).argmax(axis=0) if len(z) else []
    return pd.DataFrame(
        {
            "real_z": z.real,
            "imag_z": z.imag,
            "magnitude": np.abs(z),
            "real_numerical": s_hat.real,
            "imag_numerical": s_hat.imag,
            "dominant_variable": [names[k] for k in largest],
        }
    )


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole file or nothing: to a neighbour first, then renamed.

    Raises
    ------
    InputError
        When the file cannot be written.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror}; choose another folder") from error
