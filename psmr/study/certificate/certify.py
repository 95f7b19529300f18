"""A scheme certified on a system: the pencil at the steps that it takes, in one certificate.

`judged_steps` are the step sizes by which a run is judged whose scheme chose them; `foreseen` says whether
the pencil foresees that a run fails, by a multiplier of its step that grows from the start.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError, PsmrError, PsmrWarning
from psmr.base.threads import on_one_thread
from psmr.dae.system.kept import is_frozen, kept
from psmr.dae.system.system import System
from psmr.integrate.run.advance_span import autonomous
from psmr.integrate.schemes.multirate import SCHUR
from psmr.integrate.schemes.scheme import ErrorControl, operator_step
from psmr.integrate.schemes.stability import stability_limit
from psmr.pencil.modes.verdict import Kind
from psmr.pencil.operator.step_operator import fastest_growing, step_map
from psmr.study.certificate.certificate import AtStep, Certificate, Scheme, mode_text

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae
    from psmr.pencil.deformation.deformation import OneStepModes
    from psmr.pencil.deformation.report import Deformation


SWINGING = 10.0
"""Time in s after an event in which its swings are large, as planning studies simulate them."""


def judged_steps(t: NDArray[np.float64], events: Collection[float] = ()) -> dict[str, float]:
    """Return step sizes in s of a run by what they are: the median, the longest, the median late in the run.

    The median is that of the steps within `SWINGING` of an event: later ones become longer where nothing
    moves.

    `t`: (K,) accepted times in s, twice at an event; `events`: times in s of the events. Steps before the
    first one count only where there is nothing else: the system is at equilibrium. The quiet part is the
    second half of what follows the last one.
    """
    if not t.size:
        return {}
    h, ends = np.diff(t), t[1:]
    first, last = min(events, default=float(t[0])), max(events, default=float(t[0]))
    moving = (h > 0.0) & (ends > first)
    moving = moving if moving.any() else h > 0.0
    if not moving.any():
        return {}
    h, ends = h[moving], ends[moving]
    began = np.array(sorted({first, *events}))
    after = ends - began[np.maximum(np.searchsorted(began, ends) - 1, 0)]
    swings = h[after <= SWINGING] if (after <= SWINGING).any() else h
    steps = {"the median step": float(np.median(swings)), "the longest step": float(h.max())}
    quiet = ends > 0.5 * (last + float(t[-1]))
    if quiet.any():
        steps["the median step of the quiet part"] = float(np.median(h[quiet]))
    return steps


def times_within(t: NDArray[np.float64], begin: float, end: float) -> NDArray[np.float64]:
    """Return those of accepted times that lie between two events, whose instants stand twice among them."""
    return t[np.searchsorted(t, begin, "right") - 1 : np.searchsorted(t, end) + 1]


HELD = "with the time held"
"""What `System.linearise` does with the time, in words."""


def reads_time(system: System) -> bool:
    """Return whether an equation reads the time, so that there is no equilibrium."""
    return not autonomous(system, system.parameters)


class Judge(Protocol):
    """What judges a scheme on a system."""

    def deformation(self, scheme: Any) -> Deformation:
        """Return the report."""


# The operator of one step is dense here; its eigenvalues with vectors take about ten seconds at this order.
LARGEST = 2000

# Samples within a step: 6 to 12 ms each on a small grid.
MOST_SAMPLES = 100

# Of several steps the worst one decides.
SEVERITY = {Kind.STABLE: 0, Kind.HELD: 1, Kind.SYSTEM: 2, Kind.SCHEME: 3, Kind.UNUSABLE: 4}


@on_one_thread
def certify(
    system: System,
    scheme: Scheme,
    subject: str = "the pre-disturbance system",
    warn: bool = True,
    linear: LinearDae | None = None,
    any_size: bool = True,
    steps: Mapping[str, float] | None = None,
    judge: Judge | None = None,
    t_end: float | None = None,
) -> Certificate:
    """Return the certificate of a scheme on a system, linearised at the system's starting point.

    Up to 2,000 variables every multiplier is computed; beyond, the outermost ones with a bound on the others
    and the least damped mode, which takes ten to twenty seconds for 7,000 variables; the note of the
    certificate says what is covered.

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
    any_size
        Whether there is a certificate beyond 2,000 variables.
    steps
        Step sizes in s, by what they are, of a run whose scheme chose them; see
        `psmr.study.certificate.certify.judged_steps`.
    judge
        What judges a scheme, as `Judge` does; `psmr.deformation` on the linearised system where
        left out.
    t_end
        Length of the run in s: what grows by no more than 2 % in it is a note of the certificate, and no
        verdict. Where left out whatever grows at all counts.

    Raises
    ------
    InputError
        For an argument of another kind, or a judge without this method.

    Warns
    -----
    PsmrWarning
        When the pencil says that the scheme is unstable on the linearised system or hides that this system
        is, and when an explicit prediction breaks down on it; the latter is found at any size.
    """
    check_arguments(certify, locals())
    if judge is not None and (isinstance(judge, type) or not callable(getattr(judge, "deformation", None))):
        raise InputError(
            f"judge is of the type {type(judge).__name__}: must have the method deformation; leave it out "
            "for psmr.deformation"
        )
    steps = steps or {}
    judged = functools.partial(_judged, system, scheme, linear, any_size, steps, judge)
    if linear is None and judge is None and is_frozen(scheme):
        key = scheme, any_size, tuple(steps.items())
        found, missing = kept(system, "certificates", key, judged, CERTIFICATES)
        if found.report is not None:  # with tables of its own, which who reads them may alter
            found = replace(found, report=replace(found.report))
    else:
        found, missing = judged()
    if missing and warn:
        # The run itself may be possible where the pencil is not; it must then say that it has no verdict.
        words = f"no verdict on the scheme before the run: {missing}"
        warnings.warn(words, PsmrWarning, stacklevel=4)
    certificate = replace(_with_time_held(found, system), subject=subject)
    certificate = certificate if t_end is None else certificate.over(t_end)
    if not warn:
        return certificate
    if certificate.stable is False:
        warnings.warn(_objection(certificate, system, scheme, linear), PsmrWarning, stacklevel=4)
    if certificate.hidden:
        warnings.warn(_concealed(certificate), PsmrWarning, stacklevel=4)
    if certificate.prediction:
        warnings.warn(f"before the run: {certificate.prediction} Scheme: {scheme}", PsmrWarning, stacklevel=4)
    return certificate


CERTIFICATES = 4
"""Certificates that are kept with a system."""


def _with_time_held(certificate: Certificate, system: System) -> Certificate:
    """Return a certificate that says what was linearised, and does not call such a system unstable.

    A source that moves, as a ripple, has no equilibrium: with the time held the motion is a constant, and a
    mode that grows beside it says nothing of the motion. What the scheme does to a mode it says all the same.
    """
    if certificate.stability is None or system.s or not reads_time(system):
        return certificate  # what samples read of the time comes round in their period
    note = (
        f"The equations read the time, so that there is no equilibrium: linearised is the system {HELD}, and "
        f"what follows is of that system. {certificate.note}".rstrip()
    )
    steps = tuple(replace(step, stability=step.stability.with_time_held()) for step in certificate.at_steps)
    return replace(certificate, stability=certificate.stability.with_time_held(), at_steps=steps, note=note)


def _objection(certificate: Certificate, system: System, scheme: Scheme, linear: LinearDae | None) -> str:
    """Return the warning of a verdict that is bad, with what to do about it where the scheme is at fault."""
    words = f"accuracy check {_when(certificate)}: {certificate.verdict} Scheme: {scheme}"
    if not certificate.blames_scheme:
        return words
    if certificate.at_steps:
        return f"{words}; take a smaller tolerance, which makes the steps smaller"
    limit = "" if system.s else stability_limit(linear or system.linearise(), scheme)
    return f"{words}; take a smaller step, {limit or 'another partition or corrections'}"


def _concealed(certificate: Certificate) -> str:
    """Return the warning of an instability of the system that the scheme hides."""
    return (
        f"accuracy check {_when(certificate)}: the scheme hides an instability of {certificate.subject}, "
        f"mode {mode_text(certificate.hidden[0])}. Scheme: {certificate.scheme}; {certificate.unhiding}"
    )


def _when(certificate: Certificate) -> str:
    return "of the run, at the steps that were taken" if certificate.at_steps else "before the run"


def _judged(
    system: System,
    scheme: Scheme,
    linear: LinearDae | None,
    any_size: bool,
    steps: Mapping[str, float],
    judge: Judge | None,
) -> tuple[Certificate, str]:
    """Return the certificate, and why it has no verdict where the pencil did not find one."""
    on = scheme.on(system)
    split = getattr(on, "split", None)
    partition = "none, one step size for every variable" if split is None else str(split)
    size = system.n + system.m
    if size > LARGEST and not any_size:
        note = (
            f"{size} variables are more than the {LARGEST} for which every eigenvalue of the step is "
            'computed; certify = "always" and psmr.certify search for the outermost ones, '
            "psmr.deformation computes single modes"
        )
        from psmr.pencil.deformation.deformation import objection

        explicit = scheme.two_rates is not None and scheme.two_rates.predicting_implicitly() is not None
        words = objection(linear or system.linearise(), scheme) if explicit else ""
        note = f"{note}. {words}" if words else note
        return Certificate(str(scheme), partition, note=note, prediction=words), ""
    longest = max([*steps.values(), *([] if on.step_choice else [on.step])], default=0.0)
    often = max((longest / sampler.period for sampler in system.samplers), default=0.0)
    if often > MOST_SAMPLES and not any_size:
        samples = (linear or system.linearise()).samples
        if samples is not None and samples.broken:
            note = (
                f"the samples cannot be linearised: {samples.broken}; psmr.ringdown(system, scheme) "
                "fits modes to a run"
            )
            return Certificate(str(scheme), partition, note=note), ""
        note = (
            f"{often:.0f} samples in a step are more than the {MOST_SAMPLES} with which each run has a "
            'certificate; certify = "always" and psmr.certify take the time for it'
        )
        return Certificate(str(scheme), partition, note=note), ""
    if system.n == 0:
        note = "the system has no states, there is nothing to deform"
        return Certificate(str(scheme), partition, note=note), ""
    control = on.error_control if steps else None
    if control is None and math.isnan(operator_step(scheme)):
        note = "the scheme chooses its own steps by its tolerance, so that there is no step operator"
        return Certificate(str(scheme), partition, note=note), ""
    if judge is None:
        judge = pencil_of(system) if linear is None else LinearPencil(linear)
    if control is None:
        return _reported(judge, scheme, partition)
    return _of_steps(judge, scheme, control, partition, steps)


def _of_steps(
    judge: Judge,
    scheme: Scheme,
    control: ErrorControl,
    partition: str,
    steps: Mapping[str, float],
) -> tuple[Certificate, str]:
    """Return the certificate at some steps of a run, as `_judged`; the first one is that of the fields."""
    used, *others = dict.fromkeys(steps.values())
    first, missing = _reported(judge, control.at_step(used), partition)
    if first.report is None:
        return replace(first, scheme=str(scheme)), missing
    reports, notes = {used: first.report}, [first.note]
    for h in others:
        try:
            reports[h] = judge.deformation(control.at_step(h))
        except PsmrError as error:
            notes.append(f"Not judged with a step of {h:.4g} s: {error}")
    at_steps = tuple(
        AtStep(which, h, reports[h].stability, *reports[h].dominant_shown, first.mode)
        for which, h in steps.items()
        if h in reports
    )
    worst = max(
        (step.stability for step in at_steps), key=lambda found: (SEVERITY[found.kind], found.growth_rate)
    )
    hidden = tuple(dict.fromkeys(s for step in at_steps for s in step.hidden))
    certificate = replace(
        first,
        scheme=str(scheme),
        stability=replace(worst, hidden=hidden),
        note=" ".join(filter(None, notes)),
        at_steps=at_steps,
    )
    return certificate, ""


def pencil_of(system: System) -> LinearPencil:
    """Return the pencil of a system at its starting point, which all its runs share."""
    return kept(system, "pencil", None, lambda: LinearPencil(system.linearise()), 1)


@dataclass(frozen=True)
class LinearPencil:
    """The pencil of a linearised system, whose modes are found once for all steps of one-step methods."""

    linear: LinearDae

    @cached_property
    def _modes(self) -> OneStepModes:
        from psmr.pencil.deformation.deformation import OneStepModes

        return OneStepModes.of(self.linear)

    def deformation(self, scheme: Scheme) -> Deformation:
        """See `Judge`."""
        from psmr.pencil.deformation.deformation import deformation

        # Beyond LARGEST the least damped mode and the outermost multipliers.
        small = self.linear.n + self.linear.m <= LARGEST
        plain = self.linear.delays is None and not self.linear.held
        if small and scheme.tableau is not None and plain:
            return self._modes.deformation(scheme)
        return deformation(self.linear, scheme, modes=None if small else 1)


def _reported(judge: Judge, scheme: Any, partition: str) -> tuple[Certificate, str]:
    """Return the certificate that a judge's report amounts to, as `_judged`."""
    try:
        found = judge.deformation(scheme)
    except PsmrError as error:
        return Certificate(str(scheme), partition, note=str(error)), str(error)
    return from_report(found, str(scheme), partition), ""


def from_report(report: Deformation, scheme: str, partition: str) -> Certificate:
    """Return the certificate that a deformation report amounts to."""
    columns, k = report.columns, report.dominant_at
    mode_numerical, off = report.dominant_shown
    s_hat = columns["real_numerical"] + 1j * columns["imag_numerical"]
    least = None
    shown = s_hat[np.isfinite(s_hat.real) & (columns["status"] != "zero mode")]
    if len(shown):
        least = complex(shown[np.argmax(shown.real)])
    return Certificate(
        scheme,
        partition,
        stability=report.stability,
        spectral_radius=float(report.spectral_radius),
        mode=None if k is None else complex(columns["real"][k], columns["imag"][k]),
        mode_numerical=mode_numerical,
        deformation=off,
        least_stable=least,
        note=" ".join(report.others),
        report=report,
        prediction=report.prediction,
    )


def foreseen(system: System, scheme: Scheme, certificate: Certificate | None) -> str:
    """Return a sentence on an instability of the scheme before any event, "" where none is found.

    Without a verdict, as beyond 2,000 variables, the multiplier of largest magnitude is looked for.
    """
    if certificate is not None and certificate.stability is not None:
        words = (
            f"The accuracy check before the run said: {certificate.verdict}"
            if certificate.blames_scheme
            else ""
        )
    else:
        words = _largest(system, scheme)
    if not words:
        return ""
    remedies = "take a smaller step"
    if getattr(scheme, "split", None) is not None:
        remedies += ", another partition"
    if getattr(scheme, "interface", SCHUR) != SCHUR:
        remedies += f", or predictor='extrapolation' with predict='slow' and interface='{SCHUR}'"
    return f" {words} Remedy: {remedies}"


def _largest(system: System, scheme: Scheme) -> str:
    h = operator_step(scheme)
    if math.isnan(h) or not system.n:
        return ""
    linear = system.linearise()
    try:
        step = step_map(linear, scheme)
    except PsmrError:  # the run has failed already, and says of what
        return ""
    found = fastest_growing(step)
    if found is None:
        return ""
    z, vector = found
    names = linear.names_x + linear.names_y
    where = names[int(np.argmax(np.abs(vector[: step.size])))]
    return (
        f"Before any event the scheme's step already has a multiplier of magnitude {abs(z):.3g}, mostly in "
        f"{where}, for each {h:g} s."
    )
