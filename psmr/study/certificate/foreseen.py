"""Whether the pencil foresees that a run fails: a multiplier of its step that grows from the start."""

from __future__ import annotations

import math

import numpy as np

from psmr.base.errors import PsmrError
from psmr.dae.system.system import System
from psmr.integrate.schemes.multirate_program import SCHUR
from psmr.pencil.operator.step_map import fastest_growing, step_map
from psmr.study.certificate.certificate import Certificate, Scheme


def foreseen(system: System, scheme: Scheme, certificate: Certificate | None) -> str:
    """Return a sentence on an instability of the scheme before any event, "" where none is found.

    Without a verdict, as beyond 2,000 variables, the multiplier of largest magnitude is looked for.
    """
    if certificate is not None and certificate.stability is not None:
        words = f"The pencil said before the run: {certificate.verdict}" if certificate.blames_scheme else ""
    else:
        words = _largest(system, scheme)
    if not words:
        return ""
    remedies = "take a smaller step"
    if getattr(scheme, "split", None) is not None:
        remedies += ", another partition"
    if getattr(scheme, "interface", SCHUR) != SCHUR:
        remedies += f", or predictor='extrapolation' with predict='slow' and interface='{SCHUR}'"
    return f" {words} Remedy: {remedies}"


def _largest(system: System, scheme: Scheme) -> str:
    h = scheme.operator_step
    if math.isnan(h) or not system.n:
        return ""
    linear = system.linearise()
    try:
        step = step_map(linear, scheme)
    except PsmrError:  # the run has failed already, and says of what
        return ""
    found = fastest_growing(step)
    if found is None:
        return ""
    z, vector = found
    names = linear.names_x + linear.names_y
    where = names[int(np.argmax(np.abs(vector[: step.size])))]
    return (
        f"Before any event the scheme's step already has a multiplier of magnitude {abs(z):.3g}, mostly in "
        f"{where}, for each {h:g} s."
    )
