"""PSS1A and PSS2C: their diagrams; records of PSS/E 36 from InterPSS' public test data."""

from types import SimpleNamespace

import numpy as np
import pytest

from psmr import Device
from psmr.errors import InputError
from tests.components import PSS1A, PSS2C
from tests.devices.alone import guess_of, run_alone
from tests.devices.diagram import TIMES, Block, clip
from tests.devices.library import PARAMETERS
from tests.devices.stabilisers.test_psse_stabilisers import pss2b
from tests.devices.stabilisers.test_stabilisers import INPUTS, compare, lead_lag, sensor, signal
from tests.files.back import OTHERS, there_and_back
from tests.internals import Terminal


def pss1a(p):
    blocks = {
        "sensor": sensor(p["input"]),
        "lag": Block([1], [p["t_6"], 1]),
        "washout": Block([p["k_s"] * p["t_5"], 0], [p["t_5"], 1]),
        "filter": Block([1], [p["a_2"], p["a_1"], 1]),
        "lead_1": lead_lag(p["t_1"], p["t_2"]),
        "lead_2": lead_lag(p["t_3"], p["t_4"]),
    }

    def wiring(b, u):
        output = b.lead_2(b.lead_1(b.filter(b.washout(b.lag(signal(b.sensor, u, p["input"]))))))
        inside = p["v_cl"] <= abs(u.v_re + 1j * u.v_im) <= p["v_cu"]
        return clip(output, p["l_s_min"], p["l_s_max"]) if inside else 0.0

    return blocks, wiring


def pss2c(p):
    """The blocks of PSS2B without its limits, which come behind the fourth lead-lag."""
    blocks, before = pss2b(p | {"v_st_max": np.inf, "v_st_min": -np.inf})
    blocks["lead_4"] = lead_lag(p["t_12"], p["t_13"])
    return blocks, lambda b, u: clip(b.lead_4(before(b, u)), p["v_st_min"], p["v_st_max"])


@pytest.mark.parametrize("code", [1, 3, 6])
def test_pss1a_is_its_block_diagram(code):
    small = {"l_s_max": 0.1, "l_s_min": -0.05, "k_s": {1: 12.0, 3: 0.4, 6: 0.05}[code]}
    p = PARAMETERS[PSS1A] | {"input": code} | small
    found = compare(PSS1A, pss1a, p, INPUTS)
    assert found.max() == pytest.approx(0.1, abs=1e-15)
    assert found.min() == pytest.approx(-0.05, abs=1e-15)


LIMITED = PARAMETERS[PSS2C] | {
    **{"v_s1_max": 0.012, "v_s1_min": -0.018, "v_s2_max": 0.8, "v_s2_min": 0.4},
    **{"v_st_max": 0.015, "v_st_min": -0.012, "p_on": -9.0, "p_off": -9.0},
}


def test_pss2c_is_its_block_diagram():
    found = compare(PSS2C, pss2c, LIMITED, INPUTS)
    assert found.max() == pytest.approx(0.015, abs=1e-15)
    assert found.min() == pytest.approx(-0.012, abs=1e-15)


def power(t):
    """The machine's electrical power, which INPUTS make constant between their steps."""
    u = SimpleNamespace(**{name: f(t) for name, f in INPUTS.items()})
    current = (u.i_d + 1j * u.i_q) * np.exp(1j * (u.delta - np.pi / 2))
    return ((u.v_re + 1j * u.v_im) * np.conj(current)).real


def run(p):
    own = Device("d", PSS2C, p).component
    inputs = {name: INPUTS[name] for name in own.inputs}
    at_rest = {name: f(-1.0) for name, f in INPUTS.items()}
    guess = guess_of(PSS2C, p, Terminal(1.0 + 0.0j, 0j, at_rest))
    return run_alone(own, p, guess | {"p_e": power(-1.0)}, inputs, h=2e-3)


def test_pss2c_is_on_above_a_power():
    """It goes on above p_on and off below p_off, and stays between what it was."""
    p_on, p_off = 0.72, 0.6
    jumps = sorted({t for f in INPUTS.values() for t in f.jumps})
    states = []
    for t in TIMES:
        on = power(-1.0) >= p_on
        for jump in (j for j in jumps if j <= t):
            now = power(jump + 1e-6)
            on = now > p_on or (on and now >= p_off)
        states.append(on)
    always = run(LIMITED)
    found = run(LIMITED | {"p_on": p_on, "p_off": p_off, "on": float(power(-1.0) >= p_on)})
    assert np.abs(found.p_e - [power(t) for t in TIMES]).max() < 1e-9
    assert np.abs(found.v_s - np.where(states, always.v_s, 0.0)).max() < 1e-9
    same = run(LIMITED | {"p_on": p_on, "p_off": p_on})
    assert np.abs(same.v_s - always.v_s).max() < 1e-12
    assert {on for on, t in zip(states, TIMES, strict=True) if p_off < power(t) < p_on} == {False, True}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p_on": 0.3, "p_off": 0.5}, r"p_off = 0\.5: must be at most p_on = 0\.3"),
        ({"input_1": 6}, r"input_1 = 6: must be from 1 to 5 here; programs differ"),
    ],
)
def test_what_pss2c_objects_to(change, message):
    with pytest.raises(InputError, match=message):
        Device("d", PSS2C, LIMITED | change)


RECORDS = {
    "PSS1A": (
        "1 0.061 0.0017 0.30 0.03 0.30 0.03 5.0 0.020 5.0 0.05 -0.05 0.0 0.0",
        {"a_2": 0.0017, "t_5": 5.0, "t_6": 0.02, "k_s": 5.0, "l_s_max": 0.05},
    ),
    "PSS2C": (
        "1 0 3 0 5 1 2.0 2.0 0.0 2.0 0.0 2.0 0.28885 1.0 1.0 0.2 4.0 0.13 0.03 0.13 0.03 0.14 0.03 2.0 -2.0 "
        "2.0 -2.0 0.05 -0.05 1.0 1.0 0.15 0.10 0.0 0.0",
        {"k_s2": 0.28885, "k_s1": 4.0, "t_11": 0.03, "t_13": 1.0, "p_on": 0.15, "p_off": 0.1},
    ),
}


def plant(tmp_path, model, values):
    exciter = "0.02 0.8 -0.8 0.2 0.8 0.1 0.4 80.0 0.04 99.0 -99.0 7.3 -7.3 0.0 0.1 1.0 0.0 1.0"
    machine = (
        "1 'GENROU' 1 6.0 0.033 0.54 0.078 6.4 0.0 0.8958 0.8645 0.1189 0.1969 0.089 0.0521 0.0 0.0 /\n"
        f"1 'ESST1A' 1 1 1 {exciter} /\n"
    )
    return there_and_back(tmp_path, f"{OTHERS}{machine}1 '{model}' 1 {values} /\n")


@pytest.mark.parametrize("model", RECORDS)
def test_record(tmp_path, model):
    """It starts at rest, and is written as it was read."""
    values, some = RECORDS[model]
    _, mine, theirs = plant(tmp_path, model, values)
    assert mine == theirs
    assert {name: mine[model][name] for name in some} == some


@pytest.mark.parametrize(("p_on", "on"), [(0.15, 1.0), (9.0, 0.0)])
def test_pss2c_starts_on_or_off(tmp_path, p_on, on):
    system, *_ = plant(tmp_path, "PSS2C", RECORDS["PSS2C"][0].replace(" 0.15 ", f" {p_on} "))
    device = next(name.removesuffix(".x_12") for name in system.names_x if name.endswith(".x_12"))
    group, row, column = system.parameter_place(device, "on")
    assert system.parameters[group][row, column] == on
