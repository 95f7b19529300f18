"""Algebraic equations after an event, from values that are far from their solution."""

import dataclasses

import numpy as np
import pytest

import psmr
from psmr.errors import SimulationError
from psmr.numerics.balance import consistent
from psmr.numerics.march import march
from psmr.numerics.scheme import SingleRate


def test_clearing_begins_again_from_the_undisturbed_system(wscc9):
    """Constant powers: from the voltages of the fault Newton finds nothing, from those before it it does."""
    case = psmr.read_case(wscc9 / "wscc9.toml")
    power = {"p_zip": (0.0, 0.0, 1.0), "q_zip": (0.0, 0.0, 1.0), "v_min": 0.3}
    loads = tuple(dataclasses.replace(row, **power) for row in case.loads)
    system = psmr.build(dataclasses.replace(case, loads=loads))
    changes = psmr.Fault(bus=5, start=1.0, clear=1.1, x=0.05).changes(system)
    run = march(system, SingleRate("TM", 5e-3), 1.1, changes)
    before, after = np.flatnonzero(np.isclose(run.t, 1.1))
    with pytest.raises(SimulationError, match="no solution near the last values"):
        consistent(system, run.x[before], run.y[before])
    np.testing.assert_allclose(run.y[after], consistent(system, run.x[after], system.y0), atol=1e-12)
