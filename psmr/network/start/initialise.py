"""From a case to a system at its equilibrium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from scipy.sparse.linalg import splu

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.errors import InitialisationError, warn
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.samplers import sample_changes
from psmr.dae.system.system import System
from psmr.devices.placement import placement
from psmr.network.case.case import Case
from psmr.network.case.region import Region
from psmr.network.dynamic.dynamic_system import with_dynamics
from psmr.network.powerflow.powerflow import PowerFlow, power_flow
from psmr.network.start.areas import with_gains
from psmr.network.start.code import run_to_rest
from psmr.network.start.conversion import LoadShares, convert_loads
from psmr.network.start.equilibrium import ROUNDING, decide, solve_plants
from psmr.network.start.limits import (
    ADJUST,
    CHOICES,
    REFUSE,
    clipped_to_limits,
    margins,
    widened,
    within_limits,
)
from psmr.network.start.wiring import (
    bus_start,
    check_load,
    coupled,
    generator_plant,
    motor_plant,
    network_devices,
    shunt_plant,
)

STEPS, SETTLED = 10, 1e-9
"""Newton steps for the algebraic variables at most; change in pu after which one more is rounding alone."""

RESIDUAL = 1e-10
"""Largest residual of the whole system at its start."""

# Patterns of signs in which rounding is tried, and the several roundings that one equation adds up.
PATTERNS, MARGIN = 8, 8.0

SAMPLES = 2000
"""Most samples at the start, of devices that stand in no plant: two seconds at a millisecond."""

ROUNDS = 10
"""Most limiters in a row between a regulator's input and its output."""


def build(
    case: Case,
    flow: PowerFlow | None = None,
    loads: str | Mapping[str, Sequence[float]] | LoadShares | None = None,
    start_at_limits: Annotated[str, CHOICES] = ADJUST,
    dynamic: Region | None = None,
) -> System:
    """Return the system of a case at the equilibrium that belongs to its power flow.

    Devices are numbered in the order buses, branches, shunts, loads, plants, static var systems. States,
    algebraic variables and set-points of a plant, or of a motor, are solved jointly on its components' own
    equations.

    Parameters
    ----------
    case
        The case; every generator has a machine or a converter.
    flow
        A power flow of this case, solved with other options; by default the plain one.
    loads
        What static loads become, with the power and voltage of the power flow: ``"impedance"``,
        ``"current"``, ``"power"`` or shares (see `load_shares`); None: they stay as the case has them.
    start_at_limits
        What is done where a device starts beyond a limit: ``"adjust"`` moves the limit to the start and holds
        those that no parameter moves, ``"hold"`` keeps them all, so that the system does not start at rest,
        ``"refuse"`` raises. The first two warn with a list of what is beyond and what was done.
    dynamic
        The part of the network whose elements have their own dynamics, at the same equilibrium; None: as
        the case says; ``psmr.Region("none")``: all of it is phasors.

    Warns
    -----
    PsmrWarning
        Where devices start at their limits (the linearisation there is that of the inside) or beyond them,
        and where a parameter stands for what holds the start.

    Raises
    ------
    PowerFlowError
        Where the power flow has no solution.
    InitialisationError
        Where a plant has no equilibrium, or devices start outside their limits (by how much, with
        ``"refuse"``), or the whole system keeps a residual (device, variable, value).
    CaseError
        Where a generator has no dynamic devices, a load's voltage is below its v_min, or a motor cannot take
        its power.
    """
    check_arguments(build, locals())
    dynamic = case.dynamic if dynamic is None else dynamic
    flow = power_flow(case) if flow is None else flow
    if loads is not None:
        case = convert_loads(case, flow, loads)
    voltage = flow.by_number()
    for load in case.loads:
        check_load(load, voltage[load.bus])
    plants = [
        generator_plant(case, row, voltage, complex(p, q))
        for row, p, q in zip(case.generators, flow.p, flow.q, strict=True)
    ]
    plants += [shunt_plant(case, row, row.device, voltage) for row in case.shunts if row.device is not None]
    motors = [motor_plant(case, row, voltage[row.bus]) for row in case.loads if row.solved is not None]
    start = solve_plants([*motors, *plants])
    before, plants = plants, decide(plants, start)
    start |= solve_plants([new for new, old in zip(plants, before, strict=True) if new != old])
    plants = with_gains(plants, start, case)
    plants, start = coupled(case, plants, start)
    plants, start = run_to_rest(plants, start)
    start |= bus_start(case, flow)
    plant_devices = [device for plant in plants for device in plant.devices]
    network = list(network_devices(case, flow))
    found = with_algebraic_resolved(assemble([*network, *plant_devices], start, name=case.name))
    at_rest = True
    if start_at_limits != REFUSE and any(margin.outside for margin in margins(found, plant_devices)):
        found, plant_devices, at_rest = beyond_limits(found, network, plant_devices, start, start_at_limits)
    found = with_samples_taken(found, start)
    if not at_rest:
        return found if dynamic is None else with_dynamics(found, dynamic, case.frequency_hz)
    system = within_limits(found, plant_devices)
    if (system.x0 != found.x0).any():
        system = with_algebraic_resolved(system)
    check_residual(system)
    if dynamic is not None:
        system = with_dynamics(system, dynamic, case.frequency_hz)
        check_residual(system, at_rest=not ripples(system))
    return system


def beyond_limits(
    system: System, network: Sequence[Device], dynamic: Sequence[Device], start: Mapping[str, float], how: str
) -> tuple[System, list[Device], bool]:
    """Return the system that starts beyond limits, the devices of its plants, and whether it is at rest.

    With ``"adjust"`` limits move to the start and those that no parameter moves are held, with ``"hold"``
    all. Warns (PsmrWarning) of each of them.
    """
    devices = list(dynamic)
    if how == ADJUST:
        system, devices = _adjusted(system, network, devices, start)
        if not any(margin.outside for margin in margins(system, devices)):
            return system, devices, True
    return _held(system, devices), devices, False


def _adjusted(
    system: System, network: Sequence[Device], devices: list[Device], start: Mapping[str, float]
) -> tuple[System, list[Device]]:
    """Return the system and devices with the limits moved to the start that a parameter moves."""
    words: list[str] = []
    # What one limiter passes on may exceed the next: as many rounds as there can be limiters in a row.
    for _ in range(ROUNDS):
        devices, more, stuck = widened(system, devices)
        words += more
        system = with_algebraic_resolved(assemble([*network, *devices], start, name=system.name))
        if stuck or not any(margin.outside for margin in margins(system, devices)):
            break
    if words:
        warn(f"{len(words)} limits moved to the start, which exceeds them: {'; '.join(words)}")
    return system, devices


def _held(system: System, dynamic: Sequence[Device]) -> System:
    """Return the system with states at the limits that its start exceeds: it does not start at rest.

    Warns (PsmrWarning) of what is beyond, and of the fastest change at the start.
    """
    outside = [str(margin) for margin in margins(system, dynamic) if margin.outside]
    found = with_algebraic_resolved(clipped_to_limits(system))
    rate = found.f(found.x0, found.y0)
    fastest = int(np.argmax(np.abs(rate)))
    moves = f"{found.names_x[fastest]} changes by {rate[fastest]:.3g} per second"
    if abs(rate[fastest]) < SETTLED:
        moves = "what counts beyond a limit begins with the run"
    warn(
        f"{len(outside)} limits are exceeded at the start and held: {'; '.join(outside)}. The system does not"
        f" start at rest: {moves}; widen the limits or change the dispatch to start at rest"
    )
    check_residual(found, at_rest=False)
    return found


def with_algebraic_resolved(system: System) -> System:
    """Return the system with its algebraic variables solved once more, all together.

    Raises InitialisationError where they are not determined.
    """
    x, y = system.x0, system.y0
    # Two Newton steps for a start good to 1e-11: the first squares that, the second confirms. States that are
    # moved to their limits leave the algebraic variables further off.
    for done in range(1, STEPS + 1):
        w = system.buffer(x, y)
        try:
            lu = splu(system.jacobian(w)[system.n :, system.n :].tocsc())
        except RuntimeError as error:
            raise InitialisationError(
                f"{system.name}: the algebraic equations are singular at the start; does a bus"
                " have nothing that fixes its voltage, or a device a variable that nothing determines?"
            ) from error
        change = lu.solve(system.residual(w)[system.n :])
        y = y - change
        if done >= 2 and not np.abs(change).max(initial=0.0) > SETTLED:
            break
    return system.with_start(x, y)


def with_samples_taken(system: System, start: Mapping[str, float]) -> System:
    """Return the system with what no start has of sampled variables, as many samples at the start leave it.

    Those are variables of relays and what else stands in no plant: they read it and are not read by it.
    """
    names = system.names_u[: system.s]
    first = system.n + system.m
    free = np.array([first + k for k, name in enumerate(names) if name not in start], dtype=np.intp)
    for _ in range(SAMPLES if free.size else 0):
        places, changes = sample_changes(system, system.w0)
        own = np.isin(places, free)
        if not np.abs(changes[own]).max(initial=0.0) > 0.0:
            break
        w = system.w0.copy()
        w[places[own]] += changes[own]
        system = replace(system, w0=w)
    return system


def allowed_residual(system: System, error: Reals | None = None) -> Reals:
    """Return (n + m,) residuals allowed at the start: `RESIDUAL`, or what rounding leaves.

    That is the rounding of a very fast state and, looked at where `error`, the (n + m,) residuals there are,
    exceeds this, that of the algebraic equations.
    """
    rate = abs(system.jacobian(system.w0)).max(axis=1).toarray().ravel()
    allowed = np.maximum(RESIDUAL, ROUNDING * rate)
    allowed[[*timers(system), *ripples(system)]] = np.inf
    if error is None or not (error > allowed).any() or system.m == 0:
        return allowed
    return np.maximum(allowed, _rounding_of_algebraic(system))


def timers(system: System) -> list[int]:
    """Return the places of the states that count, and may move at the start (`Placement.timers`)."""
    return [
        system.index(f"{device.name}.{state}")
        for device in system.devices
        for state in placement(device.component).timers
    ]


def ripples(system: System) -> list[int]:
    """Return the places of the states that what is held between samples moves (`Placement.ripples`)."""
    return [
        system.index(f"{device.name}.{state}")
        for device in system.devices
        for state in placement(device.component).ripples
        if state in device.component.states
    ]


def _rounding_of_algebraic(system: System) -> Reals:
    """Return (n + m,) how far residuals move when the algebraic variables move as rounding lets them.

    A line of 1e-5 pu carries the difference of two terms of 1e5, each known to 16 digits; what that leaves of
    the voltages stands in every equation that reads one. The worst of some patterns of signs stands for all.
    """
    n, jacobian = system.n, system.jacobian(system.w0).tocsr()
    terms = (abs(jacobian) @ np.abs(system.w0[: n + system.m]))[n:]
    signs = np.random.default_rng(0).choice((-1.0, 1.0), (system.m, PATTERNS))
    try:
        moved = splu(jacobian[n:, n:].tocsc()).solve(np.finfo(float).eps * terms[:, None] * signs)
    except RuntimeError:  # singular: nothing is known of what rounding does
        return np.zeros(n + system.m)
    return np.asarray(MARGIN * abs(jacobian[:, n:] @ moved).max(axis=1))


def check_samples(system: System) -> None:
    """Raise InitialisationError naming the variable that its first sample would change most, if one does."""
    places, changes = sample_changes(system, system.w0)
    error = np.where(np.isfinite(changes), np.abs(changes), np.inf)
    allowed = np.maximum(RESIDUAL, ROUNDING * np.abs(system.w0[places]))
    if (error > allowed).any():
        worst = int(np.argmax(error / allowed))
        name = system.names_u[places[worst] - system.n - system.m]
        raise InitialisationError(
            f"{system.name}: {name} does not start at rest: its first sample changes it by "
            f"{changes[worst]:.3g}; what it computes must be constant at an equilibrium"
        )


def check_residual(system: System, at_rest: bool = True) -> None:
    """Raise InitialisationError naming the worst equation where that is above what is allowed.

    Without `at_rest` only the algebraic equations are looked at.
    """
    residual = np.concatenate([system.f(system.x0, system.y0), system.g(system.x0, system.y0)])
    if not at_rest:
        residual[: system.n] = 0.0
    names = (*system.names_x, *system.names_g)
    error = np.where(np.isfinite(residual), np.abs(residual), np.inf)
    allowed = allowed_residual(system, error)
    for place in timers(system):
        if residual[place] > RESIDUAL:
            warn(
                f"{system.name}: {names[place]} moves at the start, by {residual[place]:.3g} per second: this"
                " timer runs, as what it measures is above its threshold in the power flow"
            )
    if at_rest:
        check_samples(system)
    worst = int(np.argmax(error / allowed))
    if error[worst] > allowed[worst]:
        raise InitialisationError(
            f"{system.name}: {names[worst]} has the residual {error[worst]:.3g} at the start, above"
            f" {allowed[worst]:g}; the power flow"
            " and the devices do not describe one equilibrium"
        )
