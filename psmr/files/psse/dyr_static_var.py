"""Records of static var systems on switched shunts in a PSS/E DYR file: SVSMO1T2 and SVSMO1T3.

======== ============================== ===============================================================
record   head                           values
======== ============================== ===============================================================
SVSMO1T2 bus, model                     regulated bus, flag of the mechanically switched shunts, flag
                                        of the slope, bus and identifier of eight mechanically switched
                                        shunts, then those of `VALUES`
SVSMO1T3 bus, model, identifier         the same
======== ============================== ===============================================================

Susceptances are per unit on the system base, thresholds of susceptance in Mvar. Source: for the order of the
values the public test data of InterPSS with a record that PSS/E 36 ran, for what they are the help of
PowerWorld.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from psmr.base.errors import CaseError, PsmrWarning
from psmr.devices.catalogue import defaults
from psmr.devices.static_var.svsmo1 import SVSMO1
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.tables import DeviceRow, ShuntRow

if TYPE_CHECKING:
    from psmr.files.psse.entries import Entry

SHUNTS = tuple(f"{name}{k}" for k in range(1, 9) for name in ("MSSBUS", "MSSID"))
"""Bus and identifier of each mechanically switched shunt that the system could switch."""

VALUES = (
    "uvsb_max",
    "uv1",
    "uv2",
    "uvt",
    "ov1",
    "ov2",
    "uv_tm1",
    "uv_tm2",
    "ov_tm1",
    "ov_tm2",
    "x_c1",
    "x_c2",
    "x_c3",
    "v_up",
    "v_low",
    "t_c1",
    "t_b1",
    "t_c2",
    "t_b2",
    "k_pv",
    "k_iv",
    "ve_max",
    "ve_min",
    "t_2",
    "b_shrt",
    "b_max",
    "b_min",
    "t_shrt",
    "k_ps",
    "k_is",
    "vr_max",
    "vr_min",
    "vdbd1",
    "vdbd2",
    "t_dbd",
    "pll_delay",
    "eps",
    "-Blcs",
    "b_scs",
    "-Blis",
    "b_sis",
    "-Tmssbrk",
    "-Tdelay1",
    "-Tdelay2",
    "-Tout",
    "v_ref_min",
    "v_ref_max",
)
"""Parameters of SVSMO1 in the order of the values; those of mechanically switched shunts begin with -."""

LAYOUT = ("IBUS", "FLAG1", "slope_flag", *SHUNTS, *VALUES)

RECORDS: Mapping[str, tuple[str, ...]] = dict.fromkeys(("SVSMO1T2", "SVSMO1T3"), (SVSMO1.__name__,))
"""Model to the components that it becomes."""

Key = tuple[int, str]


class StaticVarRecords:
    """The records of static var systems in a DYR file, and what they make of the shunts.

    Parameters
    ----------
    shunts
        Name of each switched shunt of the RAW file by its bus and identifier.
    """

    def __init__(self, shunts: Mapping[Key, str]) -> None:
        self.shunts = shunts
        self.found: dict[str, DeviceRow] = {}

    def takers(self) -> dict[str, Callable[[Entry], None]]:
        """Return what takes the records of each model."""
        return dict.fromkeys(RECORDS, self._svsmo1)

    def applied(self, rows: Sequence[ShuntRow]) -> list[ShuntRow]:
        """Return the shunts with their static var systems."""
        return [
            replace(row, static_var_system=self.found[row.name]) if row.name in self.found else row
            for row in rows
        ]

    def _svsmo1(self, entry: Entry) -> None:
        identified = entry.model == "SVSMO1T3"
        layout = ("I", *(("ID",) if identified else ()), *LAYOUT)
        words = [entry.words[0], *entry.words[2:]]
        if len(words) != len(layout):
            raise CaseError(
                f"{entry.where}: {entry.model}: has {len(words) - 1} values; must have {len(layout) - 1}:"
                f" {' '.join(layout[1:])}; does the record end with a slash?"
            )
        texts = [word for _, word in words]
        record = PsseRecord(entry.path, words[0][0], entry.model, layout, texts)
        name = self._shunt(record, identified)
        if name is None:
            return
        if record.one_of("FLAG1", (0, 1)) == 1:
            what = "the shunts that it switches stand still during a simulation"
            warnings.warn(f"{entry.where}: {entry.model}: FLAG1 = 1: {what}", PsmrWarning, stacklevel=4)
        values = {value: record.real(value) for value in VALUES if value[0] != "-"}
        regulated = record.whole("IBUS", 0)
        values["bus"] = 0.0 if regulated == record.bus("I") else float(regulated)
        values["slope_flag"] = float(record.one_of("slope_flag", (0, 1)))
        self.found[name] = DeviceRow(name, SVSMO1.role, SVSMO1.__name__, values, where=entry.where)

    def _shunt(self, record: PsseRecord, identified: bool) -> str | None:
        """Return the shunt that a record belongs to, by name; None, with a warning, without one."""
        bus = record.bus("I")
        there = {ident: name for (at, ident), name in self.shunts.items() if at == bus}
        ident = name_part(record.text("ID")) if identified else next(iter(there), "1")
        if ident in there:
            return there[ident]
        known = ", ".join(map(repr, there)) or "none"
        what = f"there is no switched shunt {ident!r} at bus {bus} in the RAW file (at this bus: {known})"
        warnings.warn(f"{record.where}: {what}; left out", PsmrWarning, stacklevel=5)
        return None


def static_var_record(row: ShuntRow, device: DeviceRow) -> str:
    """Return the record of a shunt's static var system, without mechanically switched shunts."""
    values = defaults(device.component) | dict(device.parameters)
    shunts = " ".join(f"0 '{k}'" for k in range(1, 9))
    numbers = " ".join(repr(values.get(name, 0.0)) for name in VALUES)
    regulated = int(values["bus"]) or row.bus
    return f"{row.bus} 'SVSMO1T2' {regulated} 0 {int(values['slope_flag'])} {shunts} {numbers} /\n"
