"""Axes: what a sweep varies. Each is a frozen record that lists its points."""

from psmr.sweep.axes.axis import Axis, Base
from psmr.sweep.axes.case import CaseAxis
from psmr.sweep.axes.faults import BranchOutages, BusFaults, GeneratorTrips
from psmr.sweep.axes.listed import ListedEvents
from psmr.sweep.axes.parameter import ParameterAxis
from psmr.sweep.axes.samples import SampleAxis
from psmr.sweep.axes.scheme import SchemeAxis

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
