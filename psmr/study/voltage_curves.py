"""Power-voltage and reactive-power-voltage curves: how much load a network can supply, and where it is short.

A curve of a case follows its power flow as loads grow (`psmr.network.powerflow.continuation`), that of a
system is a simulation in which they grow slowly. Sources: P. Kundur, Power System Stability and Control
(1994), sections 14.2 and 14.3; T. Van Cutsem, C. Vournas, Voltage Stability of Electric Power Systems (1998).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.declared import Option
from psmr.base.errors import InputError, PowerFlowError, SimulationError, first_few, nearest, shown
from psmr.base.modules import draw
from psmr.dae.system.system import System
from psmr.integrate.schemes.scheme import Scheme
from psmr.network.case.case import Case
from psmr.network.case.load_groups import loads_at
from psmr.network.powerflow.continuation import HIGH, Curve, follow
from psmr.network.powerflow.power_balance import Balance, demand, solve
from psmr.network.powerflow.powerflow import PowerFlow, power_flow
from psmr.network.powerflow.reactive_limits import solve_with_limits
from psmr.network.topology.network import at_buses, buses, find_loaded_buses, is_load
from psmr.study.events.load import LoadRamp
from psmr.study.run.simulate import simulate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LOWEST = 0.02
"""Voltage in pu at which a curve ends: there the network is short-circuited."""


@dataclass(frozen=True, eq=False, repr=False)
class PvCurve:
    """Voltages as loads grow, up to the largest load and past it.

    Attributes
    ----------
    load, growth
        (K,) active power in MW of the loads that grow, and by how much they have grown: 1 is twice the load.
    v, buses
        (K, buses) voltages in pu, and the names of the buses.
    nose, by_limit
        Row of the largest load, None where the curve ends before it; whether a limit of reactive power makes
        it the largest, and not the network.
    reached
        (row, bus of generators, side) where limits of reactive power were reached, 1 for upper and -1 for
        lower ones, and 0 where the voltage was kept again.
    ended, supply
        Why the curve ends where it does, and who supplies the growth, in words.
    """

    name: str
    load: Reals
    growth: Reals
    v: Reals
    buses: tuple[str, ...]
    nose: int | None
    by_limit: bool = False
    reached: tuple[tuple[int, str, int], ...] = ()
    ended: str = ""
    supply: str = ""

    @property
    def margin(self) -> float:
        """By how much in MW the loads can grow; NaN where the curve ends before the largest load."""
        return math.nan if self.nose is None else float(self.load[self.nose] - self.load[0])

    @property
    def headline(self) -> str:
        """What the curve says, in a sentence."""
        if (k := self.nose) is None:
            return f"{self.name}: no largest load up to {self.load.max():.5g} MW; {self.ended}."
        limited = [
            f"{bus} at {self.load[row]:.5g} MW" for row, bus, side in self.reached if side and row <= k
        ]
        words = f", after limits of reactive power at {first_few(limited, 6)}" if limited else ""
        words += " (there the last limit is the end)" if self.by_limit else ""
        # Along the last hundredth of the margin: points that end a simulation differ by its tolerance.
        before = np.flatnonzero(self.load[: k + 1] <= self.load[k] - 0.01 * self.margin)[-1]
        weakest = int(np.argmax(self.v[before] - self.v[k]))
        return (
            f"{self.name}: {self.load[0]:.5g} MW can grow to {self.load[k]:.5g} MW, a margin of "
            f"{self.margin:.5g} MW{self.supply}{words}; at the nose {self.buses[weakest]} is at "
            f"{self.v[k, weakest]:.3f} pu."
        )

    def frame(self) -> pd.DataFrame:
        """Return a row per point: load_mw, growth, and the voltage of each bus in pu."""
        import pandas as pd  # slow to import, for tables alone

        table = pd.DataFrame(self.v, columns=list(self.buses))
        table.insert(0, "load_mw", self.load)
        table.insert(1, "growth", self.growth)
        return table

    def plot(self, buses: Sequence[str] = ()) -> Figure:
        """Draw the voltages of some buses over the load; without names those that fall most."""
        for name in buses:
            if name not in self.buses:
                raise InputError(f"buses: there is no bus {shown(name)}{nearest(str(name), self.buses)}")
        return draw("voltage_curves.pv_figure", self, buses)

    def __repr__(self) -> str:
        return f"PvCurve({self.headline})"


@dataclass(frozen=True, eq=False, repr=False)
class QvCurve:
    """The reactive power that a source at a bus has to give so that the bus has a voltage.

    Attributes
    ----------
    v, q
        (K,) voltages in pu, falling, and what the source gives in Mvar.
    limited
        (K,) names of the buses whose generators are at a limit of reactive power.
    """

    name: str
    bus: str
    v: Reals
    q: Reals
    limited: tuple[tuple[str, ...], ...] = field(repr=False)

    @property
    def margin(self) -> float:
        """Reactive power in Mvar that can be drawn more; NaN where the curve ends before its lowest point."""
        k = int(np.argmin(self.q))
        return float(-self.q[k]) if 0 < k < len(self.q) - 1 else math.nan

    @property
    def headline(self) -> str:
        """What the curve says, in a sentence."""
        k = int(np.argmin(self.q))
        if math.isnan(self.margin):
            end = f"an end of the curve, {self.v[k]:.3f} pu"
            return f"{self.name}: the source at {self.bus} gives least at {end}; take more of it."
        left = "can draw" if self.q[k] <= 0 else "lacks"
        return f"{self.name}: {self.bus} {left} {abs(self.q[k]):.5g} Mvar more, at {self.v[k]:.3f} pu."

    def frame(self) -> pd.DataFrame:
        """Return a row per point: v in pu, q_mvar, and the buses of generators at a limit."""
        import pandas as pd  # slow to import, for tables alone

        limited = [", ".join(names) for names in self.limited]
        return pd.DataFrame({"v": self.v, "q_mvar": self.q, "limited": limited})

    def plot(self) -> Figure:
        """Draw the reactive power over the voltage."""
        return draw("voltage_curves.qv_figure", self)

    def __repr__(self) -> str:
        return f"QvCurve({self.headline})"


def pv_curve(
    case: Case | System,
    loads: Annotated[
        int | str,
        "loads that grow: a bus with loads, 'area 2', 'zone 7', or a pattern of buses; default all of them",
        "BUS",
        Option(name="grow"),
    ] = "*",
    generators: Mapping[str, float] | None = None,
    reactive_limits: bool = True,
    largest: Annotated[float, "growth at which the curve ends, 1 is twice the load; default 10", "X"] = 10.0,
    duration: float = 600.0,
    scheme: Scheme | None = None,
) -> PvCurve:
    """Return the voltages as loads grow at constant power factor, past the largest load that can be supplied.

    Parameters
    ----------
    case
        A case: its power flow is followed by continuation. A system: it is simulated while the loads grow.
    loads
        The loads that grow: those at a bus, as ``5`` or ``"bus5"``, of ``"area 2"`` or ``"zone 7"``, or of
        buses by a pattern; ``"*"`` for all.
    generators
        Of a case: what generators take of the growth, by their names, in parts of the loads' growth; slacks
        take the rest, and the losses. None: every generator grows as the loads do, so that all loads twofold
        are every generator twofold, but for the slacks.
    reactive_limits
        Of a case: whether generators keep to their limits of reactive power; those of slacks are not looked
        at.
    largest
        Growth at which the curve ends if it has not turned before.
    duration, scheme
        Of a system: time in s in which the loads grow by `largest`, and how it is simulated; None: as
        `psmr.simulate` does.

    Raises
    ------
    InputError
        For loads or generators that are not there, and for what belongs to the other kind of curve.
    PowerFlowError
        Where the power flow has no solution from which the curve could start.
    """
    check_arguments(pv_curve, locals())
    if not (math.isfinite(largest) and largest > 0 and math.isfinite(duration) and duration > 0):
        raise InputError(
            f"pv_curve: largest = {largest:g}, duration = {duration:g}: must be finite numbers > 0"
        )
    if isinstance(case, System):
        if generators is not None or not reactive_limits:
            raise InputError(
                "pv_curve: generators and reactive_limits belong to a case; in a simulation governors share"
                " the growth, and limiters are devices"
            )
        return _simulated(case, loads, largest, duration, scheme)
    if scheme is not None:
        raise InputError("pv_curve: scheme belongs to a system, which is simulated; give psmr.build(case)")
    flow, balance, sides = _started(case, reactive_limits)
    chosen = loads_at(case, loads, "pv_curve: loads (--grow)")
    grows = np.array([float(row.name in chosen) for row in case.loads])
    if not (power := float(flow.load_p @ grows)) > 0:
        raise InputError(
            f"pv_curve: loads (--grow) = {shown(loads)}: they draw {power:g} pu; it must be above 0"
        )
    given, supply = _dispatch(case, generators, power, float(flow.load_p.sum()))

    def until(curve: Curve) -> str:
        if not 0 <= curve.growth[-1] <= largest:
            return (
                f"the growth is {largest:g}" if curve.growth[-1] > 0 else "the load is what it was at first"
            )
        low = int(np.argmin(curve.v[-1]))
        return f"{case.buses[low].name} is at {LOWEST:g} pu" if curve.v[-1][low] < LOWEST else ""

    curve = follow(balance, flow.v, flow.angle, grows, given, sides, until)
    growth, v = np.array(curve.growth), np.array(curve.v)
    return PvCurve(
        name=case.name,
        load=(1 + growth) * [balance.loads.each(row)[0].real @ grows for row in v] * case.base_mva,
        growth=growth,
        v=v,
        buses=tuple(bus.name for bus in case.buses),
        nose=curve.nose,
        by_limit=curve.by_limit,
        reached=tuple((s.point, case.buses[s.bus].name, s.side) for s in curve.switches),
        ended=curve.ended,
        supply=supply,
    )


def _started(case: Case, reactive_limits: bool) -> tuple[PowerFlow, Balance, dict[int, int]]:
    """Return the power flow, what it balances, and the sides of buses at a limit of reactive power."""
    flow, balance = power_flow(case, reactive_limits=reactive_limits), Balance.of(case)
    if not reactive_limits:
        open_ended = np.full(len(case.buses), np.inf)
        return flow, replace(balance, q_low=-open_ended, q_high=open_ended), {}
    q = demand(balance, flow.v, flow.angle).imag - balance.q
    upper = np.abs(q - balance.q_high) < np.abs(q - balance.q_low)
    limited = {case.places[row.bus] for row in case.generators if row.name in flow.at_limit}
    return flow, balance, {bus: HIGH if upper[bus] else -HIGH for bus in limited if balance.pv[bus]}


def _dispatch(
    case: Case, generators: Mapping[str, float] | None, grows: float, drawn: float
) -> tuple[Reals, str]:
    """Return (buses,) power in pu that generators give more where loads of `grows` pu are twice that; words.

    `drawn` is what all loads draw.
    """
    given, known = np.zeros(len(case.buses)), {row.name: row for row in case.generators}
    slacks = first_few([row.name for row in case.generators if row.control == "slack"], 3)
    shares = dict(generators or {})
    words = [f"{name} {100 * share:.3g} %" for name, share in shares.items()]
    if generators is None:
        words = ["all generators as they do now"]
        base = drawn * case.base_mva
        shares = {row.name: row.p_mw / base for row in case.generators if row.control != "slack"}
    for name, share in shares.items():
        if name not in known:
            raise InputError(f"pv_curve: generators: there is no {shown(name)}{nearest(str(name), known)}")
        if generators is not None and not (math.isfinite(share) and share >= 0):
            raise InputError(f"pv_curve: generators: {name} = {share!r}: must be a part of the growth, >= 0")
        given[case.places[known[name].bus]] += share * grows
    return given, f", supplied by {first_few([*words, f'the rest by {slacks}'] if words else [slacks], 5)}"


def _simulated(
    system: System, loads: int | str, largest: float, duration: float, scheme: Scheme | None
) -> PvCurve:
    """Return the curve of a simulation, up to where it ends."""
    places = find_loaded_buses(system, loads, "pv_curve: loads")
    growing = [device.name for bus in places for device in at_buses(system)[bus] if is_load(device)]
    ramp, ended = LoadRamp(loads, 0.0, duration, 1.0 + largest), f"the growth is {largest:g}"
    try:
        run = simulate(system, scheme, duration, [ramp], certify=False, partial=True)
    except SimulationError as error:
        if error.partial is None:
            raise
        run, ended = error.partial, f"beyond t = {error.partial.t[-1]:.4g} s there is no solution"
    names = buses(system)
    load = run.frame([f"{name}.p" for name in growing]).to_numpy().sum(axis=1)
    k = int(np.argmax(load))
    return PvCurve(
        name=system.name,
        load=load,
        growth=largest * run.t / duration,
        v=run.frame([f"{name}.v" for name in names]).to_numpy(),
        buses=names,
        nose=k if k < len(load) - 1 or run.failure else None,
        ended=ended,
    )


def qv_curve(
    case: Case,
    bus: Annotated[int | str, "bus at which a source holds the voltage", "BUS"],
    highest: Annotated[float, "voltage in pu at which the curve begins; default 1.1", "PU"] = 1.1,
    lowest: Annotated[float, "voltage in pu at which it ends; default 0.4", "PU"] = 0.4,
    count: Annotated[int, "points; default 71", "K"] = 71,
    reactive_limits: bool = True,
) -> QvCurve:
    """Return the reactive power that a source at a bus gives at voltages from `highest` down to `lowest`.

    The curve's lowest point is how much more reactive power the bus could draw. It ends before `lowest` where
    the network has no solution any more.

    Raises
    ------
    InputError
        For a bus that is not there or whose voltage is held, and for voltages that are no range.
    PowerFlowError
        Where there is no solution at the highest voltage.
    """
    check_arguments(qv_curve, locals())
    if not 0 < lowest < highest < 10 or not 3 <= count <= 100_000:
        raise InputError(
            f"qv_curve: highest = {highest:g}, lowest = {lowest:g}, count = {count}: must be two voltages in"
            " pu, the higher one first, and at least 3 points"
        )
    known = {name: k for k, b in enumerate(case.buses) for name in (str(b.number), *b.aliases, b.name)}
    if (place := known.get(str(bus))) is None:
        raise InputError(f"qv_curve: there is no bus {shown(bus)}{nearest(str(bus), known)}")
    flow, balance, _ = _started(case, reactive_limits)
    if balance.slack[place] or (balance.held[place] and not balance.pv[place]):
        raise InputError(
            f"qv_curve: {case.buses[place].name}: its voltage is held by another; take a bus of a load"
        )
    v, angle = flow.v, flow.angle
    found: list[tuple[float, float, tuple[str, ...]]] = []
    for wanted in np.linspace(highest, lowest, count):
        # A source in place of the generators there.
        posed = replace(balance, **{n: getattr(balance, n).copy() for n in SOURCE}, q=balance.q.copy())
        for name, value in zip(SOURCE, (True, wanted, place, -np.inf, np.inf), strict=True):
            getattr(posed, name)[place] = value
        sides: dict[int, int] = {}
        try:
            if reactive_limits:
                v, angle, _, _, sides = solve_with_limits(posed, v, angle, 1e-10, 30)
            else:
                v, angle, _, _ = solve(posed, v, angle, 1e-10, 30)
        except PowerFlowError:
            if not found:
                raise
            break
        q = float(demand(balance, v, angle).imag[place] - balance.q[place]) * case.base_mva
        found.append((float(wanted), q, tuple(case.buses[b].name for b in sorted(sides))))
    voltages, powers, limited = zip(*found, strict=True)
    return QvCurve(case.name, case.buses[place].name, np.array(voltages), np.array(powers), limited)


SOURCE = ("pv", "v_set", "controlled", "q_low", "q_high")
"""What a source that holds the voltage of a bus sets of the power balance there."""
