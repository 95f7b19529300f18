"""Points of a run that are made up: what detectors see, without an integration."""

import itertools

import numpy as np

import psmr
from tests.internals import DeadParts, Detection, Detectors, spans_by_changes


def made_points(system, t, values=(), voltages=()):
    """Return x and y at rest over t, with some states and some bus voltages (magnitudes) as given."""
    x, y = np.tile(system.x0, (len(t), 1)), np.tile(system.y0, (len(t), 1))
    for name, value in dict(values).items():
        x[:, system.names_x.index(name)] = value
    for bus, magnitude in dict(voltages).items():
        re, im = (system.names_y.index(f"{bus}.v_{part}") for part in ("re", "im"))
        scale = np.asarray(magnitude) / np.hypot(system.y0[re], system.y0[im])
        y[:, re], y[:, im] = system.y0[re] * scale, system.y0[im] * scale
    return x, y


def detected(system, t, x, y, criteria=None, changes=(), at_once=1000, t_end=None):
    """Return the detectors after they have seen points; a span begins with the second row of an instant."""
    criteria = psmr.Criteria() if criteria is None else criteria
    detectors = Detectors.of(system, criteria, float(t[-1]) if t_end is None else t_end)
    detection = Detection(system, detectors.all)
    known = list(spans_by_changes(system, sorted(changes, key=lambda change: change.t), DeadParts(system)))
    begins = [0, *(1 + np.flatnonzero(np.diff(t) == 0.0)).tolist(), len(t)]
    for begin, end in itertools.pairwise(begins):
        detection.begin([span for span in known if span.t <= t[begin]][-1] if begin else known[0])
        for first in range(begin, end, at_once):
            rows = slice(first, min(first + at_once, end))
            detection.points(t[rows], np.hstack([x[rows], y[rows]]))
    return detectors


def found(detectors, what):
    """Return the findings of one kind."""
    return [finding for finding in detectors.findings(complete=True) if finding.what == what]
