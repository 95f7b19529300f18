"""A run from a system, a scheme and events: checked, certified, marched."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from numpy.typing import ArrayLike

from psmr.dae.system import System
from psmr.errors import InputError, SchemeError
from psmr.numerics.march import march
from psmr.study.certificate import Scheme, certify
from psmr.study.events import Event
from psmr.study.run import Run
from psmr.study.schedule import schedule
from psmr.study.signals import units_of
from psmr.study.stats import Stats

# The argument of `simulate` bears the same name.
_certify = certify


def simulate(
    system: System,
    scheme: Scheme,
    t_end: float,
    events: Iterable[Event] = (),
    start: tuple[ArrayLike, ArrayLike] | None = None,
    all: bool = False,
    progress: Callable[[float], None] | None = None,
    certify: bool = True,
) -> Run:
    """Simulate a system from t = 0 to `t_end`.

    Parameters
    ----------
    system
        The DAE, at its equilibrium.
    scheme
        `SingleRate` or `Multirate`.
    t_end
        Length of the run in s.
    events
        `Fault`, `LoadTrip`, `LineTrip`, `SetPoint`; checked together before the run.
    start
        (x, y), (n,) states and (m,) algebraic variables, instead of the equilibrium; y is made consistent
        with x.
    all
        Record the fast points within a macro step as well, not only the accepted macro points.
    progress
        Called with the time reached in s, a few times per second of computing.
    certify
        Compute the deformation certificate before the run (a dense eigenvalue problem of the size of the
        system).

    Returns
    -------
    Run
        Trajectory, work counters and certificate. At an event its instant stands twice, before and after.

    Raises
    ------
    InputError
        For a time, event or start that cannot be; before any time is simulated.
    SimulationError
        When a step does not converge: time, iteration, worst variable.

    Warns
    -----
    PsmrWarning
        When the pencil says that the scheme is unstable on this system; before the run.
    """
    if (
        isinstance(t_end, bool)
        or not isinstance(t_end, int | float)
        or not math.isfinite(t_end)
        or t_end <= 0
    ):
        raise InputError(f"t_end = {t_end!r}: must be a finite number > 0 in s")
    if not isinstance(getattr(scheme, "step", None), float):
        raise SchemeError(f"scheme: {type(scheme).__name__} is none; use psmr.SingleRate or psmr.Multirate")
    events = tuple(events)
    changes = schedule(system, events, t_end)
    certificate = _certify(system, scheme) if certify else None
    trajectory = march(system, scheme, t_end, changes, start=start, every=all, progress=progress)
    return Run(
        t=trajectory.t,
        x=trajectory.x,
        y=trajectory.y,
        names_x=system.names_x,
        names_y=system.names_y,
        name=system.name,
        scheme=scheme,
        events=events,
        instants=tuple((change.t, change.label) for change in changes),
        stats=Stats.of(trajectory.counters, scheme, system.n + system.m),
        certificate=certificate,
        units=units_of(system.devices),
    )
