"""The error of a run that followed a tolerance, estimated from a second run at ten times that tolerance.

Where the error of the whole run is proportional to the tolerance, as the steps are chosen for, two runs
differ by nine times the error of the better one (Stetter 1980 and Shampine 1986 call it global error
estimation by reintegration). The second run costs about half of the first one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from psmr.errors import InputError
from psmr.numerics.run.integrate import integrate
from psmr.study.record.dense import dense_points
from psmr.study.record.global_error import GlobalError
from psmr.study.record.spans import spans_of

if TYPE_CHECKING:
    from psmr.study.record.recorded import Recorded

# How much coarser the second run is.
COARSER = 10.0


def reintegrated(run: Recorded) -> GlobalError:
    """Return the estimated error of a run with a scheme whose error is proportional to its tolerance.

    Raises
    ------
    InputError
        For a run without its system, or with a scheme that has no such tolerance.
    SimulationError
        When the coarser run fails.
    """
    if run.system is None or not run.scheme.dense_output:
        raise InputError(
            "the error is estimated for a run of a scheme with a tolerance, which has its system"
        )
    tolerance = run.scheme.tolerance
    coarse = replace(run.scheme, tolerance=min(COARSER * tolerance, 0.5))  # type: ignore[type-var]
    system, start = run.system, (run.x[0], run.y[0])
    changes = tuple(change for change in run.changes if change.t <= run.t[-1])
    other = integrate(system, coarse, float(run.t[-1]), changes, start=start)
    inner = np.flatnonzero((np.diff(run.t, prepend=-np.inf) > 0.0) & (np.diff(run.t, append=np.inf) > 0.0))
    inner = inner[(run.t[inner] > run.t[0]) & ~np.isin(run.t[inner], other.t)]
    points = np.hstack([other.x, other.y])
    there = dense_points(system, spans_of(system, other.t, changes), other.t, points, run.t[inner])
    mine = np.hstack([run.x, run.y])
    scale = np.maximum(1.0, np.abs(mine).max(axis=0))
    off = np.abs(there - mine[inner]) / scale / (coarse.tolerance / tolerance - 1.0)
    if off.size == 0:
        return GlobalError(tolerance, 0.0, 0.0, "", float(run.t[-1]))
    row, column = np.unravel_index(int(off.argmax()), off.shape)
    name = (*run.names_x, *run.names_y)[column]
    rms = float(np.sqrt(np.mean(off**2)))
    return GlobalError(tolerance, float(off.max()), rms, name, float(run.t[inner[row]]))
