"""Rotor angles against the centre of inertia of their island: the figure that shows who keeps step."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from psmr.figures.chart import FAINT, RED, TOP, Drawing, Words, across
from psmr.figures.run.lines import line_marks
from psmr.figures.run.plots import PAGE_PANEL, page_drawing
from psmr.network.signals.points import Points
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import centre_of_inertia, sources_of
from psmr.study.detectors.angles import Angles
from psmr.study.record.record import FinishedRun

# Machines out of step turn without end; past two turns the figure would show nothing else.
LARGEST_DEG = 2 * 360.0


def angle_drawing(run: FinishedRun, first: Collection[str] = ()) -> Drawing | None:
    """Return the figure, with the devices `first` in any case.

    None for fewer than two machines in step, and for a run that kept chosen signals only.
    """
    if run.system is None or run.names_x != run.system.names_x:
        return None
    sources = sources_of(run.system)
    if len(sources) < 2:
        return None
    angles_by_network = Angles(run.system, run.criteria.angle_deg)
    degrees = np.full((len(run.t), len(sources)), np.nan)
    for span in run.spans:
        rows, connections = span.rows, Connections(run.system, span)
        angles_by_network.begin(span, connections)
        points = Points.of(connections, run.t[rows], run.x[rows], run.y[rows])
        angles = np.degrees(angles_by_network.angles(points))
        for places in connections.members:
            middle = centre_of_inertia(angles[:, places], [sources[k] for k in places])
            degrees[rows, places] = angles[:, places] - middle[:, None]
    shown = np.isfinite(degrees).all(axis=0)
    if not shown.any():
        return None
    degrees = degrees[:, shown]
    names = [source.angle for source, kept in zip(sources, shown, strict=True) if kept]
    x = float(run.t[0]), float(run.t[-1])
    y = (-LARGEST_DEG, LARGEST_DEG) if np.abs(degrees).max() > LARGEST_DEG else None
    named = [n for n in names if n.rpartition(".")[0] in first]
    marks, y = line_marks(run, names, degrees, PAGE_PANEL, x, y, named)
    lost = run.outcome.lost
    if lost is not None:
        marks.append(across("x", lost.t, RED, 1.0, z=2.0))
        # Beside the axis there is no room to the left; above, the lines part.
        early = lost.t - run.t[0] < 0.25 * (run.t[-1] - run.t[0])
        words, at = f"{run.criteria.angle_deg:g}° further apart", (lost.t, 0.07 if early else 0.93)
        side, shift = ("left", 4) if early else ("right", -4)
        marks.append(Words(words, at, TOP, (shift, 0), 8.0, FAINT, side, paper=True))  # type: ignore[arg-type]
    return page_drawing(run, marks, y, "angle to centre of inertia [deg]")
