"""Which components a case file can name, by their role in a plant."""

from __future__ import annotations

from collections.abc import Mapping

from psmr.dae.declare.component import Component, Parameter, parameters_of
from psmr.grid.models.converters.following import GridFollowingConverter, GridFollowingConverterV
from psmr.grid.models.converters.forming import GridFormingConverter
from psmr.grid.models.converters.svc import CSVGN1
from psmr.grid.models.exciters import (
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
from psmr.grid.models.governors import (
    DEGOV,
    DEGOV1,
    GAST,
    GGOV1,
    HYGOV,
    IEEEG1,
    IEEEG3,
    IEESGO,
    TGOV1,
    WSIEG1,
    GovernorLeadLag,
)
from psmr.grid.models.loads.exponential import ExponentialLoad
from psmr.grid.models.loads.motors import InductionMotor
from psmr.grid.models.loads.zip import StaticLoad, ZipLoad
from psmr.grid.models.machines import (
    GENROE,
    GENROU,
    GENSAE,
    GENSAL,
    ClassicalMachine,
    InfiniteBus,
    TwoAxisMachine,
)
from psmr.grid.models.network import Bus, Line, Shunt, Transformer
from psmr.grid.models.renewables import DERA1, REECA1, REECB1, REGCA1, REPCA1
from psmr.grid.models.stabilisers import IEEEST, PSS2A, PSS2B, ST2CUT, STAB1, STAB2A, PssSpeed

ROLES: Mapping[str, tuple[type[Component], ...]] = {
    "machine": (ClassicalMachine, TwoAxisMachine, GENROU, GENSAL, GENROE, GENSAE, InfiniteBus),
    "converter": (
        GridFollowingConverter,
        GridFollowingConverterV,
        GridFormingConverter,
        REGCA1,
        CSVGN1,
        DERA1,
    ),
    "exciter": (
        *(ExciterType1, ExciterType1Direct, SEXS, IEEET1, IEEEX1, EXDC2, ESDC2A),
        *(EXST1, StaticExciter, ESST3A, ESST4B, EXAC1, AC8B),
        *(EXDC1, ESDC1A, IEEET2, DC4B, ESAC1A, EXAC2, ESAC6A, ESST1A, SCRX, EXPIC1),
    ),
    "governor": (
        *(GovernorLeadLag, TGOV1, IEEEG1, HYGOV, GAST, IEESGO),
        *(GGOV1, WSIEG1, IEEEG3, DEGOV, DEGOV1),
    ),
    "stabiliser": (PssSpeed, IEEEST, ST2CUT, PSS2A, PSS2B, STAB1, STAB2A),
    "electrical_control": (REECA1, REECB1),
    "plant_control": (REPCA1,),
}
"""Components by role. A generator has a machine or a converter, and at most one device of each role."""

LOAD_ROLES: Mapping[str, tuple[type[Component], ...]] = {"motor": (InductionMotor,)}
"""Components of loads with states of their own, by role."""

SOURCES = ("machine", "converter")
"""Roles of the devices that inject the generator's current."""

HOLDING_VOLTAGE = (GridFollowingConverterV,)
"""Converters whose integrators hold the voltage of their bus: two of them there share no reactive power."""

FOLLOWERS: tuple[type[Component], ...] = (
    GridFollowingConverter,
    GridFollowingConverterV,
    REGCA1,
    CSVGN1,
    DERA1,
)
"""Converters that follow the voltage at their bus: something else has to hold the island that they are in."""

PREFIXES: Mapping[str, str] = {
    **{"exciter": "AVR", "governor": "GOV", "stabiliser": "PSS"},
    **{"electrical_control": "EC", "plant_control": "PPC"},
}
"""How devices are called where the case gives no name: the exciter of G1 is AVR1."""

LOADS: tuple[type[StaticLoad], ...] = (ZipLoad, ExponentialLoad)
"""Static loads: a load trip scales their parameters p and q."""

NETWORK: tuple[type[Component], ...] = (Bus, Line, Transformer, Shunt, *LOADS)
"""Components that the tables of a case stand for."""

FROM_CASE = ("s_base", "f_n", "v_0", "q_0", "mechanical_power")
"""Parameters that come from the head of the case, and from its power flow at the plant's terminals."""


def components() -> tuple[type[Component], ...]:
    """Return every component of the library."""
    roles = (*LOAD_ROLES.values(), *ROLES.values())
    return (*NETWORK, *(component for kinds in roles for component in kinds))


def component_named(role: str, name: str) -> type[Component]:
    """Return the component of a device of a plant or load."""
    kinds = {**ROLES, **LOAD_ROLES}[role]
    return next(component for component in kinds if component.__name__ == name)


def defaults(component: type[Component]) -> dict[str, float]:
    """Return the parameters of a component that a case may leave out."""
    return {k: p.default for k, p in role_parameters(component).items() if p.default is not None}


def role_parameters(component: type[Component]) -> dict[str, Parameter]:
    """Return the parameters that a case gives for a plant's device, without those of the case itself."""
    return {name: value for name, value in parameters_of(component).items() if name not in FROM_CASE}
