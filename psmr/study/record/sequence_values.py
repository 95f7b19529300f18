"""Sequence and phase quantities of buses and branches at the points of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.network.sequence.solution import PHASES, SEQUENCES, TO_PHASES, SequenceSolution
from psmr.network.signals.terminals import Terminal
from psmr.network.topology.network import buses, voltage_places
from psmr.study.events.spans import Span
from psmr.study.record.terminal_values import terminal_values

Reals = NDArray[np.float64]


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

    A branch's currents are those into it at its from bus; `terminals` has these.
    """
    found = {name: np.zeros(len(t)) for name in names}
    if not names:
        return found
    wanted = {name.rpartition(".")[0] for name in names}
    ends = [end for end in terminals if end.end == "_from" and end.device in wanted]
    positive = terminal_values(system, spans, ends, t, x, y)
    re, im = (part - system.n for part in voltage_places(system))
    places = {bus: k for k, bus in enumerate(buses(system))}
    for span in spans:
        rows = span.rows
        now = replace(system, parameters=tuple(matrix.copy() for matrix in span.parameters))
        v = y[rows][:, re] + 1j * y[rows][:, im]
        solution = SequenceSolution.of(now, v, span.out)
        for name in names:
            device, _, quantity = name.rpartition(".")
            if device in places:
                parts = solution.v[:, :, places[device]]
            else:
                parts = solution.current_into(device, positive[device, "_from"][1][rows])
            found[name][rows] = np.abs(_of(quantity[-1], parts))
    return found


def _of(which: str, parts: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return (K,) values of a sequence or phase from (3, K) of all sequences."""
    if which in SEQUENCES:
        return np.asarray(parts[SEQUENCES.index(which)])
    return np.asarray(TO_PHASES[PHASES.index(which)] @ parts)
