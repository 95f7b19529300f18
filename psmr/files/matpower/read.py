"""MATPOWER case files, versions 1 and 2, as cases.

Read are ``mpc.version``, ``mpc.baseMVA`` and the matrices ``mpc.bus``, ``mpc.gen``, ``mpc.branch`` and
``mpc.dcline``; arithmetic on their columns is carried out (statements.py), other fields of ``mpc`` are
passed over, and a statement that may change the matrices otherwise is an error. Source: R. D. Zimmerman and
C. E. Murillo-Sanchez, MATPOWER User's Manual, section 3 and appendix B. What the case does otherwise than
the file:

- generators out of service, loads of no power, and isolated buses (type 4) with everything at them are left
  out;
- a branch with a ratio or a shift is a transformer; where its charging is not zero, half of it is behind the
  ratio, and the other half a shunt at the second bus;
- loads are constant powers, at any voltage;
- an end of a DC line (``mpc.dcline``) in service is a generator that holds power and voltage.

The text of a MATPOWER case file, cut into statements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from psmr.base.errors import CaseError, Mistakes, warn
from psmr.files.load_flow_rules import energised_rows, with_charging_in_front, with_common_voltages
from psmr.files.matpower.statements import NEEDED, Line, Statement, Workspace
from psmr.files.psse.dyr import with_dynamics
from psmr.files.psse.dyr_entries import GeneratorUnit, Key, LoadUnit
from psmr.files.text import WINDOWS, in_order, read_text
from psmr.files.user_components import NONE, UserComponents
from psmr.network.case.case import Case
from psmr.network.case.tables import (
    POWER,
    TORQUE,
    BusRow,
    GeneratorRow,
    LineRow,
    LoadRow,
    ShuntRow,
    TransformerRow,
)

_OPEN, _CLOSE = "[{(", "]})"


def read_fields(path: str | Path) -> tuple[dict[str, Line], dict[str, list[Line]]]:
    """Return the scalars (baseMVA) and the matrices (bus, gen, branch, perhaps dcline) of a file.

    Files of version 1 have the same columns, as far as a case needs them, and often no version.

    Raises CaseError for another version, a field that is missing or given twice, a bracket without its
    partner, a value that is not a number, a statement that may change a number and is not understood.
    """
    statements = _statements(str(path), read_text(path, WINDOWS))
    space = Workspace(str(path))
    for statement in statements:
        space.carry_out(statement)
    version = space.scalars.pop("version", None)
    if version is not None and version.value not in (1.0, 2.0):
        where = f"{path}:{version.number}"
        raise CaseError(f"{where}: mpc.version = '{version.value:g}': psmr reads versions '1' and '2'")
    for name in ("baseMVA", *NEEDED):
        if not (name in space.scalars or name in space.matrices):
            last = statements[-1].number if statements else 1
            raise CaseError(f"{path}:{last}: mpc.{name} is missing; is this a MATPOWER case?")
    return space.scalars, space.matrices


def _statements(path: str, lines: list[str]) -> list[Statement]:
    """Cut a file into statements, without comments; a bracket keeps a statement open over lines."""
    statements: list[Statement] = []
    held: list[tuple[int, str]] = []
    depth = 0
    comment = 0
    for number, raw in enumerate(lines, start=1):
        if raw.strip() in ("%{", "%}"):
            comment += 1 if raw.strip() == "%{" else -1
            continue
        if comment > 0:
            continue
        text, continued = _code(raw)
        if not held and not text.strip():
            continue
        for piece, ended in _pieces(text, depth):
            depth += _balance(piece)
            if depth < 0:
                raise CaseError(f"{path}:{number}: a bracket closes that was not opened")
            if piece.strip() or held:
                held.append((number, piece))
            if ended and depth == 0 and held:
                statements.append(_joined(held))
                held = []
        if depth == 0 and held and not continued:
            statements.append(_joined(held))
            held = []
    if held:
        raise CaseError(f"{path}:{held[0][0]}: the bracket that opens here is not closed; is the file whole?")
    return [statement for statement in statements if statement.text]


def _joined(held: list[tuple[int, str]]) -> Statement:
    text = "\n".join(piece for _, piece in held).strip().rstrip(";").strip()
    return Statement(held[0][0], text, tuple(held))


def _pieces(text: str, depth: int) -> list[tuple[str, bool]]:
    """Return the parts of a line between the semicolons that end statements, and whether one ends each."""
    pieces, start, quoted = [], 0, False
    for position, letter in enumerate(text):
        if letter == "'":
            quoted = not quoted
        elif not quoted:
            depth += (letter in _OPEN) - (letter in _CLOSE)
            if letter == ";" and depth == 0:
                pieces.append((text[start:position], True))
                start = position + 1
    return [*pieces, (text[start:], False)]


def _balance(text: str) -> int:
    text = re.sub(r"'[^']*'", "", text)
    return sum((letter in _OPEN) - (letter in _CLOSE) for letter in text)


def _code(line: str) -> tuple[str, bool]:
    """Return a line without its comment, and whether three dots continue it."""
    quoted = False
    for position, letter in enumerate(line):
        if letter == "'":
            quoted = not quoted
        elif not quoted and letter == "%":
            return line[:position], False
        elif not quoted and line.startswith("...", position):
            return line[:position], True
    return line, False


COLUMNS: Mapping[str, str] = {
    "bus": "bus_i type Pd Qd Gs Bs area Vm Va baseKV zone Vmax Vmin",
    "gen": "bus Pg Qg Qmax Qmin Vg mBase status Pmax Pmin",
    "branch": "fbus tbus r x b rateA rateB rateC ratio angle status",
    "dcline": "fbus tbus status Pf Pt Qf Qt Vf Vt Pmin Pmax QminF QmaxF QminT QmaxT loss0 loss1",
}
"""The columns of each matrix, as far as a case has them."""


def read_matpower(
    path: str | Path,
    frequency_hz: float | None = None,
    dynamics: str | Path | None = None,
    skip_unknown_models: bool = False,
    net_unmodelled: bool = False,
    mechanical: str | None = None,
    own: UserComponents = NONE,
) -> Case:
    """Return the case in a MATPOWER file, with the plants of a DYR file if one is given.

    `path`: file that ends in ``.m``; `frequency_hz`: nominal frequency, which the format does not have; 60
    Hz, with a warning, when left out. Raises CaseError for a file of another version, a matrix that is
    missing or has too few columns, a value that is no finite number or out of its range, a statement that is
    not understood; names file and line.
    """
    found = read_fields(path)
    scalars, matrices = found
    base = scalars["baseMVA"]
    if not base.value > 0:
        raise CaseError(f"{path}:{base.number} (baseMVA): baseMVA = {base.value!r}: must be > 0")
    if frequency_hz is None:
        frequency_hz = 60.0
        warn(f"{path}: MATPOWER files give no frequency; 60 Hz is taken, or give frequency_hz")
    mistakes = Mistakes()
    # A run has PSS/E's low voltage: beside a fault no load can have its power.
    tables = _Tables(str(path), matrices, base.value, mistakes, LoadRow.v_min if dynamics else 0.0)
    names = ("buses", "lines", "transformers", "shunts", "loads", "generators")
    rows: dict[str, list[Any]] = {name: getattr(tables, name) for name in names} | {"relays": []}
    if dynamics is not None:
        units, loads, ends = tables.units, tables.load_units, [row for row in rows["generators"] if row.held]
        rows = with_dynamics(
            rows, dynamics, units, loads, {}, frequency_hz, mistakes, skip_unknown_models, net_unmodelled, own
        )
        rows["generators"] += ends
    mistakes.finish()
    rows = energised_rows(rows, str(path))
    stored = {row.number: row.v for row in tables.buses}
    rows["generators"] = with_common_voltages(rows["generators"], stored)
    return Case(
        name=Path(path).stem,
        base_mva=base.value,
        frequency_hz=frequency_hz,
        source=str(path),
        mechanical=mechanical or (TORQUE if dynamics is None else POWER),
        modules=own.modules,
        **{name: tuple(table) for name, table in rows.items()},  # type: ignore[arg-type]  # by name
    )


class _Row:
    """A row of a matrix: its values by the names of the columns, and its line."""

    def __init__(self, path: str, matrix: str, names: list[str], line: Line) -> None:
        self.where = f"{path}:{line.number} (mpc.{matrix})"
        if len(line.values) < len(names):
            raise CaseError(
                f"{self.where}: has {len(line.values)} columns; must have at least {len(names)}:"
                f" {' '.join(names)}"
            )
        self.values = dict(zip(names, line.values, strict=False))

    def given(self, name: str) -> bool:
        """Say whether a value is a number; MATLAB has NaN for none."""
        return not math.isnan(self.values[name])

    def error(self, name: str, right: str) -> CaseError:
        return CaseError(f"{self.where}: {name} = {self.values[name]:g}: {right}")

    def __getitem__(self, name: str) -> float:
        value = self.values[name]
        if not math.isfinite(value):
            raise self.error(name, "must be a finite number")
        return value

    def limits(self, low: str, high: str) -> tuple[float, float]:
        """Return two limits, of which the second must be at least the first, but for rounding."""
        least, most = self.values[low], self.values[high]
        found = in_order(least, most)
        if found is None:
            raise self.error(high, f"must be at least {low} = {least:g}")
        if found != (least, most):
            what = f"{high} = {most:g} is below {low} = {least:g} by rounding; both are {least:g}"
            warn(f"{self.where}: {what}")
        return found

    def whole(self, name: str, choices: tuple[int, ...] = ()) -> int:
        value = self[name]
        if value != int(value) or abs(value) >= 1e9:
            raise self.error(name, "must be a whole number of at most nine digits")
        if choices and int(value) not in choices:
            raise self.error(name, f"must be one of {', '.join(map(str, choices))}")
        return int(value)


class _Tables:
    """The rows of a case, filled matrix by matrix."""

    def __init__(
        self, path: str, matrices: Mapping[str, list[Line]], base: float, mistakes: Mistakes, v_min: float
    ) -> None:
        self.base, self.v_min = base, v_min
        self.units: dict[Key, GeneratorUnit] = {}
        self.load_units: list[LoadUnit] = []
        self.buses: list[BusRow] = []
        self.lines: list[LineRow] = []
        self.transformers: list[TransformerRow] = []
        self.shunts: list[ShuntRow] = []
        self.loads: list[LoadRow] = []
        self.generators: list[GeneratorRow] = []
        self._bus: dict[int, _Row] = {}
        self._count: dict[Any, int] = {}
        takers = self._add_bus, self._add_generator, self._add_branch, self._add_dc_line
        for (matrix, names), add in zip(COLUMNS.items(), takers, strict=True):
            for line in matrices.get(matrix, ()):
                row = mistakes.attempt(_Row, path, matrix, names.split(), line)
                if row is not None:
                    mistakes.attempt(add, row)

    def _next(self, *key: object) -> int:
        """Count things of one kind at one place: 1 for the first."""
        self._count[key] = self._count.get(key, 0) + 1
        return self._count[key]

    def _at(self, row: _Row, name: str) -> _Row | None:
        """Return the row of a bus that is named; None where it is isolated."""
        bus = self._bus.get(row.whole(name))
        if bus is None:
            raise row.error(name, "there is no bus with this number")
        return None if bus.whole("type") == 4 else bus

    def _add_bus(self, row: _Row) -> None:
        number, kind = row.whole("bus_i"), row.whole("type", (1, 2, 3, 4))
        if number <= 0:
            raise row.error("bus_i", "must be > 0")
        if number in self._bus:
            raise row.error("bus_i", f"is taken by {self._bus[number].where}")
        self._bus[number] = row
        if row["baseKV"] < 0:
            raise row.error("baseKV", "must be >= 0 (0: unknown)")
        p, q, g, b = (row[name] for name in ("Pd", "Qd", "Gs", "Bs"))
        if kind == 4:
            return
        # No voltage at all is none that is stored.
        v, angle_deg = (row["Vm"], row["Va"]) if row.given("Vm") and row["Vm"] > 0 else (None, None)
        area, zone = (row.whole(name) if row.given(name) else 0 for name in ("area", "zone"))
        voltage = row["baseKV"], "", v, angle_deg
        self.buses.append(BusRow(number, *voltage, area, zone, where=row.where))
        power = (0.0, 0.0, 1.0)
        if p or q:
            load = LoadRow(number, p, q, power, power, self.v_min, where=row.where)
            self.loads.append(load)
            self.load_units.append(LoadUnit(number, "1", area, zone, 1, (load.name,)))
        if g or b:
            self.shunts.append(ShuntRow(number, g, b, where=row.where))

    def _add_generator(self, row: _Row) -> None:
        bus = self._at(row, "bus")
        number, rating = row.whole("bus"), row["mBase"] or self.base
        if rating < 0:
            raise row.error("mBase", "must be > 0 (0: as baseMVA)")
        count = self._next("generator", number)
        unit = GeneratorUnit(None, rating, 0.0, math.nan, False, row.where)
        self.units[number, str(count)] = unit
        # MATPOWER: above zero is in service.
        if bus is None or row["status"] <= 0:
            return
        low, high = row.limits("Qmin", "Qmax")
        kind = bus.whole("type")
        if kind != 1 and not row["Vg"] > 0:
            raise row.error("Vg", "must be > 0")
        generator = GeneratorRow(
            name=f"G{number}" if count == 1 else f"G{number}-{count}",
            bus=number,
            control={1: "pq", 2: "pv", 3: "slack"}[kind],
            p_mw=row["Pg"],
            q_mvar=row["Qg"],
            v=row["Vg"] if kind != 1 else 1.0,
            angle_deg=bus["Va"] if bus.given("Va") else 0.0,
            q_min_mvar=low,
            q_max_mvar=high,
            rating_mva=rating,
            where=row.where,
        )
        self.generators.append(generator)
        self.units[number, str(count)] = replace(unit, row=generator)

    def _add_branch(self, row: _Row) -> None:
        ends = [self._at(row, name) for name in ("fbus", "tbus")]
        i, j, status = row.whole("fbus"), row.whole("tbus"), row.whole("status", (0, 1))
        r, x, b, ratio, angle = (row[name] for name in ("r", "x", "b", "ratio", "angle"))
        if x == 0 and r == 0:
            raise row.error("x", "must not be 0; give it a small value such as 1e-4, or join the buses")
        if ratio < 0:
            raise row.error("ratio", "must be >= 0 (0: a line)")
        line = ratio == 0 and angle == 0
        circuit = self._next("line" if line else "transformer", i, j)
        if None in ends:
            return
        if line:
            self.lines.append(LineRow(i, j, x, r, b, 0.0, status, circuit, where=row.where))
            return
        branch = TransformerRow(
            i, j, x, r, b, 0.0, status, circuit, tap=ratio or 1.0, shift_deg=angle, where=row.where
        )
        transformer, shunts = with_charging_in_front(branch, self.base)
        self.transformers.append(transformer)
        self.shunts += shunts

    def _add_dc_line(self, row: _Row) -> None:
        """Add the ends of a DC line: generators that hold its powers and voltages, as toggle_dcline does."""
        ends = [self._at(row, name) for name in ("fbus", "tbus")]
        i, j = row.whole("fbus"), row.whole("tbus")
        count = self._next("dc line", i, j)
        if not row.whole("status", (0, 1)) or None in ends:
            return
        sent = row["Pf"]
        received = sent - row["loss0"] - row["loss1"] * sent
        name = f"dcline{i}-{j}" if count == 1 else f"dcline{i}-{j}-{count}"
        for bus, p, v, side in ((i, -sent, "Vf", "F"), (j, received, "Vt", "T")):
            low, high = row.limits(f"Qmin{side}", f"Qmax{side}")
            if not row[v] > 0:
                raise row.error(v, "must be > 0")
            self.generators.append(
                GeneratorRow(
                    f"{name}-{'from' if side == 'F' else 'to'}",
                    bus,
                    "pv",
                    p,
                    v=row[v],
                    q_min_mvar=low,
                    q_max_mvar=high,
                    rating_mva=self.base,
                    held=True,
                    where=row.where,
                )
            )
        warn(
            f"{row.where}: {name}: a DC line of {sent:g} MW from bus {i}, {received:g} MW to bus {j}; it"
            " holds both voltages in the power flow, and is held at its powers in a run"
        )
