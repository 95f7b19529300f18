"""The operators of the singular-perturbation schemes, against the step and against nonlinear ringdowns."""

import dataclasses

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Adaptive, ArcLength, Smes, critical_step, fit_mode
from psmr.errors import SchemeError
from psmr.pencil import spectral_radius
from tests.internals import BASES, NODES, ONE_STEP, integrate, linear_system, modes_of, stability_polynomial
from tests.internals import smes_amplification as amplification
from tests.pencil.oracle import partition, random_dae


def stepped(linear, scheme, steps=3):
    """The operator that the simulator's own steps show: every state once at 1; (n + m, n)."""
    system = linear_system(linear)
    columns = []
    for start in np.eye(linear.n):
        run = integrate(system, scheme, steps * scheme.step, start=(start, np.zeros(linear.m)))
        columns.append(np.column_stack([run.x, run.y]))
    return np.stack(columns, axis=-1)  # (steps + 1, n + m, n)


@pytest.mark.parametrize("jacobian", ["step", "kept"])
@pytest.mark.parametrize("fast", [[0, 1], [1], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5]])
@pytest.mark.parametrize("seed", range(3))
def test_closed_form_equals_the_step(seed, fast, jacobian):
    linear = random_dae(seed)
    scheme = psmr.SlowManifold(partition(linear, fast, []), 0.02, jacobian=jacobian)
    T = psmr.step_operator(linear, scheme)
    points = stepped(linear, scheme)
    for k in range(3):
        assert np.abs(T @ points[k] - points[k + 1]).max() < 1e-12


def test_algebraic_variables_are_solved_and_not_remembered():
    linear = random_dae(0)
    T = psmr.step_operator(linear, psmr.SlowManifold(partition(linear, [0, 1], []), 0.02))
    assert not T[:, linear.n :].any()
    assert np.abs(linear.gx @ T[: linear.n] + linear.gy @ T[linear.n :]).max() < 1e-12


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("delta", "micro"), [(0.004, 1), (0.004, 2), (0.0005, 3)])
@pytest.mark.parametrize("nodes", NODES)
def test_smes_closed_form_equals_the_step(base, delta, micro, nodes):
    linear = random_dae(1)
    scheme = Smes(0.04, delta, micro, base, nodes=nodes)
    T = psmr.step_operator(linear, scheme)
    points = stepped(linear, scheme)
    for k in range(3):
        assert np.abs(T @ points[k] - points[k + 1]).max() < 1e-12
    # On one mode it is the factor that the search for stable numbers of micro steps looks at.
    z = np.linalg.eigvals(T)
    z = z[np.argsort(-np.abs(z))[: linear.n]]  # the others are zero: y(t) is read, but not remembered
    factors = amplification(np.linalg.eigvals(linear.state_matrix()), 0.04, delta, micro, base, nodes)
    assert np.abs(np.sort_complex(z) - np.sort_complex(factors)).max() < 1e-10


def test_smes_on_forward_euler_is_condition_14():
    linear = random_dae(2)
    A, identity = linear.state_matrix(), np.eye(linear.n)
    T = psmr.step_operator(linear, Smes(0.04, 0.002, 5))
    expected = (identity + (0.04 - 5 * 0.002) * A) @ np.linalg.matrix_power(identity + 0.002 * A, 5)
    # On consistent values y(t) follows from x(t).
    follow = -np.linalg.solve(linear.gy.toarray(), linear.gx.toarray())
    assert np.abs(T[: linear.n, : linear.n] + T[: linear.n, linear.n :] @ follow - expected).max() < 1e-12


@pytest.mark.parametrize("method", ONE_STEP)
def test_along_the_arc_an_equilibrium_has_the_base_methods_operator(method):
    linear = random_dae(0)
    system = linear_system(linear)
    # Weights 0: the arc is time; the step is h / w_t.
    scheme = ArcLength(method, 0.04, weights=0.0, weight_t=2.0)
    T = psmr.step_operator(linear, scheme)
    for start in np.eye(linear.n):
        run = integrate(
            system, scheme, 0.05, start=(start, np.zeros(linear.m))
        )  # two steps and a shortened one
        points = np.column_stack([run.x, run.y])[:3]
        assert np.allclose(run.t[:3], 0.02 * np.arange(3), atol=1e-12)
        assert np.abs(points[:-1] @ T.T - points[1:]).max() < 1e-12
    if method != "RK2":
        z = np.linalg.eigvals(T[: linear.n, : linear.n])
        base = spectral_radius(linear, psmr.SingleRate(method, 0.02))
        assert np.abs(z).max() == pytest.approx(base, rel=1e-10)


def test_the_report_along_the_arc_says_that_it_is_the_base_methods():
    linear = random_dae(0)
    report = psmr.deformation(linear, ArcLength("RK4", 0.02, weight_t=2.0))
    assert report.step == 0.01
    assert any("its base method, RK4 with a step of 0.01 s" in words for words in report.warnings)
    base = psmr.deformation(linear, psmr.SingleRate("RK4", 0.01))
    a, b = (r.table["relative_deformation"].to_numpy() for r in (report, base))
    assert np.allclose(a, b, rtol=1e-6, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("scheme", [Adaptive("RK54"), ArcLength(Adaptive("Adams"), 0.1)])
def test_a_method_that_chooses_its_steps_has_no_operator(scheme):
    with pytest.raises(SchemeError, match="chooses its own steps has no step operator"):
        psmr.deformation(random_dae(0), scheme)


@pytest.mark.parametrize(("method", "order"), [("FEM", 1), ("RK2", 2), ("RK4", 4)])
def test_stability_polynomial(method, order):
    z = np.array([-1.3 + 0.4j])
    expected = sum(z**k / float(np.prod(np.arange(1, k + 1))) for k in range(order + 1))
    assert stability_polynomial(np.diag(z), method)[0, 0] == pytest.approx(expected[0])


def test_implicit_methods_have_no_polynomial():
    with pytest.raises(SchemeError, match="TM is not an explicit method"):
        stability_polynomial(np.zeros((1, 1)), "TM")


def test_report_and_refusal_on_a_power_system(wscc9):
    linear = psmr.build(psmr.read_case(wscc9 / "wscc9.toml")).linearise()
    split = partitioning.by_participation(linear, delta=100.0)
    report = psmr.deformation(linear, psmr.SlowManifold(split, 0.05))
    assert report.stable
    # The rest of the fast states is exact to their time constant, so RK4's error remains: (|s| h)^4 / 120 to
    # the mode.
    s = complex(report.dominant["real"], report.dominant["imag"])
    assert report.dominant["relative_deformation"] == pytest.approx(abs(s * 0.05) ** 4 / 120, rel=0.05)
    # Runge-Kutta 4 on the slow states ends at 2.785 / 20 s.
    assert not psmr.deformation(linear, psmr.SlowManifold(split, 0.2)).stable
    with pytest.raises(SchemeError, match="pure integrator"):
        psmr.deformation(linear, psmr.SlowManifold(partitioning.all_fast(linear), 0.05))


def manifold_scheme(delta):
    return lambda linear: psmr.SlowManifold(partitioning.by_participation(linear, delta=delta), 0.02)


SCHEMES = {
    "slow manifold, transducers fast": ("wscc9", manifold_scheme(100.0)),
    "slow manifold, exciters fast": ("wscc9", manifold_scheme(8.0)),
    "slow manifold, converters": ("wscc9-ibr", manifold_scheme(40.0)),
    "smes on Euler": ("wscc9", lambda linear: Smes.for_system(linear, 0.005)),
    "smes on RK4": ("wscc9", lambda linear: Smes.for_system(linear, 0.02, base="RK4")),
    # 0.05 of the speed error of a swing of 1e-3 is no length beside w_t dt: the arc is time to 1e-9.
    "arc length": ("wscc9", lambda linear: ArcLength("RK4", 0.002, weights=1e-3, newton="dishonest")),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_operator_predicts_the_nonlinear_ringdown(wscc9, name):
    # The bar is 1e-5, as for the other schemes.
    case, make = SCHEMES[name]
    system = psmr.build(psmr.read_case(wscc9 / f"{case}.toml"))
    linear = system.linearise()
    scheme = make(linear)
    report = psmr.deformation(linear, scheme)
    expected = complex(report.dominant["real_numerical"], report.dominant["imag_numerical"])
    mode = modes_of(linear)
    k = int(np.abs(mode.s - complex(report.dominant["real"], report.dominant["imag"])).argmin())
    kick = np.real(mode.vectors[: linear.n, k])
    run = integrate(system, scheme, 8.0, start=(system.x0 + 1e-3 * kick / np.abs(kick).max(), system.y0))
    speeds = [system.index(f"G{i}.omega") for i in (1, 2)]
    every = max(1, round(0.02 / report.step))  # rows; the fit needs the swing, not the step
    shown = fit_mode(run.t[::every], (run.x[:, speeds[0]] - run.x[:, speeds[1]])[::every], near=expected)
    assert abs(shown - expected) < 1e-5 * abs(expected)


def test_critical_step_of_each_family(wscc9):
    linear = psmr.build(psmr.read_case(wscc9 / "wscc9.toml")).linearise()
    split = partitioning.by_participation(linear, delta=100.0)
    # Runge-Kutta 4 on the slow states, of which the fastest is at -20 1/s: 2.785294 / 20.
    end = critical_step(linear, psmr.SlowManifold(split, 0.05))
    assert end.h == pytest.approx(2.785294 / 20.0, rel=2e-3)
    assert end.way == "monotone"  # R4 = 1 on the negative real axis
    assert "stable up to h =" in str(end)
    # Along the arc it is that of the base method: 2.785294 / 1000 of Runge-Kutta 4 with the transducers at
    # -1000 1/s.
    arc, base = ArcLength("RK4", 0.002, weight_t=3.0), psmr.SingleRate("RK4", 0.001)
    ends = [critical_step(linear, scheme, last=0.01).h for scheme in (arc, base)]
    assert ends == pytest.approx([2.785294e-3] * 2, rel=1e-4)
    # SMES with delta and N kept: just below it is stable, just above it is not.
    smes = Smes.for_system(linear, 0.02)
    end = critical_step(linear, smes)
    assert end.h > 0.02
    assert spectral_radius(linear, dataclasses.replace(smes, h=0.999 * end.h)) <= 1.0
    assert spectral_radius(linear, dataclasses.replace(smes, h=1.001 * end.unstable)) > 1.0


def test_an_adaptive_method_has_no_critical_step():
    with pytest.raises(SchemeError, match="chooses its own steps"):
        critical_step(random_dae(0), Adaptive("RK54"))


def test_a_step_beyond_the_limit_is_warned_of_with_the_limit(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    split = partitioning.by_participation(system.linearise(), delta=100.0)
    words = r"Unstable: .*Runge-Kutta 4 on the slow states is stable up to about h = 0\.139 s.* mode -20"
    with pytest.warns(psmr.errors.PsmrWarning, match=words):
        psmr.simulate(system, psmr.SlowManifold(split, 0.2), 0.2)
