"""Where a system has its variables, its devices and the parameters that are limits.

What follows from the devices of a system alone is found once for all systems made from them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from psmr.dae.compile.codegen import CompiledComponent
from psmr.dae.compile.kernels import Indices
from psmr.dae.compile.restrict import SystemTables
from psmr.dae.declare.component import Component, local_variables, parameters_of
from psmr.dae.declare.device import Device
from psmr.dae.system.linear import read_only


@dataclass(frozen=True, eq=False)
class Group:
    """All devices of one component: where they read, where they write, their numbers.

    `compiled`: Kernels of the component.
    `names`: Device names, a row each in what follows.
    `index`: (count, variables) positions in w of what a device reads.
    `row`: (count, rows) positions in the residual of what it adds to.
    """

    compiled: CompiledComponent
    names: tuple[str, ...]
    index: Indices
    row: Indices

    def __post_init__(self) -> None:
        for name in ("index", "row"):
            object.__setattr__(self, name, read_only(getattr(self, name)))


AnySystem = TypeVar("AnySystem", bound=SystemTables)
Result = TypeVar("Result")

# Systems of which it is kept: a sweep changes between a few.
SYSTEMS = 8


def cached_by_devices(find: Callable[[AnySystem], Result]) -> Callable[[AnySystem], Result]:
    """Keep what a function finds of a system's devices; a system made from the same devices shares it.

    What is found must not be altered by who asks for it. The devices are kept with it, so that they are
    still those that are meant when they are met again.
    """
    kept: list[tuple[Any, Result]] = []

    @functools.wraps(find)
    def known(system: AnySystem) -> Result:
        for devices, found in kept:
            if devices is system.devices:
                return found
        found = find(system)
        kept.insert(0, (system.devices, found))
        del kept[SYSTEMS:]
        return found

    return known


@cached_by_devices
def variable_places(system: SystemTables) -> Mapping[str, int]:
    """Return the position in w of each variable and held input by its name."""
    return {name: i for i, name in enumerate((*system.names_x, *system.names_y, *system.names_u))}


@cached_by_devices
def device_rows(system: SystemTables) -> Mapping[str, tuple[int, int]]:
    """Return the group of each device by its name, and its row there."""
    return {name: (g, row) for g, group in enumerate(system.groups) for row, name in enumerate(group.names)}


def parameter_columns(component: type[Component]) -> Mapping[str, int]:
    """Return the column of each parameter of a component by its name."""
    return _columns(component)  # type: ignore[arg-type]  # a class is hashable


@functools.cache
def _columns(component: type[Component]) -> Mapping[str, int]:
    return {name: column for column, name in enumerate(parameters_of(component))}


@cached_by_devices
def devices_by_name(system: SystemTables) -> Mapping[str, Device]:
    """Return the devices as they were declared."""
    return {device.name: device for device in system.devices}


@cached_by_devices
def limit_columns(system: SystemTables) -> tuple[tuple[int, int, int, Indices], ...]:
    """Return (side, group, column, states) of each parameter that is a limit; side 0 is the lower one."""
    found = []
    for g, group in enumerate(system.groups):
        component = group.compiled.component
        variables, names = local_variables(component), tuple(parameters_of(component))
        for state, bounds in component.limits.items():
            places = group.index[:, variables.index(state)]
            found += [(k, g, names.index(name), places) for k, name in enumerate(bounds) if name in names]
    return tuple(found)
