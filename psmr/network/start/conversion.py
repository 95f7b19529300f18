"""Loads converted with the power of a solved power flow (PSS/E's CONL), generators netted (GNET)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from psmr.base.errors import CaseError, InputError, nearest, shown, warn
from psmr.base.numbers import plain, real_in
from psmr.dae.declare.component import NumericMath
from psmr.devices.loads.zip import of_current, of_power
from psmr.network.case.case import Case
from psmr.network.case.checks import islands_of
from psmr.network.case.direct_current import DcConverterRow, converter_loads
from psmr.network.case.row import DARK
from psmr.network.case.tables import GeneratorRow, LoadRow
from psmr.network.powerflow.powerflow import PowerFlow

Triple = tuple[float, float, float]
Loads = "str | Mapping[str, Sequence[float]] | LoadShares"

KINDS: Mapping[str, Triple] = {
    "impedance": (1.0, 0.0, 0.0),
    "current": (0.0, 1.0, 0.0),
    "power": (0.0, 0.0, 1.0),
}
"""What a load or a netted generator can become: its fractions of impedance, current and power."""
_PART = re.compile(r"([pq])\s*=\s*([^pq]*)")
_RIGHT = (
    "must be impedance, current or power, or shares of (impedance, current, power) for P and Q, for instance"
    " 'p=0.5,0.3,0.2 q=1,0,0'"
)


@dataclass(frozen=True)
class LoadShares:
    """What loads become: the shares of constant impedance, current and power of P and of Q.

    Raises
    ------
    InputError
        For shares that are no three fractions which add up to 1.
    """

    p: Triple
    q: Triple

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            shares = tuple(map(plain, getattr(self, name)))
            good = len(shares) == 3 and all(
                isinstance(x, int | float) and math.isfinite(x) and 0 <= x <= 1 for x in shares
            )
            # Fractions are written in decimals: their sum is 1 up to their rounding.
            if not good or abs(sum(shares) - 1) >= 1e-9:
                sums = f"; these add up to {sum(shares):g}" if good else ""
                raise InputError(
                    f"loads: {name} = {shown(shares)}: must be three fractions from 0 to 1 (impedance, "
                    f"current, power) that add up to 1{sums}"
                )
            object.__setattr__(self, name, tuple(map(float, shares)))

    def __str__(self) -> str:
        for name, shares in KINDS.items():
            if self.p == self.q == shares:
                return name
        return " ".join(f"{k}={','.join(map(repr, getattr(self, k)))}" for k in ("p", "q"))


def load_shares(loads: str | Mapping[str, Sequence[float]] | LoadShares) -> LoadShares:
    """Return what `loads` asks for.

    Parameters
    ----------
    loads
        ``"impedance"``, ``"current"``, ``"power"``; a text such as ``"p=0.5,0.3,0.2 q=1,0,0"``; or a mapping
        of ``"p"`` and ``"q"`` to three shares.

    Raises
    ------
    InputError
        For anything else.
    """
    if isinstance(loads, LoadShares):
        return loads
    if isinstance(loads, Mapping):
        if set(loads) != {"p", "q"}:
            raise InputError(f"loads = {shown(loads)}: {_RIGHT}")
        return LoadShares(tuple(loads["p"]), tuple(loads["q"]))  # type: ignore[arg-type]
    if not isinstance(loads, str):
        raise InputError(f"loads = {shown(loads)}: {_RIGHT}")
    if loads in KINDS:
        return LoadShares(KINDS[loads], KINDS[loads])
    parts = dict(_PART.findall(loads))
    if set(parts) != {"p", "q"}:
        missing = "".join(f"; {k} is missing" for k in ("p", "q") if parts and k not in parts)
        raise InputError(f"loads = {shown(loads)}: {_RIGHT}{missing or nearest(loads, KINDS)}")
    try:
        p, q = (tuple(real_in(x) for x in re.split(r"[\s,]+", parts[k].strip(" ,"))) for k in ("p", "q"))
    except ValueError as error:
        raise InputError(f"loads = {shown(loads)}: {_RIGHT}") from error
    return LoadShares(p, q)  # type: ignore[arg-type]


def convert_loads(
    case: Case, flow: PowerFlow, loads: str | Mapping[str, Sequence[float]] | LoadShares
) -> Case:
    """Return the case with every static load as shares of what it draws in its power flow.

    The powers become those of the solution and belong to its voltages, so that the power flow of the new case
    is the same. Motors and characteristics stay, and so do DC lines. This is what PSS/E's CONL does, for the
    whole of a load.
    """
    shares, voltage, low = load_shares(loads), flow.by_number(), set(flow.reduced)
    rows = tuple(
        row
        if row.device is not None or row.held
        else _converted(
            row, shares, complex(p, q) * case.base_mva, abs(voltage[row.bus]) if row.name in low else None
        )
        for row, p, q in zip(case.loads, flow.load_p, flow.load_q, strict=True)
    )
    return replace(case, loads=rows)


def _converted(row: LoadRow, shares: LoadShares, power: complex, low: float | None) -> LoadRow:
    """Return a load that draws a power in MVA, also where its voltage in pu is `low`: below `v_min`."""
    p_mw, q_mvar = power.real, power.imag
    if low is not None:
        p_mw, q_mvar = p_mw / _drawn(row, shares.p, low), q_mvar / _drawn(row, shares.q, low)
    return replace(
        row,
        p_mw=float(p_mw),
        q_mvar=float(q_mvar),
        p_zip=shares.p,
        q_zip=shares.q,
        exponent_p=None,
        exponent_q=None,
        v_0=low,
    )


def _drawn(row: LoadRow, shares: Triple, v: float) -> float:
    """Return the part of its power that a load of these shares draws at a voltage that it belongs to."""
    impedance, current, power = shares
    bent_current = v * of_current(NumericMath, v, max(row.v_min_current, DARK))
    bent_power = v**2 * of_power(NumericMath, v, max(row.v_min, DARK))
    return impedance + current * bent_current + power * bent_power


def net_generators(case: Case, flow: PowerFlow, every: bool = True, kind: str | None = None) -> Case:
    """Return the case with each generator that has no dynamic devices as a load of the power it takes in.

    Voltages and powers of the power flow stay what they are. Where a slack is netted, the largest generator
    left in its island is the slack, at the voltage and angle of the solution.

    Without `every` only the ends of DC lines (`GeneratorRow.held`) are netted. `kind` is one of `KINDS`,
    which a netted generator then stays where loads are converted; None: a power, which is converted as loads
    are. The ends of DC lines are powers. Warns for each generator, and for each slack that moves. Raises
    CaseError where an island keeps no generator.
    """
    rows = list(zip(case.generators, flow.p * case.base_mva, flow.q * case.base_mva, strict=True))
    gone = [(row, p, q) for row, p, q in rows if not row.devices and (every or row.held)]
    if not gone:
        return case
    netted = {row.name for row, _, _ in gone}
    for row, p, q in gone:
        warn(
            f"{row.place}: has no dynamic model; netted: a load of {-p:.6g} MW, {-q:.6g} Mvar at bus"
            f" {row.bus}"
        )
    # A netted generator no longer shares its bus with others: these keep what they have in the solution.
    touched = {row.bus for row, _, _ in gone}
    kept = {
        row.name: replace(row, p_mw=float(p), q_mvar=float(q)) if row.bus in touched else row
        for row, p, q in rows
        if row.name not in netted
    }
    for row in _moved_slacks(case, flow, kept):
        kept[row.name] = row
    found = (_load(row, float(p), float(q), "power" if row.held else kind) for row, p, q in gone)
    loads, converters = _with_converters(case, (*case.loads, *found))
    for relay in case.relays:
        if relay.acts_on in netted:
            warn(f"{relay.place}: acts on {relay.acts_on}, which is netted; left out")
    relays = tuple(row for row in case.relays if row.acts_on not in netted)
    return replace(
        case,
        loads=loads,
        dc_converters=converters,
        generators=tuple(kept.values()),
        relays=relays,
        sequence=tuple(row for row in case.sequence if row.element not in netted),
    )


def _with_converters(
    case: Case, loads: Sequence[LoadRow]
) -> tuple[tuple[LoadRow, ...], tuple[DcConverterRow, ...]]:
    """Return loads and DC converters, with the reactive power of those that held a voltage."""
    netted = {row.name.removeprefix(NETTED): row.q_mvar for row in loads if row.name.startswith(NETTED)}
    converters = tuple(replace(r, q_mvar=netted.get(r.name, r.q_mvar)) for r in case.dc_converters)
    made = converter_loads(case.dc_buses, case.dc_lines, converters)
    taken = {row.name for row in made} | {f"{NETTED}{row.name}" for row in made}
    return (*(row for row in loads if row.name not in taken), *made), converters


NETTED = "netted-"
"""What the name of a load begins with that was a generator."""


def _load(row: GeneratorRow, p: float, q: float, kind: str | None) -> LoadRow:
    """Return the load that a generator of a power in MW and Mvar becomes."""
    parts = KINDS[kind or "power"]
    name = f"{NETTED}{row.name}"
    return LoadRow(row.bus, -p, -q, parts, parts, name=name, held=kind is not None, where=row.where)


def _moved_slacks(case: Case, flow: PowerFlow, kept: dict[str, GeneratorRow]) -> list[GeneratorRow]:
    """Return the generators that become a slack, as such."""
    voltage = flow.by_number()
    power = {row.name: float(p * case.base_mva) for row, p in zip(case.generators, flow.p, strict=True)}
    moved = []
    for island in islands_of(case):
        left = [row for row in kept.values() if row.bus in island]
        if any(row.control == "slack" for row in left):
            continue
        lost = next(row for row in case.generators if row.bus in island and row.control == "slack")
        if not left:
            raise CaseError(
                f"{lost.place}: netting leaves the island of bus {lost.bus} without a generator; give one of"
                " them a model (GENCLS with H = 0 is an infinite bus)"
            )
        new = max(left, key=lambda row: row.rating_mva)
        # Rows at one bus must hold one voltage: the others there follow.
        for row in left:
            if row.bus == new.bus:
                v = voltage[row.bus]
                control = "slack" if row is new or row.control != "pq" else "pq"
                angle = math.degrees(math.atan2(v.imag, v.real))
                held = replace(row, v=abs(v), angle_deg=angle, control_bus=0)
                moved.append(replace(held, control=control, p_mw=power[row.name]))
        warn(
            f"{lost.place}: is netted and was the slack; {new.name} at bus {new.bus} is it now, at the angle"
            " of the solution"
        )
    return moved
