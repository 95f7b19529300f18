"""What the tables of a study make: for each type its record, from which the fields follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from psmr.files.read import CaseFile
from psmr.files.toml.fields import Field, Spec, specification
from psmr.network.equilibrium.widen_limits import CHOICES
from psmr.study.criteria import Criteria
from psmr.study.detectors.detection import Monitor
from psmr.study.detectors.monitors import AngleSpread, FrequencyOutside, Island, VoltageCollapse
from psmr.study.events import (
    Event,
    Fault,
    GeneratorTrip,
    LineTrip,
    LoadRamp,
    LoadTrip,
    ParameterStep,
    SetPoint,
    ShuntSwitch,
    TimeSeries,
)
from psmr.study.record.record import Record

HEAD: Spec = {
    "name": Field((str,)),
    **specification(CaseFile, without=("format", "folder"), called={"path": "case"}),
    # Its choices come with the engine, which reading a case does not need.
    "start_at_limits": Field((str,), among=CHOICES),
}

RECORD: Spec = specification(Record, without=("files",), called={"signals": "record"})

CRITERIA: Spec = specification(Criteria)

SIMULATION: Spec = {"t_end": Field((float,), needed=True), "fast_points": Field((bool,)), **RECORD}

EVENTS: Mapping[str, Callable[..., Event]] = {
    "fault": Fault,
    "load-trip": LoadTrip,
    "load-ramp": LoadRamp,
    "line-trip": LineTrip,
    "generator-trip": GeneratorTrip,
    "shunt": ShuntSwitch,
    "set-point": SetPoint,
    "parameter": ParameterStep,
    "time-series": TimeSeries,
}

MONITORS: Mapping[str, Callable[..., Monitor]] = {
    "angle-spread": AngleSpread,
    "voltage-collapse": VoltageCollapse,
    "frequency-outside": FrequencyOutside,
    "island": Island,
}
