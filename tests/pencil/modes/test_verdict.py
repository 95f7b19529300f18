"""Who is unstable: theorem and estimate agree, both halves of a pair are one, and growth needs a horizon."""

import math

import numpy as np
import pytest

import psmr
from psmr import Multirate, SingleRate, deformation
from tests.internals import (
    EXPLICIT,
    GROWTH,
    TABLEAUX,
    Growth,
    Kind,
    Modes,
    Multipliers,
    OneStepModes,
    Verdict,
    eigen,
    excess_of,
    judge,
    match_of,
    modes_of,
    multipliers_of,
)
from tests.pencil.oracle import ode, partition

A_STABLE = ("TM", "BEM", "SDIRK2", "TR-BDF2", "ESDIRK32", "ESDIRK43")


def block(real, imag):
    return np.array([[real, imag], [-imag, real]])


def joined(*blocks, seed=0):
    """Blocks on the diagonal, in a mixed basis."""
    size = sum(len(b) for b in blocks)
    matrix, at = np.zeros((size, size)), 0
    for b in blocks:
        matrix[at : at + len(b), at : at + len(b)] = b
        at += len(b)
    basis = np.eye(size) + 0.3 * np.random.default_rng(seed).standard_normal((size, size))
    return basis @ matrix @ np.linalg.inv(basis)


def jordan(order, coupling, value=0.0):
    """A Jordan block; the first entry beside its diagonal is another one, as of an angle and a speed."""
    matrix = value * np.eye(order) + np.diag(np.ones(order - 1), 1)
    matrix[0, 1] = coupling
    return matrix


@pytest.mark.parametrize("name", [*TABLEAUX, "RK2", "RK54"])
def test_a_method_knows_whether_it_is_a_stable(name):
    """|R(iy)| <= 1 on the axis and no pole in the left half-plane, which is the theorem's condition."""
    tableau = TABLEAUX.get(name) or EXPLICIT[name]
    y = np.concatenate([[0.0], np.geomspace(1e-3, 1e6, 20_001)])
    on_axis = np.abs(tableau.stability_function(1j * y)).max() <= 1.0 + 1e-12
    assert tableau.a_stable == (on_axis and tableau.gamma > 0.0) == (name in A_STABLE)


@pytest.mark.parametrize("method", A_STABLE)
@pytest.mark.parametrize("h", [1e-3, 0.05, 1.0, 30.0, 300.0])
def test_an_a_stable_method_is_never_blamed_where_nothing_grows(method, h):
    """A double and a triple zero, undamped and damped oscillations, a defective lag, stiff and slow modes."""
    for seed in range(6):
        matrix = joined(
            jordan(2 + seed % 2, 314.16),
            block(0.0, 7.9),
            block(-1e-4, 3.0),
            jordan(2, 1.0, -2.0),
            np.array([[-4e4]]),
            np.array([[-1e-3]]),
            seed=seed,
        )
        report = deformation(ode(matrix), SingleRate(method, h))
        assert report.stability.kind is Kind.STABLE, report.verdict
        assert report.growing == report.hidden == ()
        assert report.spectral_radius == 1.0


def test_zeros_of_a_computed_matrix_are_zeros():
    """Angle and speed of one machine on a load of constant power, whose row of A is rounding alone."""
    for left in (1.1e-16, -3e-17, 0.0):
        found = eigen(np.array([[0.0, 314.16], [left, 0.0]]))
        assert not found.values.any()
    # A row as small as that of a governor with a time constant of 1e4 s is none.
    values = eigen(np.array([[-1e-4, 0.0], [0.0, -3e5]])).values
    assert sorted(values.real) == [-3e5, -1e-4]


@pytest.mark.parametrize("order", [2, 3, 4])
def test_a_defective_cluster_is_not_told_from_the_axis_and_a_growing_mode_is(order):
    """Rounding moves a Jordan block of p by the p-th root of eps: the backward error decides, no constant."""
    rng = np.random.default_rng(order)
    matrix = joined(jordan(order, 300.0), block(2e-6, 5.0), np.diag([-1.0, -3.0]), seed=order)
    noise = 1e-16 * np.linalg.norm(matrix, 2) * rng.standard_normal(matrix.shape) / len(matrix)
    modes = modes_of(ode(matrix + noise))
    grows = modes.s[modes.s.real > modes.error]
    assert sorted(grows.imag) == pytest.approx([-5.0, 5.0], rel=1e-6)
    assert grows.real == pytest.approx(2e-6, rel=0.1)


@pytest.mark.parametrize("h", [0.5, 0.9, 1.0, 1.2, 1.6, 1.7, 2.3])
@pytest.mark.parametrize("scheme", ["single", "multirate"])
def test_a_growing_pair_is_the_system_s_on_either_half_of_the_circle(h, scheme):
    """The multiplier of the upper mode is below the real axis where |Im s| h is between pi and 2 pi."""
    linear = ode(joined(block(0.05, 3.8), np.diag([-40.0, -90.0])))
    chosen = SingleRate("TM", h)
    if scheme == "multirate":
        chosen = Multirate(partition(linear, [0, 1, 2, 3], []), h, 1, "TM", "TM")
    report = deformation(linear, chosen)
    assert report.stability.kind is Kind.SYSTEM
    assert report.stability.blamed is None
    assert report.growing == (pytest.approx(0.05 + 3.8j),)
    assert "damped in the system" not in report.verdict


def test_the_multiplier_of_the_verdict_is_that_of_its_mode():
    s = complex(0.05, 3.8)
    verdict = deformation(ode(joined(block(s.real, s.imag), -np.eye(1))), SingleRate("TM", 0.1)).stability
    assert verdict.shown.mode == pytest.approx(s)
    assert verdict.shown.z == pytest.approx((1 + 0.05 * s) / (1 - 0.05 * s))
    verdict = deformation(ode(joined(block(-0.2, 8.0), -np.eye(1))), SingleRate("FEM", 0.05)).stability
    assert verdict.kind is Kind.SCHEME
    assert verdict.blames_scheme
    assert verdict.stable is False
    assert verdict.shown is None
    assert verdict.blamed.mode == pytest.approx(-0.2 + 8.0j)
    assert verdict.blamed.z == pytest.approx(1.0 + 0.05 * (-0.2 + 8.0j))


def test_an_undamped_mode_that_a_method_makes_grow_is_the_method_s():
    """Forward Euler: |1 + j h w|^2 = 1 + (h w)^2."""
    report = deformation(ode(block(0.0, 8.0)), SingleRate("FEM", 0.01))
    assert report.stability.kind is Kind.SCHEME
    assert "undamped in the system, grows, |z| = 1.00319" in report.verdict


def test_of_two_instabilities_the_method_s_own_is_named():
    """Forward Euler at 10 ms makes a damped mode grow faster than the system's own one."""
    report = deformation(ode(joined(block(0.5, 1.0), block(-0.1, 40.0))), SingleRate("FEM", 0.01))
    verdict = report.stability
    assert verdict.kind is Kind.SCHEME
    assert verdict.blamed.mode == pytest.approx(-0.1 + 40.0j)
    assert verdict.shown.mode == pytest.approx(0.5 + 1.0j)
    assert verdict.growing == (pytest.approx(0.5 + 1.0j),)
    assert verdict.hidden == ()


def test_the_one_that_grows_most_is_named():
    """Forward Euler: |1 + h s|^2 = 1 + 2 h Re s + h^2 |s|^2 grows with |s|."""
    blocks = block(-0.1, 30.0), block(-0.1, 40.0), block(-0.1, 35.0), block(0.5, 2.0), block(0.7, 1.0)
    verdict = deformation(ode(joined(*blocks)), SingleRate("FEM", 0.01)).stability
    assert verdict.blamed.mode == pytest.approx(-0.1 + 40.0j)
    assert verdict.shown.mode == pytest.approx(0.7 + 1.0j)


@pytest.mark.parametrize("partner", [[0, 1], [1, 0], [1, -1], [-1, 0]])
def test_whichever_half_of_a_pair_was_matched(partner):
    """A growing pair: neither multiplier is the scheme's own, also where one half has no partner."""
    s, step = np.array([0.05 + 3.8j, 0.05 - 3.8j]), 1.0
    z, one = (1.0 + 0.5 * s) / (1.0 - 0.5 * s), np.eye(2, dtype=complex)
    modes = Modes(s, one, np.eye(2), np.full(2, 1e-12), 1e-8)
    numerical = Multipliers(z, one, np.eye(2), np.full(2, 1e-12))
    verdict = judge(
        modes, numerical, match_of(s, z, np.array(partner), step), np.abs(z) - 1.0, step, 0.0, ("a", "b")
    )
    assert verdict.kind is Kind.SYSTEM
    assert verdict.blamed is None


def test_modes_that_rounding_cannot_tell_apart_may_change_partners():
    """Two modes within their rounding errors, one of which grows: the multiplier outside is the system's."""
    s, step = np.array([1e-3 + 0.0j, -1e-9 + 0.0j]), 0.1
    z, one = np.array([0.99 + 0.0j, 1.0001 + 0.0j]), np.eye(2, dtype=complex)
    for error, kind in ((6e-4, Kind.SYSTEM), (1e-9, Kind.SCHEME)):
        modes = Modes(s, one, np.eye(2), np.full(2, error), 1e-8)
        numerical = Multipliers(z, one, np.eye(2), np.full(2, 1e-12))
        matched = match_of(s, z, np.array([0, 1]), step)
        assert judge(modes, numerical, matched, np.abs(z) - 1.0, step, 0.0, ("a", "b")).kind is kind


def test_a_cluster_on_the_unit_circle_is_not_told_from_it():
    """Three equal multipliers in a chain scatter by the cubic root of eps, 1e-5; one of 1 + 1e-7 grows."""
    for seed in range(4):
        chain = joined(np.eye(3) + jordan(3, 30.0), np.diag([0.3, 1.0000001, -1.0000001]), seed=seed)
        found = multipliers_of(chain, len(chain))
        excess = np.abs(found.z) - 1.0
        cluster = (np.abs(found.z - 1.0) > 1e-6) & (np.abs(found.z - 1.0) < 0.1)
        assert np.count_nonzero(cluster) == 3
        assert (excess <= found.error)[cluster].all()
        assert np.count_nonzero(excess > found.error) == 2


def test_the_multiplier_of_a_mode_on_the_axis_has_its_error_too():
    """A zero may be off by sqrt(eps) |A|, 1e-4 1/s here, and a mode that decays may not."""
    s, z, one = np.array([0.0, -1.0]) + 0j, np.array([1.00001, 1.00001]) + 0j, np.eye(2, dtype=complex)
    modes = Modes(s, one, np.eye(2), np.zeros(2), 1e-4)
    numerical = Multipliers(z, one, np.eye(2), np.full(2, 1e-12))
    excess = excess_of(modes, numerical, match_of(s, z, np.arange(2), 0.5), 0.5)
    assert excess == pytest.approx([0.0, 1e-5])


def test_the_step_operator_has_the_multipliers_of_the_stability_function():
    """Every multiplier by itself, of a system with algebraic variables; the operator knows no R."""
    linear = psmr.build(psmr.case("wscc9")).linearise()
    for method, h in (("ESDIRK32", 0.05), ("TM", 0.01), ("RK4", 2e-4)):
        scheme = SingleRate(method, h)
        found = deformation(linear, scheme)
        operator = multipliers_of(psmr.step_operator(linear, scheme), linear.n + linear.m)
        for z in found.multipliers[np.isfinite(found.multipliers) & (np.abs(found.multipliers) > 1e-3)]:
            assert np.abs(operator.z - z).min() < 1e-7


@pytest.mark.parametrize(("real", "kind"), [(1e-6, Kind.SCHEME), (1e-4, Kind.SCHEME), (0.05, Kind.SYSTEM)])
def test_a_mode_that_grows_too_little_does_not_excuse_a_scheme(real, kind):
    """Forward Euler: |1 + h s|, with h = 0.01 s and s = 8j, grows by 1.0032^1000, 24 times in 10 s."""
    scheme = SingleRate("FEM", 0.01)
    assert abs(1 + 0.01 * complex(real, 8.0)) ** 1000 > 24.0
    verdict = deformation(ode(block(real, 8.0)), scheme).stability.over(10.0)
    assert verdict.kind is kind
    behind = deformation(ode(joined(block(0.05, 20.0), block(real, 8.0))), scheme).stability.over(10.0)
    assert behind.kind is kind
    # The trapezoidal rule adds nothing to what is a fact.
    assert deformation(ode(block(1e-4, 8.0)), SingleRate("TM", 0.01)).stability.over(10.0).kind is Kind.STABLE


def test_growth_is_over_the_horizon_of_a_run():
    s = complex(0.0199, 3.0)
    verdict = Verdict(0.01, (s, 5e-4), (5e-4 + 0j,), Growth(np.exp(0.01 * s), s))
    whole = verdict.over(1.0)
    assert whole.growing == (s,)
    assert whole.hidden == ()
    assert whole.shown == verdict.shown
    assert whole.kind is Kind.SYSTEM
    assert whole.slight == (("mode 0.0005 1/s of the system", pytest.approx(math.expm1(5e-4))),)
    assert whole.notes == (
        "The system itself is unstable: mode 0.0199 ± j3 1/s.",
        "Grows too little in the 1 s of the run to be judged: mode 0.0005 1/s of the system by 0.05 %.",
    )
    short = verdict.over(0.9)
    assert short.kind is Kind.STABLE
    assert short.growing == short.hidden == ()
    assert short.shown is None
    assert [words for words, _ in short.slight] == [
        "mode 0.0199 ± j3 1/s of the system",
        "mode 0.0005 1/s of the system",
    ]
    assert short.over(2.0) == short
    assert str(short) == "Numerically stable at h = 0.01 s."
    assert verdict.over(math.inf) == verdict


@pytest.mark.parametrize(("t_end", "kind"), [(1.9, Kind.STABLE), (2.1, Kind.SCHEME)])
def test_what_the_scheme_makes_grow_has_the_same_horizon(t_end, kind):
    """|z| = 1.0001 a step of 10 ms: 2 % after 1.98 s, of a spurious mode and of one of the system alike."""
    assert math.log(1.0 + GROWTH) / math.log(1.0001) * 0.01 == pytest.approx(1.98, abs=1e-3)
    for growth in (Growth(-1.0001, None, "G1.omega"), Growth(1.0001j, -0.1 + 3.0j)):
        verdict = Verdict(0.01, blamed=growth).over(t_end)
        assert verdict.kind is kind
        assert bool(verdict.slight) == (kind is Kind.STABLE)
    assert "spurious mode of the scheme (mostly in G1.omega) by" in str(
        Verdict(0.01, blamed=Growth(1.0001, None, "G1.omega")).over(1.0).notes
    )


def test_what_a_verdict_says_by_its_fields():
    s = complex(0.3, 4.0)
    system, scheme = Growth(1.1, s), Growth(1.2j, None, "G1.omega")
    assert Verdict(0.1).kind is Kind.STABLE
    assert Verdict(0.1, shown=system).kind is Kind.SYSTEM
    assert Verdict(0.1, shown=system, blamed=scheme).kind is Kind.SCHEME
    assert Verdict(0.1, shown=system, blamed=scheme, rate=1.0).kind is Kind.UNUSABLE
    assert Verdict(0.1, rate=0.99).stable is True
    assert Verdict(0.1, rate=1.0).blames_scheme
    assert not Verdict(0.1, shown=system).blames_scheme
    held = Verdict(0.1, (s,), (s,), system).with_time_held()
    assert (held.kind, held.stable, held.growing, held.hidden) == (Kind.HELD, None, (), ())
    assert held.over(0.01).kind is Kind.HELD
    assert not held.blames_scheme
    assert Verdict(0.1, blamed=scheme).with_time_held().kind is Kind.SCHEME
    assert Verdict(0.1, (s,), (s,)).with_time_held().kind is Kind.STABLE
    assert str(Verdict(0.1, every=False)) == "No numerical instability found at h = 0.1 s."
    assert str(Verdict(0.1, shown=Growth(None, s))) == (
        "The linearised system is unstable, and the simulation reproduces this: mode 0.3 ± j4 1/s grows."
    )
    assert str(Verdict(0.1, blamed=scheme)) == (
        "Unstable: a spurious mode of the scheme (mostly in G1.omega) grows, |z| = 1.2."
    )
    assert str(Verdict(0.1, blamed=scheme, every=False)) == (
        "Unstable: a multiplier mostly in G1.omega, grows, |z| = 1.2."
    )
    assert str(Verdict(0.1, rate=2.5)).startswith(
        "Unusable: the corrections diverge (error times 2.5 at each)"
    )
    assert Verdict(0.1, (s,), (s,)).notes == (
        "The system itself is unstable: mode 0.3 ± j4 1/s.",
        "The scheme hides this: it damps mode 0.3 ± j4 1/s.",
    )


def test_at_size_an_a_stable_method_shows_what_the_system_does():
    """Two growing modes of which one is chosen: the multiplier of the other one is not the scheme's."""
    linear = ode(joined(block(0.4, 3.0), block(0.3, 9.0), block(-1.0, 5.0)))
    verdict = deformation(linear, SingleRate("TM", 0.05), modes=[0.4 + 3.0j]).stability
    assert verdict.kind is Kind.SYSTEM
    assert verdict.blamed is None
    fem = deformation(ode(joined(block(-0.2, 8.0), -np.eye(2))), SingleRate("FEM", 0.05), modes=[-1.0])
    assert fem.stability.kind is Kind.SCHEME


def test_a_step_of_two_rates_on_zeros_is_not_blamed():
    """A double zero beside fast states: the operator scatters z = 1 by the root of its rounding."""
    linear = ode(joined(jordan(2, 314.16), np.diag([-50.0, -200.0, -1.0]), seed=3))
    for h, ratio in ((0.02, 4), (0.1, 10)):
        report = deformation(linear, Multirate(partition(linear, [2, 3], []), h, ratio, "TM", "TM"))
        assert report.stability.kind is Kind.STABLE
        assert report.spectral_radius == 1.0
    report = deformation(linear, Multirate(partition(linear, [2, 3], []), 1.0, 10, "TM", "TM"))
    assert report.stability.kind is Kind.SCHEME
    assert report.stability.blamed.z == pytest.approx(-1.002374, rel=1e-4)


def test_the_modes_are_found_once_for_any_step():
    modes = OneStepModes.of(ode(joined(block(0.05, 3.8), -np.eye(1))))
    kinds = [modes.deformation(SingleRate("BEM", h)).stability.kind for h in (1e-3, 0.1)]
    assert kinds == [Kind.SYSTEM, Kind.STABLE]


def test_what_cannot_be_told_from_the_axis_is_shown_as_it_was_found():
    """A triple zero beside a mode of 4e7 1/s, by which the solver is off by 4e-8: not said to be damped."""
    rng = np.random.default_rng(3)
    matrix = np.zeros((4, 4))
    matrix[:3, :3] = joined(jordan(3, 300.0), seed=1) + 3e-9 * rng.standard_normal((3, 3))
    matrix[3, 3] = -4e7
    modes = modes_of(ode(matrix))
    found = modes.s[(modes.s.real > 1e-4) & (modes.s.imag > 0.0)]
    assert len(found)  # 300 * 3e-9 to the power of a third
    for method in A_STABLE:
        report = OneStepModes(modes, tuple("abcd")).deformation(SingleRate(method, 1e-3))
        assert report.stability.kind is Kind.STABLE
        assert report.growing == ()
        off = report.columns["relative_deformation"][report.columns["real"] > 1e-4]
        assert off == pytest.approx(0.0, abs=1e-4)
