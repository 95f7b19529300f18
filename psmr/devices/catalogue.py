"""Which components a case file can name, by their role in a plant.

A component declares its `role`: a module anywhere below `psmr.devices` needs no entry in a list.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from psmr.dae.declare.component import Component, Parameter, parameters_of
from psmr.devices.areas import Meter, SourceTie, TieLine
from psmr.devices.direct_current.grid import DcBus, DcLine, DcNode
from psmr.devices.dynamic_network.branch import (
    DynamicCapacitor,
    DynamicLine,
    DynamicLoad,
    DynamicReactor,
    DynamicSeriesCapacitor,
    DynamicTransformer,
)
from psmr.devices.dynamic_network.bus import DynamicBus, FaultInductor, JunctionBus, ThreePhaseBus
from psmr.devices.dynamic_network.travelling_wave import TravellingWaveLine
from psmr.devices.dynamic_network.zero_sequence import (
    ZeroSequenceAdmittance,
    ZeroSequenceBranch,
    ZeroSequenceBus,
    ZeroSequenceWave,
)
from psmr.devices.loads.zip import ExponentialLoad, StaticLoad, ZipLoad
from psmr.devices.network import (
    Bus,
    Line,
    MonitoredLine,
    MonitoredRatioTransformer,
    MonitoredTransformer,
    RatioTransformer,
    Shunt,
    Transformer,
)
from psmr.devices.placement import placement
from psmr.devices.switched_shunts import METERS

PACKAGE = "psmr.devices"


def declared_in(module: object) -> Iterator[type[Component]]:
    """Yield the components with a role that a module declares, without those that it imports."""
    name = getattr(module, "__name__", "")
    for kind in vars(module).values():
        own = isinstance(kind, type) and issubclass(kind, Component) and kind.__module__ == name
        if own and placement(kind).role:
            yield kind


def own_components(modules: Iterable[ModuleType]) -> dict[str, type[Component]]:
    """Return the components of the user's own that modules have, by name; psmr's are not among them."""
    return {
        kind.__name__: kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Component) and not kind.__module__.startswith("psmr.")
    }


def role_objection(kind: type[Component]) -> str:
    """Return the objection to a component of the user's own that does not say what it is in a plant."""
    roles = ", ".join(DEVICE_ROLES)
    return (
        f"{kind.__name__} of the module {kind.__module__} declares no role; write for instance"
        f' role = "exciter" in the class (roles: {roles})'
    )


def _library() -> Mapping[str, tuple[type[Component], ...]]:
    """Return the components of the library by their role, in the order of their names."""
    package = importlib.import_module(PACKAGE)
    found: dict[str, list[type[Component]]] = {}
    for entry in pkgutil.walk_packages(package.__path__, f"{PACKAGE}."):
        if not entry.ispkg and entry.name != __name__:
            for kind in declared_in(importlib.import_module(entry.name)):
                found.setdefault(placement(kind).role, []).append(kind)
    return {role: tuple(sorted(kinds, key=lambda kind: kind.__name__)) for role, kinds in found.items()}


LIBRARY = _library()

LIMITER_ROLES: Mapping[str, str] = {
    "over_excitation_limiter": "oel",
    "under_excitation_limiter": "uel",
    "stator_current_limiter": "scl",
}
"""Roles of what acts on an exciter at a limit of the machine, and what exciters call each."""

ROLES: Mapping[str, tuple[type[Component], ...]] = {
    role: LIBRARY[role]
    for role in (
        "machine",
        "converter",
        "exciter",
        "compensator",
        "governor",
        "stabiliser",
        *LIMITER_ROLES,
        "electrical_control",
        "plant_control",
        "torque_control",
        "pitch_control",
        "aerodynamics",
        "drive_train",
        "shaft",
        "participation",
        "reactive_participation",
    )
}
"""Components by role. A generator has a machine or a converter, and at most one device of each role."""

CODE = "code"
"""The role of controllers in files (`psmr.devices.controller`): a plant may have several."""

LOAD_ROLES: Mapping[str, tuple[type[Component], ...]] = {
    role: LIBRARY[role] for role in ("motor", "composite", "characteristic")
}
"""Components of loads with parameters of their own, by role."""

SHUNT_ROLES: Mapping[str, tuple[type[Component], ...]] = {
    role: LIBRARY[role] for role in ("static_var_system", "switching")
}
"""Components of the table of shunts, by role: what a shunt is in the dynamics, what switches its steps."""

TRANSFORMER_ROLES: Mapping[str, tuple[type[Component], ...]] = {"tap_changer": LIBRARY["tap_changer"]}
"""Components of the table of transformers, by role: what moves their taps and shifts."""

SOURCES = ("machine", "converter")
"""Roles of the devices that inject the generator's current."""

RELAY_ROLES: Mapping[str, tuple[type[Component], ...]] = {"relay": LIBRARY["relay"]}
"""Components of the table of relays."""

AREA_ROLES: Mapping[str, tuple[type[Component], ...]] = {
    role: LIBRARY[role] for role in ("area_control", "voltage_control")
}
"""Components of the table of areas, by role."""

DC_ROLES: Mapping[str, tuple[type[Component], ...]] = {
    role: LIBRARY[role] for role in ("dc_converter", "dc_control")
}
"""Components of the tables of direct current, by role."""

DEVICE_ROLES: Mapping[str, tuple[type[Component], ...]] = {
    **ROLES,
    **LOAD_ROLES,
    **SHUNT_ROLES,
    **TRANSFORMER_ROLES,
    **RELAY_ROLES,
    **AREA_ROLES,
    **DC_ROLES,
    CODE: LIBRARY[CODE],
}
"""Components of plants, loads, shunts, transformers, relays and areas by role."""

FOLLOWS, FORMS = "follows", "forms"
"""What `Placement.grid` says of a converter."""

PREFIXES: Mapping[str, str] = {
    CODE: "CODE",
    "compensator": "VC",
    "exciter": "AVR",
    "governor": "GOV",
    "stabiliser": "PSS",
    **{role: kind.upper() for role, kind in LIMITER_ROLES.items()},
    "electrical_control": "EC",
    "plant_control": "PPC",
    "torque_control": "TC",
    "pitch_control": "PC",
    "aerodynamics": "AERO",
    "drive_train": "DT",
    "shaft": "SHAFT",
    "tap_changer": "LTC",
    "participation": "LFC",
    "reactive_participation": "RPC",
    "switching": "SH",
}
"""How devices are called where the case gives no name: the exciter of G1 is AVR1."""

LOADS: tuple[type[StaticLoad], ...] = (ZipLoad, ExponentialLoad)
"""Static loads: a load trip scales their parameters p and q."""

NETWORK: tuple[type[Component], ...] = (
    Bus,
    Line,
    Transformer,
    MonitoredLine,
    MonitoredTransformer,
    RatioTransformer,
    MonitoredRatioTransformer,
    Shunt,
    *METERS.values(),
    TieLine,
    Meter,
    SourceTie,
    *LOADS,
    DcBus,
    DcNode,
    DcLine,
)
"""Components that the tables of a case stand for."""

DYNAMIC: tuple[type[Component], ...] = (
    DynamicBus,
    JunctionBus,
    DynamicLine,
    DynamicSeriesCapacitor,
    DynamicTransformer,
    TravellingWaveLine,
    DynamicCapacitor,
    DynamicReactor,
    DynamicLoad,
    FaultInductor,
    ThreePhaseBus,
    ZeroSequenceBus,
    ZeroSequenceBranch,
    ZeroSequenceAdmittance,
    ZeroSequenceWave,
)
"""Components that the tables of a case stand for in a region with dynamics of the network."""

FROM_CASE = (
    "s_base",
    "f_n",
    "v_0",
    "p_0",
    "q_0",
    "mechanical_power",
    "speed_voltage",
    "p",
    "q",
    "shed",
)
"""Parameters from the head of the case, its power flow at the device's terminals, and the power of a load."""


def components() -> tuple[type[Component], ...]:
    """Return every component of the library."""
    of_tables = (LOAD_ROLES, SHUNT_ROLES, ROLES, TRANSFORMER_ROLES, RELAY_ROLES, AREA_ROLES, DC_ROLES)
    roles = [kinds for table in of_tables for kinds in table.values()]
    return (*NETWORK, *DYNAMIC, *(component for kinds in roles for component in kinds))


def component_named(role: str, name: str) -> type[Component]:
    """Return the component of a device of a plant, load or shunt, or of a relay."""
    return next(component for component in DEVICE_ROLES[role] if component.__name__ == name)


def defaults(component: type[Component]) -> dict[str, float]:
    """Return the parameters of a component that a case may leave out."""
    return {k: p.default for k, p in role_parameters(component).items() if p.default is not None}


def role_parameters(component: type[Component]) -> dict[str, Parameter]:
    """Return the parameters that a case gives for a plant's device.

    Those that come from the case itself are not among them, nor those that only the device's actions set, nor
    those that another device of the plant has.
    """
    placed = placement(component)
    outside = (*FROM_CASE, *placed.memory, *placed.shared)
    return {name: value for name, value in parameters_of(component).items() if name not in outside}
