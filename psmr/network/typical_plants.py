"""Standard dynamic devices for a case that is only a power flow: a plant for each generator.

The ranges of their data, per unit on their own rating, lie inside those of P. Kundur, Power System Stability
and Control (1994), tables 3.2 (inertia) and 4.2 (reactances, time constants, resistances), and near the
plants that P. M. Anderson and A. A. Fouad, Power System Control and Stability, print in appendix D. Controls
have the values with which the standard models are commonly shown: Kundur, chapters 8, 9 and 12; IEEE Std
421.5-2005, annex H; PES-TR1 (2013).
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.errors import CaseError, nearest
from psmr.base.numbers import plain
from psmr.network.case.case import Case
from psmr.network.case.tables import DeviceRow, GeneratorRow, LoadRow, device_name
from psmr.network.powerflow.powerflow import PowerFlow, power_flow

Draw = Callable[[float, float], float]
"""Draws a number between two."""

Values = dict[str, float]
"""Parameters of a device."""

Range = tuple[float, float]


@dataclass(frozen=True)
class Machine:
    """Ranges of a kind of machine; those that GENSAL does not have are None.

    The subtransient and the quadrature reactances are drawn as fractions, so that they are always in order:
    x_2 of x_d1, x_q1 of x_q, x_q of x_d.
    """

    type: str
    h: Range
    x_d: Range
    x_q_of_x_d: Range
    x_d1: Range
    x_2_of_x_d1: Range
    t_d01: Range
    t_d02: Range
    t_q02: Range
    r_a: Range
    x_q1_of_x_q: Range | None = None
    t_q01: Range | None = None


_RANGES: Mapping[str, tuple[Range | None, ...]] = {
    # steam, gas, hydro, condenser
    "h": ((2.5, 6.0), (3.0, 6.0), (2.0, 4.0), (1.2, 2.2)),
    "x_d": ((1.6, 2.2), (1.5, 2.1), (0.8, 1.3), (1.2, 1.5)),
    "x_q_of_x_d": ((0.93, 0.98), (0.93, 0.98), (0.60, 0.70), (0.60, 0.70)),
    "x_d1": ((0.22, 0.31), (0.22, 0.28), (0.25, 0.38), (0.28, 0.40)),
    "x_2_of_x_d1": ((0.70, 0.80), (0.70, 0.78), (0.70, 0.80), (0.70, 0.80)),
    "t_d01": ((5.0, 9.0), (4.0, 8.0), (4.0, 8.5), (6.0, 9.0)),
    "t_d02": ((0.025, 0.05), (0.025, 0.05), (0.03, 0.05), (0.03, 0.05)),
    "t_q02": ((0.03, 0.05), (0.03, 0.05), (0.04, 0.09), (0.04, 0.09)),
    "r_a": ((0.0015, 0.004), (0.002, 0.005), (0.002, 0.005), (0.002, 0.005)),
    "x_q1_of_x_q": ((0.24, 0.36), (0.22, 0.34), None, None),
    "t_q01": ((0.5, 1.5), (0.5, 1.2), None, None),
}
_TYPES = {"steam": "GENROU", "gas": "GENROU", "hydro": "GENSAL", "condenser": "GENSAL"}
KINDS: Mapping[str, Machine] = {
    kind: Machine(type, **{name: ranges[k] for name, ranges in _RANGES.items()})  # type: ignore[arg-type]
    for k, (kind, type) in enumerate(_TYPES.items())
}


def machine(kind: Machine, s_n: float, draw: Draw) -> Values:
    """Return the parameters of a machine of a kind."""
    x_d, x_d1 = draw(*kind.x_d), draw(*kind.x_d1)
    x_q = x_d * draw(*kind.x_q_of_x_d)
    x_2 = x_d1 * draw(*kind.x_2_of_x_d1)
    # Anderson and Fouad: 0.03 to 0.15 at rated flux, and about three to four times that at 1.2.
    s_10 = draw(0.05, 0.12)
    values = {"s_n": s_n, "h": draw(*kind.h), "d": 0.0, "r_a": draw(*kind.r_a)}
    values |= {"x_d": x_d, "x_q": x_q, "x_d1": x_d1, "x_2": x_2, "x_l": x_2 * draw(0.65, 0.8)}
    values |= {name: draw(*getattr(kind, name)) for name in ("t_d01", "t_d02", "t_q02")}
    values |= {"s_10": s_10, "s_12": s_10 * draw(3.0, 4.0)}
    if kind.x_q1_of_x_q and kind.t_q01:
        values |= {"x_q1": x_q * draw(*kind.x_q1_of_x_q), "t_q01": draw(*kind.t_q01)}
    return values


def sexs(draw: Draw) -> Values:
    """Return a slow regulator: transient gain about 10 (Kundur, section 8.5, transient gain reduction)."""
    return {"t_a": 1.0, "t_b": 10.0, "k": draw(80.0, 150.0), "t_e": 0.05, "e_min": -4.0, "e_max": 6.0}


def exst1(draw: Draw) -> Values:
    """Return a static exciter, half of the gain of Kundur's example 12.6; it comes with `ieeest`."""
    limits = {"v_i_max": 0.5, "v_i_min": -0.5, "v_r_max": 6.5, "v_r_min": -5.5}
    gains = {"k_a": draw(80.0, 150.0), "k_c": 0.04, "k_f": 0.0}
    return limits | gains | {"t_r": 0.01, "t_c": 0.0, "t_b": 0.0, "t_a": 0.02, "t_f": 1.0}


def esst4b(draw: Draw) -> Values:
    """Return a static exciter with a PI regulator (IEEE Std 421.5-2005, annex H, ST4B)."""
    gain = draw(2.5, 3.5)
    regulator = {"t_r": 0.01, "k_pr": gain, "k_ir": gain, "v_r_max": 1.0, "v_r_min": -0.87, "t_a": 0.01}
    inner = {"k_pm": 1.0, "k_im": 0.0, "v_m_max": 1.0, "v_m_min": -0.87, "k_g": 0.0}
    source = {"k_p": draw(6.5, 8.0), "k_i": 0.0, "v_b_max": 10.0, "k_c": 0.05, "x_l": 0.0, "theta_p": 0.0}
    return regulator | inner | source


def ieeest(draw: Draw) -> Values:
    """Return the stabiliser of Kundur's example 12.6 with a smaller gain, without the filter."""
    filtered = dict.fromkeys(("a_1", "a_2", "a_3", "a_4", "a_5", "a_6"), 0.0)
    leads = {"t_1": 0.05, "t_2": 0.02, "t_3": 3.0, "t_4": 5.4, "t_5": 10.0, "t_6": 10.0}
    limits = {"l_s_max": 0.1, "l_s_min": -0.1, "v_cu": 0.0, "v_cl": 0.0}
    return filtered | leads | limits | {"k_s": draw(8.0, 15.0)}


def tgov1(draw: Draw) -> Values:
    """Return a steam turbine with reheater (PES-TR1)."""
    t_3 = draw(6.0, 9.0)
    lags = {"t_1": draw(0.2, 0.5), "t_2": t_3 * draw(0.25, 0.32), "t_3": t_3}
    return {"r": draw(0.04, 0.06), "v_max": 1.05, "v_min": 0.0, "d_t": 0.0} | lags


def ieesgo(draw: Draw) -> Values:
    """Return a steam turbine with reheater and crossover (IEEE Committee Report 1973)."""
    governor = {"t_1": draw(0.1, 0.25), "t_2": 0.0, "t_3": draw(0.1, 0.2), "k_1": 1 / draw(0.04, 0.06)}
    stages = {"t_4": draw(0.2, 0.4), "t_5": draw(6.0, 9.0), "t_6": draw(0.3, 0.5), "k_2": 0.7, "k_3": 0.6}
    return governor | stages | {"p_max": 1.05, "p_min": 0.0}


def hygov(draw: Draw) -> Values:
    """Return a hydro turbine; reset and temporary droop after Kundur, section 9.1, for its water time."""
    t_w = draw(1.0, 2.0)
    droop = {"r_perm": draw(0.04, 0.05), "r_temp": draw(0.4, 0.6), "t_r": 5.0 * t_w, "t_w": t_w}
    gate = {"t_f": 0.05, "t_g": 0.5, "velm": 0.2, "g_max": 1.0, "g_min": 0.0}
    return droop | gate | {"a_t": 1.2, "d_turb": 0.5, "q_nl": 0.08}


def gast(draw: Draw) -> Values:
    """Return a gas turbine (PES-TR1)."""
    lags = {"t_1": 0.4, "t_2": 0.1, "t_3": 3.0}
    return {"r": draw(0.04, 0.06), "a_t": 1.05, "k_t": 2.0, "v_max": 1.05, "v_min": 0.0, "d_turb": 0.0} | lags


def converter(s_n: float) -> Values:
    """Return what both forms of the grid-following converter share: the values of cases/wscc9/SOURCE.md."""
    loop = {"kp_pll": 0.25, "ki_pll": 6.6, "dw_min": -0.1, "dw_max": 0.1}
    power = {"t_p": 0.005, "kp_p": 0.2, "ki_p": 20.0}
    return {"s_n": s_n, "t_i": 0.0005, "i_max": 1.2, "k_aw": 100.0} | loop | power


def holds_power(s_n: float) -> Values:
    """Return a converter that holds active and reactive power."""
    return converter(s_n) | {"t_q": 0.005, "kp_q": 0.2, "ki_q": 20.0}


def holds_voltage(s_n: float) -> Values:
    """Return a converter that holds active power and voltage."""
    return converter(s_n) | {"t_v": 0.005, "kp_v": 2.0, "ki_v": 5.0}


LOADING = (0.75, 0.92)
"""Apparent power of the dispatch as a part of the rating, where the case does not give a rating."""
ABSORBED = 0.4
"""Reactive power that a plant takes in, as a part of its rating, at most: the under-excitation limits of
capability curves (Kundur, section 5.4). Far below them a machine follows no regulator."""
NO_TURBINE = 0.02
"""Active power as a part of the rating below which a plant has no turbine: a condenser, or a pump."""
NO_LIMIT = 9000.0
"""Reactive limits in Mvar from which on they mean that there is none: files have 9999."""
LARGE, SMALL = 300.0, 50.0
"""Ratings in MVA that part large, middling and small plants."""
MIX = {"large": {"steam": 0.8, "hydro": 0.2}, "middling": {"steam": 0.4, "gas": 0.3, "hydro": 0.3}} | {
    "small": {"gas": 0.5, "hydro": 0.5}
}
"""Shares of the kinds by size."""
EXCITERS = {"SEXS": 0.35, "EXST1": 0.4, "ESST4B": 0.25}
"""Shares of the exciters of plants with a turbine that are not small; the others have SEXS."""
BASE_LOAD = 0.2
"""Share of the large steam plants that have no governor."""

_EXCITER: dict[str, Callable[[Draw], Values]] = {"SEXS": sexs, "EXST1": exst1, "ESST4B": esst4b}
_GOVERNORS: dict[str, dict[str, Callable[[Draw], Values]]] = {
    "steam": {"TGOV1": tgov1, "IEESGO": ieesgo},
    "gas": {"GAST": gast},
    "hydro": {"HYGOV": hygov},
}


@dataclass(frozen=True)
class TypicalPlant:
    """A generator with its dispatch in MVA, and what is drawn for it.

    `first` comes before everything else that is drawn; it puts the generators in the order in which
    converters are chosen.
    """

    row: GeneratorRow
    dispatch: complex
    base_mva: float
    seed: int

    @cached_property
    def _stream(self) -> np.random.Generator:
        name = self.row.name.encode("utf-8")
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, *name])))

    @cached_property
    def first(self) -> float:
        """A number from 0 to 1 that belongs to the seed and the generator's name."""
        return float(self._stream.random())

    @cached_property
    def rating(self) -> float:
        """Rating in MVA: the given one where it can be, otherwise one that fits dispatch and limits."""
        given, need = self.row.rating_mva, max(abs(self.dispatch), -self.dispatch.imag / ABSORBED)
        drawn = max(abs(self.dispatch) / self._draw(*LOADING), need)
        if given not in (0.0, self.base_mva) and need <= given:
            return given
        limits = [abs(q) for q in (self.row.q_min_mvar, self.row.q_max_mvar) if abs(q) < NO_LIMIT]
        reach = math.hypot(self.dispatch.real, max(limits, default=0.0))
        if abs(self.dispatch.real) > NO_TURBINE * drawn:
            reach = min(reach, 2 * need)
        return max(drawn, reach) or self.base_mva / 100

    @property
    def kind(self) -> str:
        """Kind of the plant: steam, gas, hydro, condenser, or pump."""
        power = self.dispatch.real / self.rating
        if abs(power) < NO_TURBINE:
            return "condenser"
        if power < 0:
            return "pump"
        size = "large" if self.rating >= LARGE else "small" if self.rating < SMALL else "middling"
        return self._choose(MIX[size])

    def machine(self, alone: bool) -> tuple[DeviceRow, ...]:
        """Return machine, exciter, and stabiliser and governor where it has them.

        `alone` says that nothing else holds the voltage of the bus: only then may a regulator integrate.
        """
        rating, kind = self.rating, self.kind
        data = KINDS["hydro" if kind == "pump" else kind]
        devices = [self._device("machine", data.type, machine(data, rating, self._draw))]
        turbine = kind in _GOVERNORS
        exciter = self._choose(EXCITERS) if turbine and rating >= SMALL else "SEXS"
        if exciter == "ESST4B" and not alone:
            exciter = "EXST1"
        devices.append(self._device("exciter", exciter, _EXCITER[exciter](self._draw)))
        if exciter != "SEXS":
            devices.append(self._device("stabiliser", "IEEEST", ieeest(self._draw)))
        base_load = kind == "steam" and rating >= LARGE and self._draw(0.0, 1.0) < BASE_LOAD
        if turbine and not base_load:
            choice = _GOVERNORS[kind]
            name = self._choose(dict.fromkeys(choice, 1 / len(choice)))
            devices.append(self._device("governor", name, choice[name](self._draw)))
        return tuple(devices)

    def converter(self, voltage: bool) -> tuple[DeviceRow, ...]:
        """Return a grid-following converter that holds its voltage, or its reactive power."""
        if voltage:
            values, name = holds_voltage(self.rating), "GridFollowingConverterV"
        else:
            values, name = holds_power(self.rating), "GridFollowingConverter"
        return (self._device("converter", name, values),)

    def _device(self, role: str, type: str, values: Values) -> DeviceRow:
        # Six digits are more than typical data have, and make files readable; the rating must not round down.
        rounded = {k: v if k == "s_n" else float(f"{v:.6g}") for k, v in values.items()}
        return DeviceRow(device_name(self.row.name, role), role, type, rounded, where=self.row.where)

    def _draw(self, low: float, high: float) -> float:
        return float(self._stream.uniform(low, high))

    def _choose(self, shares: dict[str, float]) -> str:
        """Return a name with the probability that is its share; the shares add up to 1."""
        place, below = self._draw(0.0, 1.0), 0.0
        for name, share in shares.items():
            below += share
            if place < below:
                return name
        return name


Parts = tuple[float, float, float]

LOADS: Mapping[str, tuple[Parts, Parts] | None] = {
    "mixed": ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0)),
    "impedance": ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
    "keep": None,
}
"""What becomes of loads of constant power: their parts of impedance, current and power, in P and in Q."""


def add_dynamics(
    case: Case,
    seed: Annotated[int, "seed of what is drawn (default 0)", "N"] = 0,
    converters: Annotated[float, "part of the rating that becomes converters, 0 to 1", "S"] = 0.0,
    loads: str = "mixed",
    flow: PowerFlow | None = None,
) -> Case:
    """Return the case with standard dynamic devices for the generators that have none.

    Every generator becomes a plant by its size and its dispatch: steam, gas or hydro with GENROU or GENSAL,
    an exciter (SEXS, EXST1 or ESST4B), a stabiliser (IEEEST) beside each EXST1 and ESST4B, and a governor
    (TGOV1, IEESGO, GAST or HYGOV; a fifth of the steam plants from 300 MVA have none, as base load). One that
    gives less than 2 % of its rating is a condenser, and one that draws power a pump, without governor. The
    numbers are drawn from the ranges of `psmr.network.typical_plants`, whose sources stand there.

    The rating is the generator's `rating_mva` where that is given, carries the dispatch, and is not just the
    base of the case, which MATPOWER files have where nobody knew. Otherwise the dispatch is 75 to 92 % of it,
    or less where the reactive limits ask for more, down to half. Reactive power that the plant takes in is at
    most 40 % of it.

    Parameters
    ----------
    case
        The case. Generators that have devices keep them.
    seed
        What is drawn for a generator depends on this and on its name; not on the order of the rows, nor on
        the computer (numpy's PCG64).
    converters
        Part, from 0 to 1, of the rating of all generators that give power and are no slack, that becomes
        grid-following converters: the first at a bus where nothing else holds the voltage holds it, others
        hold their reactive power. Generators are taken in an order drawn from the seed, each that brings the
        sum nearer to the share.
    loads
        What loads of constant power become: "mixed" (P constant current, Q constant impedance, as planning
        studies convert them), "impedance", or "keep".
    flow
        A power flow of this case, where one is at hand; it must be the one that `psmr.build` is given.

    Raises
    ------
    CaseError
        For an invalid seed, share or kind of loads.
    PowerFlowError
        Where the power flow has no solution.

    Notes
    -----
    The result has the power flow of the case and starts in equilibrium, inside all limits. Whether it is
    stable, no table of typical data can promise: ask `psmr.modes`, or for a large system
    `psmr.deformation` with chosen modes.
    """
    check_arguments(add_dynamics, locals(), CaseError)
    seed, converters = plain(seed), plain(converters)
    _check(seed, converters, loads)
    flow = power_flow(case) if flow is None else flow
    plants = {
        row.name: TypicalPlant(row, complex(p, q) * case.base_mva, case.base_mva, seed)
        for row, p, q in zip(case.generators, flow.p, flow.q, strict=True)
    }
    bare = [plant for plant in plants.values() if not plant.row.devices]
    chosen = _converters(bare, converters)
    holding = Counter(row.bus for row in case.generators if row.control != "pq" and row.name not in chosen)
    generators = {row.name: row for row in case.generators}
    for name in sorted(plant.row.name for plant in bare):
        plant = plants[name]
        if name in chosen:
            voltage = plant.row.control == "pv" and not holding[plant.row.bus]
            holding[plant.row.bus] += voltage
            devices = plant.converter(voltage)
        else:
            devices = plant.machine(alone=holding[plant.row.bus] <= 1)
        generators[name] = dataclasses.replace(plant.row, devices=devices)
    return dataclasses.replace(
        case,
        generators=tuple(generators.values()),
        loads=tuple(_load(row, LOADS[loads]) for row in case.loads),
    )


def _check(seed: int, converters: float, loads: str) -> None:
    if seed < 0:
        raise CaseError(f"add_dynamics: seed = {seed!r}: must be a whole number >= 0")
    if not 0 <= converters <= 1:
        raise CaseError(
            f"add_dynamics: converters = {converters!r}: must be a part of the rating, from 0 to 1"
        )
    if loads not in LOADS:
        raise CaseError(
            f"add_dynamics: loads = {loads!r}: must be one of {', '.join(LOADS)}{nearest(str(loads), LOADS)}"
        )


def _converters(plants: Sequence[TypicalPlant], share: float) -> set[str]:
    """Return the names of the generators that become converters."""
    able = [
        plant
        for plant in plants
        if plant.row.control != "slack" and plant.dispatch.real > NO_TURBINE * plant.rating
    ]
    room = share * math.fsum(plant.rating for plant in able)
    found = set()
    for plant in sorted(able, key=lambda plant: (plant.first, plant.row.name)):
        if plant.rating <= 2 * room:
            found.add(plant.row.name)
            room -= plant.rating
    return found


def _load(row: LoadRow, parts: tuple[Parts, Parts] | None) -> LoadRow:
    # A power that stays at any voltage is one of power flows: beside a fault it has no solution.
    if not row.v_min and row.device is None:
        row = dataclasses.replace(row, v_min=LoadRow.v_min)
    if parts is None or not row.constant_power:
        return row
    p_zip, q_zip = parts
    return dataclasses.replace(row, p_zip=p_zip, q_zip=q_zip, exponent_p=None, exponent_q=None, v_0=None)
