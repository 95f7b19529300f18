"""Tables of the margins of all devices of a block, and of the shares of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.dae.compile.kernels import Kernels

Table = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SwitchTables:
    """Tables that `psmr.dae.compile.kernels.residual` evaluates.

    Attributes
    ----------
    margins
        (G, 8) table of the margins of all devices, `count` numbers.
    shares
        (G, 8) table of the shares of the block's rows, ``rows + 1`` numbers. It reads a buffer that ends with
        the margins that decide.
    of
        (G,) rows of the block's table that they are made from.
    count
        Number of margins.
    keep
        Arrays that the tables point to.
    """

    margins: Table
    shares: Table
    of: NDArray[np.intp]
    count: int
    keep: tuple[Any, ...]


def switch_tables(kernels: Kernels, groups: Sequence[Any], size: int) -> SwitchTables:
    """Return the tables of a block of a system with these groups, whose buffer has `size` numbers."""
    found = kernels.shared_by_all("switches", lambda: _switch_tables(kernels, groups, size))
    margins, shares = (kernels.with_parameters(table, found.of) for table in (found.margins, found.shares))
    return replace(found, margins=margins, shares=shares, keep=(kernels.keep, *found.keep))


def _switch_tables(kernels: Kernels, groups: Sequence[Any], size: int) -> SwitchTables:
    """Return the tables of a block that has none yet."""
    place = np.full(size, kernels.rows, np.uint32)
    place[kernels.row_indices] = np.arange(kernels.rows)
    called = [(g, devices) for g, devices in zip(groups, kernels.selected, strict=True) if devices.size]
    count, of, keep, margins, shares = 0, [], [], [], []
    for row, (group, devices) in enumerate(called):
        code = group.compiled
        if not code.switches:
            continue
        at = np.arange(count, count + devices.size * code.switches, dtype=np.uint32)
        count += at.size
        index = np.hstack([group.index[devices], size + at.reshape(devices.size, -1)])
        index = np.ascontiguousarray(index, dtype=np.uint32)
        target = np.ascontiguousarray(place[group.row[devices][:, list(code.switched)]])
        margins.append(kernels.with_target(row, code.margins, at))
        shares.append(kernels.with_target(row, code.shares, target, index))
        of.append(row)
        keep += [at, index, target]
    width = kernels.table.shape[1]
    return SwitchTables(
        np.array(margins, np.int64).reshape(-1, width),
        np.array(shares, np.int64).reshape(-1, width),
        np.array(of, dtype=np.intp),
        count,
        tuple(keep),
    )
