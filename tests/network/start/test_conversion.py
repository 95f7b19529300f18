"""Loads as shares of what the solved power flow gives them."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr import build, read_case
from psmr.errors import InputError
from tests.components import ExponentialLoad
from tests.internals import LoadShares, convert_loads, load_shares, power_flow

HALF = "p=0.5,0.3,0.2 q=1,0,0"


def loaded(wscc9):
    """Three loads: of parts whose power belongs to 1 pu, exponential, and constant power."""
    case = read_case(wscc9 / "wscc9.toml")
    first, second, third = case.loads
    parts = {"p_zip": (0.2, 0.3, 0.5), "q_zip": (0.0, 0.0, 1.0), "v_0": 1.0}
    exponential = {"p_zip": (), "q_zip": (), "exponent_p": 1.2, "exponent_q": 2.4, "v_0": 1.0}
    loads = (replace(first, **parts), replace(second, **exponential), third)
    return replace(case, loads=loads)


@pytest.mark.parametrize("loads", ["impedance", "current", "power", HALF])
def test_the_power_flow_stays(wscc9, loads):
    """The converted case has the same solution, and the power that its loads drew."""
    case = loaded(wscc9)
    before = power_flow(case)
    converted = convert_loads(case, before, loads)
    after = power_flow(converted)
    np.testing.assert_allclose(after.voltage, before.voltage, rtol=0, atol=1e-12)
    np.testing.assert_allclose(after.load_p, before.load_p, rtol=0, atol=1e-12)
    shares = load_shares(loads)
    assert all(row.p_zip == shares.p and row.q_zip == shares.q for row in converted.loads)
    assert all(row.v_0 is None for row in converted.loads)


def test_build_converts_too(wscc9):
    """``build(loads=)`` gives the devices that a converted case gives."""
    case = loaded(wscc9)
    ours = build(case, loads=HALF)
    other = build(convert_loads(case, power_flow(case), HALF))
    for a, b in zip(ours.devices, other.devices, strict=True):
        assert a.component is b.component
        assert a.parameters == pytest.approx(b.parameters, abs=1e-12)
    assert any(d.component is ExponentialLoad for d in build(case).devices)
    assert not any(d.component is ExponentialLoad for d in ours.devices)


def test_shares():
    """Names, texts and mappings say the same; a text says what it was read from."""
    assert load_shares("impedance") == LoadShares((1, 0, 0), (1, 0, 0))
    assert load_shares(HALF) == load_shares({"p": (0.5, 0.3, 0.2), "q": [1, 0, 0]})
    assert load_shares(str(load_shares(HALF))) == load_shares(HALF)
    assert str(load_shares("current")) == "current"


@pytest.mark.parametrize(
    ("loads", "message"),
    [
        ("impedence", "must be impedance, current or power.*did you mean 'impedance'"),
        ("p=1,0,0", "for P and Q"),
        ("p=1,0,0 q=1,0", r"q = \(1\.0, 0\.0\): must be three fractions"),
        ("p=1,2,3", "for instance .*; q is missing"),
        ("p=1,1,0 q=1,0,0", r"p = \(1\.0, 1\.0, 0\.0\): must be .* add up to 1; these add up to 2"),
        ("p=0.5,0.6,0 q=1,0,0", r"p = \(0\.5, 0\.6, 0\.0\): must be three fractions .* add up to 1"),
        ("p=1,0,x q=1,0,0", "for P and Q"),
        ({"p": (1, 0, 0)}, "for P and Q"),
        (3, "loads = 3: must be a text or a dictionary"),
    ],
)
def test_wrong_shares(wscc9, loads, message):
    with pytest.raises(InputError, match=message):
        psmr.read_case(wscc9 / "wscc9.toml", loads=loads)
