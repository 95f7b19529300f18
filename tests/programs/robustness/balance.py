"""Power balance at every bus and point of runs with random events, relays and conditions, by their signals.

Run ``python -m tests.programs.robustness.balance --seed S --count N`` from the repository's root. At each bus
what sources give is what loads, shunts and branches take; where a three-phase fault is on the rest is what
its impedance draws. Each instant stands twice at most. Nothing here reads how psmr keeps what holds when.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import psmr
from psmr.errors import InputError, PsmrError, PsmrWarning
from tests.internals import DeviceRow, RelayRow, System, placement
from tests.programs.robustness import lists, systems
from tests.programs.robustness.systems import OWN, branches, buses

CASES = (*OWN, "wscc9-static", "new-england-plants")

LARGEST = 1e-8
"""In pu, for each bus and point."""

PHASES = ("ag", "bc", "abg", "abc")
T_END = 2.5


@dataclass(frozen=True)
class Unbalance:
    """The largest power that is missing at a bus, in pu."""

    missing: float
    bus: str
    t: float

    def __str__(self) -> str:
        return f"{self.missing:.3g} pu missing at {self.bus} at t = {self.t:.9g} s"


@functools.cache
def load(name: str) -> tuple[Any, System]:
    """Return a case and its system at the equilibrium."""
    if name in OWN:
        return systems.load(name)
    case = psmr.case(name)
    return case, psmr.build(case)


def unbalance(run: Any) -> Unbalance:
    """Return the largest one of a run."""
    system, t = run.system, run.t
    base = next(d.parameters["s_base"] for d in system.devices if "s_base" in d.parameters)
    known, names, into = set(buses(system)), [], []
    for device in system.devices:
        for end, port in (("", ""), ("_from", "_i"), ("_to", "_j")):
            bus = device.connections.get(f"i_re{port}", "").rpartition(".")[0]
            if bus in known and f"i_re{port}" in device.component.outputs:
                names += [f"{device.name}.p{end}", f"{device.name}.q{end}"]
                into.append((bus, 1.0 if _gives(device) else -1.0))
    values = run.frame(list(dict.fromkeys(names)))
    sums = {bus: np.zeros(len(t), complex) for bus in sorted(known)}
    for (bus, sign), p, q in zip(into, names[::2], names[1::2], strict=True):
        sums[bus] += sign * (values[p].to_numpy() + 1j * values[q].to_numpy()) / base
    for bus, rows, impedance in _faults(run):
        if impedance is None:
            sums[bus][rows] = 0.0
        else:
            # As powers are: the signal v of a fixed step is off by a part of Newton's tolerance.
            parts = [run.names_y.index(f"{bus}.{part}") for part in ("v_re", "v_im")]
            v = np.hypot(*run.algebraic()[rows][:, parts].T)
            sums[bus][rows] -= v**2 / np.conj(impedance)
    bus = max(sums, key=lambda name: float(np.abs(sums[name]).max()))
    row = int(np.abs(sums[bus]).argmax())
    return Unbalance(float(np.abs(sums[bus][row])), bus, float(t[row]))


def _gives(device: Any) -> bool:
    """Return whether the signals of a device count what it gives: not those of loads and shunts."""
    given = set(device.parameters)
    return (
        placement(device.component).role not in ("motor", "composite")
        and "shed" not in given
        and not {"g", "b"} <= given
    )


def _faults(run: Any) -> Iterator[tuple[str, np.ndarray, complex | None]]:
    """Yield the buses with a fault, the rows where it is on, and its impedance where it is balanced."""
    t, known = run.t, set(buses(run.system))
    after = np.concatenate([[False], np.diff(t) == 0.0])
    for bus in known:
        at = [(c.t, {n: v for d, n, v in c.parameters if d == bus}) for c in run.changes]
        at = [(when, values) for when, values in at if "fault" in values]
        # Times that are closer than a run tells apart are one of its instants.
        at = [(float(t[np.abs(t - when).argmin()]), values) for when, values in at]
        for k, (when, values) in enumerate(at):
            until = at[k + 1][0] if k + 1 < len(at) else np.inf
            if not values["fault"] or until == when:
                continue  # none, or in its place another one at the same instant
            rows = ((t > when) & (t < until)) | ((t == when) & after) | ((t == until) & ~after)
            balanced = values["fault"] == 1.0
            yield bus, rows, complex(values["r_fault"], values["x_fault"]) if balanced else None


def thrice(run: Any) -> float | None:
    """Return an instant that stands more than twice, None where none does."""
    same = np.diff(run.t) == 0.0
    again = np.flatnonzero(same[1:] & same[:-1])
    return float(run.t[again[0] + 1]) if again.size else None


@dataclass(frozen=True)
class Task:
    """A run; it follows from case, seed and number alone."""

    case: str
    relays: tuple[Any, ...]
    events: tuple[Any, ...]
    scheme: Any

    def system(self) -> System:
        """Return the case with its relays, at its equilibrium."""
        case, _ = load(self.case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PsmrWarning)
            return psmr.build(dataclasses.replace(case, relays=self.relays))

    def __str__(self) -> str:
        relays = ", ".join(f"{r.device.type} {r.name} at {r.bus} of {r.acts_on}" for r in self.relays)
        return f"{self.case}, {self.scheme}, relays: {relays or 'none'}, events: {list(self.events)}"


def task_of(seed: int, number: int, case: str | None = None) -> Task:
    """Return a random run, the cases in turn."""
    name = case or CASES[number % len(CASES)]
    random = np.random.default_rng([seed, number, zlib.crc32(name.encode())])
    given, system = load(name)
    relays = tuple(_relay(random, given, system, k) for k in range(int(random.integers(0, 4))))
    events: list[Any] = []
    for _ in range(int(random.integers(1, 5))):
        try:
            events.append(_event(random, given, system))
        except InputError:
            continue
    return Task(name, relays, tuple(events), _scheme(random))


def _scheme(random: np.random.Generator) -> Any:
    if random.random() < 0.4:
        return psmr.VariableStep(10.0 ** int(random.integers(-6, -3)))
    method = str(random.choice(["TM", "SDIRK2", "BEM"]))
    return psmr.SingleRate(method, float(random.choice([0.002, 0.005, 0.01])))


def _one(random: np.random.Generator, of: Any) -> Any:
    of = list(of)
    if not of:
        raise InputError("the case has nothing of that kind")
    return of[int(random.integers(len(of)))]


def _number(random: np.random.Generator, low: float, high: float) -> float:
    return round(float(random.uniform(low, high)), 3)


def _relay(random: np.random.Generator, case: Any, system: System, k: int) -> Any:
    """Return a relay that acts soon or late."""
    one, number = functools.partial(_one, random), functools.partial(_number, random)
    kind = str(random.choice(["DistanceRelay", "OvercurrentRelay", "UnderVoltageShedding", "VoltageTrip"]))
    if kind in ("DistanceRelay", "OvercurrentRelay"):
        row = one(case.branches)
        bus, acts_on = one([row.from_bus, row.to_bus]), row.name
        settings = {"breaker": number(0.0, 0.1), "dead_time": one([0.0, 0.2]), "both": float(one([0, 0, 1]))}
        if kind == "DistanceRelay":
            settings |= {
                "reach_1": number(0.05, 1.0),
                "reach_2": number(1.0, 4.0),
                "delay_2": number(0.0, 0.2),
            }
        else:
            settings |= {"curve": 1, "i_set": number(0.2, 3.0), "multiplier": 0.02}
    elif kind == "UnderVoltageShedding":
        row = one(row for row in case.loads if row.motor is None and row.solved is None)
        bus, acts_on = row.bus, row.name
        settings = {"set_1": number(0.6, 0.95), "pickup_1": one([0.0, 0.05]), "shed_1": number(0.1, 1.0)}
    else:
        row = one(case.generators)
        bus, acts_on = row.bus, row.name
        settings = {
            "low": number(0.3, 0.8),
            "high": number(1.2, 1.4),
            "pickup": one([0.0, 0.1]),
            "breaker": 0.0,
        }
    return RelayRow(f"relay{k}", bus, acts_on, DeviceRow(f"relay{k}", "relay", kind, settings))


def _event(random: np.random.Generator, case: Any, system: System) -> Any:
    """Return an event, of six one on a condition."""
    event = _plain(random, case, system)
    if random.random() < 1 / 6:
        times = ("start", "clear", "clear_from", "clear_to", "close", "reclose", "reconnect", "end")
        own = {f.name: getattr(event, f.name) for f in dataclasses.fields(event)}
        shifted = {n: round(own[n] - own["start"], 3) for n in times if own.get(n) is not None}
        event = dataclasses.replace(event, **shifted)
        limit, wait = _number(random, 0.4, 0.95), str(random.choice(["", " for 0.05 s"]))
        return psmr.When(f"{_one(random, buses(system))}.v < {limit}{wait}", event)
    return event


def _plain(random: np.random.Generator, case: Any, system: System) -> Any:
    one, number = functools.partial(_one, random), functools.partial(_number, random)
    start = one([0.1, 0.2, number(0.05, 0.6)])  # some at one instant
    later = round(start + one([0.1, number(0.05, 0.3)]), 3)
    kind = str(random.choice(["fault", "line fault", "phases", "other"], p=[0.25, 0.2, 0.1, 0.45]))
    lines = branches(system, "Line")
    if kind == "fault":
        x = 1e-4 if random.random() < 0.4 else number(0.001, 0.3)
        return psmr.Fault(one(buses(system)), start, later, x=x, phases=str(random.choice(PHASES)))
    if kind == "line fault":
        ends = {"clear": later} if random.random() < 0.5 else {"clear_from": later, "clear_to": later + 0.05}
        phases = str(random.choice(PHASES))
        return psmr.Fault(line=one(lines), at=number(0.05, 0.95), start=start, phases=phases, **ends)
    if kind == "phases":
        return psmr.OpenPhases(one(lines), start, str(random.choice(["a", "bc"])), later)
    return lists.draw(random, case, system)


def judge(task: Task) -> tuple[str, str]:
    """Return what became of a run, in a word and more."""
    try:
        system, events = task.system(), list(task.events)
    except InputError as error:
        return "refused", str(error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            try:
                run = psmr.simulate(system, task.scheme, T_END, events, certify=False, partial=True)
            except InputError as error:
                wrong = getattr(error, "event", None)
                if wrong not in events:
                    return "refused", str(error)
                events.remove(wrong)  # it contradicts the others
                continue
            except PsmrError as error:
                if error.partial is None:
                    return "failed", str(error)
                run = error.partial
            break
        found, again = unbalance(run), thrice(run)
    counted = f"{len(run.acted)} acted, {len(run.instants)} instants"
    if again is not None:
        return "wrong", f"t = {again:g} s stands more than twice"
    if not found.missing <= LARGEST:
        return "wrong", str(found)
    return "balanced", f"{found}; {counted}"


def main() -> int:
    """Print what is wrong and a count; return 1 where anything is."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.robustness.balance", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    counts: dict[str, int] = {}
    for number in range(asked.first, asked.first + asked.count):
        task = task_of(asked.seed, number, asked.case)
        word, more = judge(task)
        counts[word] = counts.get(word, 0) + 1
        if word in ("wrong", "crashed") or asked.verbose:
            print(f"--seed {asked.seed} --first {number} --count 1: {word}, {more}\n  {task}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return int("wrong" in counts)


if __name__ == "__main__":
    sys.exit(main())
