"""A run from a system, a scheme and events: checked, certified, marched."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable

from numpy.typing import ArrayLike

from psmr.dae.system import System
from psmr.errors import InputError, PsmrError, PsmrWarning, SchemeError
from psmr.numerics.march import march
from psmr.numerics.trajectory import Trajectory
from psmr.study.certificate import Scheme, certify
from psmr.study.events import Event
from psmr.study.run import Run
from psmr.study.schedule import schedule
from psmr.study.signals import units_of
from psmr.study.stats import Stats

# A solution that is resolved turns back on itself at a few corners at most, not at every tenth step.
CHATTER = 0.1

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
    partial: bool = False,
) -> Run:
    """Simulate a system from t = 0 to `t_end`.

    Parameters
    ----------
    system
        The DAE, at its equilibrium.
    scheme
        `SingleRate`, `Multirate`, `Smes`, `SlowManifold`, `ArcLength` or `Adaptive`.
    t_end
        Length of the run in s.
    events
        `Fault`, `LoadTrip`, `LoadRamp`, `LineTrip`, `GeneratorTrip`, `ShuntSwitch`, `SetPoint`,
        `ParameterStep`; checked together before the run.
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
    partial
        Keep the points up to a failure: `partial` of the error is then a `Run` to there.

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
        When the pencil says that the scheme is unstable on this system, before the run; when a run along the
        arc chattered, after it.
    """
    if (
        isinstance(t_end, bool)
        or not isinstance(t_end, int | float)
        or not math.isfinite(t_end)
        or t_end <= 0
    ):
        raise InputError(f"t_end = {t_end!r}: must be a finite number > 0 in s")
    if not isinstance(getattr(scheme, "step", None), float):
        raise SchemeError(
            f"scheme: {type(scheme).__name__} is none; use psmr.SingleRate, Multirate, Smes,"
            " SlowManifold, ArcLength "
            "or Adaptive"
        )
    events = tuple(events)
    changes = schedule(system, events, t_end)
    certificate = _certify(system, scheme) if certify else None

    def run_of(trajectory: Trajectory) -> Run:
        return Run(
            t=trajectory.t,
            x=trajectory.x,
            y=trajectory.y,
            names_x=system.names_x,
            names_y=system.names_y,
            name=system.name,
            scheme=scheme,
            events=events,
            instants=tuple((change.t, change.label) for change in changes if change.t <= trajectory.t[-1]),
            stats=Stats.of(trajectory.counters, scheme, system.n + system.m),
            certificate=certificate,
            units=units_of(system.devices),
        )

    try:
        trajectory = march(
            system, scheme, t_end, changes, start=start, every=all, progress=progress, partial=partial
        )
    except PsmrError as error:
        if error.partial is not None:
            error.partial = run_of(error.partial)
        raise
    chatter = trajectory.counters.chatter
    if chatter > CHATTER:
        warnings.warn(
            f"{100 * chatter:.0f} % of the steps turned back on the step before: the run chatters about a"
            " slow manifold "
            f"that its steps are too long for. Scheme: {scheme}; take a smaller h, a tighter tolerance,"
            " or an implicit "
            "scheme",
            PsmrWarning,
            stacklevel=2,
        )
    return run_of(trajectory)
