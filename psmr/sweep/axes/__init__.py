"""Axes: what a sweep varies. Each is a frozen record that lists its points."""

from psmr.sweep.axes.axis import Axis, Base
from psmr.sweep.axes.events import BranchOutages, BusFaults, GeneratorTrips, ListedEvents
from psmr.sweep.axes.values import CaseAxis, ParameterAxis, SampleAxis, SchemeAxis

__all__ = [
    "Axis",
    "Base",
    "BranchOutages",
    "BusFaults",
    "CaseAxis",
    "GeneratorTrips",
    "ListedEvents",
    "ParameterAxis",
    "SampleAxis",
    "SchemeAxis",
]
