"""Write the network of a case as a MATPOWER case file, version 2: what `psmr.files.matpower.read` reads.

The format knows constant powers only and no dynamics: loads have their power at the solution of the power
flow. The conductance of a line and the magnetising admittance of a transformer stand as shunts at their
buses. Source: R. D. Zimmerman and C. E. Murillo-Sanchez, MATPOWER User's Manual, appendix B.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from psmr.base.errors import warn
from psmr.files.load_flow_rules import voltage_holders
from psmr.files.matpower.read import COLUMNS
from psmr.network.case.case import Case
from psmr.network.case.tables import GeneratorRow, TransformerRow
from psmr.network.powerflow.powerflow import power_flow

_KINDS = {"pq": 1, "pv": 2, "slack": 3}


def matpower_text(case: Case) -> str:
    """Return the network of a case as MATPOWER's text.

    Raises PowerFlowError where the power flow has no solution. Warns for what the format cannot keep: dynamic
    devices, loads that depend on the voltage or draw less than they are given at a low one, shunts out of
    service.
    """
    flow = power_flow(case)
    base = case.base_mva
    demand: dict[tuple[int, str], float] = defaultdict(float)
    for load, p, q in zip(case.loads, flow.load_p, flow.load_q, strict=True):
        demand[load.bus, "p"] += float(p) * base
        demand[load.bus, "q"] += float(q) * base
    for number, y in _admittances(case):
        demand[number, "g"] += y.real * base
        demand[number, "b"] += y.imag * base
    kinds = {bus.number: 1 for bus in case.buses}
    for row in case.generators:
        kinds[row.bus] = max(kinds[row.bus], _KINDS[row.control])
    buses: list[tuple[float, ...]] = []
    for bus, v, angle in zip(case.buses, flow.v.tolist(), np.degrees(flow.angle).tolist(), strict=True):
        drawn = (demand[bus.number, what] for what in "pqgb")
        voltage = bus.area or 1, v, angle, bus.base_kv, bus.zone or 1, 1.1, 0.9
        buses.append((bus.number, kinds[bus.number], *drawn, *voltage))
    held, at = (
        voltage_holders(case),
        dict(zip((bus.number for bus in case.buses), flow.v.tolist(), strict=True)),
    )
    generators: list[tuple[float, ...]] = []
    for row, p, q in zip(case.generators, flow.p.tolist(), flow.q.tolist(), strict=True):
        limits = _limits(row, q * base, held)
        v = _held(held.get(row.bus, row), at[row.bus])
        rest = v, row.rating_mva or base, 1, math.inf, -math.inf
        generators.append((row.bus, p * base, q * base, *limits, *rest))
    branches = [
        (row.from_bus, row.to_bus, row.r, row.x, row.b, 0.0, 0.0, 0.0, 0.0, 0.0, row.status)
        for row in case.lines
    ]
    branches += [
        (row.from_bus, row.to_bus, row.r, row.x, 0.0, 0.0, 0.0, 0.0, row.tap, row.shift_deg, row.status)
        for row in case.transformers
    ]
    _warn_of_losses(case, flow.reduced)
    name = re.sub(r"\W", "_", case.name)
    return "\n".join(
        [
            f"function mpc = {name if name[:1].isalpha() else f'case_{name}'}",
            f"% {' '.join(case.name.split())}; written by psmr",
            "mpc.version = '2';",
            f"mpc.baseMVA = {base!r};",
            _matrix("bus", buses),
            _matrix("gen", generators),
            _matrix("branch", branches),
            "",
        ]
    )


def _limits(row: GeneratorRow, q: float, held: Mapping[int, GeneratorRow]) -> tuple[float, float]:
    """Return upper and lower limit in Mvar: q for one of given power beside one that holds a voltage."""
    return (q, q) if row.control == "pq" and row.bus in held else (row.q_max_mvar, row.q_min_mvar)


def _held(row: GeneratorRow, v: float) -> float:
    """Return the voltage of the own bus that a generator holds; one that holds another has its solution."""
    return v if row.control_bus else row.v


def _admittances(case: Case) -> list[tuple[int, complex]]:
    """Return the admittances to ground in service per unit: shunts, and those that branches have."""
    found = [(row.bus, complex(row.g_mw, row.b_mvar) / case.base_mva) for row in case.shunts if row.status]
    for line in case.lines:
        if line.status and line.g:
            found += [(bus, complex(line.g / 2, 0.0)) for bus in (line.from_bus, line.to_bus)]
    for row in case.transformers:
        if row.status and (row.g or row.b):
            found.append((row.from_bus, complex(row.g, row.b) / row.tap**2))
    return found


def _warn_of_losses(case: Case, reduced: Sequence[str]) -> None:
    lost = [
        (
            sum(len(row.devices) for row in case.generators)
            + sum(row.device is not None for row in case.loads)
            + sum(row.device is not None for row in case.shunts)
            + sum(row.tap_changer is not None for row in case.transformers)
            + len(case.relays),
            "dynamic devices",
        ),
        (
            sum(not (row.constant_power or row.device) for row in case.loads),
            "loads that depend on the voltage",
        ),
        (len(reduced), "loads that draw less than they are given, at a low voltage"),
        (sum(not row.status for row in case.shunts), "shunts out of service"),
        (len(case.sequence), "rows of sequence data"),
        (
            sum(
                not row.status and bool(row.g or (row.b and isinstance(row, TransformerRow)))
                for row in case.branches
            ),
            "admittances to ground of branches out of service",
        ),
    ]
    named = [f"{count} {what}" for count, what in lost if count]
    if named:
        warn(
            f"{case.name}: MATPOWER files cannot keep {', '.join(named)}; loads become constant powers, the"
            " rest is left out"
        )


def _matrix(name: str, rows: Sequence[tuple[float, ...]]) -> str:
    lines = ["\t".join(["", *map(_number, row)]) + ";" for row in rows]
    return "\n".join([f"\n%\t{COLUMNS[name].replace(' ', chr(9))}", f"mpc.{name} = [", *lines, "];"])


def _number(value: float) -> str:
    return ("Inf" if value > 0 else "-Inf") if math.isinf(value) else repr(value)
