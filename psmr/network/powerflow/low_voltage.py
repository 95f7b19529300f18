"""Whether a solution of the power flow is one of low voltage, beyond the nose of the power-voltage curve.

Beyond the nose a bus's voltage falls where more reactive power is injected there, and the determinant of the
Jacobian has changed its sign an odd number of times since the unloaded network. Both are compared with that
network, for a series capacitor gives such signs by itself. Sources: V. A. Venikov et al., Estimation of
electrical power system steady-state stability in load flow calculations, IEEE Trans. PAS-94 (1975); P.
Kundur, Power System Stability and Control (1994), section 14.3.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, SuperLU, eigs, splu

from psmr.network.powerflow.power_balance import Balance, Reals, jacobian
from psmr.network.powerflow.starting_voltages import FLAT, starting_voltages

LOOKED_AT, SUSPICIOUS = 25, 0.9
"""How many buses, of those below this voltage in pu, have their sensitivity looked at."""

MODES, MOVED = 12, 5
"""How many eigenvalues nearest to zero are looked at, and how many buses of a mode."""


def low_voltage_buses(balance: Balance, v: Reals, angle: Reals) -> tuple[list[int], bool]:
    """Return the positions of buses on the low-voltage side, and whether the determinant has changed sign.

    Looked at are the buses of the lowest voltages and, where the determinant has changed sign, those of the
    lowest voltages that the mode of the negative eigenvalue moves most, in angle or voltage. A change of sign
    without such a bus is no more than a reason to look.
    """
    free_v = balance.free_v
    if not free_v.size:
        return [], False
    try:
        here = splu(jacobian(balance, v, angle))
        unloaded = splu(jacobian(balance, *starting_voltages(balance, FLAT), loads=False))
    except RuntimeError:
        # Singular: the solution is the nose itself, or the unloaded network says nothing.
        return [], False
    lowest = free_v[np.argsort(v[free_v])][:LOOKED_AT]
    found = [
        int(bus)
        for bus in lowest[v[lowest] < SUSPICIOUS]
        if _sensitivity(balance, here, bus) < 0 < _sensitivity(balance, unloaded, bus)
    ]
    turned = _sign(here) != _sign(unloaded)
    if turned and not found:
        moved = _moved_most(balance, here)
        found = [bus for bus in moved if v[bus] < SUSPICIOUS]
    return found, turned


def _moved_most(balance: Balance, lu: SuperLU) -> list[int]:
    """Return the positions of the buses that the modes of negative real eigenvalues near zero move most."""
    size = lu.shape[0]
    count = min(MODES, size - 2)
    if count < 1:
        return []
    inverse = LinearOperator((size, size), matvec=lu.solve, dtype=float)
    try:
        values, vectors = eigs(inverse, k=count, which="LM", v0=np.ones(size))
    except ArpackError:
        return []
    at = np.concatenate([balance.free_angle, balance.free_v])
    found: list[int] = []
    for value, vector in zip(values, vectors.T, strict=True):
        if value.real < 0 and abs(value.imag) < 1e-9 * abs(value):
            found += [int(bus) for bus in at[np.argsort(-np.abs(vector))][:MOVED]]
    return list(dict.fromkeys(found))


def _sensitivity(balance: Balance, lu: SuperLU, bus: int) -> float:
    """Return the derivative of a bus's voltage with respect to the reactive power injected there."""
    injected = balance.reactive_rows()[:, [bus]].toarray().ravel()
    given = np.concatenate([np.zeros(balance.free_angle.size), injected])
    return float(lu.solve(given)[balance.free_angle.size + int(np.searchsorted(balance.free_v, bus))])


def _sign(lu: SuperLU) -> int:
    """Return the sign of a determinant from its factors."""
    diagonal = int(np.count_nonzero(lu.U.diagonal() < 0))
    return 1 - 2 * ((diagonal + _odd(lu.perm_r) + _odd(lu.perm_c)) % 2)


def _odd(permutation: np.ndarray) -> int:
    """Return 1 for an odd permutation: an odd number of cycles of even length."""
    seen = np.zeros(len(permutation), dtype=bool)
    odd = 0
    for start in range(len(permutation)):
        if seen[start]:
            continue
        at, length = start, 0
        while not seen[at]:
            seen[at] = True
            at = permutation[at]
            length += 1
        odd ^= (length + 1) % 2
    return odd
