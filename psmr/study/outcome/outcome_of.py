"""The outcome of a run that has every point."""

from __future__ import annotations

from psmr.study.outcome.observer import Observer
from psmr.study.outcome.outcome import Outcome
from psmr.study.record.recorded import Recorded

# Points looked at together, so that what is computed of them stays small beside them.
AT_ONCE = 1024


def outcome_of(run: Recorded) -> Outcome:
    """Return the outcome of a run that has every point; without its system only how it ended."""
    if run.system is None:
        return Outcome(machines=0, t_end=float(run.t[-1]), stopped=run.stopped, acted=run.acted)
    observer = Observer(run.system)
    for span in run.spans:
        observer.begin(span)
        for first in range(span.rows.start, span.rows.stop, AT_ONCE):
            rows = slice(first, min(first + AT_ONCE, span.rows.stop))
            observer.take(run.t[rows], run.x[rows], run.y[rows])
    observer.acted += run.acted
    return observer.outcome(run.stopped)
