"""From a phasor system and a region of it to the system in which that region has its own dynamics."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse.linalg import splu

from psmr.base.errors import InputError, PsmrWarning, error_at, first_few, nearest, warn
from psmr.dae.declare.component import Component, local_variables, parameters_of
from psmr.dae.declare.device import Device, structure_for
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.branch import (
    CHARGED,
    DEPENDENT,
    JUNCTION,
    PHASOR,
    DynamicCapacitor,
    DynamicLine,
    DynamicLoad,
    DynamicReactor,
    DynamicSeriesCapacitor,
    DynamicTransformer,
    section_values,
    with_read_currents,
)
from psmr.devices.dynamic_network.bus import DynamicBus, JunctionBus, ThreePhaseBus
from psmr.devices.dynamic_network.forms import with_current_rates, with_stator
from psmr.devices.dynamic_network.travelling_wave import (
    TravellingWaveLine,
    own_waves,
    wave_values,
    waves_at_rest,
)
from psmr.devices.loads.zip import StaticLoad, ZipLoad
from psmr.devices.machines.textbook import InfiniteBus
from psmr.devices.network import (
    Bus,
    Line,
    MonitoredLine,
    MonitoredTransformer,
    RatioTransformer,
    Shunt,
    Transformer,
)
from psmr.network.case.region import ALL, NONE, Region
from psmr.network.dynamic.region import (
    ZeroCircuit,
    can_be_dynamic,
    dependent_ends,
    ground_susceptances,
    reads_voltage,
    region_devices,
    require_determined,
    require_paths,
    zero_circuit,
    zero_name,
)
from psmr.network.topology.network import at_buses, branches, branches_in_service, buses


def sections_at_rest(
    z: complex, y: complex, n: int, v: Sequence[complex]
) -> tuple[list[complex], list[complex]]:
    """Return (n,) currents in pu through the sections, and (n,) voltages in pu at which they begin.

    From the transfer matrix of all sections, the power of that of one.

    `z`, `y`: series impedance and shunt admittance of one section in pu, half of y at either end of it; `n`:
    how many there are; `v`: voltages at both ends of the line in pu.
    """
    if n == 1:  # exactly, where a short line has the difference of two like voltages
        return [(v[0] - v[1]) / z], [v[0]]
    a = 1 + z * y / 2
    (a_n, b_n), _ = np.linalg.matrix_power(np.array([[a, z], [y * (1 + z * y / 4), a]]), n).tolist()
    at, through = v[0], (a_n * v[0] - v[1]) / b_n - y / 2 * v[0]
    currents, voltages = [], []
    for _ in range(n):
        currents.append(through)
        voltages.append(at)
        at -= z * through
        through -= y * at
    return currents, voltages


def with_dynamics(system: System, region: Region, frequency: float) -> System:
    """Return a phasor system with a region of it dynamic, at the same equilibrium; `frequency` in Hz.

    Warns (PsmrWarning) of loads at dynamic buses whose current is no linear function of the voltage, and of
    what a region by its error is.

    Raises InputError for a region that cannot be: a name that is not there, a branch without an inductance, a
    bus whose voltage nothing determines, an error that nothing is measured to keep.
    """
    try:
        named = _by_devices(system, region, frequency)
        return system if named.buses == (NONE,) else _with_dynamics(system, named, frequency)
    except InputError as error:
        raise error_at(error, type(error), region.where) from error


def _by_devices(system: System, region: Region, frequency: float) -> Region:
    """Return a region that names what it has, in place of the error of modes."""
    if region.error is None:
        return region
    import partitioning  # slow to import, for these regions alone

    named = replace(region, error=None, modes=(), devices=(), buses=(ALL,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)  # said of the region itself
        full = _with_dynamics(system, replace(named, zero_sequence=False), frequency)
    try:
        choice = partitioning.by_deformation(full, region.modes, region.error)
    except partitioning.PartitionError as error:
        raise InputError(f"Region: {region}: {error}") from error
    warn(f"Region: {region}: {choice}")
    return replace(named, buses=() if choice.devices else (NONE,), devices=choice.devices)


def _with_dynamics(system: System, region: Region, frequency: float) -> System:
    names = region_devices(system, region)
    conversion = _Conversion(system, region, names, frequency)
    devices = [conversion.device(d) for d in system.devices]
    devices += conversion.zero.devices
    _warn_of_loads(conversion)
    known = {f"{d.name}.{n}" for d in devices for n in local_variables(d.component) if n not in d.connections}
    start = {**conversion.values, **conversion.start, **conversion.zero.start}
    found = assemble(devices, {n: x for n, x in start.items() if n in known}, name=system.name)
    before = set(system.names_x)
    own = [found.index(name) for name in found.names_x if name not in before]
    return _settled(found, np.array(own, dtype=np.intp))


def _settled(system: System, states: np.ndarray) -> System:
    """Return the system with some states, and all algebraic variables, where their equations are at rest.

    Small differences of voltages give the currents of short lines no more than ten digits; a step of Newton's
    method gives them all.
    """
    n = system.n
    free = np.concatenate([states, np.arange(n, n + system.m)])
    w = system.w0.copy()
    for _ in range(2):
        matrix = system.jacobian(w)[free][:, free].tocsc()
        try:
            w[free] -= splu(matrix).solve(system.residual(w)[free])
        except RuntimeError as error:
            at = [d.name for d in system.devices if issubclass(d.component, JunctionBus)]
            raise InputError(
                f"Region: nothing determines the voltages of {first_few(at, 4)}, buses without capacitance"
                " in a ring of branches; give one of them a capacitance (a [[shunt]] with b_mvar > 0), or"
                " the lines a charging b"
            ) from error
    return system.with_start(w[:n], w[n : n + system.m])


def is_series_capacitor(device: Device) -> bool:
    """Return whether a branch of a phasor system is a series capacitor: a line with x < 0.

    A transformer with x < 0 is a branch of the star that stands for one with three windings.
    """
    return issubclass(device.component, Line) and device.parameters["x"] < 0


class _Conversion:
    """Devices of a phasor system, and starting values, as they are with some of them dynamic."""

    def __init__(self, system: System, region: Region, names: frozenset[str], frequency: float) -> None:
        self.system, self.region, self.names, self.frequency = system, region, names, frequency
        everything = (*system.names_x, *system.names_y, *system.names_u)
        self.values: dict[str, float] = dict(zip(everything, map(float, system.w0[:-1]), strict=True))
        self.start: dict[str, float] = {}
        self._require_lines(region.travelling_waves)
        self.charge = ground_susceptances(system, region.travelling_waves)
        self.charged = {bus for bus in buses(system) if bus in names and self.charge[bus] > 0}
        self.junctions = self._junctions()
        self.capacitors = {d.name for d in system.devices if d.name in names and is_series_capacitor(d)}
        self.dependent = self._dependent_ends()
        self.zero = ZeroCircuit()
        if region.zero_sequence:
            self.zero = zero_circuit(system, self.charged, frequency, region.travelling_waves)

    def _dependent_ends(self) -> dict[str, str]:
        """Return the branch whose current follows at each junction.

        Where there is none with the current of an infinite bus a state, that one stays a source of phasors.
        """
        at = at_buses(self.system)
        infinite = {
            bus: {d.name for d in at[bus] if issubclass(d.component, InfiniteBus)} & self.names
            for bus in self.junctions
        }
        # Those with an infinite bus come last: the others get a branch first.
        order = sorted(self.junctions, key=lambda bus: (bool(infinite[bus]), bus))
        dynamic = [b for b in branches_in_service(self.system) if b.name in self.names]
        found = dependent_ends(order, dynamic, sorted(self.capacitors))
        lost = [bus for bus in order if bus not in found]
        if phasors := frozenset[str]().union(*(infinite[bus] for bus in lost)):
            self.names -= phasors
            self.junctions = self._junctions()
            return self._dependent_ends()
        require_paths(lost)
        return found

    def voltage(self, bus: str) -> complex:
        return complex(self.values[f"{bus}.v_re"], self.values[f"{bus}.v_im"])

    def _require_lines(self, waves: tuple[str, ...]) -> None:
        lines = [
            d.name for d in self.system.devices if issubclass(d.component, Line) and d.name in self.names
        ]
        for name in waves:
            if name not in lines:
                raise InputError(
                    f"Region: travelling_waves: {name!r} is no line in the region{nearest(name, lines)}"
                )

    def _junctions(self) -> set[str]:
        found = set()
        waves = set(self.region.travelling_waves)
        fed = {end for branch in branches(self.system) if branch.name in waves for end in branch.ends}
        magnetising = {
            d.name for d in self.system.devices
            if issubclass(d.component, Transformer) and (d.parameters["g"] or d.parameters["b"])
        }  # fmt: skip
        for bus, devices in at_buses(self.system).items():
            # Behind its characteristic impedance a travelling wave leaves the voltage to the currents' sum.
            if bus not in self.names or bus in self.charged or bus in fed:
                continue
            static = [d for d in devices if reads_voltage(self.component(d))]
            feeding = [b.name for b in branches(self.system) if b.ends[0] == bus and b.name in magnetising]
            if feeding and not static:
                raise InputError(
                    f"Region: {feeding[0]} has a magnetising admittance at {bus}, which has no charging: its"
                    " voltage would oscillate at the inductance of that admittance alone; set g = b = 0, or"
                    " give the bus a capacitance (a [[shunt]] with b_mvar > 0)"
                )
            if static:
                require_determined(bus, static, self.values)
            else:
                found.add(bus)
        return found

    def component(self, device: Device) -> type[Component]:
        """Return the component of a load, shunt, machine or converter, dynamic where it is to be."""
        component = device.component
        if device.name not in self.names or not can_be_dynamic(device):
            return component
        if issubclass(component, ZipLoad):
            return DynamicLoad
        return DynamicReactor if issubclass(component, Shunt) else with_stator(component) or component

    def device(self, device: Device) -> Device:
        """Return a device of the new system and note its starting values."""
        if issubclass(device.component, Bus):
            return self._bus(device)
        if "v_re_i" in device.connections and "v_re_j" in device.connections:
            return self._branch(device) if device.name in self.names else device
        bus = device.connections.get("i_re", "").rpartition(".")[0]
        if not bus:
            return self._with_zero_sequence(device)
        if issubclass(device.component, Shunt) and bus in self.charged and device.parameters["b"] > 0:
            wires = {**device.connections, "b": f"{bus}.b"}
            return replace(device, component=DynamicCapacitor, connections=wires)
        return self._at_bus(device, bus)

    def _with_zero_sequence(self, device: Device) -> Device:
        """Return a device that reads the phases of a bus , with the bus's zero sequence."""
        bus = device.connections.get("v_re", "").rpartition(".")[0]
        if "v_0" not in device.component.inputs or bus not in self.zero.kinds:
            return device
        return replace(device, connections={**device.connections, "v_0": f"{zero_name(bus)}.v"})

    def _bus(self, device: Device) -> Device:
        name = device.name
        if name in self.charged:
            i = 1j * self.charge[name] * self.voltage(name)
            self.start |= _pair(f"{name}.i", i) | {f"{name}.b": self.charge[name]}
            values = {**device.parameters, "f_n": self.frequency}
            if self.zero.kinds.get(name) in (CHARGED, PHASOR):
                node = zero_name(name)
                wires = {"v_0": f"{node}.v", "i_0": f"{node}.i"}
                return replace(device, component=ThreePhaseBus, parameters=values, connections=wires)
            return replace(device, component=DynamicBus, parameters=values)
        return replace(device, component=JunctionBus) if name in self.junctions else device

    def _branch(self, device: Device) -> Device:
        p, ends = device.parameters, [device.connections[f"v_re_{e}"].rpartition(".")[0] for e in "ij"]
        line = issubclass(device.component, Line)
        moves = issubclass(device.component, RatioTransformer)
        if moves or not (line or issubclass(device.component, Transformer)):
            raise InputError(
                f"Region: {device.name} is a {device.component.__name__}, which has no dynamic form"
            )
        if p["x"] < 0 and not line and not self.junctions & set(ends):
            raise InputError(
                f"Region: {device.name}.x = {p['x']:g}: a negative inductance between buses with capacitance"
                " is no branch of a star and grows without bound; leave its buses out of the region, or"
                " correct x"
            )
        kinds = {e: self._kind(device.name, bus) for e, bus in zip("ij", ends, strict=True)}
        values = {"f_n": self.frequency, "status": p["status"]}
        values |= {f"end_{e}": float(kind) for e, kind in kinds.items()}
        v = [self.voltage(bus) for bus in ends]
        component: type[Component]
        if device.name in self.region.travelling_waves:
            return self._wave_line(device, (v[0], v[1]))
        if device.name in self.capacitors:
            if CHARGED == kinds["i"] == kinds["j"] and not p["r"] > 0:
                raise InputError(
                    f"Region: {device.name}: a series capacitor without resistance between {ends[0]} and"
                    f" {ends[1]}, which have charging of their own: three capacitors in a ring; move the"
                    " charging to the other end of the line, or give the capacitor r > 0"
                )
            component = DynamicSeriesCapacitor
            values |= {name: p[name] for name in ("r", "x", "b", "g")}
            i = p["status"] * (v[0] - v[1]) / complex(p["r"], p["x"])
            self.start |= _pair(f"{device.name}.i", i) | _pair(f"{device.name}.v", 1j * p["x"] * i)
        elif line:
            n = self.region.sections if p["b"] > 0 else 1
            component, own = DynamicLine, section_values(p["r"], p["x"], p["b"], p["g"], n)
            values |= own | {"sections": float(n)}
            z, y = complex(own["r"], own["x"]), complex(own["g"], own["b"])
            currents, voltages = sections_at_rest(z, y, n, v)
            for k, (current, voltage) in enumerate(zip(currents, voltages, strict=True), 1):
                end = "" if k == 1 else f"_{k}"
                self.start |= _pair(f"{device.name}.i", p["status"] * current, end)
                if k > 1:
                    self.start |= _pair(f"{device.name}.v", p["status"] * voltage, end)
        else:
            component = DynamicTransformer
            values |= {name: p[name] for name in ("r", "x", "tap", "shift", "g", "b")}
            i = p["status"] * (v[0] / cmath.rect(p["tap"], p["shift"]) - v[1]) / complex(p["r"], p["x"])
            self.start |= _pair(f"{device.name}.i", i)
        wires = dict(device.connections)
        for e, bus in zip("ij", ends, strict=True):
            if kinds[e] in (JUNCTION, DEPENDENT):
                wires |= {f"d_{part}_{e}": f"{bus}.d_{part}" for part in ("re", "im")}
            elif kinds[e] == CHARGED and line:
                wires[f"b_{e}"] = f"{bus}.b"
        if issubclass(device.component, MonitoredLine | MonitoredTransformer):
            component = with_read_currents(structure_for(component, values))
        return replace(device, component=component, parameters=values, connections=wires)

    def _wave_line(self, device: Device, v: tuple[complex, complex]) -> Device:
        name, p = device.name, device.parameters
        own = wave_values(name, p["r"], p["x"], p["b"], p["g"], self.frequency)
        rest = waves_at_rest(own, v, self.frequency)
        for quantity, end, value in zip(("current", "current", "b", "b"), "ijij", rest, strict=True):
            self.start |= _pair(f"{name}.{quantity}", p["status"] * value, f"_{end}")
        component: type[Component] = TravellingWaveLine
        if issubclass(device.component, MonitoredLine):
            component = with_read_currents(component)
        values = own | {"f_n": self.frequency, "status": p["status"]}
        wires = {**device.connections, **own_waves(name)}
        return replace(device, component=component, parameters=values, connections=wires)

    def _kind(self, branch: str, bus: str) -> int:
        if bus in self.charged:
            return CHARGED
        if bus not in self.junctions:
            return PHASOR
        return DEPENDENT if self.dependent[bus] == branch else JUNCTION

    def _at_bus(self, device: Device, bus: str) -> Device:
        component, p = self.component(device), dict(device.parameters)
        name, v = device.name, self.voltage(bus)
        if component is not device.component:
            if component is DynamicLoad:
                kept = {key: p[key] for key in parameters_of(StaticLoad)}
                p = {**kept, "v_0": p["v_0"], "p_0": p["p"], "q_0": p["q"]}
                self.start |= _pair(f"{name}.i_l", v * complex(p["p_0"], -p["q_0"]) / p["v_0"] ** 2)
            elif component is DynamicReactor:
                self.start |= _pair(f"{name}.i_l", p["status"] * 1j * p["b"] * v)
            else:
                self.start |= self._stator(device, component, v)
                p["stator_speed"] = float(self.region.stator_speed)
            if "f_n" not in p:
                p["f_n"] = self.frequency
        wires = dict(device.connections)
        if bus in self.junctions:
            component = with_current_rates(component)
            wires |= {f"d_{part}": f"{bus}.d_{part}" for part in ("re", "im")}
        if component is device.component:
            return device
        return replace(device, component=component, parameters=p, connections=wires)

    def _stator(self, device: Device, component: type[Component], v: complex) -> dict[str, float]:
        name, r = device.name, device.parameters["r_a"]
        if "i_l_re" in component.states:
            e = cmath.rect(self._read(device, "e"), self._read(device, "delta"))
            return _pair(f"{name}.i_l", (e - v) / complex(r, device.parameters["x_d1"]))
        i_d, i_q, delta = (self.values[f"{name}.{n}"] for n in ("i_d", "i_q", "delta"))
        u = v * cmath.exp(-1j * (delta - cmath.pi / 2)) + r * complex(i_d, i_q)
        return {f"{name}.psi_d": u.imag, f"{name}.psi_q": -u.real}

    def _read(self, device: Device, variable: str) -> float:
        return self.values[device.connections.get(variable, f"{device.name}.{variable}")]


def _warn_of_loads(conversion: _Conversion) -> None:
    """Warn of loads at dynamic buses that keep a constant current or power at every frequency."""
    found = [
        d.name
        for bus, devices in at_buses(conversion.system).items()
        for d in devices
        if bus in conversion.charged and issubclass(d.component, StaticLoad)
        and not (issubclass(d.component, ZipLoad) and d.parameters["p_z"] == d.parameters["q_z"] == 1)
    ]  # fmt: skip
    if found:
        warn(
            f"Region: {first_few(found, 5)} keep constant current or power up to the fastest"
            ' transients of their buses, which damps nothing there; loads = "impedance" makes them'
            " resistance and inductance"
        )


def _pair(quantity: str, z: complex, end: str = "") -> dict[str, float]:
    return {f"{quantity}_re{end}": z.real, f"{quantity}_im{end}": z.imag}
