"""Multi-terminal DC lines of a PSS/E RAW file as the powers that their converters take from the AC network.

Each converter stands between a DC bus and ground, or a second DC bus, and DC links join the buses. One
converter (VCONV, of the negative pole VCONVN) holds its DC voltage at SETVL kV; each other one takes SETVL MW
(MDC = 1), or carries SETVL A (MDC = 2), a rectifier above zero. The voltages of the DC buses follow from

    (V_a - V_b) I = P for each converter,    G V = I for the DC network,

and the reactive powers from the angles at which the converters have these, as for two terminals. Source:
Siemens PTI, PSS/E Program Operation Manual, multi-terminal DC line data.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from psmr.files.psse.dc_lines import Bridges, Drawn
from psmr.files.psse.record import PsseRecord

ITERATIONS = 50
SOLID = 1e6
"""Conductance to ground in S of a DC bus whose RGRND is 0."""


def multi_terminal(lines: Sequence[PsseRecord], voltage: dict[int, float]) -> list[Drawn]:
    """Return what the converters of a line take; nothing where it is blocked (MDC = 0).

    Parameters
    ----------
    lines
        The lines of the record: one for itself, then those of converters, DC buses and links.
    voltage
        Voltages in pu that the file stores, by bus number.

    Raises
    ------
    CaseError
        For values that no line can have, and powers that its resistances do not carry.
    """
    first = lines[0]
    mode = first.one_of("MDC", (0, 1, 2), 0)
    if mode == 0:
        return []
    counts = [first.whole(name) for name in ("NCONV", "NDCBS", "NDCLN")]
    ends = np.cumsum([1, *counts])
    converters, buses, links = (lines[a:b] for a, b in pairwise(ends))
    place = {record.bus("IDC"): i for i, record in enumerate(buses)}
    nodes = [_nodes(record, buses, place) for record in converters]
    conductance = _conductance(buses, links, place, {high for _, high in nodes if high >= 0})
    holding = {first.whole("VCONV"), first.whole("VCONVN", 0)} - {0}
    if not {record.bus("IB") for record in converters} & holding:
        raise first.error("VCONV", "must be the AC bus of a converter of this line")
    volts, amperes = _solve(first, converters, nodes, conductance, holding, mode)
    drawn = []
    for record, v, current in zip(converters, volts, amperes, strict=True):
        sign = 1 if v * current >= 0 else -1
        bridges = Bridges.of(record, "IB", "N", voltage)
        drawn.append(bridges.drawn(abs(float(v)), abs(float(current)), sign))
    return drawn


def _nodes(record: PsseRecord, buses: Sequence[PsseRecord], place: dict[int, int]) -> tuple[int, int]:
    """Return the positions of the DC buses that a converter stands between; -1 for the ground."""
    own = [bus for bus in buses if bus.whole("IB", 0) == record.bus("IB")]
    record.require(len(own) == 1, "IB", "must be the AC bus of one DC bus of this line")
    second = own[0].whole("IDC2", 0)
    own[0].require(second == 0 or second in place, "IDC2", "must be a DC bus of this line, or 0 (ground)")
    return place[own[0].bus("IDC")], place.get(second, -1)


def _conductance(
    buses: Sequence[PsseRecord], links: Sequence[PsseRecord], place: dict[int, int], grounded: set[int]
) -> NDArray[np.float64]:
    """Return the conductance matrix of the DC network in S."""
    g = np.zeros((len(buses), len(buses)))
    for link in links:
        a, b = (link.whole(name) for name in ("IDC", "JDC"))
        for name, number in (("IDC", a), ("JDC", b)):
            link.require(number in place, name, "must be a DC bus of this line")
        i, j, y = place[a], place[b], 1 / link.positive("RDC")
        g[[i, j], [i, j]] += y
        g[[i, j], [j, i]] -= y
    for i in grounded:
        ohms = buses[i].real("RGRND", 0.0)
        buses[i].require(ohms >= 0, "RGRND", "must be >= 0")
        g[i, i] += 1 / ohms if ohms else SOLID
    return g


def _solve(
    first: PsseRecord,
    converters: Sequence[PsseRecord],
    nodes: Sequence[tuple[int, int]],
    conductance: NDArray[np.float64],
    holding: set[int],
    mode: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return voltages in kV and currents in kA of the converters, by Newton on node voltages and currents."""
    size, count = len(conductance), len(converters)
    across = np.zeros((count, size))
    for k, (low, high) in enumerate(nodes):
        across[k, low] = 1.0
        if high >= 0:
            across[k, high] = -1.0
    given = np.array([record.real("SETVL") for record in converters])
    holds = np.array([record.bus("IB") in holding for record in converters])
    volts_held = np.where(holds, given, 0.0)
    # Every node at the held voltage of its pole: powers are small against the line's.
    level = float(volts_held[holds][0])
    sign = np.array([-1.0 if record.bus("IB") == first.whole("VCONVN", 0) else 1.0 for record in converters])
    volts_held = volts_held * np.where(volts_held > 0, sign, 1.0)
    v = np.linalg.lstsq(across, np.full(count, abs(level)) * sign, rcond=None)[0]
    v[np.abs(v) < 1e-9] = abs(level)
    current = np.where(holds, 0.0, given / level if mode == 1 else given / 1000)
    for _ in range(ITERATIONS):
        drop = across @ v
        own = np.where(
            holds, drop - volts_held, drop * current - given if mode == 1 else current - given / 1000
        )
        residual = np.concatenate([conductance @ v - across.T @ current, own])
        if np.abs(residual).max() < 1e-10:
            return drop, current
        by_v = np.where(holds[:, None], across, across * current[:, None] if mode == 1 else 0.0)
        by_i = np.diag(np.where(holds, 0.0, drop if mode == 1 else 1.0))
        try:
            step = np.linalg.solve(np.block([[conductance, -across.T], [by_v, by_i]]), -residual)
        except np.linalg.LinAlgError:
            break
        v, current = v + step[:size], current + step[size:]
    raise first.error("NCONV", "the DC network does not carry the powers SETVL of its converters")
