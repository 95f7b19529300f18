"""Multirate simulation of power systems that says how much its own numerics bent the system's modes.

Every public name is loaded when it is first used, so that importing psmr, and a command that needs one half
of it, costs nothing for the other half.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psmr.dae.linear import modes
    from psmr.errors import PsmrError
    from psmr.grid.dynamics import add_dynamics
    from psmr.grid.initialise import build
    from psmr.io.read import read_case
    from psmr.numerics.adaptive import Adaptive
    from psmr.numerics.arc_length import ArcLength
    from psmr.numerics.scheme import Multirate, SingleRate
    from psmr.numerics.slow_manifold import SlowManifold
    from psmr.numerics.smes import Smes
    from psmr.pencil.choice import ModeChoice
    from psmr.pencil.critical import critical_step
    from psmr.pencil.deformation import deformation
    from psmr.pencil.operator import step_operator
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
    from psmr.study.monitors import AngleSpread, Island, VoltageCollapse
    from psmr.study.run import Run
    from psmr.study.simulate import simulate
    from psmr.study.tune import tune

__version__ = "0.1.0"

__all__ = [
    "Adaptive",
    "AngleSpread",
    "ArcLength",
    "Fault",
    "GeneratorTrip",
    "Island",
    "LineTrip",
    "LoadRamp",
    "LoadTrip",
    "ModeChoice",
    "Multirate",
    "ParameterStep",
    "PsmrError",
    "Run",
    "SetPoint",
    "ShuntSwitch",
    "SingleRate",
    "SlowManifold",
    "Smes",
    "TimeSeries",
    "VoltageCollapse",
    "add_dynamics",
    "build",
    "check",
    "critical_step",
    "deformation",
    "explain",
    "modes",
    "read_case",
    "simulate",
    "step_operator",
    "tune",
]

_HOMES = {
    "Adaptive": "psmr.numerics.adaptive",
    "AngleSpread": "psmr.study.monitors",
    "ArcLength": "psmr.numerics.arc_length",
    "Fault": "psmr.study.events",
    "GeneratorTrip": "psmr.study.events",
    "Island": "psmr.study.monitors",
    "LineTrip": "psmr.study.events",
    "LoadRamp": "psmr.study.events",
    "LoadTrip": "psmr.study.events",
    "ModeChoice": "psmr.pencil.choice",
    "Multirate": "psmr.numerics.scheme",
    "ParameterStep": "psmr.study.events",
    "PsmrError": "psmr.errors",
    "Run": "psmr.study.run",
    "SetPoint": "psmr.study.events",
    "ShuntSwitch": "psmr.study.events",
    "SingleRate": "psmr.numerics.scheme",
    "SlowManifold": "psmr.numerics.slow_manifold",
    "Smes": "psmr.numerics.smes",
    "TimeSeries": "psmr.study.events",
    "VoltageCollapse": "psmr.study.monitors",
    "add_dynamics": "psmr.grid.dynamics",
    "build": "psmr.grid.initialise",
    "check": "psmr.study.check",
    "critical_step": "psmr.pencil.critical",
    "deformation": "psmr.pencil.deformation",
    "explain": "psmr.study.explain",
    "modes": "psmr.dae.linear",
    "read_case": "psmr.io.read",
    "simulate": "psmr.study.simulate",
    "step_operator": "psmr.pencil.operator",
    "tune": "psmr.study.tune",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'psmr' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
