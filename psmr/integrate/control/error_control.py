"""A controller for one program: made for a system, begun with each span, and asked why a run did not end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import SimulationError
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.control.controller import (
    ACCEPTED,
    NONE_BEFORE,
    REJECTED,
    TRIED,
    Control,
    solvable_at_first,
)
from psmr.integrate.control.corners import Corners
from psmr.integrate.control.disturbance import SO_FAR, begin_disturbance, disturbance_of
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.impasse import JUMP, impasse
from psmr.integrate.solve.records import WORST_AT as LARGEST_AT
from psmr.integrate.solve.status import SPENT, Status
from psmr.integrate.step.program_table import OPERATION, SAVE, TARGET, Encoded
from psmr.integrate.tableaux.implicit_pairs import ImplicitPair

Reals = NDArray[np.float64]


def halts_of(code: NDArray[np.int64], corners: Corners) -> NDArray[np.int64]:
    """Return `Control.halts`: behind each stage that is later in time than all before it, and the end.

    The first of them is the one near the middle. A stage behind the end would not save enough.
    """
    saved = {int(row[TARGET]): at + 1 for at, row in enumerate(code) if row[OPERATION] == SAVE}
    solved = sorted(
        (saved[place], point) for point, place in enumerate(corners.stages) if 0 < point < corners.end
    )
    halts, furthest = [], 0
    for at, point in solved:
        if point > furthest:
            halts.append((at, point))
            furthest = point
    return np.array([*halts, (len(code), corners.end)], np.int64)


def control_for(
    pair: ImplicitPair,
    tolerance: float,
    longest: float,
    most: int,
    system: System,
    encoded: Encoded,
    corners: Corners,
    w: Reals,
) -> Control:
    """Return the controller of a pair's program on a system.

    Parameters
    ----------
    pair
        The method with its estimate.
    tolerance
        Largest estimated error of a step.
    longest, most
        Longest step in s, and steps after which a run that has not reached its end fails.
    system, encoded, corners
        The DAE, the method's program for the interpreter, and what sees the corners of the equations.
    w
        Buffer at the start.
    """
    return Control(
        difference=np.array(pair.difference),
        order=float(pair.order),
        tolerance=float(tolerance),
        disturbance=disturbance_of(system, w, TUNED.least_tolerance / tolerance),
        longest=float(longest),
        most=int(most),
        steps=np.zeros(3),
        solvable=solvable_at_first(),
        counts=np.zeros(2, np.int64),
        outliving=encoded.outliving,
        raw=np.zeros(system.n),
        corners=corners,
        halts=halts_of(encoded.code, corners),
        stops=np.zeros(1),
        passed=np.zeros(1, np.int64),
    )


def begin_control(
    control: Control, block: Block, before: Reals, end: float, w: Reals, stops: Reals, autonomous: bool
) -> Control:
    """Return the controller for a span from the point in w: the first step follows from the rates there.

    Parameters
    ----------
    block
        All equations.
    before
        (n + m,) values ahead of the events at w.
    end, stops
        End of the span in s, and times within at which a step ends too, ascending.
    autonomous
        Whether no equation reads the time.
    """
    control = control._replace(stops=np.append(stops, end), passed=np.zeros(1, np.int64))
    control.corners.follows[:] = 0
    begin_disturbance(control.disturbance, before, w)
    block.evaluate(w)
    states = control.raw.size
    rates = block.records.matrix.F[:states]
    pace = float(np.max(np.abs(rates) / np.maximum(1.0, np.abs(w[:states])), initial=0.0))
    ahead = end - float(w[-1])
    if not autonomous or pace * ahead > TUNED.negligible * control.tolerance:
        ahead *= TUNED.first_part
    size = max(float(control.disturbance.size[SO_FAR]), min(1.0, TUNED.mean_over * pace))
    move = TUNED.first_move * size * control.tolerance ** (1.0 / control.order)
    first = min(ahead, move / pace) if pace > 0.0 else ahead
    control.steps[:] = first, NONE_BEFORE, 0.0
    control.solvable[:] = solvable_at_first()
    return control


def control_failure(control: Control, block: Block, status: int, end: float, w: Reals) -> SimulationError:
    """Return the error for a run whose steps are spent or have become rounding."""
    h = float(control.steps[TRIED])
    accepted, rejected = (int(control.counts[place]) for place in (ACCEPTED, REJECTED))
    name = block.columns[int(block.records.newton.counts[LARGEST_AT])]
    where = f"t = {w[-1]:.9g} s of {end:g} s after {accepted} steps ({rejected} rejected)"
    sentence = Status(status).sentence
    if status == SPENT:
        return SimulationError(
            f"{where}: {sentence} It has most_steps = {control.most}; the error of {name} keeps "
            f"the step at {h:.3g} s. Remedy: raise most_steps or loosen the tolerance"
        )
    found = impasse(block, w)
    why = found or f"The error of {name} asks for it: the tolerance is too small."
    remedy = "look at that equation, its limits, and what it reads"
    if not found or JUMP in found:
        remedy = "a larger tolerance, or an equation without a jump"
    return SimulationError(f"{where}, with a step of {h:.3g} s: {sentence} {why} Remedy: {remedy}")
