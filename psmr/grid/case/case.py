"""A case: the tables of a network and its plants, checked against each other."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from psmr.grid.case.checks import check_case
from psmr.grid.case.tables import BusRow, Tables


@dataclass(frozen=True, repr=False)
class Case(Tables):
    """Network, loads and plants, checked; `build` turns them into devices.

    Raises
    ------
    CaseError
        Where the tables contradict each other; the message names row, field, value and what would be right.
    """

    def __post_init__(self) -> None:
        check_case(self)

    def bus(self, number: int) -> BusRow:
        """Return the bus with a number."""
        return next(bus for bus in self.buses if bus.number == number)

    def __repr__(self) -> str:
        return f"Case({str(self)!r})"

    def _repr_html_(self) -> str:
        tables = ("buses", "lines", "transformers", "shunts", "loads", "generators")
        rows = "".join(f"<tr><td>{name}</td><td>{len(getattr(self, name))}</td></tr>" for name in tables)
        base = f"{self.base_mva:g} MVA, {self.frequency_hz:g} Hz"
        return f"<p><strong>{escape(self.name)}</strong> ({base})</p><table>{rows}</table>"

    def __str__(self) -> str:
        sizes = (
            f"{len(self.buses)} buses, {len(self.lines)} lines, {len(self.transformers)} transformers, "
            f"{len(self.loads)} loads, {len(self.generators)} generators"
        )
        return f"{self.name}: {sizes} ({self.base_mva:g} MVA, {self.frequency_hz:g} Hz)"
