"""Synchronous machines, from the classical model to the standard library's."""

from psmr.devices.machines.psse import GENROE, GENROU, GENSAE, GENSAL
from psmr.devices.machines.round_rotor import GENTPJ1
from psmr.devices.machines.textbook import (
    F_N,
    S_BASE,
    S_N,
    ClassicalMachine,
    InfiniteBus,
    TwoAxisMachine,
    swing,
)

__all__ = [
    "F_N",
    "GENROE",
    "GENROU",
    "GENSAE",
    "GENSAL",
    "GENTPJ1",
    "S_BASE",
    "S_N",
    "ClassicalMachine",
    "InfiniteBus",
    "TwoAxisMachine",
    "swing",
]
