"""Where a system has its variables, its devices and the parameters that are limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from psmr.dae.compile.kernels import Indices
from psmr.dae.declare.component import local_variables, parameters_of
from psmr.dae.declare.device import Device
from psmr.dae.system.device_cache import Assembled, cached_by_devices
from psmr.dae.system.group import Group


class Whole(Assembled, Protocol):
    """What is read of a `psmr.dae.system.system.System`, which has the meaning of each."""

    @property
    def names_x(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def names_y(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def names_u(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def groups(self) -> tuple[Group, ...]: ...  # noqa: D102


@cached_by_devices
def variable_places(system: Whole) -> Mapping[str, int]:
    """Return the position in w of each variable and held input by its name."""
    return {name: i for i, name in enumerate((*system.names_x, *system.names_y, *system.names_u))}


@cached_by_devices
def device_rows(system: Whole) -> Mapping[str, tuple[int, int]]:
    """Return the group of each device by its name, and its row there."""
    return {name: (g, row) for g, group in enumerate(system.groups) for row, name in enumerate(group.names)}


@cached_by_devices
def devices_by_name(system: Whole) -> Mapping[str, Device]:
    """Return the devices as they were declared."""
    return {device.name: device for device in system.devices}


@cached_by_devices
def limit_columns(system: Whole) -> tuple[tuple[int, int, int, Indices], ...]:
    """Return (side, group, column, states) of each parameter that is a limit; side 0 is the lower one."""
    found = []
    for g, group in enumerate(system.groups):
        component = group.compiled.component
        variables, names = local_variables(component), tuple(parameters_of(component))
        for state, bounds in component.limits.items():
            places = group.index[:, variables.index(state)]
            found += [(k, g, names.index(name), places) for k, name in enumerate(bounds) if name in names]
    return tuple(found)
