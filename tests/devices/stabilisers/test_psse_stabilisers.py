"""Step responses of PSS2B and STAB1 against their block diagrams, past both sides of every limit."""

import numpy as np
import pytest

from psmr import Device
from psmr.errors import InputError
from tests.components import PSS2B, STAB1
from tests.devices.diagram import Block, clip
from tests.devices.library import PARAMETERS
from tests.devices.stabilisers.test_stabilisers import (
    INPUTS,
    TWO_INPUTS,
    compare,
    lead_lag,
    numbers,
    pss2a,
    sensor,
    signal,
)


def pss2b(p):
    """The blocks of PSS2A with limits before the washouts and a lead-lag behind."""
    blocks, _ = pss2a(p)
    blocks["lead_3"] = lead_lag(p["t_10"], p["t_11"])

    def wiring(b, u):
        u_1 = clip(signal(b.sensor_1, u, p["input_1"]), p["v_s1_min"], p["v_s1_max"])
        u_2 = clip(signal(b.sensor_2, u, p["input_2"]), p["v_s2_min"], p["v_s2_max"])
        first = b.lag_6(b.washout_2(b.washout_1(u_1)))
        second = b.lag_7(b.washout_4(b.washout_3(u_2)))
        output = b.lead_2(b.lead_1(p["k_s1"] * (b.ramp(first + p["k_s3"] * second) - second)))
        return clip(b.lead_3(output), p["v_st_min"], p["v_st_max"])

    return blocks, wiring


def stab1(p):
    blocks = {
        "sensor": sensor(1),
        "washout": Block([p["k_t"] * p["t"], 0], [p["t"], 1]),
        "lead_1": lead_lag(p["t1_t3"] * p["t_3"], p["t_3"]),
        "lead_2": lead_lag(p["t2_t4"] * p["t_4"], p["t_4"]),
    }

    def wiring(b, u):
        return clip(b.lead_2(b.lead_1(b.washout(signal(b.sensor, u, 1)))), -p["h_lim"], p["h_lim"])

    return blocks, wiring


@TWO_INPUTS
def test_pss2b(codes, orders, form):
    code = {"input_1": codes[0], "input_2": codes[1], "m": orders[0], "n": orders[1]}
    # Both inputs pass their limits on both sides; a signal that is none is 0, within its limits.
    limits = {"v_s1_max": 0.012, "v_s1_min": -0.018, "v_s2_max": 0.8, "v_s2_min": 0.4}
    limits |= {"v_s2_min": -1.0} if codes[1] == 0 else {}
    gain = 2.0 if form == "algebraic" else 0.5
    p = numbers(PSS2B, form, v_st_max=0.015, v_st_min=-0.012, k_s1=gain, **code, **limits)
    found = compare(PSS2B, pss2b, p, INPUTS)
    assert found.max() == pytest.approx(0.015, abs=1e-15)
    assert found.min() == pytest.approx(-0.012, abs=1e-15)
    wide = compare(PSS2B, pss2b, p | {"v_s1_max": 9.0, "v_s1_min": -9.0}, INPUTS)
    assert np.abs(wide - found).max() > 1e-3


@pytest.mark.parametrize("form", ["whole", "algebraic"])
def test_stab1(form):
    found = compare(STAB1, stab1, numbers(STAB1, form, h_lim=0.1), INPUTS)
    assert found.max() == pytest.approx(0.1, abs=1e-15)
    assert found.min() == pytest.approx(-0.1, abs=1e-15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v_s1_min": 0.4}, r"v_s1_min = 0\.4: must be below v_s1_max = 0\.3"),
        ({"v_s2_min": 0.9}, r"v_s2_min = 0\.9: must be below v_s2_max"),
        ({"t_11": 0.0}, r"t_11 = 0 and t_10 = 0\.1"),
        ({"t_2": 0.0}, r"t_2 = 0 and t_1 = 0\.2"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        Device("d", PSS2B, PARAMETERS[PSS2B] | change)
