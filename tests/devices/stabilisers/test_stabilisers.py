"""Step responses of stabilisers against their block diagrams, for each signal and past every limit."""

import pickle

import numpy as np
import pytest

from psmr import Device
from psmr.errors import InputError
from tests.components import IEE2ST, IEEEST, PSS2A, ST2CUT, STAB2A
from tests.devices.diagram import Block, clip, device_response, respond, step
from tests.devices.library import PARAMETERS, ZERO

# Error of the two integrations, with steps of at most 10 ms and relative tolerances of 1e-9, at the corners
# that limits make.
TOLERANCE = 1e-6
F_N, T_F = 60.0, 0.04
REST = {"omega": 1.0, "delta": 0.8, "i_d": 0.4, "i_q": 0.6, "t_m": 0.7}


def lead_lag(lead, lag):
    return Block([lead, 1], [lag, 1])


def signal(block, u, code):
    """The signal of an input code by its definition, in complex numbers."""
    v = u.v_re + 1j * u.v_im
    i = (u.i_d + 1j * u.i_q) * np.exp(1j * (u.delta - np.pi / 2)) if code in (3, 4) else 0.0
    power = (v * np.conj(i)).real
    match code:
        case 0:
            return block(0.0)
        case 1:
            return block(u.omega - 1)
        case 2:  # the angle itself is not limited to half a turn
            return block(u.turned / (2 * np.pi * F_N))
        case 3:
            return block(power)
        case 4:
            return block(u.t_m - power)
    return block(abs(v))


def sensor(code):
    """The block behind a signal: a filtered derivative for frequency and slope."""
    return Block([1, 0], [T_F, 1]) if code in (2, 6) else Block([1], [1])


def ieeest(p):
    blocks = {
        "sensor": sensor(p["input"]),
        "first": Block([1], [p["a_2"], p["a_1"], 1]),
        "second": Block([p["a_6"], p["a_5"], 1], [p["a_4"], p["a_3"], 1]),
        "lead_1": lead_lag(p["t_1"], p["t_2"]),
        "lead_2": lead_lag(p["t_3"], p["t_4"]),
        "washout": Block([p["k_s"] * p["t_5"], 0], [p["t_6"], 1]),
    }

    def wiring(b, u):
        output = b.washout(b.lead_2(b.lead_1(b.second(b.first(signal(b.sensor, u, p["input"]))))))
        v = abs(u.v_re + 1j * u.v_im)
        inside = p["v_cl"] <= v and (p["v_cu"] == 0 or v <= p["v_cu"])
        return clip(output, p["l_s_min"], p["l_s_max"]) if inside else 0.0

    return blocks, wiring


def st2cut(p):
    blocks = {
        "sensor_1": sensor(p["input_1"]),
        "sensor_2": sensor(p["input_2"]),
        "lag_1": Block([p["k_1"]], [p["t_1"], 1]),
        "lag_2": Block([p["k_2"]], [p["t_2"], 1]),
        "washout": Block([p["t_3"], 0], [p["t_4"], 1]),
        "lead_1": lead_lag(p["t_5"], p["t_6"]),
        "lead_2": lead_lag(p["t_7"], p["t_8"]),
        "lead_3": lead_lag(p["t_9"], p["t_10"]),
    }

    def wiring(b, u):
        first = b.lag_1(signal(b.sensor_1, u, p["input_1"]))
        second = b.lag_2(signal(b.sensor_2, u, p["input_2"]))
        output = b.lead_3(b.lead_2(b.lead_1(b.washout(first + second))))
        rise = abs(u.v_re + 1j * u.v_im) - p.get("v_0", 0.0)
        cut = (p["v_cu"] != 0 and rise > p["v_cu"]) or (p["v_cl"] != 0 and rise < p["v_cl"])
        return 0.0 if cut else clip(output, p["l_s_min"], p["l_s_max"])

    return blocks, wiring


def pss2a(p):
    blocks = {
        "sensor_1": sensor(p["input_1"]),
        "sensor_2": sensor(p["input_2"]),
        **{f"washout_{i}": washout(p[f"t_w{i}"]) for i in (1, 2, 3, 4)},
        "lag_6": Block([1], [p["t_6"], 1]),
        "lag_7": Block([p["k_s2"]], [p["t_7"], 1]),
        "ramp": Block(np.poly1d([p["t_8"], 1]) ** p["n"], np.poly1d([p["t_9"], 1]) ** (p["m"] * p["n"])),
        "lead_1": lead_lag(p["t_1"], p["t_2"]),
        "lead_2": lead_lag(p["t_3"], p["t_4"]),
    }

    def wiring(b, u):
        first = b.lag_6(b.washout_2(b.washout_1(signal(b.sensor_1, u, p["input_1"]))))
        second = b.lag_7(b.washout_4(b.washout_3(signal(b.sensor_2, u, p["input_2"]))))
        output = b.lead_2(b.lead_1(p["k_s1"] * (b.ramp(first + p["k_s3"] * second) - second)))
        return clip(output, p["v_st_min"], p["v_st_max"])

    return blocks, wiring


def stab2a(p):
    blocks = {
        **{f"washout_{i}": Block([p["k_2"] * p["t_2"], 0], [p["t_2"], 1]) for i in (1, 2, 3)},
        "lag": Block([p["k_3"]], [p["t_3"], 1]),
        **{f"out_{i}": Block([p["k_5"]], [p["t_5"], 1]) for i in (1, 2)},
        "sensor": sensor(3),
    }

    def wiring(b, u):
        washed = b.washout_3(b.washout_2(b.washout_1(-signal(b.sensor, u, 3))))
        return clip(b.out_2(b.out_1(b.lag(washed) + p["k_4"] * washed)), -p["h_lim"], p["h_lim"])

    return blocks, wiring


def washout(t):
    """A washout, left out where its time constant is zero."""
    return Block([t, 0], [t, 1]) if t else Block([1], [1])


def numbers(component, form, **other):
    zero = ZERO[component] if form == "algebraic" else ()
    return PARAMETERS[component] | dict.fromkeys(zero, 0.0) | other


def compare(component, diagram, p, inputs):
    own = Device("d", component, p).component.inputs
    found, _ = device_response(component, p, "v_s", {k: inputs[k] for k in own}, REST)
    expected = respond(*diagram(p), inputs)
    assert np.abs(found - expected).max() <= TOLERANCE * max(1.0, np.abs(expected).max())
    return found


# Magnitude and angle of the voltage: a sag, a rise, and more than half a turn in steps of less than that.
MAGNITUDE = step(1.0, (0.5013, 1.03), (1.2013, 0.4), (1.4013, 0.7), (2.2013, 1.5), (2.4013, 1.2), (3.1, 1.0))
TURNED = step(0.0, (0.1013, 0.4), (0.9013, 2.4), (1.7013, 4.1), (3.0013, 2.0))


def voltage(part):
    def at(t):
        return part(MAGNITUDE(t) * np.exp(1j * TURNED(t)))

    at.jumps = MAGNITUDE.jumps + TURNED.jumps
    return at


INPUTS = {
    "omega": step(1.0, (0.1013, 1.001), (1.0013, 1.02), (2.0021, 0.97), (3.0013, 1.0)),
    "v_re": voltage(np.real),
    "v_im": voltage(np.imag),
    **{f"{port}_re": voltage(np.real) for port in ("u", "u_1", "u_2")},
    **{f"{port}_im": voltage(np.imag) for port in ("u", "u_1", "u_2")},
    "turned": TURNED,
    "delta": step(0.8, (0.1013, 0.9), (2.6013, 0.5)),
    "i_d": step(0.4, (0.6013, 0.2), (2.8013, 0.5)),
    "i_q": step(0.6, (1.0013, 0.9), (3.2013, 0.2)),
    "t_m": step(0.7, (0.3013, 0.8), (3.4013, 0.6)),
}


@pytest.mark.parametrize(("code", "form"), [(1, "whole"), (3, "whole"), (6, "whole"), (2, "algebraic")])
def test_ieeest(code, form):
    gain = {1: 20.0, 2: 10.0, 3: 4.0, 6: 0.05}[code]
    p = numbers(IEEEST, form, k_s=gain, l_s_max=0.1, l_s_min=-0.05, input=code)
    found = compare(IEEEST, ieeest, p, INPUTS)
    assert found.max() == pytest.approx(0.1, abs=1e-15)
    assert found.min() == pytest.approx(-0.05, abs=1e-15)


def test_ieeest_with_a_zero_on_the_right():
    """A record of OpenIPSL's verification, which PSS/E ran: A5 = -85.776."""
    a = {"a_1": 48.743, "a_2": 4.7488, "a_3": 0.3, "a_4": 0.02, "a_5": -85.776, "a_6": 0.0459}
    p = numbers(IEEEST, "whole", k_s=20.0, l_s_max=0.1, l_s_min=-0.05, input=1, **a)
    compare(IEEEST, ieeest, p, INPUTS)


@pytest.mark.parametrize("component", [ST2CUT, IEE2ST])
@pytest.mark.parametrize(
    ("codes", "form"),
    [((3, 2), "whole"), ((5, 4), "whole"), ((1, 3), "algebraic")],
)
def test_two_signals(component, codes, form):
    gain = {1: 5.0, 2: 2.0, 3: -4.0, 4: 4.0, 5: 4.0}
    p = numbers(component, form, l_s_max=0.1, l_s_min=-0.05, input_1=codes[0], input_2=codes[1])
    # Without lead-lags the signals are smaller at the limits, and ZERO leaves the second one out.
    p |= (
        {"k_1": 10 * gain[codes[0]]}
        if form == "algebraic"
        else dict(zip(("k_1", "k_2"), map(gain.get, codes), strict=True))
    )
    found = compare(component, st2cut, p, INPUTS)
    assert found.max() == pytest.approx(0.1, abs=1e-15)
    assert found.min() == pytest.approx(-0.05, abs=1e-15)


TWO_INPUTS = pytest.mark.parametrize(
    ("codes", "orders", "form"),
    [
        ((1, 3), (5, 1), "whole"),
        ((2, 3), (2, 4), "whole"),
        ((1, 3), (0, 0), "whole"),
        ((1, 0), (5, 1), "algebraic"),
    ],
)


@TWO_INPUTS
def test_pss2a(codes, orders, form):
    code = {"input_1": codes[0], "input_2": codes[1], "m": orders[0], "n": orders[1]}
    gain = 2.0 if form == "algebraic" else 0.5
    p = numbers(PSS2A, form, v_st_max=0.03, v_st_min=-0.02, k_s1=gain, **code)
    found = compare(PSS2A, pss2a, p, INPUTS)
    assert found.max() == pytest.approx(0.03, abs=1e-15)
    assert found.min() == pytest.approx(-0.02, abs=1e-15)


@pytest.mark.parametrize("form", ["whole", "algebraic"])
def test_stab2a(form):
    found = compare(STAB2A, stab2a, numbers(STAB2A, form, h_lim=0.1), INPUTS)
    assert found.max() == pytest.approx(0.1, abs=1e-15)
    assert found.min() == pytest.approx(-0.1, abs=1e-15)


def test_orders_of_the_filter():
    """A lead needs a lag for each, and a filter without lags has no lead."""
    own = PARAMETERS[PSS2A]
    assert len(Device("d", PSS2A, own | {"m": 4, "n": 3}).component.states) == 8 + 12
    for wrong, match in (
        ({"m": 0}, "m must be > 0 where there is a lead"),
        ({"t_9": 0.0}, "t_9 must be > 0 where t_8 is not 0"),
        ({"m": 6}, "whole number from 0 to 5"),
    ):
        with pytest.raises(InputError, match=match):
            Device("d", PSS2A, own | wrong)
    assert Device("d", PSS2A, own | {"n": 0, "t_9": 0.0}).component.states[-1] == "x_3"


def test_cut_off_of_zero_is_none():
    p = numbers(ST2CUT, "whole", v_cu=0.0, v_cl=0.0, k_1=0.5)
    assert np.count_nonzero(compare(ST2CUT, st2cut, p, INPUTS)[8:]) > 150


@pytest.mark.parametrize("value", [-1, 7, 1.5])
def test_code_that_is_none(value):
    with pytest.raises(InputError, match=r"input = .*: must be a whole number from 0 to 6"):
        Device("d", IEEEST, PARAMETERS[IEEEST] | {"input": value})


def test_a_device_whose_class_a_code_chose_can_be_pickled():
    device = Device("d", ST2CUT, PARAMETERS[ST2CUT] | {"t_1": 0.0, "input_2": 2})
    assert pickle.loads(pickle.dumps(device)).component is device.component
