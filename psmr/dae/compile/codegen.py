"""From a declaration to machine code, kept on disk under the hash of what was traced.

A component has kernels of one signature, ``(n, index, target, P, w, out)``: the residual, the varying entries
of its Jacobian and the constant ones (those that depend on parameters only, written once per span); where its
equations switch, also their margins and the shares of its rows (`psmr.dae.compile.trace`).
The equations are traced in every process, which takes a fraction of a millisecond: whatever they reach, a
constant in a table or a helper in another file, shapes the hash, and no kernel can be stale.
"""

from __future__ import annotations

import functools
import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psmr.dae.compile import cache_files, machine_code
from psmr.dae.compile.cache_files import read_entry, write_entry
from psmr.dae.compile.code_cache import statements_digest
from psmr.dae.compile.emit import kernel
from psmr.dae.compile.notice import announce
from psmr.dae.compile.shipped_code import processor, read_shipped, shipped_target
from psmr.dae.compile.trace import TracedEquations, trace
from psmr.dae.declare.component import Component
from psmr.dae.declare.derived import Origin, packed, unpacked

SECONDS_A_COMPONENT = 0.04
"""Median time to compile a component of the library, on a Xeon of 2023."""


@dataclass(frozen=True)
class CompiledComponent:
    """Machine code of a component and the places of its Jacobian entries.

    `component`: The declaration.
    `residual`, `jacobian`, `constant`: Addresses of the kernels, 0 where there is nothing to evaluate.
    `entries`: (row, variable) of every Jacobian entry in local numbering: the `varying` ones first, then the
      constant ones.
    `varying`: Number of entries that depend on variables.
    `timed`: Whether an equation reads the time.
    `margins`, `shares`: Addresses of the kernels of margins and shares, 0 where nothing switches. The index
      table of the second has a column more for each margin.
    `switches`: Number of margins.
    `switched`: Rows that have a share, in the order of the target table.
    """

    component: type[Component]
    residual: int
    jacobian: int
    constant: int
    entries: tuple[tuple[int, int], ...]
    varying: int
    timed: bool
    margins: int
    shares: int
    switches: int
    switched: tuple[int, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        # Addresses are of this process: another one finds its own.
        return _compiled_again, (packed(self.component),)


@dataclass(frozen=True, eq=False)
class _Kernels:
    """The kernels of a component before they are machine code."""

    component: type[Component]
    traced: TracedEquations
    varying: list[tuple[int, int, Any]]
    constant: list[tuple[int, int, Any]]

    @functools.cached_property
    def key(self) -> str:
        """Return the hash of all that the kernels compute, which their symbols have in their names."""
        derivatives = [e for _, _, e in (*self.varying, *self.constant)]
        places = [(row, column) for row, column, _ in (*self.varying, *self.constant)]
        switches = self.traced.switches
        digest = hashlib.sha256(self.traced.digest([*derivatives, *switches.margins, *switches.shares]))
        shape = places, len(self.varying), len(switches.margins), switches.rows
        digest.update(repr((shape, emitter())).encode())
        return digest.hexdigest()[:24]

    def name(self, processor: tuple[str, str, str]) -> str:
        """Return the name of the entry with their machine code for a processor."""
        # The name of a class that was made holds choices, which may come from a file.
        own = re.sub(r"\W", "_", self.component.__name__)
        code = hashlib.sha256(f"{self.key} {machine_code.description(processor)}".encode()).hexdigest()
        return f"{own[:60]}-{code[:24]}.o"

    @property
    def entry(self) -> Path:
        """Return the file that the machine code for this processor is kept in."""
        return cache_files.folder(FOLDER) / self.name(_processor())

    def found(self) -> bytes | None:
        """Return the machine code that came with the package, or is kept; None where there is none."""
        target = shipped_target()
        if target is not None:
            name = self.name((_processor()[0], target.name, target.features))
            if (code := read_shipped(FOLDER, name)) is not None:
                return code
        return read_entry(self.entry)

    def text(self) -> str:
        """Return the kernels as LLVM's text."""
        traced, width = self.traced, len(self.varying) + len(self.constant)
        own, switches = traced.variables, traced.switches
        with_margins = own + len(switches.margins)
        parts = (
            ("residual", traced.expressions, own, len(traced.expressions), 0),
            ("jacobian", [e for _, _, e in self.varying], own, width, 0),
            ("constant", [e for _, _, e in self.constant], own, width, len(self.varying)),
            ("margins", switches.margins, own, len(switches.margins), 0),
            ("shares", switches.shares, with_margins, len(switches.shares), 0),
        )
        return "".join(
            kernel(f"{name}_{self.key}", nodes, variables, traced.parameters, columns, first)
            for name, nodes, variables, columns, first in parts
            if nodes
        )

    def loaded(self) -> CompiledComponent:
        """Return the component with the addresses of its kernels, which are loaded."""
        switches = self.traced.switches
        return CompiledComponent(
            self.component,
            machine_code.address(f"residual_{self.key}") if self.traced.expressions else 0,
            machine_code.address(f"jacobian_{self.key}") if self.varying else 0,
            machine_code.address(f"constant_{self.key}") if self.constant else 0,
            tuple((row, column) for row, column, _ in (*self.varying, *self.constant)),
            len(self.varying),
            self.traced.timed,
            machine_code.address(f"margins_{self.key}") if switches.margins else 0,
            machine_code.address(f"shares_{self.key}") if switches.shares else 0,
            len(switches.margins),
            switches.rows,
        )


FOLDER = "components"
_processor = functools.cache(processor)


@functools.cache
def emitter() -> str:
    """Return the hash of the sources that turn expressions into machine code."""
    names = ("codegen", "emit", "expression", "derivative", "machine_code")
    return statements_digest([Path(__file__).with_name(f"{name}.py") for name in names])


_compiled: dict[type[Component], CompiledComponent] = {}
_loaded: set[str] = set()
_lock = threading.RLock()


def _no_progress(items: Sequence[_Kernels]) -> Iterable[_Kernels]:
    return items


def compile_components(
    components: Iterable[type[Component]],
    progress: Callable[[Sequence[Any]], Iterable[Any]] = _no_progress,
) -> tuple[CompiledComponent, ...]:
    """Return the kernels of components, from disk where they were compiled before.

    `progress`: wraps what has to be compiled while it is gone through, for instance with a bar. Raises
    InputError for equations that do not fit their declaration.
    """
    wanted = tuple(components)
    with _lock:
        new = [_kernels(c) for c in dict.fromkeys(wanted) if c not in _compiled]
        # Two components may be one in their equations; each object is loaded once.
        unknown = {kernels.key: kernels for kernels in new if kernels.key not in _loaded}
        found = {key: kernels.found() for key, kernels in unknown.items()}
        missing = [unknown[key] for key, data in found.items() if data is None]
        if missing:
            many = "a component model" if len(missing) == 1 else f"{len(missing)} component models"
            announce(many, SECONDS_A_COMPONENT * len(missing))
        for kernels in progress(missing):
            found[kernels.key] = data = machine_code.machine_code(kernels.text())
            write_entry(kernels.entry, data)
        machine_code.load(data for data in found.values() if data)
        _loaded.update(unknown)
        _compiled.update((kernels.component, kernels.loaded()) for kernels in new)
        return tuple(_compiled[c] for c in wanted)


def compile_component(component: type[Component]) -> CompiledComponent:
    """Return the kernels of one component; see `compile_components`."""
    return compile_components([component])[0]


def _compiled_again(origin: type[Component] | Origin) -> CompiledComponent:
    return compile_component(unpacked(origin))


def _kernels(component: type[Component]) -> _Kernels:
    traced = trace(component)
    varying, constant = traced.jacobian()
    return _Kernels(component, traced, varying, constant)
