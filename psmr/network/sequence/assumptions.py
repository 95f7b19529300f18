"""What is assumed of a system whose sequence data are not complete."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from psmr.base.errors import PsmrWarning, few
from psmr.dae.system.system import System
from psmr.network.sequence.impedances import NEGATIVE, ZERO, Impedances

FEW = 8
"""Devices that a message names one by one."""


def warn_of_assumptions(system: System) -> None:
    """Warn of each usual ratio that is taken in place of sequence data, with the devices."""
    impedances = Impedances(system)
    for sequence in (NEGATIVE, ZERO):
        for _ in impedances.elements(sequence, ()):
            pass
    if impedances.assumed:
        warnings.warn(assumed_words(impedances.assumed), PsmrWarning, stacklevel=2)


def assumed_words(assumed: Mapping[str, list[str]]) -> str:
    """Return the sentence on ratios that are taken in place of data, with the devices of each."""
    parts = [f"{words} ({few(names, FEW)})" for words, names in assumed.items()]
    return (
        "unbalanced faults need sequence data that the case does not have; assumed are "
        f"{'; '.join(parts)}; give them as [[sequence]] or in a SEQ file"
    )
