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

from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.devices.loads.zip import StaticLoad
from psmr.devices.network import Line, Shunt, Transformer
from psmr.network.sequence.two_port import Complexes
from psmr.network.topology.network import branches
from psmr.network.topology.plants import plants

NEGATIVE, ZERO = 2, 0

LINE_IMPEDANCE, LINE_CHARGING = 3.0, 0.6
"""Zero-sequence impedance and charging of a line in parts of the positive-sequence ones."""

MACHINE_ZERO = 0.5
"""Zero-sequence reactance of a machine in parts of its negative-sequence one."""


@dataclass(frozen=True, eq=False)
class Element:
    """The admittances of a device in one sequence.

    Attributes
    ----------
    device
        Its name.
    buses
        The buses that it stands at.
    admittance
        (k, k) matrix between them; what goes to ground is the sum of a row.
    """

    device: str
    buses: tuple[str, ...]
    admittance: Complexes


@dataclass(frozen=True)
class LineData:
    """Impedance and total admittance to ground of a line in one sequence."""

    z: complex
    y: complex


class Impedances:
    """The devices of a system with their parameters, as one of the networks has them.

    Attributes
    ----------
    assumed
        What was taken by usual ratios: the words, and the devices.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.assumed: dict[str, list[str]] = {}
        self._ends = {branch.name: branch.ends for branch in branches(system)}
        self._sources = {plant.name for plant in plants(system).values()}
        self._source_buses = {plant.bus for plant in plants(system).values()}

    def elements(self, sequence: int, without: Sequence[str]) -> Iterator[Element]:
        """Yield what the devices are to a sequence; those in `without` are not there."""
        for device in self.system.devices:
            if device.name in without:
                continue
            p = self.parameters(device)
            bus = device.connections.get("i_re", "").rpartition(".")[0]
            if device.name in self._ends:
                ends = self._ends[device.name]
                yield Element(device.name, ends, self._branch(device, p, ends, sequence))
            elif issubclass(device.component, Shunt):
                yield self._to_ground(device, bus, self._grounded(device, complex(p.g, p.b), sequence, "YN"))
            elif issubclass(device.component, StaticLoad):
                y = (1 - p.shed) * complex(p.p, -p.q) / getattr(p, "v_0", 1.0) ** 2
                yield self._to_ground(device, bus, self._grounded(device, y, sequence, "Y"))
            elif (bus and device.name in self._sources) or device.component.role == "motor":
                yield self._to_ground(device, bus, self._rotating(device, p, sequence))

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

    def _branch(self, device: Device, p: SimpleNamespace, ends: tuple[str, str], sequence: int) -> Complexes:
        if issubclass(device.component, Transformer):
            return self._transformer(device, p, ends, sequence)
        if not issubclass(device.component, Line):
            self._assume("no path in the negative- and zero-sequence networks", device)
            return np.zeros((2, 2), dtype=complex)
        data = self.line(device, p, sequence)
        series, end = 1.0 / data.z, data.y / 2
        return np.array([[series + end, -series], [-series, series + end]])

    def _transformer(
        self, device: Device, p: SimpleNamespace, ends: tuple[str, str], sequence: int
    ) -> Complexes:
        """Return the admittances of a transformer.

        In the negative sequence the phase shift turns the other way; in the zero sequence current flows where
        a neutral is grounded, and through where both are.
        """
        z = complex(p.r, p.x)
        if sequence == NEGATIVE:
            a, y = cmath.rect(p.tap, -p.shift), 1.0 / z
            own = (y + complex(p.g, p.b)) / p.tap**2
            return np.array([[own, -y / a.conjugate()], [-y / a, y]])
        data = device.data
        z0 = _complex(data, "r0", "x0")
        if z0 is None:
            z0 = z
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
        block = np.zeros((2, 2), dtype=complex)
        if first and second:
            series = 1.0 / (z0 + neutral[0] / p.tap**2 + neutral[1])
            block += series * np.array([[1 / p.tap**2, -1 / p.tap], [-1 / p.tap, 1]])
        elif first and connection.endswith("d"):
            block[0, 0] = 1.0 / (p.tap**2 * z0 + neutral[0])
        elif second and connection.startswith("D"):
            block[1, 1] = 1.0 / (z0 + neutral[1])
        return block

    def _grounded(self, device: Device, y: complex, sequence: int, usual: str) -> complex:
        """Return the admittance of a shunt or load: in the zero sequence where its neutral is grounded."""
        if sequence == NEGATIVE:
            return y
        given = _complex(device.data, "g0", "b0")
        if given is not None:
            return given
        connection = device.data.get("connection", "")
        if not connection and y:
            words = "neutral grounded" if usual == "YN" else "neutral not grounded"
            self._assume(f"{'shunts' if usual == 'YN' else 'loads'}: {words}", device)
        return y if (connection or usual) == "YN" else 0j

    def _rotating(self, device: Device, p: SimpleNamespace, sequence: int) -> complex:
        """Return the admittance of a machine, motor or converter."""
        z2, data = _complex(device.data, "r2", "x2"), device.data
        base = p.s_base / p.s_n if getattr(p, "s_n", 0.0) else 0.0
        if z2 is None:
            reactance = _negative_reactance(p)
            if reactance is None or not base:
                self._assume("converters and others: no negative- and zero-sequence current", device)
                return 0j
            words, x = reactance
            z2 = base * complex(getattr(p, "r_a", getattr(p, "r_s", 0.0)), x)
            self._assume(words, device)
        if sequence == NEGATIVE:
            return 1.0 / z2
        if device.component.role == "motor" or data.get("connection", "YN") != "YN":
            return 0j
        z0 = _complex(data, "r0", "x0")
        if z0 is None:
            z0 = complex(z2.real, MACHINE_ZERO * z2.imag)
            self._assume(f"machines: x0 = {MACHINE_ZERO:g} x2, neutral grounded", device)
        neutral = complex(float(data.get("r_ground", 0.0)), float(data.get("x_ground", 0.0)))
        return 1.0 / (z0 + 3 * neutral)

    def _to_ground(self, device: Device, bus: str, y: complex) -> Element:
        return Element(device.name, (bus,), np.array([[y]]))

    def _assume(self, words: str, device: Device) -> None:
        names = self.assumed.setdefault(words, [])
        if device.name not in names:
            names.append(device.name)


def _complex(data: Mapping[str, float | str], re: str, im: str) -> complex | None:
    """Return what is given of a pair of data, the part that is left out as zero; None where neither is."""
    if re not in data and im not in data:
        return None
    return complex(float(data.get(re, 0.0)), float(data.get(im, 0.0)))


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
