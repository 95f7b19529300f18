"""The activity map of a run: which devices took steps of their own, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psmr.errors import InputError
from psmr.numerics.refine.activity import Activity
from psmr.study.output.canvas import FAINT, INK, SLOW, new_figure, styled
from psmr.study.record.activity import activity_of
from psmr.study.record.recorded import Recorded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Devices with a line of their own; the busiest ones where there are more.
LINES = 36


def activity_figure(run: Recorded, width: float = 7.2) -> Figure:
    """Return the activity map: devices over time, coloured by the step that each took.

    Above it stands the common step. Of more than 36 devices the busiest are shown, and how many more there
    are.

    Raises
    ------
    InputError
        For a run in which no device had a step of its own.
    """
    activity = activity_of(run)
    if not activity.devices:
        raise InputError(
            f"{run.scheme}: no device had a step of its own in this run; there is no map to draw"
        )
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import LogLocator

    steps, devices, more = _busiest(activity)
    edges = np.append(activity.intervals[:, 0], activity.intervals[-1, 1])
    common = np.diff(activity.intervals, axis=1)[:, 0]
    own = np.ma.masked_where(steps <= 1, common / np.maximum(steps, 1))
    with styled():
        height = 1.9 + 0.17 * len(devices)
        figure = new_figure(width, height)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.0, max(1.0, 0.17 * len(devices))])
        above.stairs(common, edges, color=SLOW, baseline=None)
        above.set_yscale("log")
        above.set_ylabel("common\nstep [s]")
        norm = LogNorm(float(own.min()), float(common.max()))
        mesh = below.pcolormesh(
            edges, np.arange(len(devices) + 1), own, cmap="YlOrRd_r", norm=norm, rasterized=True
        )
        below.set_yticks(np.arange(len(devices)) + 0.5, devices, fontsize=7.0)
        below.invert_yaxis()
        below.grid(visible=False)
        below.set_xlabel("time [s]")
        if more:
            below.annotate(
                f"and {more} more",
                (0.0, 0.0),
                (0, -26),
                "axes fraction",
                "offset points",
                color=FAINT,
                fontsize=8.0,
            )
        for t, _ in run.instants:
            for axes in (above, below):
                axes.axvline(t, color=INK, linewidth=0.6, linestyle=":")
        figure.colorbar(
            mesh, ax=(above, below), label="step of a device [s]", fraction=0.04, pad=0.02,
            ticks=LogLocator(subs=(1.0, 2.0, 5.0)), format="%g",
        ).minorticks_off()  # fmt: skip
    return figure


def _busiest(activity: Activity) -> tuple[np.ndarray, list[str], int]:
    """Return steps and names of the devices with the most steps, in the order in which they became fast."""
    order = np.argsort(-activity.steps.sum(axis=1), kind="stable")[:LINES]
    first = (activity.steps[order] > 1).argmax(axis=1)
    order = order[np.argsort(first, kind="stable")]
    names = [_short(activity.devices[k]) for k in order]
    return activity.steps[order], names, len(activity.devices) - len(order)


def _short(name: str) -> str:
    return name if len(name) <= 28 else f"{name[:26]}\N{HORIZONTAL ELLIPSIS}"
