"""What was found at the start of a case: problems, notes, and the values of everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from psmr.dae.system.system import System
from psmr.network.case.case import Case
from psmr.network.powerflow.powerflow import PowerFlow

if TYPE_CHECKING:
    import pandas as pd

ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass(frozen=True)
class Finding:
    """A problem, or a note.

    Attributes
    ----------
    level
        ``"error"``: the case cannot be simulated from this start. ``"warning"``: it can, and its user should
        know. ``"note"``: no problem, but what a run does not simulate.
    topic
        What it is about: ``"data"``, ``"power flow"``, ``"voltage"``, ``"reactive power"``, ``"rating"``,
        ``"load"``, ``"devices"``, ``"equilibrium"``, ``"limit"``, ``"residual"``, ``"control"``.
    name
        Name of the bus, generator, load or device.
    message
        What, where, by how much, and what to try.
    size
        By how much, to order the findings of one topic.
    """

    level: str
    topic: str
    name: str
    message: str
    size: float = 0.0


@dataclass(frozen=True)
class Modes:
    """The modes at the start, as information.

    Attributes
    ----------
    unstable
        Eigenvalues with a positive real part.
    looked_at
        How many eigenvalues were computed, of how many states.
    words
        Which, in words.
    """

    unstable: int
    looked_at: int
    words: str


@dataclass(frozen=True, eq=False)
class Found:
    """What was found at the start of a case.

    Attributes
    ----------
    case
        The case.
    flow
        Its power flow; None where it has no solution.
    islands
        Number of islands.
    findings
        Problems and notes, errors first.
    variables
        A row per state, algebraic variable, set-point and limiter input of the devices: ``device``,
        ``model``, ``variable``, ``kind``, ``value``, ``unit``, ``residual``, ``lower``, ``upper`` and
        ``limit`` (``"at"``, ``"near"``, ``"outside"`` and the limit's name).
    system
        The system at its equilibrium; None where it has none.
    modes
        Its modes; None where they were not looked at.
    """

    case: Case
    flow: PowerFlow | None
    islands: int
    findings: tuple[Finding, ...]
    variables: pd.DataFrame = field(repr=False)
    system: System | None = None
    modes: Modes | None = None

    @property
    def good(self) -> bool:
        """Whether the case can be simulated from this start."""
        return not any(finding.level == ERROR for finding in self.findings)

    def about(self, *topics: str) -> tuple[Finding, ...]:
        """Return the findings on some topics."""
        return tuple(finding for finding in self.findings if finding.topic in topics)


def ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings with errors first, notes last, topics as they came, the largest first."""
    topics = list(dict.fromkeys(finding.topic for finding in findings))
    levels = (ERROR, WARNING, NOTE)
    return tuple(sorted(findings, key=lambda f: (levels.index(f.level), topics.index(f.topic), -f.size)))
