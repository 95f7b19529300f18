"""Tap changer records of a PSS/E DYR file.

================ ==================================== ===========
record           head                                 values
================ ==================================== ===========
OLTC1, OLPS1     bus, model, other bus, circuit       TD TC TSD
OLTC3, OLPS3     bus, model, other two buses, circuit TD TC TSD
================ ==================================== ===========

Also with a T behind the name. TD is the delay of the first move in s, TC the time that a move takes, TSD the
delay of further moves; what is kept, within which band and range, says the transformer of the RAW file (COD,
CONT, VMI, VMA, RMI, RMA, NTP). Of three windings the one at the first bus moves where it regulates, otherwise
the first one that does. Source: Siemens PTI, PSS/E Model Library; that the first and the third value are the
delays also shows in public scripts, which make both long in order to keep a tap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from psmr.base.errors import CaseError
from psmr.devices.tap_changers import PhaseShifter, ReactiveTapChanger, TapChanger
from psmr.files.psse.conventions import circuit_number
from psmr.files.psse.dyr_entries import DyrRecord
from psmr.files.psse.dyr_loads import leave_out
from psmr.network.case.tables import ACTIVE, DeviceRow, TransformerRow
from psmr.network.case.tap_changers import tap_changer_of

RECORDS: Mapping[str, tuple[str, ...]] = {
    f"{model}{windings}{end}": kinds
    for model, kinds in (
        ("OLTC", (TapChanger.__name__, ReactiveTapChanger.__name__)),
        ("OLPS", (PhaseShifter.__name__,)),
    )
    for windings in (1, 3)
    for end in ("", "T")
}
"""Model to the components that it becomes."""


class TransformerRecords:
    """The tap changer records of a DYR file, and what they make of the transformers of the RAW file."""

    def __init__(self, rows: Sequence[TransformerRow]) -> None:
        self.rows = rows
        self.found: dict[str, DeviceRow] = {}

    def takers(self) -> dict[str, Callable[[DyrRecord], None]]:
        """Return what takes the records of each model."""
        return dict.fromkeys(RECORDS, self._take)

    def applied(self, rows: Sequence[TransformerRow]) -> list[TransformerRow]:
        """Return the transformers with their tap changers."""
        return [
            replace(row, tap_changer=self.found[row.name]) if row.name in self.found else row for row in rows
        ]

    def _take(self, entry: DyrRecord) -> None:
        """Add the tap changer that a record is, or warn why there is none."""
        three = "3" in entry.model
        record = entry.record("I", "J", *(("K",) if three else ()), "ID", "TD", "TC", "TSD")
        buses = tuple(record.bus(name) for name in ("I", "J", "K")[: 3 if three else 2])
        ident = record.text("ID", "1")
        there = self._windings(buses, circuit_number(ident))
        named = f"{'-'.join(map(str, buses))}, circuit {ident!r},"
        if not there:
            leave_out(entry, f"there is no transformer {named} in the RAW file")
            return
        phase = entry.model.startswith("OLPS")
        regulating = [row for row in there if row.controls and (row.controls == ACTIVE) == phase]
        if not regulating:
            codes = "COD = 3" if phase else "COD = 1 or 2"
            leave_out(entry, f"the transformer {named} has no {codes} in the RAW file, and regulates nothing")
            return
        times = {
            "t_first": record.real("TD"),
            "t_mechanical": record.real("TC"),
            "t_next": record.real("TSD"),
        }
        row = next((row for row in regulating if buses[0] in (row.from_bus, row.to_bus)), regulating[0])
        try:
            self.found[row.name] = tap_changer_of(row, times, entry.where)
        except CaseError as error:
            leave_out(entry, str(error))

    def _windings(self, buses: tuple[int, ...], circuit: int) -> list[TransformerRow]:
        """Return the rows of a transformer: one, or the windings of three that the RAW reader has named."""
        if len(buses) == 2:
            return [
                row
                for row in self.rows
                if row.circuit == circuit and {row.from_bus, row.to_bus} == set(buses)
            ]
        windings = re.compile(r"transformer(\d+)-(\d+)-(\d+)(-.+)?-w\d")
        named = ((row, windings.fullmatch(row.name)) for row in self.rows if row.circuit == circuit)
        return [row for row, found in named if found and {int(found[k]) for k in (1, 2, 3)} == set(buses)]
