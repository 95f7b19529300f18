"""From the tables of direct current to devices, and what they start from: the solution of their grids.

Everything on the DC side is in pu of the system base and of the grid's voltage base. The ratio of a
line-commutated converter's transformer follows from its angle at the start and the AC voltage of the power
flow, so that its power and reactive power are those of its load to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace

from psmr.base.errors import CaseError
from psmr.dae.declare.component import NumericMath
from psmr.dae.declare.device import Device
from psmr.devices.direct_current.grid import BOTH_WAYS, ONE_WAY, DcBus, DcLine, DcNode
from psmr.devices.direct_current.line_commutated import RADIANS
from psmr.devices.direct_current.line_control import CURRENT, POWER, vdcol
from psmr.devices.direct_current.voltage_source import FIRST
from psmr.network.case.case import Case
from psmr.network.case.direct_current import (
    INVERTER,
    RECTIFIER,
    SOURCE,
    DcConverterRow,
    DcLineRow,
    DcSolution,
    solved_grids,
)
from psmr.network.case.row import LoadRow
from psmr.network.case.rows import component_of, device_parameters

ABOVE = 1.05
"""Voltage order, of the voltage at the start, of an inverter that holds something else then."""
HOLDS = 1e-9
"""Difference in rad from gamma_min at which an inverter holds its margin angle."""


@dataclass(frozen=True)
class DirectCurrent:
    """The DC grids of a case at its power flow, with voltages of AC buses by number in pu."""

    case: Case
    solution: DcSolution
    voltage: Mapping[int, complex]

    @classmethod
    def of(cls, case: Case, voltage: Mapping[int, complex]) -> DirectCurrent:
        """Return those of a case."""
        return cls(case, solved_grids(case.dc_buses, case.dc_lines, case.dc_converters), voltage)

    def devices(self) -> Iterator[tuple[Device, dict[str, float]]]:
        """Yield DC buses, lines, converters and controls, each with its starting values by variable.

        Raises CaseError for a start that a converter or control does not allow.
        """
        for bus in self.case.dc_buses:
            v = self.solution.v[bus.name] / bus.base_kv
            if bus.c_uf:
                yield Device(bus.name, DcBus, {"c": bus.c_uf * 1e-6 * self._ohm(bus.name)}), {"v": v}
            else:
                yield Device(bus.name, DcNode, {}), {"v": v}
        for line in self.case.dc_lines:
            yield self._line(line)
            if line.device is not None:
                yield self._control(line)
        for row in self.case.dc_converters:
            yield self._commutated(row) if row.commutated else self._source(row)
        self._check_voltage_control()

    def _check_voltage_control(self) -> None:
        """Raise CaseError for a grid in which no converter does anything for the DC voltage."""
        for own in map(self._in, self.solution.grids):
            passive = all(row.device.type in (SOURCE, RECTIFIER) for row in own)
            if passive and not any(row.device.values.get(key) for row in own for key in ("k_dc", "k_idc")):
                raise CaseError(
                    f"{own[0].device.place}: k_dc = k_idc = 0: no converter of its DC grid"
                    f" ({', '.join(row.name for row in own)}) controls the DC voltage; give one of them a"
                    " droop (k_dc) or a regulator (k_idc)"
                )

    def _in(self, grid: frozenset[str]) -> list[DcConverterRow]:
        return [row for row in self.case.dc_converters if row.dc_bus in grid]

    # Bases of voltages, impedances and currents at a DC bus.
    def _kv(self, bus: str) -> float:
        return next(row.base_kv for row in self.case.dc_buses if row.name == bus)

    def _ohm(self, bus: str) -> float:
        return self._kv(bus) ** 2 / self.case.base_mva

    def _ka(self, bus: str) -> float:
        return self.case.base_mva / self._kv(bus)

    def _load(self, row: DcConverterRow) -> LoadRow:
        return next(load for load in self.case.loads if load.name == row.name)

    def _line(self, row: DcLineRow) -> tuple[Device, dict[str, float]]:
        ends, i = (row.from_bus, row.to_bus), self.solution.line[row.name] / self._ka(row.from_bus)
        one_way = any(
            end == other.dc_bus for other in self.case.dc_converters if other.commutated for end in ends
        )
        if one_way and i < 0:
            raise CaseError(
                f"{row.place}: from = {row.from_bus!r}: a line at a line-commutated converter leads from the"
                f" rectifier to the inverter, and its current is {self.solution.line[row.name]:g} kA; swap"
                " from and to"
            )
        ohm = self._ohm(row.from_bus)
        values = {
            "r": row.r_ohm / ohm,
            "l": row.l_mh / 1000 / ohm,
            "i_min": ONE_WAY if one_way else BOTH_WAYS,
        }
        wires = {f"v_{k}": f"{end}.v" for k, end in zip("ij", ends, strict=True)}
        wires |= {f"i_{k}": f"{end}.balance" for k, end in zip("ij", ends, strict=True)}
        return Device(row.name, DcLine, values, wires), {"i": i}

    def _ends(self, line: DcLineRow) -> tuple[DcConverterRow, DcConverterRow]:
        """Return the rectifier and the inverter of a controlled line."""
        own = next(self._in(grid) for grid in self.solution.grids if line.from_bus in grid)
        found = {row.device.type: row for row in own}
        if len(own) != 2 or found.keys() != {RECTIFIER, INVERTER}:
            raise CaseError(
                f"{line.place}: control: its DC grid has {', '.join(row.device.type for row in own)}; a"
                f" control of this type is that of one {RECTIFIER} and one {INVERTER}"
            )
        return found[RECTIFIER], found[INVERTER]

    def _volts(self, row: DcConverterRow) -> tuple[float, float]:
        """Return voltage and current of a converter in pu, the current in the direction of its valves."""
        v, i = self.solution.converter[row.name]
        return v / self._kv(row.dc_bus), abs(i) / self._ka(row.dc_bus)

    def _terminals(self, row: DcConverterRow, wires: dict[str, str]) -> dict[str, str]:
        bus = self.case.bus(self._load(row).bus).name
        ac = {port: f"{bus}.{port}" for port in ("v_re", "v_im", "i_re", "i_im")}
        return ac | {"v_d": f"{row.dc_bus}.v", "i_d": f"{row.dc_bus}.balance"} | wires

    def _commutated(self, row: DcConverterRow) -> tuple[Device, dict[str, float]]:
        v_kv, i_ka = self.solution.converter[row.name]
        row.require(
            (i_ka > 0) == (row.device.type == RECTIFIER) and v_kv > 0,
            "device",
            f"{row.device.type}: must be the other: its current into the grid is {i_ka:g} kA at {v_kv:g} kV",
        )
        right = "must be a DC bus without capacitance, behind a line with the smoothing reactor (l_mh)"
        capacitive = any(bus.name == row.dc_bus and bus.c_uf > 0 for bus in self.case.dc_buses)
        row.require(not capacitive, "dc_bus", right)
        right = (
            f"must be at least the current at the start, {abs(i_ka):.6g} kA: the order is beyond the rating"
        )
        row.require(row.i_rated_ka >= abs(i_ka), "i_rated_ka", right)
        v, i = self._volts(row)
        ohm, load = self._ohm(row.dc_bus), self._load(row)
        ac = abs(self.voltage[load.bus])
        values = dict(row.device.parameters)
        lines = (line for line in self.case.dc_lines if line.device is not None and row in self._ends(line))
        line = next(lines, None)
        if line is not None and line.device is not None:
            name, own = ("alfdy", "alpha_min") if row.device.type == RECTIFIER else ("gamdy", "gamma_min")
            values[own] = line.device.parameters[name] * RADIANS
        commutation, resistance = row.drops
        values |= {
            "k": row.no_load(v_kv, i_ka) / self._kv(row.dc_bus) / ac,
            "d_x": commutation / ohm,
            "d_r": resistance / ohm,
            "i_n": row.i_rated_ka / self._ka(row.dc_bus),
        }
        angle, end = row.angle_deg * RADIANS, row.end_angle(v_kv, i_ka)
        sign = 1 if row.device.type == RECTIFIER else -1
        start = {"i": i, "p_ac": sign * v * i, "q_ac": load.q_mvar / self.case.base_mva}
        defaults = row.device.values | values
        if sign > 0:
            least = defaults["alpha_min"]
            right = f"must be at least the smallest firing angle, {least / RADIANS:g} degrees"
            row.require(angle >= least, "angle_deg", right)
            start |= {"alpha": angle, "x": angle}
        else:
            least = defaults["gamma_min"]
            right = f"must be at least the smallest margin angle, {least / RADIANS:g} degrees"
            row.require(angle >= least - HOLDS, "angle_deg", right)
            start |= {"beta": end, "x": end, "gamma": angle}
        orders = self._orders(row, angle - defaults.get("gamma_min", 0.0) <= HOLDS, defaults)
        if sign < 0:
            of_voltage = defaults["k_v"] * (v - orders["v_ord"]) / defaults["v_n"]
            start["e"] = max(of_voltage, defaults["gamma_min"] - angle)
        component = component_of(row.device)
        if line is None:
            start |= orders
            wires = {}
        else:
            ports = ("i_ord", "on") if sign > 0 else ("i_ord", "v_ord", "shorted")
            wires = {port: f"{line.name}-control.{port}" for port in ports}
        return Device(row.name, component, values, self._terminals(row, wires)), start

    def _orders(self, row: DcConverterRow, at_margin: bool, p: Mapping[str, float]) -> dict[str, float]:
        """Return the set-points with which a converter holds what it has at the start."""
        v, i = self._volts(row)
        if row.device.type == RECTIFIER:
            return {"i_ord": i}
        if row.v_kv is not None:
            return {"i_ord": i, "v_ord": v * ABOVE if at_margin else v}
        return {"i_ord": i + p["margin"] * p["i_n"], "v_ord": v * ABOVE}

    def _control(self, line: DcLineRow) -> tuple[Device, dict[str, float]]:
        assert line.device is not None
        rectifier, inverter = self._ends(line)
        (v_r, i), (v_i, _) = self._volts(rectifier), self._volts(inverter)
        at_margin = abs(inverter.angle_deg - line.device.parameters["gamdy"]) * RADIANS <= HOLDS
        v_ord = self._orders(inverter, at_margin, inverter.device.values)["v_ord"]
        at_rectifier = float(line.holds == "power")
        # The sum of the resistances between both, as the solution has it.
        r_line = (v_r - v_i) / i
        values = device_parameters(line.device, self.case, 1.0) | {
            "v_base": self._kv(line.from_bus),
            "i_base": self._ka(line.from_bus) * 1000,
            "mode": float(CURRENT if line.holds == "current" else POWER),
            "at_rectifier": at_rectifier,
            "r_line": r_line,
            "vcmod": line.vcmod_kv,
            "i_set": i,
        }
        volts = v_i + at_rectifier * r_line * i
        order = i if line.holds == "current" else volts * i
        start = {"v_m": v_i, "i_m": i, "r_i": 1.0, "r_v": 1.0, "i_ord": i, "v_ord": v_ord, "on": 1.0}
        start |= {"order": order, "v_set": v_ord} | ({"v_rm": v_r} if line.device.type == "CDC6T" else {})
        device = Device(f"{line.name}-control", component_of(line.device), values, self._measured(line))
        self._check_orders(line, device, i, v_i)
        return device, start

    def _measured(self, line: DcLineRow) -> dict[str, str]:
        ends = self._ends(line)
        found = {"i": f"{line.name}.i"}
        for row, volts, ac in zip(ends, ("v_r", "v_i"), "uw", strict=True):
            bus = self.case.bus(self._load(row).bus).name
            found |= {volts: f"{row.dc_bus}.v", f"{ac}_re": f"{bus}.v_re", f"{ac}_im": f"{bus}.v_im"}
        return found

    def _check_orders(self, line: DcLineRow, device: Device, i: float, v_i: float) -> None:
        """Raise CaseError for a start below the least current order or beyond what the VDCOL allows."""
        p = SimpleNamespace(**device.parameters)
        allowed, amperes = float(vdcol(NumericMath, v_i, p)), device.parameters["i_base"]
        control = line.device
        assert control is not None
        if i > allowed * (1 + 1e-12):
            raise CaseError(
                f"{control.place}: v3 = {p.v3:g}, c3 = {p.c3:g}: the VDCOL allows {allowed * amperes:.6g} A"
                f" at the {v_i * p.v_base:.6g} kV of the start, and the line carries {i * amperes:.6g} A;"
                " raise c3, or lower the power"
            )
        if i < p.c0 / amperes:
            raise CaseError(
                f"{control.place}: c0 = {p.c0:g}: the line carries {i * amperes:.6g} A at the start; lower c0"
            )
        u, w = (abs(self.voltage[self._load(row).bus]) for row in self._ends(line))
        at_rectifier, at_inverter = f"{u:.4g} pu at its rectifier", f"{w:.4g} pu at its inverter"
        for name, value, start, act in (
            ("vblock", u, at_rectifier, "block"),
            ("vbypas", v_i * p.v_base, f"{v_i * p.v_base:.6g} kV at its inverter", "bypass it"),
            ("vdeblk", u, at_rectifier, "block"),
            ("vinblk", w, at_inverter, "block"),
            ("vdebyp", w, at_inverter, "bypass it"),
        ):
            if getattr(p, name, 0.0) > value:
                raise CaseError(
                    f"{control.place}: {name} = {getattr(p, name):g}: the line starts with {start}, and would"
                    f" {act} at once; lower {name}"
                )

    def _source(self, row: DcConverterRow) -> tuple[Device, dict[str, float]]:
        """Return a voltage-source converter, its power and reactive power those of its load."""
        v_d, load = self.solution.converter[row.name][0] / self._kv(row.dc_bus), self._load(row)
        i = self.solution.converter[row.name][1] / self._ka(row.dc_bus)
        base, ac = self.case.base_mva, abs(self.voltage[load.bus])
        p, q = load.p_mw / base, -load.q_mvar / base
        values = device_parameters(row.device, self.case, ac) | {
            "loss_a": row.loss_mw / base,
            "loss_b": row.loss_kv / self._kv(row.dc_bus),
        }
        own = row.device.values | values
        size = math.hypot(p, q) / ac
        if size > FIRST * own["i_max"]:
            raise CaseError(
                f"{row.device.place}: i_max = {own['i_max']:g}: the converter carries {size:.6g} pu at the"
                f" start: its order is beyond its rating, of which {FIRST:g} are for one current; raise"
                " i_max, or lower its power"
            )
        if own["x_r"] and q > ac * (own["v_cmax"] - ac) / own["x_r"]:
            raise CaseError(
                f"{row.device.place}: v_cmax = {own['v_cmax']:g}: drives less than the {q:.6g} pu of reactive"
                f" power of the start through x_r = {own['x_r']:g}; raise v_cmax, or lower the power"
            )
        if own["ac"] and not own["q_min"] <= q <= own["q_max"]:
            raise CaseError(
                f"{row.device.place}: q_min = {own['q_min']:g}, q_max = {own['q_max']:g}: the converter gives"
                f" {q:.6g} pu at the start; widen them, or change the power flow"
            )
        start = {"p_ac": p, "v_m": ac, "x_q": q * own["ac"], "i": i, "i_p": p / ac, "i_q": q / ac, "p_ref": p}
        start |= {"v_dref": v_d, "ac_ref": ac + own["droop"] * q if own["ac"] else q}
        if own["ac"] and not own["k_iac"]:  # without an integral the error of the voltage gives all of q
            if not own["k_ac"]:
                raise CaseError(
                    f"{row.device.place}: k_ac = k_iac = 0: nothing holds the AC voltage; give it an integral"
                    " gain k_iac (1/TAC of VSCDCT), or let it hold its reactive power (ac = 0)"
                )
            start |= {"x_q": 0.0, "ac_ref": start["ac_ref"] + q / own["k_ac"]}
        return Device(row.name, component_of(row.device), values, self._terminals(row, {})), start


def dc_devices(case: Case, voltage: Mapping[int, complex]) -> tuple[list[Device], dict[str, float]]:
    """Return the devices of a case's DC grids, and their starting values by full name."""
    if not case.dc_buses:
        return [], {}
    found = list(DirectCurrent.of(case, voltage).devices())
    start = {f"{device.name}.{name}": x for device, values in found for name, x in values.items()}
    return [device for device, _ in found], start
