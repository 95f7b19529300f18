"""Which states take part in chosen modes of a system of any size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError
from psmr.dae.system.linear import LinearDae
from psmr.pencil.modes.choice import ModeChoice
from psmr.pencil.modes.search import find
from psmr.pencil.modes.shift_invert import ShiftInvert

if TYPE_CHECKING:
    import pandas as pd


def participation(
    linear: LinearDae,
    modes: ModeChoice | Mapping[str, Any] | int | Iterable[complex],
    least: float = 0.01,
) -> pd.DataFrame:
    """Return the participation factors of chosen modes, without the state matrix.

    Parameters
    ----------
    linear
        The linearised system.
    modes
        A `psmr.ModeChoice`, its fields as a dictionary, a number (so many least damped) or a sequence of
        values in 1/s (the mode nearest to each).
    least
        Smallest share that is listed.

    Returns
    -------
    DataFrame
        A row per mode and state, modes by descending real part, states by descending share: ``mode``
        (number), ``real`` (1/s), ``imag`` (rad/s), ``frequency_hz``, ``damping_ratio``, ``state``,
        ``participation`` (|l_k r_k| over its sum over all states); ``residual`` and ``left_residual`` of the
        two eigenvectors, relative to the terms of J w = s E w; ``condition``, the factor by which a change of
        the state matrix moves the mode.

    Raises
    ------
    InputError
        For a mode that does not exist, or a band without modes.
    SingularError
        For a singular gy.

    Notes
    -----
    Perez-Arriaga, Verghese and Schweppe, IEEE Trans. Power App. Syst. 101, 1982. Right and left eigenvectors
    come from inverse iteration with one sparse factorisation of J - s E beside the mode.
    """
    check_arguments(participation, locals())
    import pandas as pd

    if not 0 <= least <= 1:
        raise InputError(f"least = {least!r}: must be a share between 0 and 1")
    pencil, n = ShiftInvert(linear), linear.n
    found = find(pencil, ModeChoice.of(modes))
    pairs = []
    for value, vector in zip(found.s, found.vectors.T, strict=True):
        s, right, lu, _ = pencil.polished(value, vector)
        left = pencil.left(lu)
        pairs.append((s, right, left))
    rows: list[dict[str, Any]] = []
    for number, (s, right, left) in enumerate(sorted(pairs, key=lambda pair: (-pair[0].real, -pair[0].imag))):
        products = left[:n].conj() * right[:n]
        share = np.abs(products) / np.abs(products).sum()
        lengths = np.linalg.norm(left[:n]) * np.linalg.norm(right[:n])
        beside = {
            "residual": pencil.residual(s, right),
            "left_residual": pencil.left_residual(s, left),
            "condition": float(lengths / abs(products.sum())),
        }
        mode = {
            "mode": number,
            "real": s.real,
            "imag": s.imag,
            "frequency_hz": abs(s.imag) / (2 * np.pi),
            "damping_ratio": -s.real / abs(s) if s != 0 else np.nan,
        }
        order = np.argsort(-share, kind="stable")
        listed = [int(k) for k in order if share[k] >= least] or [int(order[0])]
        rows += [
            {**mode, "state": linear.names_x[k], "participation": float(share[k]), **beside} for k in listed
        ]
    return pd.DataFrame(rows)
