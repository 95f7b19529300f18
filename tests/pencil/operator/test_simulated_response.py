"""The frequency response of a simulation, against runs with a sinusoidal input and the theory of methods."""

import numpy as np
import pytest
from scipy import sparse

import partitioning
import psmr
from psmr.errors import InputError, SchemeError
from tests.pencil.oracle import random_dae


class Lag(psmr.Component):
    """x' = (u - x) / t_x and y = x + u, so that the output feels the input at once."""

    states = ("x",)
    algebraic = ("y",)
    inputs = ("u",)
    t_x = psmr.Parameter("s", "time constant")

    @staticmethod
    def equations(m, v, p):
        return ((v.u - v.x) / p.t_x,), (v.x + v.u - v.y,), ()


T_X, H = 0.1, 0.05
F = np.array([0.5, 2.0, 5.0, 9.0])


@pytest.fixture(scope="module")
def lag():
    return psmr.assemble([psmr.Device("L", Lag, {"t_x": T_X})], {"L.u": 0.0}).state_space(
        "L.u", ["L.x", "L.y"]
    )


@pytest.mark.parametrize("method", ["FEM", "BEM", "TM", "RK4", "SDIRK2"])
@pytest.mark.parametrize("input", ["sampled", "linear", "held"])
def test_gain_of_a_lag_is_what_the_recursion_has(lag, method, input):
    """x(t+h) = a x(t) + b [u(t), u(t + c h), ...], written out for each method."""
    g, q = 1 - 1 / np.sqrt(2), H / T_X
    for f, gains in zip(
        F, psmr.simulated_response(lag, psmr.SingleRate(method, H), F, input).values, strict=True
    ):
        z = np.exp(2j * np.pi * f * H)
        u = {
            "sampled": lambda c, z=z, f=f: np.exp(2j * np.pi * f * H * c),
            "linear": lambda c, z=z: 1 + c * (z - 1),
            "held": lambda c: 1.0,
        }[input]
        if method == "FEM":
            x = q * u(0) / (z - (1 - q))
        elif method == "BEM":
            x = q * u(1) / (z * (1 + q) - 1)
        elif method == "TM":
            x = q / 2 * (u(0) + u(1)) / (z * (1 + q / 2) - (1 - q / 2))
        elif method == "SDIRK2":
            k1 = (u(g), -1.0)  # h k = q (u - x), as constant and factor of x
            k1 = (q * u(g) / (1 + g * q), -q / (1 + g * q))
            part = (1 - g) * k1[0], 1 + (1 - g) * k1[1]
            x = (part[0] + g * q * u(1)) / (z * (1 + g * q) - part[1])
        else:
            stages, states = [], [(0.0, 1.0)]
            for c, a in ((0, 0.5), (0.5, 0.5), (0.5, 1.0), (1, 0.0)):
                constant, factor = states[-1]
                stages.append((q * (u(c) - constant), -q * factor))
                states.append((a * stages[-1][0], 1 + a * stages[-1][1]))
            weights = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
            constant = sum(w * s[0] for w, s in zip(weights, stages, strict=True))
            x = constant / (z - 1 - sum(w * s[1] for w, s in zip(weights, stages, strict=True)))
        assert gains[0, 0] == pytest.approx(x, rel=1e-12)
        assert gains[1, 0] == pytest.approx(x + 1, rel=1e-12)


def test_trapezoidal_rule_has_the_gain_of_the_bilinear_transform(lag):
    """Of a sampled input TM is the system at s = (2 / h) tanh(j w h / 2) (Tustin)."""
    found = psmr.simulated_response(lag, psmr.SingleRate("TM", H), F)
    warped = np.tan(np.pi * F * H) / (np.pi * H)
    assert np.allclose(found.values, lag.response(warped).values, rtol=1e-12)


@pytest.fixture(scope="module")
def wscc9():
    return psmr.build(psmr.case("wscc9"))


def gain_of_run(system, scheme, f, h, signal, source, amplitude, periods, tmp_path, hold=False):
    """The gain of a run that follows a sinusoid, of the last of its periods, at the points of the steps."""
    count = round(periods / (f * h)) + 1
    t = np.arange(count) * h
    base = system.w0[system.index(source)]
    rows = "\n".join(f"{a!r},{float(base + amplitude * np.sin(2 * np.pi * f * a))!r}" for a in t.tolist())
    (tmp_path / "sine.csv").write_text("t,u\n" + rows + "\n")
    series = psmr.TimeSeries(tmp_path / "sine.csv", "u", source, hold=hold)
    run = psmr.simulate(system, scheme, t_end=float(t[-1]), events=[series])
    at = run.t > run.t[-1] - 1 / f * 4 - h / 2
    times, values = run.t[at], run[signal].to_numpy()[at]
    keep = np.append(np.diff(times) > 1e-12, True)  # of an instant the later point
    times, values = times[keep][1:], values[keep][1:]
    columns = [np.sin(2 * np.pi * f * times), np.cos(2 * np.pi * f * times), np.ones(len(times)), times]
    fit = np.linalg.lstsq(np.column_stack(columns), values, rcond=None)[0]
    return complex(fit[0], fit[1]) / amplitude


# Measured: 8e-8 of a course, 1.5e-6 of a staircase; an amplitude of 1e-4 has a curvature of that order.
@pytest.mark.parametrize(
    "scheme",
    [
        psmr.SingleRate("TM", 0.01),
        psmr.SingleRate("SDIRK2", 0.02),
        psmr.SingleRate("BEM", 0.02),
    ],
    ids=str,
)
def test_a_run_that_follows_a_sinusoid_has_the_gain(wscc9, scheme, tmp_path):
    f, signal, source = 5.0, "AVR1.v_r", "AVR1.v_ref"
    own = wscc9.state_space(source, signal)
    expected = psmr.simulated_response(own, scheme, f, input="linear").values[0, 0, 0]
    found = gain_of_run(wscc9, scheme, f, scheme.h, signal, source, 1e-4, 150, tmp_path)
    exact = own.response(f).values[0, 0, 0]
    assert abs(found - expected) <= 1e-6 * abs(expected)
    assert abs(expected - exact) > 20 * abs(found - expected)  # what the scheme deforms is seen


def test_a_multirate_run_has_the_gain(wscc9, tmp_path):
    linear = wscc9.linearise()
    scheme = psmr.Multirate(
        partitioning.by_participation(linear, delta=20.0), h_slow=0.02, ratio=4, predictor="TM", solution="TM"
    )
    f, signal, source = 5.0, "AVR1.v_r", "AVR1.v_ref"
    own = wscc9.state_space(source, signal)
    expected = psmr.simulated_response(own, scheme, f, input="linear").values[0, 0, 0]
    found = gain_of_run(wscc9, scheme, f, 0.02, signal, source, 1e-4, 150, tmp_path)
    assert abs(found - expected) <= 1e-6 * abs(expected)
    assert abs(expected - own.response(f).values[0, 0, 0]) > 20 * abs(found - expected)


def test_a_staircase_has_the_gain_of_a_held_input(wscc9, tmp_path):
    f, signal, source, scheme = 2.0, "AVR1.v_r", "AVR1.v_ref", psmr.SingleRate("TM", 0.025)
    own = wscc9.state_space(source, signal)
    expected = psmr.simulated_response(own, scheme, f, input="held").values[0, 0, 0]
    found = gain_of_run(wscc9, scheme, f, 0.025, signal, source, 1e-4, 60, tmp_path, hold=True)
    assert abs(found - expected) <= 1e-5 * abs(expected)
    assert abs(expected - own.response(f).values[0, 0, 0]) > 20 * abs(found - expected)


@pytest.mark.parametrize(
    "choices",
    [
        {"interpolation": "spline"},
        {"predictor": "extrapolation", "coupling": "mean"},
        {"predictor": "extrapolation", "interface": "schur", "predict": "slow"},
        {"corrections": 2},
        {"corrections": "converge", "predictor": "BEM"},
    ],
    ids=str,
)
def test_every_choice_converges_to_the_system(choices):
    """With both steps made shorter by four the gain comes nearer by four at least, to that of the system."""
    linear = random_dae(3)
    split = partitioning.by_participation(linear, delta=20.0)
    rng = np.random.default_rng(1)
    size = linear.n + linear.m
    b, c = sparse.csc_array(rng.standard_normal((size, 1))), sparse.csr_array(rng.standard_normal((1, size)))
    own = psmr.StateSpace(linear, b, c, np.zeros((1, 1)), np.zeros((1, 1)), ("u",), ("y",), ("pu",), ("pu",))
    f, errors = 0.3, []
    for h in (0.02, 0.005, 0.00125):
        scheme = psmr.Multirate(
            split, **({"h_slow": h, "ratio": 4, "predictor": "TM", "solution": "TM"} | choices)
        )
        gain = psmr.simulated_response(own, scheme, f).values
        errors.append(np.abs(gain - own.response(f).values).max())
    assert errors[1] < 0.3 * errors[0]
    assert errors[2] < 0.3 * errors[1]


def test_what_cannot_be_is_refused(lag, wscc9):
    with pytest.raises(InputError, match="f = 11 Hz: above the Nyquist frequency 10 Hz"):
        psmr.simulated_response(lag, psmr.SingleRate("TM", H), 11.0)
    with pytest.raises(SchemeError, match="chooses its own steps"):
        psmr.simulated_response(lag, psmr.VariableStep(), 1.0)
    own = wscc9.state_space("AVR1.v_ref", "bus5.v")
    split = partitioning.by_participation(wscc9.linearise(), delta=20.0)
    spline = psmr.Multirate(
        split, h_slow=0.02, ratio=4, predictor="TM", solution="TM", interpolation="spline"
    )
    with pytest.raises(SchemeError, match="remembers earlier steps"):
        psmr.simulated_response(own, spline, 1.0, input="held")
    with pytest.raises(InputError, match="input = 'stairs': must be 'sampled' or 'linear' or 'held'"):
        psmr.simulated_response(lag, psmr.SingleRate("TM", H), 1.0, input="stairs")
