"""Plants that return to the network: what they become then depends on the voltage that they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from psmr.base.errors import EventError, InitialisationError
from psmr.integrate.timeline.change import Change
from psmr.network.start import equilibrium
from psmr.network.start.equilibrium import set_points, solve_plants
from psmr.network.start.limits import margins
from psmr.network.topology.islands import Plant

if TYPE_CHECKING:
    from psmr.dae.system.system import System


@dataclass(frozen=True, kw_only=True)
class Synchronisation(Change):
    """A plant returns without power, and goes to its set-points; see `psmr.study.run.planned`.

    `plant`: The plant.
    `ramp`: Time in s in which it does.
    `set_points`: Full names of these held inputs.
    """

    plant: Plant
    ramp: float
    set_points: tuple[str, ...]

    @property
    def until(self) -> float:
        """Time in s at which it is at its set-points."""
        return self.t + self.ramp


def synchronisation(system: System, t: float, plant: Plant, ramp: float) -> Synchronisation:
    """Return the synchronisation of a plant at t in s."""
    members = [device for device in system.devices if device.name in plant.devices]
    wanted = tuple(f"{device.name}.{name}" for device in members for name in set_points(device))
    label = f"{plant.name} synchronised"
    return Synchronisation(t, label=label, plant=plant, ramp=ramp, set_points=wanted)


def refuse_impossible(system: System, changes: Sequence[Change]) -> None:
    """Raise EventError for a plant that cannot be at rest without power, at the voltage of the start."""
    for change in changes:
        if isinstance(change, Synchronisation):
            try:
                without_power(system, change.plant, 0.0)
            except InitialisationError as error:
                words = f"{change.label}: it cannot be at rest without power, from which it returns: {error}"
                raise EventError(f"{words}; drop reconnect, or widen that limit") from error


def without_power(system: System, plant: Plant, turning: float) -> dict[str, float]:
    """Return a plant's variables and set-points without power, by full name; its angles turn in rad/s.

    Raises InitialisationError where it has no such equilibrium, or one outside its limits.
    """
    members = [
        replace(device, parameters=system.parameters_at(device.name))
        for device in system.devices
        if device.name in plant.devices
    ]
    variables = frozenset((*system.names_x, *system.names_y))
    read = [target for device in members for target in device.connections.values()]
    outside = [name for name in read if name.rpartition(".")[0] not in plant.devices]
    given = {name: float(system.w0[system.index(name)]) for name in outside if name in variables}
    voltage = voltage_at(system, plant.bus)
    found = equilibrium.Plant(plant.name, tuple(members), voltage, 0j, flows=given, turning=turning)
    start = solve_plants([found])
    w = system.w0.copy()
    for name, value in start.items():
        w[system.index(name)] = value
    beyond = [str(margin) for margin in margins(replace(system, w0=w), members) if margin.outside]
    if beyond:
        raise InitialisationError("; ".join(beyond))
    return start


def voltage_at(system: System, bus: str) -> complex:
    """Return the voltage of a bus at the start of a system."""
    re, im = (float(system.w0[system.index(f"{bus}.v_{part}")]) for part in ("re", "im"))
    return complex(re, im)
