"""Which part of a network has its own dynamics: by bus, by distance, by device, or by the error of modes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from psmr.base.arguments import settle_fields
from psmr.base.errors import InputError, shown
from psmr.devices.dynamic_network.branch import MOST_SECTIONS

ALL = "all"
NONE = "none"
"""What `buses` says of a region without anything: a network of phasors, whatever the case says."""


@dataclass(frozen=True)
class Region:
    """The part of a network that has its own dynamics; the rest stays phasors.

    Parameters
    ----------
    buses
        Buses as ``5`` or ``"bus5"``, with all that is connected to them; ``"all"`` for every bus, ``"none"``
        for a network of phasors where the case has a region.
    within
        Number of branches around `buses` up to which buses belong to the region as well.
    devices
        Names of buses, branches, loads, reactors and machines that have their dynamics beside those of
        `buses`. A bus brings its branches, and branches bring a bus of which they are all; loads and machines
        there come only if they are named.
    loads
        Whether loads of constant impedance at `buses` are resistance and inductance. Other loads stay as
        they are.
    stators
        Whether machines at `buses` have the fluxes of their stators as states.
    stator_speed
        Whether the speed voltages of these stators are flux times speed; otherwise they are the flux, as
        stators without dynamics have them.
    sections
        Number of pi sections of each line with charging in the region. Together they are the line's pi at
        nominal frequency.
    zero_sequence
        Whether the region has its phases: the zero sequence is states of its own, each phase may have a fault
        to ground or be open, and breakers open at the zeros of their currents.
    travelling_waves
        Names of lines in the region on which waves travel in place of pi sections.
    error
        In place of `buses` and `devices`: the largest relative deformation of `modes`, a fraction. The region
        is then the one that `partitioning.by_deformation` finds, and is said when the system is built.
    modes
        Eigenvalues in 1/s of the case in full dynamics, or texts such as ``"-38.2+16.7j"``; the nearest ones
        are meant.
    where
        The file and line that it was read from, for messages.

    Raises
    ------
    InputError
        For a region of nothing, a name that is no text or a number that cannot be.
    """

    buses: tuple[int | str, ...] = ()
    within: int = 0
    devices: tuple[str, ...] = ()
    loads: bool = True
    stators: bool = True
    stator_speed: bool = True
    sections: int = 1
    zero_sequence: bool = False
    travelling_waves: tuple[str, ...] = ()
    error: float | None = None
    modes: tuple[complex, ...] = ()
    where: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("buses", "devices", "travelling_waves"):
            given = getattr(self, name)
            if isinstance(given, str | int) and not isinstance(given, bool):
                object.__setattr__(self, name, (given,))
        named: object = self.modes
        modes = named if isinstance(named, tuple | list) else (named,)
        object.__setattr__(self, "modes", tuple(map(_eigenvalue, modes)))
        settle_fields(self, numbers=True)
        self._check_error()
        if not self.buses and not self.devices and self.error is None:
            raise InputError(
                'a region names no bus and no device; name them, as in buses = 5, or buses = "all"'
            )
        if self.within < 0:
            raise InputError(f"Region: within = {self.within}: must be >= 0, a number of branches")
        if not 1 <= self.sections <= MOST_SECTIONS:
            raise InputError(f"Region: sections = {self.sections}: must be from 1 to {MOST_SECTIONS}")

    def _check_error(self) -> None:
        if self.error is None:
            if self.modes:
                raise InputError("Region: modes without error: give the error, a fraction such as 0.003")
            return
        if not (math.isfinite(self.error) and self.error > 0):
            raise InputError(f"Region: error = {self.error:g}: must be > 0, a fraction such as 0.003")
        if not self.modes:
            raise InputError(
                'Region: error without modes: name the eigenvalues that it is of, such as "-38.2+16.7j"'
            )
        if self.buses or self.devices or self.within:
            raise InputError(
                "Region: error beside buses, within or devices: the error is measured for what it finds;"
                " leave them out"
            )

    def __str__(self) -> str:
        if self.error is not None:
            return f"within {100 * self.error:g} % of {', '.join(map(_text, self.modes))}"
        parts = [f"bus {', '.join(map(str, self.buses))}"] if self.buses else []
        if self.buses in ((ALL,), (NONE,)):
            parts = ["all buses" if self.buses == (ALL,) else NONE]
        if self.within:
            parts.append(f"within {self.within} branches")
        if self.devices:
            parts.append(f"{len(self.devices)} devices")
        return ", ".join(parts)


def _eigenvalue(given: object) -> complex:
    try:
        found = complex(given.replace(" ", "") if isinstance(given, str) else given)  # type: ignore[call-overload]  # refused below
    except (TypeError, ValueError, OverflowError):
        found = complex(math.nan)
    if isinstance(given, bool) or not (math.isfinite(found.real) and math.isfinite(found.imag)):
        raise InputError(f'Region: modes: {shown(given)}: must be an eigenvalue such as "-38.2+16.7j"')
    return found


def _text(s: complex) -> str:
    return f"{s.real:g}{s.imag:+g}j" if s.imag else f"{s.real:g}"
