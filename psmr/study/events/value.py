"""Steps and ramps of a device's held inputs, steps of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import EventError, InputError, nearest, shown
from psmr.base.keywords import explains_keywords
from psmr.integrate.timeline.change import Change
from psmr.study.events.event import Lasting, check_after, check_finite, check_time

if TYPE_CHECKING:
    from psmr.dae.system.system import System


@explains_keywords(EventError)
@dataclass(frozen=True)
class _Step(Lasting):
    """What both steps have."""

    device: str
    name: str
    value: float
    start: float

    def __post_init__(self) -> None:
        settle_fields(self, EventError)
        check_time(self, "start", self.start)
        check_finite(self, "value", self.value)


@dataclass(frozen=True)
class SetPoint(_Step):
    """A held input of a device (a reference, for instance ``v_ref`` or ``p_ref``) takes a new value.

    Parameters
    ----------
    device, name
        Device and its held input.
    value
        New value in the input's unit.
    start
        Time of the step, or of the begin of the ramp, in s.
    end
        Time in s at which a ramp from what the input is at `start` has reached the value; None: a step.

    Raises
    ------
    EventError
        For a value or time that is not a number, and an end that is not after the start.
    """

    kind: ClassVar[str] = "set-point"

    end: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.end is not None:
            check_after(self, "end", self.end, self.start)

    def __str__(self) -> str:
        return f"{'step' if self.end is None else 'ramp'} of {self.device}.{self.name}"

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the step, or the begin and the end of the ramp.

        Raises
        ------
        EventError
            When the device has no such held input.
        """
        full = f"{self.device}.{self.name}"
        if full in system.names_u:
            reached = ((full, self.value),)
            if self.end is None:
                return (Change(self.start, inputs=reached, label=f"{full} = {self.value:g}"),)
            now = float(system.w0[system.index(full)])
            rate = (self.value - now) / (self.end - self.start)
            words = f"{full} ramps to {self.value:g}"
            return (
                Change(self.start, inputs=((full, now),), rates=((full, rate),), label=words),
                Change(self.end, inputs=reached, label=f"ramp of {full} ends"),
            )
        devices = {d.name: d for d in system.devices}
        if self.device not in devices:
            hint = nearest(self.device, devices)
            raise EventError(f"{self}: there is no device {shown(self.device)}{hint}")
        held = [u.rpartition(".")[2] for u in system.names_u if u.rpartition(".")[0] == self.device]
        provider = devices[self.device].connections.get(self.name)
        if provider:
            raise EventError(
                f"{self}: {full} is not a set-point, {provider} provides it; step a reference of that device"
            )
        raise EventError(
            f"{self}: {self.device} has no set-point {shown(self.name)}{nearest(self.name, held)}; "
            f"its set-points: {', '.join(held) or 'none'}"
        )


@dataclass(frozen=True)
class ParameterStep(_Step):
    """A parameter of a device takes a new value.

    Parameters
    ----------
    device, name
        Device and its parameter, as its component declares it (``"GOV1"``, ``"droop"``).
    value
        New value in the parameter's unit.
    start
        Time of the step in s.

    Raises
    ------
    EventError
        For a value or time that is not a number.

    Notes
    -----
    States stay as they are and the algebraic equations are solved anew, so that the system is in general no
    longer at rest.
    """

    kind: ClassVar[str] = "parameter"

    def __str__(self) -> str:
        return f"step of parameter {self.device}.{self.name}"

    def changes(self, system: System) -> tuple[Change, ...]:
        """Return the step.

        Raises
        ------
        EventError
            When the device has no such parameter, or cannot take the value.
        """
        # With the engine, which an event that is only written down does not need.
        from psmr.devices.placement import placement
        from psmr.integrate.run.changes import objection

        full = f"{self.device}.{self.name}"
        if full in system.names_u:
            raise EventError(f"{self}: {full} is a set-point, not a parameter; use a set-point step")
        try:
            wrong = objection(system, self.device, self.name, self.value)
        except InputError as error:
            raise EventError(f"{self}: {error}") from error
        if self.name in placement(system.device(self.device).component).buses:
            wrong = "is a connection, which stays during a run; give the case this value"
        if wrong:
            raise EventError(f"{self}: {full} = {self.value:g}: {wrong}")
        step = ((self.device, self.name, float(self.value)),)
        return (Change(self.start, parameters=step, label=f"{full} = {self.value:g}"),)
