"""GENTPJ1 against its equations in another form, integrated by scipy, and its records."""

import numpy as np
import pytest
from scipy.optimize import root

import psmr
from tests.components import GENTPJ1
from tests.devices.alone import TOLERANCE, guess_of, respond, run_alone
from tests.devices.diagram import step
from tests.files.back import OTHERS, there_and_back
from tests.files.raw import raw_text
from tests.internals import Terminal

MACHINE = {
    **{"s_n": 64.0, "s_base": 100.0, "f_n": 60.0, "h": 4.0, "d": 1.0, "r_a": 0.003, "x_d": 1.8, "x_q": 1.7},
    **{"x_d1": 0.3, "x_q1": 0.55, "x_2": 0.25, "x_q2": 0.28, "x_l": 0.18, "t_d01": 3.0, "t_d02": 0.05},
    **{"t_q01": 0.5, "t_q02": 0.08, "s_10": 0.1, "s_12": 0.4, "k_is": 0.08, "mechanical_power": 0.0},
}
A = (1 - np.sqrt(0.1 / 0.48) * 1.2) / (1 - np.sqrt(0.1 / 0.48))
B = 0.1 / (1 - A) ** 2


def saturation(x):
    """B (x - A)^2/x through S(1.0) = 0.1 and S(1.2) = 0.4, by hand from the two points."""
    return B * (x - A) ** 2 / x if x > A else 0.0


def circuit(p, u, x):
    """The equations as OpenIPSL writes them, with E_q1, E_q2, E_d1 and E_d2; stator currents solved for."""
    delta, omega, e_q, psi_d2, e_d, psi_q2 = x
    v = (u.v_re + 1j * u.v_im) * np.exp(-1j * (delta - np.pi / 2))
    u_d, u_q = v.real, v.imag

    def inside(i):
        gap = abs(v + (p["r_a"] + 1j * p["x_l"]) * complex(*i))
        s = saturation(gap + p["k_is"] * np.hypot(*i))
        d_sat, q_sat = 1 + s, 1 + p["x_q"] / p["x_d"] * s
        x_d = (p["x_2"] - p["x_l"]) / d_sat + p["x_l"]
        x_q = (p["x_q2"] - p["x_l"]) / q_sat + p["x_l"]
        return d_sat, q_sat, psi_d2 - x_d * i[0], psi_q2 - x_q * i[1]

    def stator(i):
        _, _, psi_d, psi_q = inside(i)
        return (-psi_q - p["r_a"] * i[0] - u_d, psi_d - p["r_a"] * i[1] - u_q)

    found = root(stator, (0.3, 0.5), tol=1e-12)
    assert np.abs(found.fun).max() < 1e-9
    i_d, i_q = found.x
    d_sat, q_sat, psi_d, psi_q = inside(found.x)
    d, q = p["x_d1"] - p["x_2"], p["x_q1"] - p["x_q2"]
    wide_d, wide_q = p["x_d"] - p["x_2"], p["x_q"] - p["x_q2"]
    e_q1 = (-psi_d2 * (p["x_d"] - p["x_d1"]) + e_q * wide_d) / d
    e_d1 = (psi_q2 * (p["x_q"] - p["x_q1"]) + e_d * wide_q) / q
    e_q2 = (psi_d2 - e_q + i_d * d / d_sat) * wide_d / d
    e_d2 = -(e_d + psi_q2) * wide_q / q - i_q * wide_q / q_sat
    torque = psi_d * i_q - psi_q * i_d
    rates = (
        2 * np.pi * p["f_n"] * (omega - 1),
        (u.t_m - torque - p["d"] * (omega - 1)) / (2 * p["h"]),
        (u.v_f - d_sat * e_q1) / p["t_d01"],
        -d_sat * d / wide_d * e_q2 / p["t_d02"],
        -q_sat * e_d1 / p["t_q01"],
        q_sat * q / wide_q * e_d2 / p["t_q02"],
    )
    return rates, {}, (*x, i_d, i_q, d_sat * e_q1)


def test_gentpj_is_its_equations_in_another_form():
    """A dip of the voltage, then more field and more torque."""
    terminal = Terminal(0.6 + 0.8j, (0.7 - 0.3j) * (0.6 + 0.8j) * 0.64, {})
    guess = guess_of(GENTPJ1, MACHINE, terminal)
    size = step(1.0, (0.3013, 0.6), (0.4017, 1.0))
    inputs = {
        "v_re": step(0.6, *((t, 0.6 * size(t)) for t in size.jumps)),
        "v_im": step(0.8, *((t, 0.8 * size(t)) for t in size.jumps)),
        "v_f": step(float(guess["v_f"]), (1.5013, float(guess["v_f"]) + 0.5)),
        "t_m": step(float(guess["t_m"]), (2.5017, float(guess["t_m"]) + 0.1)),
    }
    found = run_alone(GENTPJ1, MACHINE, guess, inputs, h=2e-4)
    names = ("delta", "omega", "e_q", "psi_d2", "e_d", "psi_q2")
    rest = tuple(float(guess[name]) for name in names)
    expected = respond(circuit, MACHINE, rest, inputs).T
    for name, theirs in zip((*names, "i_d", "i_q", "i_f"), expected, strict=True):
        assert np.abs(getattr(found, name) - theirs).max() < TOLERANCE, name
    assert np.ptp(found.i_d) > 0.5


VALUES = "8.0 0.03 0.4 0.05 6.5 0 1.8 1.7 0.3 0.55 0.25 0.28 0.18 0.1 0.4 0.06"


def test_the_record_goes_there_and_back(tmp_path):
    _, mine, theirs = there_and_back(tmp_path, f"1 'GENTPJ1' 1 {VALUES} /\n{OTHERS}")
    assert mine == theirs
    assert mine["GENTPJ1"]["k_is"] == 0.06


@pytest.mark.parametrize("values", [VALUES, VALUES.replace("0.03 0.4", "0.03 0")], ids=["round", "salient"])
def test_gentpju1_is_its_name_as_a_user_written_model(tmp_path, values):
    """16 values after a header of six counts, as InterPSS reads it; T'q0 = 0 has no first q winding."""
    (tmp_path / "case.raw").write_text(raw_text())
    (tmp_path / "case.dyr").write_text(f"1 'USRMDL' 1 'GENTPJU1' 1 1 0 16 6 1\n {values} /\n{OTHERS}")
    case = psmr.read_case(tmp_path / "case.raw", tmp_path / "case.dyr")
    assert case.generators[0].devices[0].type == "GENTPJ1"
    system = psmr.build(case)
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
