"""A line with a fault or open phases inside, as its two buses see it: the points inside are eliminated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Complexes = NDArray[np.complex128]


@dataclass(frozen=True)
class Sections:
    """A line cut in two: each section is a pi circuit with its part of the impedance and of the charging.

    Attributes
    ----------
    z, y
        Series impedance and total shunt admittance of the whole line in pu.
    at
        Part of the length from bus i at which it is cut; 0 and 1: at the buses.
    open_i, open_j
        Whether the breakers of either end are open.
    """

    z: complex
    y: complex
    at: float = 0.0
    open_i: bool = False
    open_j: bool = False

    def nodes(self) -> Complexes:
        """Return the (4, 4) admittance matrix of bus i, bus j and the two sides of the cut, not joined.

        An open end is eliminated. Where the cut is at a bus, that side of it is the bus and has no node.
        """
        found = np.zeros((4, 4), dtype=complex)
        for bus, cut, part, opened in (
            (0, 2, self.at, self.open_i),
            (1, 3, 1.0 - self.at, self.open_j),
        ):
            if part == 0:
                continue
            series, shunt = 1.0 / (self.z * part), self.y * part / 2
            if opened:
                found[cut, cut] += shunt + series * shunt / (series + shunt)
            else:
                found[np.ix_((bus, cut), (bus, cut))] += series * np.array([[1, -1], [-1, 1]])
                found[bus, bus] += shunt
                found[cut, cut] += shunt
        return found


def with_fault(sections: Sections, admittance: complex) -> Complexes:
    """Return the (2, 2) admittance matrix of a line with an admittance in pu to ground at its cut."""
    nodes = joined(sections.nodes(), 2, 3)
    nodes[2, 2] += admittance
    return eliminated(nodes, 2)


def with_gap(sections: Sections, admittance: complex) -> Complexes:
    """Return the (2, 2) admittance matrix of a line whose sections are joined by an admittance in pu."""
    nodes = sections.nodes()
    nodes[2:, 2:] += admittance * np.array([[1, -1], [-1, 1]])
    if sections.at in (0.0, 1.0):
        nodes = joined(nodes, 0, 2) if sections.at == 0 else joined(nodes, 1, 3)
    return eliminated(nodes, 2)


def eliminated(nodes: Complexes, keep: int) -> Complexes:
    """Return the admittance matrix of the first nodes; nothing is connected at the others."""
    inner = nodes[keep:, keep:]
    return nodes[:keep, :keep] - nodes[:keep, keep:] @ np.linalg.solve(inner, nodes[keep:, :keep])


def joined(nodes: Complexes, kept: int, gone: int) -> Complexes:
    """Return an admittance matrix with two nodes as one."""
    found = nodes.copy()
    found[kept] += found[gone]
    found[:, kept] += found[:, gone]
    return np.delete(np.delete(found, gone, 0), gone, 1)
