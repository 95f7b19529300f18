"""The values of a run's signals: kept columns, voltages, centres of inertia, sequences, device equations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.dynamic.switching import dynamic_elements
from psmr.network.sequence.solution import PHASES, SEQUENCES, TO_PHASES, SequenceSolution
from psmr.network.signals.signals import CENTRE, Signals, of_centre, of_voltage, quantity
from psmr.network.signals.terminals import Terminal
from psmr.network.topology.dead_parts import islands
from psmr.network.topology.network import bus_voltages, buses, nominal_frequency, out_of_service
from psmr.network.topology.plants import centre_of_inertia, island_of, leading, sources_of
from psmr.study.detectors.sources import Speeds, angles_of
from psmr.study.record.frequency import frequencies
from psmr.study.record.phase_values import phase_values
from psmr.study.record.recorded import Recorded
from psmr.study.record.terminal_values import terminal_values


def phases(re: Reals, im: Reals) -> Reals:
    """Return angles in rad within half a turn of zero; NaN where the voltage is zero, in a dead part."""
    return np.where((re == 0.0) & (im == 0.0), np.nan, np.arctan2(im, re))


def continuous(angles: Reals) -> Reals:
    """Return (K,) or (K, j) angles in rad that go on without jumps, also from before to after a NaN."""
    if not np.isnan(angles).any():
        return np.unwrap(angles, axis=0)
    found = angles.reshape(len(angles), -1).copy()
    for column in found.T:
        known = ~np.isnan(column)
        column[known] = np.unwrap(column[known])
    return found.reshape(angles.shape)


def centres(
    system: System, spans: Sequence[Span], names: Iterable[str], t: Reals, x: Reals, y: Reals
) -> dict[str, Reals]:
    """Return (K,) values of signals of centres of inertia by name, in Hz and rad.

    NaN where the island of a bus has no source with an angle of its own. See
    `psmr.study.detectors.frequency` for what they are.
    """
    f_n = nominal_frequency(system)
    assert f_n is not None
    sources = sources_of(system)
    speeds = Speeds(system, sources)
    found = {name: np.full(len(t), np.nan) for name in names}
    for span in spans:
        rows = span.rows
        if not len(t[rows]):
            continue
        out = span.out | out_of_service(system, span.parameters)
        speed = speeds.of(t[rows], x[rows])
        parts = islands(system, out)
        for name, values in found.items():
            device = name.rpartition(".")[0]
            own = leading(island_of("" if device == CENTRE else device, parts, out, sources), sources)
            members = [sources[k] for k in own]
            if not own:
                continue
            if quantity(name).endswith("frequency"):
                values[rows] = f_n * centre_of_inertia(speed[:, own], members)
            else:
                angles = angles_of(system, span, members, t[rows], x[rows], y[rows])
                values[rows] = centre_of_inertia(angles, members)
    return found


def sequence_values(
    system: System,
    spans: Sequence[Span],
    names: Sequence[str],
    terminals: Sequence[Terminal],
    t: Reals,
    x: Reals,
    y: Reals,
) -> dict[str, Reals]:
    """Return the magnitudes in pu, (K,) each, of ``bus5.v_a``, ``line5-7.i_0`` and so on.

    A branch's currents are those into it at its from bus; `terminals` has these. At buses and branches with
    their own dynamics they are the values at each instant.
    """
    dynamic = [name for name in names if name.rpartition(".")[0] in dynamic_elements(system)]
    instantaneous = phase_values(system, spans, dynamic, terminals, t, x, y)
    names = [name for name in names if name not in instantaneous]
    found = {name: np.zeros(len(t)) for name in names}
    if not names:
        return instantaneous
    wanted = {name.rpartition(".")[0] for name in names}
    ends = [end for end in terminals if end.end == "_from" and end.device in wanted]
    positive = terminal_values(system, spans, ends, t, x, y)
    places = {bus: k for k, bus in enumerate(buses(system))}
    for span in spans:
        rows = span.rows
        now = replace(system, parameters=tuple(matrix.copy() for matrix in span.parameters))
        re, im = bus_voltages(system, x[rows], y[rows])
        v = re + 1j * im
        solution = SequenceSolution.of(now, v, span.out)
        for name in names:
            device, _, quantity = name.rpartition(".")
            if device in places:
                parts = solution.v[:, :, places[device]]
            else:
                parts = solution.current_into(device, positive[device, "_from"][1][rows])
            found[name][rows] = np.abs(_of(quantity[-1], parts))
    return found | instantaneous


def _of(which: str, parts: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return (K,) values of a sequence or phase from (3, K) of all sequences."""
    if which in SEQUENCES:
        return np.asarray(parts[SEQUENCES.index(which)])
    return np.asarray(TO_PHASES[PHASES.index(which)] @ parts)


# Rows that are looked at together where a run may be larger than the memory.
PIECE = 4096


def values_in_pieces(run: Recorded, names: Sequence[str]) -> Iterator[tuple[slice, Reals]]:
    """Yield the values of `values_of` some rows at a time, all at once where devices' equations are asked."""
    expansion = run.signals.expansion(names)
    if expansion.names != tuple(names):
        for rows, parts in values_in_pieces(run, expansion.names):
            yield rows, expansion.combined(parts)
        return
    own = {*run.names_x, *run.names_y, *(run.kept.names if run.kept is not None else ())}
    voltages = [k for k, name in enumerate(names) if name not in own and of_voltage(name)]
    angles = [k for k in voltages if quantity(names[k]) == "angle"]
    if any(name not in own and not of_voltage(name) for name in names):
        yield slice(0, len(run.t)), values_of(run, names)
        return
    before: Reals | None = None
    for first in range(0, len(run.t), PIECE):
        rows = slice(first, min(first + PIECE, len(run.t)))
        values = values_of(run, names, rows)
        if before is not None:
            values[:, angles] = continuous(np.vstack([before, values[:, angles]]))[1:]
        last = values[-1:, angles]
        before = last if before is None else np.where(np.isnan(last), before, last)
        yield rows, values


def values_of(run: Recorded, names: Sequence[str], rows: slice = slice(None), exact: bool = True) -> Reals:
    """Return (K, len(names)) values of the named signals, of which each is one of the run's.

    `rows` chooses some of its points; not for signals that devices' equations give. Those that are `exact`
    come of the network solved at each point (see `psmr.study.run.run.Run.algebraic`): all of a scheme that
    follows an error, of others those of devices' equations. A drawing needs no more than the scheme left.
    """
    expansion = run.signals.expansion(names)
    if expansion.names != tuple(names):
        return expansion.combined(values_of(run, expansion.names, rows, exact))
    states = set(run.names_x)
    x = run.x[rows]
    every = exact and run.scheme.follows_error and any(name not in states for name in names)
    y = run.algebraic(rows) if every else run.y[rows]
    place_x = {name: i for i, name in enumerate(run.names_x)}
    place_y = {name: i for i, name in enumerate(run.names_y)}
    place_kept = {name: i for i, name in enumerate(run.kept.names)} if run.kept is not None else {}
    out = np.empty((len(x), len(names)))
    later = []
    for column, name in enumerate(names):
        device, _, kind = name.rpartition(".")
        if name in place_x:
            out[:, column] = x[:, place_x[name]]
        elif name in place_y:
            out[:, column] = y[:, place_y[name]]
        elif name in place_kept and run.kept is not None:
            out[:, column] = run.kept.values[rows, place_kept[name]]
        elif of_voltage(name):
            # A bus with its own dynamics has its voltage among the states.
            table, place = (x, place_x) if f"{device}.v_re" in place_x else (y, place_y)
            v_re, v_im = (table[:, place[f"{device}.v_{part}"]] for part in ("re", "im"))
            out[:, column] = np.hypot(v_re, v_im) if kind == "v" else continuous(phases(v_re, v_im))
        else:
            later.append(column)
    if later:
        assert run.system is not None  # a run without its system has no such signals
        computed = [names[k] for k in later]
        y = run.algebraic(rows) if exact and not every else y
        found = values_of_devices(run.system, run.signals, run.spans, computed, run.t, x, y)
        for column, values in zip(later, found, strict=True):
            out[:, column] = values
    return out


def values_of_devices(
    system: System,
    signals: Signals,
    spans: Sequence[Span],
    names: Sequence[str],
    t: Reals,
    x: Reals,
    y: Reals,
    systems: MutableMapping[Span, System] | None = None,
) -> list[Reals]:
    """Return powers, currents and frequencies, (K,) each, at points that have every variable.

    `systems` as in `psmr.study.record.frequency.frequencies`.
    """
    unbalanced = set(signals.unbalanced)
    by_sequence = sequence_values(
        system, spans, [name for name in names if name in unbalanced], signals.terminals, t, x, y
    )
    wanted = {name.rpartition(".")[0] for name in names if name not in unbalanced}
    chosen = [terminal for terminal in signals.terminals if terminal.device in wanted]
    found = terminal_values(system, spans, chosen, t, x, y)
    central = [name for name in names if of_centre(name)]
    means = centres(system, spans, central, t, x, y) if central else {}
    turning = [
        name.rpartition(".")[0] for name in names if quantity(name) == "frequency" and name not in means
    ]
    hertz = frequencies(system, spans, turning, t, x, y, systems) if turning else np.empty((len(t), 0))
    bus_values = dict(zip(turning, hertz.T, strict=True))
    values = []
    for name in names:
        device, _, kind = name.rpartition(".")
        if name in means:
            values.append(means[name])
            continue
        if kind == "frequency":
            values.append(bus_values[device])
            continue
        if name in by_sequence:
            values.append(by_sequence[name])
            continue
        what, mark, end = kind.partition("_")
        power, current = found[device, mark + end]
        values.append({"p": power.real, "q": power.imag, "i": np.abs(current)}[what])
    return values
