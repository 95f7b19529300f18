"""Voltages from which the power flow starts: stored ones, flat ones, of DC flow, of the unloaded network."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.network.powerflow.power_balance import Balance, Complexes, Reals

STORED, FLAT, LINEAR, UNLOADED = "stored", "flat", "linear", "unloaded"
STARTS = (STORED, FLAT, LINEAR, UNLOADED)
"""The voltages that the file stores; flat ones; flat ones with the angles of the linear (DC) power flow;
those of the network without loads, which ratios far from 1 between small impedances need."""


def starting_voltages(balance: Balance, start: str) -> tuple[Reals, Reals]:
    """Return (v, angle) in pu and rad from which the iteration starts."""
    if start == STORED:
        return stored_voltages(balance)
    v = balance.with_held(np.where(balance.pv, balance.v_set, 1.0))
    angle = _angles(balance, balance.p - balance.loads.drawn(v)[0].real if start == LINEAR else None)
    if start == UNLOADED:
        return _unloaded(balance, v * np.exp(1j * angle), balance.held)
    return v, angle


def stored_voltages(balance: Balance) -> tuple[Reals, Reals]:
    """Return the (v, angle) that the case stores, with those of an open network where it stores none.

    The star of a three-winding transformer is such a bus: what its neighbours store decides its voltage.
    """
    buses = balance.case.buses
    known = np.array([bus.v is not None for bus in buses])
    voltage = np.array(
        [
            0j if bus.v is None or bus.angle_deg is None else np.exp(1j * np.radians(bus.angle_deg)) * bus.v
            for bus in buses
        ]
    )
    return _unloaded(balance, voltage, known)


def _unloaded(balance: Balance, voltage: Complexes, known: NDArray[np.bool_]) -> tuple[Reals, Reals]:
    """Return (v, angle) with those that are not known as in a network without loads; 1 where it has none."""
    voltage = voltage.copy()
    if not known.all():
        y, unknown = balance.y, ~known
        try:
            found = splu(y[unknown][:, unknown].tocsc()).solve(-(y[unknown][:, known] @ voltage[known]))
        except RuntimeError:
            found = np.full(np.count_nonzero(unknown), np.nan)
        voltage[unknown] = np.where(np.isfinite(found) & (np.abs(found) > 0.1), found, 1.0)
    return np.abs(voltage), np.angle(voltage)


def _angles(balance: Balance, p: Reals | None) -> Reals:
    """Return the angles of the linear (DC) power flow; those without any active power where p is None.

    Without power they are, in each island, the slack's angle, and behind a phase shift that much more or
    less: from equal angles the iteration would not get past 30 degrees.
    """
    size = len(balance.p)
    angle = np.zeros(size)
    _, island = sparse.csgraph.connected_components(abs(balance.y), directed=False)
    for bus, g in zip(balance.at, balance.case.generators, strict=True):
        if g.control == "slack":
            angle[island == island[bus]] = np.radians(g.angle_deg)
    for bus, g in zip(balance.at, balance.case.generators, strict=True):
        if g.control == "slack":
            angle[bus] = np.radians(g.angle_deg)
    shifting = [row for row in balance.case.transformers if row.status and row.shift_deg]
    free = ~balance.slack
    if (p is None and not shifting) or not free.any():
        return angle
    place = {bus.number: i for i, bus in enumerate(balance.case.buses)}
    branches = [row for row in balance.case.branches if row.status]
    ends = np.array([(place[row.from_bus], place[row.to_bus]) for row in branches])
    # Without the sign of x, so that the matrix is definite; without flows only loops feel the weights.
    b = np.array([1 / abs(row.x or row.r) for row in branches])
    shift = np.radians([getattr(row, "shift_deg", 0.0) for row in branches])
    rows = np.arange(len(branches))
    incidence = sparse.csc_matrix(
        (np.r_[np.ones(rows.size), -np.ones(rows.size)], (np.r_[rows, rows], ends.T.ravel())),
        shape=(rows.size, size),
    )
    matrix = (incidence.T @ sparse.diags(b) @ incidence).tocsc()
    given = incidence.T @ (b * shift) - matrix @ angle + (0.0 if p is None else p)
    angle[free] += splu(matrix[free][:, free].tocsc()).solve(given[free])
    return angle
