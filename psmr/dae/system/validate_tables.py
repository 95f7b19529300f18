"""Checks that the index tables of a system read from a file fit one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from psmr.dae.declare.component import local_rows, local_variables, parameters_of
from psmr.dae.system.system import System


def first_invalid_table(system: System) -> str:
    """Return the name of the first table of a system that does not fit the others, "" where all do.

    Compiled code indexes with these tables without checking ranges.
    """
    return next((name for name, valid in _checks(system) if not valid), "")


def _checks(system: System) -> Iterator[tuple[str, bool]]:
    n, m, size = system.n, system.m, system.n + system.m + system.k + 1
    yield "w0", _has(system.w0, "f8", (size,))
    yield "names_g", len(system.names_g) == m
    yield "together", _has(system.together, "i8", (n + m,))
    for name in ("lower", "upper"):
        yield name, _has(getattr(system, name), "f8", (n,))
    for name in ("lower_at", "upper_at"):
        table = getattr(system, name)
        yield name, _has(table, "i8", (n,)) and _within(table, -1, size)
    yield "parameters", len(system.parameters) == len(system.groups)
    for group, matrix in zip(system.groups, system.parameters, strict=True):
        component, count = group.compiled.component, len(group.names)
        yield "parameters", _has(matrix, "f8", (count, len(tuple(parameters_of(component)))))
        yield "index", _has(group.index, "u4", (count, len(local_variables(component))))
        yield "index", _within(group.index, 0, size)
        yield "row", _has(group.row, "u4", (count, len(local_rows(component))))
        yield "row", _within(group.row, 0, n + m)


def _has(table: Any, dtype: str, shape: tuple[int, ...]) -> bool:
    return isinstance(table, np.ndarray) and table.dtype == np.dtype(dtype) and table.shape == shape


def _within(table: np.ndarray, least: int, below: int) -> bool:
    return not table.size or bool(table.min() >= least and table.max() < below)
