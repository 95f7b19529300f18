"""The tables of a case: frozen rows in the units engineers write (MW, Mvar, degrees, per unit).

A row knows where it was read (`where`), so that every objection names file, line and table. Checks that need
one row are made when the row is made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any

from psmr.base.errors import CaseError, nearest
from psmr.base.printable import in_line
from psmr.dae.declare.algebraic_form import form_for
from psmr.dae.declare.component import crossed_limits
from psmr.devices.catalogue import LOAD_ROLES, PREFIXES, RELAY_ROLES, ROLES, role_parameters

_TAKES = {"motor": "drives", "composite": "load takes"}

CONTROLS = ("slack", "pv", "pq")

TORQUE, POWER = "torque", "power"
MECHANICAL = (TORQUE, POWER)

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


def _check_name(row: Any) -> None:
    right = "must be a name without dots, blanks and control characters"
    good = isinstance(row.name, str) and bool(re.fullmatch(r"[^\s.]+", row.name)) and row.name.isprintable()
    row.require(good, "name", right)


@dataclass(frozen=True)
class BusRow(Row):
    """A bus: its number, base voltage in kV (only for labels), name ``bus<number>`` unless given."""

    number: int
    base_kv: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.number > 0, "number", "must be > 0")
        self.require(self.base_kv >= 0, "base_kv", "must be >= 0 (0: unknown)")
        object.__setattr__(self, "name", self.name or f"bus{self.number}")
        _check_name(self)


@dataclass(frozen=True)
class BranchRow(Row):
    """What lines and transformers have in common, per unit on the system base."""

    from_bus: int
    to_bus: int
    x: float
    r: float = 0.0
    b: float = 0.0
    g: float = 0.0
    status: int = 1
    circuit: int = 1
    name: str = ""

    kind = "branch"

    def __post_init__(self) -> None:
        super().__post_init__()
        circuit = "" if self.circuit == 1 else f"-{self.circuit}"
        default = f"{self.kind}{self.from_bus}-{self.to_bus}{circuit}"
        object.__setattr__(self, "name", self.name or default)
        _check_name(self)
        self.require(self.from_bus != self.to_bus, "to_bus", "must be another bus than the branch begins at")
        zero = "the branch has no impedance; join the two buses, or give it a small x such as 1e-4"
        self.require(self.r != 0 or self.x != 0, "x", zero)
        self.require(self.x != 0, "x", "must not be 0")
        self.require(self.status in (0, 1), "status", "must be 1 (in service) or 0 (out of service)")
        self.require(self.circuit > 0, "circuit", "must be > 0")


@dataclass(frozen=True)
class LineRow(BranchRow):
    """A line as a pi circuit; b and g are totals, half at each end. Named ``line<from>-<to>`` by default."""

    kind = "line"


@dataclass(frozen=True)
class TransformerRow(BranchRow):
    """A two-winding transformer with its tap at the from bus; b and g magnetise, there too.

    One that is `regulating` has a tap changer under load, which stands still during a run.
    """

    tap: float = 1.0
    shift_deg: float = 0.0
    regulating: bool = False

    kind = "transformer"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.tap > 0, "tap", "must be > 0")


@dataclass(frozen=True)
class ShuntRow(Row):
    """A constant admittance at a bus, given as MW and Mvar (positive: capacitor) at 1 pu voltage.

    One that is `regulating` is switched in steps by a control, which stands still during a run.
    """

    bus: int
    g_mw: float = 0.0
    b_mvar: float = 0.0
    status: int = 1
    name: str = ""
    regulating: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "name", self.name or f"shunt{self.bus}")
        _check_name(self)
        self.require(self.status in (0, 1), "status", "must be 1 (in service) or 0 (out of service)")


@dataclass(frozen=True)
class DeviceRow(Row):
    """A dynamic device of a plant: its role, its component, its parameters as the component declares them."""

    name: str
    role: str
    type: str
    parameters: Mapping[str, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_name(self)
        roles = {**ROLES, **LOAD_ROLES, **RELAY_ROLES}
        if self.role not in roles:
            raise CaseError(
                f"{self.place}: there is no role {self.role!r}{nearest(self.role, roles)}; known:"
                f" {', '.join(roles)}"
            )
        kinds = {component.__name__: component for component in roles[self.role]}
        if self.type not in kinds:
            known = ", ".join(kinds)
            raise CaseError(
                f"{self.place}: type = {self.type!r} is no {self.role}{nearest(self.type, kinds)}; known:"
                f" {known}"
            )
        declared = role_parameters(kinds[self.type])
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
        component = kinds[self.type]
        if wrong := component.conflict(values) or crossed_limits(form_for(component, values), values):
            raise CaseError(f"{self.place}: {wrong}")


@dataclass(frozen=True)
class LoadRow(Row):
    """A load: its power at the voltage `v_0`, and how it follows the voltage.

    Where `v_0` is None, the powers are those at the power flow's own voltage, whatever it turns out to be.

    Given are either `p_zip` and `q_zip`, the three fractions of constant impedance, current and power, which
    add up to 1; or `exponent_p` and `exponent_q`, powers of the voltage; or a `characteristic` of the
    standard library, whose powers are those of the power flow; or a `motor`, or a `composite` load. These
    bear the name of their load and have no v_min and no v_0 here. One that is `held` keeps its kind where
    loads are converted: a DC line. Named ``load<bus>`` unless given.
    """

    bus: int
    p_mw: float
    q_mvar: float
    p_zip: tuple[float, ...] = ()
    q_zip: tuple[float, ...] = ()
    v_min: float = 0.7
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
        _check_name(self)
        self.require(self.v_min > 0, "v_min", "must be > 0")
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


@dataclass(frozen=True)
class GeneratorRow(Row):
    """A plant: what the power flow prescribes at its bus, and its dynamic devices.

    control is ``"slack"`` (voltage and angle), ``"pv"`` (power and voltage) or ``"pq"`` (power). Generators
    at one bus share what the power flow leaves open in proportion to `rating_mva`, by default the s_n of
    their machine or converter. One that is `held` is an end of a DC line: without devices, it becomes a load
    of its power where a case with dynamic data is read.
    """

    name: str
    bus: int
    control: str
    p_mw: float = 0.0
    q_mvar: float = 0.0
    v: float = 1.0
    angle_deg: float = 0.0
    q_min_mvar: float = field(default=-math.inf, metadata={"limit": True})
    q_max_mvar: float = field(default=math.inf, metadata={"limit": True})
    rating_mva: float = 0.0
    devices: tuple[DeviceRow, ...] = ()
    held: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_name(self)
        right = f"must be one of {', '.join(CONTROLS)}{nearest(str(self.control), CONTROLS)}"
        self.require(self.control in CONTROLS, "control", right)
        self.require(self.v > 0, "v", "must be > 0")
        self.require(not math.isnan(self.q_min_mvar), "q_min_mvar", "must be a number")
        right = f"must be at least q_min_mvar = {self.q_min_mvar:g}"
        self.require(self.q_max_mvar >= self.q_min_mvar, "q_max_mvar", right)
        own = sum(device.parameters.get("s_n", 0.0) for device in self.devices)
        object.__setattr__(self, "rating_mva", self.rating_mva or own)
        self.require(self.rating_mva >= 0, "rating_mva", "must be > 0")


@dataclass(frozen=True)
class RelayRow(Row):
    """A relay: the bus whose voltage it measures, and the load or generator that it acts on.

    The device bears the name of the relay.
    """

    name: str
    bus: int
    acts_on: str
    device: DeviceRow

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_name(self)
        self.require(self.device.role in RELAY_ROLES, "device", "must be a relay")
        object.__setattr__(self, "device", replace(self.device, name=self.name))


def device_name(generator: str, role: str) -> str:
    """Return a device's name where the case gives none: G1, AVR1, GOV1, PSS1; for a plant X: X, AVR-X."""
    if role not in PREFIXES:
        return generator
    number = re.fullmatch(r"G(\d+)", generator)
    return PREFIXES[role] + (number[1] if number else f"-{generator}")


@dataclass(frozen=True)
class Tables:
    """Network, loads and plants, rows checked one by one; `psmr.network.case.case.Case` checks the whole.

    Attributes
    ----------
    name, source
        What it is called, and the file it was read from (empty where there is none).
    base_mva, frequency_hz
        Base of the per-unit system and nominal frequency.
    buses, lines, transformers, shunts, loads, generators, relays
        The tables.
    mechanical
        What drives the machines GENROU, GENSAL, GENROE and GENSAE: ``"torque"``, or a ``"power"`` (PSS/E's
        convention), whose torque falls as the speed rises. Other machines are driven by a torque.
    """

    name: str
    base_mva: float
    frequency_hz: float
    buses: tuple[BusRow, ...]
    lines: tuple[LineRow, ...] = ()
    transformers: tuple[TransformerRow, ...] = ()
    shunts: tuple[ShuntRow, ...] = ()
    loads: tuple[LoadRow, ...] = ()
    generators: tuple[GeneratorRow, ...] = ()
    relays: tuple[RelayRow, ...] = ()
    source: str = field(default="", compare=False)
    mechanical: str = TORQUE

    @property
    def branches(self) -> tuple[BranchRow, ...]:
        """Lines and transformers."""
        return (*self.lines, *self.transformers)
