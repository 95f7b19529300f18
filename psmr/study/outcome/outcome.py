"""What happened in a run, in the terms in which a study is judged.

A part of the network that was dead, and what was lost with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from psmr.base.errors import few
from psmr.study.criteria import USUAL, Criteria
from psmr.study.detectors.angles import LostSynchronism
from psmr.study.detectors.converters import Slip
from psmr.study.detectors.detection import Detectors
from psmr.study.detectors.detector import Extreme, Finding, Stop, names_of
from psmr.study.detectors.settling import Settling
from psmr.study.detectors.voltages import Limit


@dataclass(frozen=True)
class Interruption:
    """Buses that lost their supply at the same time, for as long.

    `t`, `until`: Time in s at which they lost it, and at which they have it again; None: to the end of the
      run.
    `buses`: Names of the buses.
    `p_mw`: Active power of their loads in MW: of static loads by their data at that time, of motors and
      composite loads that at the start of the run.
    `lost`: Plants and motors that went out of service with them, and stay out.
    `every`: Whether no bus of the network had supply any more.
    """

    t: float
    until: float | None
    buses: tuple[str, ...]
    p_mw: float
    lost: tuple[str, ...]
    every: bool

    @property
    def what(self) -> str:
        """What happened, in words."""
        place = "the whole network" if self.every else names_of(self.buses)
        lost = [f"{names_of(self.lost)} out of service"] if self.lost else []
        load = [f"{self.p_mw:.4g} MW of load lost"] if self.p_mw else []
        return ", ".join([f"{place} dead", *lost, *load])

    def __str__(self) -> str:
        until = "" if self.until is None else f" to {self.until:.4g} s"
        return f"{self.what} (t = {self.t:.4g} s{until})"


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
        Largest difference of two rotor angles in one island, in degrees.
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
    """

    machines: int
    t_end: float
    lost: LostSynchronism | None = None
    angle_spread: Extreme | None = None
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
    ) -> Outcome:
        """Return what the detectors have seen of a run that ended at t_end in s."""
        complete = stopped is None and not failed
        angles, voltages, frequency = detectors.angles, detectors.voltages, detectors.frequency
        return cls(
            machines=len(angles.sources),
            t_end=t_end,
            lost=angles.lost,
            angle_spread=angles.spread,
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
        )

    @property
    def out_of_step(self) -> LostSynchronism | Slip | None:
        """What lost synchronism first: machines against others, or a converter against its bus."""
        first = min(self.slips, key=lambda slip: slip.t, default=None)
        if self.lost is None or first is None:
            return self.lost or first
        return first if first.t < self.lost.t else self.lost

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
            words = f"Lost synchronism: {few(list(map(str, self.slips)), 1)}."
        elif self.machines < 2:
            words = f"Ran to t = {self.t_end:g} s." if self.stopped is None else ""
        else:
            words = f"Kept synchronism to t = {self.t_end:g} s."
        if self.blackout is not None:
            words = f"Blackout at t = {self.blackout.t:g} s: nothing is left that holds the voltage."
        elif self.interruptions:
            words = f"{words} Without supply: {few(list(map(str, self.interruptions)), 1)}."
        if self.failed:
            words = f"Failed: {self.failed.rstrip('.')}. Partial: {words[:1].lower()}{words[1:]}"
        if self.stopped is not None:
            words = f"{words} Stopped at t = {self.stopped.t:g} s by {self.stopped}."
        return words.strip()

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the figures as pairs of words: what, and how much, where and when."""
        found: list[tuple[str, str]] = []

        def add(what: str, extreme: Extreme | None, unit: str, digits: int = 4) -> None:
            if extreme is not None:
                where = f" {extreme.where}" if extreme.where else ""
                value = f"{extreme.value:.{digits}g}" if abs(extreme.value) < 1000 else f"{extreme.value:.0f}"
                found.append((what, f"{value} {unit}{where}, t = {extreme.t:.4g} s"))

        add("largest angle spread", self.angle_spread, "deg")
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
            found.append(("converters that slipped", few(list(map(str, self.slips)), 6, "; ")))
        if self.interruptions:
            found.append(("dead parts", "; ".join(map(str, self.interruptions[:6]))))
        if self.acted:
            acted = [f"{words} (t = {t:.4g} s)" for t, words in self.acted]
            found.append(("protection that acted", few(acted, 6, "; ")))
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
