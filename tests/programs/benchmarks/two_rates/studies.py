"""Studies in which something local never comes to rest: series at plants, second and sixth harmonics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import psmr
from tests.converter_plants import BEGINS, Plants
from tests.internals import Change, Course

LARGE, SMALL = "case1354pegase", "new-england"

# Rows of a series in s, their spread about the mean and its correlation, and white noise on top (parts).
ROWS, SPREAD, CORRELATION, NOISE = 0.01, 0.05, 1.0, 0.01

# Of the first row in s: rows lie between the instants, multiples of 20 ms, at which errors are taken.
FIRST_ROW = 0.025

# A fault with this impedance in pu, and how long it lasts in s.
FAULT_X, FAULT_LASTS = 0.05, 0.1


def series(plants: Plants, t_end: float, held: bool, seed: int = 7) -> tuple[Change, ...]:
    """Return a course of the active set-point of each plant: turbulence with white noise at 100 Hz.

    `held`: a staircase in place of lines.
    """
    noise = np.random.default_rng(seed)
    count = int(np.ceil(t_end / ROWS)) + 1
    t = FIRST_ROW + ROWS * np.arange(count)
    kept = np.exp(-ROWS / CORRELATION)
    courses = []
    for name in plants.plants:
        signal = f"{name}.p_ref"
        mean = plants.system.w0[plants.system.n + plants.system.m + plants.system.names_u.index(signal)]
        slow = np.zeros(count)
        for k in range(1, count):
            slow[k] = kept * slow[k - 1] + SPREAD * np.sqrt(1 - kept**2) * noise.standard_normal()
        value = mean * (1.0 + slow + NOISE * noise.standard_normal(count))
        value[0] = mean
        courses.append((signal, Course.held(t, value) if held else Course.through(t, value)))
    return (Change(FIRST_ROW, courses=tuple(courses)),)


def ripple(plants: Plants, **sizes: float) -> tuple[Change, ...]:
    """Return harmonics of the voltage (`v_2`, `v_5`, `v_7` in pu) beside each plant that begin and stay."""
    return tuple(
        change
        for name in plants.plants
        for key, size in sizes.items()
        for change in psmr.ParameterStep(name, key, size, BEGINS).changes(plants.system)
    )


def fault(plants: Plants, start: float, where: str) -> tuple[Change, ...]:
    """Return a fault from `start` in s on: at the bus of a plant ("near"), or amid the list of buses."""
    names = [name[: -len(".v_re")] for name in plants.system.names_y if name.endswith(".v_re")]
    bus = plants.buses[0] if where == "near" else names[len(names) // 3]
    event = psmr.Fault(bus=bus, start=start, clear=start + FAULT_LASTS, x=FAULT_X)
    return event.changes(plants.system)


# Plants, branches around them with dynamics, and what moves them until an end in s.
KINDS: dict[str, tuple[int, int | None, Callable[[Plants, float], tuple[Change, ...]]]] = {
    "series, lines": (20, None, lambda plants, t_end: series(plants, t_end, held=False)),
    "series, held": (20, None, lambda plants, t_end: series(plants, t_end, held=True)),
    "second harmonic": (5, None, lambda plants, t_end: ripple(plants, v_2=0.03)),
    "sixth harmonic": (20, None, lambda plants, t_end: ripple(plants, v_5=0.01, v_7=0.007)),
    "second harmonic, region": (5, 1, lambda plants, t_end: ripple(plants, v_2=0.03)),
}
