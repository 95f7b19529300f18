"""What a run begins with: its first point, what is in service there, and the engine.

It follows from system and scheme. What a run had is put back to how it was made, and kept with the system for
the next one with this scheme.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.arrays import Reals
from psmr.dae.compile.kernels import Kernels, SwitchTables
from psmr.dae.system.kept import is_frozen, kept
from psmr.dae.system.system import System
from psmr.integrate.schemes.scheme import Engine, Scheme
from psmr.integrate.solve.block import Block, Layout
from psmr.integrate.step.program_table import Encoded
from psmr.integrate.step.sides import Sides
from psmr.integrate.timeline.span import Service, Span

SCHEMES = 4
"""Schemes of a system for which a start is kept."""

LARGEST = 2**23
"""Bytes of a start that is kept. To make a larger one takes little beside a run of such a system."""


@dataclass(frozen=True, eq=False)
class RunStart:
    """What a run begins with.

    `w`: Buffer with the first point, which is consistent.
    `span`: What holds there.
    `parameters`: Its matrices, in the list that the engine reads.
    `algebraic`, `engine`: What solves the algebraic equations, and what takes the steps.
    """

    w: Reals
    span: Span
    parameters: list[Reals]
    algebraic: Block
    engine: Engine


class KeptStarts:
    """The start of a system with a scheme, in as many copies as runs have at a time: one waits for the next.

    The first run makes its own and leaves nothing, since most systems of a sweep are run once.

    `waiting`: Those that no run has, one at most, with what puts each back.
    """

    def __init__(self) -> None:
        self._asked, self._fits = False, True
        self.waiting: list[tuple[RunStart, State]] = []

    def take(self, make: Callable[[], RunStart]) -> tuple[RunStart, State | None]:
        """Return a start that no other run has, and what puts it back."""
        try:
            start, state = self.waiting.pop()
        except IndexError:
            start = make()
            noted = State.of(start) if self._asked and self._fits else None
            self._fits = self._fits and (noted is not None or not self._asked)
            self._asked = True
            return start, noted
        state.restore()
        return start, state

    def give_back(self, start: RunStart, state: State | None) -> None:
        """Keep a start that its run has done with; one that waits is enough."""
        if state is not None and not self.waiting:
            self.waiting.append((start, state))


def kept_starts(system: System, scheme: Scheme, every: bool, service: Service) -> KeptStarts:
    """Return the starts of a system at its own starting point; `every` and `service` as in `integrate`."""
    if not is_frozen(scheme):  # one of a user's own, which may be altered between runs
        return KeptStarts()
    return kept(system, "starts", (scheme, every, type(service)), KeptStarts, SCHEMES, at_once=True)


CONSTANT = (
    bool, int, float, complex, str, bytes, frozenset, type(None), type, np.generic, np.dtype,
    types.FunctionType, types.MethodType, types.MappingProxyType, System, Partition, Scheme,
)  # fmt: skip
"""What has no state, or whose state no run changes."""


SHARED = (Encoded, SwitchTables, Sides, Span)
"""Frozen records of arrays into which nothing writes; of `Kernels` the parameters alone change."""


class Unknown(Exception):
    """An object of which nothing says how it is put back."""


@dataclass
class State:
    """The state of objects at an instant: what their attributes, tables and arrays are.

    `arrays`: Arrays that can be written into, with copies.
    `attributes`: Objects' attributes, `lists` and `dicts`, with copies.
    """

    arrays: list[tuple[NDArray[Any], NDArray[Any]]] = field(default_factory=list)
    attributes: list[tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    lists: list[tuple[list[Any], list[Any]]] = field(default_factory=list)
    _seen: dict[int, Any] = field(default_factory=dict)
    _bytes: int = 0

    @classmethod
    def of(cls, start: RunStart) -> State | None:
        """Return the state of a start; None of one that is large, or that holds what is not known here."""
        state = cls()
        try:
            state._note(start)
        except Unknown:
            return None
        state._seen = {}
        return state

    def restore(self) -> None:
        """Put everything back."""
        for now, before in self.arrays:
            now[...] = before
        for owned, values in self.attributes:
            owned.clear()
            owned.update(values)
        for entries, content in self.lists:
            entries[:] = content

    def _note(self, found: Any) -> None:
        if isinstance(found, CONSTANT) or id(found) in self._seen:
            return
        self._seen[id(found)] = found
        if isinstance(found, np.ndarray):
            self._note_array(found)
        elif isinstance(found, Kernels):
            self._leave((*vars(found).values(), *found.shared.values()), but=found.parameters)
            self._note_all(found.parameters)
        elif isinstance(found, SHARED):
            self._leave(vars(found).values())
        elif isinstance(found, list):
            self.lists.append((found, found.copy()))
            self._note_all(found)
        elif isinstance(found, dict):
            self.attributes.append((found, found.copy()))
            self._note_all(found.values())
        elif isinstance(found, tuple):
            self._note_all(found)
        elif isinstance(found, functools.partial):
            self._note_all((found.func, found.args, found.keywords))
        elif type(found).__module__.startswith("psmr.") and hasattr(found, "__dict__"):
            declared = getattr(found, "__dataclass_params__", None)
            if declared is None or not declared.frozen:
                self.attributes.append((vars(found), vars(found).copy()))
            self._note_all(vars(found).values())
        elif type(found).__module__ == "builtins" and hasattr(found, "__next__"):
            pass  # an iterator that has not begun; another one takes its place
        else:
            raise Unknown(type(found))

    def _leave(self, found: Iterable[Any], but: Iterable[Any] = ()) -> None:
        """Take arrays for shared by the blocks of all runs, and left as they are."""
        changing = {id(one) for one in but}
        for one in found:
            if isinstance(one, tuple | Layout):
                self._leave(one if isinstance(one, tuple) else vars(one).values(), but)
            elif isinstance(one, np.ndarray) and id(one) not in changing:
                self._seen[id(one)] = one

    def _note_all(self, found: Iterable[Any]) -> None:
        for one in found:
            self._note(one)

    def _note_array(self, array: NDArray[Any]) -> None:
        if not array.flags.writeable or not array.size:
            return
        self._bytes += array.nbytes
        if array.dtype == object or self._bytes > LARGEST:
            raise Unknown(array)
        self.arrays.append((array, array.copy()))
