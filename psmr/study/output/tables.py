"""Signals over time as files, CSV or Parquet, written some rows at a time."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.files import PARQUET, TABLES, OutputTransaction, require_suffix
from psmr.base.optional import optional
from psmr.study.output.csv_floats import csv_lines
from psmr.study.output.files import placed

Write = Callable[[Reals, Reals], None]
"""Takes (K,) times and (K, j) values."""

# Numbers in a row group of Parquet: large enough to be compressed well, small beside any memory.
GROUP = 2**20

# Numbers that are text at the same time.
AT_ONCE = 2**18


def table_writer(
    path: str | os.PathLike[str], names: Sequence[str], transaction: OutputTransaction | None = None
) -> AbstractContextManager[Write]:
    """Return the writer of a file by its ending, one of `FORMATS`.

    The file appears when its writing ends well, or with others of `transaction`.

    Raises
    ------
    InputError
        For another ending.
    """
    return FORMATS[require_suffix(path, tuple(FORMATS))](path, names, transaction)


@contextmanager
def csv_table(
    path: str | os.PathLike[str], names: Sequence[str], transaction: OutputTransaction | None = None
) -> Iterator[Write]:
    """Yield what writes rows into a CSV file, first column ``t``; it appears when all went well.

    A number is the shortest text that reads back as the same number, as Python's `repr` has it.

    Raises
    ------
    InputError
        For a name that ends otherwise.
    """
    require_suffix(path, TABLES)
    # A name may have a comma or a quote in it: the head follows the rules of CSV.
    head = io.StringIO()
    csv.writer(head, lineterminator="\n").writerow(["t", *names])
    with placed(path, transaction) as temporary, open(temporary, "wb") as file:
        file.write(head.getvalue().encode("utf-8"))

        def write(t: Reals, values: Reals) -> None:
            step = max(1, AT_ONCE // (1 + values.shape[1]))
            for first in range(0, len(t), step):
                rows = slice(first, first + step)
                file.write(csv_lines(np.column_stack([t[rows], values[rows]])))

        yield write


@contextmanager
def parquet_table(
    path: str | os.PathLike[str], names: Sequence[str], transaction: OutputTransaction | None = None
) -> Iterator[Write]:
    """Yield what writes rows into a Parquet file, first column ``t``; it appears when all went well.

    Raises
    ------
    InputError
        For a name that ends otherwise.
    PsmrError
        When pyarrow is not installed.
    """
    require_suffix(path, PARQUET)
    require_pyarrow()
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema([(name, pyarrow.float64()) for name in ("t", *names)])
    waiting: list[Reals] = []

    def put(rows: Reals) -> None:
        columns = [pyarrow.array(column) for column in np.ascontiguousarray(rows.T)]
        writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))

    def write(t: Reals, values: Reals) -> None:
        step = max(1, GROUP // (1 + values.shape[1]))
        for first in range(0, len(t), step):
            rows = slice(first, first + step)
            waiting.append(np.column_stack([t[rows], values[rows]]))
            if sum(map(len, waiting)) >= step:
                held = np.concatenate(waiting)
                put(held[:step])
                waiting[:] = [held[step:]]

    with placed(path, transaction) as temporary, pyarrow.parquet.ParquetWriter(temporary, schema) as writer:
        yield write
        rest = np.concatenate([np.empty((0, 1 + len(names))), *waiting])
        if len(rest):
            put(rest)


def require_pyarrow(what: str = "a Parquet file", instead: str = "write CSV") -> None:
    """Raise PsmrError where Parquet files, or what is kept in them, cannot be written."""
    optional("pyarrow.parquet", what, "psmr[parquet]", instead)


FORMATS: Mapping[str, Callable[..., AbstractContextManager[Write]]] = {
    **dict.fromkeys(TABLES, csv_table),
    **dict.fromkeys(PARQUET, parquet_table),
}
"""What writes a file of signals, by its ending."""
