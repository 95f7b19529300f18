"""Axes: what a sweep varies. Each is a frozen record that lists its points."""

from psmr.study.sweep.axes.axis import Axis, Base
from psmr.study.sweep.axes.case import CaseAxis
from psmr.study.sweep.axes.faults import BranchOutages, BusFaults
from psmr.study.sweep.axes.listed import ListedEvents
from psmr.study.sweep.axes.parameter import ParameterAxis
from psmr.study.sweep.axes.samples import SampleAxis
from psmr.study.sweep.axes.scheme import SchemeAxis
from psmr.study.sweep.axes.trips import GeneratorTrips

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
