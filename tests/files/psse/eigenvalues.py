"""Eigenvalues that PowerSimulationsDynamics.jl publishes of PSS/E's pairs, beside psmr's."""

from __future__ import annotations

import dataclasses
import tomllib

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

import psmr
from tests.files.psse.traces import HERE, TRACES, Trace
from tests.internals import Change, System
from tests.standing import after

Complexes = NDArray[np.complex128]

EIGENVALUES = tomllib.loads((HERE / "eigenvalues.toml").read_text())

# That project drives with a torque where the mechanical input is constant, and divides HYGOV's power by the
# speed.
POWER = ("EXST1, HYGOV", "TGOV1, ESAC1A", "GAST, ESAC1A")
# What the two lists of IEEEST and that of GAST are of: a stabiliser without effect, whose missing blocks
# count as zeros; and, at a start whose power is the load limit, the temperature loop in command of the fuel,
# where psmr's derivative is that of the speed governor.
WITHOUT_STABILISER = ("IEEEST, SEXS", "IEEEST with filter")
TEMPERATURE = "GAST, ESAC1A"

LISTED: tuple[Trace, ...] = tuple(trace for trace in TRACES if trace.name in EIGENVALUES)


def both(trace: Trace) -> tuple[Complexes, Complexes]:
    """Return psmr's eigenvalues and the published ones of a pair, in 1/s."""
    given = dict(trace.given) | {"mechanical": "power" if trace.name in POWER else "torque"}
    theirs = np.array([complex(*pair) for pair in EIGENVALUES[trace.name]])
    system = psmr.build(dataclasses.replace(trace, given=given).case(HERE))
    if trace.name in WITHOUT_STABILISER:
        system = _changed(system, (("PSS102", "k_s", 0.0),))
        theirs = theirs[theirs != 0]
    if trace.name == TEMPERATURE:
        system = _changed(system, inputs=(("GOV102.p_ref", 1.1),))
    return np.linalg.eigvals(system.linearise().state_matrix()), theirs


def apart(ours: Complexes, theirs: Complexes) -> float:
    """Return the largest relative distance of the pairs that fit best."""
    distance = np.abs(ours[:, None] - theirs)
    i, j = linear_sum_assignment(distance)
    return float((distance[i, j] / np.abs(theirs[j])).max())


def _changed(
    system: System,
    parameters: tuple[tuple[str, str, float], ...] = (),
    inputs: tuple[tuple[str, float], ...] = (),
) -> System:
    """Return a system with other parameters or held inputs, at the same point."""
    return after(system, [Change(0.0, parameters, inputs)], 0.0)
