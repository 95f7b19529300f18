"""What a partition needs to know of a linearised DAE, and the checks on it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from partitioning.partition import Array, PartitionError


class Linear(Protocol):
    """A linearised semi-explicit DAE, x' = fx x + fy y, 0 = gx x + gy y.

    ``fx`` is (n, n), ``fy`` (n, m), ``gx`` (m, n), ``gy`` (m, m), all scipy sparse and in 1/s or per unit;
    ``names_x``, ``names_y`` and ``names_g`` name states, algebraic variables and algebraic equations.
    ``groups`` is ``(n + m,)``: variables with the same label go to one side. ``state_matrix()`` is fx - fy
    gy^-1 gx, dense.
    """

    @property
    def fx(self) -> Any: ...  # noqa: D102
    @property
    def fy(self) -> Any: ...  # noqa: D102
    @property
    def gx(self) -> Any: ...  # noqa: D102
    @property
    def gy(self) -> Any: ...  # noqa: D102
    @property
    def names_x(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def names_y(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def names_g(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def groups(self) -> Any: ...  # noqa: D102
    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def m(self) -> int: ...  # noqa: D102
    def state_matrix(self) -> Any: ...  # noqa: D102


def require_linear(linear: object) -> None:
    """Raise PartitionError for what is not a linearised DAE, with what was meant."""
    lacking = [name for name in ("fx", "fy", "gx", "gy", "state_matrix") if not hasattr(linear, name)]
    if lacking:
        meant = "; pass system.linearise()" if hasattr(linear, "linearise") else ""
        raise PartitionError(
            f"a partition is made of a linearised DAE, and {type(linear).__name__} has no "
            f"{', '.join(lacking)}{meant}"
        )


def variables(linear: Linear) -> tuple[str, ...]:
    """Names of all variables, states first."""
    return tuple(linear.names_x) + tuple(linear.names_y)


def device_of(name: str) -> str:
    """Return the device of a variable: what stands before the last dot."""
    return name.rpartition(".")[0]


def group_labels(linear: Linear) -> Array:
    """Return the groups as labels 0, 1, 2, ..., one per variable.

    Raises PartitionError when `linear.groups` does not have one label per variable.
    """
    groups = np.asarray(linear.groups)
    if groups.shape != (linear.n + linear.m,):
        raise PartitionError(
            f"linear.groups has shape {groups.shape}; one label for each of the {linear.n} states and "
            f"{linear.m} algebraic variables is needed, states first"
        )
    return np.unique(groups, return_inverse=True)[1].reshape(-1)


def check_finite(linear: Linear) -> None:
    """Refuse a linearisation with a value that is not a number.

    Raises PartitionError naming the row of the first such value.
    """
    rows = {"fx": linear.names_x, "fy": linear.names_x, "gx": linear.names_g, "gy": linear.names_g}
    for block, names in rows.items():
        matrix = getattr(linear, block).tocoo()
        bad = np.flatnonzero(~np.isfinite(matrix.data))
        if bad.size:
            raise PartitionError(
                f"{block} has the value {matrix.data[bad[0]]} in the row of {names[matrix.row[bad[0]]]}; "
                "linearise at a point where every equation is finite"
            )


def positions(names: Iterable[str], known: Sequence[str], what: str, hint: str) -> list[int]:
    """Return where each name stands among the known ones.

    Raises PartitionError for a name that is not there, with the nearest that is.
    """
    if isinstance(names, str):
        raise PartitionError(f"fast = {names!r}: a list of names is needed; try fast=[{names!r}]")
    place = {name: index for index, name in enumerate(known)}
    found = []
    for name in names:
        if not isinstance(name, str) or name not in place:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise PartitionError(f"there is no {what} {name!r}{hint}{meant}")
        found.append(place[name])
    return found
