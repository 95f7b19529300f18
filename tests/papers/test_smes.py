"""SMES: condition (14), the search, the step against its formula, limits, shortened steps, refusals."""

import math
import pickle

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import psmr
from psmr import SingleRate, Smes
from psmr.errors import SchemeError, SimulationError
from psmr.papers.shi_rojas.paper import adaptive_control
from psmr.papers.shi_rojas.smes import amplification, smallest_micro
from tests.internals import Change, LinearDae, integrate, linear_system
from tests.systems import Blowup, Limited, forced, kaps, logistic, one, quadratic


def linear(*modes: complex) -> LinearDae:
    """A linear ODE with these modes, a complex one as a real pair."""
    blocks = [
        np.array([[s]]) if np.isreal(s) else np.array([[s.real, s.imag], [-s.imag, s.real]]) for s in modes
    ]
    A = scipy.linalg.block_diag(*blocks)
    n = len(A)
    names = tuple(f"M{i}.x" for i in range(n))
    empty = sp.csc_matrix((n, 0))
    return LinearDae(
        sp.csc_matrix(A), empty, sp.csc_matrix((0, n)), sp.csc_matrix((0, 0)), names, (), (), np.arange(n)
    )


# Shi and Rojas, condition (14) on system (22) with delta = epsilon Delta: N at Delta.
SMALLEST = {0.01: 917, 0.1: 110, 0.2: 55, 0.5: 19, 1.5: 21}


@pytest.mark.parametrize(("h", "micro"), SMALLEST.items())
def test_smallest_number_of_micro_steps(h, micro):
    assert smallest_micro([-1e6, -1.0], h, 1e-6 * h) == micro


@pytest.mark.parametrize(("h", "micro"), [(0.2, 55), (0.5, 19)])
def test_condition_14_decides_in_the_simulation_too(h, micro):
    system = adaptive_control()
    good = integrate(system, Smes(h, 1e-6 * h, micro), 40.0)
    assert np.abs(good.x[:, 2]).max() < 1.0
    with pytest.raises(SimulationError, match="left the finite numbers"):
        integrate(system, Smes(h, 1e-6 * h, micro - 5), 400.0)


@pytest.mark.parametrize("base", ["FEM", "RK2", "RK4"])
def test_search_finds_the_cheapest_stable_choice(base):
    fast = (-1e4, -3e3, -1e3)
    scheme = Smes.for_system(linear(*fast, -1.0), 0.2, base)
    widened = [factor * s for s in fast for factor in (0.9, 1.0, 1.1)]
    assert (np.abs(amplification([*widened, -1.0], 0.2, scheme.delta, scheme.micro, base)) < 1).all()
    # No other micro step needs fewer.
    for delta in np.geomspace(1e-6, 1e-3, 400):
        fewer = smallest_micro([*widened, -1.0], 0.2, delta, base, most=scheme.micro - 1)
        # One step less may lie between the candidates of the search.
        assert fewer is None or fewer >= scheme.micro - 1


def test_one_micro_step_serves_a_single_fast_mode():
    exact = Smes.for_system(linear(-1e6, -1.0), 0.2, margin=0.0)
    assert (exact.micro, exact.delta) == (1, pytest.approx(1e-6))
    assert Smes.for_system(linear(-1e6, -1.0), 0.2).micro < 10


def test_refuses_undamped_and_lightly_damped_fast_modes():
    for base in ("FEM", "RK2", "RK4"):
        with pytest.raises(SchemeError, match=r"no number N .* mode 0 ± j707.1 1/s \(113 Hz, undamped\)"):
            Smes.for_system(linear(707.1j, -1.0), 0.2, base)
        with pytest.raises(
            SchemeError, match=r"no number N .*-50 ± j1000 1/s \(159 Hz, damping ratio 0.0499\)"
        ):
            Smes.for_system(linear(-50 + 1000j, -1.0), 0.2, base)
    # Well damped pairs are fine.
    assert Smes.for_system(linear(-1e3 + 3e3j, -1.0), 0.2).micro * 1e-3 < 0.2


def test_refuses_a_given_micro_step_beyond_the_limit():
    with pytest.raises(SchemeError, match=r"with delta = 0.0003 s: mode -1e\+04 1/s"):
        Smes.for_system(linear(-1e4, -1.0), 0.2, delta=3e-4)


def test_growing_modes_of_the_system_are_no_reason_to_refuse():
    assert Smes.for_system(linear(0.1, -1e4, 0.0), 0.1).h == 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"h": 0.0}, "h = 0.0"),
        ({"delta": math.nan}, "delta = nan"),
        ({"delta": -1e-3}, "delta = -0.001"),
        ({"micro": 0}, "micro = 0.*whole number >= 1.*SingleRate"),
        ({"micro": -3}, "micro = -3"),
        ({"micro": 2.5}, "micro = 2.5"),
        ({"micro": True}, "micro = True"),
        ({"micro": 100}, r"micro \* delta = 100 \* 0.001 s = 0.1 s must be shorter than 0.1 s"),
        (
            {"micro": 34, "base": "RK4"},
            r"must be shorter than 0.033333\d* s \(0.333333 h, where the stages of RK4 begin\)",
        ),
        ({"base": "TM"}, "base = 'TM'.*'FEM', 'RK2', 'RK4'"),
        ({"newton": "never"}, "newton = 'never'"),
        ({"tolerance": 0}, "tolerance = 0"),
        ({"nodes": "there"}, "nodes = 'there'"),
    ],
)
def test_record_refuses_what_cannot_be(arguments, message):
    with pytest.raises(SchemeError, match=message):
        Smes(**({"h": 0.1, "delta": 1e-3, "micro": 5} | arguments))


def test_record_is_frozen_comparable_printable_and_picklable():
    scheme = psmr.Smes(0.1, 1e-3, 5, "RK2")
    assert scheme == Smes(0.1, 1e-3, 5, "RK2") != Smes(0.1, 1e-3, 6, "RK2")
    assert pickle.loads(pickle.dumps(scheme)) == scheme
    assert str(scheme) == "SMES on RK2, h = 0.1 s, 5 micro steps of 0.001 s"
    assert scheme.evaluations == 12


def formula(A, x, h, delta, micro, base, nodes):
    """The macro step on x' = A x, written out from the docstring of `Smes`."""
    a = {
        "FEM": [[0.0]],
        "RK2": [[0, 0], [0.5, 0]],
        "RK4": [[0] * 4, [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1, 0]],
    }
    b = {"FEM": [1.0], "RK2": [0, 1.0], "RK4": [1 / 6, 1 / 3, 1 / 3, 1 / 6]}
    c = {"FEM": [0.0], "RK2": [0, 0.5], "RK4": [0, 0.5, 0.5, 1.0]}
    settle = np.linalg.matrix_power(np.eye(len(A)) + delta * A, micro)
    first = settle @ x
    rates = [A @ first]
    for i in range(1, len(b[base])):
        along = sum(a[base][i][j] / c[base][i] * rates[j] for j in range(i))
        rates.append(
            A
            @ (
                settle
                @ (
                    first
                    + (c[base][i] * h - (2 if nodes == "macro" else 1 + c[base][i]) * micro * delta) * along
                )
            )
        )
    return first + (h - micro * delta) * sum(w * k for w, k in zip(b[base], rates, strict=True))


@pytest.mark.parametrize("nodes", ["macro", "settled"])
@pytest.mark.parametrize("base", ["FEM", "RK2", "RK4"])
def test_step_is_the_formula_on_a_linear_dae(base, nodes):
    rng = np.random.default_rng(4)
    n, m = 4, 3
    fx, fy = rng.normal(size=(n, n)), rng.normal(size=(n, m))
    gx, gy = rng.normal(size=(m, n)), rng.normal(size=(m, m)) + 5 * np.eye(m)
    names = tuple(f"D.x{i}" for i in range(n)), tuple(f"D.y{j}" for j in range(m))
    dae = LinearDae(*map(sp.csc_matrix, (fx, fy, gx, gy)), *names, names[1], np.arange(n + m))
    x = rng.normal(size=n)
    run = integrate(linear_system(dae), Smes(0.1, 2e-3, 6, base, nodes=nodes), 0.1, start=(x, np.zeros(m)))
    A = fx - fy @ np.linalg.solve(gy, gx)
    expected = formula(A, x, 0.1, 2e-3, 6, base, nodes)
    # Rounding of some thirty multiplications of numbers of order 1.
    np.testing.assert_allclose(run.x[-1], expected, atol=1e-13)
    np.testing.assert_allclose(run.y[-1], -np.linalg.solve(gy, gx @ expected), atol=1e-12)
    values, vectors = np.linalg.eig(A)
    spectral = vectors @ np.diag(amplification(values, 0.1, 2e-3, 6, base, nodes)) @ np.linalg.inv(vectors)
    np.testing.assert_allclose((spectral @ x).real, expected, atol=1e-12)


@pytest.mark.parametrize("problem", [logistic, forced, quadratic, kaps], ids=lambda p: p.__name__)
@pytest.mark.parametrize(("base", "order"), [("FEM", 1), ("RK2", 2), ("RK4", 4)])
def test_order_on_odes_and_daes(problem, base, order):
    given = problem()
    # The micro steps shrink with the step fast enough not to be seen in the order.
    steps = 0.05 / 2.0 ** np.arange(5)
    errors = []
    for h in steps:
        run = integrate(given.system, Smes(h, 0.02 * h**order, 2, base), given.t_end)
        # Over the whole run: the leading error of RK2 on `forced` passes through zero at its end.
        exact = np.array([given.exact(t) for t in run.t])
        errors.append(np.abs(np.hstack([run.x, run.y]) - exact).max())
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(slope - order) < 0.2


def test_settled_nodes_remove_the_error_of_first_order_in_the_micro_steps():
    # A swing of 1.3 Hz with little damping; one fast mode at -1000 1/s; h = 20 ms, N delta = 1 ms.
    swing = -0.195607 + 8.372918j
    off = {}
    for nodes in ("macro", "settled"):
        z = amplification([swing], 0.02, 1e-3, 1, "RK4", nodes)[0]
        off[nodes] = abs(np.log(z) / 0.02 - swing) / abs(swing)
    assert off["macro"] > 2e-3
    assert off["settled"] < 4e-4
    given = forced()
    errors = []
    for nodes in ("macro", "settled"):
        run = integrate(given.system, Smes(0.02, 1e-4, 2, "RK4", nodes=nodes), given.t_end)
        errors.append(abs(run.x[-1, 0] - given.exact(given.t_end)[0]))
    assert errors[1] < 0.1 * errors[0]


def test_every_micro_point_is_recorded_on_request():
    scheme, system = Smes(0.2, 0.01, 3), logistic().system
    run = integrate(system, scheme, 0.5, every=True)
    first = [0.01, 0.02, 0.03, 0.2]
    wanted = [0.0, *first, *(0.2 + np.array(first)), *(0.4 + np.array([0.01, 0.02, 0.03])), 0.5]
    np.testing.assert_allclose(run.t, wanted, atol=1e-15)
    coarse = integrate(system, scheme, 0.5)
    np.testing.assert_array_equal(run.x[[0, 4, 8, 12]], coarse.x)
    assert run.counters.steps == 12
    assert run.counters.macro_steps == 3


def test_a_step_too_short_for_its_micro_steps_is_all_micro_steps():
    system = logistic().system
    run = integrate(system, Smes(0.2, 0.01, 15), 0.3 + 0.2, changes=[Change(0.33)], every=True)
    before = run.t[(run.t > 0.2) & (run.t <= 0.33)]
    assert before[0] == pytest.approx(0.21)
    assert len(before) == 14  # 13 micro steps, and the instant stands twice
    np.testing.assert_allclose(run.x[-1], 1 / (1 + 4 * np.exp(-0.5)), atol=5e-3)


def test_limits_hold_through_micro_and_long_steps():
    system = one(Limited, {"x": 0.0, "y": 0.0})
    for base in ("FEM", "RK2", "RK4"):
        run = integrate(system, Smes(0.05, 1e-3, 4, base), 8.0, every=True)
        assert run.x.max() == 0.5
        assert run.x.min() == -0.5
        np.testing.assert_allclose(run.y, 2 * run.x, atol=1e-14)
        # It leaves the limit when the derivative turns, at t = pi / 2, and not later (no windup).
        held = run.t[run.x[:, 0] == 0.5]
        assert abs(held[held < 3.0].max() - np.pi / 2) < 0.06


def test_an_overflow_is_named_and_its_points_are_kept_on_request_only():
    system = one(Blowup, {"x": 1.0})
    with pytest.raises(SimulationError, match=r"D\.x = .*, and no quantity is beyond") as caught:
        integrate(system, Smes(0.1, 0.01, 2), 3.0)
    assert caught.value.partial is None
    with pytest.raises(SimulationError) as caught:
        integrate(system, Smes(0.1, 0.01, 2), 3.0, partial=True)
    kept = caught.value.partial
    assert np.isfinite(kept.x).all()
    assert kept.t[-1] < 3.0
    assert len(kept.t) == kept.counters.macro_steps + 1


def test_work_is_counted():
    run = integrate(adaptive_control(), Smes(0.2, 2e-7, 70), 5.0)
    assert run.counters.residuals["step"] == 1775
    assert run.counters.macro_steps == 25
    dae = integrate(quadratic().system, Smes(0.1, 1e-3, 4), 1.0)
    assert dae.counters.residuals["step"] == 50  # 10 (4 + 1)
    # Dishonest Newton: g_y once a macro step.
    assert dae.counters.factorisations[1] == 10


def test_half_a_million_micro_steps_are_counted():
    run = integrate(adaptive_control(), Smes(0.01, 1e-8, 1120), 5.0)
    assert run.counters.residuals["step"] == 560_500


def test_agrees_with_forward_euler_where_every_step_is_a_micro_step():
    # N delta = h - delta: the long step is one more micro step.
    system = logistic().system
    smes, euler = integrate(system, Smes(0.05, 0.01, 4), 2.0), integrate(system, SingleRate("FEM", 0.01), 2.0)
    np.testing.assert_allclose(smes.x[-1], euler.x[-1], rtol=1e-13)


def test_settled_nodes_are_the_default_and_leave_more_room_for_micro_steps():
    """A stage is backwards from N delta = c_2 h/r_2 on: h/3 with settled nodes, h/4 with the others."""
    assert Smes(0.01, 1e-3, 3, "RK4") == Smes(0.01, 1e-3, 3, "RK4", nodes="settled")
    with pytest.raises(SchemeError, match=r"must be shorter than 0\.0025 s"):
        Smes(0.01, 1e-3, 3, "RK4", nodes="macro")
    with pytest.raises(SchemeError, match=r"must be shorter than 0\.00333333 s"):
        Smes(0.01, 1e-3, 4, "RK4")


def test_the_scheme_of_a_saved_run_is_made_again():
    from tests.internals import Decoder, Encoder

    scheme = Smes(0.1, 0.01, 2)
    assert Decoder(lambda _: None).decode(Encoder().encode(scheme)) == scheme
