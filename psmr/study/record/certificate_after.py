"""The certificate of a run's scheme on the system that the last event left, at its own equilibrium."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from partitioning import Partition, PartitionError
from psmr.base.errors import InputError
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.dynamic.switching import unequal_phases
from psmr.network.topology.connections import system_in
from psmr.study.certificate.certificate import Certificate
from psmr.study.certificate.certify import HELD, LARGEST, certify, judged_steps, reads_time, within
from psmr.study.record.equilibrium_after import equilibrium_after, in_turning_frame
from psmr.study.record.modes_over_period import certificate_over_period
from psmr.study.record.record import FinishedRun


def certificate_after(run: FinishedRun) -> Certificate | None:
    """Return the certificate of a run's scheme on the system that the last event left.

    The system is linearised at its own equilibrium, sought from the last point of the run; where synchronism
    was lost, or none is found there, by leading the first point over as the changes grow; and where that
    fails too, at the last point. A system that turns as a whole at another than nominal frequency is at rest
    here: its equations are the same at every common angle.

    One that ends with unequal phases in a dynamic region is periodic: `certificate_over_period`.

    None where the run has no system, no event altered it, or nothing of it is left.
    """
    if run.system is None or not _altered(run.system, run.spans[-1], run.spans[0]):
        return None
    if unequal_phases(run.system, run.spans[-1].parameters):
        return certificate_over_period(run, run.spans[-1], "the post-disturbance system with unequal phases")
    span, place = run.spans[-1], "at its own equilibrium"
    first, at_end = run.ends
    what = "the post-disturbance system"
    try:
        last = system_in(run.system, span, *at_end, float(run.t[-1]))
        scheme = _restricted(run.scheme, last) if span.out else run.scheme
    except (InputError, PartitionError) as error:
        return Certificate(str(run.scheme), "", note=str(error), subject=what)
    if not last.n + last.m:  # no part of the network has supply
        return None
    if last.n + last.m > LARGEST:  # nothing is computed there, so that there is no point to look for
        return certify(last, scheme, what, warn=False, any_size=False)
    steps = (
        judged_steps(within(run.taken, span.t, run.outcome.t_end)) if scheme.step_choice is not None else None
    )
    # A run that lost synchronism ends anywhere: what is near its end says nothing of what it left.
    found = None
    if not span.moves:
        found = equilibrium_after(run.system, span, first, last, run.outcome.lost is None)
    if found is None:
        place = "at the last point of the run, since no equilibrium was found"
    else:
        last = last.with_start(found.x, found.y)
        place = f"where it would rest {HELD}" if reads_time(last) else place
    try:
        linear = last.linearise()
        if found is not None:
            linear = in_turning_frame(last, linear, found.turning)
        return certify(
            last, scheme, f"{what}, {place}", warn=False, linear=linear, steps=steps, t_end=run.outcome.t_end
        )
    except InputError as error:  # a limit that moves holds a state there
        return Certificate(str(scheme), "", note=str(error), subject=what)


def _altered(system: System, span: Span, start: Span) -> bool:
    """Return whether the system of a span is another than that of the span that the run started with."""
    same = all(np.array_equal(a, b) for a, b in zip(start.parameters, span.parameters, strict=True))
    given = np.ones(system.k, dtype=bool)
    given[[delay.input - system.n - system.m for delay in system.delays]] = False
    same = same and np.array_equal(start.inputs[given], span.inputs[given])
    return not same or span.out != start.out or span.moves


def _restricted(scheme: Any, system: System) -> Any:
    """Return a scheme for what is left of a system, its partition without the devices that are gone."""
    split: Partition | None = getattr(scheme, "split", None)
    if split is None:
        return scheme
    sides: dict[str, Any] = {}
    for flags, names, left in (
        ("fast_x", "names_x", system.names_x),
        ("fast_y", "names_y", system.names_y),
        ("fast_g", "names_g", system.names_g),
    ):
        known = dict(zip(getattr(split, names), getattr(split, flags).tolist(), strict=True))
        sides |= {flags: np.array([known[name] for name in left], dtype=bool), names: left}
    kept = np.isin(split.names_x + split.names_y, system.names_x + system.names_y)
    columns = {name: np.asarray(values)[kept] for name, values in split.columns.items()}
    return replace(scheme, split=replace(split, **sides, columns=columns))
