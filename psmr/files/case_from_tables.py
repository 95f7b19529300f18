"""A case from tables that a program holds, by the rules of a case file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psmr.base.errors import CaseError, shown
from psmr.files.toml.case import FORMAT, ROWS, VERSION, case_of
from psmr.files.toml.document import Document
from psmr.files.toml.lines import Lines
from psmr.files.toml.lines import Path as TablePath
from psmr.files.user_components import UserComponents
from psmr.network.case.case import Case
from psmr.network.case.tables import TORQUE


@dataclass(frozen=True)
class _Given(Document):
    """Tables without a file: a message names the row in place of a line."""

    def where(self, table: TablePath = (), key: str | None = None) -> str:
        """Return the table, and the number and name of its row, for a message."""
        if not table:
            return str(self.path)
        header, *rest = table
        place = ROWS[str(header)][0]
        if rest:
            row = self.content[str(header)][rest[0]]
            named = row.get("name", row.get("number", "")) if isinstance(row, Mapping) else ""
            place += f", row {int(rest[0]) + 1}" + (f" ({named})" if named != "" else "")
        return place + "".join(f", {part}" for part in rest[1:])


def make_case(
    name: str,
    *,
    base_mva: float,
    frequency_hz: float,
    buses: Iterable[Mapping[str, Any]],
    lines: Iterable[Mapping[str, Any]] = (),
    transformers: Iterable[Mapping[str, Any]] = (),
    shunts: Iterable[Mapping[str, Any]] = (),
    loads: Iterable[Mapping[str, Any]] = (),
    generators: Iterable[Mapping[str, Any]] = (),
    relays: Iterable[Mapping[str, Any]] = (),
    areas: Iterable[Mapping[str, Any]] = (),
    mechanical: str = TORQUE,
    sequence: Iterable[Mapping[str, Any]] = (),
    dc_buses: Iterable[Mapping[str, Any]] = (),
    dc_lines: Iterable[Mapping[str, Any]] = (),
    dc_converters: Iterable[Mapping[str, Any]] = (),
    modules: Sequence[str] = (),
) -> Case:
    """Return a case made of dictionaries, without a file.

    Parameters
    ----------
    name
        What the case is called.
    base_mva, frequency_hz
        Base of the per-unit system and nominal frequency.
    buses, lines, transformers, shunts, loads, generators, relays, areas, sequence
        A dictionary for each row, with the fields that the table has in a case file; a plant has a dictionary
        for each device under its role.
    dc_buses, dc_lines, dc_converters
        The same of direct current.
    mechanical
        What drives GENROU, GENSAL, GENROE and GENSAE; as in a case file.
    modules
        Python modules with components of your own, as in `read_case`.

    Raises
    ------
    CaseError
        For everything that a case file would be refused for, all mistakes at once, with table and row.

    Examples
    --------
    >>> case = psmr.make_case(
    ...     "one machine, one load",
    ...     base_mva=100.0,
    ...     frequency_hz=60.0,
    ...     buses=[{"number": 1}, {"number": 2}],
    ...     lines=[{"from": 1, "to": 2, "x": 0.1}],
    ...     loads=[{"bus": 2, "p_mw": 50.0, "q_mvar": 10.0, "model": "impedance"}],
    ...     generators=[
    ...         {
    ...             "name": "G1",
    ...             "bus": 1,
    ...             "control": "slack",
    ...             "v": 1.0,
    ...             "machine": {"type": "ClassicalMachine", "s_n": 100.0, "h": 5.0, "d": 0.0, "x_d1": 0.3},
    ...         }
    ...     ],
    ... )
    """
    parts = {
        "buses": buses, "lines": lines, "transformers": transformers,
        "shunts": shunts, "loads": loads, "generators": generators, "relays": relays,
        "areas": areas, "sequence": sequence,
        "dc_buses": dc_buses, "dc_lines": dc_lines, "dc_converters": dc_converters,
    }  # fmt: skip
    content: dict[str, Any] = {
        "format": FORMAT, "version": VERSION, "name": name, "base_mva": base_mva,
        "frequency_hz": frequency_hz, "mechanical": mechanical,
        **({} if isinstance(modules, list | tuple) and not modules else {"modules": _plain(modules)}),
    }  # fmt: skip
    for header, (part, _) in ROWS.items():
        content[header] = [_plain(row) for row in _rows(part, parts[part])]
    return case_of(
        _Given(Path(name if isinstance(name, str) else "case"), content, Lines(""), CaseError, finite=False),
        own=UserComponents(allow_code=True),  # the program names them
    )


def _rows(part: str, rows: Any) -> list[Any]:
    if isinstance(rows, Mapping | str) or not isinstance(rows, Iterable):
        raise CaseError(f"{part} = {type(rows).__name__}: must be a list of dictionaries, one for each row")
    found = list(rows)
    for k, row in enumerate(found):
        if not isinstance(row, Mapping):
            raise CaseError(f"{part}, row {k + 1}: {shown(row)} is not a dictionary of the row's fields")
    return found


def _plain(value: Any) -> Any:
    """Return a value as a file would hold it: numbers of numpy as those of Python, tuples as lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value
