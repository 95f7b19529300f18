"""The outcome of a run, read from its recorded points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.component import parameters_of
from psmr.dae.system.system import System
from psmr.grid.models.converters.forming import GridFormingConverter
from psmr.study.record.outcome import LOW_VOLTAGE, STEP_OUT_DEG, Extreme, Limit, LostSynchronism, Outcome
from psmr.study.record.recorded import Recorded
from psmr.study.record.spans import Span, limits_in
from psmr.study.record.terminals import nominal_frequency
from psmr.study.topology.islands import islands
from psmr.study.topology.network import buses
from psmr.study.topology.plants import plants

Reals = NDArray[np.float64]

# A state counts as at its limit within this part of max(1, |limit|): rounding of the projection onto it.
AT_LIMIT = 1e-9


@dataclass(frozen=True)
class Source:
    """A source with an angle of its own: a machine, a converter that forms the voltage, an infinite bus.

    Attributes
    ----------
    name, bus
        Its own and its bus's.
    angle
        Name of its angle in rad, a state; of an infinite bus, which keeps it, a held input.
    weight
        Kinetic energy at nominal speed, h s_n in MWs; the rating s_n in MVA for a converter; infinite for an
        infinite bus.
    machine
        Whether it is a machine.
    """

    name: str
    bus: str
    angle: str
    weight: float
    machine: bool


def outcome_of(run: Recorded) -> Outcome:
    """Return the outcome of a run; without its system only how it ended."""
    system = run.system
    if system is None:
        return Outcome(machines=0, t_end=float(run.t[-1]), stopped=run.stopped)
    sources = sources_of(system)
    groups = [
        (span, members)
        for span in run.spans
        for members in together(system, span, sources)
        if span.rows.stop > span.rows.start
    ]
    lost, spread = _angles(run, groups)
    nadir, overshoot = _frequencies(run, groups)
    lowest, low, end = _voltages(run)
    return Outcome(
        machines=len(sources),
        t_end=float(run.t[-1]),
        lost=lost,
        angle_spread=spread,
        lowest_voltage=lowest,
        low_voltage=low,
        end_voltage=end,
        nadir=nadir,
        overshoot=overshoot,
        limits=_limits(run, system),
        stopped=run.stopped,
    )


def sources_of(system: System) -> tuple[Source, ...]:
    """Return the sources of a system with an angle of their own."""
    devices = {device.name: device for device in system.devices}
    found = []
    for plant in plants(system).values():
        values = devices[plant.name].parameters
        component = devices[plant.name].component
        if plant.machine:
            weight = values["h"] * values["s_n"]
            found.append(Source(plant.name, plant.bus, f"{plant.name}.delta", weight, True))
        elif f"{plant.name}.delta" in system.names_u:
            found.append(Source(plant.name, plant.bus, f"{plant.name}.delta", math.inf, True))
        elif issubclass(component, GridFormingConverter):
            found.append(Source(plant.name, plant.bus, f"{plant.name}.theta", values["s_n"], False))
    return tuple(found)


def angles_of(run: Recorded, span: Span, members: Sequence[Source]) -> Reals:
    """Return (K, members) angles in rad in a span."""
    assert run.system is not None
    place = {name: i for i, name in enumerate(run.names_x)}
    held = {name: i for i, name in enumerate(run.system.names_u)}
    t = run.t[span.rows]
    columns = [
        run.x[span.rows, place[s.angle]] if s.angle in place else span.held(t)[:, held[s.angle]]
        for s in members
    ]
    return np.column_stack(columns)


def centre_of_inertia(values: Reals, members: Sequence[Source]) -> Reals:
    """Return (K,) mean of (K, members) angles or speeds, weighted with the kinetic energy.

    That of an infinite bus outweighs all others.
    """
    weights = np.array([source.weight for source in members])
    if np.isinf(weights).any():
        weights = np.isinf(weights).astype(float)
    return np.asarray(values @ weights / weights.sum())


def together(system: System, span: Span, sources: Sequence[Source]) -> list[list[Source]]:
    """Return the sources of each island of a span that has any."""
    out = span.absent(system)
    here = [source for source in sources if source.name not in out]
    found = [[s for s in here if s.bus in island] for island in islands(system, out)]
    return [members for members in found if members]


def _angles(
    run: Recorded, groups: Sequence[tuple[Span, list[Source]]]
) -> tuple[LostSynchronism | None, Extreme | None]:
    """Return the first loss of synchronism and the largest angle spread."""
    lost: LostSynchronism | None = None
    spread: Extreme | None = None
    for span, members in groups:
        if len(members) < 2:
            continue
        names = [source.name for source in members]
        degrees = np.degrees(angles_of(run, span, members))
        wide = degrees.max(axis=1) - degrees.min(axis=1)
        k = int(wide.argmax())
        if spread is None or wide[k] > spread.value:
            pair = f"{names[int(degrees[k].argmax())]} and {names[int(degrees[k].argmin())]}"
            spread = Extreme(float(wide[k]), f"between {pair}", float(run.t[span.rows][k]))
        over = np.flatnonzero(wide > STEP_OUT_DEG)
        if len(over) and (lost is None or run.t[span.rows][over[0]] < lost.t):
            k = int(over[0])
            order = np.argsort(degrees[k], kind="stable")
            cut = 1 + int(np.diff(degrees[k][order]).argmax())
            sides = [tuple(names[i] for i in sorted(part)) for part in (order[:cut], order[cut:])]
            first, second = sorted(sides, key=len)
            lost = LostSynchronism(float(run.t[span.rows][k]), first, second, float(wide[k]))
    return lost, spread


def _frequencies(
    run: Recorded, groups: Sequence[tuple[Span, list[Source]]]
) -> tuple[Extreme | None, Extreme | None]:
    """Return the lowest and the highest frequency of a centre of inertia, machines before converters."""
    system = run.system
    f_n = None if system is None else nominal_frequency(system)
    place = {name: i for i, name in enumerate(run.names_x)}
    lowest: Extreme | None = None
    highest: Extreme | None = None
    for span, members in groups if f_n is not None else ():
        assert f_n is not None
        turning = [s for s in members if f"{s.name}.omega" in place]
        # An infinite bus keeps the frequency of its island at the nominal one.
        if not turning or any(math.isinf(source.weight) for source in members):
            continue
        speeds = run.x[span.rows][:, [place[f"{source.name}.omega"] for source in turning]]
        hertz = f_n * centre_of_inertia(speeds, turning)
        times = run.t[span.rows]
        where = "" if len(turning) == sum(name.endswith(".omega") for name in place) else turning[0].bus
        words = f"in the island of {where}" if where else ""
        low, high = int(hertz.argmin()), int(hertz.argmax())
        if lowest is None or hertz[low] < lowest.value:
            lowest = Extreme(float(hertz[low]), words, float(times[low]))
        if highest is None or hertz[high] > highest.value:
            highest = Extreme(float(hertz[high]), words, float(times[high]))
    return lowest, highest


def _voltages(run: Recorded) -> tuple[Extreme | None, Extreme | None, Extreme | None]:
    """Return the lowest voltage, the longest time of a low one, and the lowest at the end."""
    assert run.system is not None
    names = buses(run.system)
    if not names:
        return None, None, None
    place = {name: i for i, name in enumerate(run.names_y)}
    re, im = ([place[f"{bus}.v_{part}"] for bus in names] for part in ("re", "im"))
    v = np.hypot(run.y[:, re], run.y[:, im])
    counted = np.ones(v.shape, dtype=bool)
    for span in run.spans:
        counted[span.rows] &= ~_faulted(run.system, span, names)
    seen = np.where(counted, v, np.inf)
    k, bus = map(int, np.unravel_index(int(seen.argmin()), seen.shape))
    lowest = Extreme(float(seen[k, bus]), f"at {names[bus]}", float(run.t[k]))
    last = int(v[-1].argmin())
    end = Extreme(float(v[-1, last]), f"at {names[last]}", float(run.t[-1]))
    low = Extreme(0.0, "", float(run.t[0]))
    for column in map(int, np.flatnonzero((seen < LOW_VOLTAGE).any(axis=0))):
        length, begin = longest_below(run.t, seen[:, column], LOW_VOLTAGE)
        if length > low.value:
            low = Extreme(length, f"at {names[column]}", begin)
    return lowest, low, end


def longest_below(t: Reals, v: Reals, limit: float) -> tuple[float, float]:
    """Return the longest time in s for which v is below a limit, and when that begins.

    Straight between points, but for a jump to or from a value that does not count (infinite).
    """
    best, begin_best, begin = 0.0, float(t[0]), None
    for k in range(len(t)):
        if v[k] < limit and begin is None:
            begin = float(t[k]) if k == 0 else _crossing(t, v, k, limit)
        if begin is not None and (v[k] >= limit or k == len(t) - 1):
            end = float(t[k]) if v[k] < limit else _crossing(t, v, k, limit)
            if end - begin > best:
                best, begin_best = end - begin, begin
            begin = None
    return best, begin_best


def _crossing(t: Reals, v: Reals, k: int, limit: float) -> float:
    """Return when v passes the limit between points k - 1 and k."""
    if not np.isfinite(v[k - 1]):
        return float(t[k])
    if not np.isfinite(v[k]):
        return float(t[k - 1])
    return float(t[k - 1] + (limit - v[k - 1]) / (v[k] - v[k - 1]) * (t[k] - t[k - 1]))


def _faulted(system: System, span: Span, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return for each bus whether a fault is on at it."""
    found = np.zeros(len(names), dtype=bool)
    for k, bus in enumerate(names):
        group, row, column = system.parameter_place(bus, "g_fault")
        other = list(parameters_of(system.groups[group].compiled.component)).index("b_fault")
        found[k] = bool(span.parameters[group][row, column] or span.parameters[group][row, other])
    return found


def _limits(run: Recorded, system: System) -> tuple[Limit, ...]:
    """Return the states that reached a limit, in order of time."""
    first: dict[tuple[str, str], float] = {}
    limited = np.flatnonzero(system.limited)
    for span in run.spans if len(limited) else ():
        constant = limits_in(system, span)
        moving = bool(system.limits_move.any())
        rows = range(len(run.t))[span.rows]
        w = np.column_stack([run.x[span.rows], run.y[span.rows], span.held(run.t[span.rows])])
        for i in map(int, limited):
            if run.names_x[i].rpartition(".")[0] in span.out:
                continue
            for side, bounds, at in (
                ("lower limit", constant[0], system.lower_at),
                ("upper limit", constant[1], system.upper_at),
            ):
                bound = w[:, at[i]] if moving and at[i] >= 0 else np.full(len(rows), bounds[i])
                slack = AT_LIMIT * np.maximum(1.0, np.abs(bound))
                gap = w[:, i] - bound if side == "lower limit" else bound - w[:, i]
                met = np.flatnonzero(np.isfinite(bound) & (gap <= slack))
                if len(met):
                    first.setdefault((run.names_x[i], side), float(run.t[rows[met[0]]]))
    return tuple(
        Limit(state, side, t) for (state, side), t in sorted(first.items(), key=lambda item: item[1])
    )
