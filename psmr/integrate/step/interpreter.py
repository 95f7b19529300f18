"""The interpreter: what the compiled loop needs of a scheme on a system.

`psmr.integrate.step.instructions` has what each instruction does, and
`psmr.integrate.step.run_program` runs them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.integrate.step.network_response import NetworkResponse
from psmr.integrate.step.stage_history import StageHistory
from psmr.integrate.step.validity import Probe

# Places in `Interpreter.state`; those of `psmr.integrate.step.validity` follow.
AUTONOMOUS, EVALUATED_BLOCK, FAILED, SOLVING, CORRECTIONS, DIVIDED, PARTS, HAS_HISTORY, EFFORT = range(9)
# Places in `Interpreter.measured`.
DIFFERENCE, LEAST, TOLERANCE_FACTOR = range(3)
# Columns of `Interpreter.loops`: times round, and corrections in a row that made the difference larger.
ROUND, GROWTHS = range(2)


class Interpreter(NamedTuple):
    """What the loop needs of a scheme on a system.

    Attributes
    ----------
    run
        Address of the machine code that runs the program; see `psmr.integrate.step.run_program.with_program`.
    code, numbers
        The program; see `psmr.integrate.step.program_table`.
    part_code, part_numbers
        The program of a part of a step: without history.
    blocks
        Addresses of the blocks.
    points, rates
        Values of w and of f by place.
    loops
        (loops, 2) counters.
    fast, slow, read
        Positions in w of fast and slow variables, and of the slow ones that the fast equations read and that
        are interpolated.
    response
        See `psmr.integrate.step.network_response.NetworkResponse`.
    probe
        See `psmr.integrate.step.validity.Probe`.
    stage_history
        See `psmr.integrate.step.stage_history.StageHistory`.
    inner_points
        Points of the trajectory within a step, where they are recorded.
    divided
        For each step of the span, whether it was taken in parts.
    state, measured
        Whole and real numbers that outlive a step; see the names above.
    policy, tolerance, drifts_from
        Newton's; see `psmr.integrate.step.stepper.NewtonSettings`.
    """

    run: int
    code: np.ndarray
    numbers: np.ndarray
    part_code: np.ndarray
    part_numbers: np.ndarray
    blocks: np.ndarray
    points: np.ndarray
    rates: np.ndarray
    loops: np.ndarray
    fast: np.ndarray
    slow: np.ndarray
    read: np.ndarray
    response: NetworkResponse
    probe: Probe
    stage_history: StageHistory
    inner_points: np.ndarray
    divided: np.ndarray
    state: np.ndarray
    measured: np.ndarray
    policy: int
    tolerance: float
    drifts_from: float
