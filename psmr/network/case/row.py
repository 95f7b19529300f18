"""What every row of a table has; the rows of devices, of sequence data, and of loads."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any

from psmr.base.errors import CaseError, in_line, nearest
from psmr.dae.declare.component import Component, crossed_limits
from psmr.dae.declare.device import form_for
from psmr.devices.catalogue import (
    DEVICE_ROLES,
    LOAD_ROLES,
    PREFIXES,
    TRANSFORMER_ROLES,
    component_named,
    defaults,
    role_parameters,
)
from psmr.network.case.code import PlantCode

LARGEST = 1e9
"""Largest magnitude of a number that is no limit; no constant of a plant or a network comes near it."""

TOO_LARGE = f"must be between -{LARGEST:g} and {LARGEST:g}; is it in another unit?"


@dataclass(frozen=True)
class Row:
    """A row of a table; `where` says where it was read and takes no part in comparison."""

    _: KW_ONLY
    where: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, float) and "limit" not in item.metadata:
                self.require(math.isfinite(value), item.name, "must be finite")
                self.require(abs(value) <= LARGEST, item.name, TOO_LARGE)

    def require(self, good: bool, name: str, right: str) -> None:
        """Raise CaseError naming the row, the field, its value and what would be right, unless `good`."""
        if not good:
            value = getattr(self, name)
            raise CaseError(f"{self.place}: {name} = {value!r}: {right}")

    @property
    def place(self) -> str:
        """Where the row is: file and line where it was read, otherwise its kind and name."""
        name = getattr(self, "name", "")
        return f"{self.where or type(self).__name__}{f' ({in_line(str(name))})' if name else ''}"


def check_name(row: Any) -> None:
    """Raise CaseError for a row whose name signals could not begin with."""
    right = "must be a name without dots, blanks and control characters"
    good = isinstance(row.name, str) and bool(re.fullmatch(r"[^\s.]+", row.name)) and row.name.isprintable()
    row.require(good, "name", right)


Kind = type[Component]


@dataclass(frozen=True)
class DeviceRow(Row):
    """A dynamic device of a plant, load, shunt or relay: its role, its component, its parameters.

    `type` is the name of a component of the library, or that of `own`, a component of the user's. One of the
    role ``"code"`` has the controller in a file that it is as `code`.
    """

    name: str
    role: str
    type: str
    parameters: Mapping[str, float]
    own: Kind | None = None
    code: PlantCode | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self)
        if self.role not in DEVICE_ROLES:
            raise CaseError(
                f"{self.place}: there is no role {self.role!r}{nearest(self.role, DEVICE_ROLES)}; known:"
                f" {', '.join(DEVICE_ROLES)}"
            )
        kinds = [kind.__name__ for kind in DEVICE_ROLES[self.role]]
        if self.own is None and self.type not in kinds:
            raise CaseError(
                f"{self.place}: type = {self.type!r} is no {self.role}{nearest(self.type, kinds)}; known:"
                f" {', '.join(kinds)}"
            )
        component = self.component
        declared = role_parameters(component)
        for key in self.parameters:
            if key not in declared:
                raise CaseError(f"{self.place}: {self.type} has no parameter {key!r}{nearest(key, declared)}")
        for key, parameter in declared.items():
            if key not in self.parameters:
                if parameter.default is None:
                    raise CaseError(
                        f"{self.place}: {key} is missing; {self.type} needs it: {parameter.doc}, in"
                        f" {parameter.unit}"
                    )
                continue
            wrong = parameter.objection(self.parameters[key])
            # A limit beyond everything is none.
            if (
                wrong is None
                and "min" not in key
                and "max" not in key
                and abs(self.parameters[key]) > LARGEST
            ):
                wrong = TOO_LARGE
            if wrong:
                raise CaseError(
                    f"{self.place}: {key} = {self.parameters[key]!r}: {wrong} ({parameter.doc},"
                    f" {parameter.unit})"
                )
        object.__setattr__(self, "parameters", {k: float(v) for k, v in self.parameters.items()})
        values = {k: p.default for k, p in declared.items() if p.default is not None} | dict(self.parameters)
        wrong = component.conflict(values) or crossed_limits(form_for(component, values), values)
        if wrong is None and component.samples is not None:
            wrong = component.samples.objection(values)
        if wrong:
            raise CaseError(f"{self.place}: {wrong}")

    @property
    def component(self) -> Kind:
        """The component of the device."""
        return self.own or component_named(self.role, self.type)

    @property
    def values(self) -> dict[str, float]:
        """The parameters, with the defaults of those that are not given."""
        return defaults(self.component) | dict(self.parameters)


def device_name(generator: str, role: str) -> str:
    """Return a device's name where the case gives none.

    G1, AVR1, GOV1, PSS1 for a plant G1, LTC1 for a transformer T1; for a plant X: X, AVR-X.
    """
    if role not in PREFIXES:
        return generator
    number = re.fullmatch(rf"{'T' if role in TRANSFORMER_ROLES else 'G'}(\d+)", generator)
    return PREFIXES[role] + (number[1] if number else f"-{generator}")


WINDINGS = ("YN", "Y", "D")
"""How windings are connected: a star with its neutral grounded, a star, a delta."""

CONNECTIONS = tuple(f"{first}{second.lower()}" for first in WINDINGS for second in WINDINGS)
"""Connections of a transformer, first the winding at the from bus: ``"YNd"``, ``"Dyn"``, ``"YNyn"``."""


@dataclass(frozen=True)
class SequenceRow(Row):
    """Negative- and zero-sequence data of an element; what is left out is taken by the usual ratios.

    `element`: name of a line, transformer, generator, shunt or load.
    `r2`, `x2`: negative-sequence impedance of a generator, per unit on its rating.
    `r0`, `x0`: zero-sequence impedance: of a line, as a whole, and of a transformer in pu on the system base,
        of a generator on its rating.
    `g0`, `b0`: zero-sequence admittance to ground in pu on the system base: of a line, half at each end, a
        shunt or a load.
    `connection`: of a transformer one of `CONNECTIONS`, of a generator, shunt or load one of `WINDINGS`.
    `r_ground`, `x_ground`, `r_ground_to`, `x_ground_to`: impedance between neutral and ground, on the base of
        the zero-sequence impedance: of a generator, or of the winding at the from bus; of the winding at the
        to bus.
    """

    element: str
    r2: float | None = None
    x2: float | None = None
    r0: float | None = None
    x0: float | None = None
    g0: float | None = None
    b0: float | None = None
    connection: str = ""
    r_ground: float = 0.0
    x_ground: float = 0.0
    r_ground_to: float = 0.0
    x_ground_to: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        known = (*WINDINGS, *CONNECTIONS)
        right = f"must be one of {', '.join(known)}{nearest(self.connection, known)}"
        self.require(self.connection in ("", *known), "connection", right)
        for r, x in (("r2", "x2"), ("r0", "x0")):
            given = [getattr(self, name) for name in (r, x)]
            self.require(given[0] is None or given[1] is not None, x, f"must be given with {r}")
            self.require(given[1] != 0, x, "must not be 0")
        windings = self.windings
        ends = (("r_ground", "x_ground"), ("r_ground_to", "x_ground_to"))
        for winding, names in zip(windings, ends, strict=False):
            for name in names:
                right = f"the winding {winding} has no grounded neutral, and no zero-sequence current there"
                self.require(winding == "YN" or getattr(self, name) == 0, name, right)
        if windings and "YN" not in windings:
            for name in ("r0", "x0", "g0", "b0"):
                right = f"no zero-sequence path leads through {self.connection}; leave it out, or ground it"
                self.require(getattr(self, name) is None, name, right)

    @property
    def place(self) -> str:
        """See `Row`."""
        return f"{self.where or type(self).__name__} ({self.element})"

    @property
    def windings(self) -> tuple[str, ...]:
        """The windings of the connection, from bus first; none where it is left out."""
        for first in WINDINGS:
            for second in WINDINGS:
                if self.connection == f"{first}{second.lower()}":
                    return first, second
        return (self.connection,) if self.connection else ()


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
