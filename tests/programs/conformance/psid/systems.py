"""The systems of tests 08, 10, 11, 23, 24 and 25 of PowerSimulationsDynamics.jl: see SOURCE.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psmr
from tests.components import Bus, DynamicBus, DynamicLine
from tests.internals import CHARGED

MODULES = tuple(f"tests.programs.conformance.psid.{name}" for name in ("inverters", "machines"))
BASE = {"base_mva": 100.0, "frequency_hz": 60.0, "modules": MODULES}


def _infinite(bus: int, v: float) -> dict[str, Any]:
    machine = {"type": "InfiniteBus", "s_n": 100.0, "x_d1": 5e-6}
    return {"name": "INF", "bus": bus, "control": "slack", "v": v, "machine": machine}


def inverter_at_infinite_bus(inverter: str) -> psmr.System:
    """Return tests 08, 23 and 24: an inverter at half of its power behind a reactance."""
    case = psmr.make_case(
        inverter,
        **BASE,
        buses=[{"number": 101}, {"number": 102}],
        lines=[{"from": 101, "to": 102, "x": 0.075}],
        generators=[
            _infinite(101, 1.00001),
            {
                **{"name": "INV", "bus": 102, "control": "pv", "p_mw": 1.375, "v": 1.0},
                "converter": {"type": inverter, "s_n": 2.75},
            },
        ],
    )
    return psmr.build(case)


def _lines(*rows: tuple[int, int, float, float, float]) -> list[dict[str, float]]:
    return [dict(zip(("from", "to", "r", "x", "b"), row, strict=True)) for row in rows]


def machine_and_inverter(dynamic_line: bool) -> psmr.System:
    """Return test 10, or test 11, in which the line between machine and inverter has its dynamics."""
    machine = {
        **{"type": "TwoAxisMachine", "s_n": 100.0, "h": 3.01, "d": 0.0, "x_d": 1.3125, "x_q": 1.2578},
        **{"x_d1": 0.1813, "x_q1": 0.25, "t_d01": 5.89, "t_q01": 0.6},
    }
    exciter = {
        **{"type": "ExciterType1", "k_a": 20.0, "k_e": 0.01, "k_f": 0.063, "t_a": 0.2, "t_e": 0.314},
        **{"t_f": 0.35, "t_r": 0.001, "v_r_min": -5.0, "v_r_max": 5.0, "a_x": 0.0039, "b_x": 1.555},
    }
    case = psmr.make_case(
        "machine and inverter",
        **BASE,
        buses=[{"number": n} for n in (101, 102, 103)],
        lines=_lines((101, 103, 0.01, 0.12, 0.2), (101, 102, 0.01, 0.12, 0.2), (102, 103, 0.02, 0.9, 1.0)),
        loads=[
            {"bus": bus, "p_mw": p, "q_mvar": q, "model": "impedance"}
            for bus, p, q in ((101, 50.0, 10.0), (102, 100.0, 30.0), (103, 30.0, 10.0))
        ],
        generators=[
            _infinite(101, 1.02),
            {
                **{"name": "G102", "bus": 102, "control": "pv", "p_mw": 70.0, "v": 1.0142},
                **{"machine": machine, "exciter": exciter},
            },
            {
                **{"name": "INV", "bus": 103, "control": "pv", "p_mw": 80.0, "v": 1.0059},
                "converter": {"type": "VirtualSynchronousMachine", "s_n": 100.0},
            },
        ],
    )
    system = psmr.build(case)
    return with_dynamic_line(system, "line102-103") if dynamic_line else system


def with_dynamic_line(system: psmr.System, name: str) -> psmr.System:
    """Return a system with one line's current and the voltages of its ends as states, as that project has it.

    The charging of other lines at these buses stays an admittance. A `psmr.Region` has no such bus: its
    dynamic buses have dynamic branches.
    """
    value = dict(zip((*system.names_x, *system.names_y, *system.names_u), system.w0[:-1], strict=True))
    line = next(device for device in system.devices if device.name == name)
    ends = [line.connections[f"v_re_{end}"].partition(".")[0] for end in "ij"]
    v = [complex(value[f"{bus}.v_re"], value[f"{bus}.v_im"]) for bus in ends]
    p = {key: line.parameters[key] for key in ("r", "x", "b", "g", "status")}
    frequency = {"f_n": 60.0}
    start = {f"{name}.i": (v[0] - v[1]) / complex(p["r"], p["x"])}
    start |= {f"{bus}.i": 0.5j * p["b"] * u for bus, u in zip(ends, v, strict=True)}
    value |= {f"{bus}.b": p["b"] / 2 for bus in ends}
    for quantity, z in start.items():
        value |= {f"{quantity}_re": z.real, f"{quantity}_im": z.imag}
    devices = []
    for device in system.devices:
        if device is line:
            kinds = {f"end_{end}": float(CHARGED) for end in "ij"}
            wires = dict(line.connections) | {
                f"b_{end}": f"{bus}.b" for end, bus in zip("ij", ends, strict=True)
            }
            device = replace(
                device, component=DynamicLine, parameters=p | frequency | kinds, connections=wires
            )
        elif device.name in ends and issubclass(device.component, Bus):
            device = replace(device, component=DynamicBus, parameters={**device.parameters, **frequency})
        devices.append(device)
    return psmr.assemble(devices, value, name=system.name)


def two_machines(dynamic: bool = True) -> psmr.System:
    """Return test 25: two machines with the fluxes of their stators and three lines with their dynamics."""
    governor = {"type": "GovernorLeadLag", "droop": 0.05, "t_1": 1.0, "t_2": 2.0, "p_min": 0.1, "p_max": 1.5}
    plant = {"machine": {"type": "Marconato", "s_n": 100.0}, "exciter": {"type": "IntegralExciter"}}
    case = psmr.make_case(
        "two machines",
        **BASE,
        buses=[{"number": n} for n in (101, 102, 103)],
        lines=_lines(*((a, b, 0.01, 0.12, 0.05) for a, b in ((101, 103), (101, 102), (102, 103)))),
        loads=[{"bus": 103, "p_mw": 180.0, "q_mvar": 30.0, "model": "impedance"}],
        generators=[
            {"name": "G101", "bus": 101, "control": "slack", "v": 1.02, **plant, "governor": governor},
            {"name": "G102", "bus": 102, "control": "pv", "p_mw": 80.0, "v": 1.0142, **plant},
        ],
    )
    region = psmr.Region("all", loads=False, stators=False) if dynamic else None
    return psmr.build(case, dynamic=region)


SYSTEMS: dict[str, tuple[str, Callable[[], psmr.System]]] = {
    "08": (
        "grid-forming inverter, virtual synchronous machine",
        lambda: inverter_at_infinite_bus("VirtualSynchronousMachine"),
    ),
    "23": ("grid-forming inverter, droop control", lambda: inverter_at_infinite_bus("Droop")),
    "24": ("grid-following inverter", lambda: inverter_at_infinite_bus("Following")),
    "10": ("machine and grid-forming inverter", lambda: machine_and_inverter(dynamic_line=False)),
    "11": (
        "machine and grid-forming inverter, a dynamic line",
        lambda: machine_and_inverter(dynamic_line=True),
    ),
    "25": ("two machines, dynamic lines", two_machines),
}
"""What each of that project's tests is of, and its system."""
