"""Phase and sequence quantities of buses and branches with their own dynamics, at each instant of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import InputError
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.dynamic.switching import zero_elements
from psmr.network.dynamic.zero_circuit import zero_name
from psmr.network.sequence.solution import PHASES
from psmr.network.signals.terminals import Terminal
from psmr.network.topology.network import branches, buses, nominal_frequency
from psmr.study.record.terminal_values import column, injections, terminal_values

Reals = NDArray[np.float64]
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
