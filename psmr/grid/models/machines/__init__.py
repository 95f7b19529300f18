"""Synchronous machines, from the classical model to the standard library's."""

from psmr.grid.models.machines.genrou import GENROU
from psmr.grid.models.machines.gensal import GENSAL
from psmr.grid.models.machines.textbook import F_N, S_BASE, S_N, ClassicalMachine, TwoAxisMachine, swing

__all__ = ["F_N", "GENROU", "GENSAL", "S_BASE", "S_N", "ClassicalMachine", "TwoAxisMachine", "swing"]
