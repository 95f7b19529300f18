"""The partition: which variables and equations are fast, with a table of reasons, and of what it is made."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


ORIGINS = ("participation", "fast", "device", "manual")

COLUMNS = (
    "variable", "kind", "device", "real", "imag", "magnitude", "frequency_hz", "equation", "side", "moved",
    "reason",
)  # fmt: skip

Array = np.ndarray[Any, np.dtype[Any]]


class PartitionError(ValueError):
    """A partition that cannot be made, or that nothing makes well posed."""


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """A split of the states, the algebraic variables and the algebraic equations into fast and slow.

    Two partitions are equal when they split the same variables in the same way; the table takes no part in
    that.

    Parameters
    ----------
    fast_x
        ``(n,)`` bool, the fast states.
    fast_y
        ``(m,)`` bool, the fast algebraic variables.
    fast_g
        ``(m,)`` bool, the algebraic equations solved with the fast variables; as many as fast algebraic
        variables.
    delta
        Threshold in 1/s that the split was asked for, None when it was not made by a threshold.
    algebraic
        Where the split comes from: ``"participation"`` (threshold on states and algebraic variables),
        ``"fast"`` (threshold on states, every algebraic variable fast), ``"device"`` or ``"manual"``.
    names_x, names_y, names_g
        Names of the states, the algebraic variables and the algebraic equations.
    columns
        The columns of `table`; none where nothing is said of the variables.

    Attributes
    ----------
    table
        A row per variable: ``variable``, ``kind`` (state or algebraic), ``device``, the eigenvalue it belongs
        to (``real`` in 1/s, ``imag`` in rad/s, not negative: one of a conjugate pair), its ``magnitude`` in
        1/s and ``frequency_hz``, ``equation`` (the equation an algebraic variable is solved from), ``side``,
        ``moved`` (whether it had to leave the side it was asked for) and ``reason``.

    Raises
    ------
    PartitionError
        When lengths disagree or a side has more equations than variables.
    """

    fast_x: Array
    fast_y: Array
    fast_g: Array
    delta: float | None
    algebraic: str
    names_x: tuple[str, ...]
    names_y: tuple[str, ...]
    names_g: tuple[str, ...]
    columns: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for flags, names in (("fast_x", "names_x"), ("fast_y", "names_y"), ("fast_g", "names_g")):
            values = np.array(getattr(self, flags), dtype=bool)
            values.setflags(write=False)
            object.__setattr__(self, flags, values)
            object.__setattr__(self, names, tuple(getattr(self, names)))
            if values.shape != (len(getattr(self, names)),):
                raise PartitionError(
                    f"{flags} has shape {values.shape}, but there are {len(getattr(self, names))} {names}; "
                    "give one entry per name"
                )
        if self.fast_g.sum() != self.fast_y.sum():
            raise PartitionError(
                f"{self.fast_g.sum()} fast algebraic equations for {self.fast_y.sum()} fast algebraic "
                "variables; each side needs as many equations as unknowns"
            )
        if self.algebraic not in ORIGINS:
            raise PartitionError(
                f"algebraic = {self.algebraic!r}: must be one of {', '.join(map(repr, ORIGINS))}"
            )

    @cached_property
    def table(self) -> pd.DataFrame:
        """Why each variable is fast or slow; see above."""
        import pandas as pd  # slow to import, for tables alone

        return pd.DataFrame(dict(self.columns), columns=list(COLUMNS))

    @property
    def n(self) -> int:
        """Number of states."""
        return len(self.names_x)

    @property
    def m(self) -> int:
        """Number of algebraic variables."""
        return len(self.names_y)

    @property
    def fast(self) -> tuple[str, ...]:
        """Names of the fast variables, states first."""
        return self._names(True)

    @property
    def slow(self) -> tuple[str, ...]:
        """Names of the slow variables, states first."""
        return self._names(False)

    def _names(self, fast: bool) -> tuple[str, ...]:
        sides = np.concatenate([self.fast_x, self.fast_y])
        return tuple(
            name for name, side in zip(self.names_x + self.names_y, sides, strict=True) if side == fast
        )

    def _content(self) -> tuple[Any, ...]:
        sides = (self.fast_x.tobytes(), self.fast_y.tobytes(), self.fast_g.tobytes())
        return (*sides, self.delta, self.algebraic, self.names_x, self.names_y, self.names_g)

    def __eq__(self, other: object) -> bool:
        return self._content() == other._content() if isinstance(other, Partition) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content())

    def __reduce__(self) -> tuple[Any, ...]:
        # Made anew when unpickled, so that its arrays are read-only again.
        names = (self.names_x, self.names_y, self.names_g)
        return Partition, (
            self.fast_x,
            self.fast_y,
            self.fast_g,
            self.delta,
            self.algebraic,
            *names,
            self.columns,
        )

    def __repr__(self) -> str:
        return f"Partition({str(self)!r})"

    def _repr_html_(self) -> str:
        fast = "".join(f"<tr><td style='text-align:left'>{escape(name)}</td></tr>" for name in self.fast[:40])
        more = f"<p>and {len(self.fast) - 40} more</p>" if len(self.fast) > 40 else ""
        return f"<p><strong>{escape(str(self))}</strong></p><table><tr><th>fast</th></tr>{fast}</table>{more}"

    def __str__(self) -> str:
        origin = {"device": "by device", "manual": "by hand"}.get(
            self.algebraic, f"delta = {self.delta:g} 1/s" if self.delta is not None else "no delta"
        )
        moved = int(np.sum(self.columns.get("moved", 0)))
        notes = [origin, *(["algebraic variables fast"] if self.algebraic == "fast" else [])]
        notes += [f"{moved} moved to make it well posed"] if moved else []
        return (
            f"{self.fast_x.sum()} of {self.n} states and {self.fast_y.sum()} of {self.m} algebraic variables "
            f"fast ({', '.join(notes)})"
        )


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
