"""Figures of power-voltage and reactive-power-voltage curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psmr.figures.chart import (
    BLUE,
    COLOURS,
    DASHED,
    FAINT,
    INK,
    Dots,
    Drawing,
    Line,
    Mark,
    Panel,
    PanelAxis,
    Text,
    line_across,
)
from psmr.figures.with_matplotlib import to_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from psmr.study.voltage_curves import PvCurve, QvCurve

SHOWN = 4


def pv_figure(curve: PvCurve, buses: Sequence[str] = ()) -> Figure:
    """Draw voltages over load, dashed past the largest load, with where limits were reached."""
    k = len(curve.load) - 1 if curve.nose is None else curve.nose
    falls = np.argsort(curve.v[k] - curve.v[0], kind="stable")
    chosen = [curve.buses.index(name) for name in buses] or falls[:SHOWN].tolist()
    marks: list[Mark] = []
    for place, bus in enumerate(chosen):
        colour, v = COLOURS[place % len(COLOURS)], curve.v[:, bus]
        marks.append(Line(curve.load[: k + 1], v[: k + 1], colour, 1.6, label=curve.buses[bus]))
        marks.append(Line(curve.load[k:], v[k:], colour, 1.0, DASHED))
        rows = [row for row, _, side in curve.reached if side and row <= k]
        marks.append(Dots(curve.load[rows], v[rows], "o", 4.0, edge=colour))
    if curve.nose is not None:
        marks.append(line_across("x", float(curve.load[k])))
        at = (float(curve.load[k]), 0.97)
        marks.append(
            Text(
                f"{curve.load[k]:.5g} MW",
                at,
                ("data", "panel"),
                (-4.0, 0.0),
                colour=INK,
                ha="right",
                va="top",
            )
        )
    words = "o: a limit of reactive power" if curve.reached else ""
    panel = Panel(marks, PanelAxis("load [MW]"), PanelAxis("voltage [pu]"), words)
    return to_matplotlib(Drawing((panel,), 7.0, 4.4, f"{curve.name}: voltages over load", legend=True))


def qv_figure(curve: QvCurve) -> Figure:
    """Draw the reactive power of the source over the voltage, with the lowest point."""
    k = int(np.argmin(curve.q))
    marks: list[Mark] = [
        line_across("y", 0.0),
        Line(curve.v, curve.q, BLUE, 1.6),
        Dots([curve.v[k]], [curve.q[k]], "o", 6.0, edge=FAINT),
        Text(
            f"{curve.q[k]:.5g} Mvar at {curve.v[k]:.3f} pu",
            (float(curve.v[k]), float(curve.q[k])),
            shift=(0, -14),
            ha="center",
        ),
    ]
    panel = Panel(
        marks, PanelAxis("voltage [pu]"), PanelAxis("reactive power of the source [Mvar]", margin=0.12)
    )
    return to_matplotlib(Drawing((panel,), 7.0, 4.4, f"{curve.name}: {curve.bus}"))
