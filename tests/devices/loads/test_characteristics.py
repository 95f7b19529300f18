"""Load characteristics of the standard library: their law, the frequency they see, files, trips."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import psmr
from psmr import read_case, write_case
from psmr.errors import CaseError
from tests.components import FrequencyCharacteristic, LoadCharacteristic
from tests.devices.library import PARAMETERS
from tests.internals import DeviceRow, LoadRow, NumericMath, schedule
from tests.standing import after
from tests.sundials import solver

GIVEN = {k: v for k, v in PARAMETERS[LoadCharacteristic].items() if k[:2] in ("a_", "n_") or k == "v_min"} | {
    "v_min": 0.7
}


def law(p, v):
    """P and Q over what they are at v_0, from the published sums."""
    sums = [
        [sum(p[f"a_{k}"] * u ** p[f"n_{k}"] for k in side) for side in ((1, 2, 3), (4, 5, 6))]
        for u in (v, p["v_0"])
    ]
    return sums[0][0] / sums[1][0], sums[0][1] / sums[1][1]


def taken(component, voltage, angle=0.0, t=0.5, **changes):
    """Complex power that a load takes at a voltage phasor, and the derivative of its measured angle."""
    values = PARAMETERS[component] | {"v_min": 0.7, "shed": 0.0} | changes
    v = SimpleNamespace(v_re=np.real(voltage), v_im=np.imag(voltage), angle=angle, t=t)
    rates, _, (i_re, i_im) = component.equations(NumericMath, v, SimpleNamespace(**values))
    return -voltage * np.conj(i_re + 1j * i_im), *rates


@pytest.mark.parametrize("v", [0.71, 0.98, 1.12])
def test_the_powers_are_the_published_sums(v):
    p = PARAMETERS[LoadCharacteristic]
    active, reactive = law(p, v)
    (found,) = taken(LoadCharacteristic, v * np.exp(0.4j))
    assert found == pytest.approx(complex(p["p"] * active, p["q"] * reactive), rel=1e-13)


@pytest.mark.parametrize("v", [0.69, 0.2, 1e-6])
def test_below_v_min_it_is_an_impedance(v):
    (at_v_min,) = taken(LoadCharacteristic, 0.7 + 0j)
    (found,) = taken(LoadCharacteristic, v * np.exp(-1j))
    assert found == pytest.approx(at_v_min * (v / 0.7) ** 2, rel=1e-12)


def test_the_frequency_is_the_washout_of_the_phase():
    """A phase that turns 0.3 Hz too fast from 0.1 s on: powers of an independent integration."""
    p = PARAMETERS[FrequencyCharacteristic]

    def phase(t):
        return 0.2 + 2 * np.pi * 0.3 * max(t - 0.1, 0.0)

    def rates(own):
        def rate(t, x):
            if own:
                return [taken(FrequencyCharacteristic, 0.95 * np.exp(1j * phase(t)), x[0])[1]]
            return [(phase(t) - x[0]) / p["t_f"]]

        return rate

    options = {"rtol": 1e-10, "atol": 1e-12, "max_step": 0.01, "t_eval": np.linspace(0, 0.5, 101)}
    ours, theirs = (solve_ivp(rates(own), (0, 0.5), [0.2], **options) for own in (True, False))
    assert np.abs(ours.y - theirs.y).max() < 1e-9
    active, reactive = law(p, 0.95)
    for t, x in zip(theirs.t, theirs.y[0], strict=True):
        f = (phase(t) - x) / p["t_f"] / (2 * np.pi * 60.0)
        expected = complex(p["p"] * active * (1 + 1.5 * f), p["q"] * reactive * (1 - 2.0 * f))
        found, _ = taken(FrequencyCharacteristic, 0.95 * np.exp(1j * phase(t)), x)
        assert found == pytest.approx(expected, rel=1e-12)
    assert f == pytest.approx(0.005, rel=1e-3)


@pytest.fixture(scope="module")
def case():
    from tests.conftest import ROOT

    case = read_case(ROOT / "cases" / "wscc9" / "wscc9.toml")
    kinds = ((5, "LoadCharacteristic", {}), (6, "FrequencyCharacteristic", {"a_7": 2.0, "a_8": -1.0}))
    rows = [
        LoadRow(
            bus, row.p_mw, row.q_mvar, characteristic=DeviceRow("x", "characteristic", kind, GIVEN | more)
        )
        for (bus, kind, more), row in zip(kinds, case.loads, strict=False)
    ]
    return replace(case, loads=(*rows, case.loads[2]))


def test_a_characteristic_in_a_file(case, tmp_path):
    write_case(case, tmp_path / "out.toml")
    assert read_case(tmp_path / "out.toml") == case
    text = (tmp_path / "out.toml").read_text()
    assert 'model = "characteristic"' in text
    assert '[load.characteristic]\ntype = "LoadCharacteristic"' in text


def test_it_draws_the_power_flow_at_the_start(case):
    system = psmr.build(case)
    assert np.abs(system.f(system.x0, system.y0)).max() <= 1e-10
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), t_end=0.05, certify=False)
    for row in case.loads[:2]:
        assert run[f"{row.name}.p"].iloc[0] == pytest.approx(row.p_mw, abs=1e-8)
        assert run[f"{row.name}.q"].iloc[0] == pytest.approx(row.q_mvar, abs=1e-8)


@pytest.mark.peers
def test_against_ida_after_a_trip(case):
    """Half of another load goes: the trapezoidal rule and SUNDIALS' IDA on the same equations."""
    system = psmr.build(case)
    event = psmr.LoadTrip(8, 0.1, fraction=0.5)
    ends = [
        psmr.simulate(system, psmr.SingleRate("TM", h=h), t_end=0.6, events=[event], certify=False).x[-1]
        for h in (1e-3, 5e-4)
    ]
    now = after(system, schedule(system, [event], 0.5), event.start)
    first = psmr.simulate(
        system, psmr.SingleRate("TM", h=1e-3), t_end=0.1 + 1e-3, events=[event], certify=False
    )
    k = np.flatnonzero(first.t == 0.1)[-1]
    x, y = first.x[k], first.y[k]
    rate = np.concatenate([now.f(x, y), np.zeros(now.m)])
    found = solver(now, rtol=1e-8, atol=1e-10).solve([0.1, 0.6], np.concatenate([x, y]), rate)
    exact = ends[1] + (ends[1] - ends[0]) / 3
    # Local error allowed to IDA, over some hundred steps.
    assert np.abs(found.y[-1][: now.n] - exact).max() < 1e-6


def test_a_trip_scales_it(case):
    system = psmr.build(case)
    event = psmr.LoadTrip(5, 0.02, fraction=0.25)
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), t_end=0.05, events=[event], certify=False)
    v = run["bus5.v"].to_numpy()
    p = {**GIVEN, "v_0": v[0]}
    expected = 0.75 * case.loads[0].p_mw * law(p, v[-1])[0]
    assert run["load5.p"].iloc[-1] == pytest.approx(expected, rel=1e-9)


def test_parts_that_cancel_are_refused():
    with pytest.raises(CaseError, match=r"a_1 \+ a_2 \+ a_3 = 0: must be > 0"):
        DeviceRow("x", "characteristic", "LoadCharacteristic", {"a_1": 1.0, "a_2": -1.0})
