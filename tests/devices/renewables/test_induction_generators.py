"""Wind turbines without a converter, WT1 and WT2: their circuits and diagrams, and plants at rest."""

import numpy as np
import pytest

from tests.components import WT1G1, WT2E1, WT2G1, WT12A1
from tests.devices.alone import TOLERANCE, guess_of, polygon, respond, run_alone
from tests.devices.diagram import clip, step
from tests.files.back import OTHERS, there_and_back
from tests.internals import Terminal

BASE = {"s_n": 64.0, "s_base": 100.0, "f_n": 60.0, "r_a": 0.01}
SATURATION = {"e_1": 1.0, "se_1": 0.1, "e_2": 1.2, "se_2": 0.4}
CAGES = {
    **BASE,
    **SATURATION,
    **{"cages": 2.0, "t_p": 0.81, "t_pp": 0.035, "x": 3.6, "x_p": 0.21, "x_pp": 0.15, "x_l": 0.1},
}
POINTS = {
    **{f"p_{k}": x for k, x in enumerate((0.1, 0.3, 0.6, 0.8, 1.0), 1)},
    **{f"slip_{k}": x for k, x in enumerate((0.005, 0.01, 0.02, 0.04, 0.08), 1)},
}
ROTOR = {**BASE, **SATURATION, **POINTS, "x_l": 0.1, "x_m": 3.5, "x_r": 0.12, "r_rot": 0.008, "r_max": 0.11}
CONTROL = {**POINTS, "t_sp": 0.05, "t_pe": 0.08, "t_i": 0.5, "k_p": 0.4, "out_max": 0.9, "out_min": 0.1}
AERODYNAMICS = {
    **{"droop": 0.05, "k_p": 2.0, "t_i": 0.3, "t_1": 0.1, "t_2": 0.2, "t_p": 0.15},
    **{"y_max": 0.9, "y_min": 0.2},
}
PARAMETERS = {WT1G1: CAGES, WT2G1: ROTOR, WT2E1: CONTROL, WT12A1: AERODYNAMICS}
ZERO = {WT2E1: ("t_sp", "t_pe"), WT12A1: ("t_1", "t_2", "t_p")}
VARIANTS = {
    WT1G1: ({"cages": 1.0}, {"cages": 1.0, "se_1": 0.0, "se_2": 0.0}),
    WT2G1: ({"se_1": 0.0, "se_2": 0.0},),
}


def generator(p, u, fluxes, x_l, x_m, cages):
    """Rates of the fluxes, and power and current: the node of the air gap, its saturation by iteration."""
    v, z = u.v_re + 1j * u.v_im, p["r_a"] + 1j * x_l
    ratio = np.sqrt(p["se_1"] * p["e_1"] / (p["se_2"] * p["e_2"]))
    a = (p["e_1"] - ratio * p["e_2"]) / (1 - ratio)
    b = p["se_2"] * p["e_2"] / (p["e_2"] - a) ** 2
    saturation, air = 0.0, 1.0
    for _ in range(60):
        own = sum(flux / x for flux, (_, x) in zip(fluxes, cages, strict=True))
        air = (v / z + own) / ((1 + saturation) / x_m + sum(1 / x for _, x in cages) + 1j / z)
        saturation = b * max(abs(air) - a, 0.0) ** 2 / abs(air)
    i = (v - 1j * air) / z
    slip, turn = 1 - u.omega_g, 2 * np.pi * p["f_n"]
    rates = [
        turn * (r * (air - flux) / x - 1j * slip * flux) for flux, (r, x) in zip(fluxes, cages, strict=True)
    ]
    into = -i * p["s_n"] / p["s_base"] - 1j * u.b_shunt * v
    return [part for rate in rates for part in (rate.real, rate.imag)], (-v * np.conj(i)).real, into


def cages_of(p):
    x_m, turn = p["x"] - p["x_l"], 2 * np.pi * p["f_n"]
    x_a = 1 / (1 / (p["x_p"] - p["x_l"]) - 1 / x_m)
    x_b = 1 / (1 / (p["x_pp"] - p["x_l"]) - 1 / x_m - 1 / x_a)
    return x_m, (
        ((x_a + x_m) / (turn * p["t_p"]), x_a),
        ((x_b + p["x_p"] - p["x_l"]) / (turn * p["t_pp"]), x_b),
    )


def wt1g1(p, u, x):
    x_m, cages = cages_of(p)
    rates, power, i = generator(p, u, (x[0] + 1j * x[1], x[2] + 1j * x[3]), p["x_l"], x_m, cages)
    return rates, {}, (power, i.real, i.imag)


def wt2g1(p, u, x):
    r_2 = p["r_rot"] + u.r_control * (p["r_max"] - p["r_rot"])
    rates, power, i = generator(p, u, (x[0] + 1j * x[1],), p["x_l"], p["x_m"], ((r_2, p["x_r"]),))
    return rates, {}, (power, i.real, i.imag)


TERMINAL = Terminal(0.6 + 0.8j, (0.6 + 0.1j) * (0.6 + 0.8j) * 0.64, {})


@pytest.mark.parametrize(("kind", "diagram", "given"), [(WT1G1, wt1g1, CAGES), (WT2G1, wt2g1, ROTOR)])
def test_a_generator_is_its_circuit(kind, diagram, given):
    """A dip, a swell beyond the knee of the saturation, a speed above and below the synchronous one."""
    # The guess is without saturation, and the knee of this one is above the flux at the start.
    p = given | {"e_1": 1.2, "e_2": 1.4}
    guess = guess_of(kind, p, TERMINAL)
    phasor = step(0.6 + 0.8j, (0.5013, 0.4 + 0.5j), (1.0017, 0.75 + 0.95j), (2.0013, 0.6 + 0.8j))
    speed = guess["omega_g"]
    inputs = {
        "v_re": step(0.6, *((t, phasor(t).real) for t in phasor.jumps)),
        "v_im": step(0.8, *((t, phasor(t).imag) for t in phasor.jumps)),
        "omega_g": step(speed, (2.5013, 1.02), (3.2017, 0.99)),
        "b_shunt": step(guess["b_shunt"], (3.0013, 0.3)),
    }
    if kind is WT2G1:
        inputs["r_control"] = step(guess["r_control"], (1.5017, 0.8), (2.8013, 0.1))
    rest = [guess[name] for name in ("a_re", "a_im", "b_re", "b_im") if name in guess]
    found = run_alone(kind, p, {k: v for k, v in guess.items() if k not in inputs}, inputs)
    expected = respond(diagram, p, rest, inputs).T
    for own, other in zip((found.p_e, found.i_re, found.i_im), expected, strict=True):
        assert np.abs(own - other).max() < 10 * TOLERANCE
    assert found.sat.max() > 0.05


def test_the_open_stator_has_the_time_constants_of_the_record():
    x_m, ((r_a, x_a), (r_b, x_b)) = cages_of(CAGES)
    # One cage: what links the rotor alone decays with T'.
    assert 2 * np.pi * 60 * r_a / (x_a + x_m) == pytest.approx(1 / 0.81)
    beside = 1 / (1 / x_m + 1 / x_a + 1 / x_b)
    assert CAGES["x_l"] + beside == pytest.approx(CAGES["x_pp"])
    assert 2 * np.pi * 60 * r_b / (x_b + 1 / (1 / x_m + 1 / x_a)) == pytest.approx(1 / 0.035)


def wt2e1(p, u, x):
    omega_m, p_m, x_i = x
    points = [(p[f"slip_{k}"], p[f"p_{k}"]) for k in range(1, 6)]
    error = p_m - polygon(omega_m - 1, *points)
    rates = ((u.omega_g - omega_m) / p["t_sp"], (u.p_e - p_m) / p["t_pe"], error / p["t_i"])
    output = clip(x_i + p["k_p"] * error, p["out_min"], p["out_max"])
    return rates, {2: (p["out_min"], p["out_max"])}, (p_m, x_i, output)


def test_wt2e1_is_its_block_diagram():
    """The power rises above and falls below that of the speed, to both limits."""
    inputs = {
        "omega_g": step(1.02, (0.5013, 1.03), (2.5017, 1.01)),
        "p_e": step(0.6, (0.2013, 1.1), (1.6017, 0.2), (3.0013, 0.45)),
    }
    guess = {"omega_m": 1.02, "p_m": 0.6, "x": 0.5, "r_control": 0.5}
    found = run_alone(WT2E1, CONTROL, guess, inputs)
    expected = respond(wt2e1, CONTROL, (1.02, 0.6, 0.5), inputs).T
    for own, other in zip((found.p_m, found.x, found.r_control), expected, strict=True):
        assert np.abs(own - other).max() < TOLERANCE
    assert (found.r_control.min(), found.r_control.max()) == pytest.approx((0.1, 0.9))


def wt12a1(p, u, x):
    p_m, x_i, y_1, p_mech = x
    error = u.ref - u.omega_t - p["droop"] * p_m
    y = clip(x_i + p["k_p"] * error, p["y_min"], p["y_max"])
    rates = ((u.p_e - p_m) / p["t_p"], error / p["t_i"], (y - y_1) / p["t_1"], (y_1 - p_mech) / p["t_2"])
    return rates, {1: (p["y_min"], p["y_max"])}, (x_i, p_mech)


def test_wt12a1_is_its_block_diagram():
    inputs = {
        "p_e": step(0.6, (0.3013, 0.9), (2.0017, 0.1)),
        "omega_t": step(1.01, (0.8013, 1.3), (1.8017, 0.7), (3.0013, 1.0)),
        "ref": step(1.04),
    }
    found = run_alone(WT12A1, AERODYNAMICS, dict.fromkeys(WT12A1.states, 0.6), inputs)
    expected = respond(wt12a1, AERODYNAMICS, (0.6, 0.6, 0.6, 0.6), inputs).T
    for own, other in zip((found.x, found.p_mech), expected, strict=True):
        assert np.abs(own - other).max() < TOLERANCE
    assert (found.x.min(), found.x.max()) == pytest.approx((0.2, 0.9))


# Values of the records after the defaults of the WECC's guide (2010); the circuit of two cages is made up.
ONE_CAGE, TWO_CAGES = "0.846 0 3.927 0.1773 0 0.1 1 0.03 1.2 0.179", "0.81 0.035 3.6 0.21 0.15 0.1 1 0 1.2 0"
SHAFT = "1 'WT12T1' 1 5.3 0 {frac} 1.5 0.3 /\n"
AERO = "1 'WT12A1' 1 0.01 10 1 0.1 0.1 0.1 1.0 0.25 /\n"
ROTORS = (
    "1 'WT2G1' 1 0.1 3.5 0.12 0.005 0.11 1 0.03 1.2 0.179 0.05 0.3 0.5 0.8 1.0 0.004 0.01 0.015 0.03 0.08 /\n"
)
PLANTS = {
    "WT1 alone": f"1 'WT1G1' 1 {ONE_CAGE} /\n",
    "WT1, one cage": f"1 'WT1G1' 1 {ONE_CAGE} /\n{SHAFT.format(frac=0.91)}{AERO}",
    "WT1, two cages, one mass": f"1 'WT1G1' 1 {TWO_CAGES} /\n{SHAFT.format(frac=0)}{AERO}",
    "WT2 alone": ROTORS,
    "WT2": f"{ROTORS}1 'WT2E1' 1 0.05 0.05 1 1 0.99 0.0 /\n{SHAFT.format(frac=0.91)}{AERO}",
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_of_a_dyr_file_is_at_rest_and_comes_back(name, tmp_path):
    _, mine, theirs = there_and_back(tmp_path, f"{OTHERS}{PLANTS[name]}", near=1e-8)
    assert mine
    assert mine == theirs
