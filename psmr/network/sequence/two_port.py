"""A line with a fault or open phases inside, as its two buses see it: the points inside are eliminated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Complexes = NDArray[np.complex128]


@dataclass(frozen=True)
class Sections:
    """A line cut in two: each section is a pi circuit with its part of the impedance and of the charging.

    Its nodes are bus i, bus j and the two sides of the cut. A side at a bus whose breaker is closed is that
    bus; behind an open breaker it is a node of the line, as anywhere along it.

    Attributes
    ----------
    z, y
        Series impedance and total shunt admittance of the whole line in pu.
    at
        Part of the length from bus i at which it is cut; 0 and 1: at the buses.
    open_i, open_j
        Whether the breakers of either end are open.
    gap
        Whether the two sides of the cut are apart; otherwise they are one node.
    """

    z: complex
    y: complex
    at: float = 0.0
    open_i: bool = False
    open_j: bool = False
    gap: bool = False

    @property
    def sides(self) -> tuple[int, int]:
        """The nodes of the two sides of the cut: 0 and 1 are the buses."""
        i = 0 if self.at == 0 and not self.open_i else 2
        j = 1 if self.at == 1 and not self.open_j else 3
        return (i, j) if self.gap else (min(i, j),) * 2

    def nodes(self, ground: complex = 0j, across: complex = 0j) -> Complexes:
        """Return the (4, 4) admittance matrix of the nodes; an open end is eliminated.

        Parameters
        ----------
        ground, across
            Admittances in pu to ground at the cut, from its side towards bus i, and across it.
        """
        found = np.zeros((4, 4), dtype=complex)
        i, j = self.sides
        for bus, cut, part, opened in ((0, i, self.at, self.open_i), (1, j, 1.0 - self.at, self.open_j)):
            if part == 0:
                continue
            series, shunt = 1.0 / (self.z * part), self.y * part / 2
            if opened:
                found[cut, cut] += shunt + series * shunt / (series + shunt)
                continue
            _join(found, bus, cut, series)
            found[bus, bus] += shunt
            found[cut, cut] += shunt
        found[i, i] += ground
        _join(found, i, j, across)
        return found

    def two_port(self, ground: complex = 0j, across: complex = 0j) -> Complexes:
        """Return the (2, 2) admittance matrix that the buses see."""
        nodes = self.nodes(ground, across)
        return nodes[:2, :2] + nodes[:2, 2:] @ _voltages_inside(nodes)

    def voltages(self, v: Complexes, ground: complex = 0j, across: complex = 0j) -> Complexes:
        """Return (K, 2) voltages of the two sides of the cut for (K, 2) voltages of the buses."""
        inside = _voltages_inside(self.nodes(ground, across))
        return np.hstack([v, v @ inside.T])[:, list(self.sides)]


def _join(nodes: Complexes, a: int, b: int, admittance: complex) -> None:
    """Add an admittance between two nodes; between a node and itself there is none."""
    if a != b:
        nodes[np.ix_((a, b), (a, b))] += admittance * np.array([[1, -1], [-1, 1]])


def _voltages_inside(nodes: Complexes) -> Complexes:
    """Return (2, 2) voltages of the nodes inside by those of the buses; one that nothing joins has none."""
    found = np.zeros((2, 2), dtype=complex)
    used = 2 + np.flatnonzero(nodes[2:, 2:].any(axis=1))
    found[used - 2] = -np.linalg.solve(nodes[np.ix_(used, used)], nodes[used, :2])
    return found
