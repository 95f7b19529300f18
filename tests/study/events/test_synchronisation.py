"""Plants that trip and return: without power, at the voltage and frequency they find, then up a ramp."""

from dataclasses import replace

import numpy as np
import pytest

import partitioning
import psmr
from psmr.errors import EventError
from tests.conftest import ROOT

TM = psmr.SingleRate("TM", h=0.005, tolerance=1e-12)
RETURN = 5.0
CASE = str(ROOT / "cases" / "wscc9" / "wscc9.toml")


def returns(plant, **changed):
    return psmr.GeneratorTrip(plant, **({"start": 1.0, "reconnect": RETURN, "ramp": 10.0} | changed))


def labels(run):
    return [change.label for change in run.changes]


def voltages(run):
    return run.y[:, [i for i, name in enumerate(run.names_y) if name.endswith((".v_re", ".v_im"))]]


@pytest.fixture(scope="module")
def machine():
    return psmr.simulate(psmr.build(psmr.case("wscc9")), TM, 30.0, [returns("G2")], certify=False)


@pytest.fixture(scope="module")
def new_england():
    return psmr.build(psmr.case("new-england"))


@pytest.fixture(scope="module")
def converter():
    system = psmr.build(psmr.case("wscc9-renewable"))
    return psmr.simulate(system, TM, 8.0, [returns("S3", start=0.5, reconnect=2.0)], certify=False)


@pytest.mark.parametrize(("which", "plant", "t"), [("machine", "G2", RETURN), ("converter", "S3", 2.0)])
def test_it_returns_without_current(which, plant, t, request):
    """The injection at the return is below 1e-8 pu, and no voltage jumps: nothing flows, nothing changes."""
    run = request.getfixturevalue(which)
    before, after = np.flatnonzero(run.t == t)[[0, -1]]
    base = 100.0  # MVA
    for name in ("p", "q"):
        assert abs(run[f"{plant}.{name}"].iloc[after]) < 1e-8 * base
    assert np.abs(voltages(run)[after] - voltages(run)[before]).max() < 1e-10


@pytest.mark.parametrize(
    ("which", "plant", "bus", "t"),
    [
        ("machine", ("G2", "AVR2", "GOV2", "PSS2"), "bus2", RETURN),
        ("converter", ("S3", "EC-S3"), "bus3", 2.0),
    ],
)
def test_it_returns_at_rest_in_the_frame_of_its_bus(which, plant, bus, t, request):
    """Every state stands still but the angles, which turn with the voltage that the bus had without it."""
    run = request.getfixturevalue(which)
    now = run.system_at(t)
    rates = {
        name: rate
        for name, rate in zip(now.names_x, now.f(now.x0, now.y0), strict=True)
        if name.rpartition(".")[0] in plant
    }
    before = np.flatnonzero(run.t == t)[0]
    frequency = run[f"{bus}.frequency"].iloc[before]
    assert abs(frequency - 60.0) > 0.1
    if which == "machine":
        assert rates.pop("G2.delta") == pytest.approx(2 * np.pi * (frequency - 60.0), rel=1e-9)
        assert run["G2.omega"].iloc[before + 1] == pytest.approx(frequency / 60.0, abs=1e-12)
    assert {name for name, rate in rates.items() if abs(rate) > 1e-8} == set()


@pytest.mark.parametrize("plant", [f"G{k}" for k in range(30, 40)])
def test_every_unit_of_new_england_returns_without_current(new_england, plant):
    event = returns(plant, start=0.5, reconnect=2.0)
    run = psmr.simulate(new_england, t_end=2.5, events=[event], certify=False)
    after = np.flatnonzero(run.t == 2.0)[-1]
    assert max(abs(run[f"{plant}.{name}"].iloc[after]) for name in ("p", "q")) < 1e-6  # MW, 1e-8 pu


def test_stators_with_dynamics_return_without_current():
    system = psmr.build(psmr.case("wscc9"), dynamic=psmr.Region(buses="all"))
    event = returns("G3", start=0.5, reconnect=1.0)
    run = psmr.simulate(system, t_end=1.2, events=[event], certify=False)
    before, after = np.flatnonzero(run.t == 1.0)[[0, -1]]
    assert max(abs(run[f"G3.{name}"].iloc[after]) for name in ("p", "q")) < 1e-6
    assert run["G3.omega"].iloc[after] == pytest.approx(run["bus3.frequency"].iloc[before] / 60, abs=1e-9)


def test_set_points_ramp_to_what_they_were(machine):
    system = machine.system
    for name in ("GOV2.p_ref", "AVR2.v_ref"):
        was = system.w0[system.index(name)]
        (course,) = [dict(c.courses)[name] for c in machine.changes if c.courses]
        assert course.t.tolist() == [RETURN, RETURN + 10.0]
        assert course.value[1] == was
        assert machine.system_at(20.0).w0[machine.system_at(20.0).index(name)] == was
        assert machine.system_at(10.0).w0[machine.system_at(10.0).index(name)] == pytest.approx(
            course.value.mean()
        )


@pytest.mark.parametrize(
    ("case", "plant", "far"),
    [("wscc9", "G2", 1e-3), ("wscc9-renewable", "W3", 1e-3), ("wscc9-ibr", "C1", 1e-3)],
)
def test_the_system_goes_back_to_where_it_was(case, plant, far):
    """All set-points are what they were, so that the start is the equilibrium again."""
    system = psmr.build(psmr.case(case))
    run = psmr.simulate(system, t_end=200.0, events=[returns(plant)], certify=False)
    angles = ("delta", "theta", "theta_pll", "x_theta")
    at_rest = [i for i, name in enumerate(run.names_x) if name.rpartition(".")[2] not in angles]
    assert np.abs(run.x[-1] - run.x[0])[at_rest].max() < far
    for name in ("p", "q"):
        assert run[f"{plant}.{name}"].iloc[-1] == pytest.approx(run[f"{plant}.{name}"].iloc[0], abs=0.1)


@pytest.mark.parametrize("case", ["wscc9", "wscc9-ibr"])
def test_schemes_agree(case):
    system = psmr.build(psmr.case(case))
    plant = "G3" if case == "wscc9" else "C1"
    split = partitioning.by_participation(system.linearise(), delta=40.0)
    multirate = psmr.Multirate(split, 0.02, 5, "extrapolation", solution="TM")
    event = returns(plant, reconnect=2.0, ramp=2.0)
    runs = [
        psmr.simulate(system, scheme, 5.0, [event], certify=False)
        for scheme in (TM, multirate, psmr.VariableStep(1e-6))
    ]
    t = np.linspace(0.0, 5.0, 51)
    p = [run.at(t, [f"{plant}.p"]).to_numpy() for run in runs]
    assert np.abs(p[1] - p[0]).max() < 0.5  # MW of 85
    assert np.abs(p[2] - p[0]).max() < 0.5


def test_modes_of_the_system_have_the_plant_again(machine):
    assert len(machine.system_at(3.0).names_x) < len(machine.system_at(8.0).names_x) == machine.system.n
    assert len(machine.modes(8.0)) > len(machine.modes(3.0))


def test_a_run_is_saved_with_its_return(machine, tmp_path):
    machine.save(tmp_path / "run.psmr")
    loaded = psmr.load_run(tmp_path / "run.psmr")
    assert loaded.changes == machine.changes
    assert loaded.modes(8.0).equals(machine.modes(8.0))


def test_its_transformer_closes_first(system):
    run = psmr.simulate(system, t_end=6.0, events=[returns("G3", transformer="3-9")], certify=False)
    assert labels(run)[-2:] == ["transformer3-9 closed", "G3 synchronised, at its set-points at t = 15 s"]
    assert run["bus3.v"].iloc[-1] > 0.8
    after = np.flatnonzero(run.t == RETURN)[-1]
    assert abs(run["G3.p"].iloc[after]) < 1e-6


def test_it_returns_some_time_after_a_condition(system):
    event = psmr.When("bus7.v < 0.5", returns("G3", start=0.5, reconnect=3.0))
    run = psmr.simulate(system, t_end=6.0, events=[psmr.Fault(7, 1.0, clear=1.1), event], certify=False)
    (change,) = [change for change in run.changes if change.back]
    assert change.t == pytest.approx(4.0, abs=0.01)
    assert change.until == pytest.approx(14.0, abs=0.01)


def test_it_may_trip_again_once_it_is_back(system):
    events = [returns("G3", reconnect=2.0, ramp=1.0), returns("G3", start=3.0, reconnect=4.0)]
    run = psmr.simulate(system, t_end=5.0, events=events, certify=False)
    assert [change.t for change in run.changes if change.back] == [2.0, 4.0]


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([returns("G3"), psmr.LineTrip("3-9", start=2.0)], "bus3 has no voltage"),
        ([returns("G3"), returns("G2")], "the voltage at bus3 is 0.7"),
        ([returns("G3"), psmr.Fault(9, 4.95, clear=5.05)], "the voltage at bus3 is"),
    ],
)
def test_where_it_cannot_be_synchronised_the_list_of_events_says_so(system, events, reason):
    run = psmr.simulate(system, t_end=6.0, events=events, certify=False)
    (words,) = [label for _, label in run.instants if label.startswith("G3 not synchronised")]
    assert f"without effect: {reason}" in words
    assert run["G3.p"].iloc[-1] == 0.0


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"ramp": None}, "reconnect = 5 s without ramp"),
        ({"reconnect": None}, "without reconnect"),
        ({"reconnect": 0.5}, "must be after start = 1 s"),
        ({"ramp": 0.0}, "must be above 0"),
        ({"fraction": 0.5}, "reconnect is of the whole plant"),
    ],
)
def test_what_cannot_be_is_refused(fields, words):
    with pytest.raises(EventError, match=words):
        returns("G2", **fields)


def test_what_else_happens_to_it_meanwhile_is_refused(system, tmp_path):
    file = tmp_path / "p.csv"
    file.write_text("t,p\n0,0.85\n20,0.9\n")
    for event, words in (
        (
            psmr.SetPoint("GOV3", "p_ref", 0.5, start=7.0),
            "GOV3 is out of service since t = 1 s until t = 15 s",
        ),
        (psmr.TimeSeries(file, "p", "GOV3.p_ref"), "GOV3.p_ref follows"),
    ):
        with pytest.raises(EventError, match=words):
            psmr.simulate(system, t_end=30.0, events=[returns("G3"), event], certify=False)
    late = psmr.SetPoint("GOV3", "p_ref", 0.8, start=16.0)
    assert psmr.simulate(system, t_end=17.0, events=[returns("G3"), late], certify=False).t[-1] == 17.0


def test_a_plant_that_cannot_be_without_power_is_refused_before_the_run():
    """Its gate is open by 0.2 pu at least."""
    case = psmr.case("wscc9")
    rows = [replace(row, devices=tuple(_opened(device) for device in row.devices)) for row in case.generators]
    system = psmr.build(replace(case, generators=tuple(rows)))
    with pytest.raises(EventError, match=r"cannot be at rest without power.*p_min = 0.2; drop reconnect"):
        psmr.simulate(system, t_end=30.0, events=[returns("G3")], certify=False)


def _opened(device):
    least = {"p_min": 0.2} if "p_min" in device.parameters else {}
    return replace(device, parameters=device.parameters | least)


def test_a_study_file_has_it(tmp_path):
    text = (ROOT / "cases" / "wscc9" / "load-trip.toml").read_text().replace("wscc9.toml", CASE)
    event = (
        '[[event]]\ntype = "generator-trip"\ngenerator = "G3"\nstart = 0.1\nreconnect = 0.5\nramp = 20.0\n'
    )
    file = tmp_path / "return.toml"
    file.write_text(f"{text}\n{event}")
    assert returns("G3", start=0.1, reconnect=0.5, ramp=20.0) in psmr.read_study(file).events
