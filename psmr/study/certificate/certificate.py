"""The certificate of a run: how much its own numerics bent the system's modes, in a line each."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError, PsmrError, PsmrWarning
from psmr.dae.system.system import System
from psmr.integrate.schemes.scheme import Scheme as Scheme
from psmr.pencil.modes.damping import DampingLimit, changed_most
from psmr.study.certificate.held_time import HELD, reads_time

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae
    from psmr.pencil.deformation.report import Deformation, Glance


class Judge(Protocol):
    """What judges a scheme on a system."""

    def deformation(self, scheme: Any) -> Deformation:
        """Return the whole report."""

    def glance(self, scheme: Any) -> Glance:
        """Return the report in short."""


# The operator of one step is dense here; its eigenvalues with vectors take about ten seconds at this order.
LARGEST = 2000


@dataclass(frozen=True)
class AtStep:
    """What the pencil says of one step of a run whose scheme chose its steps.

    Attributes
    ----------
    which
        Which step: the longest, the median one, the median one of the quiet part.
    h
        The step in s.
    stable
        Whether no numerical mode grows with it; None where that is not judged.
    mode_numerical, deformation
        As in `Certificate`.
    hidden
        As in `Certificate`, with this step.
    mode
        As in `Certificate`.
    """

    which: str
    h: float
    stable: bool | None
    mode_numerical: complex | None = None
    deformation: float | None = None
    hidden: tuple[complex, ...] = ()
    mode: complex | None = None

    def __str__(self) -> str:
        words = [] if self.stable is not False else ["unstable"]
        if self.hidden:
            words.append(f"hides an instability of the system, mode {show(self.hidden[0])}")
        if self.mode_numerical is not None and self.deformation is not None:
            words.append(
                f"the dominant mode becomes {show(self.mode_numerical)}, deformed by "
                f"{percent(self.deformation)}"
            )
        elif self.mode is not None:
            words.append("the dominant mode is not represented")
        return f"{self.which}, {self.h:.4g} s: {'; '.join(words) or 'stable'}"


@dataclass(frozen=True)
class Certificate:
    """What the pencil says of the scheme on the system, linearised where the run starts.

    Attributes
    ----------
    scheme, partition
        One line each; the partition of a single-rate scheme says that there is none.
    verdict
        The pencil's verdict, one sentence; "" where nothing was computed.
    stable
        Whether no numerical mode grows; None where nothing was computed, and where the equations read the
        time and a mode of theirs grows while it is held.
    spectral_radius
        Largest magnitude of an eigenvalue of one macro step; None where nothing was computed.
    mode, mode_numerical
        Eigenvalue (1/s, rad/s) of the least damped oscillatory mode, and what the scheme makes of it; None
        where there is no such mode or the step size cannot represent it.
    deformation
        Relative deformation of that mode, a fraction.
    least_stable
        The numerical mode of largest real part (1/s, rad/s), modes at zero left out.
    growing
        Modes of the system that grow, in 1/s and rad/s, one of each pair.
    hidden
        Those of them that the scheme damps or does not show, at one of the steps at least.
    note
        Why nothing was computed, or what else should be known.
    subject
        Which system was linearised, and where.
    at_steps
        For a scheme that chose its steps: what it does to the modes at some of them; what stands above is
        that of the median step.
    report
        The deformation of every mode, from which the certificate follows, where it was computed.
    prediction
        A sentence on an explicit prediction that breaks down, also in the `note`; "" where none does.
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
    subject: str = "the pre-disturbance system"
    at_steps: tuple[AtStep, ...] = ()
    report: Deformation | None = field(default=None, compare=False, repr=False)
    prediction: str = ""
    growing: tuple[complex, ...] = ()
    hidden: tuple[complex, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return the fields by name, `report` left out."""
        found = asdict(replace(self, report=None))
        del found["report"]
        return found

    @property
    def blames_scheme(self) -> bool:
        """Whether the scheme is unstable on a system that is not."""
        return self.stable is False and not self.verdict.startswith("Unstable, as the system is")

    def lines(self) -> tuple[str, ...]:
        """Return the certificate as lines of text."""
        if not self.verdict:
            return (f"not computed: {self.note}", *self._setting())
        least = (
            ()
            if self.least_stable is None
            else (f"slowest-decaying simulated mode: {show(self.least_stable)}",)
        )
        steps = tuple(f"at {step}" for step in self.at_steps)
        lines = (self.verdict, *self._dominant(), *steps, *least, *self._setting())
        return (*lines, f"note: {self.note}") if self.note else lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _setting(self) -> tuple[str, str]:
        return f"partition: {self.partition}", f"scheme: {self.scheme}"

    def _dominant(self) -> tuple[str, ...]:
        if self.mode is None:
            return ()
        if self.mode_numerical is None or self.deformation is None:
            return (f"dominant mode: {show(self.mode)} is not represented at this step size",)
        return (
            f"dominant mode: {show(self.mode)} becomes {show(self.mode_numerical)}, deformed by "
            f"{percent(self.deformation)} (damping ratio {percent(damping(self.mode))} -> "
            f"{percent(damping(self.mode_numerical))})",
        )

    def changed_damping(self, limit: DampingLimit) -> tuple[tuple[complex, complex | None], ...]:
        """Return the oscillations whose damping the scheme changes by more than a limit, least damped first.

        Each is a mode of the system and what the scheme makes of it, in 1/s and rad/s, None where the step
        cannot show it. Modes that grow and are `hidden` are not among them. Of a scheme that chose its steps
        these are those of the median step: it takes longer ones where an oscillation has died out, and a step
        that is too long to show one has none to show.
        """
        if self.report is None:
            return ()
        changed = changed_most(self.report.columns, limit)
        return tuple(
            (s, s_hat)
            for s, s_hat in changed
            if not np.isclose(s, self.hidden).any() and not (s_hat is None and self.at_steps)
        )


def certify(
    system: System,
    scheme: Scheme,
    subject: str = "the pre-disturbance system",
    warn: bool = True,
    linear: LinearDae | None = None,
    any_size: bool = True,
    steps: Mapping[str, float] | None = None,
    judge: Judge | None = None,
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
        `psmr.study.certificate.step_sizes.judged_steps`.
    judge
        What judges a scheme, with the methods of `Judge`; `psmr.deformation` on the linearised system where
        left out.

    Raises
    ------
    InputError
        For an argument of another kind, or a judge without these methods.

    Warns
    -----
    PsmrWarning
        When the pencil says that the scheme is unstable on the linearised system or hides that this system
        is, and when an explicit prediction breaks down on it; the latter is found at any size.
    """
    check_arguments(certify, locals())
    methods = [getattr(judge, name, None) for name in ("deformation", "glance")]
    if judge is not None and (isinstance(judge, type) or not all(map(callable, methods))):
        raise InputError(
            f"judge is of the type {type(judge).__name__}: must have the methods deformation and glance; "
            "leave it out for psmr.deformation"
        )
    found = _judged(system, scheme, warn, linear, any_size, steps or {}, judge)
    certificate = replace(_with_time_held(found, system), subject=subject)
    if warn and certificate.stable is False:
        warnings.warn(_objection(certificate, system, scheme, linear), PsmrWarning, stacklevel=3)
    if warn and certificate.hidden:
        warnings.warn(_concealed(certificate), PsmrWarning, stacklevel=3)
    if warn and certificate.prediction:
        warnings.warn(f"before the run: {certificate.prediction} Scheme: {scheme}", PsmrWarning, stacklevel=3)
    return certificate


def _with_time_held(certificate: Certificate, system: System) -> Certificate:
    """Return a certificate that says what was linearised, and does not call such a system unstable.

    A source that moves, as a ripple, has no equilibrium: with the time held the motion is a constant, and a
    mode that grows beside it says nothing of the motion. What the scheme does to a mode it says all the same.
    """
    if not certificate.verdict or not reads_time(system):
        return certificate
    note = (
        f"The equations read the time, so that there is no equilibrium: linearised is the system {HELD}, and "
        f"what follows is of that system. {certificate.note}".rstrip()
    )
    certificate = replace(
        certificate,
        growing=(),
        hidden=(),
        at_steps=tuple(replace(step, hidden=()) for step in certificate.at_steps),
    )
    if certificate.stable is not False or certificate.blames_scheme:
        return replace(certificate, note=note)
    return replace(
        certificate,
        stable=None,
        verdict="Not judged: the equations read the time, and what grows while it is held says nothing.",
        note=note,
        at_steps=tuple(replace(step, stable=None) for step in certificate.at_steps),
    )


def _objection(certificate: Certificate, system: System, scheme: Scheme, linear: LinearDae | None) -> str:
    """Return the warning of a verdict that is bad, with what to do about it where the scheme is at fault."""
    when = "of the run, at the steps that were taken" if certificate.at_steps else "before the run"
    words = f"the pencil says {when}: {certificate.verdict} Scheme: {scheme}"
    if not certificate.blames_scheme:
        return words
    if certificate.at_steps:
        return f"{words}; take a smaller tolerance, which makes the steps smaller"
    limit = scheme.limit(linear or system.linearise())
    return f"{words}; take a smaller step, {limit or 'another partition or corrections'}"


def _concealed(certificate: Certificate) -> str:
    """Return the warning of an instability of the system that the scheme hides."""
    when = "of the run, at the steps that were taken" if certificate.at_steps else "before the run"
    return (
        f"the pencil says {when}: the scheme hides an instability of {certificate.subject}, mode "
        f"{show(certificate.hidden[0])}. Scheme: {certificate.scheme}; take smaller steps, or the method TM"
    )


def _judged(
    system: System,
    scheme: Scheme,
    warn: bool,
    linear: LinearDae | None,
    any_size: bool,
    steps: Mapping[str, float],
    judge: Judge | None,
) -> Certificate:
    split = getattr(scheme, "split", None)
    partition = "none, one step size for every variable" if split is None else str(split)
    size = system.n + system.m
    if size > LARGEST and not any_size:
        note = (
            f"{size} variables are more than the {LARGEST} for which every eigenvalue of the step is "
            'computed; certify = "always" and psmr.certify search for the outermost ones, '
            "psmr.deformation computes single modes"
        )
        from psmr.pencil.deformation.prediction import objection

        explicit = scheme.predicting_implicitly() is not None
        words = objection(linear or system.linearise(), scheme) if explicit else ""
        note = f"{note}. {words}" if words else note
        return Certificate(str(scheme), partition, note=note, prediction=words)
    if system.n == 0:
        return Certificate(
            str(scheme), partition, note="the system has no states, there is nothing to deform"
        )
    if math.isnan(scheme.operator_step) and steps and scheme.at_step(1.0) is not None:
        return _of_steps(judge or _Whole(linear or system.linearise()), scheme, partition, warn, steps)
    if math.isnan(scheme.operator_step):
        note = "the scheme chooses its own steps by its tolerance, so that there is no step operator"
        return Certificate(str(scheme), partition, note=note)
    return _reported(judge or _Whole(linear or system.linearise()), scheme, partition, warn)


def _of_steps(
    judge: Judge, scheme: Scheme, partition: str, warn: bool, steps: Mapping[str, float]
) -> Certificate:
    """Return the certificate at some steps of a run; the first one is that of the fields."""
    used, *others = dict.fromkeys(steps.values())
    first = _reported(judge, scheme.at_step(used), partition, warn)
    if first.report is None:
        return replace(first, scheme=str(scheme))
    glances, notes = {used: first.report.glance()}, [first.note]
    for h in others:
        try:
            glances[h] = judge.glance(scheme.at_step(h))
        except PsmrError as error:
            notes.append(f"Not judged with a step of {h:.4g} s: {error}")
    at_steps = tuple(
        AtStep(
            which,
            h,
            glances[h].stable,
            glances[h].mode_numerical,
            glances[h].deformation,
            glances[h].hidden,
            first.mode,
        )
        for which, h in steps.items()
        if h in glances
    )
    worst = next((h for h, glance in glances.items() if not glance.stable), used)
    verdict = first.verdict if worst == used else judge.deformation(scheme.at_step(worst)).verdict
    stable = all(step.stable for step in at_steps)
    return replace(
        first,
        scheme=str(scheme),
        stable=stable,
        verdict=verdict,
        note=" ".join(filter(None, notes)),
        at_steps=at_steps,
        hidden=tuple(dict.fromkeys(s for step in at_steps for s in step.hidden)),
    )


@dataclass(frozen=True)
class _Whole:
    """The pencil of a linearised system: each scheme's step operator as a whole."""

    linear: LinearDae

    def deformation(self, scheme: Scheme) -> Deformation:
        from psmr.pencil.deformation.deformation import deformation

        # Beyond LARGEST the least damped mode and the outermost multipliers.
        modes = None if self.linear.n + self.linear.m <= LARGEST else 1
        return deformation(self.linear, scheme, modes=modes)

    def glance(self, scheme: Scheme) -> Glance:
        return self.deformation(scheme).glance()


def _reported(judge: Judge, scheme: Any, partition: str, warn: bool) -> Certificate:
    try:
        found = judge.deformation(scheme)
    except PsmrError as error:
        # The run itself may be possible where the pencil is not; it must then say that it carries no verdict.
        if warn:
            words = f"no verdict on the scheme before the run: {error}"
            warnings.warn(words, PsmrWarning, stacklevel=4)
        return Certificate(str(scheme), partition, note=str(error))
    return from_report(found, str(scheme), partition)


def show(s: complex) -> str:
    """Return an eigenvalue, with its conjugate where it has one, as text to six digits."""
    oscillates = abs(s.imag) >= 1e-9
    return f"{s.real:.6g} ± j{abs(s.imag):.6g} 1/s" if oscillates else f"{s.real:.6g} 1/s"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage to three digits."""
    return f"{100 * fraction:.3g} %"


def damping(s: complex) -> float:
    """Return the damping ratio of an eigenvalue."""
    return -s.real / abs(s) if s != 0 else float(np.nan)


def from_report(report: Deformation, scheme: str, partition: str) -> Certificate:
    """Return the certificate that a deformation report amounts to."""
    columns, k, glance = report.columns, report.dominant_at, report.glance()
    s_hat = columns["real_numerical"] + 1j * columns["imag_numerical"]
    least = None
    shown = s_hat[np.isfinite(s_hat.real) & (columns["status"] != "zero mode")]
    if len(shown):
        least = complex(shown[np.argmax(shown.real)])
    return Certificate(
        scheme,
        partition,
        verdict=report.verdict,
        stable=glance.stable,
        spectral_radius=float(report.spectral_radius),
        mode=None if k is None else complex(columns["real"][k], columns["imag"][k]),
        mode_numerical=glance.mode_numerical,
        deformation=glance.deformation,
        least_stable=least,
        note=" ".join(report.warnings),
        report=report,
        prediction=report.prediction,
        growing=report.growing,
        hidden=report.hidden,
    )
