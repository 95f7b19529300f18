"""What the sources of compiled code say: their statements, without comments, docstrings and layout.

A folder of compiled code is named after them, and so is each entry, so that an edited psmr never meets stale
code, while words that change compile nothing. Taking sources apart costs a third of a second; what was found
for the bytes of some files is remembered on disk.
"""

from __future__ import annotations

import ast
import functools
import gc
import hashlib
import marshal
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import llvmlite
import numba

from psmr.dae.compile.cache import folder as folders
from psmr.dae.compile.cache.entry import read_entry, write_entry

_PACKAGE = Path(__file__).parents[3]
_COMPILED_LAYERS = ("dae", "integrate")
_COMPILERS = ("numba", "llvmlite", "psmr.dae.compile")
"""A module that imports one of these may have compiled functions."""


@functools.cache
def fingerprint() -> str:
    """Return a short hash of the sources and versions that shape the compiled code."""
    versions = f"{platform.python_version()} {numba.__version__} {llvmlite.__version__}"
    return hashlib.sha256(f"{versions} {_sources_digest(_files())}".encode()).hexdigest()[:16]


def in_fingerprint(file: Path) -> bool:
    """Return whether the fingerprint covers a file, where compiled code depends on it."""
    return file in _files()


@functools.cache
def _files() -> Mapping[Path, str]:
    """Return the files of the layers with compiled code and the names of their modules."""
    found = {}
    for layer in _COMPILED_LAYERS:
        for file in sorted((_PACKAGE / layer).rglob("*.py")):
            parts = (_PACKAGE.name, *file.relative_to(_PACKAGE).with_suffix("").parts)
            found[file] = ".".join(parts).removesuffix(".__init__")
    return found


def _sources_digest(files: Mapping[Path, str]) -> str:
    """Return the hash of the modules with compiled functions and of all that they import, in a layer."""
    sources = {module: file.read_bytes() for file, module in files.items()}
    return _remembered(sources, lambda: compiled_statements(sources))


def statements_digest(files: Sequence[Path]) -> str:
    """Return the hash of the statements of files."""
    sources = {file.name: file.read_bytes() for file in files}
    return _remembered(sources, lambda: {name: statements(ast.parse(s)) for name, s in sources.items()})


def _remembered(sources: Mapping[str, bytes], work_out: Any) -> str:
    raw = hashlib.sha256(platform.python_version().encode())
    for name, source in sources.items():
        raw.update(f"\n{name} {len(source)}\n".encode() + source)
    place = folders.folder("sources") / raw.hexdigest()[:32]
    if (known := read_entry(place)) is not None:
        return known.decode()
    collected = gc.isenabled()
    gc.disable()  # a fifth of the time, in trees that have no circles
    try:
        found = hashlib.sha256(repr(work_out()).encode()).hexdigest()
    finally:
        if collected:
            gc.enable()
    write_entry(place, found.encode())
    return found


def compiled_statements(sources: Mapping[str, bytes]) -> dict[str, str]:
    """Return the statements of the modules, of those given, that shape compiled code.

    Those are the modules that import a compiler, and what they import of the others, at any depth.
    """
    trees = {module: ast.parse(source) for module, source in sources.items()}
    imports = {module: set(_imports(tree)) for module, tree in trees.items()}
    waiting = [module for module in trees if any(name.startswith(_COMPILERS) for name in imports[module])]
    found = set(waiting)
    while waiting:
        new = (imports[waiting.pop()] & trees.keys()) - found
        found |= new
        waiting += new
    return {module: statements(trees[module]) for module in sorted(found)}


def _imports(tree: ast.AST) -> list[str]:
    """Return the names of the modules that a module imports anywhere, and of what may be modules."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def statements(tree: ast.AST) -> str:
    """Return a module in a form that neither comments nor docstrings nor the layout change."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def code_bytes(function: Any) -> bytes:
    """Return the bytecode of a function in bytes that its docstring and its place in a file do not change."""
    code = function.__code__
    constants = tuple(None if part is function.__doc__ else part for part in code.co_consts)
    # Version 2 writes no references, which depend on who else holds an object.
    return marshal.dumps(_without_place(code.replace(co_consts=constants)), 2)


def _without_place(code: CodeType) -> CodeType:
    constants = tuple(_without_place(part) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename="", co_firstlineno=1, co_linetable=b"", co_consts=constants)
