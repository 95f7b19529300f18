"""The IEEE first benchmark model: what is published of it, and the same equations written another way."""

import numpy as np
import pytest

import psmr
from tests.devices.machines.first_benchmark import FirstBenchmark, shaft_frequencies

OPERATIONAL = {"d": (1.79, 0.169, 0.135, 4.3, 0.032, 0.13), "q": (1.71, 0.228, 0.2, 0.85, 0.05, 0.13)}
CIRCUITS = {"d": (0.062, 0.53, 0.0055, 1.54), "q": (0.326, 5.3, 0.095, 3.1)}
"""Reactance and 2 pi 60 times resistance of the outer and inner rotor winding (Ong 1998, project 10.3)."""

REGION = psmr.Region((1, 2, 3, 4))


@pytest.fixture(scope="module")
def case():
    return psmr.case("ieee-fbm")


def at_level(case, x_c):
    return psmr.build(case.edit({"capacitor.x": -x_c}), dynamic=REGION)


def other(case, x_c):
    p = case.tables["RoundRotorMachine"].loc["G1"]
    d_axis = p[["x_d", "x_d1", "x_2", "t_d01", "t_d02", "x_l"]]
    return FirstBenchmark(x_c, d_axis, p[["x_q", "x_q1", "x_q2", "t_q01", "t_q02", "x_l"]])


def test_the_shaft_turns_at_the_published_frequencies():
    # IEEE Committee Report (1977): 15.71, 20.21, 25.55, 32.28 and 47.46 Hz.
    assert shaft_frequencies() / (2 * np.pi) == pytest.approx([15.71, 20.21, 25.55, 32.28, 47.46], abs=0.006)


@pytest.mark.parametrize("axis", ["d", "q"])
def test_windings_of_the_operational_data_are_the_published_circuits(axis):
    x_f, r_f, x_k, r_k = CIRCUITS[axis]
    x_l = 0.13
    x_m = OPERATIONAL[axis][0] - x_l
    both = x_m * x_f / (x_m + x_f)
    printed = x_l + both, x_l + both * x_k / (both + x_k), (x_m + x_f) / r_f, (x_k + both) / r_k
    # Two digits of the resistances are printed.
    assert psmr.winding_data(*OPERATIONAL[axis]) == pytest.approx(printed, rel=0.01)


def test_windings_have_the_operational_reactance_exactly():
    x, x1, x2, t1, t2, x_l = OPERATIONAL["q"]
    w1, w2, u1, u2 = psmr.winding_data(x, x1, x2, t1, t2, x_l)
    x_m = x - x_l
    x_f = 1 / (1 / (w1 - x_l) - 1 / x_m)
    x_k = 1 / (1 / (w2 - x_l) - 1 / x_m - 1 / x_f)
    r_f, r_k = (x_m + x_f) / u1, (x_k + x_m * x_f / (x_m + x_f)) / u2
    s = np.array([0.1, 1.0, 1j, 30j, 400j])
    from_windings = x_l + 1 / (1 / x_m + s / (r_f + s * x_f) + s / (r_k + s * x_k))
    a, b, product = x / x1, 1 + x / x2 - x / x1, t1 * t2 * x2 / x
    t_1 = max(np.roots([a, -(t1 + t2), b * product]))
    t_2 = product / t_1
    inverse = 1 / x + (1 / x1 - 1 / x) * s * t_1 / (1 + s * t_1) + (1 / x2 - 1 / x1) * s * t_2 / (1 + s * t_2)
    assert from_windings == pytest.approx(1 / inverse, rel=1e-12)


@pytest.mark.parametrize(
    "data", [(1.79, 0.169, 0.135, 0.032, 4.3, 0.13), (1.79, 0.1, 0.135, 4.3, 0.032, 0.13)]
)
def test_impossible_operational_data_are_refused(data):
    with pytest.raises(psmr.errors.InputError, match=r"winding_data: .* must be x > x1"):
        psmr.winding_data(*data)


@pytest.mark.parametrize("x_c", [0.18, 0.285, 0.371])
def test_every_eigenvalue_is_that_of_the_equations_in_the_frame_of_the_rotor(case, x_c):
    exact = other(case, x_c).eigenvalues()
    found = np.linalg.eigvals(at_level(case, x_c).linearise().state_matrix())
    assert len(found) == len(exact) == 20
    assert np.sort_complex(found) == pytest.approx(np.sort_complex(exact), rel=1e-7, abs=1e-7)


def test_a_twisted_shaft_swings_as_those_equations_say(case):
    system = at_level(case, 0.371)
    x0 = system.x0.copy()
    x0[system.names_x.index("SHAFT1.delta_1")] += 0.05
    t = np.linspace(0.0, 0.2, 41)
    run = psmr.simulate(system, psmr.VariableStep(1e-8), 0.2, start=(x0, system.y0), certify=False)
    torques = run.at(t, [f"SHAFT1.torque_{k}" for k in (*range(1, 5), "x")])
    assert np.abs(torques.to_numpy() - other(case, 0.371).shaft_torques(t, 0.05)).max() < 1e-6


def test_the_fault_of_the_report_is_the_one_with_a_current_of_its_own(case):
    # In the study the network behind bus B stands for it, in the other equations the fault is a branch.
    study = psmr.read_study(psmr.case_path("ieee-fbm/fault.toml"))
    system = at_level(case, 0.371)
    run = psmr.simulate(system, psmr.VariableStep(1e-8), 0.3, study.events, certify=False)
    during, after = np.linspace(0.0, 0.075, 16), np.linspace(0.0, 0.125, 26)
    wanted = np.vstack(other(case, 0.371).fault_torques(during, after))
    names = [f"SHAFT1.torque_{k}" for k in (*range(1, 5), "x")]
    found = run.at(np.r_[0.1 + during, 0.175 + after], names).to_numpy()
    # The source's own 1e-6 pu beside 0.1 pu: 1e-5 of torques of 3 pu.
    assert np.abs(found - wanted).max() < 3e-5
    assert np.abs(wanted).max() > 2.5


def test_an_infinite_bus_without_a_path_for_its_current_stays_a_source(case):
    everywhere = psmr.build(case, dynamic=psmr.Region("all"))
    wanted = np.linalg.eigvals(at_level(case, 0.371).linearise().state_matrix())
    found = np.linalg.eigvals(everywhere.linearise().state_matrix())
    assert np.sort_complex(found) == pytest.approx(np.sort_complex(wanted), rel=1e-9)


def test_phasors_leave_the_shafts_modes_without_growth(case):
    found = psmr.network_deformation(case, None)
    mode = np.argmin(np.abs(np.array(found.modes) - 127.04j))
    assert found.modes[mode] == pytest.approx(-0.00107 + 127.041j, abs=2e-3)
    assert found.full[mode] == pytest.approx(0.508 + 127.35j, abs=2e-2)
