"""What must hold between transformers and the tap changers that move them during a run."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from psmr.base.errors import CaseError
from psmr.dae.declare.device import structure_for
from psmr.devices.tap_changers import SteppedControl, at_position, nearest_position
from psmr.network.case.row import DeviceRow
from psmr.network.case.tables import Tables, TransformerRow

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
    def step(self) -> float:
        """The distance of two positions."""
        return (self.ends[1] - self.ends[0]) / (self.values["positions"] - 1)

    @property
    def position(self) -> float:
        """The number of the position that is nearest to the start."""
        return nearest_position(self.start, *self.ends, self.values["positions"])

    @property
    def off(self) -> float:
        """By how many steps the start is off that position."""
        return (self.start - at_position(self.position, *self.ends, self.values["positions"])) / self.step

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


def taps_of(case: Tables) -> list[Tap]:
    """Return the tap changers of a case.

    Raises CaseError for a component of the user's own that is none.
    """
    found = []
    for row in case.transformers:
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


def check_tap_changers(case: Tables) -> None:
    """Raise CaseError for a range without the start, and for tap changers that move against each other."""
    taps = taps_of(case)
    for tap in taps:
        if wrong := range_objection(tap):
            raise CaseError(f"{tap.device.place}: {wrong}")
    for tap, words in fights(taps):
        raise CaseError(
            f"{tap.device.place}: {words}: they would move against each other without end; give them one"
            " v_set, or block one of them (blocked = 1)"
        )
