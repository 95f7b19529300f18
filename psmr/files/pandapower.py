"""pandapower networks as cases.

pandapower turns a network into the matrices of a power flow (``pandapower.converter.to_ppc``); those are read
here, so that lines, transformers with all their taps, switches and shunts are as pandapower itself solves
them. What the case has otherwise:

- bus n of the network is bus n + 1 (psmr counts from 1); buses that closed switches join are one bus, under
  the lowest number; auxiliary buses that pandapower adds follow; what is out of service is left out;
- a branch with a ratio or a shift is a transformer; half of its charging is behind the ratio, and the other
  half a shunt at the second bus;
- static generators (``sgen``) are generators that hold P and Q; a load with parts of constant impedance or
  current is one of its own, all other loads, storages, motors and the power of wards are one load of constant
  power a bus.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import CaseError
from psmr.base.modules import optional
from psmr.files.load_flow_rules import with_charging_in_front
from psmr.network.case.case import Case
from psmr.network.case.tables import BusRow, GeneratorRow, LineRow, LoadRow, ShuntRow, TransformerRow

_POWER = (0.0, 0.0, 1.0)
_TINY = 1e-12
"""Power in MVA below which what is left of a load without rows of their own is rounding."""


def from_pandapower(net: Any) -> Case:
    """Return a pandapower network as a case, without dynamic devices.

    Parameters
    ----------
    net
        A ``pandapowerNet``. Its power flow need not have been solved.

    Raises
    ------
    CaseError
        For something that is no network, a branch with two different ends, which a case cannot have, and
        everything that `Case` objects to.

    Notes
    -----
    Needs pandapower (``pip install "psmr[pandapower]"``). Reactive limits are those of the network.
    """
    if not all(hasattr(net, table) for table in ("bus", "gen", "ext_grid", "load", "sgen")):
        raise CaseError(f"from_pandapower: {type(net).__name__}: must be a pandapowerNet")
    matrices = _matrices(net)
    number = _numbers(net, len(matrices["bus"]))
    buses = [i for i, row in enumerate(matrices["bus"]) if row[_BUS_TYPE] != _ISOLATED]
    known = {number[i] for i in buses}
    extra = _static_generators(net, number, known)
    soft = _loads_that_follow_the_voltage(net, number, known)
    apart = [(row.bus, complex(row.p_mw, row.q_mvar)) for row in extra]
    apart += [(row.bus, -complex(row.p_mw, row.q_mvar)) for row in soft]
    lines, transformers, shunts = _branches(matrices, number, known, float(net.sn_mva))
    return Case(
        name=str(net.name or "pandapower network"),
        base_mva=float(net.sn_mva),
        frequency_hz=float(net.f_hz),
        buses=tuple(BusRow(number[i], float(matrices["bus"][i, _BASE_KV])) for i in buses),
        lines=tuple(lines),
        transformers=tuple(transformers),
        shunts=(*_shunts(matrices["bus"], number, buses), *shunts),
        loads=(*_loads(matrices["bus"], number, buses, apart), *soft),
        generators=(*_generators(net, matrices, number, known), *extra),
    )


# Columns of the matrices: R. D. Zimmerman and C. E. Murillo-Sanchez, MATPOWER User's Manual, appendix B.
_BUS_TYPE, _PD, _QD, _GS, _BS, _VA, _BASE_KV = 1, 2, 3, 4, 5, 8, 9
_GEN_BUS, _PG, _QMAX, _QMIN, _VG, _GEN_STATUS = 0, 1, 3, 4, 5, 7
_F, _T, _R, _X, _B, _TAP, _SHIFT, _BR_STATUS = 0, 1, 2, 3, 4, 8, 9, 10
_ISOLATED, _SLACK = 4, 3


def _matrices(net: Any) -> dict[str, Reals]:
    """Return the matrices of pandapower's power flow, without what is out of service."""
    converter = optional(
        "pandapower.converter.pypower.to_ppc", "from_pandapower", "psmr[pandapower]", "save the case as .m"
    )
    found = converter.to_ppc(net, init="flat", mode="pf")
    matrices = {name: np.real(found[name]).astype(float) for name in ("bus", "gen", "branch")}
    branch = matrices["branch"]
    for name in ("r", "x", "g", "b"):
        uneven = np.flatnonzero(found.get(f"branch_{name}_asym", ()))
        if uneven.size:
            ends = branch[uneven[0], [_F, _T]].astype(int)
            raise CaseError(
                f"branch between rows {ends[0]} and {ends[1]} of pandapower's bus matrix: its two ends differ"
                f" in {name}; make the impedance or line symmetric"
            )
    matrices["g"] = np.asarray(found.get("branch_g", np.zeros(len(branch))), dtype=float)
    return matrices


def _numbers(net: Any, size: int) -> list[int]:
    """Return the bus number of each row of the bus matrix."""
    number = [0] * size
    lookup = net._pd2ppc_lookups["bus"]
    for index in sorted(net.bus.index, reverse=True):
        if 0 <= lookup[index] < size:
            number[lookup[index]] = int(index) + 1
    free = int(net.bus.index.max()) + 2
    for row in np.flatnonzero(np.array(number) == 0):
        number[row], free = free, free + 1
    return number


def _places(net: Any, table: str, number: list[int], known: set[int]) -> Iterator[tuple[Any, Any, int]]:
    """Yield index, row and bus number of what is in service in a table of the network."""
    lookup = net._pd2ppc_lookups["bus"]
    for index, row in net[table][net[table].in_service].iterrows():
        at = lookup[row.bus]
        if 0 <= at < len(number) and number[at] in known:
            yield index, row, number[at]


def _static_generators(net: Any, number: list[int], known: set[int]) -> list[GeneratorRow]:
    rows = []
    for index, row, bus in _places(net, "sgen", number, known):
        p, q = float(row.p_mw * row.scaling), float(row.q_mvar * row.scaling)
        rows.append(GeneratorRow(f"S{index}", bus, "pq", p, q, rating_mva=_rating(row.get("sn_mva"))))
    return rows


def _loads_that_follow_the_voltage(net: Any, number: list[int], known: set[int]) -> list[LoadRow]:
    rows = []
    for index, row, bus in _places(net, "load", number, known):
        p_zip, q_zip = _parts(row, "p"), _parts(row, "q")
        if (p_zip, q_zip) != (_POWER, _POWER):
            p, q = float(row.p_mw * row.scaling), float(row.q_mvar * row.scaling)
            rows.append(LoadRow(bus, p, q, p_zip, q_zip, 0.0, 0.0, f"load{bus}-{index}", v_0=1.0))
    return rows


def _parts(row: Any, power: str) -> tuple[float, float, float]:
    """Return the parts of a load's power; before pandapower 3.1 those of P and Q were one column."""
    z, i = (
        float(row.get(f"const_{part}_{power}_percent", row.get(f"const_{part}_percent", 0.0))) / 100
        for part in "zi"
    )
    return z, i, 1.0 - z - i


def _rating(value: Any) -> float:
    return float(value) if value is not None and np.isfinite(value) and value > 0 else 0.0


def _loads(
    bus: Reals, number: list[int], inside: list[int], apart: list[tuple[int, complex]]
) -> list[LoadRow]:
    """Return a load a bus: its demand without what has rows of its own (power given positive)."""
    given: defaultdict[int, complex] = defaultdict(complex)
    for place, power in apart:
        given[place] += power
    rows = []
    for i in inside:
        power = complex(bus[i, _PD], bus[i, _QD]) + given[number[i]]
        if abs(power) > _TINY:
            rows.append(LoadRow(number[i], power.real, power.imag, _POWER, _POWER, v_min=0.0))
    return rows


def _shunts(bus: Reals, number: list[int], inside: list[int]) -> list[ShuntRow]:
    return [
        ShuntRow(number[i], float(bus[i, _GS]), float(bus[i, _BS]))
        for i in inside
        if bus[i, _GS] or bus[i, _BS]
    ]


def _generators(
    net: Any, matrices: dict[str, Reals], number: list[int], known: set[int]
) -> list[GeneratorRow]:
    bus = matrices["bus"]
    first, last = net._gen_order.get("gen", (0, 0))
    in_service = net.gen[net._is_elements["gen"]] if last > first else net.gen.iloc[:0]
    ratings = dict(zip(range(first, last), in_service.get("sn_mva", []), strict=True))
    count: Counter[int] = Counter()
    rows = []
    for k, row in enumerate(matrices["gen"]):
        at = int(row[_GEN_BUS])
        if row[_GEN_STATUS] <= 0 or number[at] not in known:
            continue
        count[number[at]] += 1
        several = "" if count[number[at]] == 1 else f"-{count[number[at]]}"
        generator = GeneratorRow(
            name=f"G{number[at]}{several}",
            bus=number[at],
            control="slack" if bus[at, _BUS_TYPE] == _SLACK else "pv",
            p_mw=float(row[_PG]),
            v=float(row[_VG]),
            angle_deg=float(bus[at, _VA]),
            q_min_mvar=float(row[_QMIN]),
            q_max_mvar=float(row[_QMAX]),
            rating_mva=_rating(ratings.get(k)) or float(net.sn_mva),
        )
        rows.append(generator)
    return rows


def _branches(
    matrices: dict[str, Reals], number: list[int], known: set[int], base: float
) -> tuple[list[LineRow], list[TransformerRow], list[ShuntRow]]:
    lines: list[LineRow] = []
    transformers: list[TransformerRow] = []
    shunts: list[ShuntRow] = []
    count: Counter[tuple[str, int, int]] = Counter()
    for row, g in zip(matrices["branch"].tolist(), matrices["g"].tolist(), strict=True):
        i, j = number[int(row[_F])], number[int(row[_T])]
        if not row[_BR_STATUS] or not {i, j} <= known:
            continue
        line = row[_TAP] in (0.0, 1.0) and row[_SHIFT] == 0
        key = ("line" if line else "transformer", i, j)
        count[key] += 1
        given = {"from_bus": i, "to_bus": j, "x": row[_X], "r": row[_R], "circuit": count[key]}
        if line:
            lines.append(LineRow(**given, b=row[_B], g=g))
            continue
        branch = TransformerRow(**given, b=row[_B], g=g, tap=row[_TAP] or 1.0, shift_deg=row[_SHIFT])
        transformer, half = with_charging_in_front(branch, base)
        transformers.append(transformer)
        shunts += half
    return lines, transformers, shunts
