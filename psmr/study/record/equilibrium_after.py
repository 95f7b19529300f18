"""The system that events of a run left: its equilibrium, and the certificate of the run's scheme there.

The equilibrium is found by Newton's method with halved steps on all equations at once, from a point of the
run. A system whose angles can all turn together is at rest here at whatever common frequency: its equations
are the same at every common angle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from partitioning import Partition, PartitionError
from psmr.base.arrays import Reals
from psmr.base.errors import InitialisationError, InputError
from psmr.base.newton import NewtonEnd, newton
from psmr.dae.system.assemble import assemble
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.dynamic.switching import unequal_phases
from psmr.network.signals.signals import units_of
from psmr.network.start.initialise import allowed_residual, with_algebraic_resolved
from psmr.network.topology.connections import system_in
from psmr.study.certificate.certificate import Certificate
from psmr.study.certificate.certify import HELD, LARGEST, certify, judged_steps, reads_time, times_within
from psmr.study.record.modes_over_period import certificate_over_period
from psmr.study.record.record import FinishedRun

ITERATIONS, HALVINGS = 40, 8

# Steps in which the changes of the events grow from nothing; ten do for a line of a meshed network.
STAGES = 10

# A direction along which the equations do not change: what rounding leaves of J r, per size of its terms.
ROUNDING = 1e-9

# What opposes a common speed, in pu, that counts as nothing: far below the droop of any governor (0.01 pu and
# more of power for 0.001 pu of speed), far above what the distance from an equilibrium leaves.
UNGOVERNED = 1e-6


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An equilibrium of a system.

    `x`, `y`: (n,) states and (m,) algebraic variables.
    `turning`: How fast all angles turn together, in rad/s; 0 at nominal frequency.
    `u`: (k,) held inputs, with what samples write as no sample changes it; None where nothing samples.
    """

    x: Reals
    y: Reals
    turning: float
    u: Reals | None = None

    def start(self, system: System) -> System:
        """Return the system, started here."""
        return system.with_start(self.x, self.y, self.u)


def equilibrium_near(system: System) -> Equilibrium | None:
    """Return the equilibrium near a system's starting point, None where none is found.

    Newton with halved steps from the system's starting point; a state that its limit holds stays there. Where
    all angles can turn together, the speed at which they do is found as well; where nothing governs the
    frequency, also the rate at which all speeds grow together. Neither changes the equations.
    """
    try:
        system = with_algebraic_resolved(
            system
        )  # a recorded point of a multirate scheme misses g = 0 by its coupling error
    except InitialisationError:
        return None
    if not system.s:
        return _equilibrium_near(system, ())
    resting = resting_system(system)
    kept = tuple(_kept(system, resting))
    found = _equilibrium_near(resting, kept)
    if found is None:
        return None
    names = (*resting.names_x, *resting.names_y, *resting.names_u)
    values = dict(zip(names, np.concatenate([found.x, found.y, resting.u0]), strict=True))
    parts = ([values[n] for n in own] for own in (system.names_x, system.names_y, system.names_u))
    x, y, u = (np.array(part, dtype=float) for part in parts)
    return Equilibrium(x, y, found.turning, u)


@dataclass(frozen=True)
class _Kept:
    """A variable that samples write, of a system at rest: position of its equation and its own in (x, y).

    `turns`: Time in s for which it turns with the angles from one sample to the next; 0 where it is none.
    """

    row: int
    column: int
    turns: float


def resting_system(system: System) -> System:
    """Return a system with what its samples write as algebraic variables, which no sample changes."""
    names = (*system.names_x, *system.names_y, *system.names_u)
    start = dict(zip(names, map(float, system.w0[:-1]), strict=True))
    found = assemble([device.at_rest for device in system.devices], start, name=system.name)
    lower, upper = found.constant_limits(system.parameters)
    made = replace(found, parameters=system.parameters, lower=lower, upper=upper)
    return replace(made, w0=made.buffer(t=float(system.w0[-1])))


def _kept(system: System, resting: System) -> Iterator[_Kept]:
    """Yield what samples write of a system at rest."""
    rows = {name: k for k, name in enumerate(resting.names_g, resting.n)}
    for device in system.devices:
        samples, units = device.component.samples, device.component.units
        if samples is None:
            continue
        period = system.parameter(device.name, samples.period)
        for name in device.at_rest.component.kept:
            full = f"{device.name}.{name}"
            yield _Kept(rows[full], resting.index(full), period if units.get(name) == "rad" else 0.0)


def _equilibrium_near(system: System, kept: Sequence[_Kept]) -> Equilibrium | None:
    """Return the equilibrium near the start of a system with what samples write among its variables."""
    t, n = float(system.w0[-1]), system.n
    motions = common_motions(system, kept)
    pins = [int(np.abs(motion).argmax()) for motion in motions]

    def off(x: Reals, y: Reals, rates: Reals) -> Reals:
        left = np.concatenate([system.f(x, y, t=t), system.g(x, y, t=t)])
        for k, motion in enumerate(
            _turn(system, x, y) if k == 0 else motions[k] for k in range(len(motions))
        ):
            left[:n] -= rates[k] * motion[:n]
        for variable in kept if motions else ():
            left[variable.row] -= rates[0] * variable.turns
        return left

    with np.errstate(all="ignore"):  # a step too far may leave the finite numbers, and is then halved
        return _newton(system, t, motions, pins, off, kept)


def equilibrium_after(
    system: System, span: Span, first: tuple[Reals, Reals], here: System, near: bool
) -> Equilibrium | None:
    """Return the equilibrium of the system as a span of a run has it, None where none is found.

    `system`, `span`: the system of the run at its start, and the span; `first`: (x, y) of the whole system at
    the first point of the run; `here`: the system of the span, started at the point of the run from which the
    equilibrium is sought; `near`: whether that point is tried first. A run that lost synchronism is anywhere,
    and its first point is led over instead, as the changes of the events grow.
    """
    found = equilibrium_near(here) if near else None
    after = system_in(system, span, *first, float(here.w0[-1]))
    return found or equilibrium_by_continuation(system, span, *first, after) or equilibrium_near(here)


def equilibrium_by_continuation(
    system: System, span: Span, x: Reals, y: Reals, after: System
) -> Equilibrium | None:
    """Return the equilibrium that a first point is led to while the events' changes grow from nothing.

    `after` is the system of the span, started at the first point. Nothing grows where devices left.
    """
    start = after
    for part in np.arange(1, STAGES) / STAGES if not span.out else ():
        mixed = tuple(
            (1 - part) * old + part * new for old, new in zip(system.parameters, span.parameters, strict=True)
        )
        inputs = (1 - part) * system.u0 + part * span.inputs
        stage = replace(system, parameters=mixed, w0=system.buffer(x, y, inputs, float(after.w0[-1])))
        found = equilibrium_near(stage)
        if found is None:
            return None
        x, y = found.x, found.y
        start = found.start(after)
    return equilibrium_near(start)


def in_turning_frame(system: System, linear: LinearDae, speed: float) -> LinearDae:
    """Return a linearisation in the frame that turns with the system, where its angles stand still.

    Pairs of states in the frame of the network, such as a motor's flux, then have z' = f - j speed z.
    """
    places = [(re, im) for re, im in _pairs(system) if im < system.n]
    if not places or speed == 0.0:
        return linear
    turned = linear.fx.tolil()
    for re, im in places:
        turned[re, im] += speed
        turned[im, re] -= speed
    return replace(linear, fx=sparse.csc_matrix(turned))


def _newton(
    system: System,
    t: float,
    motions: list[Reals],
    pins: list[int],
    off: Callable[[Reals, Reals, Reals], Reals],
    kept: Sequence[_Kept],
) -> Equilibrium | None:
    """Return where `off` vanishes, by Newton with halved steps from the system's starting point."""
    ends, allowed = (system.n, system.n + system.m), allowed_residual(system)

    def step(z: Reals, residual: Reals) -> Reals:
        x, y, _ = np.split(z, ends)
        factors = splu(bordered_jacobian(system, x, y, t, motions, pins, kept))
        return np.asarray(factors.solve(-np.append(residual, np.zeros(len(motions)))))

    def moved(z: Reals, way: Reals) -> Reals:
        x, y, _ = np.split(z + way, ends)
        near = np.clip(x, *system.limits(system.buffer(z[: system.n], y)))
        return np.concatenate([near, (z + way)[system.n :]])

    z, _, ended = newton(
        lambda z: off(*np.split(z, ends)),
        step,
        np.concatenate([system.x0, system.y0, np.zeros(len(motions))]),
        lambda residual: bool((np.abs(residual) <= allowed).all()),
        ITERATIONS,
        HALVINGS,
        moved,
    )
    x, y, rates = np.split(z, ends)
    return Equilibrium(x, y, float(rates[0]) if motions else 0.0) if ended is NewtonEnd.CONVERGED else None


def bordered_jacobian(
    system: System,
    x: Reals,
    y: Reals,
    t: float,
    motions: list[Reals],
    pins: list[int],
    kept: Sequence[_Kept],
) -> sparse.csc_matrix:
    """Return the matrix of Newton's step for x, y and the common motions, one variable held for each."""
    n, size, count = system.n, system.n + system.m, len(motions)
    matrix = system.jacobian(system.buffer(x, y, t=t)).tolil()
    # A state that its limit holds has an empty row: it stays where it is.
    for i in np.flatnonzero(np.diff(matrix.tocsr().indptr[: n + 1]) == 0):
        matrix[i, i] = 1.0
    for variable in kept:  # what a sample leaves as it is stays as well
        if not matrix[variable.row].count_nonzero():
            matrix[variable.row, variable.column] = 1.0
    if not count:
        return matrix.tocsc()
    columns = np.zeros((size, count))
    for k, motion in enumerate(motions):
        columns[:n, k] = -motion[:n]
    for variable in kept:
        columns[variable.row, 0] = -variable.turns
    held = sparse.coo_matrix((np.ones(count), (range(count), pins)), shape=(count, size + count))
    top = sparse.hstack([matrix.tocsc(), sparse.csc_matrix(columns)])
    return sparse.csc_matrix(sparse.vstack([top, held]))


def common_motions(system: System, kept: Sequence[_Kept]) -> list[Reals]:
    """Return the (n + m,) directions along which the equations do not change: common angle, common speed."""
    n, w = system.n, system.w0
    turn = _turn(system, system.x0, system.y0)
    matrix = system.jacobian(w)
    if not turn.any():
        return []
    # Along the turn the derivatives turn as well: those of pairs of states, as the flux of a motor.
    raw = system.residual(w)
    turned = np.zeros(len(turn))
    for re, im in _pairs(system):
        if im < n:
            turned[re], turned[im] = -raw[im], raw[re]
    size = abs(matrix) @ np.abs(turn) + np.abs(turned)
    if (np.abs(matrix @ turn - turned) > ROUNDING * (1.0 + size)).any():
        return []
    # A common speed is one that turns all angles and changes nothing else: J a = E r. The last column takes
    # up what stands against it, so that the matrix is regular where the turn is the only direction.
    pin = int(np.abs(turn).argmax())
    against = np.random.default_rng(0).standard_normal(len(turn))
    row = sparse.coo_matrix(([1.0], ([0], [pin])), shape=(1, len(turn) + 1))
    top = sparse.hstack([matrix, sparse.csc_matrix(against[:, None])])
    wanted = np.append(np.where(np.arange(len(turn)) < n, turn, 0.0), 0.0)
    for variable in kept:
        wanted[variable.row] = variable.turns
    try:
        found = splu(sparse.csc_matrix(sparse.vstack([top, row]))).solve(wanted)
    except RuntimeError:
        return [turn]
    speed = found[:-1]
    ungoverned = np.isfinite(found).all() and abs(found[-1]) * np.abs(against).max() <= UNGOVERNED
    return [turn, speed] if ungoverned else [turn]


def _turn(system: System, x: Reals, y: Reals) -> Reals:
    """Return the (n + m,) direction in which all angles turn together at a point."""
    units = units_of(system)
    names, values = (*system.names_x, *system.names_y), np.concatenate([x, y])
    turn = np.array([float(units.get(name) == "rad") for name in names])
    for re, im in _pairs(system):
        turn[re], turn[im] = -values[im], values[re]
    return turn


def _pairs(system: System) -> list[tuple[int, int]]:
    """Return the positions in (x, y) of real and imaginary parts in the frame of the network."""
    place = {name: i for i, name in enumerate((*system.names_x, *system.names_y))}
    names = [name.removesuffix("_re") for name in place if name.endswith("_re")]
    return [(place[f"{name}_re"], place[f"{name}_im"]) for name in names if f"{name}_im" in place]


def certificate_after(run: FinishedRun) -> Certificate | None:
    """Return the certificate of a run's scheme on the system that the last event left.

    The system is linearised at its own equilibrium, sought from the last point of the run; where synchronism
    was lost, or none is found there, by leading the first point over as the changes grow; and where that
    fails too, at the last point. A system that turns as a whole at another than nominal frequency is at rest
    here: its equations are the same at every common angle.

    One that ends with unequal phases in a dynamic region is periodic: `certificate_over_period`.

    None where the run has no system, no event altered it, or nothing of it is left.
    """
    if run.system is None or not _altered(run.system, run.spans[-1], run.spans[0]):
        return None
    if unequal_phases(run.system, run.spans[-1].parameters):
        return certificate_over_period(run, run.spans[-1], "the post-disturbance system with unequal phases")
    span, place = run.spans[-1], "at its own equilibrium"
    first, at_end = run.ends
    what = "the post-disturbance system"
    try:
        last = system_in(run.system, span, *at_end, float(run.t[-1]))
        scheme = _restricted(run.scheme, last) if span.out else run.scheme
        scheme = scheme.after(run.stats.counters.by_order)
    except (InputError, PartitionError) as error:
        return Certificate(str(run.scheme), "", note=str(error), subject=what)
    if not last.n + last.m:  # no part of the network has supply
        return None
    if last.n + last.m > LARGEST:  # nothing is computed there, so that there is no point to look for
        return certify(last, scheme, what, warn=False, any_size=False)
    steps = (
        judged_steps(times_within(run.taken, span.t, run.outcome.t_end))
        if scheme.step_choice is not None
        else None
    )
    # A run that lost synchronism ends anywhere: what is near its end says nothing of what it left.
    found = None
    if not span.moves:
        found = equilibrium_after(run.system, span, first, last, run.outcome.lost is None)
    if found is None:
        place = "at the last point of the run, since no equilibrium was found"
    else:
        last = found.start(last)
        place = f"where it would rest {HELD}" if reads_time(last) else place
    try:
        linear = last.linearise()
        if found is not None:
            linear = in_turning_frame(last, linear, found.turning)
        return certify(
            last, scheme, f"{what}, {place}", warn=False, linear=linear, steps=steps, t_end=run.outcome.t_end
        )
    except InputError as error:  # a limit that moves holds a state there
        return Certificate(str(scheme), "", note=str(error), subject=what)


def _altered(system: System, span: Span, start: Span) -> bool:
    """Return whether the system of a span is another than that of the span that the run started with."""
    same = all(np.array_equal(a, b) for a, b in zip(start.parameters, span.parameters, strict=True))
    given = np.ones(system.k, dtype=bool)
    given[[delay.input - system.n - system.m for delay in system.delays]] = False
    same = same and np.array_equal(start.inputs[given], span.inputs[given])
    return not same or span.out != start.out or span.moves


def _restricted(scheme: Any, system: System) -> Any:
    """Return a scheme for what is left of a system, its partition without the devices that are gone."""
    split: Partition | None = getattr(scheme, "split", None)
    if split is None:
        return scheme
    sides: dict[str, Any] = {}
    for flags, names, left in (
        ("fast_x", "names_x", system.names_x),
        ("fast_y", "names_y", system.names_y),
        ("fast_g", "names_g", system.names_g),
    ):
        known = dict(zip(getattr(split, names), getattr(split, flags).tolist(), strict=True))
        sides |= {flags: np.array([known[name] for name in left], dtype=bool), names: left}
    kept = np.isin(split.names_x + split.names_y, system.names_x + system.names_y)
    columns = {name: np.asarray(values)[kept] for name, values in split.columns.items()}
    return replace(scheme, split=replace(split, **sides, columns=columns))
