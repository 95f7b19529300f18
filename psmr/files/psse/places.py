"""Where the records of a PSS/E RAW file belong: the buses that there are."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from psmr.base.errors import PsmrWarning
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

    def at(self, record: PsseRecord, name: str = "I", status: int = 1) -> PsseRecord | None:
        """Return the record of a bus that is named; None where it is isolated.

        What is out of service, with `status` = 0, may be at a bus that is not there: None, with a warning.
        """
        bus = self.buses.get(abs(record.whole(name)))
        if bus is not None:
            return None if bus.whole("IDE", 1) == 4 else bus
        if status:
            raise record.error(name, "there is no bus with this number")
        tell_of_absent(record, name)
        return None


def tell_of_absent(record: PsseRecord, name: str, what: str = "") -> None:
    """Warn that something out of service is left out, as its bus is not in the file."""
    number = abs(record.whole(name))
    words = f"{name} = {number}: there is no bus with this number; {what or record.section}, out of service,"
    warnings.warn(f"{record.where}: {words} is left out: it cannot be closed", PsmrWarning, stacklevel=3)


def suffix(ident: str) -> str:
    """Return what an identifier adds to a name: nothing for 1."""
    return "" if ident == "1" else f"-{ident}"
