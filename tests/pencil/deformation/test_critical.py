"""The end of stability: closed forms, the nonlinear simulation on both sides of it, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Multirate, SingleRate, SlowManifold, critical_step
from psmr.errors import InputError, SchemeError
from psmr.pencil import spectral_radius
from tests.internals import StepJudge, integrate, modes_of
from tests.pencil.oracle import ode


@pytest.fixture(scope="module")
def system(wscc9):
    return psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))


def oscillator(damping, frequency):
    return ode([[0.0, 1.0], [-(frequency**2), -2.0 * damping]])


def test_forward_euler_ends_where_theory_says():
    # |1 + s h| = 1 at h = -2 Re s / |s|^2.
    found = critical_step(oscillator(0.5, 8.0), SingleRate("FEM", 0.01))
    assert found.h == pytest.approx(2.0 * 0.5 / 64.0, rel=2e-6)
    assert found.mode == pytest.approx(-0.5 + 1j * math.sqrt(64.0 - 0.25))
    assert found.way == "oscillating"
    assert found.h < found.unstable <= found.h * (1.0 + 2e-6)


def test_runge_kutta_ends_on_the_negative_axis():
    # R(z) = 1 + z + z^2/2 + z^3/6 + z^4/24 = 1 at z = -2.785293563405282 (Hairer and Wanner, section IV.2).
    found = critical_step(ode([[-100.0]]), SingleRate("RK4", 0.01))
    assert found.h == pytest.approx(0.02785293563405282, rel=2e-6)
    assert found.way == "monotone"


def test_an_a_stable_method_has_no_end():
    found = critical_step(oscillator(0.5, 8.0), SingleRate("TM", 0.01), last=10.0)
    assert math.isinf(found.h)
    assert found.multiplier is None
    assert "stable up to h = 10 s" in str(found)


def test_forward_euler_prediction_near_the_papers_figure(system):
    """Huang and Tzounas, section 4: with FEM prediction and r = 10 no fast step beyond 0.005 s is stable.

    Their data of governors and stabilisers are not published; with ours the figure is 0.0069 s when all
    algebraic variables are fast, and the electromechanical mode at 2 Hz goes first.
    """
    linear = system.linearise()
    split = partitioning.by_participation(linear, 20.0, algebraic="fast")
    found = critical_step(system, Multirate(split, 0.05, 10, predictor="FEM"))
    assert 0.005 < found.h_fast < 0.0075
    assert found.h == pytest.approx(10 * found.h_fast)
    assert found.mode == pytest.approx(-0.805 + 12.846j, rel=1e-3)
    assert spectral_radius(linear, replace(found.scheme, h_slow=found.h)) <= 1.0
    assert spectral_radius(linear, replace(found.scheme, h_slow=found.unstable)) > 1.0


@pytest.mark.parametrize(("factor", "grows"), [(0.97, False), (1.03, True)])
def test_the_simulation_agrees_on_both_sides(system, factor, grows):
    linear = system.linearise()
    split = partitioning.by_participation(linear, 20.0, algebraic="fast")
    found = critical_step(linear, Multirate(split, 0.05, 10, predictor="FEM"))
    modes = modes_of(linear)
    vector = modes.vectors[:, np.abs(modes.s - found.mode).argmin()].real
    kick = 1e-5 * vector / np.abs(vector).max()
    start = (system.x0 + kick[: system.n], system.y0 + kick[system.n :])
    h = factor * found.h
    run = integrate(system, replace(found.scheme, h_slow=h), 250 * h, start=start)
    speed = run.x[:, system.names_x.index("G3.omega")] - run.x[:, system.names_x.index("G2.omega")]
    early, late = np.abs(speed[50:100]).max(), np.abs(speed[200:250]).max()
    assert (late > 1.5 * early) == grows
    assert (late < early) == (not grows)


def test_every_ratio_up_to_176_is_tried_and_then_each_three_per_cent(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    linear = system.linearise()
    scheme = Multirate.from_steps(partitioning.by_participation(linear, delta=20.0), 0.02, 0.005)
    judge = StepJudge(linear, modes_of(linear), scheme, "ratio")
    tried = np.array([judge.upward(1.0, k) for k in range(235)])
    assert tried[:176].tolist() == list(range(1, 177))
    assert tried[-1] >= 1000
    assert (tried[1:] <= np.maximum(tried[:-1] + 1, 1.03 * tried[:-1] + 1)).all()


def test_at_a_given_fast_step_the_ratio_is_searched(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9-ibr.toml"))
    split = partitioning.by_participation(system.linearise(), 20.0)
    scheme = Multirate(split, 0.05, 10, predictor="FEM")
    found = critical_step(system, scheme, vary="ratio", last=0.5)
    assert found.h_fast == pytest.approx(0.005)
    assert found.unstable == pytest.approx(found.h + 0.005)
    assert found.way == "alternating"
    stable = critical_step(system, scheme, vary="ratio", last=0.01)
    assert stable.searched == pytest.approx((0.005, 0.01))
    assert str(stable).endswith("stable up to h_slow = 0.01 s, the largest step tried")


def test_corrections_that_diverge_end_it(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9-ibr.toml"))
    split = partitioning.by_participation(system.linearise(), 20.0)
    found = critical_step(system, Multirate(split, 0.05, 10, predictor="TM", corrections="converge"))
    assert found.diverges
    assert "corrections of a macro step diverge" in str(found)


def test_unstable_system_is_refused_with_its_mode():
    with pytest.raises(InputError, match=r"unstable to begin with: mode 0\.2 ± j7\.997 1/s"):
        critical_step(oscillator(-0.2, 8.0), SingleRate("TM", 0.01))


def test_unstable_at_the_first_step_is_said():
    with pytest.raises(InputError, match=r"unstable at the first step already: mode -1000 1/s"):
        critical_step(ode([[-1000.0]]), SingleRate("FEM", 0.01), first=0.01)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"vary": "delta"}, SchemeError, "vary = 'delta': must be one of 'step', 'ratio'"),
        ({"vary": "ratio"}, SchemeError, "a single-rate scheme has none"),
        ({"last": -1.0}, InputError, "last = -1.0: must be a finite number > 0"),
        ({"first": 2.0}, InputError, "first = 2 s is beyond last = 1 s"),
    ],
)
def test_bad_questions(options, error, message):
    with pytest.raises(error, match=message):
        critical_step(ode([[-1.0]]), SingleRate("FEM", 0.01), **options)


def test_a_mode_that_leaves_beside_a_zero_mode_is_named(system):
    """Runge-Kutta 4 leaves at z = 1, where the common angle of a system has its multiplier.

    The fastest slow states of the slow-manifold scheme are the lags t_2 = 0.05 s of the stabilisers: their
    mode times the step is the end of the real stability interval (Hairer and Wanner, section IV.2).
    """
    linear = system.linearise()
    found = critical_step(system, SlowManifold(partitioning.by_participation(linear, 20.0), 0.01))
    assert found.way == "monotone"
    assert found.mode == pytest.approx(-2.785293563405282 / found.h, rel=1e-5)
    assert found.mode == min(modes_of(linear).s[np.abs(modes_of(linear).s) < 21.0], key=lambda s: s.real)
    assert found.variable.startswith("PSS1.")


@pytest.mark.parametrize("zero", [False, True], ids=["", "beside a zero mode"])
@pytest.mark.parametrize("apart", [0.0, 1e-5])
def test_of_equal_modes_one_is_named_though_another_grows_faster_later(apart, zero):
    """Two lags as of equal devices leave at z = 1; a swing that leaves 0.2 % later grows faster then."""
    lag, swing = -1000.0, complex(-52.06, 1041.0)
    A = np.zeros((4 + zero, 4 + zero))
    A[0, 0], A[1, 1] = lag, lag * (1.0 - apart)
    A[2:4, 2:4] = [[swing.real, swing.imag], [-swing.imag, swing.real]]
    found = critical_step(ode(A.tolist()), SingleRate("RK4", 0.001), last=0.01)
    assert found.h == pytest.approx(2.785293563405282e-3, rel=2e-5)
    assert found.mode == pytest.approx(lag, rel=2e-5)
    assert found.variable in ("x0", "x1")
    assert found.way == "monotone"
