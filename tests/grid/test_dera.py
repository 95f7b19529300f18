"""Distributed generation alone, against its diagram as a differential equation solved with scipy."""

import numpy as np
import pytest

from psmr.dae.declare.device import Device
from psmr.errors import InputError
from psmr.grid.equilibrium.equilibrium import Terminal
from psmr.grid.models.renewables import DERA1
from tests.grid.diagram import step
from tests.grid.library import PARAMETERS
from tests.grid.test_renewables import TOLERANCE, band, guess_of, respond, run_alone

BASE = PARAMETERS[DERA1] | {
    **{"v_0": 1.0, "k_qv": 3.0, "dbd1": -0.02, "dbd2": 0.03, "iqh1": 0.35, "iql1": -0.25, "t_g": 0.02},
    **{"rrpwr": 2.0, "dp_max": 1.5, "dp_min": -2.0, "d_dn": 30.0, "d_up": 20.0, "fdbd1": -0.001},
    **{"fdbd2": 0.0015, "fe_max": 0.3, "fe_min": -0.25, "p_max": 0.8, "p_min": 0.2, "i_max": 0.9},
}


def dera1(p, u, x):
    v_m, p_m, i_qv, angle, x_p, p_ord, i_p, i_q = x
    phasor = u.v_re + 1j * u.v_im
    v = abs(phasor)
    asked = u.q_ref * (p_m if p["pf_flag"] else 1.0)
    injected = p["k_qv"] * band((p["v_ref0"] or p["v_0"]) - v_m, p["dbd1"], p["dbd2"])
    injected = np.clip(injected, p["iql1"], p["iqh1"]) if p["k_qv"] else 0.0
    ahead = np.angle(phasor * np.exp(-1j * angle))
    slow = band(u.f_ref - 1 - ahead / p["t_rf"] / (2 * np.pi * p["f_n"]), p["fdbd1"], p["fdbd2"])
    droop = p["d_up"] * slow if slow > 0 else p["d_dn"] * slow
    error = np.clip(u.p_ref + droop - p_m, p["fe_min"], p["fe_max"])
    regulated = np.clip(p["k_pg"] * error + x_p, p["p_min"], p["p_max"])
    order = regulated if p["freq_flag"] else u.p_ref
    active, reactive = p_ord / v_m, injected + i_qv

    def room(taken):
        return np.sqrt(max(p["i_max"] ** 2 - taken**2, 0.0))

    def lowest(limit):
        return 0.0 if p["type_flag"] else -limit

    if p["pq_flag"]:
        ip_cmd = np.clip(active, lowest(p["i_max"]), p["i_max"])
        iq_cmd = np.clip(reactive, -room(ip_cmd), room(ip_cmd))
    else:
        iq_cmd = np.clip(reactive, -p["i_max"], p["i_max"])
        ip_cmd = np.clip(active, lowest(room(iq_cmd)), room(iq_cmd))
    rise = (ip_cmd - i_p) / p["t_g"]
    rates = (
        (v - v_m) / p["t_rv"],
        (v * i_p - p_m) / p["t_p"],
        (asked / v_m - i_qv) / p["t_iq"],
        ahead / p["t_rf"],
        p["k_ig"] * error,
        np.clip((order - p_ord) / p["t_pord"], p["dp_min"], p["dp_max"]),
        min(rise, p["rrpwr"]) if i_p >= 0 else max(rise, -p["rrpwr"]),
        (iq_cmd - i_q) / p["t_g"],
    )
    i = (i_p - 1j * i_q) * phasor / v * p["s_n"] / p["s_base"]
    bounds = (p["p_min"], p["p_max"])
    return rates, {4: bounds, 5: bounds}, (ip_cmd, iq_cmd, i.real, i.imag)


FLAGS = [
    {},
    {"freq_flag": 0.0, "pf_flag": 0.0},
    {"pq_flag": 1.0, "v_ref0": 0.99},
    {"type_flag": 0.0, "p_min": -0.6, "freq_flag": 0.0},
]


@pytest.mark.parametrize("change", FLAGS, ids=str)
def test_dera1(change):
    """Both sides of every limit: a sag, a swell, a frequency beyond both ends of its band, two orders."""
    p = BASE | change
    size = step(
        1.0, (0.3013, 0.85), (0.7017, 1.02), (1.5013, 1.2), (1.8017, 1.0), (2.6013, 0.6), (2.9017, 1.0)
    )
    turned = step(np.angle(0.6 + 0.8j), (1.1013, 1.2), (2.1017, 0.7))
    times = sorted({*size.jumps, *turned.jumps})
    inputs = {
        "v_re": step(0.6, *((t, size(t) * np.cos(turned(t))) for t in times)),
        "v_im": step(0.8, *((t, size(t) * np.sin(turned(t))) for t in times)),
        "p_ref": step(0.6, (0.1017, 1.1), (1.3013, -0.8), (2.3017, 0.7), (3.5013, 0.5)),
        "f_ref": step(1.0, (3.2013, 1.02), (3.4017, 0.98), (3.6017, 1.0)),
    }
    terminal = Terminal(0.6 + 0.8j, (0.6 - 0.2j) * (0.6 + 0.8j) * 0.64, {})
    guess = guess_of(DERA1, p, terminal)
    # An injection at the start would be one of the voltage's reference.
    injected = p["k_qv"] * band((p["v_ref0"] or 1.0) - 1.0, p["dbd1"], p["dbd2"])
    assert injected == 0.0
    q = float(guess["q_ref"])
    inputs["q_ref"] = step(q, (0.9013, 4 * q), (1.7017, -4 * q), (2.4013, q))
    found = run_alone(DERA1, p, guess, inputs)
    power = 0.6 if p["freq_flag"] else 0.0
    angle = np.angle(0.6 + 0.8j) if p["freq_flag"] else 0.0
    start = (1.0, 0.6, 0.2, angle, power, 0.6, 0.6, 0.2)
    expected = respond(dera1, p, start, inputs)
    for own, other in zip((found.ip_cmd, found.iq_cmd, found.i_re, found.i_im), expected.T, strict=True):
        assert np.abs(own - other).max() < 2 * TOLERANCE
    # With frequency control the order itself is limited, and p_ord comes near it by its lag.
    near = 2e-3 if p["freq_flag"] else 1e-9
    assert found.p_ord.max() == pytest.approx(p["p_max"], abs=near)
    assert found.p_ord.min() == pytest.approx(p["p_min"], abs=near)
    assert (np.hypot(found.ip_cmd, found.iq_cmd) >= p["i_max"] - 1e-6).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dbd1": 0.1}, r"dbd1 = 0\.1: must be at most 0"),
        ({"dp_min": 0.5}, r"dp_min = 0\.5: must be < 0"),
        ({"k_ig": 0.0}, "k_ig = 0: must be > 0 where freq_flag is 1"),
        ({"p_min": -0.2}, r"type_flag = 1 and p_min = -0\.2"),
        ({"iql1": 0.7}, r"iql1 = 0\.7: must be below iqh1"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    wires = {port: f"x.{port}" for port in DERA1.outputs}
    with pytest.raises(InputError, match=message):
        Device("d", DERA1, PARAMETERS[DERA1] | change, wires)
