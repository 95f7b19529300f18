"""When a run passes the largest power that its loads could have: the nose, in its long-term equilibrium.

Tap changers outside their dead bands restore what their loads draw, as long as they have positions. With all
derivatives zero, timers apart, which count, the equations F(z, r) = 0 say what a tap r does to the quantity
v(z) that each tap changer keeps: dv/dr = -(dv/dz) F_z^-1 F_r. Its eigenvalues are positive where moves raise
what they are to raise; one is zero where the long-term equilibrium, F = 0 and v as it is to be, is singular:
at the nose. There the reactive power of all generators by that of a load, dQg/dq, changes its sign through
infinity. Sources: T. Van Cutsem, C. Vournas, Voltage Stability of Electric Power Systems (1998), section 6.4;
F. Capitanescu, T. Van Cutsem, Unified sensitivity analysis of unstable or low voltages caused by load
increases or contingencies, IEEE Trans. Power Systems 20 (2005); M. Glavic, T. Van Cutsem, Wide-area detection
of voltage instability from synchronized phasor measurements, IEEE Trans. Power Systems 24 (2009).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.sparse.linalg import splu

from psmr.base.arrays import Complexes, Reals
from psmr.base.errors import InitialisationError
from psmr.dae.system.system import System
from psmr.devices.tap_changers import SteppedControl
from psmr.integrate.timeline.span import Span
from psmr.network.start.initialise import timers, with_algebraic_resolved
from psmr.network.topology.connections import system_in
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
            found = tap_effects(system, span, run.x[row], run.y[row], float(run.t[row]))
        except (RuntimeError, InitialisationError):  # singular, or the point has no solution
            return False
        return bool((found.real < 0).any())

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


def tap_effects(system: System, span: Span, x: Reals, y: Reals, t: float) -> Complexes:
    """Return the eigenvalues of what taps outside their bands do to what they keep; none without any.

    `system`, `span`: the system of a run at its start, and the span; `x`, `y`, `t`: the point and its time in
    s.
    """
    if span.out:
        system = system_in(system, span, x, y, t)
    else:
        w0 = system.buffer(x, y, span.held(np.array([t]))[0], t)
        system = replace(system, parameters=span.parameters_at(t), w0=w0)
    if not (free := list(_free_taps(system))):
        return np.zeros(0, dtype=complex)
    # Directions along which nothing changes show in a point that is exact.
    system = with_algebraic_resolved(system)
    motions = common_motions(system, ())
    pins = [int(np.abs(motion).argmax()) for motion in motions]
    matrix = bordered_jacobian(system, system.x0, system.y0, t, motions, pins, ()).tolil()
    for place in timers(system):
        matrix[place, :] = 0.0
        matrix[place, place] = 1.0
    moved = np.zeros((matrix.shape[0], len(free)))
    for k, (transformer, parameter, direction, _) in enumerate(free):
        moved[: system.n + system.m, k] = direction * _effect(system, transformer, parameter)
    kept = [system.index(measured) for *_, measured in free]
    return np.asarray(np.linalg.eigvals(-splu(matrix.tocsc()).solve(moved)[kept]))


def _free_taps(system: System) -> Iterator[tuple[str, str, float, str]]:
    """Yield transformer, its parameter, direction and what is measured, of taps that are about to move on."""
    for device in system.devices:
        if not issubclass(device.component, SteppedControl) or not device.acts_on:
            continue
        component, p = device.component, system.parameters_at(device.name, system.parameters)
        measured = f"{device.name}.{component.measured}"
        off = abs(system.w0[system.index(measured)] - p[f"{component.measured}_set"]) > p["half_band"]
        if off and 1 < p["at"] < p["positions"] and not (p["blocked"] or p["held"] or p["idle"]):
            yield device.acts_on, component.moves[0], p["direction"], measured


def _effect(system: System, transformer: str, parameter: str) -> Reals:
    """Return the derivatives of all equations with respect to a tap."""
    at, found = system.parameter(transformer, parameter), []
    for sign in (1, -1):
        moved = system.with_values([(transformer, parameter, at + sign * SMALL)])
        found.append(moved.residual(moved.w0))
    return (found[0] - found[1]) / (2 * SMALL)
