"""The certificate of a run's scheme while phases are unequal: over a period, by the product of its steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from psmr.base.errors import InputError, PsmrError
from psmr.integrate.timeline.span import Span
from psmr.network.dynamic.switching import unequal_phases
from psmr.network.topology.network import nominal_frequency
from psmr.pencil.modes.damping import damping_ratio
from psmr.pencil.modes.verdict import Growth, Kind, Verdict
from psmr.pencil.operator.periodic import DENSE
from psmr.study.certificate.certificate import Certificate, mode_text, percent
from psmr.study.record.modes_over_period import PeriodicModes, longest, modes_over_period
from psmr.study.record.recorded import Recorded

GROWS = 1e-3
"""Part by which the largest multiplier of an unstable scheme exceeds 1, and that of the system."""

SLOWEST = 0.1
"""Exponents up to this in 1/s, left out, are common angles and speeds: they change by 0.2 % over a period."""


def certificate_while_unequal(run: Recorded) -> Certificate | None:
    """Return the certificate on the longest stretch of a run with unequal phases in a dynamic region.

    None where there is none of a whole period, and for the stretch with which the run ends: that is of
    `certificate_after`.
    """
    if run.system is None:
        return None
    frequency = nominal_frequency(run.system)
    spans = [span for span in run.spans[:-1] if unequal_phases(run.system, span.parameters)]
    if not spans or frequency is None:
        return None
    span = longest(run, spans)
    first, last = run.t[span.rows][[0, -1]].tolist()
    if last - first < (1.0 - 1e-6) / frequency:
        return None
    return certificate_over_period(run, span, f"the system with unequal phases, t = {first:g} to {last:g} s")


def certificate_over_period(run: Recorded, span: Span, subject: str) -> Certificate:
    """Return the certificate on a stretch of a run with unequal phases, of its last period.

    That the system itself grows there counts where the run ends with the stretch: a fault that is cleared
    is no place at which it stays.
    """
    try:
        assert run.system is not None
        if run.system.n > DENSE:
            raise InputError(
                f"{run.system.n} states are more than the {DENSE} of which every exponent over a period is"
                " computed; psmr.periodic_modes(run) searches for the outermost ones"
            )
        modes = modes_over_period(run, span)
    except PsmrError as error:
        return Certificate(str(run.scheme), _partition(run), note=str(error), subject=subject)
    kept = np.hypot(modes.columns["real"], modes.columns["imag"]) > SLOWEST
    columns = {name: values[kept] for name, values in modes.columns.items()}
    s = columns["real"] + 1j * columns["imag"]
    made = columns["real_numerical"] + 1j * columns["imag_numerical"]
    blamed = modes.spectral_radius > (1.0 + GROWS) * max(1.0, modes.exact_spectral_radius)
    growing = (s.real > SLOWEST) & (span is run.spans[-1])
    k = _dominant(s)
    shown = None if k is None or np.isnan(made[k]) else complex(made[k])
    return Certificate(
        str(run.scheme),
        _partition(run),
        stability=_verdict(modes, s, made, blamed, growing),
        spectral_radius=modes.spectral_radius,
        mode=None if k is None else complex(s[k]),
        mode_numerical=shown,
        deformation=None if k is None or shown is None else float(columns["deformation"][k]),
        least_stable=complex(made[np.nanargmax(made.real)]) if np.isfinite(made).any() else None,
        note=_note(modes, s, made, columns["deformation"]),
        subject=f"{subject}, over the period from {modes.begin:.6g} s",
        columns=columns,
    )


def _partition(run: Recorded) -> str:
    split = run.scheme.split
    return "none, one step size for every variable" if split is None else str(split)


def _dominant(s: np.ndarray) -> int | None:
    """Return the place of the least damped oscillation."""
    swings = np.flatnonzero(s.imag > 1e-9 * np.abs(s))
    return int(swings[np.argmin(damping_ratio(s[swings]))]) if swings.size else None


@dataclass(frozen=True)
class VerdictOverPeriod(Verdict):
    """A verdict over a period; its step in s is the period.

    Attributes
    ----------
    h, steps
        Step in s of the scheme, and how many make the period.
    radius, exact_radius
        Largest multiplier over the period of the scheme, and of the system itself.
    """

    h: float = math.nan
    steps: int = 0
    radius: float = math.nan
    exact_radius: float = math.nan

    def __str__(self) -> str:
        radii = f"{self.radius:.5f}, in the system itself {self.exact_radius:.5f}"
        period = f"a period of {1e3 * self.step:.4g} ms"
        if self.kind is Kind.STABLE:
            return (
                f"Numerically stable at h = {self.h:.6g} s: over {period}, {self.steps} steps, the"
                f" largest multiplier is {radii}."
            )
        as_system = "" if self.blames_scheme else ", as the system is"
        return f"Unstable{as_system}: over {period} the largest multiplier is {radii}."


def _verdict(
    modes: PeriodicModes, s: np.ndarray, made: np.ndarray, blamed: bool, growing: np.ndarray
) -> VerdictOverPeriod:
    largest = Growth(complex(modes.spectral_radius))
    return VerdictOverPeriod(
        modes.period,
        tuple(s[growing].tolist()),
        tuple(s[growing & (made.real <= 0.0)].tolist()),
        shown=Growth(None, complex(s[growing][0])) if growing.any() else None,
        blamed=largest if blamed else None,
        h=modes.scheme.step,
        steps=modes.steps,
        radius=modes.spectral_radius,
        exact_radius=modes.exact_spectral_radius,
    )


def _note(modes: PeriodicModes, s: np.ndarray, made: np.ndarray, deformation: np.ndarray) -> str:
    """Return what is covered, and which exponent below the nominal frequency is deformed most."""
    words = (
        "Phases are unequal, so that the system is periodic: its modes are exponents over a period, of the"
        " product of the steps."
    )
    if not modes.simulated.complete:
        words += f" Looked at are the {len(s)} outermost ones."
    if not np.isclose(modes.scheme.step, modes.asked, rtol=1e-6):
        words += (
            f" The run's step of {modes.asked:.6g} s does not divide the period: judged is the nearest that"
            " does."
        )
    known = np.flatnonzero((np.abs(s) * modes.period < 2 * np.pi) & np.isfinite(deformation))
    if known.size:
        worst = known[np.argmax(deformation[known])]
        words += (
            f" Deformed most of those below the nominal frequency: {mode_text(complex(s[worst]))} becomes"
            f" {mode_text(complex(made[worst]))}, {percent(float(deformation[worst]))}."
        )
    return words
