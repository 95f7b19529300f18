"""Red, amber or green: what outcome and certificates together say of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from psmr.base.errors import few
from psmr.pencil.modes.damping import sentences_on
from psmr.pencil.modes.verdict import Kind, mode_text
from psmr.study.certificate.certificate import Certificate
from psmr.study.outcome.global_error import MARGIN, GlobalError
from psmr.study.outcome.outcome import Outcome

Colour = Literal["red", "amber", "green"]

# Findings of which the headline speaks.
HEADLINES = ("angle spread", "loop angle")


@dataclass(frozen=True)
class Judgement:
    """A colour and the reasons for it.

    Red: synchronism was lost (of machines, or of a converter and its bus), the run failed or a monitor
    stopped it, a finding of the outcome is red, the whole network is dead at the end, or the scheme is
    unstable on a system that is not. Amber: the scheme hides an instability of the system, before the events
    or after the last one, changes the damping ratio of an oscillation by more than a limit in either
    direction, or has an explicit prediction that breaks down; the estimated error of the run is larger than a
    limit; the system itself is unstable; there is no certificate; an event lies outside the region whose
    network has dynamics, or leaves a voltage there swinging from step to step; a finding is amber; protection
    acted; a part of the network was dead.
    Limits are those of `psmr.Criteria`. Green otherwise.

    Attributes
    ----------
    colour
        ``"red"``, ``"amber"`` or ``"green"``.
    headline
        The outcome in one sentence.
    reasons
        A sentence for each thing that makes the run not green, the gravest first: of the outcome and of the
        scheme what is red; of the scheme, of the system and of the outcome what is amber.
    error
        The estimated error by which the run was judged; None where there is none.
    """

    colour: Colour
    headline: str
    reasons: tuple[str, ...]
    error: GlobalError | None = None


def judge_run(
    outcome: Outcome,
    certificates: Sequence[Certificate],
    error: GlobalError | str | None = None,
    doubts: Sequence[str] = (),
) -> Judgement:
    """Return colour and reasons for a run.

    `outcome`: what happened, and the criteria by which it is judged; `certificates`: on the pre-disturbance
    system first, then on what the events make of it; none where none was asked for; `error`: the estimated
    error of the run; why there is none, in words; None where it was not asked for; `doubts`: what else of the
    run is not right, a sentence each.
    """
    limit, t_end = outcome.criteria.damping, outcome.t_end
    certificates = [certificate.over(t_end) for certificate in certificates]
    out_of_step = outcome.lost is not None or bool(outcome.slips)
    found = [finding for finding in outcome.findings if finding.what not in HEADLINES]
    red = [finding.sentence for finding in found if finding.colour == "red"]
    red += [outcome.headline] if outcome.blackout else []
    red += [
        f"The scheme is unstable on {certificate.subject}: {certificate.verdict}"
        for certificate in certificates
        if certificate.blames_scheme
    ]
    amber = [sentence for certificate in certificates for sentence in _hidden(certificate)]
    for certificate in certificates:
        amber += sentences_on(certificate.changed_damping(limit), limit, _short(certificate))
    broken = next((certificate for certificate in certificates if certificate.prediction), None)
    if broken is not None:
        amber.append(f"{broken.prediction} This is said of {broken.subject}.")
    amber += _on_error(error, outcome.criteria.error)
    amber += [sentence for certificate in certificates for sentence in _on_system(certificate)]
    if not certificates:
        amber.append("There is no certificate: none was requested.")
    amber += doubts
    amber += [finding.sentence for finding in found if finding.colour == "amber"]
    amber += [f"A part of the network lost its supply: {part}." for part in outcome.interruptions[:3]]
    if outcome.acted:
        acted = [f"{words} at t = {t:.4g} s" for t, words in outcome.acted]
        amber.append(f"Protection acted: {few(acted, 3, '; ')}.")
    failed = out_of_step or outcome.stopped is not None or bool(outcome.failed)
    colour: Colour = "red" if failed or red else "amber" if amber else "green"
    if out_of_step and _on_error(error, outcome.criteria.error):
        amber.append(
            "An error of this size may itself have lost synchronism, and so may have what is not known of "
            "it: take smaller steps before the loss is believed."
        )
    elif out_of_step and any(certificate.stable for certificate in certificates):
        amber.append(
            "A certificate is a statement about small motions around an equilibrium, which this run left: a "
            "stable one does not contradict the loss of synchronism."
        )
    known = error if isinstance(error, GlobalError) else None
    return Judgement(colour, outcome.headline, (*red, *amber), known)


def _hidden(certificate: Certificate) -> list[str]:
    """Return a sentence on an instability of the system that the scheme hides; nothing without one."""
    if not certificate.hidden:
        return []
    mode = certificate.hidden[0]
    hertz = f" ({mode.imag / (2.0 * math.pi):.3g} Hz)" if mode.imag else ""
    step = next((step for step in certificate.at_steps if step.hidden), None)
    at = "" if step is None else f" at {step.which}, {step.h:.4g} s"
    remedy = f"{certificate.unhiding[0].upper()}{certificate.unhiding[1:]}"
    return [
        f"The scheme hides an instability of the {_short(certificate)}{at}: mode {mode_text(mode)}{hertz} "
        f"grows in the system and decays in this run. {remedy}."
    ]


def _on_error(error: GlobalError | str | None, limit: float) -> list[str]:
    """Return a sentence on an error of a run that is larger than the limit, or not known."""
    if isinstance(error, str):
        return [f"The error of the run was not estimated: {error.rstrip('.')}."]
    if error is None or not error.exceeds(limit):
        return []
    advice = "" if error.advice is None else f" {error.advice}"
    return [
        f"The {error.where} is off by an estimated {error.size} at t = {error.t:.4g} s, "
        f"{error.percent} % of {error.largest_change} (limit {100.0 * limit:g} %, for an estimate "
        f"{100.0 * MARGIN * limit:g} %).{advice}"
    ]


def _short(certificate: Certificate) -> str:
    """Return which system a certificate is of, without where it was linearised."""
    return certificate.subject.partition(",")[0].removeprefix("the ")


def _on_system(certificate: Certificate) -> list[str]:
    """Return what is wrong with a system itself, and where nothing is known of it."""
    if certificate.stability is None:
        return [f"No certificate for {certificate.subject}: {certificate.note}."]
    subject = f"The {_short(certificate)}"
    shown = [mode for mode in certificate.growing if mode not in certificate.hidden]
    if shown:
        return [f"{subject} is itself unstable: mode {mode_text(shown[0])} grows."]
    if certificate.stability.kind is Kind.SYSTEM and not certificate.growing:
        return [f"{subject} is itself unstable: {certificate.verdict}"]
    return []
