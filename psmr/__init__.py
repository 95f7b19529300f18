"""Multirate simulation of power systems that says how much its own numerics bent the system's modes.

Every public name is loaded when it is first used, so that importing psmr, and a command that needs one half
of it, costs nothing for the other half.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psmr.dae.declare.component import Component, Parameter
    from psmr.dae.declare.device import Device
    from psmr.dae.system.assemble import assemble
    from psmr.dae.system.linear import modes
    from psmr.errors import PsmrError
    from psmr.grid.start.initialise import build
    from psmr.grid.synthetic.dynamics import add_dynamics
    from psmr.io.pandapower import from_pandapower
    from psmr.io.read import read_case
    from psmr.io.write import write_case
    from psmr.numerics.schemes.adaptive import Adaptive
    from psmr.numerics.schemes.arc_length import ArcLength
    from psmr.numerics.schemes.multirate import Multirate
    from psmr.numerics.schemes.single_rate import SingleRate
    from psmr.numerics.schemes.slow_manifold import SlowManifold
    from psmr.numerics.schemes.smes import Smes
    from psmr.numerics.schemes.variable_step import VariableStep
    from psmr.pencil.deformation.critical import critical_step
    from psmr.pencil.deformation.deformation import deformation
    from psmr.pencil.modes.choice import ModeChoice
    from psmr.pencil.operator.operator import step_operator
    from psmr.study.check import check
    from psmr.study.events import (
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
    from psmr.study.explain import explain
    from psmr.study.file.study import read_study
    from psmr.study.monitors.monitors import AngleSpread, Island, VoltageCollapse
    from psmr.study.output.oneline import one_line
    from psmr.study.run.run import Run
    from psmr.study.run.saved import load_run
    from psmr.study.run.simulate import simulate
    from psmr.study.tuning.tune import tune

from psmr.version import __version__ as __version__

__all__ = [
    "Adaptive",
    "AngleSpread",
    "ArcLength",
    "Component",
    "Device",
    "Fault",
    "GeneratorTrip",
    "Island",
    "LineTrip",
    "LoadRamp",
    "LoadTrip",
    "ModeChoice",
    "Multirate",
    "Parameter",
    "ParameterStep",
    "PsmrError",
    "Run",
    "SetPoint",
    "ShuntSwitch",
    "SingleRate",
    "SlowManifold",
    "Smes",
    "TimeSeries",
    "VariableStep",
    "VoltageCollapse",
    "add_dynamics",
    "assemble",
    "build",
    "check",
    "critical_step",
    "deformation",
    "explain",
    "from_pandapower",
    "load_run",
    "modes",
    "one_line",
    "read_case",
    "read_study",
    "simulate",
    "step_operator",
    "tune",
    "write_case",
]

_HOMES = {
    "Adaptive": "psmr.numerics.schemes.adaptive",
    "AngleSpread": "psmr.study.monitors.monitors",
    "ArcLength": "psmr.numerics.schemes.arc_length",
    "Component": "psmr.dae.declare.component",
    "Device": "psmr.dae.declare.device",
    "Fault": "psmr.study.events",
    "GeneratorTrip": "psmr.study.events",
    "Island": "psmr.study.monitors.monitors",
    "LineTrip": "psmr.study.events",
    "LoadRamp": "psmr.study.events",
    "LoadTrip": "psmr.study.events",
    "ModeChoice": "psmr.pencil.modes.choice",
    "Multirate": "psmr.numerics.schemes.multirate",
    "Parameter": "psmr.dae.declare.component",
    "ParameterStep": "psmr.study.events",
    "PsmrError": "psmr.errors",
    "Run": "psmr.study.run.run",
    "SetPoint": "psmr.study.events",
    "ShuntSwitch": "psmr.study.events",
    "SingleRate": "psmr.numerics.schemes.single_rate",
    "SlowManifold": "psmr.numerics.schemes.slow_manifold",
    "Smes": "psmr.numerics.schemes.smes",
    "TimeSeries": "psmr.study.events",
    "VariableStep": "psmr.numerics.schemes.variable_step",
    "VoltageCollapse": "psmr.study.monitors.monitors",
    "add_dynamics": "psmr.grid.synthetic.dynamics",
    "assemble": "psmr.dae.system.assemble",
    "build": "psmr.grid.start.initialise",
    "check": "psmr.study.check",
    "critical_step": "psmr.pencil.deformation.critical",
    "deformation": "psmr.pencil.deformation.deformation",
    "explain": "psmr.study.explain",
    "from_pandapower": "psmr.io.pandapower",
    "load_run": "psmr.study.run.saved",
    "modes": "psmr.dae.system.linear",
    "one_line": "psmr.study.output.oneline",
    "read_case": "psmr.io.read",
    "read_study": "psmr.study.file.study",
    "simulate": "psmr.study.run.simulate",
    "step_operator": "psmr.pencil.operator.operator",
    "tune": "psmr.study.tuning.tune",
    "write_case": "psmr.io.write",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'psmr' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
