"""The solution that a case file stores: read by itself, without psmr's readers.

Whether it is a solution is asked of the network: the powers that the stored voltages need at each bus are
those that the file gives, but for what the rounding of the voltages leaves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr import Case
from tests.internals import GeneratorRow, LoadPower, admittance

ROUNDING = 1e-5
"""What four decimals of degrees and five of pu leave of a voltage, in pu."""
BALANCED = 0.02
"""What a bus may be out of balance beside that, in pu of 100 MVA; 0.1 MW is PSS/E's own tolerance."""

LOAD = 1e-3
"""What it may be out of balance at most, as a part of the largest load: networks of kilowatts are small."""

AT_LIMIT = 0.02
"""How far stored reactive powers may be from a limit that they are at, relative to themselves or 100 Mvar."""

Stored = Mapping[int, complex]


def voltages(path: Path) -> Stored:
    """Return the complex voltage in pu that a file stores for each bus number."""
    text = path.read_text("latin-1")
    if path.suffix.lower() == ".m":
        return _matpower(text)
    if text.lstrip().startswith("{"):
        return _rawx(text)
    lines = [line for line in text.splitlines() if not line.startswith("@!")]
    head = _fields(lines[0].partition("/")[0])
    version = int(float(head[2])) if len(head) > 2 and head[2] else None
    found: dict[int, complex] = {}
    for line in lines[1:]:
        if re.match(r"\s*0\s*(/|$)", line) and found:
            break
        fields = _fields(line)
        if len(fields) < 8 or not re.fullmatch(r"\d+", fields[0]):
            continue
        try:
            # Versions 29 and 30 have the shunt of a bus before them, 23 the load as well, and no name.
            at = 8 if version in (29, 30) or (version is None and _quoted_second(line)) else 7
            found[int(fields[0])] = _polar(float(fields[at]), float(fields[at + 1]))
        except (ValueError, IndexError):
            continue
    return found


def _quoted_second(line: str) -> bool:
    return re.match(r"\s*\d+\s*,\s*['\"]", line) is not None


def _fields(line: str) -> list[str]:
    """Return the fields of a line at its commas, or at its blanks where it has none; quotes keep both."""
    words = re.findall(r"'[^']*'|\"[^\"]*\"|[^,\s'\"]+|,", line)
    if "," not in words:
        return words
    fields, empty = [], True
    for word in words:
        if word != ",":
            fields.append(word)
        elif empty:
            fields.append("")
        empty = word == ","
    return fields


def _polar(v: float, degrees: float) -> complex:
    return v * complex(np.exp(1j * np.radians(degrees)))


def _matpower(text: str) -> Stored:
    text = re.sub(r"%[^\n]*", "", text)
    match = re.search(r"\bbus\s*=\s*\[([^\]]*)\]", text)
    rows = re.split(r"[;\n]", match[1]) if match else []
    found = {}
    for row in rows:
        words = row.replace(",", " ").split()
        if len(words) > 8:
            found[int(float(words[0]))] = _polar(float(words[7]), float(words[8]))
    return found


def _rawx(text: str) -> Stored:
    table = json.loads(text)["network"]["bus"]
    if not {"ibus", "vm", "va"} <= set(table["fields"]):
        return {}
    place = [table["fields"].index(name) for name in ("ibus", "vm", "va")]
    rows = ([row[k] for k in place] for row in table["data"])
    return {int(number): _polar(float(v or 1.0), float(angle or 0.0)) for number, v, angle in rows}


def is_solution(case: Case, stored: Stored) -> bool:
    """Say whether the stored voltages balance the powers of the case at each bus.

    Asked is active power where no slack is, and reactive power where no generator holds a voltage. Whether it
    is the voltage that they hold, `holds` says.
    """
    if not any(bus.number in stored for bus in case.buses):
        return False
    y, known, need = _needed(case, stored)
    slack, held = np.zeros(len(need), dtype=bool), np.zeros(len(need), dtype=bool)
    for row, at in zip(case.generators, _places(case), strict=True):
        need[at] -= complex(row.p_mw, row.q_mvar) / case.base_mva
        slack[at] |= row.control == "slack"
        held[at] |= row.control != "pq"
    drawn = max((abs(complex(row.p_mw, row.q_mvar)) for row in case.loads), default=0.0)
    balanced = min(BALANCED * 100.0, LOAD * drawn) / case.base_mva
    allowed = balanced + ROUNDING * np.asarray(np.abs(y).sum(axis=1)).ravel()
    active, reactive = known & ~slack, known & ~held
    return bool(
        (np.abs(need.real) <= allowed)[active].all() and (np.abs(need.imag) <= allowed)[reactive].all()
    )


def holds(case: Case, stored: Stored, tolerance: float) -> bool:
    """Say whether each stored voltage that generators hold is what they hold, or they are at a limit.

    A file with a set-point further than `tolerance` in pu from its voltage cannot be met to that.
    """
    q = _needed(case, stored)[2].imag * case.base_mva
    together: dict[int, list[tuple[GeneratorRow, int]]] = {}
    for row, at in zip(case.generators, _places(case), strict=True):
        q[at] -= row.q_mvar if row.control == "pq" else 0.0
        if row.control != "pq":
            together.setdefault(row.control_bus or row.bus, []).append((row, at))
    return all(
        abs(off := abs(stored.get(bus, rows[0][0].v)) - rows[0][0].v) <= tolerance or _at_limit(rows, q, off)
        for bus, rows in together.items()
    )


def _at_limit(rows: Sequence[tuple[GeneratorRow, int]], q: np.ndarray, off: float) -> bool:
    """Say whether generators give all the Mvar they can, or take them where the voltage is too high."""
    for place in {place for _, place in rows}:
        here = [row for row, at in rows if at == place]
        room = AT_LIMIT * max(100.0, abs(q[place]))
        if off < 0 and q[place] < sum(row.q_max_mvar for row in here) - room:
            return False
        if off > 0 and q[place] > sum(row.q_min_mvar for row in here) + room:
            return False
    return True


def _places(case: Case) -> list[int]:
    """Return the position of the bus of each generator."""
    place = {bus.number: i for i, bus in enumerate(case.buses)}
    return [place[row.bus] for row in case.generators]


def _needed(case: Case, stored: Stored) -> tuple[sparse.csr_matrix, np.ndarray, np.ndarray]:
    """Return the admittances, which buses have a stored voltage, and what generators have to give at each.

    Buses that the file does not have follow the others. In pu.
    """
    known = np.array([bus.number in stored for bus in case.buses])
    y = admittance(case).tocsr()
    v = np.array([stored.get(bus.number, 0.0) for bus in case.buses], dtype=complex)
    if not known.all():
        inner = splu(y[~known][:, ~known].tocsc())
        v[~known] = inner.solve(-(y[~known][:, known] @ v[known]))
    return y, known, v * np.conj(y @ v) + LoadPower.of(case).drawn(np.abs(v))[0]


def with_stored_set_points(case: Case, stored: Stored) -> Case:
    """Return a case whose generators hold the stored voltages."""
    rows = (
        row if row.control == "pq" else replace(row, v=abs(stored.get(row.control_bus or row.bus, row.v)))
        for row in case.generators
    )
    return replace(case, generators=tuple(rows))


def distance(case: Case, voltage: np.ndarray, stored: Stored) -> float:
    """Return the largest difference of a bus's voltage from the stored one in pu, up to a turn of all."""
    both = [
        (v, stored[bus.number]) for bus, v in zip(case.buses, voltage, strict=True) if bus.number in stored
    ]
    if not both:
        return float("nan")
    ours, theirs = (np.array(values) for values in zip(*both, strict=True))
    turn = np.vdot(ours, theirs)
    return float(np.abs(ours * (turn / abs(turn)) - theirs).max())
