"""What a component computes at a sample, compiled: kernels of the form of `psmr.dae.compile.codegen`.

Each adds the new values, or what external code is handed, to the entries of ``out`` that its target names.
"""

from __future__ import annotations

import functools
import hashlib
import re
from types import SimpleNamespace
from typing import NamedTuple

from psmr.base.errors import InputError
from psmr.dae.compile import cache_files, machine_code
from psmr.dae.compile.cache_files import read_entry, write_entry
from psmr.dae.compile.codegen import FOLDER, emitter
from psmr.dae.compile.emit import kernel
from psmr.dae.compile.expression import Graph
from psmr.dae.compile.notice import announce
from psmr.dae.compile.shipped_code import processor
from psmr.dae.compile.trace import TracedEquations
from psmr.dae.declare.component import Component, local_variables, parameters_of
from psmr.dae.declare.sampling import Sampling, samplings

SECONDS_A_KERNEL = 0.01
"""Median time to compile one, on a Xeon of 2023."""


class SampleKernel(NamedTuple):
    """Machine code of what a component reads and writes together.

    `sampling`: What that is.
    `address`: Of the kernel.
    `width`: How many numbers it gives.
    """

    sampling: Sampling
    address: int
    width: int


@functools.cache
def sample_kernels(component: type[Component]) -> tuple[SampleKernel, ...]:
    """Return the kernels of a component that samples, from disk where they were compiled before.

    Raises InputError for a `sample` or `reads` that does not return what is declared, or does with a variable
    what cannot be traced.
    """
    return tuple(_compiled(component, sampling) for sampling in samplings(component))


def traced_sampling(component: type[Component], sampling: Sampling) -> TracedEquations:
    """Evaluate what a component computes at a sample on nodes; raises InputError as `sample_kernels`."""
    names, constants = local_variables(component), tuple(parameters_of(component))
    graph = Graph()
    variables = SimpleNamespace(**{name: graph.variable(i) for i, name in enumerate(names)})
    parameters = SimpleNamespace(**{name: graph.parameter(i) for i, name in enumerate(constants)})
    try:
        values = tuple(map(graph.node, sampling.values(graph, variables, parameters)))
    except InputError as error:
        if str(error).startswith(component.__name__):
            raise
        function = "reads" if sampling.external else "sample"
        raise InputError(f"{component.__name__}.{function}: {error}") from error
    return TracedEquations(graph, values, len(names), len(constants), timed=False)


def _compiled(component: type[Component], sampling: Sampling) -> SampleKernel:
    traced = traced_sampling(component, sampling)
    width = len(traced.expressions)
    if not width:
        return SampleKernel(sampling, 0, 0)
    key = hashlib.sha256(traced.digest() + emitter().encode()).hexdigest()[:24]
    symbol, of = f"sample_{key}", processor()
    code = hashlib.sha256(f"{key} {machine_code.description(of)}".encode()).hexdigest()[:24]
    entry = cache_files.folder(FOLDER) / f"{re.sub(r'[^0-9A-Za-z_]', '_', component.__name__)[:60]}-{code}.o"
    data = read_entry(entry)
    if data is None:
        announce("the samples of a component model", SECONDS_A_KERNEL)
        text = kernel(symbol, traced.expressions, traced.variables, traced.parameters, width)
        write_entry(entry, data := machine_code.machine_code(text))
    if symbol not in _loaded:
        machine_code.load([data])
        _loaded.add(symbol)
    return SampleKernel(sampling, machine_code.address(symbol), width)


_loaded: set[str] = set()
