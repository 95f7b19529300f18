"""Whether the equations of a system read the time, and what a linearisation makes of it."""

from __future__ import annotations

from psmr.dae.system.system import System
from psmr.integrate.run.changes import autonomous

HELD = "with the time held"
"""What `System.linearise` does with the time, in words."""


def reads_time(system: System) -> bool:
    """Return whether an equation reads the time, so that there is no equilibrium."""
    return not autonomous(system, system.parameters)
