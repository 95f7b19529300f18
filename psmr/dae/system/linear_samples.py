"""What samples make of a system, linearised: by complex step, and for external code by differences."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from psmr.base.errors import InputError, first_few
from psmr.dae.declare.component import NumericMath, local_variables, parameters_of
from psmr.dae.declare.sampled_forms import TIME
from psmr.dae.declare.samples import ExternalCode
from psmr.dae.declare.sampling import Sampling, samplings
from psmr.dae.system.complex_step import STEP, input_columns
from psmr.dae.system.linear import LinearSampler, LinearSamples
from psmr.dae.system.system import System

Reals = NDArray[np.float64]


def samples_at(system: System, w: Reals, factor: float = 1.0) -> LinearSamples:
    """Return the samples of a system, linearised at a buffer w, with periods and delays times a factor."""
    given, changed = system, []
    for group in system.groups if factor != 1.0 else ():
        times = group.compiled.component.samples
        own = () if times is None else times.names
        changed += [(d, name, factor * system.parameter(d, name)) for d in group.names for name in own]
    system = system.with_values(changed) if changed else system
    b, names, whole = _columns(system, w), system.names_u[: system.s], dict[str, None]()
    try:
        samplers = tuple(_written(system, w, whole))
    except InputError as error:
        return LinearSamples(b, names, (), broken=str(error))
    external = any(device.code is not None for device in system.devices)
    scaled = None if external else functools.partial(samples_at, given, w)
    found = LinearSamples(b, names, samplers, scaled, whole=tuple(whole))
    groups = [group for group in system.groups if group.compiled.component.samples is not None]
    lines = [name for g in groups if g.compiled.component.releases.get(TIME) for name in g.names]
    if lines:
        return replace(found, broken=f"{first_few(lines, 3)}: between samples what they write is on lines")
    if not _same(system, w, found, ODD * min((sampler.period for sampler in samplers), default=1.0)):
        words = first_few([name for group in groups for name in group.names], 3)
        return replace(found, broken=f"{words}: what they read or write turns with the time, as phases do")
    return found


ODD = 0.3127
"""Part of a period after which what reads phases has changed."""

AGREED = 1e-9
"""Difference of derivatives, in parts of the largest, that is rounding."""


def _same(system: System, w: Reals, found: LinearSamples, later: float) -> bool:
    """Return whether derivatives are the same a time in s later."""
    then = w.copy()
    then[-1] += later
    pairs = [(found.b, _columns(system, then))]
    pairs += [(a.map, b.map) for a, b in zip(found.samplers, _written(system, then, {}), strict=True)]
    return all(abs(a - b).max() <= AGREED * max(1.0, abs(a).max()) for a, b in pairs if a.shape[0])


def _columns(system: System, w: Reals) -> sparse.csc_array:
    size = system.n + system.m
    free = sparse.diags_array(1.0 - system.held_at_limits(w))
    return sparse.csc_array(free @ input_columns(system, w, range(size, size + system.s)))


def _written(system: System, w: Reals, whole: dict[str, None]) -> Iterator[LinearSampler]:
    """Yield the samplers at a buffer w, in the order of `System.samplers`.

    `whole` takes the names of sampled variables that external code reads as whole numbers.
    """
    n, size, s = system.n, system.n + system.m, system.s
    places = np.concatenate([np.arange(n), s + np.arange(n, size), n + np.arange(s)])
    column = np.append(places, np.full(len(w) - places.size, -1))
    found: dict[str, list[LinearSampler]] = {device.name: [] for device in system.devices}
    for g, group in enumerate(system.groups):
        component = group.compiled.component
        names, times = local_variables(component), component.samples
        for sampling in samplings(component):
            assert times is not None
            values, slopes = _slopes(system, w, g, sampling)
            for row, device in enumerate(group.names):
                period, offset, delay = times.times(system.parameters_at(device))
                at = group.index[row, [names.index(name) for name in sampling.names]].astype(np.intp)
                new, matrix, own = values[row], slopes[row], column[group.index[row]]
                code = system.device(device).code
                if sampling.external and code is not None:
                    new, by_reads, by_own, steps = _code_slopes(device, code, float(w[-1]), new, w[at])
                    whole |= dict.fromkeys(system.names_u[k] for k in at[steps] - size)
                    matrix, own = np.hstack([by_reads @ matrix, by_own]), np.append(own, column[at])
                kept = np.flatnonzero(own >= 0)
                where = np.repeat(np.arange(at.size), kept.size), np.tile(own[kept], at.size)
                entries = matrix[:, kept].ravel()
                made = sparse.csr_array(sparse.coo_array((entries, where), (at.size, size + s)))
                due = offset + delay * sampling.released
                found[device].append(LinearSampler(device, period, due, at - size, made))
    for each in found.values():
        yield from each


def _slopes(system: System, w: Reals, g: int, sampling: Sampling) -> tuple[Reals, Reals]:
    """Return (devices, K) what a group computes at a sample, and its (devices, K, variables) derivatives."""
    group, parameters = system.groups[g], system.parameters[g]
    component, count = group.compiled.component, len(group.names)
    names, p = local_variables(component), dict(zip(parameters_of(component), parameters.T, strict=True))
    columns = []
    for k in range(len(names)):
        v: dict[str, Any] = dict(zip(names, w[group.index].T.astype(complex), strict=True))
        v[names[k]] = v[names[k]] + 1j * STEP
        with np.errstate(all="ignore"):  # a branch of `where` that is not taken may divide by zero
            values = sampling.values(NumericMath, SimpleNamespace(**v), SimpleNamespace(**p))
        columns.append(np.array([np.broadcast_to(value, (count,)) for value in values]).reshape(-1, count).T)
    return columns[0].real, np.stack([column.imag / STEP for column in columns], axis=-1)


DIFFERENCE = 1e-4
"""Part of max(1, |x|) by which what external code is handed is moved either way."""

NEARER = (1.0, 0.1, 0.01, 0.001)
"""Parts of it that are tried, where a limit or a switch is near."""

SMOOTH = 1e-2
"""Part by which differences of that and of twice that may differ; of a switch, or a whole number, they do."""


def _code_slopes(
    device: str, code: ExternalCode, t: float, reads: Reals, values: Reals
) -> tuple[Reals, Reals, Reals, NDArray[np.bool_]]:
    """Return what code computes, derivatives by what it reads and by its own values, and which of these step.

    Values that it takes as whole numbers, as counters, or switches on, are held: their columns are 0.

    Raises InputError where it fails, does not repeat itself, or switches on what it reads.
    """
    function = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 2, ctypes.c_double, *[ctypes.c_void_p] * 2)(code.address)

    def call(point: Reals) -> Reals:
        handed, own = point[: reads.size].copy(), point[reads.size :].copy()
        if function(code.handle, t, handed.ctypes.data, own.ctypes.data):
            raise InputError(code.failure(t, handed.tolist()))
        return own

    here = np.concatenate([reads, values])
    new = call(here)
    if not code.repeatable or getattr(code, "opaque", False) or not np.array_equal(new, call(here)):
        raise InputError(f"{device}: its code keeps states of its own, so that differences do not come back")
    slopes, steps = np.zeros((new.size, here.size)), np.zeros(here.size, bool)
    for k, size in enumerate(DIFFERENCE * np.maximum(1.0, np.abs(here))):
        for part in NEARER:
            near, far = (_difference(call, here, k, f * part * size) for f in (1.0, 2.0))
            steps[k] = np.abs(near - far).max(initial=0.0) > SMOOTH * max(1.0, np.abs(far).max(initial=0.0))
            if not steps[k]:
                slopes[:, k] = (4.0 * near - far) / 3.0
                break
    if steps[: reads.size].any():
        k = int(np.flatnonzero(steps)[0])
        raise InputError(f"{device}: its code is not smooth at rest in number {k + 1} of what it reads")
    return new, slopes[:, : reads.size], slopes[:, reads.size :], steps[reads.size :]


def _difference(call: Callable[[Reals], Reals], here: Reals, k: int, size: float) -> Reals:
    """Return a central difference between numbers that single precision has too, as code may round to it."""
    above, below = here.copy(), here.copy()
    above[k], below[k] = np.float32(here[k] + size), np.float32(here[k] - size)
    return np.asarray((call(above) - call(below)) / (above[k] - below[k]))
