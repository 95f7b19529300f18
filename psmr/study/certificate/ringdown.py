"""Modes fitted to what a run shows after small kicks: for code whose samples no derivative describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from scipy.interpolate import CubicSpline

from psmr.base.arguments import check_arguments
from psmr.base.declared import Positive
from psmr.base.errors import InputError
from psmr.dae.system.eigenvalues import modes_of
from psmr.dae.system.system import System
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.modes.shapes import exponentials
from psmr.pencil.modes.verdict import DampingLimit, damping_ratio

if TYPE_CHECKING:
    import pandas as pd

KICK = 1e-3
"""Largest part of a kick, in the unit of its state: small beside limits, large beside rounding."""

POINTS = 400
"""Points of a run to which a mode is fitted."""

MOST = 8
"""Oscillations that are looked for, the least damped ones."""

BAND = 1.5
"""Factor by which sampling may change the frequency of an oscillation that is looked for."""


def ringdown(system: System, scheme: Scheme, seconds: Annotated[float, Positive("s")] = 10.0) -> pd.DataFrame:
    """Kick a system along each of its oscillations, run it, and fit what it shows.

    Parameters
    ----------
    system
        A system at its equilibrium, with samples or without.
    scheme
        Any scheme of runs.
    seconds
        Length of each run in s.

    Returns
    -------
    DataFrame
        A row per oscillation below 10 Hz with a damping ratio below 0.3, the eight least damped ones:
        ``held_real`` and ``held_imag`` (1/s, rad/s), the mode of the system with all that is sampled held,
        along which it is kicked; ``real``, ``imag``, ``frequency_hz`` and ``damping_ratio`` of what the run
        shows; ``state`` that shows it most; ``agreement``, the difference between the fits to the two states
        that show it most, relative to it: above 0.001 it is not observable.

    Raises
    ------
    InputError
        Where nothing oscillates, and for a length that is none.
    SimulationError
        Where a run fails.

    Notes
    -----
    See `psmr.fit_mode`. With a kick of 1e-3 what is not linear adds about 1e-6 of a mode.
    """
    check_arguments(ringdown, locals())
    if not 0.0 < seconds < np.inf:
        raise InputError(f"seconds = {seconds:g}: must be a length of the runs above 0 s")
    import pandas as pd

    modes = modes_of(system.linearise())
    counted = np.flatnonzero(DampingLimit().counts(modes.s, modes.s))
    counted = counted[np.argsort(damping_ratio(modes.s[counted]), kind="stable")][:MOST]
    if not counted.size:
        name = system.name or "the system"
        raise InputError(f"{name}: nothing oscillates below 10 Hz with what is sampled held")
    rows = []
    for k in counted.tolist():
        shown = np.argsort(-modes.participation[:, k], kind="stable")[:2]
        rows.append(
            _fitted(system, scheme, seconds, modes.s[k], modes.vectors[: system.n, k], shown.tolist())
        )
    return pd.DataFrame(rows)


def _fitted(
    system: System, scheme: Scheme, seconds: float, s: complex, shape: np.ndarray, shown: list[int]
) -> dict[str, float | str]:
    """Return the row of a mode."""
    shape = shape / shape[np.abs(shape).argmax()]
    path = integrate(system, scheme, seconds, start=(system.x0 + KICK * shape.real, system.y0))
    last = np.append(np.diff(path.t) > 0.0, True)
    grid = np.linspace(path.t[0], path.t[-1], POINTS)
    moved = CubicSpline(path.t[last], path.x[last])(grid) - system.x0
    moved = moved[grid > 1.0 / abs(s)]  # what is fast has gone
    fits = [_largest(moved[:, k], float(grid[1]), s) for k in shown]
    found = fits[0]
    return {
        "held_real": s.real,
        "held_imag": s.imag,
        "real": found.real,
        "imag": found.imag,
        "frequency_hz": found.imag / (2.0 * np.pi),
        "damping_ratio": -found.real / abs(found),
        "state": system.names_x[shown[0]],
        "agreement": abs(fits[-1] - found) / abs(found),
    }


def _largest(signal: np.ndarray, step: float, near: complex) -> complex:
    """Return the largest oscillation in a signal at about the frequency of a mode; NaN for none."""
    if not signal.any():
        return complex(np.nan, np.nan)
    s = exponentials(signal, step)
    basis = np.exp(np.outer(step * np.arange(len(signal)), s))
    size = np.abs(np.linalg.lstsq(basis, signal.astype(complex), rcond=None)[0])
    size = size * np.sqrt((np.abs(basis) ** 2).mean(axis=0))
    own = (s.imag > near.imag / BAND) & (s.imag < near.imag * BAND)
    return complex(s[np.where(own, size, -1.0).argmax()]) if own.any() else complex(np.nan, np.nan)
