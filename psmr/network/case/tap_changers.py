"""What must hold between transformers and the tap changers that move them during a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import NamedTuple, TypeVar

from psmr.base.errors import CaseError, shown, warn
from psmr.dae.declare.device import structure_for
from psmr.devices.tap_changers import SteppedControl, at_position, nearest_position, number_of
from psmr.network.case.row import DeviceRow, device_name
from psmr.network.case.tables import ACTIVE, REACTIVE_POWER, VOLTAGE, Tables, TransformerRow

TablesOf = TypeVar("TablesOf", bound=Tables)

POSITIONS = 33
"""Positions of a control that names none, as PSS/E's NTP."""

APART = 1e-9
"""Distance in pu below which two bands touch."""


class Tap(NamedTuple):
    """A transformer's row and the device that moves it, with its kind and its parameters."""

    row: TransformerRow
    device: DeviceRow
    kind: type[SteppedControl]
    values: dict[str, float]

    @property
    def name(self) -> str:
        """What is moved: ``"tap"`` or ``"shift"``."""
        return self.kind.moves[0]

    @property
    def start(self) -> float:
        """The tap, or the shift in degrees, at the start."""
        return self.row.tap if self.name == "tap" else self.row.shift_deg

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the range."""
        low, high = (self.values[name] for name in self.kind.range)
        return low, high

    @property
    def position(self) -> float:
        """The number of the position that is nearest to the start."""
        return nearest_position(self.start, SimpleNamespace(**self.values), self.kind.range)

    @property
    def off(self) -> float:
        """By how many steps the start is off that position."""
        return float(number_of(self.start, SimpleNamespace(**self.values), self.kind.range) - self.position)

    @property
    def nearest(self) -> float:
        """The tap, or the shift in degrees, of that position."""
        return at_position(self.position, SimpleNamespace(**self.values), self.kind.range)

    @property
    def step(self) -> float:
        """How far the positions are apart, by and large."""
        return (self.ends[1] - self.ends[0]) / (self.values["positions"] - 1)

    @property
    def bus(self) -> int:
        """The bus at which it measures."""
        return int(self.values["bus"]) or self.row.to_bus if "bus" in self.values else self.row.from_bus

    @property
    def band(self) -> tuple[float, float]:
        """The ends of the dead band."""
        middle, half = self.values[self.kind.set_by], self.values["half_band"]
        return middle - half, middle + half

    @property
    def active(self) -> bool:
        """Whether it is in service, and not blocked."""
        return bool(self.row.status) and not self.values["blocked"]


def taps_in(rows: Iterable[TransformerRow]) -> list[Tap]:
    """Return the tap changers of transformers.

    Raises CaseError for a component of the user's own that is none.
    """
    found = []
    for row in rows:
        if (device := row.tap_changer) is not None:
            kind = device.component
            if not issubclass(kind, SteppedControl):
                raise CaseError(
                    f"{device.place}: type = {device.type!r}: a component of your own in this role must be"
                    " derived from one of psmr's tap changers"
                )
            found.append(Tap(row, device, kind, device.values))
    return found


def reads_current(device: DeviceRow) -> bool:
    """Return whether a tap changer reads the current of its transformer."""
    return "m_re" in structure_for(device.component, device.values).inputs


def range_objection(tap: Tap) -> str | None:
    """Return what is wrong where the range of a tap changer does not contain the start."""
    if abs(tap.off) <= 0.5:
        return None
    (low, high), (first, last) = tap.kind.range, tap.ends
    return (
        f"{low} = {first:g}, {high} = {last:g}: the range must contain the start, {tap.name} ="
        f" {tap.start:g}; widen it, or correct the {tap.name}"
    )


def fights(taps: list[Tap]) -> list[tuple[Tap, str]]:
    """Return tap changers that keep a voltage in a band apart from that of another one, and why."""
    at_bus: dict[int, list[Tap]] = {}
    for tap in taps:
        if tap.active and tap.kind.measured == "v":
            at_bus.setdefault(tap.bus, []).append(tap)
    found = []
    for bus, group in at_bus.items():
        for one, other in combinations(group, 2):
            (low, top), (bottom, high) = sorted((one.band, other.band))
            if top < bottom - APART:
                bands = f"{low:g} to {top:g} and {bottom:g} to {high:g} pu"
                why = (
                    f"its band and that of {one.device.name}, {bands}, have no voltage of bus {bus} in common"
                )
                found.append((other, why))
    return found


_KINDS = {
    VOLTAGE: ("TapChanger", "v"),
    REACTIVE_POWER: ("ReactiveTapChanger", "q"),
    ACTIVE: ("PhaseShifter", "p"),
}
"""The device that keeps what a row controls, and how its set value begins."""


def tap_changer_of(row: TransformerRow, times: Mapping[str, float], where: str = "") -> DeviceRow:
    """Return the device that does in a run what the row's control does in the power flow.

    Raises CaseError where its band has no width, or its range does not contain the start.
    """
    kind, letter = _KINDS[row.controls]
    ends = ("shift_min", "shift_max") if row.controls == ACTIVE else ("tap_min", "tap_max")
    values = {
        f"{letter}_set": (row.control_low + row.control_high) / 2,
        "half_band": (row.control_high - row.control_low) / 2,
        ends[0]: row.tap_min,
        ends[1]: row.tap_max,
        "positions": float(row.positions or POSITIONS),
        **times,
    }
    if row.controls == VOLTAGE:
        values |= {"bus": float(row.control_bus), "r_c": row.r_c, "x_c": row.x_c}
    name = device_name(row.name, "tap_changer")
    device = DeviceRow(name, "tap_changer", kind, values, where=where or row.where)
    if wrong := range_objection(Tap(row, device, device.component, device.values)):  # type: ignore[arg-type]
        raise CaseError(f"{device.place}: {wrong}")
    return device


def delay_times(delays: Sequence[float]) -> dict[str, float]:
    """Return the parameters of delays of the first and of further moves; CaseError where they are none."""
    if len(delays) != 2 or not all(math.isfinite(t) and t > 0 for t in delays):
        raise CaseError(
            f"tap_changers = {shown(tuple(delays))}: must be two times > 0 in s, of the first and of further"
            " moves, such as (30.0, 5.0)"
        )
    return dict(zip(("t_first", "t_next"), map(float, delays), strict=True))


def with_tap_changers(case: TablesOf, delays: Sequence[float]) -> TablesOf:
    """Return the case with a device for each transformer that regulates in its power flow and has none.

    `delays` are those of the first and of further moves in s. Raises CaseError where they are none; warns
    (PsmrWarning) of what moves by them, and of each that cannot, which stands still.
    """
    times = delay_times(delays)
    found: dict[str, TransformerRow] = {}
    for row in case.transformers:
        if row.controls and row.tap_changer is None:
            try:
                found[row.name] = replace(row, tap_changer=tap_changer_of(row, times))
            except CaseError as error:
                warn(f"{error}; it stands still")
    rows = [found.get(row.name, row) for row in case.transformers]
    for tap, words in fights(taps_in(rows)):
        if tap.row.name in found:
            warn(f"{tap.device.place}: {words}; it stands still")
            found.pop(tap.row.name, None)
    if not found:
        warn(f"{case.source or case.name}: tap_changers: no transformer regulates in a way that can move")
        return case
    first, further = delays
    warn(
        f"{case.source or case.name}: {len(found)} tap changers and phase shifters move in a run, after"
        f" {first:g} s and then each {further:g} s; the file has none (typical: 15 to 60 s, 5 to 15 s)"
    )
    return replace(case, transformers=tuple(found.get(row.name, row) for row in case.transformers))


def check_tap_changers(case: Tables) -> None:
    """Raise CaseError for a range without the start, and for tap changers that move against each other."""
    taps = taps_in(case.transformers)
    for tap in taps:
        if wrong := range_objection(tap):
            raise CaseError(f"{tap.device.place}: {wrong}")
    for tap, words in fights(taps):
        raise CaseError(
            f"{tap.device.place}: {words}: they would move against each other without end; give them one"
            " v_set, or block one of them (blocked = 1)"
        )
