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

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.arrays import Complexes, Reals
from psmr.base.errors import InitialisationError
from psmr.dae.system.system import System
from psmr.devices.tap_changers import SteppedControl
from psmr.integrate.timeline.span import Span
from psmr.network.signals.state_space import output_rows
from psmr.network.start.initialise import timers, with_algebraic_resolved
from psmr.network.topology.connections import system_in
from psmr.network.topology.islands import sources_of
from psmr.network.topology.network import power_base
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
    system, matrix = _equilibrium(system, span, x, y, t)
    if not (free := [tap for tap in _free_taps(system) if tap.off]):
        return np.zeros(0, dtype=complex)
    kept = [system.index(tap.measured) for tap in free]
    effects = splu(matrix.tocsc()).solve(_moved_by(system, matrix, free))[kept]
    return np.asarray(np.linalg.eigvals(-effects * [tap.direction for tap in free]))


def generation_sensitivity(run: FinishedRun, bus: str, t: float) -> float:
    """Return dQg/dq in the long-term equilibrium near a point; NaN where it has none.

    The reactive power of all machines by that of a load at a bus. Every tap changer that is not blocked or at
    an end of its range keeps its quantity as it is there, so that loads behind them draw what they draw;
    regulators and limiters are as they act there. This is the sensitivity of Glavic and Van Cutsem (2009).
    """
    assert run.system is not None
    row = int(np.searchsorted(run.t, t, side="right")) - 1
    span = run.spans[bisect_right([span.t for span in run.spans], run.t[row]) - 1]
    try:
        system, matrix = _equilibrium(run.system, span, run.x[row], run.y[row], float(run.t[row]))
        free = list(_free_taps(system))
        load, rows = np.zeros(matrix.shape[0]), {name: k for k, name in enumerate(system.names_g, system.n)}
        if f"{bus}.i_re" not in rows:
            return math.nan
        v = complex(*(system.w0[system.index(f"{bus}.v_{part}")] for part in ("re", "im")))
        drawn = -1j / v.conjugate()
        load[[rows[f"{bus}.i_re"], rows[f"{bus}.i_im"]]] = drawn.real, drawn.imag
        solved = splu(matrix.tocsc()).solve(np.column_stack([_moved_by(system, matrix, free), load]))
        taps, alone = solved[:, :-1], solved[:, -1]
        kept = [system.index(tap.measured) for tap in free]
        change = alone - taps @ np.linalg.solve(taps[kept], alone[kept])
    except (RuntimeError, np.linalg.LinAlgError, InitialisationError):
        return math.nan
    names = [f"{source.name}.q" for source in sources_of(system) if source.machine]
    size = system.n + system.m
    derivatives = output_rows(system, system.w0, run.signals, names, ())[:, :size]
    return float((derivatives @ change[:size]).sum()) / (power_base(system) or 1.0)


def _equilibrium(
    system: System, span: Span, x: Reals, y: Reals, t: float
) -> tuple[System, sparse.lil_matrix]:
    """Return the system at a point, and the matrix of its equilibrium there, with timers that stand."""
    if span.out:
        system = system_in(system, span, x, y, t)
    else:
        w0 = system.buffer(x, y, span.held(np.array([t]))[0], t)
        system = replace(system, parameters=span.parameters_at(t), w0=w0)
    # Directions along which nothing changes show in a point that is exact.
    system = with_algebraic_resolved(system)
    motions = common_motions(system, ())
    pins = [int(np.abs(motion).argmax()) for motion in motions]
    matrix = bordered_jacobian(system, system.x0, system.y0, t, motions, pins, ()).tolil()
    for place in timers(system):
        matrix[place, :] = 0.0
        matrix[place, place] = 1.0
    return system, matrix


class _Tap(NamedTuple):
    """A transformer, its parameter that moves, direction, what it measures, and if that is off its band."""

    transformer: str
    parameter: str
    direction: float
    measured: str
    off: bool


def _free_taps(system: System) -> Iterator[_Tap]:
    """Yield the taps that can move on."""
    for device in system.devices:
        if not issubclass(device.component, SteppedControl) or not device.acts_on:
            continue
        component, p = device.component, system.parameters_at(device.name, system.parameters)
        measured = f"{device.name}.{component.measured}"
        off = abs(system.w0[system.index(measured)] - p[f"{component.measured}_set"]) > p["half_band"]
        if 1 < p["at"] < p["positions"] and not (p["blocked"] or p["held"] or p["idle"]):
            yield _Tap(device.acts_on, component.moves[0], p["direction"], measured, off)


def _moved_by(system: System, matrix: sparse.lil_matrix, taps: list[_Tap]) -> Reals:
    """Return (rows, taps) derivatives of the equations of an equilibrium with respect to taps."""
    moved = np.zeros((matrix.shape[0], len(taps)))
    for k, tap in enumerate(taps):
        moved[: system.n + system.m, k] = _effect(system, tap.transformer, tap.parameter)
    return moved


def _effect(system: System, transformer: str, parameter: str) -> Reals:
    """Return the derivatives of all equations with respect to a tap."""
    at, found = system.parameter(transformer, parameter), []
    for sign in (1, -1):
        moved = system.with_values([(transformer, parameter, at + sign * SMALL)])
        found.append(moved.residual(moved.w0))
    return (found[0] - found[1]) / (2 * SMALL)
