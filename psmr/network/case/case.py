"""A case: the tables of a network and its plants, checked against each other."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from psmr.base.arguments import check_arguments, settle_fields
from psmr.base.errors import CaseError, shown
from psmr.network.case.checks import check_case
from psmr.network.case.edit import CaseTables, edited
from psmr.network.case.tables import BranchRow, BusRow, SequenceRow, Tables

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Case(Tables):
    """Network, loads and plants, checked; `build` turns them into devices.

    Raises
    ------
    CaseError
        Where the tables contradict each other; the message names row, field, value and what would be right.
    """

    def __post_init__(self) -> None:
        settle_fields(self, CaseError)
        check_case(self)

    @functools.cached_property
    def buses_by_number(self) -> Mapping[int, BusRow]:
        """The buses by number."""
        return {bus.number: bus for bus in self.buses}

    @functools.cached_property
    def places(self) -> Mapping[int, int]:
        """The positions of the buses in their table, by number."""
        return {bus.number: i for i, bus in enumerate(self.buses)}

    @functools.cached_property
    def buses_by_name(self) -> Mapping[str, BusRow]:
        """The buses by name."""
        return {bus.name: bus for bus in self.buses}

    @functools.cached_property
    def branches_by_name(self) -> Mapping[str, BranchRow]:
        """The lines and transformers by name."""
        return {branch.name: branch for branch in self.branches}

    @functools.cached_property
    def sequence_of(self) -> Mapping[str, SequenceRow]:
        """The rows of sequence data by the element's name."""
        return {row.element: row for row in self.sequence}

    def bus(self, number: int) -> BusRow:
        """Return the bus with a number.

        Raises
        ------
        CaseError
            Where there is none.
        """
        check_arguments(Case.bus, locals(), CaseError)
        found = self.buses_by_number.get(number)
        if found is None:
            known = ", ".join(map(str, [*self.buses_by_number][:20]))
            raise CaseError(f"{self.name} has no bus of the number {shown(number)}; it has {known}, ...")
        return found

    @property
    def tables(self) -> CaseTables:
        """The case as DataFrames: ``case.tables["generators"]``.

        Tables are ``buses``, ``lines``, ``transformers``, ``shunts``, ``loads``, ``generators``, and one for
        each type of device, such as ``TwoAxisMachine``, with its parameters as columns. The index is the
        name. A DataFrame is a copy: `edit` makes a case of a changed one.
        """
        return CaseTables(self)

    def edit(
        self, values: Mapping[str, Any] | None = None, /, *beside: object, **tables: pd.DataFrame
    ) -> Case:
        """Return the case with other values; this one stays as it is.

        Parameters
        ----------
        values
            New values by name and column, ``{"load5.p_mw": 130.0, "AVR1.k_a": 25.0}``; ``*`` stands for any
            text, ``{"load*.v_min": 0.5}``. Names and columns are those of `tables`.
        tables
            Whole tables like those of `tables`, changed: ``case.edit(loads=loads)``. Rows of the network may
            be new or left out; a plant that stays keeps its devices, one that goes takes them with it.

        Raises
        ------
        CaseError
            For a name, column or value that cannot be, and for a case that would contradict itself, with all
            that is wrong with single rows at once. Nothing is changed then.

        Warns
        -----
        PsmrWarning
            Of what is unlikely about the new values, as `read_case` does of those in a file.

        Examples
        --------
        >>> heavier = case.edit({"load5.p_mw": 150.0, "G1.h": 20.0})
        >>> loads = case.tables["loads"]
        >>> loads["p_mw"] *= 1.1
        >>> heavier = case.edit(loads=loads)
        """
        if beside or not (values is None or isinstance(values, Mapping)):
            given = ", ".join(
                part if isinstance(part, str) else type(part).__name__ for part in (values, *beside)
            )
            raise CaseError(
                f"edit takes values by name or whole tables by keyword, not ({given}); write "
                'case.edit({"load5.p_mw": 130.0}) or case.edit(loads=table)'
            )
        return edited(self, values or {}, tables)

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
