"""Branches of a PSS/E RAW file that are no transformers: lines, switching devices, joints."""

from __future__ import annotations

import warnings

from psmr.base.errors import PsmrWarning
from psmr.files.joined import Joint
from psmr.files.psse.conventions import circuit_number
from psmr.files.psse.places import Places, suffix
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.tables import LineRow, ShuntRow, TransformerRow


class Lines:
    """Collects the rows of branches.

    Parameters
    ----------
    base
        System base in MVA.
    places
        The buses.

    Attributes
    ----------
    rows, turned, shunts
        Lines; branches with a ratio; what stands at one end of a branch.
    zero
        Branches without impedance: the two buses and where it was read.
    """

    def __init__(self, base: float, places: Places) -> None:
        self._base, self._places = base, places
        self.rows: list[LineRow] = []
        self.turned: list[TransformerRow] = []
        self.shunts: list[ShuntRow] = []
        self.zero: list[Joint] = []

    def add(self, record: PsseRecord) -> None:
        """Add the row of a branch, and the shunts at its ends."""
        i, j = (abs(record.whole(name)) for name in ("I", "J"))
        ident = name_part(record.text("CKT", "1"))
        switch = record.section == "switching device"
        status = record.one_of("STAT" if switch else "ST", (0, 1), 1)
        ends = [self._places.at(record, name, status) for name in ("I", "J")]
        r, x = record.real("R", 0.0), record.real("X", 1e-4 if switch else None)
        b = record.real("B", 0.0)
        g_i, b_i, g_j, b_j = (record.real(name, 0.0) for name in ("GI", "BI", "GJ", "BJ"))
        if None in ends:
            return
        if i == j:
            warnings.warn(f"{record.where}: joins bus {i} with itself; left out", PsmrWarning, stacklevel=2)
            return
        if r == x == 0:
            self._joint(record, i, j, status)
            if status:
                # What it has to ground stays, at the one bus.
                y = complex(g_i + g_j, b + b_i + b_j)
                self._at(i, y, f"line{i}-{j}{suffix(ident)}", status, record)
            return
        if record.real("RATIO", 0.0):
            self._turn(record, (i, j), f"{i}-{j}{suffix(ident)}", (r, x, b), status)
            return
        name = f"line{i}-{j}{suffix(ident)}"
        line = {"name": name, "status": status, "circuit": circuit_number(ident)}
        # Equal shunts at both ends are part of the line; others stand at the buses.
        both = (g_i, b_i) == (g_j, b_j)
        g, more = (2 * g_i, 2 * b_i) if both else (0.0, 0.0)
        self.rows.append(LineRow(i, j, x, r, b + more, g, where=record.where, **line))  # type: ignore[arg-type]
        for bus, y in () if both else ((i, complex(g_i, b_i)), (j, complex(g_j, b_j))):
            self._at(bus, y, name, status, record)

    def _at(self, bus: int, y: complex, name: str, status: int, record: PsseRecord) -> None:
        """Add what stands to ground at an end of a branch, per unit, if anything does."""
        if y:
            mva = y * self._base
            self.shunts.append(
                ShuntRow(bus, mva.real, mva.imag, status, f"{name}-at{bus}", where=record.where)
            )

    def _joint(self, record: PsseRecord, i: int, j: int, status: int) -> None:
        """Keep a branch without impedance for `join`; one out of service does nothing."""
        if status:
            self.zero.append((i, j, record.where))
            return
        what = f"{i}-{j}: has no impedance and is out of service; left out, it cannot be closed"
        warnings.warn(f"{record.where}: {what}", PsmrWarning, stacklevel=2)

    def _turn(
        self,
        record: PsseRecord,
        ends: tuple[int, int],
        name: str,
        rxb: tuple[float, float, float],
        status: int,
    ) -> None:
        """Add a branch with a ratio (version 23): a transformer with half its charging behind the ratio."""
        (i, j), (r, x, b) = ends, rxb
        ratio, angle = record.positive("RATIO"), record.real("ANGLE", 0.0)
        label = f"transformer{name}"
        row = TransformerRow(
            i, j, x, r, b / 2, 0.0, status, name=label, tap=ratio, shift_deg=angle, where=record.where
        )
        self.turned.append(row)
        self._at(j, complex(0.0, b / 2), label, status, record)
