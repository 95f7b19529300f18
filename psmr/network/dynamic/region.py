"""What is dynamic in a region of a network: a closed set.

Buses without capacitance in a dynamic region: what they are, and which branch's current follows there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from psmr.base.errors import EventError, InputError, nearest, shown
from psmr.dae.compile.trace import trace
from psmr.dae.declare.component import Component, local_rows, local_variables
from psmr.dae.declare.device import Device
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.dynamic_network.stator import with_stator
from psmr.devices.loads.zip import ZipLoad
from psmr.devices.network import Line, Shunt
from psmr.network.case.region import ALL, Region
from psmr.network.topology.network import Branch, at_buses, branches, branches_in_service, buses, find_bus

if TYPE_CHECKING:
    from psmr.dae.system.system import System


def region_devices(system: System, region: Region) -> frozenset[str]:
    """Return the names of all that is dynamic in a region of a phasor system: a closed set.

    A dynamic bus has dynamic branches, and a bus all of whose branches are dynamic is dynamic.

    Raises
    ------
    InputError
        For a bus or device that is not there, and a device that has no dynamics of its own to add.
    """
    centre = _named_buses(system, region)
    joined = branches_in_service(system)
    for _ in range(region.within):
        centre = centre | {end for b in joined if centre & set(b.ends) for end in b.ends}
    found = set(centre)
    for bus, devices in at_buses(system).items():
        if bus in centre:
            found |= {d.name for d in devices if _comes_with_its_bus(d, region)}
    known = {device.name: device for device in system.devices}
    names = set(buses(system)) | {b.name for b in joined}
    names |= {d.name for d in known.values() if can_be_dynamic(d)}
    for name in region.devices:
        if name not in known:
            raise InputError(f"Region: there is no device {shown(name)}{nearest(name, names)}")
        if name not in names:
            kind = known[name].component.__name__
            raise InputError(
                f"Region: {name}: {kind} has no dynamics that a phasor network leaves out; name its bus, or"
                " branches, loads of constant impedance, reactors and machines with an algebraic stator"
            )
        found.add(name)
    return closed(system, found)


def closed(system: System, names: Iterable[str]) -> frozenset[str]:
    """Return names with the branches of their buses, and the buses all of whose branches they have.

    Branches out of service come with their buses: they may close.
    """
    found, joined = set(names), branches_in_service(system)
    found |= {b.name for b in branches(system) if found & set(b.ends)}
    at = {bus: {b.name for b in joined if bus in b.ends} for bus in buses(system)}
    return frozenset(found | {bus for bus, own in at.items() if own and own <= found})


def can_be_dynamic(device: Device) -> bool:
    """Return whether a load, shunt or machine of a phasor system has a form with dynamics of the network."""
    component, p = device.component, device.parameters
    if issubclass(component, ZipLoad):
        # Resistance and inductance of one sign: their current decays. Netted generation has both below zero.
        return bool(p["p_z"] == 1 and p["q_z"] == 1 and p["q"] != 0 and p["p"] / p["q"] >= 0)
    if issubclass(component, Shunt):
        return bool(p["b"] < 0)
    return with_stator(component) is not None


def _comes_with_its_bus(device: Device, region: Region) -> bool:
    if not can_be_dynamic(device):
        return False
    if issubclass(device.component, ZipLoad):
        return region.loads
    return issubclass(device.component, Shunt) or region.stators


def _named_buses(system: System, region: Region) -> set[str]:
    if ALL in region.buses:
        return set(buses(system))
    try:
        return {find_bus(system, bus, "Region") for bus in region.buses}
    except EventError as error:
        raise InputError(str(error)) from error


SMALLEST = 1e-6
"""Smallest singular value in pu of an admittance that determines a voltage."""


def charges(system: System, waves: Collection[str]) -> dict[str, float]:
    """Return the susceptance to ground that is in service at each bus: charging and capacitors, in pu.

    That of lines on which `waves` travel is no part of their buses.
    """
    found = dict.fromkeys(buses(system), 0.0)
    for device in system.devices:
        p = device.parameters
        if device.name in waves:
            continue
        if issubclass(device.component, Line):
            for e in "ij":
                found[device.connections[f"v_re_{e}"].rpartition(".")[0]] += p["status"] * p["b"] / 2
        elif issubclass(device.component, Shunt) and p["b"] > 0:
            found[device.connections["v_re"].rpartition(".")[0]] += p["status"] * p["b"]
    return found


def reads_voltage(component: type[Component]) -> bool:
    """Return whether the current or an algebraic variable of a device depends on the voltage of its bus."""
    variables, rows = local_variables(component), local_rows(component)
    places = {variables.index(name) for name in ("v_re", "v_im") if name in variables}
    count = len(component.states)
    last = len(rows) - len(component.outputs)
    current = {last + component.outputs.index(name) for name in ("i_re", "i_im")}
    entries = [entry[:2] for part in trace(component).jacobian() for entry in part]
    return any(column in places and (row in current or count <= row < last) for row, column in entries)


def admittance_of(device: Device, w: Mapping[str, float], bus: str) -> np.ndarray:
    """Return the (2, 2) matrix of d(i_re, i_im into the device)/d(v_re, v_im), its algebraic part solved."""
    component = device.component
    names = (*component.states, *component.algebraic)
    v0 = {n: w[f"{device.name}.{n}"] for n in names}
    v0 |= {n: w[device.connections.get(n, f"{device.name}.{n}")] for n in component.inputs} | {"t": 0.0}
    p = SimpleNamespace(**device.parameters)
    k = len(component.algebraic)
    places = [component.outputs.index(name) for name in ("i_re", "i_im")]
    columns = []
    for name in (*component.algebraic, "v_re", "v_im"):
        v = {n: complex(x) for n, x in v0.items()}
        v[name] += 1e-30j
        _, residuals, injections = component.equations(NumericMath, SimpleNamespace(**v), p)
        rows = [*residuals, *(injections[i] for i in places)]
        columns.append([np.imag(complex(row)) / 1e-30 for row in rows])
    matrix = np.array(columns).T
    direct = matrix[k:, k:]
    if k:
        direct = direct - matrix[k:, :k] @ np.linalg.lstsq(matrix[:k, :k], matrix[:k, k:], rcond=None)[0]
    return np.asarray(-direct)


def require_determined(bus: str, at: Sequence[Device], w: Mapping[str, float]) -> None:
    """Raise InputError where what is at a bus of dynamic branches without charging leaves its voltage open.

    An admittance determines it whose eigenvalues have no negative real part: currents decay through it.
    """
    admittance = sum((admittance_of(d, w, bus) for d in at), np.zeros((2, 2)))
    size = np.linalg.svd(admittance, compute_uv=False)
    real = np.linalg.eigvals(admittance).real
    if size[-1] > SMALLEST and real.min() >= -1e-9 * size[0]:
        return
    names = ", ".join(d.name for d in at)
    raise InputError(
        f"Region: {bus} has no charging, and {names} there keep the form of a phasor network, which leaves"
        " the voltage between dynamic branches undetermined; give the bus a capacitance (a [[shunt]] with"
        ' b_mvar > 0), turn loads into impedances (loads = "impedance"), or leave the bus out of the region'
    )


def dependent_ends(
    junctions: Sequence[str], branches: Sequence[Branch], capacitors: Collection[str] = ()
) -> dict[str, str]:
    """Return the branch whose current is what the others leave, for each junction that has one.

    The first junctions get theirs first. A series capacitor, named in `capacitors`, has no current of its
    own: at a junction it is always such a branch, and passes the rate of its current on to another junction.

    Raises
    ------
    InputError
        Where series capacitors close a ring, so that their voltages depend on each other.
    """
    ends = {b.name: [end for end in b.ends if end in junctions] for b in branches}
    at: dict[str, list[str]] = {bus: [name for name in ends if bus in ends[name]] for bus in junctions}
    in_series = {b.name: b.ends for b in branches if b.name in capacitors and ends[b.name]}
    _require_no_ring(in_series, set(junctions))
    found: dict[str, str] = {}
    for name in in_series:
        _augmented(name, ends, found)
    for bus in junctions:
        if bus not in found:
            taken = {name: place for place, name in found.items()}
            if _augmented(bus, at, taken):
                found = {place: name for name, place in taken.items()}
    return found


def require_paths(lost: Sequence[str]) -> None:
    """Raise InputError of junctions at which no branch's current can be what the others leave."""
    if lost:
        raise InputError(
            f"Region: {', '.join(lost)}: no path for the current: every element there has its current as a"
            " state and no branch is left whose current could be their sum; give the bus a capacitance (a"
            " [[shunt]] with b_mvar > 0), or leave it out of the region"
        )


def _require_no_ring(capacitors: Mapping[str, Sequence[str]], junctions: set[str]) -> None:
    """Raise InputError where series capacitors close a ring of their own or over buses with a capacitance."""
    joined: dict[str, str] = {}

    def root(bus: str) -> str:
        bus = bus if bus in junctions else ""
        while bus in joined:
            bus = joined[bus]
        return bus

    for name, ends in capacitors.items():
        one, other = map(root, ends)
        if one == other:
            raise InputError(
                f"Region: {name} closes a ring of series capacitors over buses without charging: their"
                " voltages depend on each other; make one of those in parallel, or leave them out of the"
                " region"
            )
        # What is no junction stays a root: "" stands for all of it.
        one, other = (other, one) if not one else (one, other)
        joined[one] = other


def _augmented(one: str, choices: Mapping[str, Sequence[str]], taken: dict[str, str]) -> bool:
    """Return whether `one` gets one of its choices, others moving to theirs; what is taken stays taken."""
    tried: set[str] = set()

    def place(who: str) -> bool:
        for choice in choices[who]:
            if choice not in tried:
                tried.add(choice)
                if choice not in taken or place(taken[choice]):
                    taken[choice] = who
                    return True
        return False

    return place(one)
