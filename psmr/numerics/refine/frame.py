"""What the extraction of a block reads of the whole system: who adds to which row, and where it stands."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.dae.compile.kernels import Kernels
from psmr.numerics.refine.atoms import Atoms
from psmr.numerics.solve.block import Block, column_indices

NONE = np.uint32(0xFFFFFFFF)
"""No place: the variable, row or entry is not in the block."""

# Columns of `Frame.widths` and `Frame.offsets`: what a device reads, adds to, its entries, parameters.
READS, ADDS, ENTRIES, NUMBERS = range(4)


class Frame(NamedTuple):
    """The whole system, in the form that `psmr.numerics.refine.extract` reads.

    Attributes
    ----------
    states
        Number n of states.
    atom, row_atom
        (n + m,) sets of the variables and of the rows; see `psmr.numerics.refine.atoms`.
    sizes
        (sets,) variables of each set.
    column
        (nnz,) column of each entry of the whole Jacobian.
    first, adding
        (n + m + 1,) and the devices that add to each row, by number in the table of kernels.
    group, at
        Row of that table, and place among its devices, of each device.
    begins
        Number of the first device of each row of that table.
    widths, offsets
        (rows of the table, 4) entries a device, and where a component begins in the arrays of a block.
    column_place, row_place, slot_place
        Room: places in the block of columns, rows and entries; `NONE` outside a call.
    marks, seen, counts, chosen
        Room: devices and variables that were met in the call of number `marks[-1]`, devices by component, and
        the place in the block of each device that was met.
    """

    states: int
    atom: np.ndarray
    row_atom: np.ndarray
    sizes: np.ndarray
    column: np.ndarray
    first: np.ndarray
    adding: np.ndarray
    group: np.ndarray
    at: np.ndarray
    begins: np.ndarray
    widths: np.ndarray
    offsets: np.ndarray
    column_place: np.ndarray
    row_place: np.ndarray
    slot_place: np.ndarray
    marks: np.ndarray
    seen: np.ndarray
    counts: np.ndarray
    chosen: np.ndarray


class _Layout(NamedTuple):
    """What all frames of a system share; see `Frame` for the fields."""

    column: NDArray[np.uint32]
    first: NDArray[np.uint32]
    adding: NDArray[np.uint32]
    group: NDArray[np.uint32]
    at: NDArray[np.int64]
    begins: NDArray[np.int64]
    widths: NDArray[np.int64]
    offsets: NDArray[np.int64]


def frame_of(whole: Block, atoms: Atoms) -> Frame:
    """Return the frame of the block of a whole system."""
    kernels = whole.kernels
    layout = kernels.shared_by_all("frame", lambda: _layout(kernels))
    devices = layout.group.size
    return Frame(
        states=kernels.states,
        atom=atoms.of_variable,
        row_atom=atoms.of_row,
        sizes=atoms.sizes,
        column_place=np.full(kernels.rows, NONE),
        row_place=np.full(kernels.rows + 1, NONE),
        slot_place=np.zeros(kernels.nnz + 1, np.uint32),
        marks=np.zeros(devices + 1, np.int64),
        seen=np.zeros(kernels.rows, np.int64),
        counts=np.zeros(layout.begins.size, np.int64),
        chosen=np.zeros(devices, np.int64),
        **layout._asdict(),
    )


def _layout(kernels: Kernels) -> _Layout:
    size = kernels.rows
    called = kernels.keep[: len(kernels.table)]  # index, rows, entries and parameters of each component
    widths = np.array([[a.shape[1] for a in arrays] for arrays in called], np.int64).reshape(-1, 4)
    many = np.array([arrays[0].shape[0] for arrays in called], np.int64)
    ends = np.cumsum(widths * many[:, None], axis=0)
    devices = np.concatenate([[0], np.cumsum(many)])
    rows, owner = [], []
    for arrays, begin in zip(called, devices[:-1], strict=True):
        row = arrays[1]
        rows.append(row.ravel())
        owner.append(np.repeat(np.arange(begin, begin + row.shape[0]), row.shape[1]))
    row, device = _pairs(rows, owner, size)
    return _Layout(
        column=column_indices(kernels).astype(np.uint32),
        first=np.searchsorted(row, np.arange(size + 1)).astype(np.uint32),
        adding=device.astype(np.uint32),
        group=np.repeat(np.arange(many.size), many).astype(np.uint32),
        at=np.concatenate([np.arange(k) for k in many] or [np.zeros(0)]).astype(np.int64),
        begins=devices[:-1].astype(np.int64),
        widths=widths,
        offsets=np.ascontiguousarray(ends - widths * many[:, None]),
    )


def _pairs(
    rows: list[NDArray[np.uint32]], owner: list[NDArray[np.intp]], size: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and the devices that add to them, by row."""
    if not rows:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    row, device = np.concatenate(rows).astype(np.intp), np.concatenate(owner).astype(np.intp)
    order = np.argsort(row, kind="stable")
    order = order[: np.searchsorted(row[order], size)]
    return row[order], device[order]
