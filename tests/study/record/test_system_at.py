"""The system as it stands at a time of a run, and its modes there.

Where numbers come from: the ringdown of a run that has the event before its first step, started a little off
the equilibrium that is claimed, whose mode a matrix-pencil fit reads from the speeds; a system assembled by
hand with the parameters after the event.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import psmr
from psmr import fit_mode
from psmr.errors import InputError
from tests.conftest import ROOT
from tests.internals import equilibrium_near

EVENTS = {
    "line": psmr.LineTrip("line7-8-2", 1.0),
    "load": psmr.LoadTrip(7, 1.0, 0.1),
}
pytestmark = pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")


@pytest.fixture(scope="module")
def system():
    """Kundur's system with thyristor exciters and no stabilisers: its inter-area mode grows slowly."""
    return psmr.build(psmr.read_case(ROOT / "cases" / "kundur" / "thyristor.toml"))


@pytest.fixture(scope="module", params=EVENTS)
def run(request, system):
    return psmr.simulate(system, t_end=1.5, events=[EVENTS[request.param]])


def inter_area(table):
    row = table[(table.imag > 1) & (table.imag < 5)].iloc[0]
    return complex(row.real, row.imag)


def test_modes_at_the_equilibrium_are_those_of_a_ringdown(system, run):
    mode = inter_area(run.modes(1.5, at="equilibrium"))
    rest = equilibrium_near(run.system_at(1.5))
    x = rest.x.copy()
    speeds = [i for i, name in enumerate(system.names_x) if name.endswith(".omega")]
    x[speeds[:2]] += 1e-4
    x[speeds[2:]] -= 1e-4
    event = replace(run.events[0], start=0.0)
    after = psmr.simulate(
        system, psmr.SingleRate("SDIRK2", 0.01), 20.0, [event], start=(x, rest.y), certify=False
    )
    rows = after.t > 2.0
    signal = (after["G1.omega"] - after["G3.omega"]).to_numpy()[rows]
    assert fit_mode(after.t[rows], signal - signal.mean(), mode) == pytest.approx(mode, abs=2e-3)
    # Before the event the mode is another one, by more than a tenth or a hundredth of it.
    assert abs(inter_area(psmr.modes(system.linearise())) - mode) > 0.05


def test_before_the_event_they_are_those_of_the_start(system, run):
    assert inter_area(run.modes(0.5)) == pytest.approx(inter_area(psmr.modes(system.linearise())), abs=1e-9)


def test_an_event_counts_at_its_own_instant(system, run):
    before, at, after = (run.system_at(t) for t in (np.nextafter(1.0, 0.0), 1.0, 1.01))
    same = [np.array_equal(a, b) for a, b in zip(at.parameters, after.parameters, strict=True)]
    other = [np.array_equal(a, b) for a, b in zip(at.parameters, before.parameters, strict=True)]
    assert all(same)
    assert not all(other)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_points_of_a_run_are_points_of_the_system_at_their_time(system, tolerance):
    run = psmr.simulate(system, psmr.VariableStep(tolerance), 1.5, [EVENTS["line"]])
    assert len(run.t) > 8
    for row in (-1, -5, 3):
        run.system_at(run.t[row]).linearise(run.x[row], run.y[row])


def test_a_point_of_another_system_is_refused(system, run):
    with pytest.raises(InputError, match=r"bus\d+\.i_(re|im) has the residual .*run\.linearise\(t\)"):
        system.linearise(run.x[-1], run.y[-1])


def test_what_a_tolerance_leaves_is_accepted_and_more_is_not(system):
    x, y = system.x0, system.y0
    place = system.names_y.index("bus8.v_re")
    moved = np.zeros(system.m)
    moved[place] = 1.0
    system.linearise(x, y + 0.9e-4 * moved)
    with pytest.raises(InputError, match=r"bus8\.v_re is off by about 0\.0002"):
        system.linearise(x, y + 2e-4 * moved)


def test_a_tripped_plant_is_not_part_of_it(system):
    run = psmr.simulate(system, t_end=1.5, events=[psmr.GeneratorTrip("G4", 1.0)])
    after = run.system_at(1.5)
    assert not any(name.startswith("G4.") for name in (*after.names_x, *after.names_y))
    left = [d for d in system.devices if d.name not in run.spans[-1].out]
    values = dict(zip((*system.names_x, *system.names_y), (*run.x[-1], *run.algebraic()[-1]), strict=True))
    start = {name: values[name] for name in (*after.names_x, *after.names_y)}
    start |= {name: system.w0[system.index(name)] for name in after.names_u}
    ours, theirs = run.linearise(1.5), psmr.assemble(left, start).linearise()
    np.testing.assert_allclose(ours.state_matrix(), theirs.state_matrix(), rtol=1e-9, atol=1e-9)


def test_a_run_loaded_from_a_file_has_it_too(run, tmp_path):
    run.save(tmp_path / "run.psmr")
    again = psmr.load_run(tmp_path / "run.psmr")
    for t in (0.7, 1.5):
        pd.testing.assert_frame_equal(again.modes(t), run.modes(t), check_exact=True)


@pytest.mark.parametrize("t", [-0.1, 1.6, np.nan, np.inf])
def test_a_time_outside_the_run_is_refused(run, t):
    with pytest.raises(InputError, match=r"within the run, from 0 s to 1\.5 s|must be a finite number"):
        run.linearise(t)


def test_a_wrong_place_is_refused(run):
    with pytest.raises(InputError, match='must be "point" or "equilibrium"'):
        run.linearise(1.0, at="rest")


def test_a_run_that_kept_a_part_has_its_first_and_last_time(system):
    run = psmr.simulate(system, t_end=1.5, events=[EVENTS["line"]], record=["G1.omega"])
    whole = psmr.simulate(system, t_end=1.5, events=[EVENTS["line"]])
    pd.testing.assert_frame_equal(run.modes(1.5), whole.modes(1.5), check_exact=True)
    with pytest.raises(InputError, match="simulate without `record`"):
        run.modes(1.2)
