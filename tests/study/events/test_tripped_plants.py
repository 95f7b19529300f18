"""Variables of a plant that tripped keep their last values, and no error is estimated from them."""

from dataclasses import replace

import numpy as np
import pytest

import partitioning
import psmr
from tests.conftest import ROOT

PLANT = ("G1", "AVR1", "GOV1", "PSS1")


@pytest.fixture(scope="module")
def run():
    system = psmr.build(psmr.read_case(ROOT / "cases" / "wscc9" / "wscc9.toml"))
    return psmr.simulate(system, t_end=30.0, events=[psmr.GeneratorTrip("G1", 1.0)])


def columns(names):
    return [i for i, name in enumerate(names) if name.rpartition(".")[0] in PLANT]


def test_they_stay_at_the_points_and_between_them(run):
    # With extrapolated starts of Newton GOV1.t_m went from 0.72 to -1.74 in 20 s, to -77,000 in 600 s.
    tripped = int(np.flatnonzero(run.t == 1.0)[-1])
    for values, names in ((run.x, run.names_x), (run.y, run.names_y)):
        own = columns(names)
        still = values[tripped:, own]
        np.testing.assert_array_equal(still, np.broadcast_to(values[tripped, own], still.shape))
    between = run.at(np.linspace(1.01, 30.0, 61), [f"{name}.*" for name in PLANT if name != "AVR1"])
    own = [name for name in (*run.names_x, *run.names_y) if name in between]
    assert len(own) >= 4
    assert np.ptp(between[own].to_numpy(), axis=0).max() == 0.0


def test_the_estimated_error_leaves_them_out(run):
    wrong = run.x.copy()
    wrong[run.t > 1.0, run.names_x.index("G1.omega")] += 0.5
    found, known = replace(run, x=wrong).estimated_error, run.estimated_error
    assert found == known
    assert known.part <= 10 * 1e-4  # of the order of the tolerance of a run at the default


@pytest.mark.parametrize("interface", ["held", "schur"])
def test_a_partition_holds_after_each_trip(interface):
    """No block becomes singular, whatever leaves the system: of 640 such runs none did."""
    system = psmr.build(psmr.case("wscc9-ibr"))
    split = partitioning.by_participation(system.linearise(), delta=40.0)
    scheme = psmr.Multirate(split, 0.02, 5, "extrapolation", solution="TM", interface=interface)
    lines = ("4-5", "4-6", "5-7", "6-9", "7-8", "8-9")
    trips = [psmr.GeneratorTrip(name, 0.1) for name in ("G1", "C1", "C2")]
    for event in (*trips, *(psmr.LineTrip(line, 0.1) for line in lines)):
        run = psmr.simulate(system, scheme, 0.3, [event], certify=False)
        assert run.failure == ""
        assert run.t[-1] == pytest.approx(0.3)
