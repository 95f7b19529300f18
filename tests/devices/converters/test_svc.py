"""The static var compensator alone against its block diagram, past both sides of every limit."""

import numpy as np
import pytest

from psmr import Device
from psmr.errors import InputError
from tests.components import CSVGN1
from tests.devices.alone import guess_of, run_alone
from tests.devices.diagram import Block, clip, respond, step
from tests.devices.library import PARAMETERS, ZERO
from tests.internals import Terminal

# The trapezoidal rule at 0.05 ms across the jumps of the voltage, of which its limits make corners.
TOLERANCE = 2e-5
START = Terminal(1.0 + 0.0j, np.conj(0.2j), {})
VOLTAGE = step(1.0, (0.1013, 0.995), (0.6013, 1.06), (1.8021, 0.9), (3.0013, 1.01))


def lead_lag(p, lead, lag, gain=1.0, limits=(-np.inf, np.inf)):
    """Return a block and what its output adds to its lagged part."""
    ratio = p[lead] / p[lag] if p[lag] else 0.0
    return Block([gain], [p[lag], 1], limits), ratio


def csvgn1(p, v_ref):
    first, ratio_1 = lead_lag(p, "t_1", "t_3")
    second, ratio_2 = lead_lag(p, "t_2", "t_4", 1.0, (p["v_min"], p["v_max"]))
    reactor = Block([1], [p["t_5"], 1], (p["r_min"] / p["s_n"], 1.0))

    def wiring(b, u):
        error = p["k"] * (u.v_re - v_ref)
        x = b.first(error)
        led = x + ratio_1 * (error - x)
        y = b.second(led)
        b.reactor(clip(y + ratio_2 * (led - y), p["v_min"], p["v_max"]))
        susceptance = (p["c_base"] - p["s_n"] * b.reactor.out) / p["s_base"]
        return -susceptance * u.v_re

    return {"first": first, "second": second, "reactor": reactor}, wiring


@pytest.mark.parametrize("form", ["whole", "algebraic"])
def test_compensator(form):
    # One state has to stay for a run.
    zero = [name for name in ZERO[CSVGN1] if name != "t_5"] if form == "algebraic" else ()
    p = PARAMETERS[CSVGN1] | dict.fromkeys(zero, 0.0)
    guess = guess_of(CSVGN1, p, START)
    inputs = {"v_re": VOLTAGE, "v_im": step(0.0)}
    inputs |= {name: step(float(guess[name])) for name in ("v_ref", "g")}
    found = run_alone(CSVGN1, p, guess, inputs)
    expected = respond(*csvgn1(p, float(guess["v_ref"])), inputs)
    assert np.abs(found.i_im - expected).max() <= TOLERANCE
    assert np.abs(found.i_re).max() <= 1e-12
    # The regulator asks for v_max of the reactor and for less than its least power.
    assert found.reactor.max() == pytest.approx(p["s_n"] * p["v_max"], abs=1e-6)
    assert found.reactor.min() == pytest.approx(p["r_min"], abs=1e-6)


def test_active_power_of_the_power_flow_is_a_conductance():
    guess = guess_of(CSVGN1, PARAMETERS[CSVGN1], Terminal(1.02 + 0.0j, np.conj((0.1 + 0.2j) / 1.02), {}))
    assert guess["g"] == pytest.approx(-0.1 / 1.02**2)
    assert guess["reactor"] == pytest.approx(50.0 - 20.0 / 1.02**2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"r_min": 70.0}, r"r_min = 70: must be below s_n = 64"),
        ({"v_min": 1.0}, r"v_min = 1: must be below v_max"),
        ({"t_3": 0.0}, r"t_3 = 0 and t_1 = 0\.05"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    wires = {port: f"x.{port}" for port in CSVGN1.outputs}
    with pytest.raises(InputError, match=message):
        Device("d", CSVGN1, PARAMETERS[CSVGN1] | change, wires)
