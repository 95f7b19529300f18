"""The error of a run, estimated from a second run with error control.

The difference of two runs is the error of the worse one, but for that of the better one; where both are far
off, it says nothing. The second run is therefore much the better one (Stetter 1980 and Shampine 1986 call it
global error estimation by reintegration): `VariableStep` at a tenth of the tolerance of a run that follows
one itself, and of any other run at a thousandth of the limit of its error. It knows nothing of the scheme of
the run, so that whatever this does wrong shows: its steps, what is interpolated between two rates, coupling.
It ends a step at each sample of the first run (`psmr.study.record.samples`), so that nothing has to be
interpolated, and keeps none of its other points.

To judge a run a coarse reference mostly does: where a run differs from one at a tolerance of a tenth of the
limit by less than half the limit, both are within the limit but for an error that both have in common. It is
of another method than the run, since stops may lead it to the same steps. Only otherwise the better one is
made.

Behind the loss of synchronism values are not compared: swings pass ever faster, and what is judged is when it
was lost. What the estimate does not have: the error of the instants at which devices acted by themselves,
which both runs share, and what lies between the samples.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import InputError
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.variable_step import AUTO, VariableStep
from psmr.study.detectors.detection import Detection
from psmr.study.outcome.global_error import GlobalError
from psmr.study.record.recorded import Recorded
from psmr.study.record.samples import Samples, quantities, sampled

Reals = NDArray[np.float64]

FINER = 10.0
"""How much smaller the tolerance of the second run is than that of the first one."""

COARSE, FINE = 0.1, 1e-3
"""Tolerances of the second run in parts of the limit: to judge by, and to estimate the error."""

CLEAR = 0.5
"""Part of the limit up to which a coarse reference decides."""

LEAST_CHANGE = 1e-4
"""Change below which an error is measured by this, in pu or in parts of a value above 1.

Less has no meaning in a study, and at rest nothing changes at all.
"""

MOST_STEPS = 50
"""Steps of the second run for one of the first, beyond which it is given up; at least `SHORT` of them."""

SHORT = 20_000

LEAST_TOLERANCE = VariableStep(1e-6).least_tolerance
"""The least tolerance of the second run."""


def judged_error(run: Recorded) -> GlobalError:
    """Return an estimated error by which a run can be judged, the better one only where it is needed.

    Raises
    ------
    InputError, SimulationError
        As `estimated_error`.
    """
    limit, scheme = run.criteria.error, run.scheme
    coarse = COARSE * limit
    if not scheme.follows_error or scheme.tolerance < 0.5 * coarse:
        own = getattr(scheme, "name", "")
        found = difference(run, coarse, "ESDIRK32" if own == "ESDIRK43" else "ESDIRK43")
        if found.part <= CLEAR * limit:
            return replace(found, bound=True)
    return run.estimated_error


def estimated_error(run: Recorded) -> GlobalError:
    """Return the estimated error of a run.

    Raises
    ------
    InputError
        For a run that has no system, and one whose tolerance is so small that there is no finer one.
    SimulationError
        When the second run fails.
    """
    scheme = run.scheme
    if not scheme.follows_error:
        return difference(run, FINE * run.criteria.error)
    if scheme.tolerance < 2.0 * LEAST_TOLERANCE:
        raise InputError(
            f"tolerance = {scheme.tolerance:g}: the error is estimated from a run at a smaller one, and the "
            f"least is {LEAST_TOLERANCE:.2g}"
        )
    return difference(run, scheme.tolerance / FINER)


def difference(run: Recorded, tolerance: float, method: str = AUTO) -> GlobalError:
    """Return the largest difference of a run from one by `VariableStep`; see the module."""
    if run.system is None:
        raise InputError("the error is estimated by a second run of its system, which this run does not have")
    tolerance = max(tolerance, LEAST_TOLERANCE)
    lost, end = run.outcome.out_of_step, float(run.t[-1])
    end = end if lost is None else min(lost.t, end)
    mine = sampled(run)
    rows = mine.t <= end
    times = mine.t[rows]
    if not times.size:
        return GlobalError(0.0, "", "", end, 0.0, 0.0, tolerance, run.scheme)
    changes = tuple(change for change in run.changes if change.t < end)
    samples = Samples(run.system, times)
    integrate(
        run.system,
        VariableStep(tolerance, method, most_steps=max(SHORT, MOST_STEPS * run.stats.counters.steps)),
        end,
        changes,
        start=run.ends[0],
        followers=[Detection(run.system, changes, [samples])],
        keep=False,
        stops=times,
    )
    theirs = samples.result()
    same = np.isin(times, theirs.t)
    return _largest(run, times[same], mine.values[rows][same], theirs.values, theirs.first, tolerance)


def _largest(
    run: Recorded, t: Reals, mine: Reals, theirs: Reals, first: Reals, tolerance: float
) -> GlobalError:
    """Return the largest difference of (S, q) samples, in parts of the largest change of what is like it."""
    assert run.system is not None
    worst: GlobalError | None = None
    for quantity in quantities(run.system):
        own = slice(quantity.columns.start, quantity.columns.stop)
        off = np.nan_to_num(np.abs(mine[:, own] - theirs[:, own]))
        if not off.size:
            continue
        least = LEAST_CHANGE * max(1.0, float(np.abs(first[own]).max()))
        change = max(least, float(np.nan_to_num(np.abs(theirs[:, own] - first[own])).max()))
        row, column = np.unravel_index(int(off.argmax()), off.shape)
        value = float(off[row, column])
        if worst is None or value / change > worst.part:
            worst = GlobalError(
                part=value / change,
                what=quantity.what,
                signal=quantity.names[column],
                t=float(t[row]),
                value=value,
                change=change,
                tolerance=tolerance,
                scheme=run.scheme,
            )
    assert worst is not None
    return worst
