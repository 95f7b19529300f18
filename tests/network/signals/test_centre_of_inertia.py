"""The frequency and the angle of centres of inertia: by hand, as the outcome has them, and as matrices."""

import numpy as np
import pytest

import psmr
from psmr.errors import InputError

SCHEME = psmr.SingleRate("TM", h=0.01)


def shares(system, machines):
    weights = np.array([system.parameter(g, "h") * system.parameter(g, "s_n") for g in machines])
    return weights / weights.sum()


def test_the_centre_of_one_island():
    system = psmr.build(psmr.case("wscc9"))
    events = [psmr.Fault(bus=7, start=0.1, clear=0.2), psmr.LoadTrip(6, 0.3, 0.5)]
    run = psmr.simulate(system, SCHEME, t_end=1.0, events=events)
    machines = ["G1", "G2", "G3"]
    share = shares(system, machines)
    omega, delta = (run[[f"{g}.{q}" for g in machines]].to_numpy() @ share for q in ("omega", "delta"))
    assert np.allclose(run["coi.frequency"], 60 * omega, rtol=1e-13)
    assert np.allclose(run["coi.angle"], delta, rtol=1e-13)
    assert np.array_equal(run["bus5.coi_frequency"], run["coi.frequency"])
    assert run.outcome.overshoot.value == pytest.approx(run["coi.frequency"].max(), rel=1e-12)
    kept = psmr.simulate(
        system, SCHEME, t_end=1.0, events=events, record=["coi.angle", "G1.delta - coi.angle"]
    )
    assert np.allclose(kept["coi.angle"], run["coi.angle"], rtol=1e-13)

    own = system.state_space("load5.p", ["coi.frequency", "coi.angle", *(f"{g}.omega" for g in machines)])
    gains = own.response([0.5]).values[0, :, 0]
    assert gains[0] == pytest.approx(60 * (gains[2:] @ share), rel=1e-12)
    assert gains[0] == pytest.approx(0.5j * gains[1], rel=1e-12)  # the rate of an angle
    assert own.output_units[:2] == ("Hz", "rad")
    assert not own.d_rate.any()


def test_every_island_has_its_own():
    """Kundur's two areas, their ties opened: areas 1 (G1, G2) and 2 (G3, G4) drift apart."""
    system = psmr.build(psmr.case("kundur"))
    ends = {d.name: {t.partition(".")[0] for t in d.connections.values()} for d in system.devices}
    events = [psmr.LineTrip(name, 0.1) for name, buses in ends.items() if buses == {"bus8", "bus9"}]
    assert events
    run = psmr.simulate(system, SCHEME, t_end=1.0, events=events)
    for machines, bus in ((["G1", "G2"], "bus1"), (["G3", "G4"], "bus4")):
        omega = run[[f"{g}.omega" for g in machines]].to_numpy() @ shares(system, machines)
        after = run.t > 0.11
        assert np.allclose(run[f"{bus}.coi_frequency"].to_numpy()[after], 60 * omega[after], rtol=1e-12)
    apart = (run["bus1.coi_frequency"] - run["bus4.coi_frequency"]).to_numpy()
    assert abs(apart[run.t < 0.09]).max() == 0.0
    assert abs(apart[-1]) > 0.1


def test_a_system_without_sources_has_none():
    class Bare(psmr.Component):
        states = ("x",)

        @staticmethod
        def equations(m, v, p):
            return (-v.x,), (), ()

    system = psmr.assemble([psmr.Device("D", Bare, {})], {"D.x": 1.0})
    run = psmr.simulate(system, SCHEME, t_end=0.1)
    with pytest.raises(InputError, match=r"there is no signal 'coi.frequency'"):
        run["coi.frequency"]
