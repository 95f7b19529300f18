"""The figure of a run and a trace of another program: the most different signals, with what is numerics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psmr.figures.chart import Drawing, Panel
from psmr.figures.run.events import event_captions, event_lines
from psmr.figures.run.plots import Curves, kind_of, over_one_another, smooth, title_of, wrapped
from psmr.figures.with_matplotlib import to_matplotlib
from psmr.study.record.values import values_of
from psmr.study.trace.against import AgainstTrace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS, SIGNALS = 3, 3
"""Kinds of quantity that are drawn, and signals of each: the most different ones."""
DOTTED = (1.0, 1.5)


def against_trace(found: AgainstTrace, *, width: float = 7.2) -> Figure:
    """Return a figure of the most different signals and, below each kind, the trace less the run.

    Up to three signals of each of the three kinds that differ most, in parts of the largest range of their
    kind. The numerics, the reference less the run, are dotted beside the difference. `width` is in inches.
    """
    groups: dict[str, list[str]] = {}
    for name in found.table["signal"]:
        groups.setdefault(kind_of(name), []).append(name)
    run, t = smooth(found.run), found.trace.t
    x = float(run.t[0]), float(run.t[-1])
    panels: list[Panel] = []
    for names in [group[:SIGNALS] for group in groups.values()][:KINDS]:
        theirs = np.column_stack([found.trace.values[name] for name in names])
        ours, exact = found.computed[names].to_numpy(), found.exact[names].to_numpy()
        differences = [Curves(t, theirs - ours), Curves(t, exact - ours, DOTTED)]
        events = event_lines(run), () if panels else event_captions(run)
        mine = values_of(run, names, exact=False)
        panels += over_one_another(run, names, mine, Curves(t, theirs), differences, events, x, width)
    text = wrapped(
        f"full: {title_of(found.run)}\ndashed: {Path(found.trace.source).name}; "
        "difference: trace less run; dotted: what of it is numerics",
        width,
    )
    count = len(panels) // 2
    ratios = [2.2, 1.0] * count
    return to_matplotlib(Drawing(panels, width, 0.75 + 3.4 * count, text, ratios=ratios, shared=True))
