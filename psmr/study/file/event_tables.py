"""The fields of a study's tables [[event]], by type of event."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
from psmr.study.file.fields import Field

KIND = Field("text", needed=True)
NAME = Field("name", needed=True)
NUMBER, TIME, VALUE = Field("number"), Field("number", needed=True), Field("number", needed=True)
STEP: Mapping[str, Field] = {
    "type": KIND,
    "device": Field("text", needed=True),
    "name": Field("text", needed=True),
    "value": VALUE,
    "start": TIME,
}

EVENTS: Mapping[str, tuple[Callable[..., Event], Mapping[str, Field]]] = {
    "fault": (
        Fault,
        {
            "type": KIND,
            "bus": NAME,
            "start": TIME,
            "clear": TIME,
            "trip": Field("text"),
            "r": NUMBER,
            "x": NUMBER,
        },
    ),
    "load-trip": (
        LoadTrip,
        {"type": KIND, "bus": NAME, "start": TIME, "fraction": VALUE, "reconnect": NUMBER},
    ),
    "load-ramp": (
        LoadRamp,
        {"type": KIND, "bus": NAME, "start": TIME, "end": TIME, "factor": VALUE, "factor_q": NUMBER},
    ),
    "line-trip": (
        LineTrip,
        {"type": KIND, "line": Field("text", needed=True), "start": TIME, "reclose": NUMBER},
    ),
    "generator-trip": (GeneratorTrip, {"type": KIND, "generator": NAME, "start": TIME}),
    "shunt": (
        ShuntSwitch,
        {"type": KIND, "shunt": Field("text", needed=True), "start": TIME, "on": Field("flag")},
    ),
    "set-point": (SetPoint, STEP),
    "parameter": (ParameterStep, STEP),
    "time-series": (
        TimeSeries,
        {
            "type": KIND,
            "file": Field("file", needed=True),
            "column": Field("text", needed=True),
            "signal": Field("text", needed=True),
            "time": Field("text"),
            "scale": NUMBER,
            "hold": Field("flag"),
        },
    ),
}
