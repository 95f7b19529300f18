"""The system as it stands at a time of a run: after trips, steps and reconnections, on its ramps."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import InputError, shown
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.study.events.spans import Span, system_in
from psmr.study.record.algebraic_points import AlgebraicPoints
from psmr.study.record.equilibrium_after import equilibrium_after, in_turning_frame
from psmr.study.record.recorded import Recorded
from psmr.study.run.points import between, with_dense_output, within_run

Reals = NDArray[np.float64]
Where = Literal["point", "equilibrium"]


def system_at(run: Recorded, t: float) -> System:
    """Return the system as it stands at t in s; see `psmr.study.run.run.Run.system_at`."""
    return _system_in(run, *_span_at(run, t))


def linear_system_at(run: Recorded, t: float, at: Where) -> tuple[System, LinearDae]:
    """Return that system, started where it is linearised, and its linearisation; see `Run.linearise`."""
    if at not in ("point", "equilibrium"):
        raise InputError(f'at = {shown(at)}: must be "point" or "equilibrium"')
    span, t = _span_at(run, t)
    system = _system_in(run, span, t)
    if at == "point":
        return system, system.linearise()
    assert run.system is not None
    found = equilibrium_after(run.system, span, run.ends[0], system, run.outcome.lost is None)
    if found is None:
        raise InputError(
            f"no equilibrium was found for the system as it stands at t = {t:g} s; linearise at the point of "
            'the run (at="point"), or at a later time, when the run has settled'
        )
    system = system.with_start(found.x, found.y)
    return system, in_turning_frame(system, system.linearise(), found.turning)


def _span_at(run: Recorded, t: float) -> tuple[Span, float]:
    """Return the span that a time in s lies in, the later one at the instant of an event, and the time.

    Raises
    ------
    InputError
        For a run without its system, and a time outside the run.
    """
    if run.system is None:
        raise InputError(
            f"{run.name}: the run has no system to return; it was loaded from a file that could not keep it"
        )
    t = float(within_run(run.t, t)[0])
    return next(span for span in reversed(run.spans) if run.t[span.rows.start] <= t), t


def _system_in(run: Recorded, span: Span, t: float) -> System:
    assert run.system is not None
    point = _point(run, t)
    left: list[float] = []
    point = AlgebraicPoints(run.system, span, left).points(np.array([t]), point[None])[0]
    if left:
        raise InputError(
            f"t = {t:g} s: no solution of the algebraic equations was found near the point of the run; take "
            "another time"
        )
    found = system_in(run.system, span, point[: run.system.n], point[run.system.n :], t)
    if not found.devices:
        raise InputError(f"t = {t:g} s: no part of the network has supply, so that no system is left")
    return found


def _point(run: Recorded, t: float) -> Reals:
    """Return the (n + m,) point of a run at t in s, the later one at the instant of an event."""
    if run.kept is not None:
        at = {float(run.t[0]): 0, float(run.t[-1]): 1}.get(t)
        if at is None:
            raise InputError(
                f"t = {t:g} s: the run kept a part of its points or variables, so that its system is known "
                f"at its first and last time, {run.t[0]:g} s and {run.t[-1]:g} s; simulate without `record`"
            )
        return np.concatenate(run.ends[at])
    fine = with_dense_output(run, np.array([t]))
    return between(fine.t, np.hstack([fine.x, fine.y]), t)[0]
