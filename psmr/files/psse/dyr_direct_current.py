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
from psmr.files.psse.direct_current import NONE, Bridges, terminals
from psmr.files.psse.dyr_entries import DyrRecord
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.direct_current import INVERTER, RECTIFIER, converter_loads
from psmr.network.case.tables import DcBusRow, DcConverterRow, DcLineRow, DeviceRow

LINE_TIME = 0.005
"""Time constant in s of a line's inductance with its voltage over its current, which PSS/E has not: the CIGRE
benchmark has 4.8 ms."""

MARGIN = 0.1
"""Current margin, of the current, of a line whose DELTI is 0."""

ROUNDED = 0.05
"""Degrees by which a smallest angle may be above that of a solved file, which writes it rounded."""

COMMUTATED = ("CDC4T", "CDC6T")


@dataclass
class DirectCurrentRecords:
    """The DC lines of a RAW file by name, each with its lines, and what records of a DYR file make of them.

    `voltage`: voltages in pu that the RAW file stores, by bus number.
    """

    lines: Mapping[str, Sequence[PsseRecord]]
    voltage: dict[int, float]
    rows: dict[str, tuple[list[DcBusRow], list[DcLineRow], list[DcConverterRow]]] = field(
        default_factory=dict
    )

    def takers(self) -> dict[str, Callable[[DyrRecord], None]]:
        """Return what takes the records of each model."""
        return dict.fromkeys(COMMUTATED, self._commutated)

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
        solved = terminals(found[1], self.voltage) if found is not None else None
        if found is None or solved is None:
            return
        name, lines = found
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
        margin = lines[0].real("DELTI", 0.0) or MARGIN
        henries = LINE_TIME * volts / current
        warn(
            f"{entry.where}: {entry.model}: PSS/E has no inductance of {name}, taken as {henries:.4g} H, and"
            f" no regulators of its converters, taken as typical ones; its current margin is {margin:g}"
            f"{'' if lines[0].real('DELTI', 0.0) else ' (DELTI = 0)'}"
        )
        ends = [f"dc-{name}-{part}" for part in ("rectifier", "inverter")]
        buses = [DcBusRow(f"{end}-bus", volts, where=lines[0].where) for end in ends]
        mode = "current" if lines[0].whole("MDC") == 2 else "power"
        mode += "-inverter" if mode == "power" and lines[0].real("SETVL") < 0 else ""
        control = DeviceRow(f"dc-{name}-control", "dc_control", entry.model, values, where=entry.where)
        line = DcLineRow(
            f"dc-{name}",
            *(bus.name for bus in buses),
            ohms,
            1000 * henries,
            control,
            lines[0].real("VCMOD", 0.0),
            mode,
            where=lines[0].where,
        )
        given = (
            (RECTIFIER, rectifier, {"i_ka": current}, {}),
            (INVERTER, inverter, {"v_kv": volts}, {"margin": margin}),
        )
        converters = [
            DcConverterRow(
                end,
                bridges.bus,
                bus.name,
                DeviceRow(end, "dc_converter", kind, parameters, where=entry.where),
                current,
                bridges=bridges.line.whole("NB"),
                x_ohm=bridges.line.real("XC"),
                r_ohm=bridges.line.real("RC", 0.0),
                angle_deg=angle,
                where=bridges.line.where,
                **held,
            )
            for end, bus, angle, (kind, bridges, held, parameters) in zip(
                ends, buses, angles, given, strict=True
            )
        ]
        self.rows[f"dc-{name}"] = (buses, [line], converters)

    @staticmethod
    def _angle(first: PsseRecord, entry: DyrRecord, bridges: Bridges, volts: float, current: float) -> float:
        """Return the angle in degrees at which bridges have a voltage in kV and a current in kA."""
        cosine = bridges.cosine(volts, current)
        if bridges.line.real("XCAP", 0.0) > NONE or not 0 < cosine < 1 or not bridges.no_load:
            why = (
                "has capacitors in series (XCAP), which have no dynamics here"
                if bridges.line.real("XCAP", 0.0) > NONE
                else f"has no firing angle at the {volts:.6g} kV of its line (cosine {cosine:.4g}); correct"
                " EBAS, TR, TAP or VSCHD"
            )
            raise CaseError(
                f"{entry.where}: {entry.model}: {bridges.line.where}: the converter at bus {bridges.bus}"
                f" {why}, or take the record out: {first.text('NAME')} is then held at its powers"
            )
        return math.degrees(math.acos(cosine))


NO_LINES = DirectCurrentRecords({}, {})
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
