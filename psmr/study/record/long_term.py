"""When a run passes the largest power that its loads could have: sensitivities of its long-term equilibrium.

Tap changers outside their dead bands restore what their loads draw, as long as they have positions: with the
voltage where they measure it kept, their taps are unknowns. What the equations of the system say with these,
all derivatives zero, is the long-term equilibrium; timers count and are no part of it. Where a bus draws q
more, the generators give dQg = -(dQg/dz) J^-1 (dF/dq) more in all. Up to the largest power that is a multiple
of q, which grows without bound on the way there, and it is negative beyond: the nose. Sources: F.
Capitanescu, T. Van Cutsem, Unified sensitivity analysis of unstable or low voltages caused by load increases
or contingencies, IEEE Trans. Power Systems 20 (2005); M. Glavic, T. Van Cutsem, Wide-area detection of
voltage instability from synchronized phasor measurements, IEEE Trans. Power Systems 24 (2009); IEEE PES-TR19
(2015), section 6 of the Nordic system.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.base.errors import InitialisationError
from psmr.dae.system.system import System
from psmr.devices.placement import placement
from psmr.devices.tap_changers import SteppedControl
from psmr.integrate.timeline.span import Span
from psmr.network.signals.points import STEP, Points
from psmr.network.signals.quantities import QUANTITIES, terminals
from psmr.network.start.initialise import with_algebraic_resolved
from psmr.network.topology.connections import Connections, system_in
from psmr.network.topology.islands import sources_of
from psmr.network.topology.network import at_buses, is_load, power_base
from psmr.study.record.equilibrium_after import bordered_jacobian, common_motions
from psmr.study.record.record import FinishedRun

SMALL = 1e-5
"""By how much a tap is moved to see what follows from it."""

LOOKS, EXACT = 32, 0.05
"""At how many times the nose is looked for, and how exactly it is found, in s."""


def nose(run: FinishedRun) -> float | None:
    """Return when in s a run passes the largest power of its loads for good; None where it does not.

    Looked at are times from the last event on up to where synchronism is lost. None also for a run that did
    not keep its points, and one without tap changers.
    """
    system, lost = run.system, run.outcome.lost
    if system is None or not run.whole or not any(act.kind == "tap" for c in run.changes for act in c.acts):
        return None
    begin = max((change.t for change in run.changes if change.causes), default=0.0)
    end = float(run.t[-1]) if lost is None else lost.t
    spans, starts = run.spans, [span.t for span in run.spans]

    def past(t: float) -> bool:
        row = int(np.searchsorted(run.t, t, side="right")) - 1
        span = spans[bisect_right(starts, run.t[row]) - 1]
        try:
            found = reactive_sensitivities(system, span, run.x[row], run.y[row], float(run.t[row]))
        except (RuntimeError, InitialisationError):  # singular, or the point has no solution
            return False
        return max(found.values(), key=abs, default=1.0) < 0

    times = np.linspace(begin, end, LOOKS)[1:-1]
    beyond = [past(t) for t in times]
    first = next((k for k in range(len(beyond)) if all(beyond[k : k + 3])), None)
    if not first:
        return None if first is None else float(times[0])
    low, high = float(times[first - 1]), float(times[first])
    while high - low > EXACT:
        middle = (low + high) / 2
        low, high = (low, middle) if past(middle) else (middle, high)
    return high


def reactive_sensitivities(system: System, span: Span, x: Reals, y: Reals, t: float) -> dict[str, float]:
    """Return how much more reactive power all generators give by what a bus with loads draws more.

    `system`, `span`: the system of a run at its start, and the span; `x`, `y`, `t`: the point and its time in
    s.
    """
    if span.out:
        system = system_in(system, span, x, y, t)
    else:
        w0 = system.buffer(x, y, span.held(np.array([t]))[0], t)
        system = replace(system, parameters=span.parameters_at(t), w0=w0)
    # Directions along which nothing changes show in a point that is exact.
    system = with_algebraic_resolved(system)
    loaded = [bus for bus, devices in at_buses(system).items() if any(map(is_load, devices))]
    motions = common_motions(system, ())
    pins = [int(np.abs(motion).argmax()) for motion in motions]
    base = bordered_jacobian(system, system.x0, system.y0, t, motions, pins, ()).tolil()
    for place in _timers(system):
        base[place, :] = 0.0
        base[place, place] = 1.0
    size = base.shape[0]
    free = list(_free_taps(system))
    columns, rows = np.zeros((size, len(free))), np.zeros((len(free), size))
    for k, (transformer, parameter, measured) in enumerate(free):
        columns[: system.n + system.m, k] = _effect(system, transformer, parameter)
        rows[k, system.index(measured)] = 1.0
    matrix = sparse.bmat([[base.tocsc(), columns], [rows, np.zeros((len(free), len(free)))]]).tocsc()
    drawn = np.zeros((size + len(free), len(loaded)))
    places = {name: system.n + k for k, name in enumerate(system.names_g)}
    for k, bus in enumerate(loaded):
        v = complex(*(system.w0[system.index(f"{bus}.v_{part}")] for part in ("re", "im")))
        # A current of -conj(S/V) for S = jq, in the balance of the currents into the bus.
        current = 1j / np.conj(v)
        drawn[places[f"{bus}.i_re"], k], drawn[places[f"{bus}.i_im"], k] = current.real, current.imag
    way = splu(matrix).solve(-drawn)[: system.n + system.m].T
    points = system.w0[None, : system.n + system.m] + 1j * STEP * way
    connections = Connections(system, replace(span, t=t, parameters=system.parameters, inputs=system.u0))
    inputs = np.tile(system.u0, (len(loaded), 1))
    looked = Points.of(
        connections, np.full(len(loaded), t), points[:, : system.n], points[:, system.n :], inputs
    )
    known = {terminal.device for terminal in terminals(system)}
    sources = tuple(source.name for source in sources_of(system) if source.name in known)
    given = QUANTITIES["q"].values(looked, sources).imag.sum(axis=1) / STEP
    return dict(zip(loaded, (given / power_base(system)).tolist(), strict=True))


def _timers(system: System) -> Iterator[int]:
    for device in system.devices:
        component = device.component
        counts = ("clock",) if issubclass(component, SteppedControl) else placement(component).timers
        for state in set(counts).intersection(component.states):
            yield system.index(f"{device.name}.{state}")


def _free_taps(system: System) -> Iterator[tuple[str, str, str]]:
    """Yield transformer, its parameter and what is measured, of tap changers that are about to move on."""
    for device in system.devices:
        if not issubclass(device.component, SteppedControl) or not device.acts_on:
            continue
        component, p = device.component, system.parameters_at(device.name, system.parameters)
        measured = f"{device.name}.{component.measured}"
        off = abs(system.w0[system.index(measured)] - p[f"{component.measured}_set"]) > p["half_band"]
        if off and 1 < p["at"] < p["positions"] and not (p["blocked"] or p["held"] or p["idle"]):
            yield device.acts_on, component.moves[0], measured


def _effect(system: System, transformer: str, parameter: str) -> Reals:
    """Return the derivatives of all equations with respect to a tap."""
    at, found = system.parameter(transformer, parameter), []
    for sign in (1, -1):
        moved = system.with_values([(transformer, parameter, at + sign * SMALL)])
        found.append(moved.residual(moved.w0))
    return (found[0] - found[1]) / (2 * SMALL)
