"""IDA driven from C keeps to limits that move, and says what it is built from where that is missing."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.integrate.solve.test_moving_limits import capped, exact
from tests.programs.benchmarks.against_ida.build import MissingSundialsError, load
from tests.programs.benchmarks.against_ida.compiled_ida import Options, run

TIMES = np.linspace(0.01, 1.99, 199)


@pytest.fixture
def prefix():
    """Return where SUNDIALS is: below the folder that SUNDIALS_ROOT names, or None for the system's."""
    root = os.environ.get("SUNDIALS_ROOT")
    found = None if root is None else Path(root)
    try:
        load(found)
    except MissingSundialsError as error:
        pytest.skip(str(error).splitlines()[0])
    return found


@pytest.mark.parametrize("source", ["high", "copy"])
@pytest.mark.peers
def test_a_limit_is_met_followed_and_left(prefix, source):
    system = capped(source)
    found = run(system, (), Options(1e-6), 2.0, TIMES, prefix).values
    x, mirror = (found[:, system.index(name)] for name in ("C.x", "C.mirror"))
    np.testing.assert_allclose(x, exact(TIMES), rtol=0, atol=1e-4)
    np.testing.assert_allclose(mirror, -x, rtol=0, atol=1e-6)


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(MissingSundialsError, match=r"There is no .*ida\.h") as caught:
        load(tmp_path)
    assert "libsundials-dev" in str(caught.value)
    assert "--sundials PREFIX" in str(caught.value)
