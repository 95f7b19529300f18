"""Where the records of a PSS/E RAW file belong: the buses that there are."""

from __future__ import annotations

from collections.abc import Mapping

from psmr.files.psse.record import PsseRecord


class Places:
    """The records of all buses by number.

    Parameters
    ----------
    buses
        The records of the buses; they may be filled in later.
    """

    def __init__(self, buses: Mapping[int, PsseRecord]) -> None:
        self.buses = buses

    def at(self, record: PsseRecord, name: str = "I") -> PsseRecord | None:
        """Return the record of a bus that is named; None where it is isolated."""
        bus = self.buses.get(abs(record.whole(name)))
        if bus is None:
            raise record.error(name, "there is no bus with this number")
        return None if bus.whole("IDE", 1) == 4 else bus


def suffix(ident: str) -> str:
    """Return what an identifier adds to a name: nothing for 1."""
    return "" if ident == "1" else f"-{ident}"
