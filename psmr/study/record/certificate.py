"""The certificate of a run: how much its own numerics bent the system's modes, in a line each."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from psmr.dae.system.system import System
from psmr.errors import PsmrError, PsmrWarning
from psmr.numerics.schemes.scheme import Scheme as Scheme

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae
    from psmr.pencil.report.report import Deformation

# The operator of one step is dense here; its eigenvalues with vectors take about ten seconds at this order.
LARGEST = 2000


@dataclass(frozen=True)
class Certificate:
    """What the pencil says of the scheme on the system, linearised where the run starts.

    Attributes
    ----------
    scheme, partition
        One line each; the partition of a single-rate scheme says that there is none.
    verdict
        The pencil's verdict, one sentence.
    stable
        Whether no numerical mode grows; None where nothing was computed.
    spectral_radius
        Largest magnitude of an eigenvalue of one macro step; None where nothing was computed.
    mode, mode_numerical
        Eigenvalue (1/s, rad/s) of the least damped oscillatory mode, and what the scheme makes of it; None
        where there is no such mode or the step size cannot represent it.
    deformation
        Relative deformation of that mode, a fraction.
    least_stable
        The numerical mode of largest real part (1/s, rad/s), modes at zero left out.
    note
        Why nothing was computed, or what else should be known.
    subject
        Which system was linearised, and where.
    """

    scheme: str
    partition: str
    verdict: str = ""
    stable: bool | None = None
    spectral_radius: float | None = None
    mode: complex | None = None
    mode_numerical: complex | None = None
    deformation: float | None = None
    least_stable: complex | None = None
    note: str = ""
    subject: str = "the system before the events"

    def lines(self) -> tuple[str, ...]:
        """Return the certificate as lines of text."""
        if self.stable is None:
            return (f"not computed: {self.note}", *self._setting())
        least = (
            () if self.least_stable is None else (f"least stable numerical mode: {show(self.least_stable)}",)
        )
        lines = (self.verdict, self._dominant(), *least, *self._setting())
        return (*lines, f"note: {self.note}") if self.note else lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _setting(self) -> tuple[str, str]:
        return f"partition: {self.partition}", f"scheme: {self.scheme}"

    def _dominant(self) -> str:
        if self.mode is None:
            return "dominant mode: the system has no oscillatory mode"
        if self.mode_numerical is None or self.deformation is None:
            return f"dominant mode: {show(self.mode)} is not represented at this step size"
        return (
            f"dominant mode: {show(self.mode)} becomes {show(self.mode_numerical)}, deformed by "
            f"{percent(self.deformation)} (damping ratio {percent(damping(self.mode))} -> "
            f"{percent(damping(self.mode_numerical))})"
        )


def certify(
    system: System,
    scheme: Scheme,
    subject: str = "the system before the events",
    warn: bool = True,
    linear: LinearDae | None = None,
) -> Certificate:
    """Return the certificate of a scheme on a system, linearised at the system's starting point.

    Parameters
    ----------
    system, scheme
        What is judged.
    subject
        What the certificate says of which system it is.
    warn
        Whether a verdict that is missing or bad is a warning as well.
    linear
        The linearised system; that at the system's starting point where left out.

    Warns
    -----
    PsmrWarning
        When the pencil says that the scheme is unstable on the linearised system.
    """
    return replace(_judged(system, scheme, warn, linear), subject=subject)


def _judged(system: System, scheme: Scheme, warn: bool, linear: LinearDae | None) -> Certificate:
    split = getattr(scheme, "split", None)
    partition = "none, one step size for every variable" if split is None else str(split)
    size = system.n + system.m
    if size > LARGEST:
        note = (
            f"{size} variables are more than the {LARGEST} for which every eigenvalue of the step is "
            "computed; psmr.deformation computes single modes"
        )
        return Certificate(str(scheme), partition, note=note)
    if system.n == 0:
        return Certificate(
            str(scheme), partition, note="the system has no states, there is nothing to deform"
        )
    if math.isnan(scheme.operator_step):
        note = "the scheme chooses its own steps by its tolerance, so that there is no step operator"
        return Certificate(str(scheme), partition, note=note)
    return _from_pencil(linear or system.linearise(), scheme, partition, warn)


def _from_pencil(linear: LinearDae, scheme: Scheme, partition: str, warn: bool) -> Certificate:
    from psmr.pencil.deformation.deformation import deformation

    try:
        report = deformation(linear, scheme)
    except PsmrError as error:
        # The run itself may be possible where the pencil is not; it must then say that it carries no verdict.
        if warn:
            words = f"no verdict on the scheme before the run: {error}"
            warnings.warn(words, PsmrWarning, stacklevel=4)
        return Certificate(str(scheme), partition, note=str(error))
    certificate = from_report(report, str(scheme), partition)
    if not certificate.stable and warn:
        limit = scheme.limit(linear)
        advice = (
            f"take a smaller step, {limit}"
            if limit
            else "take a smaller step, another partition or corrections"
        )
        warnings.warn(
            f"the pencil says before the run: {certificate.verdict} Scheme: {scheme}; {advice}",
            PsmrWarning,
            stacklevel=4,
        )
    return certificate


def show(s: complex) -> str:
    """Return an eigenvalue as text, to six digits."""
    if abs(s.imag) < 1e-9:
        return f"{s.real:.6g}"
    return f"{s.real:.6g} {'+' if s.imag >= 0 else '-'} {abs(s.imag):.6g}j"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage to three digits."""
    return f"{100 * fraction:.3g} %"


def damping(s: complex) -> float:
    """Return the damping ratio of an eigenvalue."""
    return -s.real / abs(s) if s != 0 else float(np.nan)


def from_report(report: Deformation, scheme: str, partition: str) -> Certificate:
    """Return the certificate that a deformation report amounts to."""
    mode, numerical, deformed = None, None, None
    dominant = report.dominant
    if dominant is not None:
        mode = complex(dominant["real"], dominant["imag"])
        if np.isfinite(dominant["relative_deformation"]):
            numerical = complex(dominant["real_numerical"], dominant["imag_numerical"])
            deformed = float(dominant["relative_deformation"])
    table = report.table
    least = None
    shown = table[np.isfinite(table["real_numerical"]) & (table["status"] != "zero mode")]
    if len(shown):
        row = shown.loc[shown["real_numerical"].idxmax()]
        least = complex(row["real_numerical"], row["imag_numerical"])
    return Certificate(
        scheme,
        partition,
        verdict=report.verdict,
        stable=bool(report.stable),
        spectral_radius=float(report.spectral_radius),
        mode=mode,
        mode_numerical=numerical,
        deformation=deformed,
        least_stable=least,
        note=" ".join(report.warnings),
    )
