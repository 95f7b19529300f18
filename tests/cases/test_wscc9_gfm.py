"""The fault study with grid-forming converter, motor and exponential load: modes, SUNDIALS, multirate."""

from dataclasses import replace

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Multirate, SingleRate, modes
from tests.cases.test_wscc9_fault import changed
from tests.internals import consistent, integrate
from tests.sundials import solver


@pytest.fixture(scope="module")
def case():
    from tests.conftest import ROOT

    return psmr.read_case(ROOT / "cases" / "wscc9" / "wscc9-gfm.toml")


@pytest.fixture(scope="module")
def system(case):
    return psmr.build(case)


@pytest.fixture(scope="module")
def changes(system):
    return psmr.Fault(bus=5, start=0.1, clear=0.2, trip="5-7").changes(system)


@pytest.mark.parametrize("out", [(), ("line5-7",)], ids=["whole", "line 5-7 out"])
def test_every_mode_is_damped(case, out):
    case = replace(case, lines=tuple(replace(row, status=int(row.name not in out)) for row in case.lines))
    table = modes(psmr.build(case).linearise())
    values = (table.real + 1j * table.imag).to_numpy()
    # The angle that all share.
    assert np.abs(values).min() < 1e-6
    assert values[np.abs(values) > 1e-6].real.max() < -0.05
    # The filter of the converter.
    assert 4000 < values.imag.max() < 6000


GROUPS = {"speed": ("G1.omega", "G2.omega"), "slip": ("motor8.slip",), "angle": ("C3.theta",)}


def distances(system, difference):
    """Largest entry of (points, states) differences in each group of states."""
    return {
        what: np.abs(difference[:, [system.names_x.index(name) for name in names]]).max()
        for what, names in GROUPS.items()
    }


def against_sundials(system, changes, ours, t_end):
    """Differences of a run from IDA's solution at the run's points, save the doubled instants."""
    n, size = system.n, system.n + system.m
    now, x, y = system, system.x0, system.y0
    found = []
    for change, end in zip(changes, [*(c.t for c in changes[1:]), t_end], strict=True):
        now = changed(now, change)
        y = consistent(now, x, y)
        rows = np.flatnonzero((ours.t >= change.t) & (ours.t <= end))
        rows = rows[1:] if ours.t[rows[1]] == ours.t[rows[0]] else rows
        rows = rows[:-1] if ours.t[rows[-1]] == ours.t[rows[-2]] else rows
        solution = solver(now).solve(ours.t[rows], np.r_[x, y], np.r_[now.f(x, y), np.zeros(size - n)])
        assert solution.success
        found.append(ours.x[rows] - solution.y[:, :n])
        x, y = solution.y[-1, :n], solution.y[-1, n:]
    return np.concatenate(found)


def test_trajectory_against_sundials(system, changes):
    """TM converges to IDA's solution with order 2, through the current limit and out of it again."""
    steps = (2e-4, 1e-4)
    errors = []
    for h in steps:
        ours = integrate(system, SingleRate("TM", h), 1.0, changes)
        errors.append(distances(system, against_sundials(system, changes, ours, 1.0)))
    # Measured at 0.1 ms: 5.2e-8 pu, 3.3e-7 pu, 6.0e-6 rad.
    assert errors[1]["speed"] < 1e-7
    assert errors[1]["slip"] < 5e-7
    assert errors[1]["angle"] < 1e-5
    for what in GROUPS:
        assert np.log2(errors[0][what] / errors[1][what]) == pytest.approx(2, abs=0.2)


def test_the_current_limit_is_reached(system, changes):
    run = integrate(system, SingleRate("TM", 2e-4), 1.0, changes)
    current = np.hypot(*(run.x[:, system.index(f"C3.{name}")] for name in ("i_d", "i_q")))
    # The current follows its limited reference: some rounding of the corner, no more.
    assert 1.2 < current.max() < 1.21
    assert current[run.t > 0.5].max() < 1.0


def test_multirate_with_fast_inner_loops(system, changes):
    """Inner loops at 0.2 ms and the rest at 2 ms, against all at 0.2 ms."""
    split = partitioning.by_participation(system.linearise(), 100.0)
    fast = {name for name, is_fast in zip(system.names_x, split.fast_x, strict=True) if is_fast}
    inner = {f"C3.{name}" for name in ("i_d", "i_q", "v_cd", "v_cq", "i_od", "i_oq")}
    assert fast == inner | {"AVR1.v_m", "AVR2.v_m"}
    single = integrate(system, SingleRate("TM", 2e-4), 2.0, changes)
    multi = integrate(system, Multirate(split, 2e-3, 10, predictor="TM", solution="TM"), 2.0, changes)
    events = [change.t for change in changes]
    rows = np.array([i for i, t in enumerate(multi.t) if np.abs(np.array(events) - t).min() > 1e-9])
    same = np.searchsorted(single.t, multi.t[rows] - 1e-9)
    assert np.abs(single.t[same] - multi.t[rows]).max() < 1e-9
    found = distances(system, multi.x[rows] - single.x[same])
    # Measured: 1.5e-5 pu, 5.7e-5 pu, 1.3e-3 rad.
    assert found["speed"] < 2e-5
    assert found["slip"] < 8e-5
    assert found["angle"] < 2e-3
