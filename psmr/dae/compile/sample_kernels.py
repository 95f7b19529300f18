"""What a component computes at a sample, compiled: kernels of the form of `psmr.dae.compile.codegen`.

Each adds the new values, or what external code is handed, to the entries of ``out`` that its target names.
"""

from __future__ import annotations

import functools
import hashlib
import re

from psmr.base.errors import InputError
from psmr.dae.compile import cache_files, machine_code
from psmr.dae.compile.codegen import FOLDER, emitter
from psmr.dae.compile.emit import kernel
from psmr.dae.compile.expression import Graph
from psmr.dae.compile.shipped_code import processor
from psmr.dae.compile.trace import TracedEquations, on_nodes
from psmr.dae.declare.component import Component
from psmr.dae.declare.sampling import Sampling, samplings


@functools.cache
def sample_kernels(component: type[Component]) -> tuple[tuple[Sampling, int, int], ...]:
    """Return what a component does at its samples, each with its kernel's address and how much that gives.

    Raises InputError for a `sample` or `reads` that does not return what is declared, or does with a variable
    what cannot be traced.
    """
    return tuple((sampling, *_compiled(component, sampling)) for sampling in samplings(component))


def traced_sampling(component: type[Component], sampling: Sampling) -> TracedEquations:
    """Evaluate what a component computes at a sample on nodes; raises InputError as `sample_kernels`."""
    graph = Graph()
    v, p = on_nodes(component, graph)
    try:
        values = tuple(map(graph.node, sampling.values(graph, v, p)))
    except InputError as error:
        if str(error).startswith(component.__name__):
            raise
        function = "reads" if sampling.external else "sample"
        raise InputError(f"{component.__name__}.{function}: {error}") from error
    return TracedEquations(graph, values, len(vars(v)), len(vars(p)), timed=False)


def _compiled(component: type[Component], sampling: Sampling) -> tuple[int, int]:
    traced = traced_sampling(component, sampling)
    width = len(traced.expressions)
    if not width:
        return 0, 0
    key = hashlib.sha256(traced.digest() + emitter().encode()).hexdigest()[:24]
    symbol = f"sample_{key}"
    code = hashlib.sha256(f"{key} {machine_code.description(processor())}".encode()).hexdigest()[:24]
    entry = cache_files.folder(FOLDER) / f"{re.sub(r'[^0-9A-Za-z_]', '_', component.__name__)[:60]}-{code}.o"
    data = cache_files.read_entry(entry)
    if data is None:
        text = kernel(symbol, traced.expressions, traced.variables, traced.parameters, width)
        cache_files.write_entry(entry, data := machine_code.machine_code(text))
    if symbol not in _loaded:
        machine_code.load([data])
        _loaded.add(symbol)
    return machine_code.address(symbol), width


_loaded: set[str] = set()
