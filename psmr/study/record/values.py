"""The values of a run's signals: kept columns, voltages, centres of inertia, sequences, device equations.

Phase and sequence quantities of buses and branches with their own dynamics, at each instant of a run.

Power and current where devices meet the network, by the devices' own equations at recorded points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import InputError
from psmr.dae.system.complex_step import evaluated
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.dynamic.region import zero_name
from psmr.network.dynamic.switching import dynamic_elements, zero_elements
from psmr.network.sequence.unbalance import PHASES, SEQUENCES, TO_PHASES, SequenceSolution
from psmr.network.signals.signals import CENTRE, Signals, of_centre, of_voltage, quantity
from psmr.network.signals.terminals import Terminal
from psmr.network.topology.islands import centre_of_inertia, island_of, islands, leading, sources_of
from psmr.network.topology.network import (
    branches,
    bus_voltages,
    buses,
    nominal_frequency,
    out_of_service,
    power_base,
)
from psmr.study.detectors.detector import Speeds, angles_of
from psmr.study.record.frequency import frequencies
from psmr.study.record.recorded import Recorded


def terminal_values(
    system: System, spans: Sequence[Span], wanted: Sequence[Terminal], t: Reals, x: Reals, y: Reals
) -> Mapping[tuple[str, str], tuple[NDArray[np.complex128], NDArray[np.complex128]]]:
    """Return (K,) apparent power (MVA) and current (pu) of terminals by (device, end), each with its sign.

    The current is the one that the device's own equations inject at the recorded points, with the parameters
    that held there; a device out of service has none.
    """
    base = power_base(system)
    assert base is not None
    found: dict[tuple[str, str], tuple[NDArray[np.complex128], NDArray[np.complex128]]] = {}
    names = {terminal.device for terminal in wanted}
    currents = injections(system, spans, names, t, x, y)
    for terminal in wanted:
        re, im = (column(system, f"{terminal.bus}.v_{part}", x, y) for part in ("re", "im"))
        i_re, i_im = (currents[terminal.device, f"i_{part}{terminal.port}"] for part in ("re", "im"))
        current = i_re + 1j * i_im
        if (terminal.device, f"b{terminal.port}") in currents:
            # Charging at a bus with its own dynamics has its part of the current of the bus's capacitance.
            whole, re_c, im_c = (
                column(system, f"{terminal.bus}.{name}", x, y) for name in ("b", "i_re", "i_im")
            )
            current = current - currents[terminal.device, f"b{terminal.port}"] / whole * (re_c + 1j * im_c)
        current = (terminal.sign * current).astype(np.complex128)
        power = ((re + 1j * im) * np.conj(current) * base).astype(np.complex128)
        found[terminal.device, terminal.end] = power, current
    return found


def column(system: System, name: str, x: Reals, y: Reals) -> Reals:
    """Return (K,) values of a state or algebraic variable."""
    place = system.index(name)
    return x[:, place] if place < system.n else y[:, place - system.n]


def injections(
    system: System, spans: Sequence[Span], names: set[str], t: Reals, x: Reals, y: Reals
) -> dict[tuple[str, str], Reals]:
    """Return (K,) values of each output of the named devices by (device, output)."""
    found: dict[tuple[str, str], Reals] = {}
    for g, group in enumerate(system.groups):
        chosen = [row for row, name in enumerate(group.names) if name in names]
        outputs = group.compiled.component.outputs
        for row in chosen:
            found |= {(group.names[row], output): np.zeros(len(t)) for output in outputs}
        for span in spans if chosen else ():
            rows = span.rows
            times = t[rows]
            w = np.column_stack([x[rows], y[rows], span.held(times), times])
            own = span.parameters_of(g, chosen, times)
            injected = _evaluate(group.compiled.component, w, group.index[chosen], own)
            for column, row in enumerate(chosen):
                if group.names[row] not in span.out:
                    for output, values in zip(outputs, injected, strict=True):
                        found[group.names[row], output][rows] = values[:, column]
    return found


def _evaluate(component: Any, w: Reals, index: NDArray[Any], parameters: Reals) -> list[Reals]:
    """Return (K, devices) injections of devices of one component at (K, variables) points w."""
    v = [w[:, own] for own in index.T]
    rows = evaluated(component, v, list(np.moveaxis(parameters, 2, 0)), (len(w), len(index)))
    return rows[len(rows) - len(component.outputs) :]


Complexes = NDArray[np.complex128]


def phase_values(
    system: System,
    spans: Sequence[Span],
    names: Sequence[str],
    terminals: Sequence[Terminal],
    t: Reals,
    x: Reals,
    y: Reals,
) -> dict[str, Reals]:
    """Return (K,) instantaneous values in pu of peak values of ``bus5.v_a``, ``line4-5.i_c``, ``bus5.v_0``.

    Of the positive sequence it is the length of the turning vector, which a negative sequence makes swing.

    Raises
    ------
    InputError
        For a negative sequence, which an instant does not have.
    """
    if not names:
        return {}
    negative = next((name for name in names if name.endswith("_2")), None)
    if negative:
        device = negative.rpartition(".")[0]
        raise InputError(
            f"{negative}: {device} has its own dynamics, and an instant has no negative sequence; over a"
            f" period it is the mean of ({device}.v_re + j {device}.v_im) exp(2 j w0 t), or ask a network of"
            " phasors"
        )
    frequency = nominal_frequency(system)
    assert frequency is not None
    wanted = {name.rpartition(".")[0] for name in names}
    vectors: dict[str, tuple[Complexes, Reals]] = {}
    for bus in wanted & set(buses(system)):
        re, im = (column(system, f"{bus}.v_{part}", x, y) for part in ("re", "im"))
        vectors[bus] = re + 1j * im, _zero_voltage(system, bus, x, y)
    ends = [end for end in terminals if end.end == "_from" and end.device in wanted]
    if ends:
        positive = terminal_values(system, spans, ends, t, x, y)
        zero = _zero_currents(system, spans, {end.device for end in ends}, t, x, y)
        vectors |= {end.device: (positive[end.device, "_from"][1], zero[end.device]) for end in ends}
    found = {}
    for name in names:
        device, _, quantity = name.rpartition(".")
        turning, zero_part = vectors[device]
        if quantity[-1] in PHASES:
            angle = 2 * np.pi * (frequency * t - PHASES.index(quantity[-1]) / 3)
            found[name] = (turning * np.exp(1j * angle)).real + zero_part
        else:
            found[name] = zero_part if quantity[-1] == "0" else np.abs(turning)
    return found


def _zero_voltage(system: System, bus: str, x: Reals, y: Reals) -> Reals:
    """Return (K,) zero-sequence voltages of a bus: none where no zero-sequence current reaches it."""
    name = f"{zero_name(bus)}.v"
    return column(system, name, x, y) if name in (*system.names_x, *system.names_y) else np.zeros(len(x))


def _zero_currents(
    system: System, spans: Sequence[Span], names: set[str], t: Reals, x: Reals, y: Reals
) -> dict[str, Reals]:
    """Return (K,) zero-sequence currents into branches at their from buses."""
    elements = {name: zero_elements(system).get(name, ()) for name in names}
    flowing = injections(system, spans, {d.name for own in elements.values() for d in own}, t, x, y)
    found = {name: np.zeros(len(t)) for name in names}
    for branch in branches(system):
        for d in elements.get(branch.name, ()):
            node = zero_name(branch.ends[0])
            for e in [e for e in "ij" if d.connections.get(f"v_{e}") == f"{node}.v"]:
                found[branch.name] -= flowing[d.name, f"i_{e}"]
                if f"b_{e}" in d.connections:
                    share = flowing[d.name, f"b_{e}"] / column(system, f"{node}.b", x, y)
                    found[branch.name] += share * column(system, f"{node}.i", x, y)
    return found


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
    every = exact and run.scheme.error_control is not None and any(name not in states for name in names)
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
