"""A load behind a tap changer that asks for more than its line can carry: nose, collapse, who was limited.

A machine with a limit of its field current feeds a load of constant current and constant impedance over two
lines and a tap changer, as T. Van Cutsem and C. Vournas have it (Voltage Stability of Electric Power Systems,
1998, chapters 6 and 8). One line is lost.
"""

import numpy as np
import pytest

import psmr
from tests.internals import Collapse, Controls

CASE = """
format = "psmr-case"
version = 1
name = "one load"
base_mva = 100.0
frequency_hz = 50.0
bus = [{number = 1}, {number = 2}, {number = 3}]
line = [{from = 1, to = 2, x = 0.5}, {from = 1, to = 2, x = 0.5, circuit = 2}]

[[transformer]]
from = 2
to = 3
x = 0.1
tap = 1.0

[transformer.tap_changer]
type = "TapChanger"
v_set = 1.0
half_band = 0.01
tap_min = 0.6
tap_max = 1.1
positions = 51
t_first = 20.0
t_next = 10.0

[[load]]
bus = 3
p_mw = LOAD
q_mvar = 10.0
p_zip = [0.0, 1.0, 0.0]
q_zip = [1.0, 0.0, 0.0]

[[generator]]
name = "G1"
bus = 1
control = "slack"
v = 1.03

[generator.machine]
type = "InfiniteBus"
s_n = 100.0
x_d1 = 0.0001
"""
LOSS = psmr.LineTrip("line1-2-2", start=1.0)


@pytest.fixture(scope="module")
def run_of(tmp_path_factory):
    """Return a function of the load in MW that simulates the loss of a line."""

    def run(load, t_end):
        file = tmp_path_factory.mktemp("one") / "one.toml"
        file.write_text(CASE.replace("LOAD", f"{load:.1f}"))
        system = psmr.build(psmr.read_case(file))
        return psmr.simulate(system, psmr.VariableStep(1e-5), t_end, [LOSS], certify=False)

    return run


@pytest.mark.parametrize(("load", "t_end"), [(90, 500), (110, 250)])
def test_the_nose_is_where_the_load_draws_most(run_of, load, t_end):
    """Each move brings more power up to there, and less beyond: within the 10 s between two moves."""
    run = run_of(load, t_end)
    power, late = run["load3.p"].to_numpy(), run.t > 2.0
    assert run.nose == pytest.approx(run.t[late][power[late].argmax()], abs=10.1)
    assert power[-1] < power[late].max() - 1
    assert run.judgement.colour == "red"
    assert ("past the nose" in run.judgement.headline) == (run.outcome.collapse is None)
    assert f"was passed at t = {run.nose:.4g} s" in run.judgement.reasons[0]


def test_the_sensitivity_of_generation_is_that_of_two_buses(run_of):
    """A source E behind x that feeds P + jQ: U^2 + U (2 Q x - E^2) + x^2 (P^2 + Q^2) = 0 with U = V^2."""
    run = run_of(110, 250)
    times = [25.0, 75.0, 125.0, 200.0]
    found = run.generation_sensitivity(2, times)
    p, q, v, e = (
        run.at(times, n).to_numpy()[:, 0]
        for n in ("transformer2-3.p_from", "transformer2-3.q_from", "bus2.v", "bus1.v")
    )
    x, p, q, u = 0.5, p / 100, q / 100, v**2
    slope = -(2 * x * u + 2 * x**2 * q) / (2 * u + 2 * q * x - e**2)
    expected = 1 + 2 * q * x / u - x * (p**2 + q**2) / u**2 * slope
    assert 1 / found.to_numpy() == pytest.approx(1 / expected, abs=3e-4)  # behind 0.0001 pu, the source's
    assert np.sign(found.to_numpy()).tolist() == [1.0 if t < run.nose else -1.0 for t in times]


def test_a_bus_that_is_dead_has_no_sensitivity(tmp_path):
    (tmp_path / "case.toml").write_text(CASE.replace("LOAD", "20.0"), encoding="utf-8")
    trip = psmr.LineTrip("transformer2-3", start=1.0)
    run = psmr.simulate(psmr.build(psmr.read_case(tmp_path / "case.toml")), t_end=2.0, events=[trip])
    assert np.isnan(run.generation_sensitivity(3, [0.5, 1.5])).tolist() == [False, True]


def test_a_load_that_is_supplied_again_is_no_collapse(run_of):
    run = run_of(80, 500)
    assert run.nose is None
    assert run.outcome.collapse is None
    assert run["bus3.v"].iloc[-1] == pytest.approx(1.0, abs=0.01)
    (taps,) = run.outcome.controls.taps
    assert (taps.acts_on, taps.position[0], taps.most) == ("transformer2-3", 41, 51)
    assert np.diff(taps.t).tolist() == pytest.approx([20.0, *[10.0] * (len(taps.t) - 2)], abs=1.0)
    assert taps.left == (taps.position[-1] - 1, 51 - taps.position[-1])
    moves = len(taps.t) - 1
    facts = dict(run.outcome.facts())
    assert facts["taps that moved"].startswith(
        f"{moves} moves of 1, t = 20 to {taps.t[-1]:.4g} s; at the end: none"
    )
    listed = [words for _, words in run.instants]
    assert listed == ["line1-2-2 tripped", f"1 tap changer moves {moves} times, up to t = {taps.t[-1]:.4g} s"]


def test_a_run_that_ends_while_the_voltage_falls_says_so(run_of):
    run = run_of(110, 180)
    collapse = run.outcome.collapse
    assert (collapse.bus, collapse.ending) == ("bus2", "it is falling")
    assert run.outcome.headline.startswith("Voltage was collapsing when the run ended, at t = 180 s.")


def test_the_headline_names_the_machines_that_were_limited_before():
    limited = ((51.5, "g12"), (65.4, "g14"), (180.0, "g7"))
    controls = Controls(limited, collapse=Collapse(170.0, "bus1041", 148.0, "synchronism is lost"))
    words = controls.headline("Lost synchronism: g6.")
    said = "Voltage collapsed at t = 170 s, after g12 and g14 reached their excitation limits."
    assert words == f"{said} Lost synchronism: g6."


def test_synchronism_lost_after_the_voltage_came_back_is_no_collapse():
    """Low for 4 s by a load that goes away again; a fault near G2 that stays for too long, 50 s later."""
    system = psmr.build(psmr.case("wscc9"))
    away = psmr.LoadRamp(5, 7.0, 8.0, 1 / 3.2)
    events = [psmr.LoadRamp(5, 2.0, 3.0, 3.2), away, psmr.Fault(7, 60.0, 60.6)]
    run = psmr.simulate(system, psmr.VariableStep(1e-4), 62.0, events, certify=False)
    assert any(finding.what == "low voltage" for finding in run.outcome.findings)
    assert run.outcome.lost is not None
    assert run.outcome.collapse is None
