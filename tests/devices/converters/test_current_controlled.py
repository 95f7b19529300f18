"""REGCC1 and GDFORM: their diagrams, a public file of REGCC1, and the records."""

import numpy as np
import pytest

from tests.components import REGCC1
from tests.devices.alone import TOLERANCE, guess_of, respond, run_alone
from tests.devices.converters.test_converter_sources import SOURCE, regcb1
from tests.devices.diagram import clip, step
from tests.devices.psse_library import CURRENT_CONTROL
from tests.files.back import OTHERS, there_and_back
from tests.internals import Terminal


def regcc1(p, u, x):
    """The references of REGCB1, whose source is read back from its aim; the loops with complex numbers."""
    x_p, i_q, v_m, x_d, x_q, e_d, e_q, x_pll, theta = x
    (rate_p, rate_q, d_m, aim_d, aim_q), _, _ = regcb1(p | {"t_e": 1.0}, u, (x_p, i_q, v_m, 0.0, 0.0))
    z = p["r_e"] + 1j * p["x_e"]
    phasor = u.v_re + 1j * u.v_im
    asked = (aim_d + 1j * aim_q - abs(phasor)) / z
    v = phasor * np.exp(-1j * theta)
    i = (e_d + 1j * e_q - v) / z
    error = asked - i
    aim = v + z * (p["k_ip"] * error + x_d + 1j * x_q)
    rates = (
        *(rate_p, rate_q, d_m),
        *(p["k_ii"] * error.real, p["k_ii"] * error.imag),
        *((aim.real - e_d) / p["t_e"], (aim.imag - e_q) / p["t_e"]),
        p["k_ipll"] * v.imag,
        clip(p["k_ppll"] * v.imag + x_pll, p["w_min"], p["w_max"]),
    )
    power, injected = v * np.conj(i), i * np.exp(1j * theta) * p["s_n"] / p["s_base"]
    limits = {7: (p["w_min"], p["w_max"])}
    return rates, limits, (power.real, power.imag, injected.real, injected.imag, x_pll)


@pytest.mark.parametrize("change", [{}, {"rate_flag": 1.0, "q_0": -0.1}, {"pq_flag": 1.0}], ids=str)
def test_regcc1_is_its_block_diagram(change):
    """The current limit from both sides; the voltage jumps in size and angle past the loop's limits."""
    p = SOURCE | CURRENT_CONTROL | change
    phasor = step(0.6 + 0.8j, (0.5013, 0.36 + 0.48j), (0.9017, 0.9 + 0.3j), (1.4013, 0.6 + 0.8j))
    inputs = {
        "v_re": step(0.6, *((t, phasor(t).real) for t in phasor.jumps)),
        "v_im": step(0.8, *((t, phasor(t).imag) for t in phasor.jumps)),
        "ip_cmd": step(0.8, (0.3013, 0.1), (1.7017, 1.2), (3.0013, -0.9)),
        "iq_cmd": step(0.2, (0.7013, 0.95), (1.9017, -0.7), (2.4013, -1.4), (3.4017, 0.3)),
    }
    guess = guess_of(REGCC1, p, Terminal(0.6 + 0.8j, (0.8 - 0.2j) * (0.6 + 0.8j) * 0.64, {}))
    found = run_alone(REGCC1, p, guess, inputs)
    aim = 1.0 + (p["r_e"] + 1j * p["x_e"]) * (0.8 - 0.2j)
    rest = (0.8, 0.2, 1.0, 0.8, -0.2, aim.real, aim.imag, 0.0, np.arctan2(0.8, 0.6))
    expected = respond(regcc1, p, rest, inputs)
    ours = (found.p_e, found.q_e, found.i_re, found.i_im, found.x_pll)
    for own, other in zip(ours, expected.T, strict=True):
        assert np.abs(own - other).max() < 5 * TOLERANCE
    assert (found.x_pll.min(), found.x_pll.max()) == pytest.approx((-2.0, 3.0), abs=0.01)


RECORDS = {
    # kundur-twoarea_4renewable_regcc1.dyr of GridPACK's data sets.
    "REGCC1": "0 0 0.02 0.02 100 -100 0.4 0.02 1.2 5.0 70.0 20.0 1500 12 -12",
    # case_ACTIVSg2000_1_gdform_dyn.dyr of the same.
    "GDFORM": "0.017 0 5.86 0.05 0.01 0.1 1.0 0.0 1.2 0.0 0.01 2.0 1.0 -1.0 3.0 20.0 0.01 0.01 1.0",
}


@pytest.mark.parametrize("model", RECORDS)
def test_a_plant_of_a_dyr_file_starts_and_comes_back(model, tmp_path):
    _, mine, theirs = there_and_back(tmp_path, f"1 '{model}' 1 {RECORDS[model]} /\n{OTHERS}")
    assert len(mine) == 1
    assert mine == theirs
