"""Events: what happens to the system during a run, and when.

An event is a frozen record. `changes` turns it into instants at which parameters or held inputs of devices
take new values or devices leave service; everything it names is looked up there, so that a wrong name is an
error before any time is simulated. The system it is given is the one that the events before it have left.

A study file finds an event by its `kind` in any module here, and `psmr` by the module that has it. The names
below are those that other parts of psmr ask for.
"""

from psmr.study.events.branch import LineTrip, OpenPhases
from psmr.study.events.event import Event
from psmr.study.events.fault import Fault
from psmr.study.events.generator import GeneratorTrip
from psmr.study.events.load import LoadRamp, LoadTrip, ShuntSwitch
from psmr.study.events.value import SetPoint, TimeSeries
from psmr.study.events.when import When

__all__ = [
    "Event",
    "Fault",
    "GeneratorTrip",
    "LineTrip",
    "LoadRamp",
    "LoadTrip",
    "OpenPhases",
    "SetPoint",
    "ShuntSwitch",
    "TimeSeries",
    "When",
]
