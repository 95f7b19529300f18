"""Signals over time as files, CSV or Parquet, written some rows at a time; the files and folders of results.

Lines of CSV: each number as the shortest text that reads back as the same number, compiled.

Schubfach (R. Giulietti, The Schubfach way to render doubles, 2020): of the decimals that round to a double
the shortest, and of these the nearest, from three products of 64 with 128 bits. The text is that of Python's
`repr`, character by character.

Measured on 10,000 times of 200 signals (40 MB): 0.31 s, with `repr` 2.8 s, with pyarrow 0.65 s and in another
notation (1 for 1.0), so that files would depend on what is installed. Compiled once a machine in 2.8 s.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from psmr.base import files
from psmr.base.arrays import Reals
from psmr.base.errors import StudyError
from psmr.base.files import PARQUET, TABLES, OutputTransaction, require_suffix
from psmr.base.modules import optional
from psmr.dae.compile.decorators import lean
from psmr.dae.compile.notice import announced

# Below so many numbers Python's own text is there before the compiled code is loaded.
FEWEST_COMPILED = 20_000

# Longest text of a double ("-2.2250738585072014e-308"), and the comma or the end of the line after it.
LONGEST = 25

# Powers of ten that occur: exponents of the shortest decimal of any double, negated.
LEAST_POWER, LARGEST_POWER = -292, 324


def csv_lines(table: Reals) -> bytes:
    """Return a (K, j) table as lines of text, commas between the numbers."""
    if table.size < FEWEST_COMPILED:
        return "".join(",".join(map(repr, row)) + "\n" for row in table.tolist()).encode("ascii")
    out = np.empty(LONGEST * table.size, np.uint8)
    high, low = _powers()
    used = _write(np.ascontiguousarray(table).view(np.uint64), high, low, out, np.empty(20, np.uint8))
    return out[:used].tobytes()


@functools.cache
def _powers() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the two halves of 10^k as 128-bit numbers, rounded up, the leading bit set."""
    halves = []
    for k in range(LEAST_POWER, LARGEST_POWER + 1):
        shift = 127 - ((k * 1741647) >> 19)  # 127 - floor(log2(10^k))
        top, bottom = (10**k, 1) if k >= 0 else (1, 10**-k)
        top, bottom = (top << shift, bottom) if shift >= 0 else (top, bottom << -shift)
        halves.append(divmod(-(-top // bottom), 2**64))
    high, low = zip(*halves, strict=True)
    return np.array(high, np.uint64), np.array(low, np.uint64)


@intrinsic
def _high(typing_context, a, b):  # type: ignore[no-untyped-def]
    """Return the upper 64 bits of the product of two whole numbers."""
    signature = types.uint64(types.uint64, types.uint64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        wide = ir.IntType(128)
        a, b = (builder.zext(argument, wide) for argument in arguments)
        return builder.trunc(builder.lshr(builder.mul(a, b), ir.Constant(wide, 64)), ir.IntType(64))

    return signature, generate


@lean
def _round_to_odd(high, low, factor):  # type: ignore[no-untyped-def]
    """Return (high 2^64 + low) factor / 2^128, its last bit set where anything was cut off."""
    carried = _high(low, factor)
    middle = np.uint64(high * factor)
    upper = _high(high, factor)
    total = np.uint64(middle + carried)
    if total < middle:
        upper += np.uint64(1)
    return upper | np.uint64(total > np.uint64(1))


@lean
def _shortest(bits, high, low):  # type: ignore[no-untyped-def]
    """Return (digits, exponent) of a double that is finite and positive: digits 10^exponent."""
    one, two, four = np.uint64(1), np.uint64(2), np.uint64(4)
    fraction = bits & np.uint64(0xFFFFFFFFFFFFF)
    biased = np.int64(bits >> np.uint64(52))
    if biased != 0:
        c, q = fraction | np.uint64(0x10000000000000), biased - 1075
    else:
        c, q = fraction, np.int64(-1074)
    closer = fraction == np.uint64(0) and biased > 1
    odd = c & one
    k = (q * 1262611 - (524031 if closer else 0)) >> 22
    h = np.uint64(q + ((-k * 1741647) >> 19) + 1)
    place = -k - LEAST_POWER
    g1, g0 = high[place], low[place]
    lower = _round_to_odd(g1, g0, np.uint64((four * c - two + np.uint64(closer)) << h)) + odd
    v = _round_to_odd(g1, g0, np.uint64((four * c) << h))
    upper = _round_to_odd(g1, g0, np.uint64((four * c + two) << h)) - odd
    s = v >> two
    if s >= np.uint64(10):
        tenth = s // np.uint64(10)
        inside = lower <= np.uint64(40) * tenth
        above = np.uint64(40) * tenth + np.uint64(40) <= upper
        if inside != above:
            return tenth + np.uint64(above), k + 1
    inside = lower <= four * s
    above = four * s + four <= upper
    if inside != above:
        return s + np.uint64(above), k
    middle = four * s + two
    up = v > middle or (v == middle and (s & one) == one)
    return s + np.uint64(up), k


@lean
def _put(out, at, text):  # type: ignore[no-untyped-def]
    for letter in text:
        out[at] = letter
        at += 1
    return at


@lean
def _number(bits, high, low, out, at, digits):  # type: ignore[no-untyped-def]
    """Write a number into `out` from `at` on; return where it ends."""
    ten = np.uint64(10)
    negative = bits >> np.uint64(63)
    bits = bits & np.uint64(0x7FFFFFFFFFFFFFFF)
    if bits > np.uint64(0x7FF0000000000000):
        return _put(out, at, (110, 97, 110))  # nan
    if negative:
        out[at] = 45
        at += 1
    if bits == np.uint64(0x7FF0000000000000):
        return _put(out, at, (105, 110, 102))  # inf
    if bits == np.uint64(0):
        return _put(out, at, (48, 46, 48))
    number, exponent = _shortest(bits, high, low)
    while number % ten == np.uint64(0):
        number //= ten
        exponent += 1
    count = 0
    while number != np.uint64(0):
        rest = number // ten
        digits[count] = np.uint8(48) + np.uint8(number - ten * rest)
        number = rest
        count += 1
    point = count + exponent  # digits before the decimal point
    if -4 < point <= 16:
        if point <= 0:
            at = _put(out, at, (48, 46))
            for _ in range(-point):
                out[at] = 48
                at += 1
        for k in range(count):
            if k == point and k > 0:
                out[at] = 46
                at += 1
            out[at] = digits[count - 1 - k]
            at += 1
        if point >= count:
            for _ in range(point - count):
                out[at] = 48
                at += 1
            at = _put(out, at, (46, 48))
        return at
    out[at] = digits[count - 1]
    at += 1
    if count > 1:
        out[at] = 46
        at += 1
        for k in range(1, count):
            out[at] = digits[count - 1 - k]
            at += 1
    power = point - 1
    at = _put(out, at, (101, 45 if power < 0 else 43))
    power = abs(power)
    if power >= 100:
        out[at] = 48 + power // 100
        at += 1
    out[at] = 48 + power // 10 % 10
    out[at + 1] = 48 + power % 10
    return at + 2


@announced("the writing of numbers as text", 2, once=True)
@lean
def _write(table, high, low, out, digits):  # type: ignore[no-untyped-def]
    """Write the lines of a table of doubles, given as their bits; return how many characters they are."""
    at = 0
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            at = _number(table[i, j], high, low, out, at, digits)
            out[at] = 44
            at += 1
        out[at - 1] = 10
    return at


def atomic(path: str | os.PathLike[str]) -> AbstractContextManager[Path]:
    """Yield a temporary path that takes the place of `path`; see `psmr.base.files.atomic`.

    Raises StudyError for what is no regular file, a folder that cannot be written and a disk that is full.
    """
    return files.atomic(path, StudyError)


def placed(
    path: str | os.PathLike[str], transaction: OutputTransaction | None
) -> AbstractContextManager[Path]:
    """Yield a temporary path that takes the place of `path`: with other files, or when its block ends."""
    return atomic(path) if transaction is None else transaction.file(path)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path`, whole or not at all; see `atomic`."""
    files.write_texts({Path(path): text}, StudyError)


def check_writable(folder: str | os.PathLike[str], names: Iterable[str] = ()) -> None:
    """Find out before a run whether files can be made in a folder, and leave no trace.

    `folder`: which is made where it is missing; `names`: of files that will be written there, or removed as
    out of date. Raises StudyError when it cannot be made or written, and for what is there by one of the
    names and must stay.
    """
    place = Path(folder)
    require_folder(folder)
    for name in names:
        files.require_replaceable(place / name, StudyError)
    missing: list[Path] = []
    try:
        missing = [p for p in (place, *place.parents) if not p.exists()]
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except (OSError, ValueError) as error:
        raise StudyError(files.unwritable(place, error)) from error
    finally:
        with contextlib.suppress(OSError):
            for made in missing:
                if made.is_dir() and not any(made.iterdir()):
                    made.rmdir()


def require_folder(folder: str | os.PathLike[str]) -> None:
    """Raise StudyError where a folder is to be and the path, or a part of it, is something else, or empty."""
    if not os.fspath(folder):
        raise StudyError("folder = '': the path is empty; name a folder, . for the current one")
    for place in (Path(folder), *Path(folder).parents):
        try:
            mode = place.stat().st_mode
        except (OSError, ValueError):
            continue
        if stat.S_ISDIR(mode):
            return
        what = "a file" if stat.S_ISREG(mode) else "a pipe or device"
        raise StudyError(
            f"cannot write to {files.abridged(folder)}: {files.abridged(place)} is {what} and no folder; "
            "name a folder for the files (-o, or [output] folder)"
        )


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

    Raises InputError for another ending.
    """
    return FORMATS[require_suffix(path, tuple(FORMATS))](path, names, transaction)


@contextmanager
def csv_table(
    path: str | os.PathLike[str], names: Sequence[str], transaction: OutputTransaction | None = None
) -> Iterator[Write]:
    """Yield what writes rows into a CSV file, first column ``t``; it appears when all went well.

    A number is the shortest text that reads back as the same number, as Python's `repr` has it.

    Raises InputError for a name that ends otherwise.
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

    Raises InputError for a name that ends otherwise; PsmrError when pyarrow is not installed.
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
    optional("pyarrow.parquet", what, "pyarrow", instead)


FORMATS: Mapping[str, Callable[..., AbstractContextManager[Write]]] = {
    **dict.fromkeys(TABLES, csv_table),
    **dict.fromkeys(PARQUET, parquet_table),
}
"""What writes a file of signals, by its ending."""
