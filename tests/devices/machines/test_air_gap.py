"""AirGapMachine against the winding equations of RAMSES, and the field currents of the Nordic report."""

import numpy as np
import pytest
from scipy.optimize import root

from tests.components import AirGapMachine, HydroPI
from tests.devices.alone import TOLERANCE, guess_of, respond, run_alone
from tests.devices.diagram import step
from tests.internals import Terminal

ROUND = {
    **{"s_n": 64.0, "s_base": 100.0, "f_n": 50.0, "h": 6.0, "d": 1.0, "r_a": 0.002, "x_l": 0.15},
    **{"x_d": 2.2, "x_d1": 0.3, "x_2": 0.2, "x_q": 2.0, "x_q1": 0.4, "x_q2": 0.22, "t_d01": 7.0},
    **{"t_d02": 0.05, "t_q01": 1.5, "t_q02": 0.05, "s_10": 0.1, "s_12": 0.3, "speed_voltage": 1.0},
    "mechanical_power": 0.0,
}
SALIENT = {"x_d": 1.1, "x_d1": 0.25, "x_q": 0.7, "x_q1": 0.7, "t_d01": 5.0, "t_q01": 0.0, "t_q02": 0.1}
HYDRO = {
    **{"s_n": 64.0, "p_nom": 60.8, "sigma": 0.04, "t_p": 2.0, "k_p": 2.0, "k_i": 0.4, "t_sm": 0.2},
    **{"rate_max": 0.1, "t_w": 1.0},
}
PARAMETERS = {AirGapMachine: ROUND, HydroPI: HYDRO}
VARIANTS = {AirGapMachine: (SALIENT, {"speed_voltage": 0.0, "s_10": 0.0, "s_12": 0.0})}
ZERO = {HydroPI: ("t_p",)}


def windings(p, x, x_1, x_2, t_1, t_2):
    """Unsaturated magnetising inductance, leakages and resistances of two windings of an axis, in pu."""
    omega = 2 * np.pi * p["f_n"]
    mutual = x - p["x_l"]
    first = 1 / (1 / (x_1 - p["x_l"]) - 1 / mutual)
    second = 1 / (1 / (x_2 - p["x_l"]) - 1 / (x_1 - p["x_l"]))
    both = mutual * first / (mutual + first)
    return mutual, first, second, (mutual + first) / (omega * t_1), (second + both) / (omega * t_2)


def circuit(p, u, x):
    """Fluxes of four windings and their currents, with stator currents into the machine, as RAMSES has."""
    delta, omega, psi_f, psi_d1, psi_q1, psi_q2 = x
    turn = 2 * np.pi * p["f_n"]
    d = windings(p, *(p[k] for k in ("x_d", "x_d1", "x_2", "t_d01", "t_d02")))
    q = windings(p, *(p[k] for k in ("x_q", "x_q1", "x_q2", "t_q01", "t_q02")))
    n = np.log(p["s_12"] / p["s_10"]) / np.log(1.2)
    v_d = -np.sin(delta) * u.v_re + np.cos(delta) * u.v_im
    v_q = np.cos(delta) * u.v_re + np.sin(delta) * u.v_im

    def balance(z):
        ad, aq, i_d, i_q = z
        saturated = 1 + p["s_10"] * np.hypot(ad, aq) ** n
        return (
            ad * (saturated / d[0] + 1 / d[1] + 1 / d[2]) - i_d - psi_f / d[1] - psi_d1 / d[2],
            aq * (saturated / q[0] + 1 / q[1] + 1 / q[2]) - i_q - psi_q1 / q[1] - psi_q2 / q[2],
            v_d + p["r_a"] * i_d + omega * (p["x_l"] * i_q + aq),
            v_q + p["r_a"] * i_q - omega * (p["x_l"] * i_d + ad),
        )

    found = root(balance, (0.9, -0.4, -0.3, 0.5), tol=1e-13)
    assert np.abs(found.fun).max() < 1e-9
    ad, aq, i_d, i_q = found.x
    i_f = (psi_f - ad) / d[1]
    rates = (
        turn * (omega - 1),
        (u.t_m - (ad * i_q - aq * i_d) - p["d"] * (omega - 1)) / (2 * p["h"]),
        turn * d[3] * (u.v_f / d[0] - i_f),
        -turn * d[4] * (psi_d1 - ad) / d[2],
        -turn * q[3] * (psi_q1 - aq) / q[1],
        -turn * q[4] * (psi_q2 - aq) / q[2],
    )
    return rates, {}, (delta, omega, -i_d, i_q, i_f * d[0], ad, -aq)


def test_the_machine_is_that_of_ramses_by_its_windings():
    """A dip of the voltage, then more field and more torque; the d axis of RAMSES leads its q axis."""
    terminal = Terminal(0.6 + 0.8j, (0.7 - 0.3j) * (0.6 + 0.8j) * 0.64, {})
    guess = guess_of(AirGapMachine, ROUND, terminal)
    size = step(1.0, (0.3013, 0.6), (0.4017, 1.0))
    inputs = {
        "v_re": step(0.6, *((t, 0.6 * size(t)) for t in size.jumps)),
        "v_im": step(0.8, *((t, 0.8 * size(t)) for t in size.jumps)),
        "v_f": step(float(guess["v_f"]), (1.5013, float(guess["v_f"]) + 0.5)),
        "t_m": step(float(guess["t_m"]), (2.5017, float(guess["t_m"]) + 0.1)),
    }
    found = run_alone(AirGapMachine, ROUND, guess, inputs, h=2e-4)
    mutual, leakage, *_ = windings(ROUND, *(ROUND[k] for k in ("x_d", "x_d1", "x_2", "t_d01", "t_d02")))
    ad, aq = guess["psi_ad"], -guess["psi_aq"]
    rest = (guess["delta"], 1.0, guess["i_f"] / mutual * leakage + ad, ad, aq, aq)
    expected = respond(circuit, ROUND, tuple(map(float, rest)), inputs).T
    names = ("delta", "omega", "i_d", "i_q", "i_f", "psi_ad", "psi_aq")
    for name, theirs in zip(names, expected, strict=True):
        assert np.abs(getattr(found, name) - theirs).max() < TOLERANCE, name
    assert np.ptp(found.i_d) > 0.5


@pytest.mark.parametrize(
    ("other", "p_nom", "printed"),
    [
        ({}, 0.9, 2.9160),
        (SALIENT, 0.95, 1.8087),
        (SALIENT | {"x_d": 1.55, "x_d1": 0.3, "x_q": 1.0, "x_q1": 1.0}, 0.0, 2.8170),
    ],
    ids=["round rotor", "salient poles", "condenser"],
)
def test_field_currents_at_rated_operation_are_those_of_the_nordic_report(other, p_nom, printed):
    """Table 12 of the report: 1 pu voltage and current at the power factor of the turbine's rating."""
    p = ROUND | other | {"s_n": 100.0, "r_a": 0.0}
    terminal = Terminal(1.0 + 0j, p_nom - 1j * np.sqrt(1 - p_nom**2), {})
    assert guess_of(AirGapMachine, p, terminal)["i_f"] == pytest.approx(printed, abs=5e-5)


def governor(p, u, x):
    p_m, x_i, gate, flow = x
    error = p["sigma"] * (u.p_ref - p_m) - (u.omega - 1)
    rate = np.clip((p["k_p"] * error + x_i - gate) / p["t_sm"], -p["rate_max"], p["rate_max"])
    head = (flow / gate) ** 2
    rates = ((u.i_d * p["s_n"] / p["p_nom"] - p_m) / p["t_p"], p["k_i"] * error, rate, (1 - head) / p["t_w"])
    return rates, {2: (0.0, 1.0)}, (x_i, gate, head * flow / u.omega * p["p_nom"] / p["s_n"])


def test_the_hydro_governor_is_its_block_diagram():
    """The speed falls until the gate is open, at its limit of rate, and rises until it closes."""
    power = 0.5 * HYDRO["s_n"] / HYDRO["p_nom"]
    inputs = {
        **{"v_re": step(1.0), "v_im": step(0.0), "delta": step(np.pi / 2), "i_q": step(0.0)},
        **{"i_d": step(0.5, (2.2011, 0.62)), "p_ref": step(power, (1.6013, 0.6))},
        "omega": step(1.0, (0.2013, 0.8), (1.0017, 1.05), (2.6013, 0.99)),
    }
    guess = dict.fromkeys(("p_m", "x_i", "gate", "flow"), power) | {"t_m": 0.5}
    found = run_alone(HydroPI, HYDRO, guess, inputs)
    expected = respond(governor, HYDRO, (power,) * 4, inputs).T
    for mine, theirs in zip((found.x_i, found.gate, found.t_m), expected, strict=True):
        assert np.abs(mine - theirs).max() < 4 * TOLERANCE
    assert np.ptp(found.gate) > 0.05
