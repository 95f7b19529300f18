"""What each device is to the negative- and zero-sequence networks, by its data or by the usual ratios.

A device gives admittances between its buses and the ground in per unit on the system base. Sources: Anderson,
Analysis of Faulted Power Systems (1973), chapters 4 to 7; Grainger and Stevenson, Power System Analysis
(1994), sections 11.4 to 11.9; the ratios are this program's where no data are given, and are said.
"""

from __future__ import annotations

import cmath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from psmr.base.arrays import Complexes
from psmr.base.errors import first_few, warn
from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.devices.loads.zip import StaticLoad
from psmr.devices.network import Line, Shunt, Transformer
from psmr.devices.placement import placement
from psmr.network.topology.islands import plants
from psmr.network.topology.network import branch_ends

GROUND = ""
"""The second end of a path to ground."""


@dataclass(frozen=True)
class Path:
    """A series impedance through which zero-sequence current flows.

    `first`, `second`: its ends, buses or `GROUND`.
    `z`: impedance in pu on the system base, seen from the second end.
    `tap`: turns ratio at the first end.
    """

    first: str
    second: str
    z: complex
    tap: float = 1.0


@dataclass(frozen=True)
class ZeroSequence:
    """What a device is in the zero sequence.

    `paths`: its impedances.
    `admittances`: (bus, admittance to ground in pu) pairs.
    """

    paths: tuple[Path, ...] = ()
    admittances: tuple[tuple[str, complex], ...] = ()

    def admittance(self, buses: Sequence[str]) -> Complexes:
        """Return the (k, k) admittance matrix between the buses of the device."""
        found = np.zeros((len(buses), len(buses)), dtype=complex)
        for path in self.paths:
            ends = [(path.first, 1 / path.tap), (path.second, -1.0)]
            at = [(buses.index(bus), factor) for bus, factor in ends if bus != GROUND]
            for row, own in at:
                for column, other in at:
                    found[row, column] += own * other / path.z
        for bus, y in self.admittances:
            found[buses.index(bus), buses.index(bus)] += y
        return found


NOTHING = ZeroSequence()


def grounded(bus: str, y: complex, lossless: bool = False) -> ZeroSequence:
    """Return an admittance to ground, as a path where it is an inductance that carries current.

    `bus`: the bus at which it is; `y`: the admittance in pu; `lossless`: whether a conductance is beside the
    inductance; otherwise both are in series.
    """
    if not y:
        return NOTHING
    if y.imag >= 0 or (y.real < 0 and not lossless):
        return ZeroSequence((), ((bus, y),))
    if not lossless:
        return ZeroSequence((Path(bus, GROUND, 1 / y),))
    beside = ((bus, complex(y.real)),) if y.real else ()
    return ZeroSequence((Path(bus, GROUND, 1j / -y.imag),), beside)


NEGATIVE, ZERO = 2, 0

LINE_IMPEDANCE, LINE_CHARGING = 3.0, 0.6
"""Zero-sequence impedance and charging of a line in parts of the positive-sequence ones."""

MACHINE_ZERO = 0.5
"""Zero-sequence reactance of a machine in parts of its negative-sequence one."""


@dataclass(frozen=True, eq=False)
class Element:
    """The admittances of a device in one sequence.

    `device`: its name.
    `buses`: the buses that it stands at.
    `admittance`: (k, k) matrix between them; what goes to ground is the sum of a row.
    """

    device: str
    buses: tuple[str, ...]
    admittance: Complexes


@dataclass(frozen=True)
class LineData:
    """Impedance and total admittance to ground of a line in one sequence."""

    z: complex
    y: complex


def pi_admittance(z: complex, y: complex) -> Complexes:
    """Return the (2, 2) admittance matrix of a line of an impedance, half of its admittance at either end."""
    series, end = 1.0 / z, y / 2
    return np.array([[series + end, -series], [-series, series + end]])


class Impedances:
    """The devices of a system with their parameters, as one of the networks has them.

    `assumed`: what was taken by usual ratios: the words, and the devices.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.assumed: dict[str, list[str]] = {}
        self._ends = branch_ends(system)
        self._sources = {plant.name for plant in plants(system).values()}
        self._source_buses = {plant.bus for plant in plants(system).values()}

    def elements(self, sequence: int, without: Sequence[str]) -> Iterator[Element]:
        """Yield what the devices are to a sequence; those in `without` are not there."""
        for device in self.system.devices:
            bus = device.connections.get("i_re", "").rpartition(".")[0]
            ends = self._ends.get(device.name, (bus,))
            if device.name in without or not any(ends):
                continue
            if sequence == ZERO:
                yield Element(device.name, ends, self.zero_sequence(device).admittance(ends))
            elif (admittance := self._negative(device, self.parameters(device))) is not None:
                yield Element(device.name, ends, admittance)

    def zero_sequence(self, device: Device) -> ZeroSequence:
        """Return the impedances and admittances of a device in the zero sequence."""
        p, component = self.parameters(device), device.component
        bus = device.connections.get("i_re", "").rpartition(".")[0]
        if device.name in self._ends:
            return self._zero_of_branch(device, p, self._ends[device.name])
        if issubclass(component, Shunt):
            return grounded(bus, self._grounded(device, complex(p.g, p.b), "YN"), lossless=True)
        if issubclass(component, StaticLoad):
            return grounded(bus, self._grounded(device, _impedance_load(p), "Y"))
        if self._rotates(device):
            z = self._zero_of_source(device, p)
            return NOTHING if z is None else ZeroSequence((Path(bus, "", z),))
        return NOTHING

    def _negative(self, device: Device, p: SimpleNamespace) -> Complexes | None:
        """Return the admittances of a device in the negative sequence, None where it has none."""
        component = device.component
        if device.name in self._ends:
            return self._negative_of_branch(device, p)
        if issubclass(component, Shunt):
            return np.array([[complex(p.g, p.b)]])
        if issubclass(component, StaticLoad):
            return np.array([[_impedance_load(p)]])
        if not self._rotates(device):
            return None
        z = self._negative_impedance(device, p)
        return np.array([[0j if z is None else 1.0 / z]])

    def _rotates(self, device: Device) -> bool:
        return device.name in self._sources or placement(device.component).role == "motor"

    def parameters(self, device: Device) -> SimpleNamespace:
        """Return the parameters of a device as the system has them now."""
        return SimpleNamespace(**self.system.parameters_at(device.name))

    def line(self, device: Device, p: SimpleNamespace, sequence: int) -> LineData:
        """Return the impedance and admittance of a line."""
        z, y = complex(p.r, p.x), complex(p.g, p.b)
        if sequence == NEGATIVE:
            return LineData(z, y)
        data = device.data
        z0 = _complex(data, "r0", "x0")
        if z0 is None:
            z0 = LINE_IMPEDANCE * z
            self._assume(f"lines: z0 = {LINE_IMPEDANCE:g} z1", device)
        y0 = _complex(data, "g0", "b0")
        if y0 is None:
            y0 = LINE_CHARGING * y
            if y:
                self._assume(f"charging: b0 = {LINE_CHARGING:g} b1", device)
        return LineData(z0, y0)

    def _negative_of_branch(self, device: Device, p: SimpleNamespace) -> Complexes:
        """Return the admittances of a branch; the phase shift of a transformer turns the other way."""
        if issubclass(device.component, Transformer):
            a, y = cmath.rect(p.tap, -p.shift), 1.0 / complex(p.r, p.x)
            own = (y + complex(p.g, p.b)) / p.tap**2
            return np.array([[own, -y / a.conjugate()], [-y / a, y]])
        if not issubclass(device.component, Line):
            return self._no_path(device).admittance(self._ends[device.name])
        data = self.line(device, p, NEGATIVE)
        return pi_admittance(data.z, data.y)

    def _zero_of_branch(self, device: Device, p: SimpleNamespace, ends: tuple[str, str]) -> ZeroSequence:
        if issubclass(device.component, Transformer):
            return self._zero_of_transformer(device, p, ends)
        if not issubclass(device.component, Line):
            return self._no_path(device)
        data = self.line(device, p, ZERO)
        return ZeroSequence((Path(*ends, data.z),), tuple((end, data.y / 2) for end in ends if data.y))

    def _no_path(self, device: Device) -> ZeroSequence:
        self._assume("no path in the negative- and zero-sequence networks", device)
        return NOTHING

    def _zero_of_transformer(self, device: Device, p: SimpleNamespace, ends: tuple[str, str]) -> ZeroSequence:
        """Return the paths of a transformer.

        Zero-sequence current flows where a neutral is grounded, and through where both are.
        """
        data = device.data
        z0 = _complex(data, "r0", "x0")
        if z0 is None:
            z0 = complex(p.r, p.x)
            self._assume("transformers: z0 = z1", device)
        connection = str(data.get("connection", ""))
        if not connection:
            fed = [end in self._source_buses for end in ends]
            connection = {(True, False): "Dyn", (False, True): "YNd"}.get((fed[0], fed[1]), "YNyn")
            self._assume("transformers: connection YNyn, with a delta at the generators of a plant", device)
        first, second = connection.startswith("YN"), connection.endswith("yn")
        neutral = [
            3 * complex(float(data.get(f"r_ground{end}", 0.0)), float(data.get(f"x_ground{end}", 0.0)))
            for end in ("", "_to")
        ]
        if first and second:
            return ZeroSequence((Path(*ends, z0 + neutral[0] / p.tap**2 + neutral[1], p.tap),))
        if first and connection.endswith("d"):
            return ZeroSequence((Path(ends[0], "", p.tap**2 * z0 + neutral[0]),))
        if second and connection.startswith("D"):
            return ZeroSequence((Path(ends[1], "", z0 + neutral[1]),))
        return NOTHING

    def _grounded(self, device: Device, y: complex, usual: str) -> complex:
        """Return the zero-sequence admittance of a shunt or load: y where its neutral is grounded."""
        given = _complex(device.data, "g0", "b0")
        if given is not None:
            return given
        connection = device.data.get("connection", "")
        if not connection and y:
            words = "neutral grounded" if usual == "YN" else "neutral not grounded"
            self._assume(f"{'shunts' if usual == 'YN' else 'loads'}: {words}", device)
        return y if (connection or usual) == "YN" else 0j

    def _negative_impedance(self, device: Device, p: SimpleNamespace) -> complex | None:
        """Return the negative-sequence impedance of a machine, motor or converter, None where none flows."""
        z2 = _complex(device.data, "r2", "x2")
        if z2 is not None:
            return z2
        base = p.s_base / p.s_n if getattr(p, "s_n", 0.0) else 0.0
        reactance = _negative_reactance(p)
        if reactance is None or not base:
            self._assume("converters and others: no negative- and zero-sequence current", device)
            return None
        words, x = reactance
        self._assume(words, device)
        return base * complex(getattr(p, "r_a", getattr(p, "r_s", 0.0)), x)

    def _zero_of_source(self, device: Device, p: SimpleNamespace) -> complex | None:
        """Return the impedance of a source to ground, None where no current flows."""
        data = device.data
        if placement(device.component).role == "motor" or data.get("connection", "YN") != "YN":
            return None
        z0 = _complex(data, "r0", "x0")
        if z0 is None:
            z2 = self._negative_impedance(device, p)
            if z2 is None:
                return None
            z0 = complex(z2.real, MACHINE_ZERO * z2.imag)
            self._assume(f"machines: x0 = {MACHINE_ZERO:g} x2, neutral grounded", device)
        return z0 + 3 * complex(float(data.get("r_ground", 0.0)), float(data.get("x_ground", 0.0)))

    def _assume(self, words: str, device: Device) -> None:
        names = self.assumed.setdefault(words, [])
        if device.name not in names:
            names.append(device.name)


def _complex(data: Mapping[str, float | str], re: str, im: str) -> complex | None:
    """Return what is given of a pair of data, the part that is left out as zero; None where neither is."""
    if re not in data and im not in data:
        return None
    return complex(float(data.get(re, 0.0)), float(data.get(im, 0.0)))


def _impedance_load(p: SimpleNamespace) -> complex:
    """Return the admittance of a load that is left of it."""
    return (1 - p.shed) * complex(p.p, -p.q) / getattr(p, "v_0", 1.0) ** 2


def _negative_reactance(p: SimpleNamespace) -> tuple[str, float] | None:
    """Return the usual negative-sequence reactance of a machine or motor and how it is found."""
    if hasattr(p, "x_2"):
        return "machines: x2 = x''", p.x_2
    if hasattr(p, "x_q1"):
        return "machines: x2 = (x'd + x'q) / 2", (p.x_d1 + p.x_q1) / 2
    if hasattr(p, "x_d1"):
        return "machines: x2 = x'd", p.x_d1
    if hasattr(p, "x_r"):
        return "motors: x2 = xs + xm xr / (xm + xr)", p.x_s + p.x_m * p.x_r / (p.x_m + p.x_r)
    return None


FEW = 8
"""Devices that a message names one by one."""


def warn_of_assumptions(system: System) -> None:
    """Warn of each usual ratio that is taken in place of sequence data, with the devices."""
    impedances = Impedances(system)
    for sequence in (NEGATIVE, ZERO):
        for _ in impedances.elements(sequence, ()):
            pass
    if impedances.assumed:
        warn(assumed_words(impedances.assumed))


def assumed_words(assumed: Mapping[str, list[str]]) -> str:
    """Return the sentence on ratios that are taken in place of data, with the devices of each."""
    parts = [f"{words} ({first_few(names, FEW)})" for words, names in assumed.items()]
    return (
        "unbalanced faults need sequence data that the case does not have; assumed are "
        f"{'; '.join(parts)}; give them as [[sequence]] or in a SEQ file"
    )
