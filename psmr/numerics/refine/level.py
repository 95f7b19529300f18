"""Room for a block whose rows are chosen in the run: arrays as long as those of the whole system.

What is not used is never touched, so that the room costs address space and no memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.dae.compile.address import address_of
from psmr.numerics.refine.frame import Frame
from psmr.numerics.solve.block import Block
from psmr.numerics.solve.lu import Lu, Search
from psmr.numerics.solve.records import (
    ARRAYS,
    FIRST,
    SCATTERED,
    Kept,
    Limits,
    Matrix,
    Ramps,
    Records,
    Work,
    nothing_kept,
    row_of,
)
from psmr.numerics.solve.solver import solve_block


@dataclass(frozen=True, eq=False)
class Level:
    """A block that is filled by `psmr.numerics.refine.extract.extract`.

    Attributes
    ----------
    records
        Its arrays at their full length.
    row
        Addresses and lengths, as compiled code opens them.
    devices
        Index, row, entry and parameter arrays of the devices that are called.
    """

    records: Records
    row: NDArray[np.int64]
    devices: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]

    @property
    def address(self) -> int:
        """Where compiled code opens it."""
        return int(self.row.ctypes.data)

    @property
    def bases(self) -> list[int]:
        """Addresses of `devices`."""
        return [address_of(array) for array in self.devices]


def level_for(whole: Block, frame: Frame) -> Level:
    """Return room for any block of a whole system."""
    old = whole.records

    def like(array: np.ndarray) -> np.ndarray:
        return np.zeros(array.shape, array.dtype)  # np.zeros_like would touch it

    records = Records(
        matrix=Matrix(*map(like, old.matrix)),
        limits=Limits(*map(like, old.limits)),
        ramps=Ramps(*map(like, old.ramps)),
        work=Work(*map(like, old.work)),
        lu=Lu(*map(like, old.lu)),
        search=Search(*map(like, old.search)),
        kept=nothing_kept(),
    )
    row = row_of(records, solve_block.address)
    row[FIRST] = SCATTERED  # as its variables may be
    totals = [int(total) for total in (frame.offsets[-1] if len(frame.offsets) else [0] * 4)]
    last = frame.widths[-1] * np.count_nonzero(frame.group == len(frame.widths) - 1)
    index, adds, entries, numbers = (int(t + k) for t, k in zip(totals, last, strict=True))
    devices = tuple(np.zeros(size, np.uint32) for size in (index, adds, entries))
    return Level(records, row, (*devices, np.zeros(numbers)))  # type: ignore[arg-type]


_PARTS = {
    "matrix": Matrix,
    "limits": Limits,
    "ramps": Ramps,
    "work": Work,
    "lu": Lu,
    "search": Search,
    "kept": Kept,
}
_NAMES = [f"{part}.{name}" for part, record in _PARTS.items() for name in record._fields]  # type: ignore[attr-defined]
assert len(_NAMES) == ARRAYS


def place(name: str) -> int:
    """Return the place in a row of the address of an array, ``"matrix.J"``; its length is one further."""
    return 2 * _NAMES.index(name)
