"""A line of pi sections at rest: the currents through its sections and the voltages between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def sections_at_rest(
    z: complex, y: complex, n: int, v: Sequence[complex]
) -> tuple[list[complex], list[complex]]:
    """Return (n,) currents in pu through the sections, and (n,) voltages in pu at which they begin.

    From the transfer matrix of all sections, the power of that of one.

    Parameters
    ----------
    z, y
        Series impedance and shunt admittance of one section in pu, half of y at either end of it.
    n
        How many there are.
    v
        Voltages at both ends of the line in pu.
    """
    if n == 1:  # exactly, where a short line has the difference of two like voltages
        return [(v[0] - v[1]) / z], [v[0]]
    a = 1 + z * y / 2
    (a_n, b_n), _ = np.linalg.matrix_power(np.array([[a, z], [y * (1 + z * y / 4), a]]), n).tolist()
    at, through = v[0], (a_n * v[0] - v[1]) / b_n - y / 2 * v[0]
    currents, voltages = [], []
    for _ in range(n):
        currents.append(through)
        voltages.append(at)
        at -= z * through
        through -= y * at
    return currents, voltages
