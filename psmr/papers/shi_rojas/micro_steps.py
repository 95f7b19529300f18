"""How many micro steps SMES takes: the search for the fewest that meet condition (14) of Shi and Rojas.

By what a macro step multiplies each mode is its linear map, in closed form. Source: Shi and Rojas,
Efficient simulation of singularly perturbed systems using a stabilized multirate explicit scheme, condition
(14). The pencil maps the program of the same step (`psmr.pencil.operator`); that both agree is tested.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.errors import SchemeError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.stability import Spectrum, longest_step, mode_words, narrowest
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
        settle = EXPLICIT["FEM"].stability_function(delta * s) ** number
        rates = np.zeros((tableau.stages, *settle.shape), complex)
        for i, c in enumerate(tableau.c):
            at = settle
            if i > 0:
                along = np.tensordot(tableau.A[i, :i] / c, rates[:i], 1)
                at = settle * (settle + (c * h - back[i] * number * delta) * along)
            rates[i] = s * at
        return np.asarray(settle + (h - number * delta) * np.tensordot(tableau.b, rates, 1))


# Micro steps tried by `Smes.for_system`: 100 a decade, so that the best one is missed by some 1 %.
PER_DECADE = 100

# Below this damping ratio the best micro step for a complex mode leaves more than 0.7 of it.
LIGHT = 0.7

# Numbers of micro steps that are looked at together.
BATCH = 256


def choose(
    linear: LinearDae, h: float, base: str, delta: float | None, margin: float, nodes: str
) -> tuple[float, int]:
    """Return (delta in s, N) with the fewest micro steps; arguments and errors as in `Smes.for_system`."""
    spectrum = Spectrum.of(linear)
    steps = micro_steps(spectrum, h, base, nodes) if delta is None else np.array([delta])
    widened = spectrum.widened(h, margin)
    fast = widened[np.abs(widened) * h > 1.0]
    best: tuple[int, float, float] | None = None
    for trial in map(float, steps[::-1]):
        micro = smallest_micro(widened, h, trial, base, best[0] if best else None, nodes)
        if micro is not None:
            # Of equally short ones the one that leaves least of the fast modes.
            left = float(np.abs(amplification(fast, h, trial, micro, base, nodes)).max(initial=0.0))
            if best is None or (micro, left) < best[:2]:
                best = (micro, left, trial)
    if best is None:
        raise SchemeError(_refusal(spectrum, h, base, delta, margin, nodes))
    micro, _, chosen = best
    limit, mode = narrowest(spectrum.damped, base)
    if 0.0 < limit < h:
        stages = EXPLICIT[base].stages
        alone, cost = stages * math.ceil(h / limit), stages * (micro + 1)
        if cost > alone:
            raise SchemeError(_no_gain(base, h, (chosen, micro), cost, alone, limit, mode))
    return chosen, micro


def smallest_micro(
    eigenvalues: ArrayLike,
    h: float,
    delta: float,
    base: str = "FEM",
    most: int | None = None,
    nodes: str = "settled",
) -> int | None:
    """Return the smallest number N >= 1 of micro steps for which every given mode decays, or None.

    Parameters
    ----------
    eigenvalues
        Of the modes that are to decay, 1/s.
    h, delta, base, nodes
        As in `Smes`; N delta is kept below `room_for_micro`.
    most
        Largest N to look at.
    """
    limit = math.ceil(room_for_micro(base, h, nodes) / delta) - 1
    limit = limit if most is None else min(limit, most)
    for first in range(1, limit + 1, BATCH):
        number = np.arange(first, min(first + BATCH, limit + 1))
        factors = np.abs(amplification(eigenvalues, h, delta, number, base, nodes))
        good = np.flatnonzero((factors < 1.0).all(axis=1))
        if good.size:
            return int(number[good[0]])
    return None


def micro_steps(spectrum: Spectrum, h: float, base: str, nodes: str) -> NDArray[np.float64]:
    """Return the micro steps to try in s: 1/|s| of each mode faster than h, and a grid over their range.

    delta = 1/|s| removes a real mode in one step; -Re s / |s|^2 is the best one step can do for a complex
    one.
    """
    room = room_for_micro(base, h, nodes)
    s = spectrum.damped[np.abs(spectrum.damped) * h > 1.0]
    best = -s.real / np.abs(s) ** 2
    best = best[best > 0.0]
    if not best.size:
        return np.array([0.01 * room])  # nothing is fast: a micro step that does no harm
    low, high = 0.1 * float(best.min()), max(2.0 * float(best.max()), float(1.0 / np.abs(s).min()))
    count = math.ceil(PER_DECADE * math.log10(high / low)) + 1
    steps = np.unique(np.concatenate([best, 1.0 / np.abs(s), np.geomspace(low, high, count)]))
    return np.asarray(steps[steps < room])


def _refusal(spectrum: Spectrum, h: float, base: str, delta: float | None, margin: float, nodes: str) -> str:
    """Say that there is no N, and which mode is in the way."""
    upper = spectrum.damped[spectrum.damped.imag >= 0]
    alone = []
    for s in upper:
        pair = Spectrum(np.array([s]))
        steps = micro_steps(pair, h, base, nodes) if delta is None else [delta]
        if all(
            smallest_micro(pair.widened(h, margin), h, float(d), base, nodes=nodes) is None for d in steps
        ):
            alone.append(complex(s))
    limits = {s: longest_step([s], "FEM") for s in (alone or map(complex, upper))}
    worst = min(limits, key=lambda s: limits[s])
    chosen = "whatever delta" if delta is None else f"with delta = {delta:g} s"
    together = "" if alone else ", each mode on its own could be damped but not all together; the narrowest"
    limit = f"only with steps below {limits[worst]:.3g} s" if limits[worst] > 0.0 else "with no step at all"
    return (
        f"SMES on {base} with h = {h:g} s: there is no number N of micro steps with N delta <"
        f" {room_for_micro(base, h, nodes):g} s "
        f"that makes the step stable, {chosen}{together}: mode {mode_words(worst)}, which forward Euler,"
        " the method of the "
        f"micro steps, damps {limit}. Take a smaller h, "
        f"{'base RK4 where the mode is slow, ' if base != 'RK4' else ''}or an implicit scheme"
    )


def _no_gain(
    base: str, h: float, found: tuple[float, int], cost: int, alone: int, limit: float, mode: complex
) -> str:
    """Say that the base method alone is cheaper, and which mode is in the way."""
    lightly = -mode.real < LIGHT * abs(mode)
    advice = (
        "which is too lightly damped for micro steps to remove; take a smaller h or an implicit scheme"
        if lightly
        else f"and h is hardly longer; take a longer h, or {base} alone"
    )
    delta, micro = found
    return (
        f"SMES on {base} with h = {h:g} s has no number N of micro steps that gains anything: "
        f"the cheapest stable one is N = {micro} with delta = {delta:.3g} s, "
        f"{cost} evaluations in a macro step, and {base} alone takes {alone} with its "
        f"longest stable step {limit:.3g} s. That is set by the mode {mode_words(mode)}, {advice}"
    )
