"""Synchronous machines, from the classical model to the standard library's."""

from psmr.grid.models.machines.genroe import GENROE
from psmr.grid.models.machines.genrou import GENROU
from psmr.grid.models.machines.gensae import GENSAE
from psmr.grid.models.machines.gensal import GENSAL
from psmr.grid.models.machines.infinite import InfiniteBus
from psmr.grid.models.machines.textbook import F_N, S_BASE, S_N, ClassicalMachine, TwoAxisMachine, swing

__all__ = [
    "F_N",
    "GENROE",
    "GENROU",
    "GENSAE",
    "GENSAL",
    "S_BASE",
    "S_N",
    "ClassicalMachine",
    "InfiniteBus",
    "TwoAxisMachine",
    "swing",
]
