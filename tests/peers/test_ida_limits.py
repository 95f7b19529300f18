"""The benchmark's IDA keeps to limits that move, from above and from below."""

import numpy as np
import pytest

from tests.integrate.solve.test_moving_limits import capped, exact

pytest.importorskip("sksundae")
pytestmark = pytest.mark.peers

TIMES = np.linspace(0.01, 1.99, 199)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("source", ["high", "copy"])
def test_a_limit_is_met_followed_and_left(source, tolerance):
    from tests.peers.ida import IdaRun

    system = capped(source)
    found = IdaRun(system, (), tolerance).run(2.0, TIMES)
    x, mirror = (found[:, system.index(name)] for name in ("C.x", "C.mirror"))
    # 45 tolerances at most: BDF's errors add up, and no step ends at a corner.
    np.testing.assert_allclose(x, exact(TIMES), rtol=0, atol=100 * tolerance)
    np.testing.assert_allclose(mirror, -x, rtol=0, atol=tolerance)
