"""The seven systems, and a fault on each."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psmr
from tests.disturbances import Disturbance, busiest, faulted, system_of
from tests.internals import CaseFile, System, power_flow

# In s: when faults begin and are cleared, when runs end, and of the instants at which errors are taken the
# first one behind the clearing and the distance.
START, CLEAR, T_END, SPACING = 0.5, 0.6, 5.0, 0.02

# ACTIVSg2000 of the electric grid test case repository of Texas A&M University, with its dynamic data.
ACTIVS = ("ACTIVSg2000.RAW", "ACTIVSg2000_dynamics.dyr")


@dataclass(frozen=True)
class Problem:
    """A case of the comparison.

    `title`: How figures and tables call it.
    `make`: Returns system and fault; takes the folder of `ACTIVS`.
    `reference`: Tolerance of the fine run of psmr; IDA's has 1e-9.
    """

    title: str
    make: Callable[[Path | None], tuple[System, psmr.Fault]]
    reference: float


def fault_at(bus: int) -> psmr.Fault:
    """Return a bolted fault of 100 ms."""
    return psmr.Fault(bus, START, CLEAR)


def _wscc9(_: Path | None) -> tuple[System, psmr.Fault]:
    return psmr.build(psmr.case("wscc9")), fault_at(5)


def _named(name: str) -> Callable[[Path | None], tuple[System, psmr.Fault]]:
    def make(_: Path | None) -> tuple[System, psmr.Fault]:
        system, bus = system_of(name, 0.0)
        return system, fault_at(bus)

    return make


def _pegase(name: str, converters: float, local: bool = False) -> Callable[[Path | None], tuple]:
    def make(_: Path | None) -> tuple[System, psmr.Fault]:
        import pandapower.networks

        network = psmr.from_pandapower(getattr(pandapower.networks, name)())
        case = psmr.add_dynamics(network, converters=converters)
        system = psmr.build(case)
        if local:
            return system, psmr.Fault(faulted(system), START, CLEAR, x=0.1)
        return system, fault_at(busiest(case))

    return make


def _activs(folder: Path | None) -> tuple[System, psmr.Fault]:
    if folder is None:
        raise FileNotFoundError(f"--files has to name the folder with {' and '.join(ACTIVS)}")
    files = [folder / name for name in ACTIVS]
    case = CaseFile(*files, loads="impedance", net_unmodelled=True, reactive_limits=True).read()
    flow = power_flow(case, reactive_limits=True)
    system = psmr.build(case, flow, start_at_limits="adjust")
    return system, psmr.Fault(7346, 1.0, 1.15, x=0.01)


PROBLEMS: Mapping[str, Problem] = {
    "wscc9": Problem("WSCC 9-bus", _wscc9, 1e-9),
    "new-england": Problem("New England", _named("new-england"), 1e-9),
    "npcc": Problem("NPCC, 140 buses", _named("npcc_full"), 1e-9),
    "1354-local": Problem("1,354 buses, local fault", _pegase("case1354pegase", 0.3, local=True), 1e-7),
    "1354-bolted": Problem("1,354 buses, bolted fault", _pegase("case1354pegase", 0.3), 1e-7),
    "activs2000": Problem("ACTIVSg2000", _activs, 1e-7),
    "9241": Problem("9,241 buses", _pegase("case9241pegase", 0.5), 1e-7),
}


def load(name: str, files: Path | None) -> tuple[System, Disturbance]:
    """Return a case with its disturbance."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system, fault = PROBLEMS[name].make(files)
    assert fault.clear is not None
    return system, Disturbance(tuple(fault.changes(system)), T_END, (fault.clear + SPACING, SPACING))
