"""What events do to elements with their own dynamics, and what they cannot do to them.

The voltage of a resistance r beside a capacitance b decays within tau = b r / w0, a microsecond or less. The
trapezoidal rule multiplies it by (1 - z / 2) / (1 + z / 2), z = h / tau, in a step: near -1, so that the
voltage of a bolted fault swings about zero with what it was before. Source: J. R. Marti and J. Lin,
Suppression of numerical oscillations in the EMTP, IEEE Transactions on Power Systems 4, 1989.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from psmr.base.errors import EventError, first_few
from psmr.dae.declare.component import parameters_of
from psmr.dae.declare.device import Device
from psmr.dae.system.places import cached_by_devices
from psmr.devices.dynamic_network.branch import (
    DEPENDENT,
    JUNCTION,
    DynamicLine,
    DynamicLoad,
    DynamicReactor,
    DynamicSeriesCapacitor,
    DynamicTransformer,
)
from psmr.devices.dynamic_network.breaker_poles import CLOSED, DRAWN
from psmr.devices.dynamic_network.bus import PAIRS, TO_GROUND, DynamicBus, FaultInductor, JunctionBus
from psmr.devices.dynamic_network.zero_sequence import ZeroSequenceBranch, ZeroSequenceBus
from psmr.devices.network import OPEN
from psmr.integrate.schemes.scheme import oscillates, smallest_step
from psmr.integrate.timeline.span import Change
from psmr.network.dynamic.region import PART_OF
from psmr.network.topology.network import branches, buses

if TYPE_CHECKING:
    from psmr.base.arrays import Reals
    from psmr.dae.system.system import System
    from psmr.integrate.schemes.scheme import Scheme


FAULTS = ("g_fault", "b_fault", "status")
"""Parameters of buses and branches that a fault and a switch set."""

POLE_EVENTS = ("trip", "clearing")
"""Parameters of lines and buses that have each phase open by itself."""

SWITCHED = (DynamicLine, DynamicSeriesCapacitor, DynamicTransformer, DynamicReactor)


@cached_by_devices
def dynamic_elements(system: System) -> Mapping[str, Device]:
    """Return the devices with dynamics of the network, by name; junctions among them."""
    return {
        d.name: d for d in system.devices if "storage" in d.parameters or issubclass(d.component, JunctionBus)
    }


@cached_by_devices
def zero_elements(system: System) -> Mapping[str, tuple[Device, ...]]:
    """Return the zero-sequence elements of each device that has any; those of buses left out."""
    found: dict[str, tuple[Device, ...]] = {}
    for d in system.devices:
        if PART_OF in d.data and not issubclass(d.component, ZeroSequenceBus):
            of = str(d.data[PART_OF])
            found[of] = (*found.get(of, ()), d)
    return found


def unequal_phases(system: System, parameters: Sequence[Reals]) -> bool:
    """Return whether a fault or an open phase makes elements with dynamics periodic."""
    for group, matrix in zip(system.groups, parameters, strict=True):
        component = group.compiled.component
        names = tuple(parameters_of(component))
        if "storage" in names and matrix[:, [names.index(name) for name in component.ramps]].any():
            return True
    return False


def with_switched_currents(system: System, change: Change) -> Change:
    """Return a change with what it does to the states and the zero sequence of what it opens or closes.

    The current of an element that opens ends at once, and what was charged between its sections is gone; one
    that closes starts without current. A load with poles that trips as a whole opens at zeros of its current.
    """
    change, zero = _with_breaker_poles_of_loads(system, change), zero_elements(system)
    status = [(name, value) for name, parameter, value in change.parameters if parameter == "status"]
    status += [(name, 0.0) for name in change.out] + [(name, 1.0) for name in change.back]
    zeros = [(d, value) for name, value in status for d in zero.get(name, ())]
    parameters = tuple((d.name, "status", value) for d, value in zeros)
    elements = dynamic_elements(system)
    switched = [
        elements[name] for name, _ in status
        if name in elements and issubclass(elements[name].component, SWITCHED)
    ]  # fmt: skip
    switched += [d for d, _ in zeros]
    states = tuple((f"{d.name}.{state}", 0.0) for d in switched for state in d.component.states)
    if not states and not parameters:
        return change
    return replace(change, parameters=(*change.parameters, *parameters), states=(*change.states, *states))


def _with_breaker_poles_of_loads(system: System, change: Change) -> Change:
    """Return a change in which each load with poles that it takes away trips by these."""
    parameters = change.parameters
    loads = {name for name, parameter, _ in change.set_over_time() if parameter in DRAWN}
    for name in loads:
        device = system.device(name)
        if not (issubclass(device.component, DynamicLoad) and device.parameters.keys() >= CLOSED.keys()):
            continue
        drawn = {parameter: value for n, parameter, value in parameters if n == name and parameter in DRAWN}
        others = tuple(entry for entry in parameters if entry[0] != name or entry[1] not in DRAWN)
        moves = any(course.value.any() for full, course in change.courses if full.rpartition(".")[0] == name)
        if moves or any(drawn.get(p, system.parameter(name, p)) for p in DRAWN):
            parameters = (*parameters, *((name, p, value) for p, value in CLOSED.items()))
        else:
            parameters = (*others, (name, "trip", float(OPEN.index("abc"))))
    return change if parameters is change.parameters else replace(change, parameters=parameters)


def zero_statuses(system: System, out: Collection[str] = ()) -> tuple[tuple[str, str, float], ...]:
    """Return the statuses of zero-sequence elements that are not those of their devices."""
    zero = zero_elements(system)
    found = []
    for device in system.devices if zero else ():
        wanted = 0.0 if device.name in out else _in_service(system, device)
        found += [
            (d.name, "status", wanted)
            for d in zero.get(device.name, ())
            if system.parameter(d.name, "status") != wanted
        ]
    return tuple(found)


def _in_service(system: System, device: Device) -> float:
    """Return whether a device is in service; a load is while it draws anything."""
    if "status" in parameters_of(device.component):
        return system.parameter(device.name, "status")
    load = issubclass(device.component, DynamicLoad)
    return float(not load or any(system.parameter(device.name, name) for name in ("p", "q")))


def refuse_impossible_switching(system: System, changes: Sequence[Change]) -> None:
    """Raise EventError where changes ask of an element with dynamics what it cannot do.

    That is a reactance to ground beside a capacitance, a fault, an opened branch or a load that changes at a
    bus without capacitance, whose elements' currents cannot end at once, and a bus that is left without
    capacitance.
    """
    elements = dynamic_elements(system)
    if not elements:
        return
    zero, capacitance = zero_elements(system), _Capacitances(system)
    for change in changes:
        for name, parameter, value in change.set_over_time():
            if name in zero:
                _refuse_in_zero_sequence(change, system.device(name), parameter, value, zero[name])
            if name in elements:
                _refuse(system, change, elements[name], parameter, value)
            elif parameter in ("fault", "open_phases") and value > 1:
                raise EventError(
                    f"{change.label or change} at t = {change.t:g} s: an unbalance at {name}, a phasor "
                    "beside a region with dynamics of the network, whose other sequences are not known; "
                    "take a fault between two phases of a bus in the region, or a network of phasors"
                )
        capacitance.after(change)


def events_outside(system: System, changes: Sequence[Change]) -> str:
    """Return faults and switched branches outside the region with dynamics in words, "" without any."""
    elements = dynamic_elements(system)
    if not elements:
        return ""
    places = {*buses(system), *(branch.name for branch in branches(system))} - elements.keys()
    outside = [
        f"{change.label or change} (t = {change.t:g} s)"
        for change in changes
        if any(name in places and parameter in FAULTS for name, parameter, _ in change.parameters)
    ]
    return (
        f"{first_few(outside, 2, '; ')}: outside the region with dynamics of the network" if outside else ""
    )


def unbalances(system: System, change: Change) -> bool:
    """Return whether a change makes a network of phasors unbalanced."""
    return any(
        name in ("fault", "open_phases") and value > 1 and device not in dynamic_elements(system)
        for device, name, value in change.parameters
    )


def unbalance_beside_phasors(system: System, changes: Sequence[Change]) -> str:
    """Return a sentence on unequal phases in a region that phasors are connected to, "" without any."""
    elements = dynamic_elements(system)
    if not elements or all(bus in elements for bus in buses(system)):
        return ""
    unequal = [
        change for change in changes
        if any(
            name in elements and (value > 1 if parameter == "fault" else parameter in POLE_EVENTS and value)
            for name, parameter, value in change.parameters
        )
    ]  # fmt: skip
    if not unequal:
        return ""
    return (
        f"{unequal[0].label or unequal[0]} (t = {unequal[0].t:g} s): phases are unequal in a region beside"
        " phasors, which answer the negative sequence as the positive one, with r + jx in place of r - jx in"
        ' the turning frame; let the region reach further, or be "all", where its currents matter'
    )


def _refuse(system: System, change: Change, device: Device, parameter: str, value: float) -> None:
    name, component = device.name, device.component
    at = f"{change.label or change} at t = {change.t:g} s"
    if issubclass(component, DynamicBus) and parameter == "b_fault" and value:
        raise EventError(
            f"{at}: the fault, x < 0, is a capacitance that would have to take the voltage of that of {name}"
            " at once; give it x >= 0"
        )
    if issubclass(component, JunctionBus) and parameter in ("g_fault", "b_fault") and value:
        raise EventError(
            f"{at}: {name} has no capacitance and only currents that are states, which a fault there would"
            f" have to end at once; {_remedy(name)}, put the fault at a neighbouring bus, or leave {name} out"
            " of the region"
        )
    if (
        issubclass(component, DynamicLine | DynamicTransformer)
        and parameter == "x"
        and value < 0 < device.parameters["x"]
    ):
        raise EventError(
            f"{at}: {name}.x = {value:g}: the current of an inductance below zero would grow without bound; a"
            " series capacitor is a line of its own with x < 0 in the case"
        )
    if parameter not in ("status", "p", "q", "shed"):
        return
    kinds = {e: device.parameters.get(f"end_{e}") for e in "ij"}
    junctions = [
        device.connections[f"v_re_{e}"].rpartition(".")[0]
        for e, kind in kinds.items() if kind in (JUNCTION, DEPENDENT)
    ]  # fmt: skip
    if "d_re" in component.outputs:
        junctions.append(device.connections["d_re"].rpartition(".")[0])
    if junctions:
        raise EventError(
            f"{at}: {name} is at {junctions[0]}, which has no capacitance: the currents of the other elements"
            f" there, which are states, would have to change at once; {_remedy(junctions[0])}, or leave"
            f" {junctions[0]} out of the region"
        )


def _remedy(bus: str) -> str:
    return f"give {bus} a capacitance (a [[shunt]] with b_mvar > 0)"


def _refuse_in_zero_sequence(
    change: Change, device: Device, parameter: str, value: float, zero: Sequence[Device]
) -> None:
    """Raise EventError for what the zero sequence of a device cannot do."""
    name = device.name
    at = f"{change.label or change} at t = {change.t:g} s"
    if parameter in (*DRAWN, "shed") and value != device.parameters[parameter]:
        raise EventError(
            f"{at}: {name} has a grounded neutral, and its zero sequence keeps its size; give it"
            ' connection = "Y" under [[sequence]], or take a shunt and a trip of that'
        )
    for d in zero if parameter == "status" else ():
        for e in "ij":
            if d.parameters.get(f"end_{e}") in (JUNCTION, DEPENDENT):
                bus = d.connections[f"v_{e}"].rpartition(".")[0].removesuffix("_zero")
                raise EventError(
                    f"{at}: {name} is at {bus}, which has no capacitance in the zero sequence: the currents"
                    " of the other elements there, which are states, would have to change at once; give a"
                    " line or shunt there a b0 > 0 under [[sequence]]"
                )


class _Capacitances:
    """The susceptance to ground of each dynamic bus, as changes leave it."""

    def __init__(self, system: System) -> None:
        self.shares: dict[str, dict[str, float]] = {}
        self.status: dict[str, float] = {}
        elements = {
            *dynamic_elements(system),
            *(d.name for d in system.devices if issubclass(d.component, ZeroSequenceBus)),
        }
        for device in system.devices:
            halves = issubclass(device.component, DynamicLine | DynamicSeriesCapacitor | ZeroSequenceBranch)
            for port, target in device.connections.items():
                bus, _, row = target.rpartition(".")
                if row == "b" and port in device.component.outputs and bus in elements:
                    part = device.parameters["b"] / (2 if halves else 1)
                    self.shares.setdefault(bus, {})[device.name] = part
                    self.status[device.name] = system.parameter(device.name, "status")

    def after(self, change: Change) -> None:
        """Take a change; raise EventError where it leaves a bus without capacitance."""
        switched = {
            n: value if p == "status" else 0.0 for n, p, value in change.parameters
            if n in self.status and (p == "status" or (p == "trip" and value == OPEN.index("abc")))
        }  # fmt: skip
        self.status |= switched
        stepped = {n: value for n, p, value in change.parameters if p == "b" and n in self.status}
        for shares in self.shares.values():
            shares |= {n: value for n, value in stepped.items() if n in shares}
        changed = switched.keys() | stepped.keys()
        for bus, shares in self.shares.items():
            if changed & shares.keys() and not any(b * self.status[n] for n, b in shares.items()):
                raise EventError(
                    f"{change.label or change} at t = {change.t:g} s leaves {bus}, which has its own"
                    f" dynamics, without capacitance; {_remedy(bus)}, or leave it out of the region"
                )


CONDUCTANCES = ("g_fault", *PAIRS, *TO_GROUND)

LEFT = 0.01
"""Part of the voltage to which it is to fall."""

BOLTED = 1e-3
"""Impedance in pu of a fault up to which the voltage is expected to stay near zero."""

PERIODS = 0.125
"""Time in periods of the nominal frequency after which it is to have fallen."""


def faults_left_undamped(system: System, changes: Sequence[Change], h: float) -> str:
    """Return which fault of a bus with capacitance swings longest with the trapezoidal rule, in words.

    `h` is the step in s. "" where none swings longer than an eighth of a period.
    """
    found = [
        (_time_constant(system, name, value), change, name)
        for change in changes
        for name, parameter, value in change.parameters
        if parameter in CONDUCTANCES and value > 0 and issubclass(system.device(name).component, DynamicBus)
    ]
    if not found:
        return ""
    tau, change, name = min(found, key=lambda fault: fault[0])
    allowed = PERIODS / system.device(name).parameters["f_n"]
    lasts = swinging_time(tau, h)
    if lasts <= allowed:
        return ""
    longest = math.sqrt(-4 * tau * allowed / math.log(LEFT))  # z is large, and ln of the factor -4 / z
    return (
        f"{change.label or change} (t = {change.t:g} s): its resistance and the capacitance of {name} have a"
        f" time constant of {tau:.2g} s, and TM with h = {h:g} s leaves the voltage there swinging from step"
        f" to step for {1e3 * lasts:.2g} ms, not near zero; take h = {longest:.1g} s, a larger resistance,"
        " a single rate with damped = true, SDIRK2, or psmr.VariableStep"
    )


def doubts_on(system: System | None, changes: Sequence[Change], scheme: Scheme) -> tuple[str, ...]:
    """Return sentences on events that a region of the network or a scheme does not show as they are."""
    if system is None:
        return ()
    found = []
    if outside := events_outside(system, changes):
        found.append(f"{outside}: the offsets that this leaves in currents are in the region alone.")
    if oscillates(scheme) and (swinging := faults_left_undamped(system, changes, smallest_step(scheme))):
        found.append(f"{swinging}.")
    faults = [
        change
        for change in changes
        if any(name in ("fault", "g_fault") and value for _, name, value in change.parameters)
    ]
    if faults and scheme.resting(system) is not None:
        found.append(
            f"{faults[0].label or faults[0]} (t = {faults[0].t:g} s): fast states are at their equilibrium"
            " with the fault on, as if it lasted, and no swing follows; trip the line without the fault, or"
            ' take type = "variable".'
        )
    return tuple(found)


def oscillating_faults(system: System, changes: Sequence[Change]) -> str:
    """Return which bolted fault through an inductance oscillates with the capacitance of its bus, in words.

    At the angular frequency w0 / sqrt(x b), and it falls within 2 x / (w0 r). "" where it has fallen within
    an eighth of a period.
    """
    for change in changes:
        values = {(name, parameter): value for name, parameter, value in change.parameters}
        for name, parameter, status in change.parameters:
            device = system.device(name) if parameter == "status" and status else None
            if device is None or not issubclass(device.component, FaultInductor):
                continue
            bus, f_n = device.acts_on, device.parameters["f_n"]
            r, x = values[name, "r"], values[name, "x"]
            harmonic = 1 / math.sqrt(x * float(system.w0[system.index(f"{bus}.b")]))
            least = -2 * x * math.log(LEFT) / (2 * math.pi * PERIODS)
            if abs(complex(r, x)) < BOLTED and r < least:
                return (
                    f"{change.label or change} (t = {change.t:g} s): its reactance, {x:g} pu, and the"
                    f" capacitance of {bus} oscillate at {1e-3 * harmonic * f_n:.2g} kHz, which r = {r:g} pu"
                    f" hardly damps: the voltage there does not stay near zero; give it r = {least:.2g},"
                    " or a resistance alone, r = 0.001 and x = 0"
                )
    return ""


def swinging_time(tau: float, h: float) -> float:
    """Return how long in s a voltage that decays within tau swings above 1 % with the trapezoidal rule."""
    factor = (1 - h / tau / 2) / (1 + h / tau / 2)
    return h * math.log(LEFT) / math.log(-factor) if factor < 0 else 0.0


def _time_constant(system: System, bus: str, conductance: float) -> float:
    b = float(system.w0[system.index(f"{bus}.b")])
    return b / conductance / (2 * math.pi * system.device(bus).parameters["f_n"])
