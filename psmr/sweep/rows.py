"""Rows of a sweep as tables with one schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.base.errors import InputError
from psmr.study.output.tables import require_pyarrow
from psmr.study.record.values import values_of
from psmr.study.run.run import Run
from psmr.sweep.measures import Measure
from psmr.sweep.plan import Plan

if TYPE_CHECKING:
    import pyarrow

KEYS = ("run", "status", "message", "warnings")
"""Columns that every table has."""


def schema_of(plan: Plan, measure: Measure) -> pyarrow.Schema:
    """Return the columns of a sweep's rows: number, labels, status, what is found out, messages."""
    require_pyarrow()
    import pyarrow

    holds = {
        "number": pyarrow.float64(),
        "count": pyarrow.int64(),
        "text": pyarrow.string(),
        "flag": pyarrow.bool_(),
        "numbers": pyarrow.list_(pyarrow.float64()),
    }
    kinds = {float: pyarrow.float64(), int: pyarrow.int64(), str: pyarrow.string()}
    labels: dict[str, Any] = {}
    for block in plan.blocks:
        if len(block):
            labels |= {name: kinds[type(value)] for name, value in block.point(0).labels}
    taken = {*KEYS, *(column.name for column in measure.columns)}
    for name in plan.labels():
        if name in taken:
            raise InputError(f"{name}: the table has a column of this name; call what varies otherwise")
    return pyarrow.schema(
        [
            ("run", pyarrow.int64()),
            *((name, labels[name]) for name in plan.labels()),
            ("status", pyarrow.string()),
            *((column.name, holds[column.holds]) for column in measure.columns),
            ("message", pyarrow.string()),
            ("warnings", pyarrow.string()),
        ]
    )


def row_table(rows: Sequence[Mapping[str, Any]], schema: pyarrow.Schema) -> pyarrow.Table:
    """Return rows as a table; what a row does not have is null."""
    import pyarrow

    columns = [
        pyarrow.array([row.get(field.name) for row in rows], type=field.type, from_pandas=True)
        for field in schema
    ]
    return pyarrow.Table.from_arrays(columns, schema=schema)


def signal_table(number: int, run: Run, names: Sequence[str]) -> pyarrow.Table:
    """Return signals of a run with its number: ``run``, ``t`` in s, a column a signal."""
    import pyarrow

    chosen = run.signals.select(names)
    values = values_of(run, chosen)
    columns = {"run": np.full(len(run.t), number), "t": run.t}
    return pyarrow.table(columns | {name: values[:, k] for k, name in enumerate(chosen)})
