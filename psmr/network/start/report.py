"""The report on the start of a case: a summary, problems and notes, the devices; as text, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.base.errors import first_few
from psmr.dae.system.system import System
from psmr.network.case.case import Case
from psmr.network.case.tables import LoadRow
from psmr.network.powerflow.powerflow import PowerFlow
from psmr.network.powerflow.voltages import FLAT, LINEAR, STORED, UNLOADED

if TYPE_CHECKING:
    import pandas as pd


ERROR, WARNING, NOTE = "error", "warning", "note"

# Devices named of those that sample.
SAMPLED = 6


@dataclass(frozen=True)
class StartFinding:
    """A problem, or a note.

    Attributes
    ----------
    level
        ``"error"``: the case cannot be simulated from this start. ``"warning"``: it can, and its user should
        know. ``"note"``: no problem, but what a run does not simulate.
    topic
        What it is about: ``"data"``, ``"power flow"``, ``"voltage"``, ``"reactive power"``, ``"rating"``,
        ``"load"``, ``"devices"``, ``"equilibrium"``, ``"limit"``, ``"residual"``, ``"control"``.
    name
        Name of the bus, generator, load or device.
    message
        What, where, by how much, and what to try.
    size
        By how much, to order the findings of one topic.
    """

    level: str
    topic: str
    name: str
    message: str
    size: float = 0.0


@dataclass(frozen=True)
class StartModes:
    """The modes at the start, as information.

    `unstable`: eigenvalues with a positive real part.
    `looked_at`: how many eigenvalues were computed, of how many states.
    `words`: which, in words.
    """

    unstable: int
    looked_at: int
    words: str


@dataclass(frozen=True, eq=False)
class Report:
    """The start of a case: what was found there.

    Attributes
    ----------
    case
        The case.
    flow
        Its power flow; None where it has no solution.
    islands
        Number of islands.
    findings
        Problems and notes, errors first.
    variables
        A row per state, algebraic variable, set-point and limiter input of the devices: ``device``,
        ``model``, ``variable``, ``kind``, ``value``, ``unit``, ``residual``, ``lower``, ``upper`` and
        ``limit`` (``"at"``, ``"near"``, ``"outside"`` and the limit's name).
    system
        The system at its equilibrium; None where it has none.
    modes
        Its modes; None where they were not looked at.
    """

    case: Case
    flow: PowerFlow | None
    islands: int
    findings: tuple[StartFinding, ...]
    variables: pd.DataFrame = field(repr=False)
    system: System | None = None
    modes: StartModes | None = None

    @property
    def good(self) -> bool:
        """Whether the case can be simulated from this start."""
        return not any(finding.level == ERROR for finding in self.findings)

    def about(self, *topics: str) -> tuple[StartFinding, ...]:
        """Return the findings on some topics."""
        return tuple(finding for finding in self.findings if finding.topic in topics)

    def text(self, everything: bool = False, warned: int = 0) -> str:
        """Return the report as text: a summary, problems and notes, or every variable as well.

        `warned` is how many warnings the reading of the case gave, which are not repeated.
        """
        return report_text(self, everything, warned)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        verdict = "can be simulated" if self.good else "cannot be simulated"
        return f"Report({self.case.name!r}: {verdict}, {len(self.findings)} findings)"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"

    def record(self) -> dict[str, Any]:
        """Return the report as plain values by name."""
        flow = self.flow
        return {
            "case": self.case.name,
            "good": self.good,
            "power_flow": None
            if flow is None
            else {
                "iterations": flow.iterations,
                "mismatch": flow.mismatch,
                "start": flow.start,
                "reactive_limits": flow.reactive_limits,
                "notes": list(flow.notes),
                "from_stored": None if flow.stored is None else flow.stored.largest,
                "islands": self.islands,
                "buses": flow.buses().reset_index().to_dict("records"),
                "generators": flow.generators().reset_index().to_dict("records"),
                "loads": flow.loads().reset_index().to_dict("records"),
            },
            "findings": [asdict(finding) for finding in self.findings],
            "modes": None if self.modes is None else asdict(self.modes),
            "variables": self.variables.to_dict("records"),
        }


def ordered(findings: Sequence[StartFinding]) -> tuple[StartFinding, ...]:
    """Return findings with errors first, notes last, topics as they came, the largest first."""
    topics = list(dict.fromkeys(finding.topic for finding in findings))
    levels = (ERROR, WARNING, NOTE)
    return tuple(sorted(findings, key=lambda f: (levels.index(f.level), topics.index(f.topic), -f.size)))


SHOWN = 10
"""Findings of one topic in a report that does not show everything."""
FEW = 12
"""A case of so many generators has its plants listed in any report, one of so many loads its motors."""
WIDTH = 15
_WORDS = ("model", "acts on", "settings")


def report_text(report: Report, everything: bool, warned: int = 0) -> str:
    """Return a report as text; with `everything`, every finding and every variable of every device.

    `warned` counts the warnings that came before, of the reading.
    """
    blocks = [
        str(report.case),
        "\n".join(_summary(report)),
        "\n".join(_plants(report)) if everything or len(report.case.generators) <= FEW else "",
        "\n".join(_motors(report)) if everything or len(report.case.loads) <= FEW else "",
        "\n".join(_loads(report)) if everything or len(report.case.loads) <= FEW else "",
        "\n".join(_relays(report)) if everything or len(report.case.relays) <= FEW else "",
        "\n".join(_devices(report)) if everything else "",
        "\n".join(_problems(report, everything, warned)),
    ]
    return "\n\n".join(block for block in blocks if block)


def _summary(report: Report) -> Iterator[str]:
    if report.flow is None:
        yield _line("Power flow", "no solution; nothing else can be looked at")
        return
    flow, case = report.flow, report.case
    place = "1 island" if report.islands == 1 else f"{report.islands} islands"
    yield _line(
        "Power flow", f"{flow.iterations} iterations to a mismatch of {flow.mismatch:.2g} pu, {place}"
    )
    yield _line("  start", _start(flow))
    if (difference := flow.stored) is not None:
        yield _line("  stored", str(difference))
    low, high = int(np.argmin(flow.v)), int(np.argmax(flow.v))
    yield _line(
        "  voltages",
        f"{flow.v[low]:.4f} pu ({case.buses[low].name}) to {flow.v[high]:.4f} pu ({case.buses[high].name})",
    )
    yield _line("  generation", _power(flow.p, flow.q, case.base_mva))
    yield _line("  load", _power(flow.load_p, flow.load_q, case.base_mva))
    slacks = dict.fromkeys(row.bus for row in case.generators if row.control == "slack")
    for number in slacks:
        here = np.array([row.bus == number for row in case.generators])
        yield _line(
            "  slack", f"{case.bus(number).name}: {_power(flow.p[here], flow.q[here], case.base_mva)}"
        )
    if flow.at_limit:
        yield _line("  held", f"at a reactive limit: {', '.join(flow.at_limit)}")
    yield from _dynamics(report)


def _start(flow: PowerFlow) -> str:
    """Return where the power flow started, and whether reactive limits were kept, in words."""
    words = {
        STORED: "at the voltages that the file stores",
        FLAT: "at flat voltages",
        LINEAR: "at flat voltages with the angles of the linear (DC) power flow",
        UNLOADED: "at the voltages of the network without loads",
    }[flow.start]
    kept = "enforced" if flow.reactive_limits else "not enforced"
    return f"{words}; reactive limits {kept}"


def _power(p: np.ndarray | float, q: np.ndarray | float, base: float) -> str:
    return f"{np.sum(p) * base:.1f} MW, {np.sum(q) * base:.1f} Mvar"


def _dynamics(report: Report) -> Iterator[str]:
    table = report.variables
    if table.empty:
        none = not any(row.devices for row in report.case.generators)
        yield _line(
            "Dynamics",
            "no dynamic data; those of a .raw file are in a .dyr file (--dynamics)"
            if none
            else "not looked at",
        )
        return
    devices = table.loc[table["model"] != "Bus", "device"].nunique()
    count = table["kind"].value_counts()
    yield _line(
        "Dynamics",
        f"{_count(devices, 'device')} with {_count(int(count.get('state', 0)), 'state')} and"
        f" {_count(int(count.get('set-point', 0)), 'set-point')}",
    )
    residual = np.abs(table["residual"].to_numpy(dtype=float))
    if np.isfinite(residual).any():
        worst = int(np.nanargmax(residual))
        name = ".".join(table[["device", "variable"]].iloc[worst])
        yield _line("  residual", f"{residual[worst]:.2g} at most ({name})")
    limit = table["limit"]
    sides = int(np.isfinite(table[["lower", "upper"]].to_numpy(dtype=float)).sum())
    words = (("outside", "exceeded"), ("at", "reached"), ("near", "within 2 %"))
    counts = ", ".join(f"{limit.str.startswith(word).sum()} {name}" for word, name in words)
    yield _line("  limits", f"{_count(sides, 'bound')}: {counts}")
    if report.system is not None and report.system.s:
        often = {s.device: f"{s.device} every {s.period:g} s" for s in report.system.samplers}
        yield _line("  samples", first_few(list(often.values()), SAMPLED))
    if report.modes is not None:
        yield _line("  modes", report.modes.words)


def _set_points(report: Report) -> dict[str, list[str]]:
    """Return the set-points of each device in words."""
    table = report.variables[report.variables["kind"] == "set-point"]
    held: dict[str, list[str]] = {}
    for device, name, value in zip(table["device"], table["variable"], table["value"], strict=True):
        held.setdefault(device, []).append(f"{name} = {value:.6g}")
    return held


def _plants(report: Report) -> Iterator[str]:
    if report.flow is None:
        return
    flow, base = report.flow, report.case.base_mva
    voltage = flow.by_number()
    held = _set_points(report)
    yield "Plants"
    yield _table(
        [
            {
                "": f"  {row.name}",
                "bus": row.bus,
                "v": f"{abs(voltage[row.bus]):.4f}",
                "p [MW]": f"{p * base:.2f}",
                "q [Mvar]": f"{q * base:.2f}",
                "devices": ", ".join(device.type for device in row.devices) or "none",
                "set-points": ", ".join(words for d in row.devices for words in held.get(d.name, ())),
            }
            for row, p, q in zip(report.case.generators, flow.p, flow.q, strict=True)
        ]
    )


def _motors(report: Report) -> Iterator[str]:
    """Yield the table of motors: the power flow's power, and the susceptance that makes up for their own."""
    names = {row.name for row in report.case.loads if row.motor is not None}
    motors = report.variables[report.variables["device"].isin(names)]
    values = {name: dict(zip(t["variable"], t["value"], strict=True)) for name, t in motors.groupby("device")}
    rows = [row for row in report.case.loads if "slip" in values.get(row.name, ())]
    if rows:
        yield "Motors"
        yield _table([_motor(row, report, values[row.name]) for row in rows])


def _motor(row: LoadRow, report: Report, value: Mapping[str, float]) -> dict[str, object]:
    v = abs(report.flow.by_number()[row.bus]) if report.flow is not None else np.nan
    shunt = value["b_shunt"] * v**2 * report.case.base_mva
    return {
        "": f"  {row.name}",
        "bus": row.bus,
        "v": f"{v:.4f}",
        "p [MW]": f"{row.p_mw:.2f}",
        "q [Mvar]": f"{row.q_mvar:.2f}",
        "of the motor": f"{row.q_mvar + shunt:.2f}",
        "of b_shunt": f"{-shunt:.2f}",
        "slip": f"{value['slip']:.6f}",
        "set-points": f"t_0 = {value['t_0']:.6g}, b_shunt = {value['b_shunt']:.6g}",
    }


def _loads(report: Report) -> Iterator[str]:
    """Yield the table of loads with a characteristic or a feeder of their own."""
    rows = [row for row in report.case.loads if row.device is not None and row.motor is None]
    if not rows:
        return
    held = _set_points(report)
    yield "Loads with a model"
    yield _table(
        [
            {
                "": f"  {row.name}",
                "bus": row.bus,
                "p [MW]": f"{row.p_mw:.2f}",
                "q [Mvar]": f"{row.q_mvar:.2f}",
                "model": row.device.type if row.device is not None else "",
                "set-points": ", ".join(held.get(row.name, ())),
            }
            for row in rows
        ]
    )


def _relays(report: Report) -> Iterator[str]:
    """Yield the table of relays: what they measure where, what they act on, and their settings."""
    if not report.case.relays:
        return
    yield "Relays"
    yield _table(
        [
            {
                "": f"  {row.name}",
                "bus": row.bus,
                "acts on": row.acts_on,
                "model": row.device.type,
                "settings": ", ".join(f"{k} = {x:g}" for k, x in row.device.parameters.items() if x),
            }
            for row in report.case.relays
        ]
    )


def _devices(report: Report) -> Iterator[str]:
    if report.flow is not None:
        angles = np.degrees(report.flow.angle)
        buses = zip(report.case.buses, report.flow.v, angles, strict=True)
        yield "Buses"
        yield _table([{"": f"  {b.name}", "v": f"{v:.4f}", "angle": f"{angle:.3f}"} for b, v, angle in buses])
    records: list[dict[str, Any]] = report.variables.to_dict("records")  # type: ignore[assignment]
    rows: dict[tuple[str, str], list[dict[str, str]]] = {}
    for record in records:
        rows.setdefault((record["device"], record["model"]), []).append(_cells(record))
    for (device, model), cells in rows.items():
        if model != "Bus":
            yield f"\n{device}  {model}"
            yield _table(cells)


def _cells(record: Mapping[str, Any]) -> dict[str, str]:
    residual = record["residual"]
    return {
        "": f"  {record['variable'] or 'input of a limiter'}",
        "kind": record["kind"],
        "value": f"{record['value']:.6g}",
        "unit": record["unit"],
        "residual": "" if np.isnan(residual) else f"{residual:.1e}",
        "limits": _range(record["lower"], record["upper"]),
        " ": record["limit"],
    }


def _range(lower: float, upper: float) -> str:
    if np.isinf(lower) and np.isinf(upper):
        return ""
    return f"[{lower:.4g}, {upper:.4g}]"


def _table(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as aligned text: numbers to the right, words to the left."""
    names = list(rows[0])
    cells = [names, *([str(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    right = [
        name not in ("", " ", "kind", "unit", "devices", "set-points", "limits", *_WORDS) for name in names
    ]
    lines = [
        "  ".join(
            cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right, strict=True)
        )
        for line in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def _problems(report: Report, everything: bool, warned: int) -> Iterator[str]:
    count = {level: sum(f.level == level for f in report.findings) for level in (ERROR, WARNING)}
    if any(count.values()):
        yield f"Problems: {_count(count[ERROR], 'error')}, {_count(count[WARNING], 'warning')}"
        if warned:
            yield f"  and {_count(warned, 'warning')} of the reading"
    elif warned:
        yield f"No problems found apart from {_count(warned, 'warning')} of the reading."
    else:
        yield "No problems found."
    groups: dict[tuple[str, str], list[StartFinding]] = {}
    for finding in report.findings:
        groups.setdefault((finding.level, finding.topic), []).append(finding)
    for (level, topic), found in groups.items():
        shown = found if everything or len(found) <= SHOWN + 1 else found[:SHOWN]
        yield from (f"  {level}: {finding.message}" for finding in shown)
        if len(shown) < len(found):
            yield f"  {level}: {topic}: {len(found) - len(shown)} more like these (--all shows them)"


def _line(head: str, text: str) -> str:
    return f"{head:{WIDTH}}{text}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
