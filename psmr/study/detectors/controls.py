"""What slow controls did in a run: machines at a limiter, taps, shunts, load shed; whether it collapsed.

Read from the acts of its changes (`psmr.dae.declare.component.Act`), never from their words.

**Voltage collapse**: a bus was below `Criteria.v_low` for `Criteria.v_low_time` without a break, and before
it came back synchronism was lost, the equations had no solution any more, a monitor of the voltage ended the
run, or the voltage was still falling when the run ended. Which of these, and when, is the collapse.
Synchronism that another disturbance takes away later is none.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from psmr.base.errors import first_few
from psmr.dae.system.system import System
from psmr.devices.catalogue import DC_ROLES
from psmr.devices.placement import placement
from psmr.integrate.timeline.span import Span
from psmr.network.topology.network import power_base
from psmr.study.detectors.detector import Stop
from psmr.study.detectors.voltages import Voltages

SHOWN = 8

Ending = Literal["synchronism is lost", "there is no solution beyond", "it is falling", "it stays low"]


@dataclass(frozen=True)
class Moves:
    """The positions of a tap changer or a shunt over a run.

    `device`, `acts_on`: names of the control and of what it moves.
    `t`, `position`: since when in s it has been where.
    `most`: number of positions of a tap changer, of which 1 is the lowest; 0 where that is not known.
    """

    device: str
    acts_on: str
    t: tuple[float, ...]
    position: tuple[float, ...]
    most: int = 0

    @property
    def left(self) -> tuple[int, int] | None:
        """How many positions are left below and above the last one; None where that is not known."""
        return (int(self.position[-1]) - 1, self.most - int(self.position[-1])) if self.most else None


@dataclass(frozen=True)
class Shed:
    """Load that a control took off, in MW by its data; `part` of it is off by then."""

    t: float
    load: str
    by: str
    mw: float
    part: float

    def __str__(self) -> str:
        return f"{self.load} {self.mw:.4g} MW (t = {self.t:.4g} s)"


@dataclass(frozen=True)
class Collapse:
    """A voltage collapse: when in s, which bus was low first and since when, and how it ended."""

    t: float
    bus: str
    since: float
    ending: Ending


LOST, UNSOLVABLE, FALLING, STOPPED = get_args(Ending)


@dataclass(frozen=True)
class Controls:
    """What the slow controls of a run did.

    `limited`: (time in s, machine) of limiters that took over, each machine at its first.
    `taps`, `shunts`: those that moved.
    `shed`: load that was shed, in order of time.
    `direct`: (time in s, converter or line, kind of its act, whether it is as before from then on) of failed
      commutations, blocks and recoveries.
    """

    limited: tuple[tuple[float, str], ...] = ()
    taps: tuple[Moves, ...] = ()
    shunts: tuple[Moves, ...] = ()
    shed: tuple[Shed, ...] = ()
    direct: tuple[tuple[float, str, str, bool], ...] = ()
    collapse: Collapse | None = None

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines whose limiters took over, in order of time."""
        return tuple(machine for _, machine in self.limited)

    def direct_current(self) -> str:
        """Return what happened to direct current in a sentence; "" where nothing did."""
        said = []
        for kind, words in (("commutation", "commutation failed at {}"), ("block", "{} blocked or bypassed")):
            acts = [(t, name) for t, name, of, _ in self.direct if of == kind]
            if acts:
                more = f", {len(acts)} times" if len(acts) > 1 else ""
                said.append(f"{words.format(acts[0][1])} (t = {acts[0][0]:.4g} s{more})")
        last = {name: (t, good) for t, name, _, good in self.direct}
        out = [name for name, (_, good) in last.items() if not good]
        back = f"recovered by t = {max((t for t, _ in last.values()), default=0.0):.4g} s"
        words = ", ".join([*said, f"{_and(out)} not recovered" if out else back])
        return f"{words[:1].upper()}{words[1:]}." if said else ""

    def headline(self, words: str) -> str:
        """Return the collapse in a sentence, and what else is said of the run."""
        if self.collapse is None:
            return f"{words} {self.direct_current()}".strip()
        t, falling = self.collapse.t, self.collapse.ending == FALLING
        before = [machine for at, machine in self.limited if at <= t]
        limits = "its excitation limit" if len(before) == 1 else "their excitation limits"
        after = f", after {_and(before)} reached {limits}" if before else ""
        what = "was collapsing when the run ended," if falling else "collapsed"
        ending = f": {self.collapse.ending}" if self.collapse.ending == UNSOLVABLE else ""
        return f"Voltage {what} at t = {t:.4g} s{after}{ending}. {words}"

    def facts(self) -> list[tuple[str, str]]:
        """Return what they did as pairs of words."""
        found = []
        if self.limited:
            words = [f"{machine} (t = {t:.4g} s)" for t, machine in self.limited]
            found.append(("machines at a limit of excitation", first_few(words, SHOWN)))
        for what, moves in (("taps", self.taps), ("shunts", self.shunts)):
            if moves:
                times = [t for one in moves for t in one.t[1:]]
                count = f"{len(times)} moves of {len(moves)}, t = {min(times):.4g} to {max(times):.4g} s"
                ended = [one.acts_on for one in moves if one.left and 0 in one.left]
                end = first_few(ended, SHOWN) or "none"
                found.append((f"{what} that moved", f"{count}; at the end: {end}"))
        if self.shed:
            total = sum(one.mw for one in self.shed)
            found.append(("load shed", f"{total:.4g} MW: {first_few(list(map(str, self.shed)), SHOWN)}"))
        return found


def _and(names: Sequence[str]) -> str:
    """Return names in a row, the first few of many."""
    if len(names) > SHOWN:
        return first_few(names, SHOWN)
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def controls_of(system: System, spans: Sequence[Span], collapse: Collapse | None = None) -> Controls:
    """Return what the slow controls did in the spans of a run of a system."""
    acts_on = {device.name: device.acts_on for device in system.devices}
    limited: dict[str, float] = {}
    moves: dict[str, dict[str, list[tuple[float, float]]]] = {"tap": {}, "shunt": {}}
    shed: list[Shed] = []
    direct = []
    current = {d.name for d in system.devices if placement(d.component).role in DC_ROLES}
    for before, now in itertools.pairwise(spans):
        for act in itertools.chain.from_iterable(change.acts for change in now.changes):
            name = acts_on.get(act.device, "") or act.device
            if act.device in current and act.kind in ("commutation", "block", "recovery"):
                owner = act.device.removesuffix("-control")
                direct.append((now.t, owner, act.kind, act.kind == "recovery" and act.value == 0))
            elif act.kind == "limiter" and act.value > 0:
                limited.setdefault(name, now.t)
            elif act.kind in moves:
                moves[act.kind].setdefault(act.device, []).append((now.t, act.value))
            elif act.kind == "shedding":
                shed.append(Shed(now.t, name, act.device, _lost(system, before, now, name), act.value))
    taps, shunts = (
        tuple(_moved(system, spans[0], device, acts_on[device], rows) for device, rows in found.items())
        for found in moves.values()
    )
    by_time = tuple((t, machine) for machine, t in limited.items())
    return Controls(by_time, taps, shunts, tuple(shed), tuple(direct), collapse)


def _moved(
    system: System, first: Span, device: str, acts_on: str, rows: Sequence[tuple[float, float]]
) -> Moves:
    values = system.parameters_at(device, first.parameters)
    began = values.get("at", values.get("tap", rows[0][1]))
    t, position = zip(*rows, strict=True)
    return Moves(device, acts_on, (first.t, *t), (float(began), *position), int(values.get("positions", 0)))


def _lost(system: System, before: Span, now: Span, load: str) -> float:
    """Return what a change took off a load in MW, by its data; 0 of a motor, which has none."""
    then, left = (system.parameters_at(load, span.parameters) for span in (before, now))
    return float((power_base(system) or 0.0) * then.get("p", 0.0) * (left["shed"] - then["shed"]))


def collapse_of(
    voltages: Voltages, t_end: float, lost: float | None, failed: bool, stopped: Stop | None
) -> Collapse | None:
    """Return the collapse of a run by what happened to its voltages; None where there is none.

    `lost`: when in s synchronism was lost; `failed`: whether the run ended without a solution.
    """
    if stopped is not None and stopped.monitor == "voltage collapse":
        return Collapse(stopped.t, stopped.what.partition(" ")[0], stopped.t, STOPPED)
    if lost is not None:
        low = voltages.low_at(lost)
        return Collapse(lost, low[0][1], low[0][0], LOST) if low else None
    still = voltages.still_low(falling=not failed)
    if not still:
        return None
    since, bus = still[0]
    return Collapse(t_end, bus, since, UNSOLVABLE if failed else FALLING)
