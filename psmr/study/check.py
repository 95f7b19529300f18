"""A look at the start of a case: whether and from where it can be simulated."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError, PsmrError
from psmr.dae.system.eigenvalues import eigen_of, eigenvalues
from psmr.dae.system.system import System
from psmr.network.case.case import Case
from psmr.network.case.region import Region
from psmr.network.dynamic.dynamic_system import with_dynamics
from psmr.network.powerflow.voltages import STARTS
from psmr.network.start.diagnosis import diagnose
from psmr.network.start.limits import ADJUST, CHOICES
from psmr.network.start.report import ERROR, Report, StartFinding, StartModes, ordered
from psmr.pencil.modes.search import ModeChoice, ShiftInvert, find
from psmr.pencil.modes.verdict import mode_text

DENSE = 1000
"""Up to so many states every eigenvalue is computed: it takes about a second."""

ZERO = 1e-4
"""Eigenvalues in 1/s below which a real part is no growth: the common angle is a double zero, which rounding
moves by the square root of 1e-12."""

LEAST_DAMPED = 5
"""Oscillations that are looked for in a larger system, in the range of electromechanical ones."""


def check(
    case: Case,
    reactive_limits: bool | None = None,
    modes: bool | None = None,
    start_at_limits: Annotated[str, CHOICES] = ADJUST,
    power_flow_start: Annotated[str, STARTS] | None = None,
    dynamic: Region | None = None,
) -> Report:
    """Return a report on the start of a case.

    Power flow, equilibrium of every plant, limits, residuals and modes are looked at. A problem is a
    finding with its remedy; nothing is raised, and the rest is looked at all the same.

    Parameters
    ----------
    case
        The case; generators without dynamic devices are findings, unless there are no others.
    reactive_limits
        Whether the power flow keeps generators within their reactive limits, see `power_flow`; None: as in
        the solution that the case stores.
    modes
        Whether the modes are looked at: all of them up to 1000 states, beyond that the least damped
        oscillations, by sparse matrices, which takes from seconds to minutes. None: up to 1000 states.
    start_at_limits
        What a start beyond a limit does, see `build`; unless it is refused, it is a warning.
    power_flow_start
        Where the power flow starts, ``"stored"``, ``"flat"`` or ``"linear"``, see `power_flow`; None: at
        stored voltages where there are any.
    dynamic
        The part of the network with its own dynamics, see `build`; None: as the case says. Whether it can be,
        and its modes, are looked at as well.

    Returns
    -------
    Report
        ``print(report)`` shows a summary and findings, ``report.text(everything=True)`` every variable;
        ``report.good`` says whether the case can be simulated.
    """
    check_arguments(check, locals())
    report = diagnose(case, reactive_limits, start_at_limits, power_flow_start)
    dynamic = case.dynamic if dynamic is None else dynamic
    if dynamic is not None and report.system is not None:
        report = _with_region(report, report.system, dynamic, case.frequency_hz)
    if report.system is None or report.system.n == 0 or modes is False:
        return report
    if report.system.n > DENSE and modes is None:
        return replace(report, modes=StartModes(0, 0, f"not looked at beyond {DENSE} states (--modes does)"))
    return replace(report, modes=_modes(report.system))


def _with_region(report: Report, system: System, region: Region, frequency: float) -> Report:
    """Return a report with the system that has a dynamic region, or with what is wrong with the region."""
    try:
        return replace(report, system=with_dynamics(system, region, frequency))
    except InputError as error:
        found = StartFinding(ERROR, "region", "dynamic", str(error))
        return replace(report, findings=tuple(ordered([*report.findings, found])))


def _modes(system: System) -> StartModes:
    linear = system.linearise()
    try:
        if system.n <= DENSE:
            values = eigenvalues(linear.state_matrix()) if linear.delays is None else eigen_of(linear).values
            count = int(np.count_nonzero(values.real > ZERO))
            words = f"{count} of {system.n} with a positive real part"
            fastest = values[int(np.argmax(values.real))]
            return StartModes(
                count, system.n, words + (f", the largest {mode_text(fastest)}" if count else "")
            )
        found = find(ShiftInvert(linear), ModeChoice(least_damped=LEAST_DAMPED)).s
    except InputError as error:
        return StartModes(0, 0, str(error))
    except PsmrError as error:
        return StartModes(0, 0, f"not computed: {error}")
    count = int(np.count_nonzero(found.real > ZERO))
    least = found[int(np.argmax(found.real / np.abs(found)))]
    words = (
        f"{count} of the {len(found)} least damped oscillations from 0.1 to 3 Hz grow; the least damped has"
        f" {least.imag / (2 * np.pi):.3f} Hz and a damping ratio of {-100 * least.real / abs(least):.2f} %"
    )
    return StartModes(count, len(found), words)
