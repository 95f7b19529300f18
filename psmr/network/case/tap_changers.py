"""What must hold between transformers and the tap changers that move them during a run."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from psmr.base.errors import CaseError, shown, warn
from psmr.dae.declare.device import structure_for
from psmr.devices.tap_changers import SteppedControl, at_position, nearest_position, number_of
from psmr.network.case.row import DeviceRow, device_name
from psmr.network.case.tables import ACTIVE, REACTIVE_POWER, VOLTAGE, ShuntRow, Tables, TransformerRow

TablesOf = TypeVar("TablesOf", bound=Tables)

POSITIONS = 33
"""Positions of a control that names none, as PSS/E's NTP."""

SHOWN = 5
"""Most names in a message."""

APART = 1e-9
"""Distance in pu below which two bands touch."""

KINDS = {
    VOLTAGE: ("TapChanger", "v"),
    REACTIVE_POWER: ("ReactiveTapChanger", "q"),
    ACTIVE: ("PhaseShifter", "p"),
}
"""The device that keeps what a row controls, and the variable that it measures."""


class Tap(NamedTuple):
    """A transformer's row, the device that moves it, its kind and its parameters by name.

    `start`: the tap, or the shift in degrees, at the start; `position`, `nearest`: number and value of the
    position that is nearest to it; `off`: by how many steps it is off that.
    """

    row: TransformerRow
    device: DeviceRow
    kind: type[SteppedControl]
    p: Any
    start: float
    position: float
    nearest: float
    off: float

    @property
    def step(self) -> float:
        """How far positions are apart, by and large."""
        low, high = (getattr(self.p, name) for name in self.kind.range)
        return float((high - low) / (self.p.positions - 1))

    @property
    def bus(self) -> int:
        """The bus at which it measures."""
        return int(self.p.bus) or self.row.to_bus if hasattr(self.p, "bus") else self.row.from_bus

    @property
    def active(self) -> bool:
        """Whether it is in service, and not blocked."""
        return bool(self.row.status) and not self.p.blocked


def tap_of(row: TransformerRow, device: DeviceRow) -> Tap:
    """Return a transformer with a device that moves it.

    Raises CaseError for a component of the user's own that is no tap changer, and for a range without the
    start.
    """
    kind, p = device.component, SimpleNamespace(**device.values)
    if not issubclass(kind, SteppedControl):
        words = "a component of your own in this role must be derived from one of psmr's tap changers"
        raise CaseError(f"{device.place}: type = {device.type!r}: {words}")
    name = kind.moves[0]
    start = row.tap if name == "tap" else row.shift_deg
    position = nearest_position(start, p, kind.range)
    off = float(number_of(start, p, kind.range) - position)
    if abs(off) > 0.5:
        low, high = (f"{end} = {getattr(p, end):g}" for end in kind.range)
        words = f"the range must contain the start, {name} = {start:g}; widen it, or correct the {name}"
        raise CaseError(f"{device.place}: {low}, {high}: {words}")
    return Tap(row, device, kind, p, start, position, at_position(position, p, kind.range), off)


def taps_in(rows: Iterable[TransformerRow]) -> list[Tap]:
    """Return the tap changers of transformers; see `tap_of`."""
    return [tap_of(row, row.tap_changer) for row in rows if row.tap_changer is not None]


def regulated(row: TransformerRow) -> tuple[TransformerRow, list[float]]:
    """Return a transformer as the power flow may move it, by its tap changer where it says nothing itself.

    The second value is its positions, ascending; empty where the row says what moves.
    """
    if row.controls or row.tap_changer is None or not issubclass(row.tap_changer.component, SteppedControl):
        return row, []
    tap = tap_of(row, row.tap_changer)
    if not tap.active:
        return row, []
    aim = getattr(tap.p, f"{tap.kind.measured}_set")
    positions = sorted(at_position(k, tap.p, tap.kind.range) for k in range(1, int(tap.p.positions) + 1))
    what = next(what for what, (_, measured) in KINDS.items() if measured == tap.kind.measured)
    ends = replace(row, tap_min=positions[0], tap_max=positions[-1], positions=len(positions))
    low, high = aim - tap.p.half_band, aim + tap.p.half_band
    found = replace(ends, controls=what, control_bus=tap.bus, control_low=low, control_high=high)
    return found, positions


def reads_current(device: DeviceRow) -> bool:
    """Return whether a tap changer reads the current of its transformer."""
    return "m_re" in structure_for(device.component, device.values).inputs


def fights(
    transformers: Iterable[TransformerRow], shunts: Iterable[ShuntRow], among: Collection[str] | None = None
) -> dict[str, tuple[DeviceRow, str]]:
    """Return what moves against another one, since their bands have no voltage of a bus in common, and why.

    Of two the later one, or the one that is `among` some, by name. Banks stand behind tap changers.
    """
    at_bus: dict[int, list[tuple[float, float, DeviceRow, str]]] = {}
    for tap in taps_in(transformers):
        if tap.active and tap.kind.measured == "v":
            band = tap.p.v_set - tap.p.half_band, tap.p.v_set + tap.p.half_band
            at_bus.setdefault(tap.bus, []).append((*band, tap.device, tap.row.name))
    for row in shunts:
        if row.status and (device := row.switching) is not None and "v_low" in (p := device.values):
            own = [] if p["blocked"] else [(p["v_low"], p["v_high"], device, row.name)]
            at_bus.setdefault(int(p["bus"]) or row.bus, []).extend(own)
    found: dict[str, tuple[DeviceRow, str]] = {}
    for bus, group in at_bus.items():
        for one, other in combinations(group, 2):
            (low, top), (bottom, high) = sorted((one[:2], other[:2]))
            mine = [k for k in (other, one) if among is None or k[3] in among]
            if top < bottom - APART and mine and not {one[3], other[3]} & found.keys():
                beside = (one if mine[0] is other else other)[2].name
                why = f"its band and that of {beside}, {low:g} to {top:g} and {bottom:g} to {high:g} pu"
                found[mine[0][3]] = mine[0][2], f"{why}, have no voltage of bus {bus} in common"
    return found


def tap_changer_of(row: TransformerRow, times: Mapping[str, float], where: str = "") -> DeviceRow:
    """Return the device that does in a run what the row's control does in the power flow.

    Raises CaseError where its band has no width, or its range does not contain the start.
    """
    kind, letter = KINDS[row.controls]
    low, high = ("shift_min", "shift_max") if row.controls == ACTIVE else ("tap_min", "tap_max")
    values = {
        f"{letter}_set": (row.control_low + row.control_high) / 2,
        "half_band": (row.control_high - row.control_low) / 2,
        **{low: row.tap_min, high: row.tap_max, "positions": float(row.positions or POSITIONS)},
        **times,
    }
    if row.controls == VOLTAGE:
        values |= {"bus": float(row.control_bus), "r_c": row.r_c, "x_c": row.x_c}
    name = device_name(row.name, "tap_changer")
    return tap_of(row, DeviceRow(name, "tap_changer", kind, values, where=where or row.where)).device


def delay_times(delays: Sequence[float]) -> dict[str, float]:
    """Return the parameters of delays of the first and of further moves; CaseError where they are none."""
    if len(delays) != 2 or not all(math.isfinite(t) and t > 0 for t in delays):
        right = "must be two times > 0 in s, of the first and of further moves, such as (30.0, 5.0)"
        raise CaseError(f"tap_changers = {shown(tuple(delays))}: {right}")
    return dict(zip(("t_first", "t_next"), map(float, delays), strict=True))


def with_tap_changers(case: TablesOf, delays: Sequence[float]) -> TablesOf:
    """Return the case with a device for each transformer that regulates in its power flow and has none.

    `delays` are those of the first and of further moves in s. Raises CaseError where they are none; warns
    (PsmrWarning) of what moves by them, and of each that cannot, which stands still.
    """
    times, rows = delay_times(delays), {row.name: row for row in case.transformers}
    found: set[str] = set()
    for row in case.transformers:
        if row.controls and row.tap_changer is None:
            try:
                rows[row.name] = replace(row, tap_changer=tap_changer_of(row, times))
                found.add(row.name)
            except CaseError as error:
                warn(f"{error}; it stands still")
    for name, (device, words) in fights(rows.values(), case.shunts, found).items():
        warn(f"{device.place}: {words}; it stands still")
        rows[name] = replace(rows[name], tap_changer=None)
        found.remove(name)
    first, further = delays
    others = [row.name for row in case.transformers if row.regulating and not row.controls]
    still = f"; {len(others)} more regulate what is not read and stand still: {', '.join(others[:SHOWN])}"
    warn(
        f"{case.source or case.name}: {len(found)} tap changers and phase shifters move in a run, after"
        f" {first:g} s and then each {further:g} s; the file has none (typical: 15 to 60 s, 5 to 15 s)"
        f"{still if others else ''}"
    )
    return replace(case, transformers=tuple(rows.values()))


def check_tap_changers(case: Tables) -> None:
    """Raise CaseError for a range without the start, and for what moves against each other."""
    for device, words in fights(case.transformers, case.shunts).values():
        raise CaseError(
            f"{device.place}: {words}: they would move against each other without end; give them one band, or"
            " block one of them (blocked = 1)"
        )
