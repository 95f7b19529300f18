"""What fast steps to the end of a step need beside their equations: a grid of times, and slow polynomials."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Places in `MarchRoom.grid`: longest fast step in s, 0 where there is no march, a time in s at which one
# ends, and the error that all fast steps of a step may have.
FAST_STEP, ORIGIN, ALLOWED = range(3)
# Places in `MarchRoom.pace`: fast steps from one point of the grid to the next, and to how many points there
# is no look at their error.
DIVISOR, LOOK = range(2)


class MarchRoom(NamedTuple):
    """What a march reads and writes.

    `block`: Number of the block of the fast equations.
    `grid`, `pace`: See the names above.
    `slow_clocks`: (C,) whether slow rows read what the samples of a clock write, so that a step ends there.
    `read`, `levels`: (3, k) coefficients, constant first and time in units of the step, of the slow states
      that fast rows read and of the levels of the variables that respond
      (`psmr.integrate.step.network_response`).
    """

    block: int
    grid: np.ndarray
    pace: np.ndarray
    slow_clocks: np.ndarray
    read: np.ndarray
    levels: np.ndarray


NO_MARCH = (0.0, 0.0, 0.0)
"""`MarchRoom.grid` of a program that does not march."""


def march_room(
    block: int, grid: tuple[float, float, float], slow_clocks: list[bool], reads: tuple[int, int]
) -> MarchRoom:
    """Return the room for so many slow states and levels; without a march none is needed."""
    read, levels = reads if grid != NO_MARCH else (0, 0)
    pace, slow = np.array([1.0, 0.0]), np.array(slow_clocks, np.bool_)
    return MarchRoom(block, np.array(grid), pace, slow, np.zeros((3, read)), np.zeros((3, levels)))
