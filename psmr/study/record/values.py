"""The values of a finished run's signals: kept columns, and what follows from the table of quantities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from psmr.base.arrays import Reals
from psmr.network.signals.values import SignalValues, Turning
from psmr.study.record.recorded import Recorded

# Rows that are looked at together where a run may be larger than the memory.
PIECE = 4096


def values_of(run: Recorded, names: Sequence[str], exact: bool = True) -> Reals:
    """Return (K, len(names)) values of the named signals, of which each is one of the run's.

    Those that are `exact` come of the network solved at each point (see `psmr.study.run.run.Run.algebraic`):
    all of a scheme that follows an error, of others those of devices' equations. A drawing needs no more than
    the scheme left.
    """
    return next(_pieces(run, names, exact, len(run.t)))[1]


def values_in_pieces(run: Recorded, names: Sequence[str]) -> Iterator[tuple[slice, Reals]]:
    """Yield the values of `values_of` some rows at a time, all at once where devices' equations are asked."""
    yield from _pieces(run, names, True, PIECE)


def _pieces(run: Recorded, names: Sequence[str], exact: bool, length: int) -> Iterator[tuple[slice, Reals]]:
    expansion = run.signals.expansion(names)
    wanted, own, states = expansion.names, {*run.names_x, *run.names_y}, set(run.names_x)
    kept = {} if run.kept is None else {name: k for k, name in enumerate(run.kept.names) if name not in own}
    stored = {k: kept[name] for k, name in enumerate(wanted) if name in kept}
    asked = np.array([k for k in range(len(wanted)) if k not in stored], dtype=np.intp)
    values = SignalValues(run.signals, [wanted[k] for k in asked], run.system)
    angles, turning, count = asked[values.turning], Turning(), len(run.t)
    every = exact and run.scheme.error_control is not None and any(name not in states for name in wanted)
    length = count if values.by_span else length
    columns = asked if stored else slice(None)  # a slice is not copied through an index
    for first in range(0, count, length):
        rows = slice(first, min(first + length, count))
        found = np.empty((rows.stop - first, len(wanted)))
        if run.kept is not None:
            found[:, list(stored)] = run.kept.values[rows, list(stored.values())]
        y = run.algebraic(rows) if every else run.y[rows]
        if values.by_span:
            solved = run.algebraic(rows) if exact and not every else y
            for span in run.spans:
                part = span.rows
                values.begin(span)
                found[part, columns] = values.at(run.t[part], run.x[part], y[part], solved[part])
        else:
            found[:, columns] = values.at(run.t[rows], run.x[rows], y)
        found[:, angles] = turning(found[:, angles])
        yield rows, expansion.combined(found)
