"""The limits by which a run is judged."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import InputError
from psmr.pencil.modes.verdict import DampingLimit


@explains_keywords(InputError)
@dataclass(frozen=True)
class Criteria:
    """The limits by which a run is judged.

    Voltages in pu, frequencies in parts of the nominal one, times in s. A figure beyond one of them is a
    finding of the run's outcome, red or amber as said here, with the time, the place and the value. Where a
    default follows a standard its clause is named; every other number is psmr's own. docs/criteria.md says
    from which text each number was taken.

    Parameters
    ----------
    angle_deg
        Red: the angle spread in degrees, see `psmr.study.detectors.angles`: two sources of one island move
        apart by more since they were connected. Half a turn: between two equal voltages the voltage half-way,
        E cos(delta / 2), is then zero.
    f_low, f_high
        Red: the centre of inertia of an island leaves this band, beyond which generators may trip at once:
        57.0 and 61.8 Hz of 60 (NERC PRC-024-3, attachment 1: Western Interconnection, ERCOT), 47.5 and 51.5
        Hz of 50 (Commission Regulation (EU) 2016/631, article 13 (1) (a)).
    f_end_low, f_end_high
        Amber: its frequency at the end; 59.3 and 60.7 Hz of 60.
    v_low, v_low_time
        Amber: a bus is below the voltage for longer than the time. 80 %: the WECC's voltage for the recovery
        after a fault (TPL-001-WECC-CRT-3, WR1.3), there of the voltage before the fault.
    v_high, v_high_time
        Amber: a bus is above the voltage for longer than the time (NERC PRC-024-3, attachment 2).
    v_trip, v_trip_time
        Red: the same; beyond it generators may trip at once (NERC PRC-024-3, attachment 2). The time, three
        cycles, is what a relay needs to measure it.
    v_end_low, v_end_high
        Amber: a bus that began within this band ends outside it.
    motor_slip
        Amber: a motor ends with a larger slip: about that of the largest torque, beyond which it does not
        come back by itself.
    swing_f, swing_v
        Amber: over the last quarter of the time after the last event the frequency of a source against that
        of its island, this frequency itself, or the voltage of a bus moves by more than this and by no less
        than in the quarter before: it is not damped. What moves by less has settled.
    damping_change, damping_change_part
        Amber: the scheme changes the damping ratio of an oscillation of the system, before the events or
        after the last one, by more than the first (a fraction: 0.01 is one percentage point) and by more than
        the second in parts of the mode's own damping ratio, in either direction.
    oscillation_hz, oscillation_damping
        Which oscillations these are: not faster than this, in Hz, and with a smaller damping ratio than this,
        in the system or as simulated; see `psmr.pencil.modes.verdict.DampingLimit`.
    error
        Amber: the estimated error of a voltage or of a speed is larger than this, in parts of the largest
        change of any voltage or of any speed from the start of the run; a tenth less, since it is an
        estimate. A choice of psmr's own.

    Raises
    ------
    InputError
        For a value that is no positive number, and limits that contradict one another.
    """

    angle_deg: float = 180.0
    f_low: float = 0.95
    f_high: float = 1.03
    f_end_low: float = 59.3 / 60.0
    f_end_high: float = 60.7 / 60.0
    v_low: float = 0.8
    v_low_time: float = 2.0
    v_high: float = 1.1
    v_high_time: float = 1.0
    v_trip: float = 1.2
    v_trip_time: float = 0.05
    v_end_low: float = 0.9
    v_end_high: float = 1.1
    motor_slip: float = 0.2
    swing_f: float = 0.0005
    swing_v: float = 0.01
    damping_change: float = DampingLimit.change
    damping_change_part: float = DampingLimit.part
    oscillation_hz: float = DampingLimit.hz
    oscillation_damping: float = DampingLimit.below
    error: float = 0.01

    @property
    def damping(self) -> DampingLimit:
        """By how much a scheme may change the damping of an oscillation."""
        return DampingLimit(
            self.damping_change, self.damping_change_part, self.oscillation_hz, self.oscillation_damping
        )

    def __post_init__(self) -> None:
        settle_fields(self)
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0.0 if field.name.endswith("_time") else math.ulp(0.0)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"criteria: {field.name} = {value!r}: must be a number")
            if not least <= value < math.inf:
                sign = ">=" if least == 0.0 else ">"
                raise InputError(f"criteria: {field.name} = {value!r}: must be a finite number {sign} 0")
        for smaller, larger in ORDERED:
            low, high = getattr(self, smaller), getattr(self, larger)
            if not low < high:
                unit = "parts of the nominal frequency" if smaller.startswith("f_") else "pu"
                raise InputError(
                    f"criteria: {smaller} = {low:g} and {larger} = {high:g} contradict each other: "
                    f"{smaller} must be below {larger}; give both, in {unit}"
                )


ORDERED = (
    ("f_low", "f_end_low"), ("f_end_low", "f_end_high"), ("f_end_high", "f_high"), ("v_low", "v_high"),
    ("v_high", "v_trip"), ("v_end_low", "v_end_high"), ("v_low", "v_end_high"), ("v_end_low", "v_trip"),
)  # fmt: skip
"""Pairs of limits of which the first must be below the second."""

USUAL = Criteria()
"""The criteria where none are given."""
