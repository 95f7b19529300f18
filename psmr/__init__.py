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
    from psmr.grid.case.case import Case
    from psmr.grid.start.initialise import build
    from psmr.grid.synthetic.dynamics import add_dynamics
    from psmr.io.make import make_case
    from psmr.io.pandapower import from_pandapower
    from psmr.io.read import read_case
    from psmr.io.shipped import case, case_path
    from psmr.io.write import write_case
    from psmr.numerics.schemes.multirate import Multirate
    from psmr.numerics.schemes.single_rate import SingleRate
    from psmr.numerics.schemes.variable_step import VariableStep
    from psmr.papers.gil_sanfelice_nikravesh.slow_manifold import SlowManifold
    from psmr.papers.kuznetsov_krasnikov.adaptive import Adaptive
    from psmr.papers.kuznetsov_krasnikov.arc_length import ArcLength
    from psmr.papers.shi_rojas.smes import Smes
    from psmr.pencil.deformation.critical import critical_step
    from psmr.pencil.deformation.deformation import deformation
    from psmr.pencil.modes.choice import ModeChoice
    from psmr.pencil.modes.participation import participation
    from psmr.pencil.modes.ringdown import fit_mode
    from psmr.pencil.modes.shapes import mode_shapes
    from psmr.pencil.operator.step_operator import step_operator
    from psmr.study.check import check
    from psmr.study.criteria import Criteria
    from psmr.study.detectors.monitors import AngleSpread, FrequencyOutside, Island, VoltageCollapse
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
    from psmr.study.output.oneline import one_line
    from psmr.study.record.certificate import certify
    from psmr.study.record.record import Record
    from psmr.study.run.load import load_run
    from psmr.study.run.run import Run
    from psmr.study.run.simulate import simulate
    from psmr.study.sweep.axes import (
        BranchOutages,
        BusFaults,
        CaseAxis,
        GeneratorTrips,
        ListedEvents,
        ParameterAxis,
        SampleAxis,
        SchemeAxis,
    )
    from psmr.study.sweep.carry_out import sweep
    from psmr.study.sweep.file import read_sweep
    from psmr.study.sweep.measures import ClearingTime, Damping, Outcomes, Stability
    from psmr.study.sweep.sweep import Sweep
    from psmr.study.sweep.swept import Swept
    from psmr.study.tuning.tune import tune

from psmr.version import __version__ as __version__

__all__ = [
    "Adaptive",
    "AngleSpread",
    "ArcLength",
    "BranchOutages",
    "BusFaults",
    "Case",
    "CaseAxis",
    "ClearingTime",
    "Component",
    "Criteria",
    "Damping",
    "Device",
    "Fault",
    "FrequencyOutside",
    "GeneratorTrip",
    "GeneratorTrips",
    "Island",
    "LineTrip",
    "ListedEvents",
    "LoadRamp",
    "LoadTrip",
    "ModeChoice",
    "Multirate",
    "Outcomes",
    "Parameter",
    "ParameterAxis",
    "ParameterStep",
    "PsmrError",
    "Record",
    "Run",
    "SampleAxis",
    "SchemeAxis",
    "SetPoint",
    "ShuntSwitch",
    "SingleRate",
    "SlowManifold",
    "Smes",
    "Stability",
    "Sweep",
    "Swept",
    "TimeSeries",
    "VariableStep",
    "VoltageCollapse",
    "add_dynamics",
    "assemble",
    "build",
    "case",
    "case_path",
    "certify",
    "check",
    "critical_step",
    "deformation",
    "explain",
    "fit_mode",
    "from_pandapower",
    "load_run",
    "make_case",
    "mode_shapes",
    "modes",
    "one_line",
    "participation",
    "read_case",
    "read_study",
    "read_sweep",
    "simulate",
    "step_operator",
    "sweep",
    "tune",
    "write_case",
]

_HOMES = {
    "Adaptive": "psmr.papers.kuznetsov_krasnikov.adaptive",
    "AngleSpread": "psmr.study.detectors.monitors",
    "ArcLength": "psmr.papers.kuznetsov_krasnikov.arc_length",
    "BranchOutages": "psmr.study.sweep.axes",
    "BusFaults": "psmr.study.sweep.axes",
    "CaseAxis": "psmr.study.sweep.axes",
    "ClearingTime": "psmr.study.sweep.measures",
    "Case": "psmr.grid.case.case",
    "Component": "psmr.dae.declare.component",
    "Criteria": "psmr.study.criteria",
    "Damping": "psmr.study.sweep.measures",
    "Device": "psmr.dae.declare.device",
    "Fault": "psmr.study.events",
    "FrequencyOutside": "psmr.study.detectors.monitors",
    "GeneratorTrip": "psmr.study.events",
    "GeneratorTrips": "psmr.study.sweep.axes",
    "Island": "psmr.study.detectors.monitors",
    "LineTrip": "psmr.study.events",
    "ListedEvents": "psmr.study.sweep.axes",
    "LoadRamp": "psmr.study.events",
    "LoadTrip": "psmr.study.events",
    "ModeChoice": "psmr.pencil.modes.choice",
    "Multirate": "psmr.numerics.schemes.multirate",
    "Outcomes": "psmr.study.sweep.measures",
    "Parameter": "psmr.dae.declare.component",
    "ParameterAxis": "psmr.study.sweep.axes",
    "ParameterStep": "psmr.study.events",
    "PsmrError": "psmr.errors",
    "Record": "psmr.study.record.record",
    "Run": "psmr.study.run.run",
    "SampleAxis": "psmr.study.sweep.axes",
    "SchemeAxis": "psmr.study.sweep.axes",
    "SetPoint": "psmr.study.events",
    "ShuntSwitch": "psmr.study.events",
    "SingleRate": "psmr.numerics.schemes.single_rate",
    "SlowManifold": "psmr.papers.gil_sanfelice_nikravesh.slow_manifold",
    "Smes": "psmr.papers.shi_rojas.smes",
    "Stability": "psmr.study.sweep.measures",
    "Sweep": "psmr.study.sweep.sweep",
    "Swept": "psmr.study.sweep.swept",
    "TimeSeries": "psmr.study.events",
    "VariableStep": "psmr.numerics.schemes.variable_step",
    "VoltageCollapse": "psmr.study.detectors.monitors",
    "add_dynamics": "psmr.grid.synthetic.dynamics",
    "assemble": "psmr.dae.system.assemble",
    "build": "psmr.grid.start.initialise",
    "case": "psmr.io.shipped",
    "case_path": "psmr.io.shipped",
    "certify": "psmr.study.record.certificate",
    "check": "psmr.study.check",
    "critical_step": "psmr.pencil.deformation.critical",
    "deformation": "psmr.pencil.deformation.deformation",
    "explain": "psmr.study.explain",
    "fit_mode": "psmr.pencil.modes.ringdown",
    "from_pandapower": "psmr.io.pandapower",
    "load_run": "psmr.study.run.load",
    "make_case": "psmr.io.make",
    "mode_shapes": "psmr.pencil.modes.shapes",
    "modes": "psmr.dae.system.linear",
    "one_line": "psmr.study.output.oneline",
    "participation": "psmr.pencil.modes.participation",
    "read_case": "psmr.io.read",
    "read_study": "psmr.study.file.study",
    "read_sweep": "psmr.study.sweep.file",
    "simulate": "psmr.study.run.simulate",
    "step_operator": "psmr.pencil.operator.step_operator",
    "sweep": "psmr.study.sweep.carry_out",
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
