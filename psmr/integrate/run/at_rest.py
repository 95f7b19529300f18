"""States of devices that come into service: at rest with the voltage that they find."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.integrate.solve.block import make_block
from psmr.integrate.solve.newton import DAMPED, HONEST
from psmr.integrate.solve.ramps import Following
from psmr.integrate.solve.status import DONE, NO_ROOM

Reals = NDArray[np.float64]

LONG = 1e6
"""Step in s of implicit Euler after which a state is at rest: beside it no time constant counts."""

CLOSE = 1e-9
"""Newton's tolerance, of states that begin anew."""


def put_at_rest(
    system: System,
    parameters: Sequence[Reals],
    following: Following,
    w: Reals,
    devices: Collection[str],
    out: Collection[str],
) -> None:
    """Write into w the states of some devices that are at rest, with the algebraic equations solved anew.

    Where there are none, as of an integrator that is driven, their states go on from where they stood.
    """
    states = {name: system.device(name).component.states for name in devices}
    places = np.sort([system.index(f"{name}.{s}") for name in states for s in states[name]]).astype(int)
    if not places.size:
        return
    rows = np.concatenate([places, np.arange(system.n, system.n + system.m)])
    block = make_block(system, "event", parameters, w, rows, rows, out)
    block.load(parameters, *system.constant_limits(parameters), following, w)
    found = w.copy()
    block.records.work.known[:] = found[places]
    while (status := block.solve(found, LONG, HONEST, CLOSE, DAMPED)) == NO_ROOM:
        block.make_room()
    if status == DONE:
        w[:] = found
