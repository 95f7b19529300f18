"""What a run needs of the devices of a system that sample."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from psmr.dae.compile.kernels import Indices, Reals
from psmr.dae.compile.restrict import SystemTables
from psmr.dae.compile.sample_kernels import sample_kernels
from psmr.dae.declare.component import NumericMath, local_variables, parameters_of
from psmr.dae.declare.samples import ExternalCode
from psmr.dae.declare.sampling import check_times, sampled_variables, samplings
from psmr.dae.system.linear import read_only
from psmr.dae.system.places import cached_by_devices, devices_by_name


@dataclass(frozen=True, eq=False)
class Sampler:
    """What a device reads and writes together, at ``offset + k * period``, k = 0, 1, ...

    A device with a computing delay or a hold of order one has two: what its sample writes, and what is
    written from that. All that is due at one instant reads what there is just before it, then all writes.

    `device`: Its name.
    `period`, `offset`: In s; a delay is in the offset.
    `kernel`: Address, called as ``kernel(1, index, target, parameters, w, out)``; it adds to ``out``. 0 where
      external code is handed nothing.
    `index`: (variables,) positions in w of what it reads; the time is the last entry of w.
    `target`: (width,) where in ``out`` it adds: 0, 1, ...
    `width`: How many numbers it gives: the new values, or what external code is handed.
    `at`: (q,) positions in w of what is written: sampled states, then outputs.
    `group`, `row`: Where the device's parameters are: ``parameters[group][row]``.
    `code`: External code that computes the new values from those at hand; None where the kernel does.
    """

    device: str
    period: float
    offset: float
    kernel: int
    index: Indices
    target: Indices
    width: int
    at: Indices
    group: int
    row: int
    code: ExternalCode | None


def samplers_of(system: SystemTables) -> tuple[Sampler, ...]:
    """Return the samplers of a system in the order of its devices.

    Raises InputError for samples that do not return what is declared, and for times out of range.
    """
    return tuple(_samplers(system)) if sampled_count(system) else ()


@cached_by_devices
def sampled_count(system: SystemTables) -> int:
    """Return how many sampled variables the devices of a system have."""
    return sum(len(sampled_variables(device.component)) for device in system.devices)


def _samplers(system: SystemTables) -> list[Sampler]:
    by_device: dict[str, list[Sampler]] = {}
    for g, group in enumerate(system.groups):
        component = group.compiled.component
        if component.samples is None:
            continue
        columns = {name: k for k, name in enumerate(local_variables(component))}
        for row, name in enumerate(group.names):
            values = dict(zip(parameters_of(component), system.parameters[g][row].tolist(), strict=True))
            check_times(name, component, values)
            period, offset, delay = component.samples.times(values)
            for sampling, kernel, width in sample_kernels(component):
                at = group.index[row, [columns[n] for n in sampling.names]]
                sampler = Sampler(
                    name,
                    period,
                    offset + delay * sampling.released,
                    kernel,
                    read_only(np.ascontiguousarray(group.index[row])),
                    read_only(np.arange(width, dtype=np.uint32)),
                    width,
                    read_only(np.ascontiguousarray(at)),
                    g,
                    row,
                    devices_by_name(system)[name].code if sampling.external else None,
                )
                by_device.setdefault(name, []).append(sampler)
    return [sampler for device in system.devices for sampler in by_device.get(device.name, ())]


def sample_changes(system: SystemTables, w: Reals) -> tuple[NDArray[np.intp], Reals]:
    """Return the positions in w that a sample of every device writes, and by how much it changes them.

    What external code computes is not among them, be it written at once or later.
    """
    places, changes = [np.zeros(0, np.intp)], [np.zeros(0)]
    for g, group in enumerate(system.groups):
        component = group.compiled.component
        names = local_variables(component)
        kinds = samplings(component)
        for sampling in () if any(kind.external for kind in kinds) else kinds:
            v = dict(zip(names, w[group.index].T, strict=True))
            p = dict(zip(parameters_of(component), system.parameters[g].T, strict=True))
            new = sampling.values(NumericMath, SimpleNamespace(**v), SimpleNamespace(**p))
            for name, value in zip(sampling.names, new, strict=True):
                places.append(group.index[:, names.index(name)].astype(np.intp))
                changes.append(np.broadcast_to(value, (len(group.names),)) - v[name])
    return np.concatenate(places), np.concatenate(changes)
