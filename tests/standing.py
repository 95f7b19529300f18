"""A system as changes have made it, without a run."""

from dataclasses import replace

import numpy as np

from tests.internals import AsTripped, first_span, span_after


def after(system, changes, t=None):
    """Return a system with the parameters and held inputs that changes, in order, have made at t in s.

    What trips a part of a device sets nothing of the whole; of what `schedule` returns it does. The time of
    the last change where t is left out.
    """
    span = first_span(system, AsTripped())
    for change in changes:
        whole = replace(change, parameters=()) if change.parts else change
        span = span_after(system, span, change.t, [whole], AsTripped())
    t = span.t if t is None else t
    w0 = system.w0.copy()
    w0[system.n + system.m : -1] = span.held(np.array([t]))[0]
    return replace(system, parameters=span.parameters_at(t), w0=w0)
