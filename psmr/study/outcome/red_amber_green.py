"""Red, amber or green: what outcome and certificates together say of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from psmr.study.outcome.outcome import Outcome
from psmr.study.record.certificate import Certificate

Colour = Literal["red", "amber", "green"]


@dataclass(frozen=True)
class Judgement:
    """A colour and the reasons for it.

    Red: synchronism was lost (of machines, or of a converter and its bus), the run failed or a monitor
    stopped it, a finding of the outcome is red, or the scheme is unstable on a system that is not. Amber: the
    certificates before the events and after the last one differ, there is no certificate, the system itself
    is unstable, an explicit prediction breaks down, protection acted, or a finding is amber
    (`psmr.Criteria`). Green otherwise.

    Attributes
    ----------
    colour
        ``"red"``, ``"amber"`` or ``"green"``.
    headline
        The outcome in one sentence.
    reasons
        A sentence for each thing that makes the run not green.
    """

    colour: Colour
    headline: str
    reasons: tuple[str, ...]


def judge_run(outcome: Outcome, before: Certificate | None, after: Certificate | None) -> Judgement:
    """Return colour and reasons for a run.

    Parameters
    ----------
    outcome
        What happened.
    before, after
        Certificates on the system before the events and after the last one; None where there is none.
    """
    red = outcome.lost is not None or outcome.stopped is not None
    red |= bool(outcome.failed or outcome.slips)
    reasons = []
    if (
        before is not None
        and after is not None
        and before.stable != after.stable
        and not _unjudged(before, after)
    ):
        reasons.append(
            f"The certificates differ: before the events {_verdict(before)}; after the last event "
            f"{_verdict(after)}"
        )
    broken = next((c for c in (before, after) if c is not None and c.prediction), None)
    if broken is not None:
        reasons.append(f"{broken.prediction} This is said of {broken.subject}.")
    for certificate in (before, after):
        if certificate is None:
            continue
        if certificate.stable is False:
            blamed = certificate.blames_scheme
            red |= blamed
            subject = certificate.subject
            if blamed:
                reasons.append(f"The scheme is unstable on {subject}: {certificate.verdict}")
            else:
                reasons.append(f"{subject[0].upper()}{subject[1:]} is itself unstable: {certificate.verdict}")
        elif not certificate.verdict:
            reasons.append(f"No certificate for {certificate.subject}: {certificate.note}.")
    if (outcome.lost is not None or outcome.slips) and any(
        c is not None and c.stable for c in (before, after)
    ):
        reasons.append(
            "A certificate is a statement about small motions around an equilibrium, which this run left: a "
            "stable one does not contradict the loss of synchronism."
        )
    if before is None:
        reasons.append("There is no certificate: none was requested.")
    if outcome.acted:
        listed = "; ".join(f"{words} at t = {t:.4g} s" for t, words in outcome.acted[:3])
        more = f" and {len(outcome.acted) - 3} more" if len(outcome.acted) > 3 else ""
        reasons.append(f"Protection acted: {listed}{more}.")
    shown = [finding for finding in outcome.findings if finding.what not in ("angle spread", "loop angle")]
    red |= any(finding.colour == "red" for finding in shown)
    # What is red comes first; synchronism is the headline's.
    reasons[:0] = [finding.sentence for finding in shown if finding.colour == "red"]
    reasons += [finding.sentence for finding in shown if finding.colour == "amber"]
    colour: Colour = "red" if red else "amber" if reasons else "green"
    return Judgement(colour, outcome.headline, tuple(reasons))


def _unjudged(*certificates: Certificate) -> bool:
    """Return whether one was computed without a judgement on stability: its equations read the time."""
    return any(c.stable is None and c.verdict for c in certificates)


def _verdict(certificate: Certificate) -> str:
    if certificate.stable is None:
        return "none was computed"
    return certificate.verdict[0].lower() + certificate.verdict[1:].rstrip(".")
