"""The test circuit of EPRI's controller: a bridge, a choke, a star-delta transformer, a grid.

Facts of the public repository temcdrm/emthub (`data/readme.md`, netlist `atp/dll/gfm_gfl_ibr2/base.atp`): an
averaged bridge of 600 V times the modulation, to ground; a choke of 0.75 mOhm and 0.1 mH; three transformers
of one phase, star on the bridge's side with its neutral over 1 MOhm, delta on the other, with leakage on both
sides and the magnetising branch behind that of the star; the grid's reactance of 167.55 Ohm with 1,666.9 Ohm
beside it. Faults are ideal switches at the terminals of the delta; each opens at a zero of its current.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

Reals = NDArray[np.float64]

PHASES = np.array([0.0, 2.0, 4.0]) * np.pi / 3.0
"""By how much each phase lags the first, in rad."""

# The winding of each phase lies between two terminals of the delta.
DELTA = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]])

SWITCHES = {
    "AG": (1.0, 0.0, 0.0),
    "BG": (0.0, 1.0, 0.0),
    "CG": (0.0, 0.0, 1.0),
    "AB": (1.0, -1.0, 0.0),
    "BC": (0.0, 1.0, -1.0),
    "AC": (1.0, 0.0, -1.0),
}
"""Which voltage each switch makes zero."""

# Places in the state: choke, magnetising, delta, grid, bridge (held), source (real and imaginary part).
CHOKE, CORE, WINDING, GRID, BRIDGE = (slice(a, a + 3) for a in (0, 3, 6, 9, 12))
SOURCE = slice(15, 17)
SIZE = 17


@dataclass(frozen=True)
class Circuit:
    """Ohms, henries and volts of the circuit; `omega` rad/s at which its reactances are given."""

    r_choke: float = 7.5e-4
    l_choke: float = 1e-4
    r_star: float = 0.00108
    x_star: float = 0.0108
    r_core: float = 144.0
    l_core: float = 1.3 / 13.6
    r_delta: float = 10.71
    x_delta: float = 107.12
    ratio: float = 34500.0 / 346.3
    r_neutral: float = 1e6
    x_grid: float = 167.55
    r_grid: float = 1666.9
    v_source: float = 28169.13
    v_bridge: float = 600.0
    omega: float = 120.0 * np.pi
    v_base: float = 600.0 * np.sqrt(2.0 / 3.0)
    i_base: float = 1e6 / 600.0 * np.sqrt(2.0 / 3.0)

    @cached_property
    def source(self) -> Reals:
        """(3, 2) voltages of the source by its real and imaginary part: V cos(theta - lag)."""
        return np.column_stack([np.cos(PHASES), np.sin(PHASES)])

    def terminals(self, closed: tuple[str, ...]) -> tuple[Reals, Reals]:
        """Return the (3, SIZE) voltages of the delta's terminals, and the (closed, SIZE) switches' currents.

        The terminals' voltages follow from the sum of currents, with those of closed switches as what makes
        the voltages across them zero.
        """
        open_circuit = np.zeros((3, SIZE))
        open_circuit[:, SOURCE] = self.source
        open_circuit[:, WINDING] = self.r_grid * DELTA.T
        open_circuit[:, GRID] = -self.r_grid * np.eye(3)
        if not closed:
            return open_circuit, np.zeros((0, SIZE))
        c = np.array([SWITCHES[name] for name in closed])
        drawn = np.linalg.solve(c @ c.T, c @ open_circuit)
        return open_circuit - c.T @ drawn, drawn / self.r_grid

    def rates(self, closed: tuple[str, ...], frequency: float) -> Reals:
        """Return the (SIZE, SIZE) matrix of d/dt of the state with switches closed and the source's Hz."""
        eye, a = np.eye(3), np.zeros((SIZE, SIZE))
        v, _ = self.terminals(closed)
        # The voltage of the core: over its resistance flows what neither inductance nor winding take.
        core = np.zeros((3, SIZE))
        core[:, CHOKE], core[:, CORE] = self.r_core * eye, -self.r_core * eye
        core[:, WINDING] = -self.r_core * self.ratio * eye
        a[CHOKE] = -core
        a[CHOKE, CHOKE] -= (self.r_choke + self.r_star) * eye + self.r_neutral
        a[CHOKE, BRIDGE] += eye
        a[CHOKE] /= self.l_choke + self.x_star / self.omega
        a[CORE] = core / self.l_core
        a[WINDING] = self.ratio * core - DELTA @ v
        a[WINDING, WINDING] -= self.r_delta * eye
        a[WINDING] /= self.x_delta / self.omega
        a[GRID] = v.copy()
        a[GRID, SOURCE] -= self.source
        a[GRID] /= self.x_grid / self.omega
        turn = 2 * np.pi * frequency
        a[SOURCE, SOURCE] = [[0.0, -turn], [turn, 0.0]]
        return a

    def measured(self, closed: tuple[str, ...], frequency: float) -> Reals:
        """Return the (3, SIZE) voltages between choke and transformer, to ground."""
        choke = -self.l_choke * self.rates(closed, frequency)[CHOKE]
        choke[:, CHOKE] -= self.r_choke * np.eye(3)
        choke[:, BRIDGE] += np.eye(3)
        return choke


@cache
def step(circuit: Circuit, closed: tuple[str, ...], frequency: float, h: float, parts: int = 0) -> Reals:
    """Return the (SIZE, SIZE) map of the state over h s with the bridge's voltage held.

    It is exact, or that of so many steps of the trapezoidal rule.
    """
    a = circuit.rates(closed, frequency)
    if not parts:
        return np.asarray(expm(a * h))
    half, eye = a * (h / parts / 2), np.eye(SIZE)
    return np.linalg.matrix_power(np.linalg.solve(eye - half, eye + half), parts)
