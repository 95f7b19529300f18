"""Islands of converters in which nothing relates the voltage to the current."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from psmr.base.errors import EventError
from psmr.dae.system.system import System
from psmr.integrate.run.trajectory import Change
from psmr.network.topology.islands import absent, islands
from psmr.network.topology.plants import plants

SINGULAR = 1e-10
"""Smallest singular value of an island's admittances, by the largest, that counts as none."""


def refuse_undetermined_voltages(
    system: System, changes: Sequence[Change], after: Callable[[System, Sequence[Change]], System]
) -> None:
    """Raise EventError where changes leave converters alone, with nothing that draws current by its voltage.

    The output current of a grid-forming converter is a state. Where neither load nor shunt nor line charging
    is left, the balance of currents asks that state to be zero and does not contain the voltage: opened like
    that, a reactor has no current and any voltage. `after` returns a system with changes made.
    """
    sources = [plant for plant in plants(system).values() if plant.holds]
    if all(plant.machine for plant in sources):
        return
    known = set(islands(system, absent(system, ())))
    for k, change in enumerate(changes):
        out = absent(system, changes[: k + 1])
        found = set(islands(system, out))
        for island in found - known:
            alone = [plant for plant in sources if plant.bus in island and plant.name not in out]
            if any(plant.machine for plant in alone) or not alone:
                continue
            if not _determined(after(system, changes[: k + 1]), island):
                names, where = ", ".join(p.name for p in alone), ", ".join(sorted(island)[:5])
                raise EventError(
                    f"{change.label} at t = {change.t:g} s leaves {names} at {where} with nothing that draws"
                    " current by its voltage: no load, shunt or line charging. The current of a converter's"
                    " reactor is a state, which opened lines would have to end at once; trip"
                    f" {names} as well, or leave a load or shunt there"
                )
        known = found


def _determined(system: System, island: frozenset[str]) -> bool:
    """Return whether the currents of an island depend on its voltages in all directions."""
    rows = [system.names_g.index(f"{bus}.i_{part}") for bus in sorted(island) for part in ("re", "im")]
    columns = [system.index(f"{bus}.v_{part}") for bus in sorted(island) for part in ("re", "im")]
    block = system.jacobian(system.w0)[system.n :][rows][:, columns].toarray()
    sizes = np.linalg.svd(block, compute_uv=False)
    return bool(sizes[-1] > SINGULAR * max(sizes[0], 1.0))
