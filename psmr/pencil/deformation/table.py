"""The columns of the tables of a deformation report; the relative deformation is defined here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

Columns = Mapping[str, np.ndarray]


def deformation_columns(s: np.ndarray, s_hat: np.ndarray, status: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the columns of a table with a row per mode.

    Parameters
    ----------
    s
        (k,) modes of the system in 1/s; exactly 0 for a zero mode, whose relative figures are NaN.
    s_hat
        (k,) modes as the scheme shows them, NaN where it does not.
    status
        (k,) words.

    Returns
    -------
    dict
        As `Deformation.table`.
    """
    size = np.where(s == 0.0, np.nan, np.abs(s))
    with np.errstate(invalid="ignore", divide="ignore"):  # NaN in, NaN out: no s_hat, or |s| = 0
        change = (s_hat - s) / size
        ratio = -s.real / size
        ratio_hat = np.where(np.isnan(size), np.nan, -s_hat.real / np.abs(s_hat))
        oscillates = np.where(s.imag > 0.0, s.imag, np.nan)
        frequency_error = s_hat.imag / oscillates - 1.0
    return {
        "real": s.real,
        "imag": s.imag,
        "frequency_hz": s.imag / (2.0 * np.pi),
        "damping_ratio": ratio,
        "real_numerical": s_hat.real,
        "imag_numerical": s_hat.imag,
        "frequency_hz_numerical": s_hat.imag / (2.0 * np.pi),
        "damping_ratio_numerical": ratio_hat,
        "relative_deformation": np.abs(change),
        "real_deformation": change.real,
        "imag_deformation": change.imag,
        "damping_error": ratio_hat - ratio,
        "frequency_error": frequency_error,
        "status": np.array(status, dtype=object),
    }


def spurious_columns(
    z: np.ndarray, vectors: np.ndarray, step: float, names: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return the columns of a table with a row per multiplier that belongs to no mode.

    Parameters
    ----------
    z, vectors
        (k,) multipliers and (variables, k) their vectors.
    step
        Time in s over which a multiplier acts.
    names
        The variables.

    Returns
    -------
    dict
        As `Deformation.spurious`.
    """
    s_hat = np.log(z.astype(complex)) / step
    largest = np.abs(vectors).argmax(axis=0) if len(z) else []
    return {
        "real_z": z.real,
        "imag_z": z.imag,
        "magnitude": np.abs(z),
        "real_numerical": s_hat.real,
        "imag_numerical": s_hat.imag,
        "dominant_variable": np.array([names[k] for k in largest], dtype=object),
    }


def dominant_position(columns: Columns) -> int | None:
    """Return the position of the least damped oscillatory mode, None where nothing oscillates."""
    oscillating = np.flatnonzero(columns["imag"] > 0.0)
    if not len(oscillating):
        return None
    return int(oscillating[np.argmin(columns["damping_ratio"][oscillating])])
