"""When what was fast in a run: the devices with steps of their own, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psmr.numerics.refine.activity import Activity, OwnEnds
from psmr.study.record.recorded import Recorded

if TYPE_CHECKING:
    import pandas as pd


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
    """Return those of (L,) times in s at which a run is what the dense output of its method says.

    They are all times of a run with one long step for all, those within common steps without refined devices
    of one that refines, and none of others, nor of a run that did not keep every point whole.
    """
    if not run.whole:
        return times[:0]
    if run.scheme.dense_output:
        return times
    if not run.scheme.refines or run.refined_steps is None:
        return times[:0]
    begin, end = run.refined_steps.intervals.T
    alike = (run.refined_steps.steps == 1).all(axis=0)
    step = np.searchsorted(end, times)
    within = step < end.size
    within[within] = alike[step[within]] & (times[within] > begin[step[within]])
    return times[within]


def activity_frame(activity: Activity) -> pd.DataFrame:
    """Return the steps as a table: devices in rows, common steps in columns, by their interval in s.

    An entry is the number of steps that the device took there, 1 where it went along with the common one.
    """
    import pandas as pd

    begin, end = activity.intervals.T
    columns = pd.IntervalIndex.from_arrays(begin, end, closed="right", name="t")
    return pd.DataFrame(activity.steps, index=pd.Index(activity.devices, name="device"), columns=columns)
