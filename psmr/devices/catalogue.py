"""Which components a case file can name, by their role in a plant."""

from __future__ import annotations

from collections.abc import Mapping

from psmr.dae.declare.component import Component, Parameter, parameters_of
from psmr.devices.converters.filtered import FilteredConverter
from psmr.devices.converters.following import GridFollowingConverter, GridFollowingConverterV
from psmr.devices.converters.forming import GridFormingConverter
from psmr.devices.converters.regfma1 import REGFMA1
from psmr.devices.converters.svc import CSVGN1
from psmr.devices.exciters import (
    AC8B,
    DC4B,
    ESAC1A,
    ESAC6A,
    ESDC1A,
    ESDC2A,
    ESST1A,
    ESST3A,
    ESST4B,
    EXAC1,
    EXAC2,
    EXDC1,
    EXDC2,
    EXPIC1,
    EXST1,
    IEEET1,
    IEEET2,
    IEEEX1,
    SCRX,
    SEXS,
    ExciterType1,
    ExciterType1Direct,
    StaticExciter,
)
from psmr.devices.exciters.compensator import IEEEVC
from psmr.devices.governors import (
    DEGOV,
    DEGOV1,
    GAST,
    GGOV1,
    HYGOV,
    IEEEG1,
    IEEEG1CC,
    IEEEG3,
    IEESGO,
    TGOV1,
    WSIEG1,
    GovernorLeadLag,
)
from psmr.devices.loads.cages import CIM5, CIM6
from psmr.devices.loads.characteristic import FrequencyCharacteristic, LoadCharacteristic
from psmr.devices.loads.composite.cmld import CMLD
from psmr.devices.loads.exponential import ExponentialLoad
from psmr.devices.loads.motors import InductionMotor
from psmr.devices.loads.zip import StaticLoad, ZipLoad
from psmr.devices.machines import (
    GENROE,
    GENROU,
    GENSAE,
    GENSAL,
    ClassicalMachine,
    InfiniteBus,
    TwoAxisMachine,
)
from psmr.devices.network import (
    Bus,
    Line,
    MonitoredLine,
    MonitoredTransformer,
    Shunt,
    Transformer,
)
from psmr.devices.protection import (
    FrequencyTrip,
    Relay,
    UnderFrequencyShedding,
    UnderVoltageShedding,
    VoltageTrip,
)
from psmr.devices.renewables import DERA1, REECA1, REECB1, REECD1, REGCA1, REGCB1, REPCA1
from psmr.devices.stabilisers import (
    IEE2ST,
    IEEEST,
    PSS2A,
    PSS2B,
    ST2CUT,
    STAB1,
    STAB2A,
    PssSpeed,
)

ROLES: Mapping[str, tuple[type[Component], ...]] = {
    "machine": (ClassicalMachine, TwoAxisMachine, GENROU, GENSAL, GENROE, GENSAE, InfiniteBus),
    "converter": (
        GridFollowingConverter,
        GridFollowingConverterV,
        GridFormingConverter,
        FilteredConverter,
        REGCA1,
        CSVGN1,
        DERA1,
        REGCB1,
        REGFMA1,
    ),
    "exciter": (
        *(ExciterType1, ExciterType1Direct, SEXS, IEEET1, IEEEX1, EXDC2, ESDC2A),
        *(EXST1, StaticExciter, ESST3A, ESST4B, EXAC1, AC8B),
        *(EXDC1, ESDC1A, IEEET2, DC4B, ESAC1A, EXAC2, ESAC6A, ESST1A, SCRX, EXPIC1),
    ),
    "compensator": (IEEEVC,),
    "governor": (
        *(GovernorLeadLag, TGOV1, IEEEG1, HYGOV, GAST, IEESGO),
        *(GGOV1, WSIEG1, IEEEG3, DEGOV, DEGOV1, IEEEG1CC),
    ),
    "stabiliser": (PssSpeed, IEEEST, ST2CUT, IEE2ST, PSS2A, PSS2B, STAB1, STAB2A),
    "electrical_control": (REECA1, REECB1, REECD1),
    "plant_control": (REPCA1,),
}
"""Components by role. A generator has a machine or a converter, and at most one device of each role."""

MOTORS: tuple[type[Component], ...] = (InductionMotor, CIM5, CIM6)
"""Loads that are devices of their own: they have no P and Q that a trip scales."""

LOAD_ROLES: Mapping[str, tuple[type[Component], ...]] = {
    "motor": MOTORS,
    "composite": (CMLD,),
    "characteristic": (LoadCharacteristic, FrequencyCharacteristic),
}
"""Components of loads with parameters of their own, by role."""

SOURCES = ("machine", "converter")
"""Roles of the devices that inject the generator's current."""

SHEDDING: tuple[type[Relay], ...] = (UnderFrequencyShedding, UnderVoltageShedding)
"""Relays that act on a load."""

TRIPPING: tuple[type[Relay], ...] = (FrequencyTrip, VoltageTrip)
"""Relays that act on a generator or a motor."""

RELAY_ROLES: Mapping[str, tuple[type[Component], ...]] = {"relay": (*SHEDDING, *TRIPPING)}
"""Components of the table of relays."""

HOLDING_VOLTAGE = (GridFollowingConverterV,)
"""Converters whose integrators hold the voltage of their bus: two of them there share no reactive power."""

FOLLOWERS: tuple[type[Component], ...] = (
    GridFollowingConverter,
    GridFollowingConverterV,
    FilteredConverter,
    REGCA1,
    CSVGN1,
    DERA1,
    REGCB1,
)
"""Converters that follow the voltage at their bus: something else has to hold the island that they are in."""

FORMERS: tuple[type[Component], ...] = (GridFormingConverter, REGFMA1)
"""Converters that form the voltage at their bus, with a state `theta` that is its angle."""

PREFIXES: Mapping[str, str] = {
    "compensator": "VC",
    **{"exciter": "AVR", "governor": "GOV", "stabiliser": "PSS"},
    **{"electrical_control": "EC", "plant_control": "PPC"},
}
"""How devices are called where the case gives no name: the exciter of G1 is AVR1."""

LOADS: tuple[type[StaticLoad], ...] = (ZipLoad, ExponentialLoad)
"""Static loads: a load trip scales their parameters p and q."""

NETWORK: tuple[type[Component], ...] = (
    *(Bus, Line, Transformer, MonitoredLine, MonitoredTransformer, Shunt),
    *LOADS,
)
"""Components that the tables of a case stand for."""

FROM_CASE = (
    *("s_base", "f_n", "v_0", "p_0", "q_0", "mechanical_power"),
    *("p", "q", "p_rate", "q_rate", "t_ramp", "shed"),
)
"""Parameters from the head of the case, its power flow at the device's terminals, and the power of a load."""


def components() -> tuple[type[Component], ...]:
    """Return every component of the library."""
    roles = (*LOAD_ROLES.values(), *ROLES.values(), *RELAY_ROLES.values())
    return (*NETWORK, *(component for kinds in roles for component in kinds))


def component_named(role: str, name: str) -> type[Component]:
    """Return the component of a device of a plant or load, or of a relay."""
    kinds = {**ROLES, **LOAD_ROLES, **RELAY_ROLES}[role]
    return next(component for component in kinds if component.__name__ == name)


def defaults(component: type[Component]) -> dict[str, float]:
    """Return the parameters of a component that a case may leave out."""
    return {k: p.default for k, p in role_parameters(component).items() if p.default is not None}


def role_parameters(component: type[Component]) -> dict[str, Parameter]:
    """Return the parameters that a case gives for a plant's device.

    Those that come from the case itself are not among them, nor those that only the device's actions set.
    """
    outside = (*FROM_CASE, *component.memory)
    return {name: value for name, value in parameters_of(component).items() if name not in outside}
