"""What one point of an axis makes of the base study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import StudyError
from psmr.study.events import Event

Value = float | int | str


@dataclass(frozen=True)
class Setting:
    """A parameter of a device with its new value, or the factor that its own is multiplied by."""

    device: str
    name: str
    value: float
    factor: bool = False


@dataclass(frozen=True)
class Variation:
    """What a point changes, and what its row says of it.

    Attributes
    ----------
    labels
        (column, value) pairs of the row.
    case
        Number of the case among those of the sweep; None where it stays.
    settings
        Parameters of devices.
    choices
        (field, value) pairs of the scheme.
    events
        Events of the run; None where the axis has none.
    beside
        Whether they come beside those of the study, or in their place.
    """

    labels: tuple[tuple[str, Value], ...] = ()
    case: int | None = None
    settings: tuple[Setting, ...] = ()
    choices: tuple[tuple[str, Value], ...] = ()
    events: tuple[Event, ...] | None = None
    beside: bool = False

    def joined(self, other: Variation) -> Variation:
        """Return both together."""
        events = self.events
        if other.events is not None:
            events = (*(self.events or ()), *other.events)
        return Variation(
            labels=(*self.labels, *other.labels),
            case=self.case if other.case is None else other.case,
            settings=(*self.settings, *other.settings),
            choices=(*self.choices, *other.choices),
            events=events,
            # One axis that replaces the study's events is enough for them to be replaced.
            beside=(self.beside or self.events is None) and (other.beside or other.events is None),
        )

    def without_labels(self, names: Sequence[str]) -> Variation:
        """Return it without some of its labels."""
        return replace(self, labels=tuple(label for label in self.labels if label[0] not in names))


Points = Sequence[Variation]
"""The points of an axis, each made when it is asked for."""


class Numbers(Sequence[Variation]):
    """The points of an axis along which a parameter of devices takes the (K,) given values."""

    def __init__(
        self, label: str, devices: Sequence[str], name: str, values: NDArray[np.float64], factor: bool
    ) -> None:
        self.label, self.devices, self.name = label, tuple(devices), name
        self.values, self.factor = values, factor

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, k: int) -> Variation: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[Variation]: ...
    def __getitem__(self, k: int | slice) -> Variation | Sequence[Variation]:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        value = float(self.values[k])
        settings = tuple(Setting(device, self.name, value, self.factor) for device in self.devices)
        return Variation(((self.label, value),), settings=settings)


class Together(Sequence[Variation]):
    """Axes of equal length that advance as one."""

    def __init__(self, name: str, members: Sequence[Points]) -> None:
        lengths = [len(member) for member in members]
        if len(set(lengths)) > 1:
            raise StudyError(
                f"the axes together = {name!r} have {', '.join(map(str, lengths))} points; axes that advance "
                "together need as many of each"
            )
        self.members = tuple(members)

    def __len__(self) -> int:
        return len(self.members[0])

    @overload
    def __getitem__(self, k: int) -> Variation: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[Variation]: ...
    def __getitem__(self, k: int | slice) -> Variation | Sequence[Variation]:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        return joined(member[k] for member in self.members)


def joined(parts: Iterable[Variation]) -> Variation:
    """Return what several variations make together."""
    whole = Variation()
    for part in parts:
        whole = whole.joined(part)
    return whole
