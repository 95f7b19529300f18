"""The modes of a run over a period, while its phases are unequal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError
from psmr.integrate.run.changes import autonomous
from psmr.study.record.modes_over_period import ROUNDED, PeriodicModes, longest, modes_over_period

if TYPE_CHECKING:
    from psmr.study.run.run import Run


def periodic_modes(run: Run, t: float | None = None) -> PeriodicModes:
    """Return what one period of nominal frequency does to small changes in a run, while phases are unequal.

    In the turning frame a single-phase fault, or an open phase, has conductances of once and twice nominal
    frequency. Eigenvalues at an instant say nothing of such a system; the product of the steps over a period
    does, and the monodromy matrix of the equations beside it. The run's certificate has it too
    (`certificate_unequal`).

    Parameters
    ----------
    run
        A run with every point kept. Where its step does not divide the period, the nearest that does is
        judged; of a scheme that chooses its steps the median one after that instant.
    t
        Time in s from which the period is; None: the last whole period of the longest stretch in which
        equations read the time.

    Raises
    ------
    InputError
        For a run with delays, a step longer than the period, a time after which no whole period is without an
        event, and a run without such a stretch or with a part of its points.
    SchemeError
        For a scheme whose step is no program.
    """
    check_arguments(periodic_modes, locals())
    if run.system is None or run.kept is not None:
        raise InputError(f"{run.name}: needs every point and the system; simulate without `record`")
    if t is not None:
        begun = (span for span in reversed(run.spans) if run.t[span.rows.start] <= t + ROUNDED)
        return modes_over_period(run, next(begun, run.spans[0]), t)
    timed = [span for span in run.spans if not autonomous(run.system, span.parameters)]
    if not timed:
        raise InputError(
            f"{run.name}: no equation reads the time in this run, so that it has no period; its certificate"
            " has the modes. An unbalanced fault in a dynamic region makes one"
        )
    return modes_over_period(run, longest(run, timed))
