"""Standard dynamic devices for a case that is only a power flow."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence

from psmr.base.arguments import check_arguments
from psmr.base.errors import CaseError, nearest
from psmr.base.numbers import plain
from psmr.network.case.case import Case
from psmr.network.case.tables import LoadRow
from psmr.network.powerflow.powerflow import PowerFlow, power_flow
from psmr.network.synthetic.typical_plant import NO_TURBINE, TypicalPlant

Parts = tuple[float, float, float]

LOADS: Mapping[str, tuple[Parts, Parts] | None] = {
    "mixed": ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0)),
    "impedance": ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
    "keep": None,
}
"""What becomes of loads of constant power: their parts of impedance, current and power, in P and in Q."""


def add_dynamics(
    case: Case,
    seed: int = 0,
    converters: float = 0.0,
    loads: str = "mixed",
    flow: PowerFlow | None = None,
) -> Case:
    """Return the case with standard dynamic devices for the generators that have none.

    Every generator becomes a plant by its size and its dispatch: steam, gas or hydro with GENROU or GENSAL,
    an exciter (SEXS, EXST1 or ESST4B), a stabiliser (IEEEST) beside each EXST1 and ESST4B, and a governor
    (TGOV1, IEESGO, GAST or HYGOV; a fifth of the steam plants from 300 MVA have none, as base load). One that
    gives less than 2 % of its rating is a condenser, and one that draws power a pump, without governor. The
    numbers are drawn from `psmr.network.synthetic.typical`, where the sources are, the shares from
    `psmr.network.synthetic.typical_plant`.

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
