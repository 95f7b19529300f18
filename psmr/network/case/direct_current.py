"""Tables of direct current, and the state in which its grids are solved: voltages, currents, powers.

A grid is what DC lines join. Each converter stands between a DC bus and the ground and holds a voltage, or
carries a power or a current that is given, above zero into the grid (a rectifier):

    sum of the currents into a DC bus = 0,    v_i - v_j = r i for each line,    v i = p for each converter

On the AC side a converter is a load of the table `loads` that bears its name: of a line-commutated one with
the power v i and what its bridges take (`psmr.devices.direct_current.bridges`), of a voltage-source one with
its losses and the reactive power that it is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import CaseError, nearest
from psmr.base.newton import NewtonEnd, newton
from psmr.dae.declare.component import NumericMath
from psmr.devices.direct_current.bridges import reactive_power
from psmr.network.case.row import DeviceRow, LoadRow, Row, check_name

Numbers = NDArray[np.float64]

ITERATIONS = 50
HELD = ("power", "power-inverter", "current")
"""What a controlled line holds: a power at the rectifier, at the inverter, a current."""

RECTIFIER, INVERTER, SOURCE = "Rectifier", "Inverter", "VoltageSource"


@dataclass(frozen=True)
class DcBusRow(Row):
    """A DC bus: its name, the base of its voltage in kV, its capacitance in microfarad, cables' with it."""

    name: str
    base_kv: float
    c_uf: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self)
        self.require(self.base_kv > 0, "base_kv", "must be > 0")
        self.require(self.c_uf >= 0, "c_uf", "must be >= 0")


@dataclass(frozen=True)
class DcLineRow(Row):
    """A DC line between two DC buses, with resistance in ohm and inductance in mH.

    That of two terminals may have a control as its `device` (CDC4T, CDC6T), which gives both converters
    their orders: a line with line-commutated converters leads from the rectifier to the inverter. Below
    `vcmod_kv` a power
    is no longer held, but the current (VCMOD).
    """

    name: str
    from_bus: str
    to_bus: str
    r_ohm: float
    l_mh: float = 0.0
    device: DeviceRow | None = None
    vcmod_kv: float = 0.0
    holds: str = "power"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self)
        self.require(self.from_bus != self.to_bus, "to_bus", "must be another DC bus than the line begins at")
        for key in ("r_ohm", "l_mh", "vcmod_kv"):
            self.require(getattr(self, key) >= 0, key, "must be >= 0")
        self.require(self.r_ohm > 0 or self.l_mh > 0, "r_ohm", "must be > 0 where there is no inductance")
        self.require(self.holds in HELD, "holds", f"must be one of {', '.join(HELD)}")
        if self.device is not None:
            self.require(self.device.role == "dc_control", "device", "must be a control of a DC line")
            object.__setattr__(self, "device", replace(self.device, name=f"{self.name}-control"))


@dataclass(frozen=True)
class DcConverterRow(Row):
    """A converter between an AC and a DC bus, which bears the name of the load that it is in the power flow.

    `v_kv`, `p_mw`, `i_ka`: what it holds or carries at the start, one of the three; power and current above
        zero into the DC grid.
    `i_rated_ka`: its rated current; `bridges`, `x_ohm`, `r_ohm`: of a line-commutated one, commutating
        reactance and resistance of a bridge; `angle_deg`: its firing or margin angle at the start, from which
        the ratio of its transformer follows.
    `q_mvar`: what a voltage-source converter takes at the start; `loss_mw`, `loss_kv`: its losses without
        load and per kA.
    """

    name: str
    bus: int
    dc_bus: str
    device: DeviceRow
    i_rated_ka: float
    v_kv: float | None = None
    p_mw: float | None = None
    i_ka: float | None = None
    bridges: int = 0
    x_ohm: float = 0.0
    r_ohm: float = 0.0
    angle_deg: float = 0.0
    q_mvar: float = 0.0
    loss_mw: float = 0.0
    loss_kv: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self)
        self.require(self.device.role == "dc_converter", "device", "must be a DC converter")
        object.__setattr__(self, "device", replace(self.device, name=self.name))
        given = [key for key in ("v_kv", "p_mw", "i_ka") if getattr(self, key) is not None]
        right = "must be given, or p_mw or i_ka: one of the three, which it holds or carries at the start"
        self.require(len(given) == 1, "v_kv", right)
        self.require(self.v_kv is None or self.v_kv > 0, "v_kv", "must be > 0")
        self.require(self.i_rated_ka > 0, "i_rated_ka", "must be > 0")
        if self.commutated:
            self.require(self.bridges > 0, "bridges", "must be > 0, the number of bridges in series")
            self.require(self.x_ohm > 0, "x_ohm", "must be > 0, the commutating reactance")
            self.require(0 < self.angle_deg < 90, "angle_deg", "must be between 0 and 90 degrees")

    @property
    def commutated(self) -> bool:
        """Whether it is line-commutated."""
        return self.device.type != SOURCE

    @property
    def drops(self) -> tuple[float, float]:
        """The resistances in ohm of commutation and of its resistances, of all bridges."""
        return self.bridges * 3 / math.pi * self.x_ohm, 2 * self.bridges * self.r_ohm

    def no_load(self, v_kv: float, i_ka: float) -> float:
        """Return the no-load voltage in kV with which it has a DC voltage and a current at its angle."""
        return (v_kv + sum(self.drops) * abs(i_ka)) / math.cos(math.radians(self.angle_deg))

    def load(self, v_kv: float, i_ka: float) -> LoadRow:
        """Return the load that it is in the power flow."""
        if not self.commutated:
            p_mw, q_mvar = v_kv * i_ka + self.loss_mw + self.loss_kv * abs(i_ka), self.q_mvar
        else:
            p_mw, q_mvar = v_kv * i_ka, self.reactive(v_kv, i_ka)
        parts = (0.0, 0.0, 1.0)
        return LoadRow(
            self.bus, p_mw, q_mvar, parts, parts, v_min=0.0, name=self.name, held=True, where=self.where
        )

    def end_angle(self, v_kv: float, i_ka: float) -> float:
        """Return the angle in rad at which its commutation ends (of an inverter, begins)."""
        cosine = math.cos(math.radians(self.angle_deg)) - 2 * self.drops[0] * abs(i_ka) / self.no_load(
            v_kv, i_ka
        )
        self.require(cosine > -1, "x_ohm", "must be a reactance with which it commutates its current")
        return math.acos(cosine)

    def reactive(self, v_kv: float, i_ka: float) -> float:
        """Return what its bridges take in Mvar."""
        a, end = math.radians(self.angle_deg), self.end_angle(v_kv, i_ka)
        no_load = self.no_load(v_kv, i_ka)
        return float(reactive_power(NumericMath, a, end, no_load, abs(i_ka), self.drops[1]))


@dataclass(frozen=True)
class DcSolution:
    """Voltages of DC buses and currents of lines by name, what converters have, in kV and kA; the grids."""

    v: Mapping[str, float] = field(default_factory=dict)
    line: Mapping[str, float] = field(default_factory=dict)
    converter: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    grids: Sequence[frozenset[str]] = ()


def solved_grids(
    buses: Sequence[DcBusRow], lines: Sequence[DcLineRow], converters: Sequence[DcConverterRow]
) -> DcSolution:
    """Return the state in which DC grids are solved.

    Raises CaseError for names that are not there, a grid in which no converter holds the voltage or two do,
    and powers that the resistances do not carry.
    """
    place = {row.name: k for k, row in enumerate(buses)}
    named: list[tuple[Row, str, str]] = [(row, "dc_bus", row.dc_bus) for row in converters]
    named += [(row, key, getattr(row, key)) for row in lines for key in ("from_bus", "to_bus")]
    for row, key, name in named:
        row.require(name in place, key, f"must be the name of a DC bus{nearest(name, place)}")
    grids = grids_of(buses, lines)
    for grid in grids:
        own = [row for row in converters if row.dc_bus in grid]
        inside = [row for row in buses if row.name in grid]
        first = inside[0]
        holding = [row for row in own if row.v_kv is not None]
        if not holding:
            raise CaseError(
                f"{first.place}: no converter of its DC grid ({', '.join(row.name for row in own) or 'none'})"
                " holds the DC voltage; give one of them v_kv in place of p_mw or i_ka"
            )
        if len(holding) > 1:
            raise CaseError(
                f"{holding[1].place}: v_kv: {holding[0].name} holds the voltage of this DC grid at the start;"
                " give this one the power or current that it carries then"
            )
        for bus in inside:
            right = f"must be that of {first.name} in the same DC grid, {first.base_kv:g}"
            bus.require(bus.base_kv == first.base_kv, "base_kv", right)
    if not buses:
        return DcSolution()
    links = [(place[row.from_bus], place[row.to_bus], row.r_ohm) for row in lines]
    nodes = [(place[row.dc_bus], -1) for row in converters]
    kinds = ["v" if row.v_kv is not None else "p" if row.p_mw is not None else "i" for row in converters]
    given = [next(x for x in (r.v_kv, r.p_mw, r.i_ka) if x is not None) for r in converters]
    found = solve_network(len(buses), links, nodes, kinds, np.array(given))
    if found is None:
        raise CaseError(
            f"{buses[0].place}: the DC grid does not carry the powers of its converters; lower them"
        )
    v, between, current = found
    return DcSolution(
        {row.name: float(x) for row, x in zip(buses, v, strict=True)},
        {row.name: float(x) for row, x in zip(lines, between, strict=True)},
        {r.name: (float(v[place[r.dc_bus]]), float(x)) for r, x in zip(converters, current, strict=True)},
        grids,
    )


def grids_of(rows: Sequence[DcBusRow], lines: Sequence[DcLineRow]) -> list[frozenset[str]]:
    """Return the names of the buses of each grid."""
    parts = [frozenset({row.name}) for row in rows]
    for line in lines:
        ends = {line.from_bus, line.to_bus}
        joined = frozenset().union(*(part for part in parts if part & ends))
        parts = [*(part for part in parts if not part & ends), joined]
    return parts


def solve_network(
    size: int,
    links: Sequence[tuple[int, int, float]],
    nodes: Sequence[tuple[int, int]],
    kinds: Sequence[str],
    given: Numbers,
) -> tuple[Numbers, Numbers, Numbers] | None:
    """Return voltages of DC buses in kV, currents of links and converters in kA; None where there are none.

    `size`: how many buses there are.
    `links`: (bus, bus, ohm) of each, -1 the ground; `nodes`: the buses between which a converter stands.
    `kinds`: ``"v"``, ``"p"`` or ``"i"``: what of a converter is `given`, in kV, MW or kA.
    """
    across, along = np.zeros((len(nodes), size)), np.zeros((len(links), size))
    for k, (low, high) in enumerate(nodes):
        across[k, low] = 1.0
        if high >= 0:
            across[k, high] = -1.0
    for k, (i, j, _) in enumerate(links):
        along[k, i] = 1.0
        if j >= 0:
            along[k, j] = -1.0
    ohms = np.array([r for *_, r in links])
    of_v, of_p = np.array([kind == "v" for kind in kinds]), np.array([kind == "p" for kind in kinds])
    level = float(given[of_v][0])
    sign = np.where(of_v, np.sign(given), np.sign(level))
    v = np.linalg.lstsq(across, abs(level) * sign, rcond=None)[0]
    v[np.abs(v) < 1e-9] = abs(level)
    current = np.where(of_v, 0.0, np.where(of_p, given / abs(level), given))
    n, m = size, len(links)

    def residual(z: Numbers) -> Numbers:
        drop, current = across @ z[:n], z[n + m :]
        own = np.where(of_v, drop - given, np.where(of_p, drop * current - given, current - given))
        balance = across.T @ current - along.T @ z[n : n + m]
        return np.concatenate([balance, along @ z[:n] - ohms * z[n : n + m], own])

    def step(z: Numbers, residual: Numbers) -> Numbers:
        drop, current = across @ z[:n], z[n + m :]
        by_v = across * np.where(of_v, 1.0, np.where(of_p, current, 0.0))[:, None]
        by_i = np.diag(np.where(of_v, 0.0, np.where(of_p, drop, 1.0)))
        wide = np.zeros((len(nodes), m))
        matrix = np.block(
            [[np.zeros((n, n)), -along.T, across.T], [along, -np.diag(ohms), wide.T], [by_v, wide, by_i]]
        )
        return np.linalg.solve(matrix, -residual)

    start = np.concatenate([v, np.zeros(m), current])
    z, _, ended = newton(residual, step, start, lambda left: bool(np.abs(left).max() < 1e-10), ITERATIONS)
    if ended is not NewtonEnd.CONVERGED:
        return None
    z = z + step(z, residual(z))  # down to rounding, which a start asks for
    return z[:n], z[n : n + m], z[n + m :]


def converter_loads(
    buses: Sequence[DcBusRow], lines: Sequence[DcLineRow], converters: Sequence[DcConverterRow]
) -> tuple[LoadRow, ...]:
    """Return the loads that the converters are in the power flow."""
    solution = solved_grids(buses, lines, converters).converter
    return tuple(row.load(*solution[row.name]) for row in converters)
