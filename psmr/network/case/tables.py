"""The tables of a case: frozen rows in the units engineers write (MW, Mvar, degrees, per unit).

A row knows where it was read (`where`), so that every objection names file, line and table. Checks that need
one row are made when the row is made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from psmr.base.errors import nearest
from psmr.devices.catalogue import AREA_ROLES, RELAY_ROLES, SHUNT_ROLES, TRANSFORMER_ROLES
from psmr.devices.network import LAST_GROUP
from psmr.network.case.direct_current import DcBusRow as DcBusRow
from psmr.network.case.direct_current import DcConverterRow as DcConverterRow
from psmr.network.case.direct_current import DcLineRow as DcLineRow
from psmr.network.case.region import Region
from psmr.network.case.row import LARGEST as LARGEST
from psmr.network.case.row import DeviceRow as DeviceRow
from psmr.network.case.row import LoadRow as LoadRow
from psmr.network.case.row import Row as Row
from psmr.network.case.row import SequenceRow as SequenceRow
from psmr.network.case.row import check_name
from psmr.network.case.row import device_name as device_name

CONTROLS = ("slack", "pv", "pq")

TORQUE, POWER = "torque", "power"
MECHANICAL = (TORQUE, POWER)

FLUX, SPEED = "flux", "speed"
STATOR = (FLUX, SPEED)

VOLTAGE, REACTIVE_POWER, ACTIVE = "voltage", "reactive", "active"
CONTROLLED = (VOLTAGE, REACTIVE_POWER, ACTIVE)
"""What a tap changer or phase shifter controls."""
KEPT = (VOLTAGE, "plant", "converter", "shunt", "facts")
"""What a switched shunt keeps: a voltage or a reactive power, in the order of PSS/E's MODSW."""

AS_STORED, EQUAL, BY_RATING = "file", "equal", "rating"
REACTIVE = (AS_STORED, EQUAL, BY_RATING)

AREA_PREFIXES = {"area_control": "AGC", "voltage_control": "SVR"}
"""How the controls of areas are called."""


@dataclass(frozen=True)
class BusRow(Row):
    """A bus: its number, base voltage in kV (only for labels), name ``bus<number>`` unless given.

    `v` in pu and `angle_deg` are those of a solution that the file stores, None where it stores none; `area`
    and `zone` the numbers of the groups that it is in, 0 for none. `aliases` are other names by which events
    and signals find it, which may have blanks and dots: its name in the file, and the numbers and names of
    the buses that it stands for.
    """

    number: int
    base_kv: float = 0.0
    name: str = ""
    v: float | None = None
    angle_deg: float | None = None
    area: int = 0
    zone: int = 0
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.number > 0, "number", "must be > 0")
        for group in ("area", "zone"):
            self.require(0 <= getattr(self, group) <= LAST_GROUP, group, f"must be from 0 to {LAST_GROUP}")
        self.require(self.base_kv >= 0, "base_kv", "must be >= 0 (0: unknown)")
        self.require(self.v is None or self.v > 0, "v", "must be > 0")
        together = "must be given: both v and angle_deg, or neither"
        self.require((self.v is None) == (self.angle_deg is None), "angle_deg", together)
        good = all(isinstance(name, str) and name.strip() and name.isprintable() for name in self.aliases)
        self.require(good, "aliases", "must be texts without control characters")
        object.__setattr__(self, "name", self.name or f"bus{self.number}")
        check_name(self)


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
        check_name(self)
        self.require(self.from_bus != self.to_bus, "to_bus", "must be another bus than the branch begins at")
        zero = "the branch has no impedance; join the two buses, or give it a small x such as 1e-4"
        self.require(self.r != 0 or self.x != 0, "x", zero)
        self.require(self.status in (0, 1), "status", "must be 1 (in service) or 0 (out of service)")
        self.require(self.circuit > 0, "circuit", "must be > 0")


@dataclass(frozen=True)
class LineRow(BranchRow):
    """A line as a pi circuit; b and g are totals, half at each end. Named ``line<from>-<to>`` by default."""

    kind = "line"


@dataclass(frozen=True)
class TransformerRow(BranchRow):
    """A two-winding transformer with its tap at the from bus; b and g magnetise, there too.

    Its `tap_changer` moves it during a run; without one, also where it is `regulating`, it stands still. The
    power flow may move it (`psmr.read_case(adjust=...)`): a tap with `controls` = ``"voltage"`` of the bus
    `control_bus` in pu or ``"reactive"`` power in Mvar, a shift with ``"active"`` power in MW, into the from
    bus, between `control_low` and `control_high`; in `positions` between `tap_min` and `tap_max`, a shift
    between these as degrees. `correction` has points (tap or shift_deg, real and imaginary part of a factor
    of the impedance) that the impedance of another position follows; the row's own is that of its position.
    `r_c` and `x_c` are the line drop compensation of a voltage in pu, which a run alone has. Without
    `controls` the power flow moves it as its tap changer would, to the same positions.
    """

    tap: float = 1.0
    shift_deg: float = 0.0
    regulating: bool = False
    controls: str = ""
    control_bus: int = 0
    control_low: float = 0.0
    control_high: float = 0.0
    tap_min: float = 0.0
    tap_max: float = 0.0
    positions: int = 0
    correction: tuple[float, ...] = ()
    r_c: float = 0.0
    x_c: float = 0.0
    tap_changer: DeviceRow | None = None

    kind = "transformer"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.tap > 0, "tap", "must be > 0")
        right = f"must be one of {', '.join(map(repr, CONTROLLED))}, or left out"
        self.require(self.controls in ("", *CONTROLLED), "controls", right)
        if self.controls:
            right = f"must be at least control_low = {self.control_low:g}"
            self.require(self.control_high >= self.control_low, "control_high", right)
            self.require(
                self.tap_max >= self.tap_min, "tap_max", f"must be at least tap_min = {self.tap_min:g}"
            )
            self.require(self.tap_min > 0 or self.controls == ACTIVE, "tap_min", "must be > 0")
            self.require(self.positions > 1 or self.controls == ACTIVE, "positions", "must be 2 or more")
        self.require(len(self.correction) % 3 == 0, "correction", "must be points of three numbers each")
        if self.tap_changer is not None:
            good = self.tap_changer.role in TRANSFORMER_ROLES
            self.require(good, "tap_changer", "must be a device of the role tap_changer")


@dataclass(frozen=True)
class ShuntRow(Row):
    """A constant admittance at a bus, given as MW and Mvar (positive: capacitor) at 1 pu voltage.

    One that is `regulating` is switched in steps by a control of the power flow, which may move it
    (`psmr.read_case(adjust=...)`) to keep the voltage of `control_bus` between `v_low` and `v_high`: `steps`
    has the number of steps and the Mvar of each for every block; one that is `continuous` takes any value
    between their sums. One that `controls` the ``"plant"`` or the ``"shunt"`` at `control_bus` keeps its
    reactive power there, as parts of its range; the power flow leaves it and other ones where they are.
    `switching` moves it during a run, by steps of its own.

    One that has a `static_var_system` is that device in the dynamics, which bears its name, and an admittance
    in the power flow alone.
    """

    bus: int
    g_mw: float = 0.0
    b_mvar: float = 0.0
    status: int = 1
    name: str = ""
    regulating: bool = False
    control_bus: int = 0
    v_low: float = 0.0
    v_high: float = 0.0
    steps: tuple[float, ...] = ()
    continuous: bool = False
    controls: str = VOLTAGE
    static_var_system: DeviceRow | None = None
    switching: DeviceRow | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "name", self.name or f"shunt{self.bus}")
        self.require(len(self.steps) % 2 == 0, "steps", "must be pairs: number of steps, Mvar of each")
        self.require(self.v_high >= self.v_low, "v_high", f"must be at least v_low = {self.v_low:g}")
        self.require(self.controls in KEPT, "controls", f"must be one of {', '.join(KEPT)}")
        check_name(self)
        self.require(self.status in (0, 1), "status", "must be 1 (in service) or 0 (out of service)")
        if self.static_var_system is not None:
            object.__setattr__(self, "static_var_system", replace(self.static_var_system, name=self.name))
        for role in SHUNT_ROLES:
            good = (device := getattr(self, role)) is None or device.role == role
            self.require(good, role, f"must be a device of the role {role}")
        right = "must be left out: a static_var_system goes continuously"
        self.require(self.switching is None or self.static_var_system is None, "switching", right)

    @property
    def device(self) -> DeviceRow | None:
        """The device that the shunt is in the dynamics; None for an admittance, and out of service."""
        return self.static_var_system if self.status else None

    @property
    def devices(self) -> tuple[DeviceRow, ...]:
        """That device, out of service too, and what switches the shunt."""
        return tuple(device for role in SHUNT_ROLES if (device := getattr(self, role)) is not None)


@dataclass(frozen=True)
class GeneratorRow(Row):
    """A plant: what the power flow prescribes at its bus, and its dynamic devices.

    control is ``"slack"`` (voltage and angle), ``"pv"`` (power and voltage) or ``"pq"`` (power). Generators
    at one bus share what the power flow leaves open as `Tables.reactive` says; `rating_mva` is by default the
    s_n of their machine or converter. One of ``"pv"`` may hold the voltage of another bus, `control_bus` (0:
    its own), with others; of the reactive power for that the generators of its bus give `share`, relative to
    those of the other buses. One that is `held` is an end of a DC line: without devices, it becomes a load of
    its power where a case with dynamic data is read.
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
    control_bus: int = 0
    share: float = 100.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self)
        right = f"must be one of {', '.join(CONTROLS)}{nearest(str(self.control), CONTROLS)}"
        self.require(self.control in CONTROLS, "control", right)
        self.require(self.v > 0, "v", "must be > 0")
        right = 'must be left out but for control = "pv"'
        object.__setattr__(self, "control_bus", 0 if self.control_bus == self.bus else self.control_bus)
        self.require(self.control == "pv" or not self.control_bus, "control_bus", right)
        self.require(self.share > 0, "share", "must be > 0")
        self.require(not math.isnan(self.q_min_mvar), "q_min_mvar", "must be a number")
        right = f"must be at least q_min_mvar = {self.q_min_mvar:g}"
        self.require(self.q_max_mvar >= self.q_min_mvar, "q_max_mvar", right)
        own = sum(device.parameters.get("s_n", 0.0) for device in self.devices)
        object.__setattr__(self, "rating_mva", self.rating_mva or own)
        self.require(self.rating_mva >= 0, "rating_mva", "must be > 0")


@dataclass(frozen=True)
class RelayRow(Row):
    """A relay: the bus whose voltage it measures, and the load, generator or branch that it acts on.

    The device bears the name of the relay. `measures` is the branch whose current it reads, where that is not
    what it acts on.
    """

    name: str
    bus: int
    acts_on: str
    device: DeviceRow
    measures: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self)
        self.require(self.device.role in RELAY_ROLES, "device", "must be a relay")
        object.__setattr__(self, "device", replace(self.device, name=self.name))

    @property
    def branch(self) -> str:
        """The branch whose current the relay reads, or "" where it reads none."""
        return (self.measures or self.acts_on) if "m_re" in self.device.component.inputs else ""


@dataclass(frozen=True)
class AreaRow(Row):
    """An area: its number, which buses have as their `area`, and its controls.

    `schedule_mw` is the interchange that its generation control keeps, export positive; None: that of the
    power flow, from which a given one differs by at most `tolerance_mw`. Controls bear the names ``AGC1``
    and, of the voltage of a pilot bus, ``SVR1`` in area 1.
    """

    number: int
    name: str = ""
    schedule_mw: float | None = None
    tolerance_mw: float = 10.0
    area_control: DeviceRow | None = None
    voltage_control: DeviceRow | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "name", self.name or f"area{self.number}")
        self.require(0 < self.number <= LAST_GROUP, "number", f"must be from 1 to {LAST_GROUP}")
        self.require(self.tolerance_mw >= 0, "tolerance_mw", "must be >= 0")
        for role, prefix in AREA_PREFIXES.items():
            device = getattr(self, role)
            if device is not None:
                self.require(device.role == role, role, f"must be a device of the role {role}")
                object.__setattr__(self, role, replace(device, name=f"{prefix}{self.number}"))

    @property
    def devices(self) -> tuple[DeviceRow, ...]:
        """The controls of the area."""
        return tuple(device for role in AREA_ROLES if (device := getattr(self, role)) is not None)


@dataclass(frozen=True)
class Tables:
    """Network, loads and plants, rows checked one by one; `psmr.network.case.case.Case` checks the whole.

    Attributes
    ----------
    name, source
        What it is called, and the file it was read from (empty where there is none).
    base_mva, frequency_hz
        Base of the per-unit system and nominal frequency.
    buses, lines, transformers, shunts, loads, generators, relays, areas, sequence
        The tables; `sequence` has negative- and zero-sequence data of elements of the others.
    mechanical
        What drives the machines GENROU, GENSAL, GENROE and GENSAE: ``"torque"``, or a ``"power"`` (PSS/E's
        convention), whose torque falls as the speed rises. Other machines are driven by a torque.
    stator
        Whether the stator voltages of the same machines are fluxes, ``"flux"``, or fluxes times the speed,
        ``"speed"`` (PowerWorld's convention).
    modules
        Names of the modules beside the file that declare components of the user's own.
    reactive
        How generators that hold the voltage of one bus share its reactive power: ``"file"``, as the stored
        `q_mvar` where the case stores a solution, what is left in proportion to `rating_mva`; ``"equal"``; or
        ``"rating"``, in proportion to `rating_mva`.
    dynamic
        The part of the network with its own dynamics; None: all of it is phasors.
    dc_buses, dc_lines, dc_converters
        The tables of direct current; a converter is a load of the power flow, which bears its name.
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
    areas: tuple[AreaRow, ...] = ()
    sequence: tuple[SequenceRow, ...] = ()
    source: str = field(default="", compare=False)
    mechanical: str = TORQUE
    stator: str = FLUX
    modules: tuple[str, ...] = ()
    reactive: str = AS_STORED
    dynamic: Region | None = None
    dc_buses: tuple[DcBusRow, ...] = ()
    dc_lines: tuple[DcLineRow, ...] = ()
    dc_converters: tuple[DcConverterRow, ...] = ()

    @property
    def stored(self) -> bool:
        """Whether the case stores a solution of its power flow: voltages whose angles are not all one."""
        return len({bus.angle_deg for bus in self.buses if bus.v is not None}) > 1

    @property
    def branches(self) -> tuple[BranchRow, ...]:
        """Lines and transformers."""
        return (*self.lines, *self.transformers)
