"""The errors of psmr: one small tree.

Every message says what went wrong, where (file and line, device and field, variable, time and iteration),
with which value, and what to try.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class PsmrError(Exception):
    """Base of every error that psmr raises on purpose.

    Attributes
    ----------
    partial
        The points up to a failure in a run, where its caller asked to keep them; otherwise None.
    """

    partial: Any = None


class InputError(PsmrError, ValueError):
    """Something that was handed in is wrong: a name, a value, a file."""


class CaseError(InputError):
    """A case (network, devices, parameters) is wrong or contradicts itself."""


class StudyError(InputError):
    """A study file is wrong or contradicts itself."""


class SchemeError(InputError):
    """A choice of the integration scheme is out of range or does not fit the system."""


class EventError(InputError):
    """An event names something that is not there, or a time outside the run."""


class PowerFlowError(PsmrError):
    """The power flow has no solution, or none was found."""


class InitialisationError(PsmrError):
    """No equilibrium was found, or a device starts outside its limits."""


class SimulationError(PsmrError):
    """A step did not converge or left the finite numbers."""


class SingularError(PsmrError):
    """A matrix that must be regular is singular."""


class PsmrWarning(UserWarning):
    """Something that lets a run go on and that its user must know."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known name closest to `name`, or an empty string."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {matches[0]!r}?" if matches else ""
