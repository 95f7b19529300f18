"""Networks of PowSyBl as cases: CGMES, UCTE-DEF, IIDM and whatever else pypowsybl imports.

The case is built from the network's own tables, in ohms and kV, and not through another format:

- the buses are those of PowSyBl's bus view, in its order, with the solution that the file stores (of CGMES
  the SV profile) where it has one; a transformer of three windings and a boundary line have one more each;
- taps are where the stored solution has them; a line between two nominal voltages is a transformer;
- of a branch that is open at one end its admittances stay at the other;
- buses that a line without impedance joins are one;
- what a boundary line carries is a load at its boundary; the two of a tie line meet there;
- generators hold the voltage of the bus that they regulate, or their power, and so do static var
  compensators; the slack is the generator whose stored power is farthest from its target, else the largest.

Direct current is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from psmr.base.arrays import Reals
from psmr.base.errors import CaseError, warn
from psmr.files.load_flow_rules import (
    Joint,
    energised_rows,
    join_buses,
    with_common_voltages,
    with_one_voltage,
)
from psmr.network.case.case import Case
from psmr.network.case.tables import (
    BusRow,
    DeviceRow,
    GeneratorRow,
    LineRow,
    LoadRow,
    ShuntRow,
    TransformerRow,
    device_name,
)
from psmr.network.case.tap_changers import delay_times

BASE_MVA = 100.0
POWER = (0.0, 0.0, 1.0)
DIRECT_CURRENT = ("hvdc_lines", "vsc_converter_stations", "lcc_converter_stations", "dc_nodes")
MISSED = 1e-3
"""Stored less target power in MW that tells a slack."""
NONE, STANDS_IN = 1e-8, 1e-6
"""Impedance in pu below which a branch has none, as in PowSyBl's load flow; what stands in behind a ratio."""
SIDES = {"": "", "1": "ONE", "2": "TWO", "3": "THREE"}
"""What PowSyBl calls the windings of a transformer."""
WIDER = 1.2
"""Width of a dead band that has none, as a multiple of what a step changes without load."""
UNEVEN = 1e-3
"""Part of a step by which steps may be off even ones."""
EVEN = 1e-9
"""By how much the two ends of a line may differ, relatively, and be taken for equal."""


def from_powsybl(network: Any, frequency_hz: float = 50.0, tap_changers: Sequence[float] = ()) -> Case:
    """Return a PowSyBl network as a case, without dynamic devices.

    Parameters
    ----------
    network
        A ``pypowsybl.network.Network``, not in per unit.
    frequency_hz
        Nominal frequency, which the network does not say.
    tap_changers
        Delays in s of the first and of further moves, ``(30.0, 5.0)``, with which tap changers under load
        that regulate a voltage or an active power do so in a run; without, they stand still.

    Raises
    ------
    CaseError
        For something that is no network, for one in per unit, for direct current, for a network without a
        generator that regulates a voltage, and everything that `Case` objects to.
    """
    if not hasattr(network, "get_buses") or not hasattr(network, "get_2_windings_transformers"):
        raise CaseError(f"from_powsybl: {type(network).__name__}: must be a pypowsybl network")
    if getattr(network, "per_unit", False):
        raise CaseError("from_powsybl: the network is in per unit; set network.per_unit = False")
    with _solved_taps(network):
        times = delay_times(tap_changers) if len(tap_changers) else {}
        return _Network(network, times).case(float(frequency_hz))


@contextmanager
def _solved_taps(network: Any) -> Iterator[None]:
    """Move the taps to where the stored solution has them, in a variant of the network that goes again."""
    moved = []
    for kind in ("ratio", "phase"):
        taps = getattr(network, f"get_{kind}_tap_changers")(all_attributes=True)
        if len(taps) and "solved_tap_position" in taps:
            solved = taps.solved_tap_position
            other = taps[solved.notna() & (solved != taps.tap)]
            sided = other.side != ""
            position = other.solved_tap_position.astype(int)
            found = (other[[]].assign(tap=position)[~sided], other[["side"]].assign(tap=position)[sided])
            moved += [(kind, rows) for rows in found if len(rows)]
    if not moved:
        yield
        return
    working, own = network.get_working_variant_id(), "psmr solved taps"
    network.clone_variant(working, own)
    try:
        network.set_working_variant(own)
        for kind, taps in moved:
            getattr(network, f"update_{kind}_tap_changers")(taps)
        yield
    finally:
        network.set_working_variant(working)
        network.remove_variant(own)


class _Network:
    """The rows of a case, filled table by table."""

    def __init__(self, network: Any, times: Mapping[str, float]) -> None:
        self.network, self.times = network, times
        for name in DIRECT_CURRENT:
            if len(rows := self.table(name)):
                raise CaseError(f"from_powsybl: {rows.index[0]}: direct current is not read")
        self.levels = self.table("voltage_levels").nominal_v
        self.nominal: dict[int, float] = {}
        self.number: dict[str, int] = {}
        self.buses: list[BusRow] = []
        self.lines: list[LineRow] = []
        self.transformers: list[TransformerRow] = []
        self.shunts: list[ShuntRow] = []
        self.loads: list[LoadRow] = []
        self.zero: list[Joint] = []
        for bus, row in self.table("buses").iterrows():
            nominal = float(self.levels[row.voltage_level_id])
            self.number[str(bus)] = self.bus(nominal, row.v_mag, row.v_angle)
        self.branches()
        self.boundaries()
        self.static()

    def table(self, name: str) -> pd.DataFrame:
        """Return a table with all its columns; empty where the network's version of PowSyBl has none."""
        get = getattr(self.network, f"get_{name}", None)
        return pd.DataFrame() if get is None else get(all_attributes=True)

    def bus(self, nominal: float, kv: float = math.nan, angle: float = math.nan) -> int:
        """Add a bus with the voltage that is stored for it, and return its number."""
        number = len(self.buses) + 1
        v, at = (None, None) if math.isnan(kv) or math.isnan(angle) else (kv / nominal, float(angle))
        self.buses.append(BusRow(number, nominal, v=v, angle_deg=at))
        self.nominal[number] = nominal
        return number

    def at(self, row: Any, end: str = "") -> int:
        """Return the bus of a terminal, 0 where it is open."""
        return self.number.get(str(row[f"bus{end}_id"]), 0) if row[f"connected{end}"] else 0

    def branches(self) -> None:
        """Add lines and transformers."""
        for name, row in self.table("lines").iterrows():
            ends = self.at(row, "1"), self.at(row, "2")
            shunts = complex(row.g1, row.b1), complex(row.g2, row.b2)
            self.join(str(name), ends, complex(row.r, row.x), shunts)
        for name, row in self.table("2_windings_transformers").iterrows():
            ends = self.at(row, "1"), self.at(row, "2")
            self.winding(str(name), ends, row, "")
        for name, row in self.table("3_windings_transformers").iterrows():
            star = self.bus(float(row.rated_u0))
            for end in "123":
                self.winding(f"{name}-{end}", (self.at(row, end), star), row, end)

    def winding(self, name: str, ends: tuple[int, int], row: Any, end: str) -> None:
        """Add a winding: a ratio, behind it the admittance to ground and the impedance to the second bus."""
        r, x, g, b = (float(row[f"{k}{end}_at_current_tap"]) for k in "rxgb")
        ratio = float(row[f"rho{end}"])
        self.join(name, ends, complex(r, x), (complex(g, b), 0j), ratio, float(row[f"alpha{end}"]))
        if self.times and self.transformers and (made := self.transformers[-1]).name == name:
            for kind in ("ratio", "phase"):
                if found := self.tap_changer(made, str(row.name), kind, SIDES[end]):
                    self.transformers[-1] = found

    def tap_changer(self, made: TransformerRow, name: str, kind: str, side: str) -> TransformerRow | None:
        """Return a transformer with its tap changer, if it has one under load that regulates."""
        changers, steps = (self.table(f"{kind}_tap_changer{end}") for end in ("s", "_steps"))
        own = (
            t[(t.index.get_level_values(0) == name) & (t.side.fillna("") == side)] for t in (changers, steps)
        )
        changers, steps = own if name in changers.index else (changers[:0], steps)
        if changers.empty or not (changers.iloc[0].get("oltc", True) and changers.iloc[0].regulating):
            return None
        given, ratio = changers.iloc[0], kind == "ratio"
        now, even = int(given.tap - given.low_tap), steps[("alpha", "rho")[ratio]].to_numpy(float)
        at = made.tap * even[now] / even if ratio else made.shift_deg + even[now] - even
        values = self._kept(
            given, ratio, float(np.diff(np.log(np.sort(at))).max()) if ratio else 0.0, made.name
        )
        if not values.get("half_band"):
            warn(
                f"{made.name}: its {kind} tap changer keeps nothing that psmr has in a band; it stands still"
            )
            return None
        off = np.abs(np.sort(even) - np.linspace(even.min(), even.max(), len(even))).max()
        if (off := off * (len(even) - 1) / np.ptp(even)) > UNEVEN:
            warn(f"{made.name}: its steps are taken as even; they are up to {off:.2g} of one off that")
        low, high = ("tap_min", "tap_max") if ratio else ("shift_min", "shift_max")
        values |= {low: at.min(), high: at.max(), "positions": len(at), **self.times}
        device = DeviceRow(
            device_name(made.name, "tap_changer"),
            "tap_changer",
            "TapChanger" if ratio else "PhaseShifter",
            {key: float(x) for key, x in values.items()},
        )
        correction = _correction(at, steps, now, complex(made.r, made.x))
        return replace(made, regulating=True, tap_changer=device, correction=correction)

    def _kept(self, given: Any, ratio: bool, step: float, name: str) -> dict[str, float]:
        """Return what a tap changer keeps, with its band; nothing where that is no voltage or active power.

        A band without width becomes one that a step, a part of the voltage, does not cross.
        """
        half = float(np.nan_to_num(given.get("target_deadband", 0.0))) / 2
        if not ratio:
            sign = -1.0 if str(given.regulated_side) == "TWO" else 1.0
            kept = str(given.regulation_mode) == "ACTIVE_POWER_CONTROL"
            return {"p_set": sign * float(given.regulation_value), "half_band": half} if kept else {}
        bus = self.number.get(str(given.regulating_bus_id), 0)
        if str(given.get("regulation_mode", "VOLTAGE")) != "VOLTAGE" or not bus or not given.target_v > 0:
            return {}
        v_set, half = float(given.target_v) / self.nominal[bus], half / self.nominal[bus]
        if not half:
            half = WIDER * step * v_set / 2
            warn(
                f"{name}: its dead band has no width; {half:.4g} pu to either side stand in, more than a step"
            )
        return {"v_set": v_set, "half_band": half, "bus": float(bus), "reciprocal": 1.0}

    def join(
        self,
        name: str,
        ends: tuple[int, int],
        z: complex,
        shunts: tuple[complex, complex],
        ratio: float = 1.0,
        angle: float = 0.0,
    ) -> None:
        """Add a branch of an impedance in ohms and admittances at its ends in siemens.

        The first end has the voltage times `ratio`, turned by `angle` degrees. An end that is open is 0.
        """
        if not all(ends):
            y1, y2 = shunts
            seen = ratio**2 * (y1 + y2 / (1 + z * y2)), y2 + y1 / (1 + z * y1)
            for end, y in zip(ends, seen, strict=True):
                if end:
                    self.shunt(end, y * self.nominal[end] ** 2, name)
            return
        first, second = (self.nominal[end] for end in ends)
        scale = BASE_MVA / second**2
        tap = second / (first * ratio)
        if abs(z) * scale < NONE:
            if math.isclose(tap, 1.0, abs_tol=1e-12) and angle == 0:
                self.zero.append((*ends, name))
                self.shunt(ends[0], shunts[0] * first**2, f"{name}-{ends[0]}")
                self.shunt(ends[1], shunts[1] * second**2, f"{name}-{ends[1]}")
                return
            what = f"{name}: has a ratio and no impedance; x = {STANDS_IN:g} pu stands for it"
            warn(what)
            z = complex(0.0, STANDS_IN / scale)
        to_ground = [shunts[0] * second**2 / tap**2, shunts[1] * second**2]
        r, x = z.real * scale, z.imag * scale
        even = abs(to_ground[0] - to_ground[1]) <= EVEN * abs(to_ground[0])
        if math.isclose(tap, 1.0, abs_tol=1e-12) and angle == 0 and even:
            both = 2 * to_ground[0] / BASE_MVA
            self.lines.append(LineRow(*ends, x, r, both.imag, both.real, name=name))
            return
        self.transformers.append(TransformerRow(*ends, x, r, tap=tap, shift_deg=-angle, name=name))
        for end, mva in zip(ends, to_ground, strict=True):
            self.shunt(end, mva, f"{name}-{end}")

    def shunt(self, bus: int, mva: complex, name: str) -> None:
        """Add what an admittance draws at 1 pu."""
        if mva:
            self.shunts.append(ShuntRow(bus, mva.real, mva.imag, name=name))

    def boundaries(self) -> None:
        """Add the lines to a boundary and what they carry there, unless two of them are a tie line."""
        ties: dict[str, int] = {}
        for name, row in self.table("boundary_lines").iterrows():
            bus, tie = self.at(row), str(row.tie_line_id) if row.get("paired", False) else ""
            if not (bus or tie):
                continue
            boundary = ties.get(tie) or self.bus(
                float(self.levels[row.voltage_level_id]), row.boundary_v_mag, row.boundary_v_angle
            )
            self.join(str(name), (bus, boundary), complex(row.r, row.x), (complex(row.g, row.b), 0j))
            if tie:
                ties[tie] = boundary
            else:
                self.load(boundary, row.p0, row.q0, f"{name}-boundary")

    def load(self, bus: int, p: float, q: float, name: str) -> None:
        """Add a load of constant power."""
        self.loads.append(LoadRow(bus, float(p), float(q), POWER, POWER, v_min=0.0, name=name))

    def static(self) -> None:
        """Add loads, batteries and shunts."""
        for name, row in self.table("loads").iterrows():
            if bus := self.at(row):
                self.load(bus, row.p0, row.q0, str(name))
        for name, row in self.table("batteries").iterrows():
            if bus := self.at(row):
                self.load(bus, -row.target_p, -row.target_q, str(name))
        for name, row in self.table("shunt_compensators").iterrows():
            if bus := self.at(row):
                self.shunt(bus, complex(row.g, row.b) * self.nominal[bus] ** 2, str(name))

    def sources(self) -> Iterator[GeneratorRow]:
        """Yield generators and static var compensators."""
        for name, row in self.table("generators").iterrows():
            if bus := self.at(row):
                held = self.number.get(str(row.regulated_bus_id), bus)
                yield GeneratorRow(
                    str(name),
                    bus,
                    "pv" if row.voltage_regulator_on else "pq",
                    p_mw=float(row.target_p),
                    q_mvar=0.0 if math.isnan(row.target_q) else float(row.target_q),
                    v=float(row.target_v) / self.nominal[held] if row.voltage_regulator_on else 1.0,
                    q_min_mvar=float(row.min_q_at_target_p),
                    q_max_mvar=float(row.max_q_at_target_p),
                    rating_mva=abs(float(row.max_p if math.isnan(row.rated_s) else row.rated_s)),
                    control_bus=held if row.voltage_regulator_on else 0,
                )
        for name, row in self.table("static_var_compensators").iterrows():
            if (bus := self.at(row)) and row.get("regulating", str(row.regulation_mode) != "OFF"):
                nominal = self.nominal[bus]
                holds = str(row.regulation_mode) == "VOLTAGE"
                held = self.number.get(str(row.regulated_bus_id), bus)
                yield GeneratorRow(
                    str(name),
                    bus,
                    "pv" if holds else "pq",
                    q_mvar=0.0 if holds else -float(row.target_q),
                    v=float(row.target_v) / self.nominal[held] if holds else 1.0,
                    q_min_mvar=float(row.b_min) * nominal**2,
                    q_max_mvar=float(row.b_max) * nominal**2,
                    control_bus=held if holds else 0,
                )

    def case(self, frequency_hz: float) -> Case:
        """Return the case."""
        generators = list(self.sources())
        slack = self.slack(generators)
        rows: dict[str, list[Any]] = {
            "buses": self.buses,
            "lines": self.lines,
            "transformers": self.transformers,
            "shunts": self.shunts,
            "loads": self.loads,
            "generators": [replace(row, control="slack") if row is slack else row for row in generators],
            "relays": [],
        }
        name = str(getattr(self.network, "id", "") or "PowSyBl network")
        if self.zero:
            joined = [(i, j) for i, j, _ in self.zero]
            rows["generators"] = with_one_voltage(rows["generators"], joined)
            rows = join_buses(rows, self.zero, BASE_MVA)
            stored = {row.number: row.v for row in self.buses}
            rows["generators"] = with_common_voltages(rows["generators"], stored)
        rows = energised_rows(rows, name)
        tables = {name: tuple(table) for name, table in rows.items()}
        return Case(
            name=name,
            base_mva=BASE_MVA,
            frequency_hz=frequency_hz,
            source=name,
            **tables,  # type: ignore[arg-type]  # by name
        )

    def slack(self, generators: list[GeneratorRow]) -> GeneratorRow:
        """Return the generator that is the slack, with the stored angle of its bus."""
        holding = [row for row in generators if row.control == "pv" and not row.control_bus]
        if not holding:
            raise CaseError("from_powsybl: no generator regulates the voltage of its bus")
        table = self.table("generators")

        def off(row: GeneratorRow) -> float:
            return abs(float(table.p[row.name]) + row.p_mw) if row.name in table.index else 0.0

        missed = [row for row in holding if off(row) > MISSED]
        return max(missed or holding, key=off if missed else lambda row: row.rating_mva)


def _correction(at: Reals, steps: pd.DataFrame, now: int, z: complex) -> tuple[float, ...]:
    """Return the factors of an impedance at all positions (`TransformerRow.correction`); none where equal."""
    r, x = (1 + steps[name].to_numpy(float) / 100 for name in "rx")
    factors = (z.real * r / r[now] + 1j * z.imag * x / x[now]) / z
    if np.ptp(r) == np.ptp(x) == 0:
        return ()
    points = sorted(zip(at, factors.real, factors.imag, strict=True))
    return tuple(float(number) for point in points for number in point)
