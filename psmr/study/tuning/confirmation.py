"""A candidate held against the nonlinear simulation and the clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.integrate.run.integrate import integrate
from psmr.pencil.deformation.deformation import LARGEST, deformation
from psmr.pencil.deformation.table import deformation_columns
from psmr.pencil.modes.choice import ModeChoice
from psmr.pencil.modes.matching import REPRESENTED
from psmr.pencil.modes.ringdown import fit_mode
from psmr.pencil.modes.search import find
from psmr.pencil.modes.shift_invert import ShiftInvert
from psmr.pencil.modes.spectrum import modes_of
from psmr.pencil.modes.verdict import mode_text
from psmr.study.tuning.cost import measured, moved_along_mode
from psmr.study.tuning.tuning import Candidate

# The ringdown from which a mode is read: of second order in the kick, so that 1e-4 leaves 1e-8.
KICK, CYCLES = 1e-4, 12.0

# Simulated seconds of the timed run.
TIMED = 20.0


@dataclass(frozen=True)
class Confirmation:
    """A candidate held against the nonlinear simulation and the clock.

    Attributes
    ----------
    mode
        Least damped oscillation of the system in the band, 1/s.
    predicted, observed
        What the scheme makes of it by the pencil, and fitted to the ringdown of a nonlinear run.
    deformation_predicted, deformation_observed
        Relative deformation of both.
    cost_predicted, cost_measured
        Seconds of work for a simulated second, by the model and by the clock (processor time).
    """

    mode: complex
    predicted: complex
    observed: complex
    deformation_predicted: float
    deformation_observed: float
    cost_predicted: float
    cost_measured: float

    def __str__(self) -> str:
        return (
            f"Confirmed on mode {mode_text(self.mode)}: deformation {100 * self.deformation_predicted:.4g} % "
            f"predicted, {100 * self.deformation_observed:.4g} % in a nonlinear ringdown; "
            f"cost {1e3 * self.cost_predicted:.3g} ms a simulated second predicted, "
            f"{1e3 * self.cost_measured:.3g} ms by the clock"
        )


def confirm(system: System, candidate: Candidate) -> Confirmation:
    """Hold a candidate against a nonlinear ringdown (its mode) and the clock (its cost)."""
    linear = system.linearise()
    small = linear.n + linear.m <= LARGEST
    # Of a large system the least damped oscillation alone.
    report = deformation(linear, candidate.scheme, modes=None if small else 1)
    rows = report.table[(report.table["status"] == REPRESENTED) & (report.table["imag"] > 0.0)]
    row = rows.iloc[int(np.argmin(rows["damping_ratio"].to_numpy()))]
    s = complex(row["real"], row["imag"])
    predicted = complex(row["real_numerical"], row["imag_numerical"])
    w = moved_along_mode(system, s, KICK)
    n = system.n
    left = _left(linear, s, small)
    t_end = max(8.0, CYCLES * 2.0 * np.pi / s.imag)
    steps = int(t_end / candidate.scheme.step)
    run = integrate(
        system, candidate.scheme, steps * candidate.scheme.step, start=(w[:n], w[n : n + system.m])
    )
    signal = ((run.x - system.x0) @ left).real
    settled = slice(min(3, len(run.t) // 10), None)  # the spline has its history after two steps
    observed = fit_mode(run.t[settled], signal[settled], predicted)
    both = deformation_columns(np.array([s, s]), np.array([predicted, observed]), ("", ""))
    bent = both["relative_deformation"]
    return Confirmation(
        s,
        predicted,
        observed,
        float(bent[0]),
        float(bent[1]),
        candidate.cost,
        measured(system, candidate.scheme, TIMED),
    )


def _left(linear: LinearDae, s: complex, small: bool) -> NDArray[np.complex128]:
    """Return (n,) what each state contributes to the coordinate of a mode: its left eigenvector."""
    linear.require_no_delays("coordinate of a mode")
    if small:
        modes = modes_of(linear)
        return np.asarray(np.linalg.inv(modes.vectors[: linear.n])[np.abs(modes.s - s).argmin()])
    pencil = ShiftInvert(linear)
    found = find(pencil, ModeChoice(near=(s,)))
    _, _, lu, _ = pencil.polished(complex(found.s[0]), found.vectors[:, 0])
    return np.asarray(pencil.left(lu)[: linear.n].conj())
