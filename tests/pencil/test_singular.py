"""The operators of the singular-perturbation schemes: closed form against the step, and against a nonlinear ringdown."""

import numpy as np
import pytest

import partitioning
import psmr
from psmr.dae.linear_system import linear_system
from psmr.errors import SchemeError
from psmr.numerics.march import march
from psmr.numerics.onestep import TABLEAUX
from psmr.pencil.ringdown import fit_mode
from psmr.pencil.singular import stability_polynomial
from psmr.pencil.spectrum import modes_of
from tests.pencil.oracle import partition, random_dae


def stepped(linear, scheme, steps=3):
    """The operator that the simulator's own steps show: every state once at 1; (n + m, n)."""
    system = linear_system(linear)
    columns = []
    for start in np.eye(linear.n):
        run = march(system, scheme, steps * scheme.step, start=(start, np.zeros(linear.m)))
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


@pytest.mark.parametrize("method", ["FEM", "RK4"])
def test_stability_polynomial(method):
    z = np.array([-1.3 + 0.4j])
    powers = {"FEM": 1, "RK4": 4}[method]
    expected = sum(z**k / float(np.prod(np.arange(1, k + 1))) for k in range(powers + 1))
    assert stability_polynomial(np.diag(z), method)[0, 0] == pytest.approx(expected[0])
    assert TABLEAUX[method].explicit


def test_implicit_methods_have_no_polynomial():
    with pytest.raises(SchemeError, match="TM is implicit"):
        stability_polynomial(np.zeros((1, 1)), "TM")


def test_report_and_refusal_on_a_power_system(wscc9):
    linear = psmr.build(psmr.read_case(wscc9 / "wscc9.toml")).linearise()
    split = partitioning.by_participation(linear, delta=100.0)
    report = psmr.deformation(linear, psmr.SlowManifold(split, 0.05))
    assert report.stable
    # The rest of the fast states is exact to their time constant, so RK4's error remains: (|s| h)^4 / 120 to the mode.
    s = complex(report.dominant["real"], report.dominant["imag"])
    assert report.dominant["relative_deformation"] == pytest.approx(abs(s * 0.05) ** 4 / 120, rel=0.05)
    # Runge-Kutta 4 on the slow states ends at 2.785 / 20 s.
    assert not psmr.deformation(linear, psmr.SlowManifold(split, 0.2)).stable
    with pytest.raises(SchemeError, match="pure integrator"):
        psmr.deformation(linear, psmr.SlowManifold(partitioning.all_fast(linear), 0.05))


@pytest.mark.parametrize(("case", "delta"), [("wscc9", 100.0), ("wscc9", 8.0), ("wscc9-ibr", 40.0)])
def test_operator_predicts_the_nonlinear_ringdown(wscc9, case, delta):
    # The bar is 1e-5, as for the other schemes.
    system = psmr.build(psmr.read_case(wscc9 / f"{case}.toml"))
    linear = system.linearise()
    scheme = psmr.SlowManifold(partitioning.by_participation(linear, delta=delta), 0.02)
    report = psmr.deformation(linear, scheme)
    expected = complex(report.dominant["real_numerical"], report.dominant["imag_numerical"])
    mode = modes_of(linear)
    k = int(np.abs(mode.s - complex(report.dominant["real"], report.dominant["imag"])).argmin())
    kick = np.real(mode.vectors[: linear.n, k])
    run = march(system, scheme, 8.0, start=(system.x0 + 1e-3 * kick / np.abs(kick).max(), system.y0))
    speeds = [system.index(f"G{i}.omega") for i in (1, 2)]
    shown = fit_mode(run.t, run.x[:, speeds[0]] - run.x[:, speeds[1]], near=expected)
    assert abs(shown - expected) < 1e-5 * abs(expected)
