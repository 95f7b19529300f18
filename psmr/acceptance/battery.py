"""The battery: what happens to the plant on the bench, by the requirements, each with its clause."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from psmr.acceptance.bench import SOURCE
from psmr.base.errors import InputError, nearest
from psmr.dae.system.system import System
from psmr.devices.protection.relays import curves
from psmr.study.events import Event, Fault, SetPoint
from psmr.sweep.axes.axis import EVENT, Base, Points, Variation

BEGINS = 0.5
"""When every disturbance begins, in s."""

AFTER = 3.0
"""How long a run goes on after it, in s."""

DEPTHS = (0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Voltages in pu that remain in dips."""

BOLTED = 0.01
"""Voltage in pu that remains in a dip to zero: that of a fault with an arc."""

SHORT = 0.1
"""Duration in s of the short dips; the long ones last as long as is required."""

LONGEST = 10.0
"""Time in s for which anything is held at most: where more is asked, the name of the trial says so."""

PHASES = {"ag": "one phase to ground", "bc": "two phases", "bcg": "two phases to ground"}
"""The kinds of unequal dips, which need phases."""

STEP, JUMPS, FREQUENCIES = 0.05, (10.0, 25.0), (1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 150.0)
"""Size of the steps of set-points in pu, phase jumps in degrees and frequencies in Hz of the scan."""


@dataclass(frozen=True)
class Trial:
    """One disturbance: what happens, what asks for it (`clause`, or "" for what is looked at without).

    `kind`: ``"rest"``, ``"dip"``, ``"swell"``, ``"jump"``, ``"frequency"``, ``"step"`` or ``"scan"``.
    `level`: voltage that remains in pu, or degrees, Hz, the size of a step in pu, the frequency of a scan.
    `duration`: for how long, in s. `what`: the phases of a dip, or the set-point of a step.
    `rate`: of a frequency, in Hz/s. `recovery`: s until the active power is back, with its clause.
    """

    name: str
    kind: str
    clause: str = ""
    level: float = 0.0
    duration: float = 0.0
    what: str = ""
    rate: float = 0.0
    recovery: tuple[float, str] | None = None

    @property
    def clears(self) -> float:
        """When the disturbance is over, in s."""
        ramps = 2 * abs(self.level) / self.rate if self.kind == "frequency" else 0.0
        return BEGINS + self.duration + ramps

    @property
    def t_end(self) -> float:
        """When the run ends, in s."""
        return self.clears + AFTER


@cache
def requirements(file: str | os.PathLike[str] | None = None) -> Mapping[str, Mapping[str, Any]]:
    """Return what standards ask, by name: those that psmr has, and those of a file of the same form."""
    found = tomllib.loads((Path(__file__).parent / "requirements.toml").read_text(encoding="utf-8"))
    if file is not None:
        try:
            own = tomllib.loads(Path(file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InputError(f"{file}: cannot be read as requirements: {error}") from error
        for name, asked in own.items():
            for part, values in asked.items():
                if isinstance(values, dict) and "clause" not in values:
                    raise InputError(f"{file}: [{name}] {part}: clause is missing; say what asks for it")
        found |= own
    return found


def battery(
    system: System, standards: tuple[str, ...], file: str | os.PathLike[str] | None, hertz: float
) -> tuple[Trial, ...]:
    """Return the trials of a plant on the bench."""
    known = requirements(None if file is None else os.fspath(file))
    for name in standards:
        if name not in known:
            raise InputError(
                f"there is no standard {name!r}{nearest(name, known)}; known: {', '.join(known)}"
            )
    asked = {name: known[name] for name in standards if known[name].get("frequency_hz", hertz) == hertz}
    recovery = _first(asked, "recovery")
    back = None if recovery is None else (float(recovery["seconds"]), str(recovery["clause"]))
    found = [Trial("at rest", "rest"), *_voltages(asked, back), *_jumps(asked), *_frequencies(asked, hertz)]
    own = {d.name for d in system.devices} - {SOURCE}
    for name in system.names_u:
        device, _, port = name.rpartition(".")
        # Frequency has trials of its own.
        if device in own and port in ("ref", "p_ref", "q_ref", "v_ref", "q_ext", "p_ext"):
            found += [Trial(f"{name} {s * STEP:+g} pu", "step", level=s * STEP, what=name) for s in (1, -1)]
    found += [Trial(f"impedance at {f:g} Hz", "scan", level=f) for f in FREQUENCIES]
    return tuple({trial.name: trial for trial in found}.values())


def _first(asked: Mapping[str, Mapping[str, Any]], part: str) -> Mapping[str, Any] | None:
    """Return the first of the standards' answers to something."""
    return next((parts[part] for parts in asked.values() if part in parts), None)


def _voltages(asked: Mapping[str, Mapping[str, Any]], back: tuple[float, str] | None) -> Iterator[Trial]:
    voltage = _first(asked, "voltage")
    if voltage is None:
        return
    points = curves()[voltage["curve"]] if "curve" in voltage else {}
    sides = {
        side: voltage.get(side)
        or sorted(
            (points[f"{side}_{k}"], points[f"{side}_time_{k}"]) for k in range(1, 1 + _count(points, side))
        )
        for side in ("low", "high")
    }
    clause = voltage["clause"]
    for v in DEPTHS:
        needed = next((time for below, time in sides["low"] if v < below), None)
        for time in (SHORT, needed) if needed else ():
            for phases in ("abc", *PHASES):
                kind = f", {PHASES[phases]}" if phases != "abc" else ""
                name = f"dip to {v:g} pu for {min(time, LONGEST):g} s{kind}"
                yield Trial(name, "dip", clause, v, min(time, LONGEST), phases, recovery=back)
    # Up to the next voltage of the curve the time of a point is asked for: just below that one.
    high = sorted(sides["high"])
    for (_, time), (beyond, _) in pairwise(high):
        held, more = min(time, LONGEST), f" of {time:g}" if time > LONGEST else ""
        name = f"swell to {beyond:g} pu for {held:g}{more} s"
        yield Trial(name, "swell", clause, beyond, held, recovery=back)


def _count(points: Mapping[str, float], side: str) -> int:
    return sum(name.startswith(f"{side}_time_") for name in points)


def _jumps(asked: Mapping[str, Mapping[str, Any]]) -> Iterator[Trial]:
    jump = _first(asked, "jump")
    for degrees in JUMPS if jump is None else sorted({*JUMPS, jump["degrees"]}):
        clause = jump["clause"] if jump is not None and degrees <= jump["degrees"] else ""
        for sign in (1, -1):
            yield Trial(f"phase jump of {sign * degrees:+g} deg", "jump", clause, sign * degrees)


def _frequencies(asked: Mapping[str, Mapping[str, Any]], hertz: float) -> Iterator[Trial]:
    frequency, rocof = _first(asked, "frequency"), _first(asked, "rocof")
    if frequency is None or rocof is None:
        return
    held = min(frequency["time"], LONGEST)
    of = f" of {frequency['time']:g}" if frequency["time"] > held else ""
    clause = f"{frequency['clause']}; {rocof['clause']}"
    for to in (frequency["low"], frequency["high"]):
        name = f"{to:g} Hz at {rocof['hz_per_s']:g} Hz/s for {held:g}{of} s"
        yield Trial(name, "frequency", clause, to - hertz, held, rate=rocof["hz_per_s"])


def impedance(system: System) -> complex:
    """Return the impedance of the source in pu of the system."""
    p = system.device(SOURCE).parameters
    return complex(p["r_a"], p["x_d1"]) * p["s_base"] / p["s_n"]


def disturbance(trial: Trial, system: System, bus: str, hertz: float) -> tuple[Event, ...]:
    """Return the events of a trial on the bench."""
    start, clear = BEGINS, BEGINS + trial.duration
    if trial.kind == "dip":
        return (_dip(trial, system, bus),)
    if trial.kind == "swell":
        v = abs(complex(*(system.w0[system.index(f"{bus}.v_{part}")] for part in ("re", "im"))))
        return SetPoint(SOURCE, "gain", trial.level / v, start), SetPoint(SOURCE, "gain", 1.0, clear)
    if trial.kind == "jump":
        return (SetPoint(SOURCE, "jump", math.radians(trial.level), start),)
    if trial.kind == "frequency":
        ramp = abs(trial.level) / trial.rate
        there = SetPoint(SOURCE, "dw", trial.level / hertz, start, start + ramp)
        return there, SetPoint(SOURCE, "dw", 0.0, clear + ramp, clear + 2 * ramp)
    if trial.kind == "step":
        device, _, port = trial.what.rpartition(".")
        value = float(system.w0[system.index(trial.what)]) + trial.level
        return (SetPoint(device, port, value, start),)
    return ()


def _dip(trial: Trial, system: System, bus: str) -> Fault:
    """Return the fault that leaves a voltage at the bus where the plant has no current.

    With the source's voltage e, the impedance R + jX (the same in all sequences) and a fault of r, |V| is
    |e r / (r + R + jX)| for three phases and for one to the ground, and for the voltage between two phases
    with r / 2. A resistance lets what the network stores decay, which an inductance would keep.
    """
    e = float(system.w0[system.index(f"{SOURCE}.e")])
    v = abs(complex(*(system.w0[system.index(f"{bus}.v_{part}")] for part in ("re", "im"))))
    rest = max(trial.level, BOLTED) * v / e
    z = impedance(system)
    # (1 - rest^2) r^2 - 2 rest^2 R r - rest^2 |Z|^2 = 0
    a, b, c = 1 - rest**2, -2 * rest**2 * z.real, -((rest * abs(z)) ** 2)
    r = (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
    return Fault(
        bus, BEGINS, BEGINS + trial.duration, phases=trial.what, x=0.0,
        r=r * (1 if trial.what in ("abc", "ag") else 2),
    )  # fmt: skip


@dataclass(frozen=True)
class Trials:
    """The axis of a sweep that has a trial at each point."""

    trials: tuple[Trial, ...]
    bus: str
    together: str = ""

    kind: ClassVar[str] = "acceptance"
    rank: ClassVar[int] = EVENT

    def points(self, base: Base) -> Points:
        """See `Axis`."""
        return [
            Variation(
                (("trial", t.name), ("kind", t.kind), ("clause", t.clause)),
                events=disturbance(t, base.system, self.bus, base.case.frequency_hz),
            )
            for t in self.trials
        ]
