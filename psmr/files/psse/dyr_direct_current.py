"""Records of DC lines in a PSS/E DYR file: CDC4T and CDC6T of two-terminal lines, VSCDCT of VSC lines.

A record begins with the line's name in quotes, as the RAW file has it. With one the converters of the line
are devices, which start from what the file's line carries; without one they are held at their powers. What
PSS/E has no data of is said in a warning: the inductance of the line, the gains of the regulators. Source:
Siemens PTI, PSS/E Program Operation Manual and Model Library; for the values of CDC4T and CDC6T see
`psmr.devices.direct_current.line_control`, of VSCDCT `psmr.devices.direct_current.voltage_source`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from psmr.base.errors import CaseError, nearest, warn
from psmr.devices.catalogue import DC_ROLES
from psmr.devices.placement import placement
from psmr.files.load_flow_rules import Rows
from psmr.files.psse.direct_current import NONE, Bridges, source_ends, source_power, terminals
from psmr.files.psse.dyr_entries import DyrRecord
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.direct_current import INVERTER, RECTIFIER, SOURCE, converter_loads
from psmr.network.case.tables import DcBusRow, DcConverterRow, DcLineRow, DeviceRow

LINE_TIME = 0.005
"""Time constant in s of a line's inductance with its voltage over its current, which PSS/E has not: the CIGRE
benchmark has 4.8 ms."""

MARGIN = 0.1
"""Current margin, of the current, of a line whose DELTI is 0."""

ROUNDED = 0.05
"""Degrees by which a smallest angle may be above that of a solved file, which writes it rounded."""

COMMUTATED = ("CDC4T", "CDC6T")

STORED = 0.005
"""Energy in a converter's DC capacitors over its rating in s, which PSS/E has not."""

OMEGA = 60.0
"""Both poles in rad/s of a regulator of the DC voltage, which PSS/E has not."""

UNLIMITED = 1e6

PER_CONVERTER = (
    *("TPO", "ACVCLIM", "KP", "TAC", "TACM", "IACMAX", "DROOP", "VCMX", "XREACT", "QMAX", "QMIN"),
    *("ACVCKT", "ACVCKTP"),
)
VSCDCT = (*(f"{name}{k}" for k in (1, 2) for name in PER_CONVERTER), "TPODCL", "TPOLIM")
"""Values of VSCDCT. The last two of a converter give back what its limiter cuts off, which a regulator with
non-windup limits does not need; TPODCL and TPOLIM are lags of orders, which are constant here."""


@dataclass
class DirectCurrentRecords:
    """The DC lines of a RAW file by name, each with its lines, and what records of a DYR file make of them.

    `voltage`: gives the voltages in pu that the RAW file stores, by bus number; `base`: system base in MVA.
    """

    lines: Mapping[str, Sequence[PsseRecord]]
    voltage: Callable[[], dict[int, float]]
    base: float = 100.0
    rows: dict[str, tuple[list[DcBusRow], list[DcLineRow], list[DcConverterRow]]] = field(
        default_factory=dict
    )

    def takers(self) -> dict[str, Callable[[DyrRecord], None]]:
        """Return what takes the records of each model."""
        return {**dict.fromkeys(COMMUTATED, self._commutated), "VSCDCT": self._sources}

    def applied(self) -> Rows:
        """Return the tables of direct current."""
        tables = zip(*self.rows.values(), strict=True) if self.rows else ((), (), ())
        names = ("dc_buses", "dc_lines", "dc_converters")
        return {
            name: [row for part in table for row in part] for name, table in zip(names, tables, strict=True)
        }

    def _line(self, record: DyrRecord) -> tuple[str, Sequence[PsseRecord]] | None:
        """Return the line of a record; None, with a warning, where the RAW file has none in service."""
        name = name_part(record.words[0][1])
        if {f"dc-{name}", f"vsc-{name}"} & self.rows.keys():
            raise CaseError(f"{record.where}: {record.model}: {name} has a record already; keep one")
        if name in self.lines:
            return name, self.lines[name]
        what = f"there is no DC line {name!r} in service in the RAW file{nearest(name, self.lines)}"
        warn(f"{record.where}: {record.model}: {what}; left out")
        return None

    def _commutated(self, entry: DyrRecord) -> None:
        kind = next(kind for kind in DC_ROLES["dc_control"] if kind.__name__ == entry.model)
        names = placement(kind).records[0].split()[1:]
        record = entry.record("NAME", *names)
        found = self._line(entry)
        solved = terminals(found[1], self.voltage()) if found is not None else None
        if found is None or solved is None:
            return
        name, lines = found
        if capacitors := [end for end in solved[3:] if end.line.real("XCAP", 0.0) > NONE]:
            what = f"{name} is held at its powers: capacitors in series (XCAP) have no dynamics here"
            warn(f"{entry.where}: {entry.model}: {capacitors[0].line.where}: {what}; left out")
            return
        volts, current, ohms, rectifier, inverter = solved
        values = {key: record.real(key) for key in names}
        angles = [
            self._angle(lines[0], entry, bridges, v, current)
            for bridges, v in ((rectifier, volts + ohms * current), (inverter, volts))
        ]
        for key, angle in zip(("alfdy", "gamdy"), angles, strict=True):
            if angle < values[key] <= angle + ROUNDED:
                warn(
                    f"{entry.where}: {key} = {values[key]:g}: the line starts at {angle:.6g} degrees,"
                    " which is taken for it"
                )
                values[key] = angle
        if not current:
            warn(
                f"{entry.where}: {entry.model}: {name} carries no current at the start, and is held; left out"
            )
            return
        margin, henries = lines[0].real("DELTI", 0.0) or MARGIN, LINE_TIME * volts / current
        warn(
            f"{entry.where}: {entry.model}: PSS/E has no inductance of {name}, taken as {henries:.4g} H, and"
            f" no regulators of its converters, taken as typical ones; its current margin is {margin:g}"
            f"{'' if lines[0].real('DELTI', 0.0) else ' (DELTI = 0)'}"
        )
        mode = "current" if lines[0].whole("MDC") == 2 else "power"
        mode += "-inverter" if mode == "power" and lines[0].real("SETVL") < 0 else ""
        label, where = f"dc-{name}", lines[0].where
        ends = [f"{label}-rectifier", f"{label}-inverter"]
        line = DcLineRow(
            label,
            f"{ends[0]}-bus",
            f"{ends[1]}-bus",
            ohms,
            1000 * henries,
            DeviceRow(f"{label}-control", "dc_control", entry.model, values, where=entry.where),
            lines[0].real("VCMOD", 0.0),
            mode,
            where=where,
        )
        kinds: tuple[tuple[str, dict[str, float]], ...] = ((RECTIFIER, {}), (INVERTER, {"margin": margin}))
        converters = [
            DcConverterRow(
                end,
                bridges.bus,
                f"{end}-bus",
                DeviceRow(end, "dc_converter", kind, parameters, where=entry.where),
                current,
                v_kv=volts if kind == INVERTER else None,
                i_ka=current if kind == RECTIFIER else None,
                bridges=bridges.line.whole("NB"),
                x_ohm=bridges.line.real("XC"),
                r_ohm=bridges.line.real("RC", 0.0),
                angle_deg=angle,
                where=bridges.line.where,
            )
            for end, bridges, angle, (kind, parameters) in zip(
                ends, (rectifier, inverter), angles, kinds, strict=True
            )
        ]
        self.rows[label] = ([DcBusRow(f"{end}-bus", volts, where=where) for end in ends], [line], converters)

    def _sources(self, entry: DyrRecord) -> None:
        record = entry.record("NAME", *VSCDCT)
        found = self._line(entry)
        if found is None:
            return
        name, lines = found
        ends = source_ends(lines)
        if not ends:
            return
        kv = next(end.volts for end in ends if end.line.whole("TYPE") == 1)
        ratings = [end.line.real("SMAX", 0.0) or self.base for end in ends]
        # Both capacitors, as a time constant on the system base, and a regulator critically damped on them.
        constant = sum(2 * STORED * mva / self.base for mva in ratings)
        warn(
            f"{entry.where}: VSCDCT: PSS/E has no DC capacitors of {name}, taken as {1000 * STORED:g} ms of"
            f" the ratings each, and no regulator of its DC voltage, taken as one of {OMEGA:g} rad/s"
        )
        buses: list[DcBusRow] = []
        converters: list[DcConverterRow] = []
        for k, (end, mva) in enumerate(zip(ends, ratings, strict=True), 1):
            own = {key: record.real(f"{key}{k}") for key in PER_CONVERTER}
            record.require(own["TAC"] >= 0, f"TAC{k}", "must be >= 0 s, 0 for no integral")
            part, holds = mva / self.base, end.line.whole("TYPE") == 1
            low, high = (record.real(f"{key}{k}") / self.base for key in ("QMIN", "QMAX"))
            if own["ACVCLIM"]:
                low, high = -own["ACVCLIM"] * part, own["ACVCLIM"] * part
            values = {
                "t_p": 0.0 if holds else own["TPO"],
                "ac": float(end.line.one_of("MODE", (1, 2), 1) == 1),
                "k_ac": own["KP"] * part,
                "k_iac": part / own["TAC"] if own["TAC"] > 0 else 0.0,
                "droop": own["DROOP"] / part,
                "t_m": own["TACM"],
                "q_min": low,
                "q_max": high,
                "i_max": own["IACMAX"] * part or UNLIMITED,
                "priority": float(end.line.real("PWF", 1.0) > 0.5),
                "x_r": own["XREACT"] / part,
                "v_cmax": own["VCMX"],
                "k_dc": 2 * OMEGA * constant * holds,
                "k_idc": OMEGA**2 * constant * holds,
            }
            per_ka = end.line.real("BLOSS", 0.0)
            label = f"vsc-{name}-{k}"
            farads = 2 * STORED * mva / kv**2
            buses.append(DcBusRow(f"{label}-bus", kv, 1e6 * farads, where=end.line.where))
            converters.append(
                DcConverterRow(
                    label,
                    end.line.bus("IBUS"),
                    f"{label}-bus",
                    DeviceRow(label, "dc_converter", SOURCE, values, where=entry.where),
                    max(abs(end.current), mva / kv),
                    v_kv=kv if holds else None,
                    p_mw=None if holds else end.volts * end.current,
                    q_mvar=source_power(end.line, end.p_mw).q_mvar or 0.0,  # none: the power flow gives it
                    loss_mw=end.losses - per_ka * abs(end.current),
                    loss_kv=per_ka,
                    where=end.line.where,
                )
            )
        joined: list[DcLineRow] = []
        if ohms := lines[0].real("RDC"):
            joined = [DcLineRow(f"vsc-{name}", buses[0].name, buses[1].name, ohms, where=lines[0].where)]
        else:  # both stand at one bus, with both capacitors
            buses = [replace(buses[0], c_uf=sum(bus.c_uf for bus in buses))]
            converters = [replace(row, dc_bus=buses[0].name) for row in converters]
        self.rows[f"vsc-{name}"] = (buses, joined, converters)

    @staticmethod
    def _angle(first: PsseRecord, entry: DyrRecord, bridges: Bridges, volts: float, current: float) -> float:
        """Return the angle in degrees at which bridges have a voltage in kV and a current in kA."""
        cosine = bridges.cosine(volts, current)
        if not 0 < cosine < 1 or not bridges.no_load:
            raise CaseError(
                f"{entry.where}: {entry.model}: {bridges.line.where}: the converter at bus {bridges.bus} has"
                f" no firing angle at the {volts:.6g} kV of its line (cosine {cosine:.4g}); correct EBAS, TR,"
                f" TAP or VSCHD, or take the record out: {first.text('NAME')} is then held at its powers"
            )
        return math.degrees(math.acos(cosine))


NO_LINES = DirectCurrentRecords({}, dict)
"""Those of a file without DC lines."""


def at_buses(rows: Rows) -> Rows:
    """Return the tables of direct current, and the loads with those of its converters, at the buses left.

    Warns for a line of which an end stands at a bus that is left out.
    """
    there = {row.name: row.bus for name in ("loads", "generators") for row in rows[name]}
    lost = [row for row in rows["dc_converters"] if row.name not in there]
    gone = {row.name.rpartition("-")[0] for row in lost}
    for row in lost:
        warn(f"{row.place}: its bus {row.bus} is left out, and the dynamics of its DC line with it")
    names = ("dc_buses", "dc_lines", "dc_converters")
    kept = {
        name: [
            row for row in rows[name] if not any(row.name == g or row.name.startswith(f"{g}-") for g in gone)
        ]
        for name in names
    }
    kept["dc_converters"] = [replace(row, bus=there[row.name]) for row in kept["dc_converters"]]
    made = converter_loads(*(kept[name] for name in names))
    loads = [row for row in rows["loads"] if row.name not in {load.name for load in made}]
    holding = {row.name for row in rows["generators"]}
    return kept | {"loads": [*loads, *(load for load in made if load.name not in holding)]}
