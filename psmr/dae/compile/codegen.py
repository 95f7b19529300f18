"""From a declaration to machine code, kept on disk under the hash of all that shapes it.

A component has three kernels of one signature, ``(n, index, target, P, w, out)``: the residual, the varying
entries of its Jacobian and the constant ones (those that depend on parameters only, written once per span).
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import sys
import tempfile
import types
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psmr.dae.compile.cache import announce_compilation, cached_here, folder
from psmr.dae.declare.component import Component, local_rows, local_variables, parameters_of
from psmr.errors import InputError

if TYPE_CHECKING:
    from psmr.dae.compile.symbolic import Trace

_HEADER = '''"""Kernels of {name}, generated from its declaration."""
from math import atan, atan2, cos, exp, log, sin, sqrt, tan

from numba import cfunc, types

_U, _D = types.CPointer(types.uint32), types.CPointer(types.float64)
SIGNATURE = types.void(types.int64, _U, _U, _D, _D, _D)
STRUCTURE = {structure!r}


'''


@dataclass(frozen=True)
class CompiledComponent:
    """Machine code of a component and the places of its Jacobian entries.

    Attributes
    ----------
    component
        The declaration.
    residual, jacobian, constant
        Addresses of the kernels, 0 where there is nothing to evaluate.
    entries
        (row, variable) of every Jacobian entry in local numbering: the `varying` ones first, then the
        constant ones.
    varying
        Number of entries that depend on variables.
    timed
        Whether an equation reads the time.
    """

    component: type[Component]
    residual: int
    jacobian: int
    constant: int
    entries: tuple[tuple[int, int], ...]
    varying: int
    timed: bool


@functools.cache
def compile_component(component: type[Component]) -> CompiledComponent:
    """Return the kernels of `component`, from disk where they were compiled before."""
    path = folder() / f"{component.__name__}_{declaration_hash(component)}.py"
    if not path.exists():
        announce_compilation()
        _write_atomically(path, _source(component))
    with cached_here():
        module = _load(path)
    structure = json.loads(module.STRUCTURE)
    address = {name: getattr(module, name).address if hasattr(module, name) else 0 for name in _KERNELS}
    return CompiledComponent(
        component,
        address["residual"],
        address["jacobian"],
        address["constant"],
        tuple(map(tuple, structure["entries"])),
        structure["varying"],
        structure["timed"],
    )


_KERNELS = ("residual", "jacobian", "constant")


def _source(component: type[Component]) -> str:
    # sympy takes a third of a second to import and is needed for a component seen for the first time only.
    from psmr.dae.compile.symbolic import kernel_source, trace

    traced = trace(component)
    constant = [e for e in traced.jacobian if traced.is_constant(e[2])]
    varying = [e for e in traced.jacobian if not traced.is_constant(e[2])]
    timed = any(e.has(traced.variables["t"]) for e in traced.expressions)
    structure = {"entries": [e[:2] for e in varying + constant], "varying": len(varying), "timed": timed}
    _check_ramps(component, traced)
    text = _HEADER.format(name=component.__name__, structure=json.dumps(structure))
    width = len(varying) + len(constant)
    if traced.expressions:
        text += (
            kernel_source(traced, list(traced.expressions), "residual", "row", len(traced.expressions))
            + "\n\n"
        )
    if varying:
        text += kernel_source(traced, [e[2] for e in varying], "jacobian", "slot", width) + "\n\n"
    if constant:
        text += kernel_source(traced, [e[2] for e in constant], "constant", "slot", width, len(varying))
    return text


def _check_ramps(component: type[Component], traced: Trace) -> None:
    """Raise InputError where an equation reads the time although every declared rate is zero."""
    still = {traced.parameters[name]: 0 for name in component.ramps}
    time = traced.variables["t"]
    if still and any(e.subs(still).has(time) for e in traced.expressions):
        rates = " = ".join(component.ramps)
        raise InputError(
            f"{component.__name__}: the equations read the time even where {rates} = 0; declare every "
            "rate in ramps, or none"
        )


def _write_atomically(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


def _load(path: Path) -> types.ModuleType:
    name = f"psmr_kernels_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def declaration_hash(component: type[Component]) -> str:
    """Return a hash of everything the equations of `component` are made of.

    Names and the byte code of ``equations`` with every function and constant it reaches, so that an edited
    helper in another file counts too.
    """
    digest = hashlib.sha256()
    names = (
        local_variables(component),
        local_rows(component),
        tuple(parameters_of(component)),
        component.rows,
    )
    digest.update(repr((component.__qualname__, names)).encode())
    _digest_function(component.equations, digest, set())
    return digest.hexdigest()[:16]


def _digest_function(function: Any, digest: Any, seen: set[int]) -> None:
    if id(function) in seen:
        return
    seen.add(id(function))
    for cell in function.__closure__ or ():
        _digest_value(cell.cell_contents, digest, seen)
    digest.update(repr((function.__defaults__, function.__kwdefaults__)).encode())
    _digest_code(function.__code__, function.__globals__, digest, seen)


def _digest_code(code: types.CodeType, scope: dict[str, Any], digest: Any, seen: set[int]) -> None:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _digest_code(constant, scope, digest, seen)
        else:
            digest.update(repr(constant).encode())
    for name in code.co_names:
        value = scope.get(name)
        if isinstance(value, types.ModuleType | type):
            for attribute in code.co_names:
                _digest_value(vars(value).get(attribute), digest, seen)
        else:
            _digest_value(value, digest, seen)


def _digest_value(value: Any, digest: Any, seen: set[int]) -> None:
    if isinstance(value, staticmethod):
        value = value.__func__
    if isinstance(value, types.FunctionType):
        _digest_function(value, digest, seen)
    elif isinstance(value, bool | int | float | complex | str | tuple):
        digest.update(repr(value).encode())
