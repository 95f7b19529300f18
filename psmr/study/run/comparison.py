"""Two runs beside one another: how far their signals are apart."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from psmr.base.errors import InputError, PsmrWarning, first_few
from psmr.base.modules import draw
from psmr.dae.system.system import System
from psmr.network.topology.network import buses
from psmr.study.record.record import FinishedRun, values_of
from psmr.study.run.data import at_rows_of, with_dense_output

SHOWN = 5
"""So many devices that only one system has are named."""

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Comparison:
    """How far one run is from another.

    Attributes
    ----------
    run, other
        Both runs.
    table
        A row per signal, the most different first: ``signal``, ``largest`` (largest difference, other less
        run, in the signal's unit), ``t`` (when, in s), ``rms`` (root of the mean square over time), ``range``
        (that of the signal in `run`).
    note
        What is different about the systems of the runs, "" where they have the same devices.
    """

    run: FinishedRun = field(repr=False)
    other: FinishedRun = field(repr=False)
    table: pd.DataFrame = field(repr=False)
    note: str = ""

    def plot(self) -> Figure:
        """Return a figure of the six most different signals, both runs and their difference."""
        names = list(self.table["signal"].head(6))
        figure: Figure = draw("run.plots.comparison", self.run, self.other, names)
        return figure

    def __str__(self) -> str:
        heads = [
            f"{name}: {r.judgement.headline}" for name, r in (("first", self.run), ("second", self.other))
        ]
        shown = self.table.head(10).to_string(index=False, float_format=lambda value: f"{value:.4g}")
        more = f"\n... {len(self.table) - 10} more signals" if len(self.table) > 10 else ""
        return "\n".join([*heads, *filter(None, [self.note]), shown + more])

    def __repr__(self) -> str:
        worst = self.table.iloc[0]
        return f"Comparison({len(self.table)} signals, largest {worst['largest']:.3g} in {worst['signal']})"

    def _repr_html_(self) -> str:
        heads = "".join(
            f"<p>{name}: {escape(r.judgement.headline)}</p>"
            for name, r in (("first", self.run), ("second", self.other))
        )
        heads += f"<p>{escape(self.note)}</p>" if self.note else ""
        table = self.table.head(10).to_html(index=False, float_format="{:.4g}".format)
        more = f"<p>and {len(self.table) - 10} more signals</p>" if len(self.table) > 10 else ""
        return heads + str(table) + more


def compare(run: FinishedRun, other: FinishedRun, names: str | Iterable[str] | None = None) -> Comparison:
    """Return how far `other` is from `run` at the times of `run` that both have.

    `run`, `other`: two runs; `other` is taken between its points as `Run.at` does, before and after an event
    each for itself; `names`: names or patterns as in `Run.frame`; None: what both recorded, and bus voltages.
    Raises InputError for a name that one of them does not have, and for runs that have no signal or no time
    in common. Warns PsmrWarning for runs on different networks, whose signals of one name are of different
    things.
    """
    import pandas as pd

    note = ""
    if run.system is not None and other.system is not None:
        note = differences(run.system, other.system)
        if set(buses(run.system)) != set(buses(other.system)):
            warnings.warn(note, PsmrWarning, stacklevel=3)
    if names is None:
        theirs = set(other.signals.names)
        chosen = tuple(name for name in run.signals.names if name in theirs)
    else:
        chosen = run.signals.select(names)
        other.signals.select(chosen)
    if not chosen:
        raise InputError("the two runs have no signal in common; are they of one case?")
    fine = with_dense_output(other, run.t)
    rows, theirs_at = at_rows_of(run.t, fine.t, values_of(fine, chosen))
    if not rows.any():
        raise InputError(
            f"the two runs have no time in common: one ends before the other begins at {other.t[0]:g} s"
        )
    t, mine = run.t[rows], values_of(run, chosen)[rows]
    off = theirs_at - mine
    worst = np.abs(off).argmax(axis=0)
    columns = np.arange(len(chosen))
    length = float(t[-1] - t[0])
    square = np.trapezoid(off**2, t, axis=0) / length if length > 0 else off[0] ** 2
    table = pd.DataFrame(
        {
            "signal": chosen,
            "largest": off[worst, columns],
            "t": t[worst],
            "rms": np.sqrt(square),
            "range": np.ptp(mine, axis=0),
        }
    )
    order = np.argsort(-np.abs(table["largest"].to_numpy()), kind="stable")
    return Comparison(run, other, table.iloc[order].reset_index(drop=True), note)


def differences(first: System, second: System) -> str:
    """Return a sentence on the devices that only one of two systems has, "" where there is none.

    Values of parameters are what runs are mostly compared for, and count for nothing here.
    """
    one, two = ({d.name: d.component.__name__ for d in system.devices} for system in (first, second))
    found = {
        "only in the first": sorted(one.keys() - two.keys()),
        "only in the second": sorted(two.keys() - one.keys()),
        "of other equations": [name for name in one if one[name] != two.get(name, one[name])],
    }
    parts = [f"{what}: {first_few(names, SHOWN)}" for what, names in found.items() if names]
    if not parts:
        return ""
    return f"the runs are of different systems, {first.name!r} and {second.name!r}; {'; '.join(parts)}"
