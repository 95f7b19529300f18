"""Plants that stay fast: converters in full with a ripple that never ends, in cases that exist."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import partitioning
import psmr
from psmr import Case
from tests.disturbances import CASES, Disturbance
from tests.disturbances import watched as speeds_and_voltages
from tests.internals import DeviceRow, System, power_flow, region_devices, with_dynamics

# As in cases/wscc9/wscc9-emt.toml, whose SOURCE.md says where each number is from; the rating follows.
CONVERTER = {
    **{"t_m": 2e-4, "kp_pll": 0.15, "ki_pll": 2.0, "dw_min": -0.1, "dw_max": 0.1, "t_p": 0.005},
    **{"kp_p": 0.0, "ki_p": 2.0, "kp_q": 0.2, "ki_q": 20.0, "i_max": 1.2, "k_aw": 100.0},
    **{"kp_i": 0.5, "ki_i": 15.0, "f_v": 0.9, "k_ad": 0.5, "t_d": 5e-5},
    **{"r_f": 0.003, "x_f": 0.08, "b_f": 0.074, "r_g": 0.01, "x_g": 0.2},
}

# A plant carries this part of its rating, and the ripple is this negative sequence behind its filter.
LOADED, RIPPLE = 0.75, 0.03

# When the ripple begins, in s.
BEGINS = 0.02


@dataclass(frozen=True, eq=False)
class Plants:
    """A system with plants that stay fast.

    Attributes
    ----------
    system
        At its equilibrium.
    plants, buses
        Names of the plants and of the buses that they feed.
    region
        Names of the devices around them that have their own dynamics.
    """

    system: System
    plants: tuple[str, ...]
    buses: tuple[str, ...]
    region: tuple[str, ...] = ()

    def ripple(self, t_end: float, amount: float = RIPPLE) -> Disturbance:
        """Return an unbalance beside every plant that begins and stays."""
        changes = tuple(
            change
            for name in self.plants
            for change in psmr.ParameterStep(name, "v_2", amount, BEGINS).changes(self.system)
        )
        return Disturbance(changes, t_end, (BEGINS + 0.06, 0.02))

    def partition(self, *more: str) -> partitioning.Partition:
        """Return plants and buses as the fast set, with the region and further devices."""
        fast = {*self.plants, *self.buses, *self.region, *more}
        return partitioning.by_device(self.system.linearise(), sorted(fast))

    def watched(self) -> NDArray[np.intp]:
        """Return positions of what is compared: the plants' states, speeds and bus voltages."""
        own = [i for i, name in enumerate(self.system.names_x) if name.rpartition(".")[0] in self.plants]
        return np.union1d(own, speeds_and_voltages(self.system))


def plants_in(
    name: str, count: int, seed: int = 1, within: int | None = None, beyond: tuple[int, ...] = ()
) -> Plants:
    """Return a case with some of its generators replaced by converters in full.

    Parameters
    ----------
    name
        ``"new-england"``, or a network of pandapower, which gets standard dynamic devices first.
    count
        How many; spread over the list of generators that give power and are no slack.
    seed
        Of the standard devices.
    within
        Number of branches around the plants up to which the network has its own dynamics; None: nowhere.
    beyond
        Buses further away that have them as well, with their machines.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "new-england":
            case = psmr.read_case(CASES / name / f"{name}.toml")
        else:
            import pandapower.networks

            from psmr import from_pandapower

            case = from_pandapower(getattr(pandapower.networks, name)())
            case = psmr.add_dynamics(case, seed=seed)
        case, plants, buses = with_plants(case, count)
        system = psmr.build(case, loads=None if within is None else "impedance")
        if within is None:
            return Plants(system, plants, buses)
        region = psmr.Region(buses, within=within, devices=_at(system, beyond))
        names = region_devices(system, region)
        system = with_dynamics(system, region, case.frequency_hz)
        own = {name.rpartition(".")[0] for name in (*system.names_x, *system.names_y)}
        return Plants(system, plants, buses, tuple(sorted(names & own)))


def _at(system: System, buses: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of what is dynamic where only these buses are."""
    return tuple(sorted(region_devices(system, psmr.Region(buses)))) if buses else ()


def with_plants(case: Case, count: int) -> tuple[Case, tuple[str, ...], tuple[str, ...]]:
    """Return the case with converters in full, their names and those of their buses."""
    flow = power_flow(case)
    able = [
        k
        for k, row in enumerate(case.generators)
        if row.control != "slack" and flow.p[k] * case.base_mva > 1.0
    ]
    chosen = {able[i * len(able) // count] for i in range(count)}
    names = {row.number: row.name for row in case.buses}
    rows, plants, buses = [], [], []
    for k, row in enumerate(case.generators):
        if k not in chosen:
            rows.append(row)
            continue
        rating = math.hypot(flow.p[k], flow.q[k]) * case.base_mva / LOADED
        plants.append(f"{row.name}_full")
        buses.append(names[row.bus])
        device = DeviceRow(plants[-1], "converter", "FilteredConverter", CONVERTER | {"s_n": rating})
        rows.append(replace(row, devices=(device,)))
    return replace(case, generators=tuple(rows)), tuple(plants), tuple(buses)
