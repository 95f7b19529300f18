"""A very short line: two terms of its size cancel in the equations of its buses, and rounding stays."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr.errors import InitialisationError
from tests.internals import check_residual, power_flow


@pytest.fixture
def case(wscc9):
    return psmr.read_case(wscc9 / "wscc9.toml")


@pytest.mark.parametrize("x", [1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("k", [3, 5])
def test_a_short_line_builds_and_stays_at_rest(case, x, k):
    lines = list(case.lines)
    lines[k] = replace(lines[k], r=0.0, x=x)
    system = psmr.build(replace(case, lines=tuple(lines)))
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.02), t_end=1.0, certify=False)
    assert np.abs(run.x - system.x0).max() < 1e-8
    ends = [[f"bus{bus}.v_{part}" for part in ("re", "im")] for bus in (lines[k].from_bus, lines[k].to_bus)]
    place = dict(zip(system.names_y, system.y0, strict=True))
    one, other = (complex(*(place[name] for name in end)) for end in ends)
    assert abs(one - other) < 2.0 * x


@pytest.mark.parametrize("x", [5e-7, 2e-7, 1e-7, 3e-8])
def test_the_power_flow_takes_what_rounding_leaves(case, x):
    """Where two powers of 1/x pu cancel, no balance is met to 1e-10 pu."""
    for k in (0, 3):
        lines = list(case.lines)
        lines[k] = replace(lines[k], r=0.0, b=0.0, x=x)
        short = replace(case, lines=tuple(lines))
        flow = power_flow(short)
        assert flow.mismatch < 20 * np.finfo(float).eps / x
        # One bus in place of two: the same voltages to what the line's drop is.
        joined = power_flow(replace(case, lines=tuple(_as(lines, k, 1e-4))))
        assert np.abs(flow.voltage - joined.voltage).max() < 3e-4
        psmr.build(short)


def _as(lines, k, x):
    return [*lines[:k], replace(lines[k], x=x), *lines[k + 1 :]]


def test_a_start_that_is_none_is_still_refused(case):
    lines = list(case.lines)
    lines[3] = replace(lines[3], r=0.0, x=1e-5)
    system = psmr.build(replace(case, lines=tuple(lines)))
    x = system.x0.copy()
    x[system.names_x.index("AVR3.v_m")] += 1e-9
    with pytest.raises(InitialisationError, match="describe one equilibrium"):
        check_residual(system.with_start(x, system.y0))
