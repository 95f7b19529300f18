"""Loads of a PSS/E RAW file."""

from __future__ import annotations

from psmr.files.psse.conventions import Places, suffix
from psmr.files.psse.dyr_loads import LoadUnit
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.tables import LoadRow

Parts = tuple[float, float, float]

_POWER = (0.0, 0.0, 1.0)


class Loads:
    """Collects the rows of loads, and to whom they belong.

    Parameters
    ----------
    places
        The buses, and the identifiers taken.

    Attributes
    ----------
    rows, units
        The loads; what load records of a DYR file need of each.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self.rows: list[LoadRow] = []
        self.units: list[LoadUnit] = []

    def at_bus(self, record: PsseRecord) -> None:
        """Add the load that the record of a bus has (version 23)."""
        powers = [record.real(name, 0.0) for name in ("PL", "QL")]
        if not any(powers):
            return
        number = record.whole("I")
        self.rows.append(_row(record, f"load{number}", (powers[0], powers[1]), (_POWER, _POWER)))
        area, zone, owner = (record.whole(name, 1) for name in ("AREA", "ZONE", "OWNER"))
        self.units.append(LoadUnit(number, "1", area, zone, owner, (f"load{number}",)))

    def add(self, record: PsseRecord) -> None:
        """Add the rows of a load: one, or one for each kind where its parts have opposite signs."""
        ident = name_part(record.text("ID", "1"))
        status = record.one_of("STATUS", (0, 1), 1)
        bus = self._places.at(record, status=status)
        powers = {name: record.real(name, 0.0) for name in ("PL", "QL", "IP", "IQ", "YP", "YQ")}
        if bus is None or not status:
            return
        for power, own in (("PL", "DGENP"), ("QL", "DGENQ")):
            powers[power] -= record.real(own, 0.0) if record.one_of("DGENM", (0, 1), 0) else 0.0
        # Constant impedance, current, power. YQ is a susceptance: positive for a capacitor.
        p = (powers["YP"], powers["IP"], powers["PL"])
        q = (-powers["YQ"], powers["IQ"], powers["QL"])
        number = record.whole("I")
        name = f"load{number}{suffix(ident)}"
        first = len(self.rows)
        if _one_sign(p) and _one_sign(q):
            self.rows.append(_row(record, name, (sum(p), sum(q)), (_parts(p), _parts(q))))
        else:
            # Fractions of opposite sign are no fractions: a row for each kind.
            for i, kind in enumerate("zip"):
                if p[i] or q[i]:
                    whole = (float(i == 0), float(i == 1), float(i == 2))
                    self.rows.append(_row(record, f"{name}-{kind}", (p[i], q[i]), (whole, whole)))
        area, zone, owner = (record.whole(name, 1) for name in ("AREA", "ZONE", "OWNER"))
        rows = tuple(row.name for row in self.rows[first:])
        self.units.append(LoadUnit(number, ident, area, zone, owner, rows))


def _row(record: PsseRecord, name: str, power: tuple[float, float], parts: tuple[Parts, Parts]) -> LoadRow:
    """Return a load whose powers belong to 1 pu, or to any voltage where they are constant."""
    v_0 = None if parts[0][2] == parts[1][2] == 1 else 1.0
    return LoadRow(record.whole("I"), *power, *parts, v_0=v_0, name=name, where=record.where)


def _one_sign(parts: tuple[float, ...]) -> bool:
    return all(part >= 0 for part in parts) or all(part <= 0 for part in parts)


def _parts(powers: Parts) -> Parts:
    """Return the fractions of a load's power; all of it constant power where there is none."""
    total = sum(powers)
    if total == 0:
        return (0.0, 0.0, 1.0)
    z, i, p = (part / total for part in powers)
    return (z, i, p)
