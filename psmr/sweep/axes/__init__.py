"""Axes: what a sweep varies. Each is a frozen record that lists its points."""

from collections.abc import Callable, Mapping

from psmr.sweep.axes.axis import Axis
from psmr.sweep.axes.events import BranchOutages, BusFaults, GeneratorTrips, ListedEvents
from psmr.sweep.axes.values import CaseAxis, LoadAxis, ParameterAxis, SampleAxis, SchemeAxis

AXES: Mapping[str, Callable[..., Axis]] = {
    axis.kind: axis
    for axis in (
        ParameterAxis, LoadAxis, SampleAxis, SchemeAxis, CaseAxis,
        BranchOutages, BusFaults, GeneratorTrips, ListedEvents,
    )
}  # fmt: skip
"""By what a sweep file calls them."""
