"""The tables of a case: frozen rows in the units engineers write (MW, Mvar, degrees, per unit).

A row knows where it was read (`where`), so that every objection names file, line and table. Checks that need
one row are made when the row is made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from psmr.base.errors import nearest
from psmr.devices.catalogue import RELAY_ROLES
from psmr.network.case.device_row import DeviceRow as DeviceRow
from psmr.network.case.device_row import device_name as device_name
from psmr.network.case.load_row import LoadRow as LoadRow
from psmr.network.case.row import LARGEST as LARGEST
from psmr.network.case.row import Row as Row
from psmr.network.case.row import check_name

CONTROLS = ("slack", "pv", "pq")

TORQUE, POWER = "torque", "power"
MECHANICAL = (TORQUE, POWER)

AS_STORED, EQUAL, BY_RATING = "file", "equal", "rating"
REACTIVE = (AS_STORED, EQUAL, BY_RATING)


@dataclass(frozen=True)
class BusRow(Row):
    """A bus: its number, base voltage in kV (only for labels), name ``bus<number>`` unless given.

    `v` in pu and `angle_deg` are those of a solution that the file stores, None where it stores none.
    """

    number: int
    base_kv: float = 0.0
    name: str = ""
    v: float | None = None
    angle_deg: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.number > 0, "number", "must be > 0")
        self.require(self.base_kv >= 0, "base_kv", "must be >= 0 (0: unknown)")
        self.require(self.v is None or self.v > 0, "v", "must be > 0")
        together = "must be given: both v and angle_deg, or neither"
        self.require((self.v is None) == (self.angle_deg is None), "angle_deg", together)
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
        check_name(self)
        self.require(self.status in (0, 1), "status", "must be 1 (in service) or 0 (out of service)")


@dataclass(frozen=True)
class GeneratorRow(Row):
    """A plant: what the power flow prescribes at its bus, and its dynamic devices.

    control is ``"slack"`` (voltage and angle), ``"pv"`` (power and voltage) or ``"pq"`` (power). Generators
    at one bus share what the power flow leaves open as `Tables.reactive` says; `rating_mva` is by default the
    s_n of their machine or converter. One that is `held` is an end of a DC line: without devices, it becomes
    a load of its power where a case with dynamic data is read.
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
        check_name(self)
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
        check_name(self)
        self.require(self.device.role in RELAY_ROLES, "device", "must be a relay")
        object.__setattr__(self, "device", replace(self.device, name=self.name))


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
    modules
        Names of the modules beside the file that declare components of the user's own.
    reactive
        How generators that hold the voltage of one bus share its reactive power: ``"file"``, as the stored
        `q_mvar` where the case stores a solution, what is left in proportion to `rating_mva`; ``"equal"``; or
        ``"rating"``, in proportion to `rating_mva`.
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
    modules: tuple[str, ...] = ()
    reactive: str = AS_STORED

    @property
    def stored(self) -> bool:
        """Whether the case stores a solution of its power flow: voltages whose angles are not all one."""
        return len({bus.angle_deg for bus in self.buses if bus.v is not None}) > 1

    @property
    def branches(self) -> tuple[BranchRow, ...]:
        """Lines and transformers."""
        return (*self.lines, *self.transformers)
