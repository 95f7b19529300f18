"""When what was fast in a run: the devices with steps of their own, over time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psmr.numerics.refine.activity import Activity, OwnEnds
from psmr.study.record.recorded import Recorded

if TYPE_CHECKING:
    import pandas as pd

# What is said of a run that cannot take steps again.
STRAIGHT = (
    "devices had steps of their own between the points that the run kept, and the values there are on "
    "straight lines, which pass over a ripple; simulate without `record`, or with psmr.VariableStep"
)


def activity_of(run: Recorded) -> Activity:
    """Return the steps of the devices within the common steps of a run.

    Of a self-adjusting scheme they are those that were found; of a fixed partition every device with a fast
    variable takes the ratio of the scheme all the time. A scheme with one step for all has no such devices.
    """
    if run.refined_steps is not None:
        return run.refined_steps
    whole = np.array([[run.t[0], run.t[-1]]])
    split = run.scheme.split
    if split is None:
        return Activity(whole, (), np.zeros((0, 1), np.int32), OwnEnds.none(1))
    names = [name for name, fast in zip(split.names_x, split.fast_x, strict=True) if fast]
    names += [name for name, fast in zip(split.names_y, split.fast_y, strict=True) if fast]
    devices = tuple(dict.fromkeys(name.rpartition(".")[0] for name in names))
    return Activity(whole, devices, np.full((len(devices), 1), run.scheme.ratio, np.int32), OwnEnds.none(1))


def smooth_at(run: Recorded, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return those of (L,) times in s at which a run has points by its method, and no straight lines.

    They are all times of a run whose steps are as long as the error allows, and none of others, nor of a run
    that did not keep every point whole.
    """
    return times if run.whole and run.scheme.dense_output else times[:0]


def refined_at(run: Recorded, times: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of (L,) times in s are within common steps in which devices had steps of their own."""
    found = np.zeros(times.shape, bool)
    if not run.scheme.refines or run.refined_steps is None:
        return found
    begin, end = run.refined_steps.intervals.T
    busy: NDArray[np.bool_] = np.any(run.refined_steps.steps > 1, axis=0)
    step = np.searchsorted(end, times)
    within = step < end.size
    at, step = times[within], step[within]
    found[within] = busy[step] & (at > begin[step]) & (at < end[step])
    return found


def own_steps(run: Recorded, names: Iterable[str]) -> NDArray[np.int64]:
    """Return (K,) the most steps that a device of the named signals took within each common step of a run.

    They are 1 where none had steps of its own; (0,) of a run in which no device of these signals ever had.
    """
    wanted = {name.rpartition(".")[0] for name in names}
    activity = run.refined_steps
    if not run.scheme.refines or activity is None:
        return np.zeros(0, np.int64)
    rows = [k for k, device in enumerate(activity.devices) if wanted.intersection(device.split(" + "))]
    return activity.steps[rows].max(axis=0).astype(np.int64) if rows else np.zeros(0, np.int64)


def times_within(intervals: NDArray[np.float64], parts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return times in s that cut each of (K, 2) intervals into (K,) equal parts, without their ends."""
    many = parts - 1
    first = np.repeat(np.cumsum(many) - many, many)
    share = (1 + np.arange(int(many.sum())) - first) / np.repeat(parts, many)
    begin, end = np.repeat(intervals, many, axis=0).T
    return np.asarray(begin + share * (end - begin))


def steps_of_all(run: Recorded) -> float:
    """Return how many steps the busiest device took in the mean common step of a run, 1 without any."""
    if not run.scheme.refines or run.refined_steps is None or not run.refined_steps.steps.size:
        return 1.0
    return float(run.refined_steps.steps.max(axis=0).mean())


def activity_frame(activity: Activity) -> pd.DataFrame:
    """Return the steps as a table: devices in rows, common steps in columns, by their interval in s.

    An entry is the number of steps that the device took there, 1 where it went along with the common one.
    """
    import pandas as pd

    begin, end = activity.intervals.T
    columns = pd.IntervalIndex.from_arrays(begin, end, closed="right", name="t")
    return pd.DataFrame(activity.steps, index=pd.Index(activity.devices, name="device"), columns=columns)
