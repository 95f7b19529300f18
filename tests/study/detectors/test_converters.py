"""The loops of converters against their buses, by the definition of `psmr.study.detectors.converters`."""

import numpy as np
import pytest

import psmr
from tests.study.detectors.made import detected, found, made_points


@pytest.fixture(scope="module")
def following(wscc9):
    """A system of which two converters follow bus 3."""
    return psmr.build(psmr.read_case(wscc9 / "wscc9-ibr.toml"))


def moved(system, t, error_turns, common_turns, **kwargs):
    """Return the detectors where C1's loop moves against its bus and all angles turn together."""
    start = dict(zip(system.names_x, system.x0, strict=True))
    angles = [name for name in system.names_x if name.endswith((".delta", ".theta"))]
    values = {name: start[name] + 2 * np.pi * common_turns for name in angles}
    values["C1.theta"] = values["C1.theta"] + 2 * np.pi * error_turns
    x, y = made_points(system, t, values)
    for name in system.names_y:
        if name.endswith(".v_re"):
            re, im = system.names_y.index(name), system.names_y.index(name[:-2] + "im")
            v = (system.y0[re] + 1j * system.y0[im]) * np.exp(2j * np.pi * common_turns)
            y[:, re], y[:, im] = v.real, v.imag
    return detected(system, t, x, y, **kwargs)


@pytest.mark.parametrize("step", [0.005, 0.1, 1.0, 3.7])
@pytest.mark.parametrize("hertz", [0.0, 0.5, -4.0])
def test_a_common_frequency_is_no_slip_at_any_step(following, step, hertz):
    t = np.arange(0.0, 60.0, step)
    seen = moved(following, t, 0.005 * np.sin(t), hertz * t)
    assert seen.converters.slips() == ()


@pytest.mark.parametrize("at_once", [1000, 7])
@pytest.mark.parametrize(
    ("turns", "slipped"), [(0.745, False), (-0.745, False), (0.755, True), (-0.755, True)]
)
def test_three_quarters_of_a_turn_are_the_limit(following, turns, slipped, at_once):
    t = np.linspace(0.0, 1.0, 101)
    seen = moved(following, t, turns * t, 0.3 * t, at_once=at_once)
    assert [slip.converter for slip in seen.converters.slips()] == ["C1"] * slipped
    assert len(found(seen, "loop angle")) == slipped


def test_a_slip_says_when_and_how_many_turns(following):
    t = np.linspace(0.0, 1.0, 301)
    (slip,) = moved(following, t, -2.0 * t, 5.0 * t).converters.slips()
    assert slip.t == pytest.approx(0.375, abs=0.005)
    assert slip.turns == pytest.approx(-2.0, abs=1e-9)


def test_converters_that_follow_a_falling_frequency_for_a_minute_are_kept(following):
    """A machine trips; at steps of a second the buses turn by more than a turn from point to point."""
    run = psmr.simulate(following, t_end=60.0, events=[psmr.GeneratorTrip("G1", 1.0)], certify=False)
    assert run.outcome.slips == ()
    assert run.outcome.lost is None
    # By sine and cosine, which know no turns: the loop stays within 2 degrees of its bus.
    error = run["C1.theta"].to_numpy() - np.arctan2(run["bus3.v_im"], run["bus3.v_re"]).to_numpy()
    error = np.angle(np.exp(1j * (error - error[0])))
    assert np.degrees(np.abs(error)).max() < 12.0
