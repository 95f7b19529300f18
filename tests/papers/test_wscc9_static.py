"""The paper's nine-bus system: size, mode and fast set of every parameter set, beside dense code."""

import numpy as np
import pytest

import psmr
from psmr import SingleRate, step_operator
from psmr.errors import InputError
from psmr.papers.huang_tzounas.runs import (
    CASE,
    PRINTED_MODE,
    dominant,
    parameter_sets,
    settings,
    with_parameters,
)
from psmr.papers.huang_tzounas.statements import FAST_ALGEBRAIC, FAST_STATES, bent, critical_step
from psmr.papers.huang_tzounas.tables import PAIRS
from tests.papers import static_oracle as oracle
from tests.pencil.oracle import Oracle

FOLDER = psmr.case_path(f"wscc9/{CASE}").parent
SETS = parameter_sets(FOLDER)


@pytest.fixture(scope="module")
def systems():
    return settings()


@pytest.fixture(scope="module", params=list(SETS))
def pair(request, systems):
    """A set's system in psmr and its matrices by the oracle, states and variables in psmr's order."""
    setting = systems.sets[request.param]
    states, algebraic = oracle.names()
    fx, fy, gx, gy = oracle.matrices(SETS[request.param])
    ix = [states.index(name) for name in setting.linear.names_x]
    iy = [algebraic.index(name) for name in setting.linear.names_y]
    return setting, (fx[np.ix_(ix, ix)], fy[np.ix_(ix, iy)], gx[:, ix], gy[:, iy])


def test_the_case_file_is_the_first_set(systems):
    first = next(iter(systems.sets.values()))
    assert np.array_equal(systems.paper.linear.state_matrix(), first.linear.state_matrix())


def test_size(pair):
    system = pair[0].system
    # 18 bus voltages and i_d, i_q, v_f, v_s, t_m of three machines; the paper counts 64.
    assert (system.n, system.m) == (33, 33)
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    assert np.abs(system.g(system.x0, system.y0)).max() < 1e-9


def test_the_dominant_mode_to_five_digits(pair):
    setting, matrices = pair
    values = oracle.participation(*matrices)[0]
    by_oracle = values[np.abs(values - PRINTED_MODE).argmin()]
    for mode in (setting.mode, by_oracle):
        assert f"{mode.real:.5f}" == "-0.19561"
        assert f"{mode.imag:.5f}" == "8.37291"
    assert abs(setting.mode - by_oracle) < 1e-9
    # All the others are damped, those that swing better than this one.
    moving = values[np.abs(values) > 1e-4]
    assert moving.real.max() < 0.0
    swings = values[values.imag > 0.1]
    assert (-swings.real / np.abs(swings)).min() == pytest.approx(-by_oracle.real / abs(by_oracle), rel=1e-6)


def test_the_eigenvalues_are_the_oracles(pair):
    setting, matrices = pair
    ours = np.linalg.eigvals(setting.linear.state_matrix())
    for value in oracle.participation(*matrices)[0]:
        # The pair at zero scatters with the root of the rounding.
        assert np.abs(ours - value).min() < (1e-8 * max(1.0, abs(value)) if abs(value) > 1e-3 else 1e-3)


def test_the_fast_set_is_that_of_the_paper(pair):
    setting, matrices = pair
    split = setting.split
    assert {n for n, fast in zip(split.names_x, split.fast_x, strict=True) if fast} == FAST_STATES
    assert {n for n, fast in zip(split.names_y, split.fast_y, strict=True) if fast} == FAST_ALGEBRAIC
    values, P_x, P_y = oracle.participation(*matrices)
    assert np.array_equal(np.abs(values[np.abs(P_x).argmax(axis=1)]) > 20.0, split.fast_x)
    assert np.array_equal(np.abs(values[np.abs(P_y).argmax(axis=1)]) > 20.0, split.fast_y)


@pytest.mark.slow
@pytest.mark.parametrize("choice", PAIRS, ids="/".join)
def test_the_macro_step_is_the_oracles(pair, choice):
    setting, matrices = pair
    predictor, solution = choice
    scheme = setting.scheme(predictor, solution, 0.005, 10)
    linear = setting.linear
    # The step's oracle takes psmr's matrices, in whose order of equations the partition counts.
    dense = [block.toarray() for block in (linear.fx, linear.fy, linear.gx, linear.gy)]
    assert np.allclose(
        dense[0] - dense[1] @ np.linalg.solve(dense[3], dense[2]), _state(*matrices), atol=1e-7
    )
    W = Oracle(linear, scheme).operator()
    assert np.abs(step_operator(linear, scheme) - W).max() < 1e-9
    values = np.linalg.eigvals(W)
    modes = np.log(values[np.abs(values) > 1e-6].astype(complex)) / 0.05
    bent_mode = dominant(setting.deform(scheme))
    assert np.abs(modes - bent_mode).min() < 1e-8


def _state(fx, fy, gx, gy):
    return fx - fy @ np.linalg.solve(gy, gx)


def test_predictors_differ_visibly(systems):
    """Figures 7 to 10: at delta = 20 1/s the prediction reaches the regulators and field voltages."""
    change = bent(systems.paper)
    assert abs(change["BEM", "TM"]) < 0.75 * abs(change["TM", "TM"])
    assert abs(change["FEM", "TM"]) > 2.0 * abs(change["TM", "TM"])
    old = bent(systems.transducers)
    assert abs(abs(old["BEM", "TM"]) - abs(old["TM", "TM"])) < 1e-4
    for events in ("load trip", "fault"):
        speeds = {
            p: systems.paper.run(systems.paper.scheme(p, "TM", 0.005, 10), events).values("G1.omega")[:, 0]
            for p in ("TM", "BEM")
        }
        assert np.abs(speeds["TM"] - speeds["BEM"]).max() > 2e-4


def test_the_machines_keep_step_after_the_fault(pair):
    run = pair[0].run(SingleRate("TM", 0.005))
    angles = run.values("G*.delta")
    apart = np.degrees(angles - angles[:, :1])
    assert np.abs(apart).max() < 180.0
    late, early = (np.ptp(apart[(run.t > a) & (run.t < a + 2.0), 1]) for a in (8.0, 2.0))
    assert late < 0.9 * early


@pytest.mark.slow
def test_critical_steps_of_the_fem_predictor(systems):
    steps = {name: critical_step(setting, "FEM") for name, setting in systems.sets.items()}
    assert steps["A"] == pytest.approx(0.00600, abs=5e-6)
    assert steps["C"] == pytest.approx(0.0047, abs=5e-5)
    assert np.isinf(steps["F"])
    assert all(np.isinf(critical_step(setting, "TM")) for setting in systems.sets.values())
    # Stable at the paper's steps, and not whatever the steps: the macro step is 0.36 s here.
    assert critical_step(systems.paper, "TM", 0.1) == pytest.approx(0.03584, abs=5e-5)


def test_a_parameter_that_no_plant_has_is_refused():
    case = psmr.read_case(FOLDER / CASE)
    with pytest.raises(InputError, match=r"G1 has no exciter.k_x; exciter.k_x = 1 has no place"):
        with_parameters(case, {"exciter.k_x": 1.0})


def test_a_set_with_a_hole_is_refused(tmp_path):
    text = (FOLDER / "wscc9-static-sets.csv").read_text().replace("A,350.0,", "A,,").replace("A,350,", "A,,")
    (tmp_path / "wscc9-static-sets.csv").write_text(text)
    with pytest.raises(InputError, match=r"set A, exciter.k_a = nan: must be a number"):
        parameter_sets(tmp_path)
