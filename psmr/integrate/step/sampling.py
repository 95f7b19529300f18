"""Samples in a run: what is due at an instant reads, computes and writes, in compiled code.

Nothing here keeps state: what is due follows from the time alone, what a sample reads and writes stands in w.
A step that is rejected, or done over, gives everything back with w; sampled again, it is the same sample.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import SimulationError
from psmr.dae.compile.arguments import address_of
from psmr.dae.compile.decorators import lean
from psmr.dae.compile.kernels import call_kernel
from psmr.dae.declare.component import local_variables
from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.integrate.solve.status import DONE, NOT_SAMPLED

NEAR = 1e-6
"""Part of the shortest period within which instants are one: far above the rounding of times."""

# What the samples of a clock do to the continuous equations: no clock is due, nothing reads what they write,
# rates do, algebraic equations or limits do.
NOT_DUE, UNREAD, READ, ANSWERED = range(-1, 3)

# Columns of `Sampling.table`; CODE and HANDLE are 0 where the kernel computes the new values.
KERNEL, INDEX, TARGET, PARAMETERS, OUT, WIDTH, AT, COUNT, CODE, HANDLE, ACTIVE, TAKEN = range(12)

# Places in `Sampling.state`.
FAILED, KEPT = range(2)


class Sampling(NamedTuple):
    """What the loop needs of samples. A clock has the samplers of one period and one offset.

    `clocks`, `first`: (C, 2) period and offset in s, (C + 1,) the first sampler of each clock.
    `effect`: (C,) what follows from the samples of a clock; see the names above.
    `due`: (C,) room for which clocks are due.
    `near`: Time in s within which instants are one.
    `table`: (D, 12) samplers; see the names above.
    `at`, `values`: Positions in w of what samplers write, and room for the new values.
    `out`: Room for what kernels give.
    `written`, `kept`: Positions in w of all that is written, each once, and what stood there behind the last
      sample within a step.
    `state`, `failed`: See the names above; time in s of the sample that failed.
    """

    clocks: np.ndarray
    first: np.ndarray
    effect: np.ndarray
    due: np.ndarray
    near: float
    table: np.ndarray
    at: np.ndarray
    values: np.ndarray
    out: np.ndarray
    written: np.ndarray
    kept: np.ndarray
    state: np.ndarray
    failed: np.ndarray


@intrinsic
def _call_code(typing_context, address, handle, t, reads, values):  # type: ignore[no-untyped-def]
    """Call external code by its address; return what it returns."""
    signature = types.int64(*(types.int64,) * 2, types.float64, *(types.int64,) * 2)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        integer = ir.IntType(64)
        function = ir.FunctionType(integer, [integer, ir.DoubleType(), integer, integer])
        return builder.call(builder.inttoptr(arguments[0], function.as_pointer()), arguments[1:])

    return signature, generate


@lean
def next_sample(sampling, t):  # type: ignore[no-untyped-def]
    """Return the time in s of the first sample behind t, infinite without any."""
    clocks, found = sampling.clocks, np.inf
    for c in range(clocks.shape[0]):
        k = np.ceil((t + sampling.near - clocks[c, 1]) / clocks[c, 0])
        found = min(found, clocks[c, 1] + max(k, 0.0) * clocks[c, 0])
    return found


@lean
def find_due(sampling, t):  # type: ignore[no-untyped-def]
    """Find which clocks are due at t in s; return the largest of their effects."""
    clocks, found = sampling.clocks, NOT_DUE
    for c in range(clocks.shape[0]):
        k = max(np.rint((t - clocks[c, 1]) / clocks[c, 0]), 0.0)
        due = abs(clocks[c, 1] + k * clocks[c, 0] - t) <= sampling.near
        sampling.due[c] = due
        if due:
            found = max(found, sampling.effect[c])
    return found


@lean
def read_samples(sampling, w):  # type: ignore[no-untyped-def]
    """Let all samplers that are due read the point in w and compute; return a status."""
    first, table, values = sampling.first, sampling.table, sampling.values
    for c in range(first.size - 1):
        if sampling.due[c] == 0:
            continue
        for d in range(first[c], first[c + 1]):
            row = table[d]
            if row[ACTIVE] == 0:
                continue
            out = sampling.out[row[OUT] : row[OUT] + row[WIDTH]]
            own = values[row[AT] : row[AT] + row[COUNT]]
            for i in range(out.size):
                out[i] = 0.0
            if row[KERNEL] != 0:
                call_kernel(
                    row[KERNEL], 1, row[INDEX], row[TARGET], row[PARAMETERS], w.ctypes.data, out.ctypes.data
                )
            status = 0
            if row[CODE] != 0:
                for i in range(own.size):
                    own[i] = w[sampling.at[row[AT] + i]]
                status = _call_code(row[CODE], row[HANDLE], w[w.size - 1], out.ctypes.data, own.ctypes.data)
            else:
                for i in range(own.size):
                    own[i] = out[i]
            for i in range(own.size):
                status |= not np.isfinite(own[i])
            if status != 0:
                sampling.state[FAILED], sampling.failed[0] = d, w[w.size - 1]
                return NOT_SAMPLED
            row[TAKEN] += 1
    return DONE


@lean
def write_samples(sampling, w):  # type: ignore[no-untyped-def]
    """Write what the samplers that are due have computed."""
    first, table = sampling.first, sampling.table
    for c in range(first.size - 1):
        if sampling.due[c] != 0:
            for d in range(first[c], first[c + 1]):
                if table[d, ACTIVE] != 0:
                    for i in range(table[d, AT], table[d, AT] + table[d, COUNT]):
                        w[sampling.at[i]] = sampling.values[i]


@lean
def sample(sampling, w):  # type: ignore[no-untyped-def]
    """Take the samples that are due at the time in w; return (status, their effect). Nothing is solved."""
    effect = find_due(sampling, w[w.size - 1])
    if effect == NOT_DUE:
        return DONE, effect
    status = read_samples(sampling, w)
    if status == DONE:
        write_samples(sampling, w)
    return status, effect


@lean
def keep_written(sampling, w):  # type: ignore[no-untyped-def]
    """Keep what samples have written: the end of a step may come from a point before them."""
    for i in range(sampling.written.size):
        sampling.kept[i] = w[sampling.written[i]]
    sampling.state[KEPT] = 1


@lean
def write_kept(sampling, w):  # type: ignore[no-untyped-def]
    """Write what was kept in the step, if anything was."""
    if sampling.state[KEPT] != 0:
        for i in range(sampling.written.size):
            w[sampling.written[i]] = sampling.kept[i]


@cached_by_devices
def _readers(system: System) -> NDArray[np.int64]:
    """Return for each position in w whether equations read it: `UNREAD`, `READ` or `ANSWERED`."""
    found = np.full(system.n + system.m + system.k + 1, UNREAD, np.int64)
    for group in system.groups:
        row, column = np.array(group.compiled.entries, np.intp).reshape(-1, 2).T
        by = np.where(group.row[:, row] < system.n, READ, ANSWERED)
        np.maximum.at(found, group.index[:, column].ravel(), by.ravel())
    for limits in (system.lower_at, system.upper_at):
        found[limits[limits >= 0]] = ANSWERED
    return found


class Samplers:
    """The samplers of a system in a run, as compiled code reads them.

    `compiled`: What it reads.
    `clocks`: Period and offset in s of each clock.
    """

    def __init__(self, system: System) -> None:
        found = sorted(system.samplers, key=lambda sampler: (sampler.period, sampler.offset))
        self.system, self._own = system, found
        self.clocks = tuple(dict.fromkeys((sampler.period, sampler.offset) for sampler in found))
        clock = [self.clocks.index((sampler.period, sampler.offset)) for sampler in found]
        table = np.zeros((len(found), TAKEN + 1), np.int64)
        self._parameters = [np.array(system.parameters[s.group][s.row], dtype=float) for s in found]
        codes = [sampler.code for sampler in found]
        table[:, KERNEL] = [sampler.kernel for sampler in found]
        table[:, INDEX] = [address_of(sampler.index) for sampler in found]
        table[:, TARGET] = [address_of(sampler.target) for sampler in found]
        table[:, PARAMETERS] = [address_of(values) for values in self._parameters]
        table[:, WIDTH] = [sampler.width for sampler in found]
        table[:, COUNT] = [sampler.at.size for sampler in found]
        table[:, OUT], table[:, AT] = (np.cumsum(table[:, k]) - table[:, k] for k in (WIDTH, COUNT))
        table[:, CODE] = [0 if code is None else code.address for code in codes]
        table[:, HANDLE] = [0 if code is None else code.handle for code in codes]
        table[:, ACTIVE] = 1
        at = np.concatenate([np.zeros(0, np.uint32), *(sampler.at for sampler in found)])
        first = np.searchsorted(clock, np.arange(len(self.clocks) + 1)).astype(np.int64)
        ends = np.append(table[:, AT], at.size)[first]
        read = _readers(system)[at] if at.size else np.zeros(0, np.int64)
        written = np.unique(at)
        self.compiled = Sampling(
            np.array(self.clocks, dtype=float).reshape(-1, 2),
            first,
            np.array([read[a:b].max(initial=UNREAD) for a, b in itertools.pairwise(ends)], np.int64),
            np.zeros(len(self.clocks), np.int64),
            NEAR * min((period for period, _ in self.clocks), default=0.0),
            table,
            at,
            np.zeros(at.size),
            np.zeros(int(table[:, WIDTH].sum())),
            written,
            np.zeros(written.size),
            np.zeros(2, np.int64),
            np.zeros(1),
        )

    def __bool__(self) -> bool:
        return bool(self._own)

    @property
    def repeatable(self) -> bool:
        """Whether samples may be taken over again: external code may have states of its own."""
        return all(sampler.code is None or sampler.code.repeatable for sampler in self._own)

    @property
    def answered(self) -> bool:
        """Whether algebraic equations, or limits, read what samples write."""
        return bool((self.compiled.effect == ANSWERED).any())

    def of_clock(self, c: int) -> Sequence[Any]:
        """Return the samplers of a clock by its number."""
        return self._own[self.compiled.first[c] : self.compiled.first[c + 1]]

    def load(self, parameters: Sequence[Reals]) -> None:
        """Take the parameter matrices of the system as they are from now on."""
        for own, sampler in zip(self._parameters, self._own, strict=True):
            own[:] = parameters[sampler.group][sampler.row]

    def take_out_of_service(self, out: Collection[str]) -> None:
        """Let the devices in `out`, and no others, sample nothing."""
        self.compiled.table[:, ACTIVE] = [sampler.device not in out for sampler in self._own]

    def counted(self) -> dict[str, int]:
        """Return how many samples each device has taken; those of steps that were done over count again."""
        found: dict[str, int] = {}
        for sampler, taken in zip(self._own, self.compiled.table[:, TAKEN].tolist(), strict=True):
            found[sampler.device] = max(found.get(sampler.device, 0), taken)
        return found

    @property
    def failed_at(self) -> float:
        """Time in s of the sample that failed last."""
        return float(self.compiled.failed[0])

    def failure(self, w: Reals) -> SimulationError:
        """Return the error of the sample that failed last, with what it read of the point in w."""
        row = self.compiled.table[self.compiled.state[FAILED]]
        sampler, t = self._own[self.compiled.state[FAILED]], self.failed_at
        out = self.compiled.out[row[OUT] : row[OUT] + row[WIDTH]]
        values = self.compiled.values[row[AT] : row[AT] + row[COUNT]]
        names = (*self.system.names_x, *self.system.names_y, *self.system.names_u, "t")
        if sampler.code is not None and np.isfinite(values).all():
            return SimulationError(sampler.code.failure(t, out.tolist()))
        wrong = int(np.argmin(np.isfinite(values)))
        given = [f"{i:.6g}" for i in out]
        if sampler.code is None:
            component = self.system.groups[sampler.group].compiled.component
            inputs = [k for k, name in enumerate(local_variables(component)) if name in component.inputs]
            given = [f"{names[sampler.index[k]]} = {w[sampler.index[k]]:.6g}" for k in inputs]
        return SimulationError(
            f"t = {t:.9g} s: the sample of {sampler.device} gave {names[sampler.at[wrong]]} = {values[wrong]}"
            f", from {', '.join(given) or 'no inputs'}; the run is kept up to there. Look at the code, and at"
            " what it does with these inputs"
        )
