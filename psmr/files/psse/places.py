"""Where the records of a PSS/E RAW file belong: the buses that there are, and the identifiers taken."""

from __future__ import annotations

from collections.abc import Mapping

from psmr.files.psse.record import PsseRecord, name_part


class Places:
    """The records of all buses by number, and what has been found at them.

    Parameters
    ----------
    buses
        The records of the buses; they may be filled in later.
    """

    def __init__(self, buses: Mapping[int, PsseRecord]) -> None:
        self.buses = buses
        self._taken: dict[tuple, PsseRecord] = {}

    def once(self, record: PsseRecord, name: str, *key: object) -> str:
        """Return an identifier after checking that no earlier record has it."""
        ident = name_part(record.text(name, "1"))
        first = self._taken.setdefault((*key, ident), record)
        taken = f"is taken by line {first.line}; every {key[0]} needs its own identifier"
        record.require(first is record, name, taken)
        return ident

    def at(self, record: PsseRecord, name: str = "I") -> PsseRecord | None:
        """Return the record of a bus that is named; None where it is isolated."""
        bus = self.buses.get(abs(record.whole(name)))
        if bus is None:
            raise record.error(name, "there is no bus with this number")
        return None if bus.whole("IDE", 1) == 4 else bus


def suffix(ident: str) -> str:
    """Return what an identifier adds to a name: nothing for 1."""
    return "" if ident == "1" else f"-{ident}"
