"""Whether a step that failed has a solution: its own equations, solved from several starts.

The trapezoidal rule and Newton's method are those of newton.py, not psmr's; psmr gives the functions of the
DAE and what the events have made of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr import assemble
from tests.internals import System, schedule, with_event_devices
from tests.programs.robustness.newton import Stage, damped_newton
from tests.standing import after

Reals = NDArray[np.float64]

# Random starts disturb the algebraic variables by these parts of themselves; each so often. Of a step that is
# divided the parts begin at good points, and one is enough.
SPREADS, DRAWS = (0.05, 0.2, 0.5, 1.0), 2
# Points of a continuation, and into how many parts a step is divided, one after the other.
CONTINUED, DIVISIONS = 32, (2, 4, 8, 16)
# The last starts: a solution that only they lead to is one without a voltage.
FOLLOWED, DOWN = "continuation", "voltages at"


@dataclass(frozen=True)
class Verdict:
    """What became of a failed step: from which start a solution was found, and how far it is.

    Attributes
    ----------
    what
        ``"step"`` or ``"event"``: the equations that were solved.
    t, h
        Time of the last point and the step from there in s.
    start
        Words for the start that led to a solution, empty where none did.
    parts
        Into how many steps the failed one had to be divided: 1 where its own equations have a solution.
    iterations
        Newton iterations from that start.
    change
        Largest change of a variable from the last point, relative to max(1, |value|), and its name.
    point
        The solution by name; devices that have left are not in it.
    """

    what: str
    t: float
    h: float
    start: str = ""
    iterations: int = 0
    change: tuple[float, str] = (0.0, "")
    point: Mapping[str, float] = field(default_factory=dict, repr=False)
    parts: int = 1

    @property
    def solved(self) -> bool:
        """Whether the equations themselves have a solution, other than a collapsed one."""
        return bool(self.start) and self.parts == 1 and not self.collapsed

    @property
    def collapsed(self) -> bool:
        """Whether the only solution found is one that begins at collapsed voltages."""
        return self.start.startswith(DOWN)

    @property
    def lowest(self) -> str:
        """Words for the lowest voltage of the solution, by which one that has collapsed is known."""
        v = {
            name[:-5]: math.hypot(value, self.point[f"{name[:-5]}.v_im"])
            for name, value in self.point.items()
            if name.endswith(".v_re")
        }
        return f", lowest voltage {min(v.values()):.3g} pu at {min(v, key=lambda bus: v[bus])}" if v else ""

    @property
    def crossed(self) -> bool:
        """Whether smaller steps lead to where the failed one should have."""
        return bool(self.start) and self.parts > 1

    def __str__(self) -> str:
        where = f"oracle: {self.what} from t = {self.t:.6g} s"
        if not self.start:
            return f"{where}, h = {self.h:.3g} s: no solution from any start"
        divided = f" in {self.parts} steps, the last one" if self.parts > 1 else ""
        return (
            f"{where}, h = {self.h:.3g} s: solved{divided} from {self.start} in {self.iterations} "
            f"iterations, largest change {self.change[0]:.3g}, of {self.change[1]}{self.lowest}"
        )


def present(
    system: System, events: Sequence[Any], t_end: float, run: Any
) -> tuple[Callable[[float], System], bool, float]:
    """Return the system at times after the last point, whether an event failed there, and the next instant.

    Devices that have left are not in the system; parameters and held inputs are those of the time. An event
    whose equations were solved stands twice in the trajectory; the last point of one that failed stands once.
    """
    changes = schedule(with_event_devices(system, events), events, t_end)
    t = float(run.t[-1])
    # A run that begins with an event has a row for its start and one for after the event.
    made = [change for change in changes if change.t <= t + 1e-9]
    event = any(abs(change.t - t) <= 1e-9 for change in made) and np.sum(np.abs(run.t - t) <= 1e-9) < 2
    now = after(system, made, t)
    gone = {name for change in made for name in change.out}
    values = dict(
        zip(
            (*system.names_x, *system.names_y, *system.names_u),
            (*run.x[-1], *run.y[-1], *now.u0),
            strict=True,
        )
    )
    devices = [
        replace(d, parameters={name: now.parameter(d.name, name) for name in d.parameters})
        for d in system.devices
        if d.name not in gone
    ]
    kept = {name: float(v) for name, v in values.items() if name.rpartition(".")[0] not in gone}
    following = min((change.t for change in changes if change.t > t + 1e-9), default=t_end)
    left, courses = assemble(devices, kept, system.name), {}
    for change in made:
        for device, name, _ in change.parameters:
            courses.pop(f"{device}.{name}", None)
        courses |= dict(change.courses)
    moving = {name: c for name, c in courses.items() if name.rpartition(".")[0] not in gone}

    def at(time: float) -> System:
        values = ((*name.rpartition(".")[::2], float(course.at(time))) for name, course in moving.items())
        return left.with_values(values) if moving else left

    return at, bool(event), min(following, t_end)


def failed_step(system: System, events: Sequence[Any], t_end: float, run: Any, h: float) -> Verdict:
    """Look for a solution of what failed at the end of a run of the trapezoidal rule with step h in s."""
    at, event, following = present(system, events, t_end, run)
    t = float(run.t[-1])
    now = at(t)
    h = 0.0 if event else min(h, following - t)
    last = np.r_[now.x0, now.y0]
    found = _solved(at, last, t, h, starts(system, now, last, h, run))
    parts = 1
    if h > 0 and (found is None or found[0].startswith(DOWN)):
        for count in DIVISIONS:
            if (divided := _divided(system, at, last, t, h, count)) is not None:
                found, parts = divided, count
                break
    what = "event" if event else "step"
    if found is None:
        return Verdict(what, t, h)
    words, z, iterations = found
    change = np.abs(z - last) / np.maximum(1.0, np.abs(last))
    worst = int(change.argmax())
    names = (*now.names_x, *now.names_y)
    point = dict(zip(names, z.tolist(), strict=True))
    return Verdict(what, t, h, words, iterations, (float(change[worst]), names[worst]), point, parts)


def _divided(
    system: System, at: Callable[[float], System], last: Reals, t: float, h: float, parts: int
) -> tuple[str, Reals, int] | None:
    """Take the step in parts, each from the solution of the one before; None where one has no solution."""
    z, h = last, h / parts
    words, iterations = "", 0
    for k in range(parts):
        found = _solved(at, z, t + k * h, h, starts(system, at(t + k * h), z, h))
        if found is None:
            return None
        words, z, iterations = found
    return words, z, iterations


def _solved(
    at: Callable[[float], System], last: Reals, t: float, h: float, tries: Iterator[tuple[str, Reals]]
) -> tuple[str, Reals, int] | None:
    """Return (start, solution, iterations) of the step of h in s from a point, None where none was found."""
    now = at(t)
    n = now.n
    rate = projected(now, last, t)

    def stage(step: float) -> Stage:
        free = replace(at(t + step), lower=np.full(n, -np.inf), upper=np.full(n, np.inf))
        return Stage(free, now, last[:n] + step / 2 * rate, step / 2, t + step)

    for words, start in tries:
        z, iterations = _continued(stage, last, h) if words == FOLLOWED else damped_newton(stage(h), start)
        if z is not None:
            return words, z, iterations
    return None


def projected(system: System, last: Reals, t: float) -> Reals:
    """Return (n,) derivatives at a point: 0 where a constant limit holds, raw at a limit that moves."""
    x, y = last[: system.n], last[system.n :]
    raw = system.residual(system.buffer(x, y, t=t))[: system.n]
    moves = np.where(raw > 0, system.upper_at, system.lower_at) >= 0
    return np.where(moves, raw, system.f(x, y, t=t))


def starts(
    system: System, now: System, last: Reals, h: float, run: Any = None
) -> Iterator[tuple[str, Reals]]:
    """Yield starts for Newton, with words for each; `run` ends with the point `last`."""
    n = now.n
    yield "the last point", last
    if run is not None and len(run.t) > 1 and run.t[-1] > run.t[-2]:
        places_x = [system.names_x.index(name) for name in now.names_x]
        places_y = [system.names_y.index(name) for name in now.names_y]
        before = np.r_[run.x[-2][places_x], run.y[-2][places_y]]
        yield "a line through the last two points", last + h / (run.t[-1] - run.t[-2]) * (last - before)
    whole = dict(zip(system.names_y, system.y0, strict=True))
    yield "the algebraic variables of the equilibrium", np.r_[last[:n], [whole[name] for name in now.names_y]]
    random = np.random.default_rng(0)
    for spread in SPREADS * DRAWS if run is not None else SPREADS[1:2]:
        disturbed = last[n:] * (1 + spread * random.standard_normal(now.m))
        yield f"algebraic variables disturbed by {spread:g}", np.r_[last[:n], disturbed]
    yield FOLLOWED, last
    voltages = np.array([name.endswith((".v_re", ".v_im")) for name in now.names_y])
    for part in (0.1, 1e-2, 1e-4) if run is not None else ():
        yield f"{DOWN} {part:g} of themselves", np.r_[last[:n], np.where(voltages, part, 1.0) * last[n:]]


def _continued(stage: Callable[[float], Stage], last: Reals, h: float) -> tuple[Reals | None, int]:
    """Follow the solution in the length of the step; after an event, in the residual it leaves."""
    z: Reals | None = last
    whole, iterations = stage(h), 0
    # At a rest of 1 the last point solves the equations.
    left = whole.residual(last)[0] if h == 0 else None
    for part in np.linspace(0.0, 1.0, CONTINUED + 1)[1:]:
        if left is None:
            z, more = damped_newton(stage(float(part) * h), z)
        else:
            z, more = damped_newton(whole, z, (1 - part) * left)
        iterations += more
        if z is None:
            break
    return z, iterations
