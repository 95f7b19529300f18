"""A run from a system, a scheme and events: checked, certified, integrated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, Never

from numpy.typing import ArrayLike

from psmr.base.arguments import check_arguments
from psmr.base.errors import PsmrError
from psmr.base.files import OutputTransaction
from psmr.dae.system.system import System
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.network.dynamic.switching import dynamic_elements
from psmr.network.topology.islands import DeadParts
from psmr.study.certificate.certificate import Scheme
from psmr.study.certificate.certify import certify as _certify
from psmr.study.criteria import Criteria
from psmr.study.detectors.detection import Monitor
from psmr.study.events import Event
from psmr.study.record.recorded import Record
from psmr.study.run.result import explain_failure, run_of, warn_of_counters
from psmr.study.run.run import Run
from psmr.study.run.set_up import refuse_number_as_scheme, refuse_unknown_keywords, set_up
from psmr.study.run.size import check_size


def simulate(
    system: System,
    scheme: Scheme | None = None,
    t_end: float | None = None,
    events: Iterable[Event] = (),
    start: tuple[ArrayLike, ArrayLike] | None = None,
    all: bool = False,
    progress: Callable[[float], None] | None = None,
    certify: bool | Literal["always"] = True,
    partial: bool = False,
    monitors: Iterable[Monitor] = (),
    record: Record | str | Iterable[str] | None = None,
    large: bool = False,
    every: int | None = None,
    transaction: OutputTransaction | None = None,
    criteria: Criteria | None = None,
    **unknown: Never,
) -> Run:
    """Simulate a system from t = 0 to `t_end`.

    Parameters
    ----------
    system
        The DAE, at its equilibrium.
    scheme
        `VariableStep`, `SingleRate`, `Multirate`, `Smes`, `SlowManifold`, `ArcLength` or `Adaptive`; where
        left out `VariableStep` with its usual tolerance.
    t_end
        Length of the run in s; it must be given.
    events
        `Fault`, `LoadTrip`, `LoadRamp`, `LineTrip`, `LineClose`, `OpenPhases`, `GeneratorTrip`,
        `ShuntSwitch`, `SetPoint`, `ParameterStep`, `TimeSeries`, `When`; checked together before the run.
    start
        (x, y), (n,) states and (m,) algebraic variables, instead of the equilibrium; y is made consistent
        with x.
    all
        Record the fast points within a macro step as well, not only the accepted macro points.
    progress
        Called with the time reached in s, a few times per second of computing.
    certify
        Compute the deformation certificate, up to 2,000 variables (a dense eigenvalue problem of the size of
        the system): before the run, or at the steps that were taken where the scheme chooses them.
        ``"always"``: at any size, see `psmr.certify`.
    partial
        Keep the points up to a failure: `partial` of the error is then a `Run` to there, whose `failure` says
        what it failed by.
    monitors
        `AngleSpread`, `VoltageCollapse`, `FrequencyOutside`, `Island`: what ends the run early; `stopped` of
        the run says why.
    record
        What is kept: names or patterns of signals, or a `psmr.Record`, which also thins, bounds the memory
        and writes files while the run goes. None: every point, whole. Outcome, monitors and certificates are
        the same in any case.
    large
        Go on where the run is estimated to take more memory, disk or time than `psmr.study.run.size` allows.
    every
        Of the accepted steps between two events every how many-th is kept, as ``psmr.Record(every=)`` says;
        every one where left out.
    transaction
        Group of output files that are published together, those of `record` among them; None: these alone,
        when the run has ended well.
    criteria
        The limits by which the run is judged; those of `psmr.Criteria` where left out.

    Returns
    -------
    Run
        Trajectory, work counters and certificate. At an event its instant stands twice, before and after.

    Raises
    ------
    InputError
        If a keyword, time, event or starting point is invalid, or the run is too large for the machine;
        before any time is simulated.
    SimulationError
        When a step does not converge: time, iteration, worst variable.

    Warns
    -----
    PsmrWarning
        When the pencil says that the scheme is unstable on this system, or an explicit prediction breaks down
        on it, before the run; when a run along the arc chattered, after it.
    """
    refuse_unknown_keywords(unknown, simulate)
    refuse_number_as_scheme(scheme, t_end)
    scheme = VariableStep() if scheme is None else scheme
    check_arguments(simulate, locals(), leaving=("t_end",))
    if dynamic_elements(system):
        scheme = scheme.damped_after_events()
    setup = set_up(system, scheme, t_end, events, start, monitors, record, every, criteria, certify)
    if not large:
        check_size(setup.system, setup.scheme, setup.t_end, setup.record, all)
    certificate = None
    if certify and not scheme.chooses_steps:
        certificate = _certify(system, scheme, any_size=certify == "always", t_end=setup.end)
    try:
        with setup.files(transaction):
            trajectory = integrate(
                setup.system,
                setup.scheme,
                setup.end,
                setup.changes,
                start=setup.start,
                every=all,
                progress=progress,
                partial=True,
                followers=setup.followers,
                keep=setup.recording is None,
                acting=setup.actions,
                service=DeadParts(setup.system),
            )
    except PsmrError as error:
        explain_failure(setup, error, certificate, partial)
        raise
    warn_of_counters(trajectory.counters, scheme)
    return run_of(setup, trajectory, certificate)
