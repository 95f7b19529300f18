"""Rotor angles against the centre of inertia of their island: the figure that shows who keeps step."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from psmr.figures.run.canvas import FAINT, page_figure
from psmr.figures.run.lines import draw_lines
from psmr.figures.run.plots import letter_events
from psmr.figures.svg.figure import PageFigure
from psmr.study.detectors.angles import Angles
from psmr.study.detectors.detector import connections_in
from psmr.study.detectors.sources import centre_of_inertia, sources_of
from psmr.study.record.recorded import Recorded

# Machines out of step turn without end; past two turns the figure would show nothing else.
LARGEST_DEG = 2 * 360.0


def angle_figure(run: Recorded, first: Collection[str] = ()) -> PageFigure | None:
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
        rows, connections = span.rows, connections_in(run.system, span)
        angles_by_network.begin(span, connections)
        angles = np.degrees(angles_by_network.angles(run.t[rows], run.x[rows], run.y[rows]))
        for places in connections.members:
            middle = centre_of_inertia(angles[:, places], [sources[k] for k in places])
            degrees[rows, places] = angles[:, places] - middle[:, None]
    shown = np.isfinite(degrees).all(axis=0)
    if not shown.any():
        return None
    degrees = degrees[:, shown]
    names = [source.angle for source, kept in zip(sources, shown, strict=True) if kept]
    figure = page_figure(5.2, 2.9)
    ax = figure.subplots()
    ax.set_xlim(run.t[0], run.t[-1])
    if np.abs(degrees).max() > LARGEST_DEG:
        ax.set_ylim(-LARGEST_DEG, LARGEST_DEG)
    draw_lines(ax, run, names, degrees, first=[n for n in names if n.rpartition(".")[0] in first])
    if run.outcome.lost is not None:
        ax.axvline(run.outcome.lost.t, color="#d1495b", lw=1.0)
        # Beside the axis there is no room to the left; above, the lines part.
        early = run.outcome.lost.t - run.t[0] < 0.25 * (run.t[-1] - run.t[0])
        ax.annotate(
            f"{run.criteria.angle_deg:g}° further apart", (run.outcome.lost.t, 0.07 if early else 0.93),
            xycoords=("data", "axes fraction"), xytext=(4 if early else -4, 0), textcoords="offset points",
            fontsize=8, color=FAINT, ha="left" if early else "right",
            bbox={"fc": "white", "ec": "none", "pad": 0.5},
        )  # fmt: skip
    letter_events(ax, run)
    ax.set_xlabel("time [s]")
    ax.set_ylabel("angle to centre of inertia [deg]")
    return figure
