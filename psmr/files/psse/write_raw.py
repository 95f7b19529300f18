"""Write a case as PSS/E RAW, version 33, and its plants as DYR: what `psmr.files.psse.raw` reads.

A RAW file stores a solution, so the power flow is solved first: buses have its voltages, generators its
powers, loads their parts of constant power, current and impedance at these voltages. Everything is per unit
on the system base and the bus voltages (CW = CZ = CM = 1). Devices have identifiers there and no names.
Source of the records: Siemens PTI, PSS/E Program Operation Manual.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from psmr.base.errors import CaseError, warn
from psmr.files.load_flow_rules import voltage_holders
from psmr.files.psse.conventions import MACHINES
from psmr.files.psse.dyr_loads import static_var_record
from psmr.files.psse.record import sections
from psmr.files.psse.write_dyr import branch_relay_records, dyr_text, load_records
from psmr.network.case.case import Case
from psmr.network.case.tables import KEPT, TORQUE, BranchRow, GeneratorRow, LoadRow, Row, TransformerRow
from psmr.network.powerflow.powerflow import PowerFlow, power_flow

VERSION = 33

_FAR = 9999.0
"""What the format writes for a limit that is not there."""
_BOUNDS = (1.1, 0.9, 1.1, 0.9)
_NO_CONTROL = (0.0, 0.0, 0.0, 0, 0, 1.1, 0.9, 1.1, 0.9, 33, 0, 0.0, 0.0, 0.0)
# Other programs want every field, the defaults of the manual too.
_CODES = {"pq": 2, "pv": 2, "slack": 3}


def psse_texts(case: Case) -> tuple[str, str]:
    """Return the texts of the RAW file and of the DYR file, the second empty where no plant has a device.

    Raises CaseError for a device or load that PSS/E has no model of, two kinds of control at one bus, more
    parallel devices than there are identifiers. Raises PowerFlowError where the power flow has no solution.
    Warns where a name or a value is lost, with how many and the first.
    """
    flow = power_flow(case)
    writer = _Writer(case, flow)
    records = writer.sections()
    lines = [
        f"0, {case.base_mva!r}, {VERSION}, 0, 0, {case.frequency_hz!r} / written by psmr",
        " ".join(case.name.split()),
        "",
    ]
    order = sections(VERSION)
    for section, following in zip(order, (*order[1:], ""), strict=True):
        lines += records.get(section, ())
        begin = f", BEGIN {following.upper()} DATA" if following else ""
        lines.append(f"0 / END OF {section.upper()} DATA{begin}")
    dyr = dyr_text(case, writer.units) + "".join(load_records(case, writer.loads, writer.units, writer.lost))
    dyr += "".join(branch_relay_records(case, writer.ends, writer.loads, writer.lost))
    systems = [(row, row.static_var_system) for row in case.shunts]
    dyr += "".join(static_var_record(row, device) for row, device in systems if device is not None)
    family = {device.type for plant in case.generators for device in plant.devices} & set(MACHINES)
    if case.mechanical == TORQUE and family:
        warn(
            f"{case.name}: psmr uses the mechanical torque of {', '.join(sorted(family))}, PSS/E takes it for"
            ' mechanical power; to read these files back as they were, give mechanical = "torque"'
        )
    held = [row.name for row in case.loads if row.held]
    held += [row.name for row in case.generators if row.held]
    if held:
        warn(
            f"{case.name}: {', '.join(held)}: ends of DC lines become loads and generators like any other,"
            " which a run from these files converts or nets"
        )
    writer.warn_of_losses()
    return "\n".join([*lines, "Q", ""]), dyr


class _Writer:
    """The records of a case, and what is lost with them."""

    def __init__(self, case: Case, flow: PowerFlow) -> None:
        self.case, self.flow = case, flow
        self.lost: list[str] = [f"sequence data of {row.element}" for row in case.sequence]
        self.lost += [f"what switches {row.name}" for row in case.shunts if row.switching is not None]
        self.lost += [f"the control of {row.name}" for row in case.areas if row.devices]
        self.loads: dict[str, tuple[int, str]] = {}
        self.units: dict[str, tuple[int, str]] = {}
        self.ends: dict[str, tuple[int, int, str]] = {}
        self._v = {bus.number: float(v) for bus, v in zip(case.buses, flow.v, strict=True)}

    def sections(self) -> dict[str, list[str]]:
        """Return the lines of every section that is not empty."""
        found = {
            "bus": self._buses(),
            "load": self._loads(),
            "fixed shunt": self._shunts(),
            "switched shunt": self._switched_shunts(),
            "generator": self._generators(),
        }
        return {section: list(lines) for section, lines in found.items()} | self._branches()

    def warn_of_losses(self) -> None:
        """Warn once of everything that the format cannot keep."""
        if self.lost:
            warn(
                f"{self.case.name}: RAW and DYR files cannot keep {len(self.lost)} of its names and values:"
                f" {'; '.join(self.lost[:3])}{'; ...' if len(self.lost) > 3 else ''}"
            )

    def _buses(self) -> Iterator[str]:
        codes = {bus.number: 1 for bus in self.case.buses}
        for row in self.case.generators:
            codes[row.bus] = max(codes[row.bus], _CODES[row.control])
        for bus, v, angle in zip(self.case.buses, self.flow.v, np.degrees(self.flow.angle), strict=True):
            self._expect(bus, f"bus{bus.number}")
            own = next((name for name in bus.aliases if not name.isdecimal()), bus.name)
            label = re.sub(r"[^\x20-\x7e]|'", "_", own)[:12]
            if kept := [name for name in bus.aliases if name != label]:
                self.lost.append(f"{bus.name} is called {', '.join(kept)}, too")
            place = bus.area or 1, bus.zone or 1, 1
            yield _record(
                bus.number, f"{label:12}", bus.base_kv, codes[bus.number], *place, v, angle, *_BOUNDS
            )

    def _loads(self) -> Iterator[str]:
        drawn = zip(self.flow.load_p, self.flow.load_q, strict=True)
        drawn_by = dict(zip((row.name for row in self.case.loads), drawn, strict=True))
        for row, ident in _identified(self.case.loads, "load"):
            self._expect(row, _named("load", row.bus, ident))
            self.loads[row.name] = (row.bus, ident)
            usual = LoadRow.v_min
            if row.v_min != usual and (row.v_min or self._v[row.bus] < usual):
                self.lost.append(f"{row.name}: v_min = {row.v_min:g}")
            if not row.p_zip:
                # What it draws; a record of the DYR file says how that follows the voltage.
                power = [float(x) * self.case.base_mva for x in drawn_by[row.name]]
                yield _record(row.bus, ident, 1, 1, 1, *power, 0.0, 0.0, 0.0, 0.0, 1, 1, 0)
                continue
            v = row.v_0 or self._v[row.bus]
            p_z, p_i, p_p = (part * row.p_mw for part in row.p_zip)
            q_z, q_i, q_p = (part * row.q_mvar for part in row.q_zip)
            parts = (p_p, q_p, p_i / v, q_i / v, p_z / v**2, -q_z / v**2)
            yield _record(row.bus, ident, 1, 1, 1, *parts, 1, 1, 0)

    def _shunts(self) -> Iterator[str]:
        fixed = [row for row in self.case.shunts if row.static_var_system is None]
        for row, ident in _identified(fixed, "shunt"):
            self._expect(row, _named("shunt", row.bus, ident))
            yield _record(row.bus, ident, row.status, row.g_mw, row.b_mvar)

    def _switched_shunts(self) -> Iterator[str]:
        """Yield the shunts that are static var systems: their records belong to switched shunts."""
        seen: set[int] = set()
        for row in self.case.shunts:
            if row.static_var_system is None:
                continue
            if row.bus in seen:
                raise CaseError(
                    f"{row.place}: RAW files of version {VERSION} have one switched shunt at a bus"
                )
            seen.add(row.bus)
            self._expect(row, _named("switched", row.bus, "1"))
            if row.g_mw:
                self.lost.append(f"{row.name}: g_mw = {row.g_mw:g}")
            kept = KEPT.index(row.controls)
            mode = row.regulating * (kept + 2 if kept or row.continuous else 1)
            blocks = (int(x) if k % 2 == 0 else x for k, x in enumerate(row.steps))
            fields = (row.bus, mode, 0, row.status, row.v_high, row.v_low, row.control_bus, 100.0, "")
            yield _record(*fields, row.b_mvar, *blocks)

    def _generators(self) -> Iterator[str]:
        base = self.case.base_mva
        power = {
            row.name: (p * base, q * base)
            for row, p, q in zip(self.case.generators, self.flow.p, self.flow.q, strict=True)
        }
        held = voltage_holders(self.case)
        for row, ident in _identified(self.case.generators, "G"):
            self.units[row.name] = (row.bus, ident)
            self._expect(row, _named("G", row.bus, ident))
            p, q = power[row.name]
            # No limit is one that is far away.
            far = max(_FAR, 2 * abs(q))
            high = row.q_max_mvar if math.isfinite(row.q_max_mvar) else far
            low = row.q_min_mvar if math.isfinite(row.q_min_mvar) else -far
            if row.control == "pq":
                # At a bus of type 1 PSS/E would not count it.
                high = low = q
            mbase, zr, zx = _machine(row, base)
            holder = held.get(row.bus, row)
            machine = holder.v, holder.control_bus, mbase, zr, zx, 0.0, 0.0, 1.0, 1, holder.share
            yield _record(row.bus, ident, p, q, high, low, *machine, _FAR, -_FAR, 1, 1.0)

    def _branches(self) -> dict[str, list[str]]:
        lines, transformers = [], []
        for row, ident in _identified(self.case.branches, "branch"):
            self._expect(row, _named(row.kind, f"{row.from_bus}-{row.to_bus}", ident))
            i, j = row.from_bus, row.to_bus
            self.ends[row.name] = (i, j, ident)
            if isinstance(row, TransformerRow):
                if row.tap_changer is not None:
                    self.lost.append(f"{row.name}: its tap changer {row.tap_changer.name}")
                y = row.g / row.tap**2, row.b / row.tap**2
                transformers += [
                    _record(i, j, 0, ident, 1, 1, 1, *y, 2, "", row.status, 1, 1.0),
                    _record(row.r, row.x, self.case.base_mva),
                    _record(row.tap, 0.0, row.shift_deg, *_NO_CONTROL),
                    _record(1.0, 0.0),
                ]
            else:
                values = row.r, row.x, row.b, 0.0, 0.0, 0.0, row.g / 2, 0.0, row.g / 2, 0.0
                lines.append(_record(i, j, ident, *values, row.status, 1, 0.0, 1, 1.0))
        return {"branch": lines, "transformer": transformers}

    def _expect(self, row: Any, name: str) -> None:
        """Note a name that reading the file will not give back."""
        if row.name != name:
            self.lost.append(f"{row.name} becomes {name}")


def _named(kind: str, place: object, ident: str) -> str:
    """Return the name that `psmr.files.psse.raw` gives."""
    return f"{kind}{place}" + ("" if ident == "1" else f"-{ident}")


def _identified(rows: Sequence[Any], kind: str) -> Iterator[tuple[Any, str]]:
    """Yield rows with identifiers of at most two characters that are unique at their bus, or pair of buses.

    A name that came from a RAW file keeps its identifier.
    """
    taken: dict[tuple[int, ...], set[str]] = {}
    wanted = [_wanted(row, kind) for row in rows]
    for row, own in zip(rows, wanted, strict=True):
        if own:
            taken.setdefault(_place(row), set()).add(own)
    given: set[tuple[tuple[int, ...], str]] = set()
    for row, own in zip(rows, wanted, strict=True):
        place = _place(row)
        there = taken.setdefault(place, set())
        ident = own if (place, own) not in given and own else _free(row, there)
        there.add(ident)
        given.add((place, ident))
        yield row, ident


def _wanted(row: Any, kind: str) -> str:
    """Return the identifier in a row's name, empty where there is none."""
    branch = isinstance(row, BranchRow)
    stem = f"{row.kind}{row.from_bus}-{row.to_bus}" if branch else f"{kind}{row.bus}"
    match = re.fullmatch(rf"{re.escape(stem)}(?:-([0-9A-Z]{{1,2}}))?", row.name)
    return (match[1] or "1") if match else ""


def _place(row: Any) -> tuple[int, ...]:
    return tuple(sorted((row.from_bus, row.to_bus))) if isinstance(row, BranchRow) else (row.bus,)


def _free(row: Row, taken: set[str]) -> str:
    for number in range(1, 100):
        if str(number) not in taken:
            return str(number)
    raise CaseError(f"{row.place}: RAW files have two characters to tell parallel devices apart; join some")


def _machine(row: GeneratorRow, base: float) -> tuple[float, float, float]:
    """Return base in MVA, resistance and reactance of a generator per unit on it."""
    for device in row.devices:
        values = device.parameters
        if "s_n" in values:
            source = device.type in ("ClassicalMachine", "InfiniteBus")
            reactance = values["x_d1"] if source else values.get("x_e", values.get("x_2", 1.0))
            return values["s_n"], values.get("r_a", values.get("r_e", 0.0)), reactance
    return row.rating_mva or base, 0.0, 1.0


def _record(*fields: Any) -> str:
    return ", ".join(
        f"'{x}'" if isinstance(x, str) else repr(x if isinstance(x, int) else float(x)) for x in fields
    )
