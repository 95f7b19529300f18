"""What the tables of a study make: for each type its record, from which the fields follow."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping

import psmr.study.events
from psmr.files.read import CaseFile
from psmr.files.toml.fields import Field, Spec, specification
from psmr.network.equilibrium.limits import CHOICES
from psmr.study.criteria import Criteria
from psmr.study.detectors.detection import Monitor
from psmr.study.detectors.monitors import AngleSpread, FrequencyOutside, Island, VoltageCollapse
from psmr.study.events import Event
from psmr.study.record.record import Record

HEAD: Spec = {
    "name": Field((str,)),
    **specification(
        CaseFile, without=("format", "folder", "dynamic", "delays", "allow_code"), called={"path": "case"}
    ),
    # Its choices come with the engine, which reading a case does not need.
    "start_at_limits": Field((str,), among=CHOICES),
}

RECORD: Spec = specification(Record, without=("files",), called={"signals": "record"})

CRITERIA: Spec = specification(Criteria)

SIMULATION: Spec = {"t_end": Field((float,), needed=True), "fast_points": Field((bool,)), **RECORD}


def _events() -> Iterator[type[Event]]:
    """Yield the events that the modules of `psmr.study.events` declare, by the name of the module."""
    for entry in pkgutil.iter_modules(psmr.study.events.__path__, "psmr.study.events."):
        for kind in vars(importlib.import_module(entry.name)).values():
            if (
                isinstance(kind, type)
                and kind.__module__ == entry.name
                and isinstance(vars(kind).get("kind"), str)
            ):
                yield kind


EVENTS: Mapping[str, Callable[..., Event]] = {event.kind: event for event in _events()}

MONITORS: Mapping[str, Callable[..., Monitor]] = {
    "angle-spread": AngleSpread,
    "voltage-collapse": VoltageCollapse,
    "frequency-outside": FrequencyOutside,
    "island": Island,
}
