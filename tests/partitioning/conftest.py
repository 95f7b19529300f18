"""Small linear DAEs with known participation factors, made by hand: this package needs nothing of psmr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse


@dataclass(frozen=True)
class HandMade:
    """The fields a partition reads."""

    fx: Any
    fy: Any
    gx: Any
    gy: Any
    names_x: tuple[str, ...]
    names_y: tuple[str, ...]
    names_g: tuple[str, ...]
    groups: Any

    @property
    def n(self) -> int:
        return len(self.names_x)

    @property
    def m(self) -> int:
        return len(self.names_y)

    def state_matrix(self) -> Any:
        if self.m == 0:
            return self.fx.toarray()
        return self.fx.toarray() - self.fy.toarray() @ np.linalg.solve(self.gy.toarray(), self.gx.toarray())


def hand_made(
    fx: Any,
    fy: Any = None,
    gx: Any = None,
    gy: Any = None,
    names_x: Sequence[str] = (),
    names_y: Sequence[str] = (),
    names_g: Sequence[str] = (),
    groups: Any = None,
) -> HandMade:
    fx = np.atleast_2d(np.asarray(fx, float)) if np.size(fx) else np.zeros((0, 0))
    n = len(fx)
    gy = np.asarray(gy, float) if gy is not None else np.zeros((0, 0))
    m = len(gy)
    fy = np.asarray(fy, float) if fy is not None else np.zeros((n, m))
    gx = np.asarray(gx, float) if gx is not None else np.zeros((m, n))
    return HandMade(
        *(scipy.sparse.csc_matrix(block) for block in (fx, fy, gx, gy)),
        tuple(names_x) or tuple(f"D{i}.x" for i in range(n)),
        tuple(names_y) or tuple(f"D{j}.y" for j in range(m)),
        tuple(names_g) or tuple(f"D{j}.g" for j in range(m)),
        np.asarray(groups) if groups is not None else np.arange(n + m),
    )


@pytest.fixture(scope="session")
def make() -> Callable[..., HandMade]:
    return hand_made


@pytest.fixture(scope="session")
def two_rates() -> HandMade:
    """A slow state (-1) and a fast one (-1000), each with a voltage that reads it, and a set-point."""
    return hand_made(
        fx=[[-1.0, 0.01], [0.0, -1000.0]],
        gx=[[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]],
        gy=np.diag([-1.0, -1.0, 1.0]),
        names_x=("G1.e_q", "AVR1.v_m"),
        names_y=("G1.v_f", "AVR1.v_c", "AVR1.v_ref"),
    )


@pytest.fixture(scope="session")
def network() -> HandMade:
    """Two sources behind reactances (states: source voltages of 1 ms and of 1 s) on a chain of four buses.

    Rectangular current balance: the real current of a reactance flows by the imaginary voltage, so the row of
    i_re written where v_re stands has a zero on the diagonal. The lines have r << x, the load at bus 4 is
    resistive.
    """
    buses = 4
    lines = {(0, 1): 0.01 + 0.1j, (1, 2): 0.02 + 0.15j, (2, 3): 0.01 + 0.08j}
    admittance = np.zeros((buses, buses), complex)
    for (i, j), z in lines.items():
        admittance[[i, j], [i, j]] += 1 / z
        admittance[[i, j], [j, i]] -= 1 / z
    source = 1 / 0.05j
    admittance[0, 0] += source
    admittance[3, 3] += source
    admittance[3, 3] += 0.8
    gy = np.zeros((8, 8))
    gx = np.zeros((8, 4))
    for i in range(buses):
        for j in range(buses):
            g, b = admittance[i, j].real, admittance[i, j].imag
            gy[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = -np.array([[g, -b], [b, g]])
    for bus, column in ((0, 0), (3, 2)):
        gx[2 * bus : 2 * bus + 2, column : column + 2] = [
            [source.real, -source.imag],
            [source.imag, source.real],
        ]
    fx = np.diag([-1000.0, -1000.0, -1.0, -1.0])
    fy = np.zeros((4, 8))
    fy[0, 0] = fy[1, 1] = 300.0
    fy[2, 6] = fy[3, 7] = 0.3
    names_y = [f"bus{i + 1}.{v}" for i in range(buses) for v in ("v_re", "v_im")]
    names_g = [f"bus{i + 1}.{c}" for i in range(buses) for c in ("i_re", "i_im")]
    groups = [0, 0, 1, 1, *(2 + i // 2 for i in range(8))]
    return hand_made(fx, fy, gx, gy, ("C1.e_re", "C1.e_im", "G4.e_re", "G4.e_im"), names_y, names_g, groups)
