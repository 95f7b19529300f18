"""By what a macro step of SMES multiplies each mode: its linear map, in closed form.

Source: Shi and Rojas, Efficient simulation of singularly perturbed systems using a stabilized multirate
explicit scheme, condition (14). The pencil maps the program of the same step (`psmr.pencil.operator`); that
both agree is tested.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.integrate.schemes.stability import polynomial
from psmr.integrate.tableaux.runge_kutta import EXPLICIT

BASES = ("FEM", "RK2", "RK4")
NODES = ("settled", "macro")


def setbacks(base: str, nodes: str) -> NDArray[np.float64]:
    """Return (s,) by how many N delta each stage's long step is shorter than c_i h."""
    c = EXPLICIT[base].c
    return np.full(c.size, 2.0) if nodes == "macro" else 1.0 + c


def room_for_micro(base: str, h: float, nodes: str) -> float:
    """Return what N delta must stay below for a macro step h, so that no long step goes backwards, in s."""
    if base == "FEM":
        return h
    c, back = EXPLICIT[base].c, setbacks(base, nodes)
    return float((c / back)[c > 0].min()) * h


def amplification(
    eigenvalues: ArrayLike,
    h: float,
    delta: float,
    micro: ArrayLike,
    base: str = "FEM",
    nodes: str = "settled",
) -> NDArray[np.complex128]:
    """Return by what one macro step multiplies the mode of each eigenvalue (1/s); (14) for forward Euler.

    The linear map of the step is this function of the state matrix, M = R(A). A sequence of numbers `micro`
    gives a row for each.
    """
    s = np.asarray(eigenvalues, dtype=complex)
    number = np.asarray(micro)[..., None]
    tableau, back = EXPLICIT[base], setbacks(base, nodes)
    with np.errstate(over="ignore", invalid="ignore"):
        settle = polynomial("FEM", delta * s) ** number
        rates = np.zeros((tableau.stages, *settle.shape), complex)
        for i, c in enumerate(tableau.c):
            at = settle
            if i > 0:
                along = np.tensordot(tableau.A[i, :i] / c, rates[:i], 1)
                at = settle * (settle + (c * h - back[i] * number * delta) * along)
            rates[i] = s * at
        return np.asarray(settle + (h - number * delta) * np.tensordot(tableau.b, rates, 1))
