"""What happened in a run, in the terms in which a study is judged, and whether it is red, amber or green."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from psmr.base.errors import first_few
from psmr.integrate.timeline.span import Span
from psmr.pencil.modes.verdict import Kind, mode_text, sentences_on
from psmr.study.certificate.certificate import Certificate
from psmr.study.criteria import USUAL, Criteria
from psmr.study.detectors.angles import ANGLE_SPREAD, LostSynchronism
from psmr.study.detectors.controls import Collapse, Controls, collapse_of, controls_of
from psmr.study.detectors.converters import LOOP_ANGLE, Slip
from psmr.study.detectors.dead_parts import Interruption
from psmr.study.detectors.detection import Detectors
from psmr.study.detectors.detector import Extreme, Finding, Stop
from psmr.study.detectors.settling import Settling
from psmr.study.detectors.voltages import Limit
from psmr.study.estimated_error import MARGIN, GlobalError


@dataclass(frozen=True)
class Outcome:
    """What happened in a run.

    Attributes
    ----------
    machines
        Number of sources with an angle of their own; with fewer than two there is no synchronism to lose.
    lost
        The first loss of synchronism; None where it was kept.
    angle_spread
        By how much two sources of one island moved apart at most, in degrees, since they were connected: what
        `Criteria.angle_deg` limits.
    angle_difference
        Largest difference of two rotor angles in one island as it stands, in degrees.
    lowest_voltage
        Lowest bus voltage in pu; a bus does not count while a fault is on at it.
    highest_voltage
        Highest bus voltage in pu, counted alike.
    low_voltage
        Longest time in s without a break for which a bus was below `Criteria.v_low`, counted alike.
    end_voltage
        Lowest bus voltage in pu at the end.
    nadir, overshoot
        Lowest and highest frequency in Hz of the centre of inertia of an island.
    end_frequency
        That at the end, of the island where it is furthest from the nominal one.
    settling
        Whether the run settled; None where that cannot be said.
    limits
        States that reached a limit, in order of time.
    findings
        What is beyond a limit of the criteria, in order of time.
    criteria
        The limits.
    stopped
        The monitor that ended the run early.
    failed
        What the run failed by; "" where it did not.
    slips
        Converters whose phase-locked loop lost the angle of their bus.
    acted
        (time in s, words) of what devices did by themselves: load shed, generators tripped.
    t_end
        Time in s at which the run ended.
    interruptions
        Parts of the network that were dead, in order of time.
    controls
        What slow controls did: limiters, taps, shunts, load shedding; and whether the voltage collapsed.
    """

    machines: int
    t_end: float
    lost: LostSynchronism | None = None
    angle_spread: Extreme | None = None
    angle_difference: Extreme | None = None
    lowest_voltage: Extreme | None = None
    highest_voltage: Extreme | None = None
    low_voltage: Extreme | None = None
    end_voltage: Extreme | None = None
    nadir: Extreme | None = None
    overshoot: Extreme | None = None
    end_frequency: Extreme | None = None
    settling: Settling | None = None
    limits: tuple[Limit, ...] = ()
    findings: tuple[Finding, ...] = ()
    criteria: Criteria = USUAL
    stopped: Stop | None = None
    failed: str = ""
    slips: tuple[Slip, ...] = ()
    acted: tuple[tuple[float, str], ...] = ()
    interruptions: tuple[Interruption, ...] = ()
    controls: Controls | None = None

    @classmethod
    def of(
        cls,
        detectors: Detectors,
        criteria: Criteria,
        t_end: float,
        stopped: Stop | None,
        acted: tuple[tuple[float, str], ...],
        failed: str = "",
        interruptions: tuple[Interruption, ...] = (),
        spans: Sequence[Span] = (),
    ) -> Outcome:
        """Return what the detectors have seen of a run that ended at t_end in s, in which the spans held."""
        complete = stopped is None and not failed
        angles, voltages, frequency = detectors.angles, detectors.voltages, detectors.frequency
        lost = None if angles.lost is None else angles.lost.t
        collapse = collapse_of(voltages, t_end, lost, bool(failed), stopped)
        return cls(
            machines=len(angles.sources),
            t_end=t_end,
            lost=angles.lost,
            angle_spread=angles.spread,
            angle_difference=angles.difference,
            lowest_voltage=voltages.lowest,
            highest_voltage=voltages.highest,
            low_voltage=voltages.longest(0),
            end_voltage=voltages.end,
            nadir=frequency.lowest,
            overshoot=frequency.highest,
            end_frequency=frequency.end,
            settling=detectors.end.settling if complete else None,
            limits=detectors.limits.met(),
            findings=detectors.findings(complete),
            criteria=criteria,
            stopped=stopped,
            slips=detectors.converters.slips(),
            acted=acted,
            failed=failed,
            interruptions=interruptions,
            controls=controls_of(detectors.limits.system, spans, collapse),
        )

    @property
    def out_of_step(self) -> LostSynchronism | Slip | None:
        """What lost synchronism first: machines against others, or a converter against its bus."""
        first = min(self.slips, key=lambda slip: slip.t, default=None)
        if self.lost is None or first is None:
            return self.lost or first
        return first if first.t < self.lost.t else self.lost

    @property
    def collapse(self) -> Collapse | None:
        """The collapse of the voltage; None where there is none."""
        return self.controls.collapse if self.controls else None

    @property
    def blackout(self) -> Interruption | None:
        """Since when no part of the network has supply; None where one has at the end."""
        return next((part for part in self.interruptions if part.every and part.until is None), None)

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        if self.lost is not None:
            words = f"Lost synchronism: {self.lost.sides}."
        elif self.slips:
            words = f"Lost synchronism: {first_few(list(map(str, self.slips)), 1)}."
        elif self.machines < 2:
            words = f"Ran to t = {self.t_end:g} s." if self.stopped is None else ""
        else:
            words = f"Synchronism maintained to t = {self.t_end:g} s."
        if self.blackout is not None:
            words = f"Blackout at t = {self.blackout.t:g} s: nothing is left that holds the voltage."
        elif self.interruptions:
            words = f"{words} Without supply: {first_few(list(map(str, self.interruptions)), 1)}."
        if self.controls is not None:
            words = self.controls.headline(words)
        if self.failed:
            words = f"Failed: {self.failed.rstrip('.')}. Partial: {words[:1].lower()}{words[1:]}"
        if self.stopped is not None:
            words = f"{words} Stopped at t = {self.stopped.t:g} s by {self.stopped}."
        return words.strip()

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the figures as pairs of words: what, and how much, where and when."""
        found: list[tuple[str, str]] = []

        def add(what: str, extreme: Extreme | None, unit: str, digits: int = 4, note: str = "") -> None:
            if extreme is not None:
                where = f" {extreme.where}" if extreme.where else ""
                value = f"{extreme.value:.{digits}g}" if abs(extreme.value) < 1000 else f"{extreme.value:.0f}"
                found.append((what, f"{value} {unit}{where}, t = {extreme.t:.4g} s{note}"))

        limit = f" (since connected; limit {self.criteria.angle_deg:g} deg)"
        add("largest angle spread", self.angle_spread, "deg", note=limit)
        add("largest angle difference", self.angle_difference, "deg")
        add("lowest voltage", self.lowest_voltage, "pu")
        add("highest voltage", self.highest_voltage, "pu")
        if self.low_voltage is not None:
            low = self.low_voltage
            words = f"{low.value:.3g} s {low.where}, from t = {low.t:.4g} s" if low.value > 0 else "none"
            found.append((f"longest time below {self.criteria.v_low:g} pu", words))
        add("lowest voltage at the end", self.end_voltage, "pu")
        for what, side, extreme in (
            ("frequency nadir", "below", self.nadir), ("frequency overshoot", "above", self.overshoot),
        ):  # fmt: skip
            if extreme is not None and extreme.t == 0.0:
                found.append((what, f"did not go {side} {extreme.value:.5g} Hz"))
            else:
                add(what, extreme, "Hz", 5)
        if self.end_frequency is not None:
            where = f" {self.end_frequency.where}" if self.end_frequency.where else ""
            found.append(("frequency at the end", f"{self.end_frequency.value:.5g} Hz{where}"))
        if self.settling is not None:
            found.append(("settled at the end", str(self.settling)))
        if self.machines:
            found.append(("limits reached", self._limits()))
        motors = [finding.sentence for finding in self.findings if finding.motor]
        if motors:
            found.append(("motors that stalled", " ".join(motors[:6])))
        if self.slips:
            found.append(("converters that slipped", first_few(list(map(str, self.slips)), 6, "; ")))
        if self.interruptions:
            found.append(("dead parts", "; ".join(map(str, self.interruptions[:6]))))
        if self.acted:
            acted = [f"{words} (t = {t:.4g} s)" for t, words in self.acted]
            found.append(("protection that acted", first_few(acted, 6, "; ")))
        found += self.controls.facts() if self.controls else []
        return tuple(found)

    def _limits(self) -> str:
        if not self.limits:
            return "none"
        # Regulators that meet the same limit at one instant are said together.
        met = groupby(self.limits[:6], key=lambda limit: f"({limit.side}, t = {limit.t:.4g} s)")
        shown = [f"{', '.join(limit.state for limit in same)} {words}" for words, same in met]
        more = len(self.limits) - 6
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")

    def lines(self) -> tuple[str, ...]:
        """Return the outcome as lines of text, the sentence first."""
        return (self.headline, *(f"{what}: {words}" for what, words in self.facts()))

    def __str__(self) -> str:
        return "\n".join(self.lines())


Colour = Literal["red", "amber", "green"]

# Findings of which the headline speaks.
HEADLINES = (ANGLE_SPREAD, LOOP_ANGLE)


@dataclass(frozen=True)
class Judgement:
    """A colour and the reasons for it.

    What makes a run red or amber is in the table of docs/reading.md; limits are those of `psmr.Criteria`.

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
    error: GlobalError | None = None,
    doubts: Sequence[str] = (),
    nose: float | None = None,
) -> Judgement:
    """Return colour and reasons for a run.

    `outcome`: what happened, and the criteria by which it is judged; `certificates`: on the pre-disturbance
    system first, then on what the events make of it; none where none was asked for; `error`: the estimated
    error of the run, or why there is none; None where it was not asked for; `doubts`: what else of the run is
    not right, a sentence each; `nose`: when in s the run passed the largest power of its loads, if it did.
    """
    limit, t_end = outcome.criteria.damping, outcome.t_end
    certificates = [certificate.over(t_end) for certificate in certificates]
    out_of_step = outcome.lost is not None or bool(outcome.slips)
    found = [finding for finding in outcome.findings if finding.what not in HEADLINES]
    red = [finding.sentence for finding in found if finding.colour == "red"]
    red += [outcome.headline] if outcome.blackout else []
    if nose is not None:
        red.append(
            f"The largest power that the loads could have was passed at t = {nose:.4g} s: from there on tap"
            " changers lower the voltages that they are to raise."
        )
    red += [
        f"The scheme is unstable on {certificate.subject}: {certificate.verdict}"
        for certificate in certificates
        if certificate.blames_scheme
    ]
    amber = [sentence for certificate in certificates for sentence in _hidden(certificate)]
    for certificate in certificates:
        amber += sentences_on(certificate.changed_damping(limit), limit, certificate.short)
    broken = next((certificate for certificate in certificates if certificate.prediction), None)
    if broken is not None:
        amber.append(f"{broken.prediction} This is said of {broken.subject}.")
    amber += _on_error(error, outcome.criteria.error)
    amber += [sentence for certificate in certificates for sentence in _on_system(certificate)]
    if not certificates:
        amber.append("There is no accuracy check: none was requested.")
    amber += doubts
    amber += [finding.sentence for finding in found if finding.colour == "amber"]
    amber += [f"A part of the network lost its supply: {part}." for part in outcome.interruptions[:3]]
    if outcome.acted:
        acted = [f"{words} at t = {t:.4g} s" for t, words in outcome.acted]
        amber.append(f"Protection acted: {first_few(acted, 3, '; ')}.")
    collapsed = outcome.collapse is not None
    failed = out_of_step or collapsed or outcome.stopped is not None or bool(outcome.failed)
    colour: Colour = "red" if failed or red else "amber" if amber else "green"
    if out_of_step and error is not None and (error.note or error.exceeds(outcome.criteria.error)):
        amber.append(
            "An error of this size may itself have lost synchronism, and so may have what is not known of "
            "it: take smaller steps before the loss is believed."
        )
    elif out_of_step and any(certificate.stable for certificate in certificates):
        amber.append(
            "The accuracy check is a small-signal result and does not apply once machines lose synchronism."
        )
    known = None if error is None or error.note else error
    headline = outcome.headline
    violated = [f"{finding.what} criterion violated" for finding in found if finding.colour == "red"][:1]
    violated += ["the scheme is unstable"] if any(one.blames_scheme for one in certificates) else []
    if violated and headline and not failed:
        headline = f"{headline.rstrip('.')}; {' and '.join(violated)}."
    if nose is not None and not collapsed:
        headline = f"Voltages are unstable from t = {nose:.4g} s on, past the nose. {headline}"
    return Judgement(colour, headline, (*red, *amber), known)


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
        f"The scheme hides an instability of the {certificate.short}{at}: mode {mode_text(mode)}{hertz} "
        f"grows in the system and decays in this run. {remedy}."
    ]


def _on_error(error: GlobalError | None, limit: float) -> list[str]:
    """Return a sentence on an error of a run that is larger than the limit, or not known."""
    if error is None or not (error.note or error.exceeds(limit)):
        return []
    if error.note:
        return [f"The error of the run was not estimated: {error.note.rstrip('.')}."]
    advice = "" if error.advice is None else f" {error.advice}"
    less = "" if error.part > limit else f", of which {100.0 * (1.0 - MARGIN):.0f} % is kept for the estimate"
    return [
        f"Estimated error of the {error.where}: {error.size} at t = {error.t:.4g} s, {error.percent} % of "
        f"{error.largest_deviation} (limit {100.0 * limit:g} %{less}).{advice}"
    ]


def _on_system(certificate: Certificate) -> list[str]:
    """Return what is wrong with a system itself, and where nothing is known of it."""
    if certificate.stability is None:
        return [f"No accuracy check of {certificate.subject}: {certificate.note}."]
    subject = f"The {certificate.short}"
    shown = [mode for mode in certificate.growing if mode not in certificate.hidden]
    if shown:
        return [f"{subject} is itself unstable: mode {mode_text(shown[0])} grows."]
    if certificate.stability.kind is Kind.SYSTEM and not certificate.growing:
        return [f"{subject} is itself unstable. {certificate.verdict}"]
    return []
