"""A load: its power and how it follows the voltage."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from psmr.devices.catalogue import LOAD_ROLES
from psmr.network.case.row import DeviceRow, Row, check_name

DARK = 1e-3
"""Voltage in pu below which a load bends in any case in a run: at zero volts none can have its power."""

_TAKES = {"motor": "drives", "composite": "load takes"}


@dataclass(frozen=True)
class LoadRow(Row):
    """A load: its power at the voltage `v_0`, and how it follows the voltage.

    Where `v_0` is None, the powers are those at the power flow's own voltage, whatever it turns out to be.

    Given are either `p_zip` and `q_zip`, the three fractions of constant impedance, current and power, which
    add up to 1; or `exponent_p` and `exponent_q`, powers of the voltage; or a `characteristic` of the
    standard library, whose powers are those of the power flow; or a `motor`, or a `composite` load. These
    bear the name of their load and have no v_min and no v_0 here. Below `v_min` a constant power, and below
    `v_min_current` a constant current, bends to zero (`ZipLoad`); 0 is a power that stays at any voltage, in
    a run down to `DARK`. One that is `held` keeps its kind where
    loads are converted: a DC line. Named ``load<bus>`` unless given.
    """

    bus: int
    p_mw: float
    q_mvar: float
    p_zip: tuple[float, ...] = ()
    q_zip: tuple[float, ...] = ()
    v_min: float = 0.7
    v_min_current: float = 0.5
    name: str = ""
    exponent_p: float | None = None
    exponent_q: float | None = None
    motor: DeviceRow | None = None
    composite: DeviceRow | None = None
    characteristic: DeviceRow | None = None
    v_0: float | None = None
    held: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "name", self.name or f"load{self.bus}")
        check_name(self)
        for key in ("v_min", "v_min_current"):
            self.require(getattr(self, key) >= 0, key, "must be >= 0 (0: at any voltage)")
        self.require(self.v_0 is None or self.v_0 > 0, "v_0", "must be > 0")
        if self.solved is not None:
            role = "motor" if self.motor is not None else "composite"
            others = tuple(other for other in LOAD_ROLES if other != role)
            self._left_out(*others, beside=f"a {role}")
            self._check_device(role, self.solved)
            self.require(self.p_mw > 0, "p_mw", f"must be > 0: it says what the {role} {_TAKES[role]}")
        elif self.characteristic is not None:
            self._check_device("characteristic", self.characteristic)
        elif self.exponential:
            for key in ("exponent_p", "exponent_q"):
                self.require(getattr(self, key) is not None, key, "must be given: both exponents, or neither")
            self._left_out("p_zip", "q_zip", beside="exponent_p and exponent_q")
        else:
            self._check_parts()

    def _left_out(self, *keys: str, beside: str) -> None:
        for key in keys:
            self.require(getattr(self, key) in ((), None), key, f"must be left out beside {beside}")

    def _check_device(self, role: str, device: DeviceRow) -> None:
        self._left_out("p_zip", "q_zip", "exponent_p", "exponent_q", "v_0", beside=f"a {role}")
        self.require(device.role == role, role, f"must be a device of the role {role}")
        self.require(self.v_min == LoadRow.v_min, "v_min", f"must be left out: a {role} goes on by itself")
        object.__setattr__(self, role, replace(device, name=self.name))

    @property
    def solved(self) -> DeviceRow | None:
        """The device that starts from the power flow's power: a motor or a composite load."""
        return self.motor or self.composite

    @property
    def device(self) -> DeviceRow | None:
        """The device that the load is: a motor, a composite load or a characteristic."""
        return self.solved or self.characteristic

    def _check_parts(self) -> None:
        for key in ("p_zip", "q_zip"):
            parts = getattr(self, key)
            good = len(parts) == 3 and all(math.isfinite(x) and 0 <= x <= 1 for x in parts)
            self.require(good, key, "must be three fractions (impedance, current, power) between 0 and 1")
            # Fractions are written in decimals: their sum is 1 up to their rounding.
            self.require(abs(sum(parts) - 1) < 1e-9, key, f"must add up to 1, not {sum(parts):g}")

    @property
    def exponential(self) -> bool:
        """Whether the powers are powers of the voltage."""
        return not (self.exponent_p is None and self.exponent_q is None)

    @property
    def impedance(self) -> bool:
        """Whether the load is a constant impedance at every voltage."""
        if self.exponential:
            return self.exponent_p == self.exponent_q == 2
        return bool(self.p_zip) and self.p_zip[0] == self.q_zip[0] == 1

    @property
    def constant_power(self) -> bool:
        """Whether the powers are the same at every voltage above v_min."""
        if self.exponential:
            return self.exponent_p == self.exponent_q == 0
        return bool(self.p_zip) and self.p_zip[2] == self.q_zip[2] == 1
