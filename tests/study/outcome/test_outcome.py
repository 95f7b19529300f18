"""What a run came to: outcome, the system it leaves, and the colour of both."""

import dataclasses

import numpy as np
import pytest

import psmr
from tests.internals import Finding, Growth, Verdict, judge_run

TM = psmr.SingleRate("TM", h=0.005)


@pytest.fixture(scope="module")
def kept(system, scheme):
    return psmr.simulate(system, scheme, 5.0, [psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")])


@pytest.fixture(scope="module")
def lost(system, scheme):
    return psmr.simulate(system, scheme, 3.0, [psmr.Fault(bus=5, start=1.0, clear=1.6, trip="5-7")])


def test_lost_synchronism_is_said_and_red(lost):
    out = lost.outcome.lost
    assert (out.first, out.second) == (("G1",), ("G2", "G3"))
    k = int(np.flatnonzero(lost.t == out.t)[0])
    angles = np.degrees(lost.values("G*.delta"))
    wide = np.ptp(angles - angles[0], axis=1)
    assert wide[k] > 180 >= wide[:k].max()
    assert lost.judgement.colour == "red"
    assert lost.judgement.headline.startswith("Lost synchronism: G1 against G2, G3 at t = 1.5")
    assert lost.summary().splitlines()[0].endswith(lost.judgement.headline)


def test_the_linearisation_before_a_lost_run_was_stable(lost):
    # This is why the certificate alone must not make a page green.
    assert lost.certificate.stable
    assert lost.certificate.subject == "the pre-disturbance system"


def test_kept_synchronism_has_its_figures(kept):
    out = kept.outcome
    assert out.lost is None
    # A macro step of 50 ms is too long for the swing, which is all there is to say against the run.
    (reason,) = kept.judgement.reasons
    assert "Estimated error of the " in reason
    wide = np.degrees(np.ptp(kept.values("G*.delta"), axis=1))
    assert out.angle_difference.value == pytest.approx(wide.max())
    assert out.angle_difference.where == "between G2 and G1"
    assert out.angle_spread.value == pytest.approx(wide.max() - wide[0])
    assert "deg G2 against G1, t = " in str(out)
    assert "(since connected; limit 180 deg)" in str(out)
    # During the fault its own bus does not count: it is at 0.
    names = [name for name in kept.signals.select("bus*.v") if name != "bus5.v"]
    assert out.lowest_voltage.value == pytest.approx(kept.values(names).min())
    assert out.low_voltage.value == pytest.approx(0.1)
    weights = np.array([2364.0, 640.0, 301.0])  # MWs, h s_n of the case
    h = {
        d.name: d.parameters["h"] * d.parameters["s_n"]
        for d in kept.system.devices
        if d.name[0] == "G" and d.name[1:] in "123"
    }
    assert list(h.values()) == pytest.approx(weights, rel=1e-9)
    hertz = 60 * kept.values("G*.omega") @ weights / weights.sum()
    assert (out.nadir.value, out.overshoot.value) == pytest.approx((hertz.min(), hertz.max()), rel=1e-12)


def test_the_system_after_the_last_event_is_certified_at_its_own_equilibrium(kept, lost, scheme):
    after = kept.certificate_after
    assert after.subject == "the post-disturbance system, at its own equilibrium"
    # The line that is gone makes the slowest swing slower: 8.37 rad/s before.
    assert after.mode.imag == pytest.approx(6.27, abs=0.01)
    assert kept.certificate.mode.imag == pytest.approx(8.37, abs=0.01)
    # That system is the same where synchronism was lost on the way to it.
    assert lost.certificate_after.mode == pytest.approx(after.mode, abs=1e-6)


def test_a_fault_without_a_trip_leaves_the_system_as_it_was(system):
    run = psmr.simulate(system, TM, 0.5, [psmr.Fault(bus=5, start=0.1, clear=0.15)])
    assert run.certificate_after is None
    assert run.judgement.colour == "green"


def test_a_tripped_plant_is_left_out_of_the_certificate_after(system, scheme):
    run = psmr.simulate(system, scheme, 0.5, [psmr.GeneratorTrip("G3", start=0.1)])
    assert run.certificate_after.stable
    assert "of 22 states" in run.certificate_after.partition
    assert run.outcome.machines == 3


def test_a_frequency_that_nothing_governs_has_an_equilibrium_all_the_same():
    from psmr import read_study
    from tests.internals import run_study

    study = read_study("cases/kundur/fault.toml")
    _, run, _ = run_study(dataclasses.replace(study, output=None, t_end=2.0))
    # No governor: speeds drift together. Linearised along that drift the system is stable.
    assert run.certificate_after.subject.endswith("at its own equilibrium")
    assert run.certificate_after.stable


def test_limits_reached_are_named(lost):
    assert {limit.state for limit in lost.outcome.limits} >= {"AVR2.v_r"}
    first = lost.outcome.limits[0]
    assert first.side == "upper limit"
    assert 1.0 < first.t < 3.0


def test_a_run_stopped_by_a_monitor_is_red(system):
    fault = psmr.Fault(bus=7, start=0.2, clear=0.36, trip="5-7")
    run = psmr.simulate(system, TM, 5.0, [fault], monitors=[psmr.AngleSpread(150.0)])
    assert run.outcome.lost is None
    assert run.judgement.colour == "red"
    assert "Stopped at t = " in run.judgement.headline


def test_colours(kept):
    out, good = kept.outcome, kept.certificate
    assert judge_run(out, (good,)).colour == "green"
    assert judge_run(out, ()).colour == "amber"
    own = dataclasses.replace(good, stability=Verdict(0.01, shown=Growth(1.1, None)))
    judged = judge_run(out, (good, own))
    assert judged.colour == "amber"
    assert judged.reasons == (
        "The pre-disturbance system is itself unstable. "
        "The linearised system is unstable, and the simulation reproduces this: |z| = 1.1.",
    )
    spoilt = dataclasses.replace(good, stability=Verdict(0.01, blamed=Growth(1.5, None, "G1.omega")))
    assert judge_run(out, (spoilt,)).colour == "red"
    for colour in ("amber", "red"):
        finding = Finding(2.0, "low voltage", "bus5", 3.0, 2.0, "s", colour, "bus5 was low.")
        judged = judge_run(dataclasses.replace(out, findings=(finding,)), (good,))
        assert (judged.colour, judged.reasons) == (colour, ("bus5 was low.",))


def test_a_run_of_an_own_dae_has_a_headline():
    from psmr import Device, assemble
    from tests.systems import Logistic

    own = assemble([Device("pond", Logistic, {})], start={"pond.x": 0.1})
    run = psmr.simulate(own, TM, 0.1, certify=False)
    assert run.outcome.headline == "Ran to t = 0.1 s."


def test_an_infinite_bus_is_what_others_fall_out_of_step_with(wscc9, tmp_path):
    case = psmr.read_case(wscc9 / "wscc9.toml")
    first = case.generators[0]
    source = dataclasses.replace(
        first.devices[0], type="InfiniteBus", parameters={"s_n": 100.0, "x_d1": 0.0608}
    )
    still = dataclasses.replace(first, devices=(source,))
    held = psmr.build(dataclasses.replace(case, generators=(still, *case.generators[1:])))
    run = psmr.simulate(held, TM, 3.0, [psmr.Fault(bus=5, start=1.0, clear=1.6, trip="5-7")], certify=False)
    assert (run.outcome.lost.first, run.outcome.lost.second) == (("G1",), ("G2", "G3"))
    # It holds the frequency of its island: there is no nadir to speak of.
    assert run.outcome.nadir is None
    short = psmr.simulate(held, TM, 3.0, [psmr.Fault(bus=5, start=1.0, clear=1.05, trip="5-7")])
    assert short.outcome.lost is None
    assert short.certificate_after.subject.endswith("at its own equilibrium")
    angle = np.degrees(short.values("G2.delta")[:, 0] - held.u0[held.names_u.index("G1.delta")])
    others = np.degrees(np.ptp(short.values("G*.delta"), axis=1))
    assert short.outcome.angle_difference.value == pytest.approx(max(angle.max(), others.max()))
    short.to_html(tmp_path / "report.html")
    assert "Synchronism maintained" in (tmp_path / "report.html").read_text()


# Droops of 2 and 5 %, and limits of power and current that a dispatch of 163 MW and a fault reach.
REGFM_A1 = {
    **{"s_n": 192.0, "r_e": 0.0015, "x_e": 0.15, "v_flag": 1.0, "qv_flag": 1.0},
    **{"t_pf": 0.02, "t_qf": 0.02, "t_vf": 0.02, "i_max": 1.2, "e_max": 1.15, "e_min": 0.0},
    **{"p_max": 1.0, "p_min": 0.0, "q_max": 0.6, "q_min": -0.6, "m_p": 0.02, "m_q": 0.05},
    **{"k_ppmax": 0.01, "k_ipmax": 0.1, "k_pqmax": 3.0, "k_iqmax": 20.0, "k_pv": 0.01, "k_iv": 5.86},
}


@pytest.fixture(scope="module")
def droop(wscc9):
    """The 9-bus system with a droop-controlled grid-forming converter of the WECC in place of G2."""
    case = psmr.read_case(wscc9 / "wscc9.toml")
    first, second, third = case.generators
    source = dataclasses.replace(
        second.devices[0], name="C2", role="converter", type="REGFMA1", parameters=REGFM_A1
    )
    forming = dataclasses.replace(second, name="C2", devices=(source,))
    return psmr.build(dataclasses.replace(case, generators=(first, forming, third)))


def test_every_converter_follows_or_forms():
    """But for a bridge, of which its controller's code decides."""
    from tests.components import AveragedBridge
    from tests.internals import FOLLOWS, FORMS, ROLES, placement

    own = set(ROLES["converter"]) - {AveragedBridge}
    assert {placement(kind).grid for kind in own} == {FOLLOWS, FORMS}
    assert all("theta" in kind.states for kind in ROLES["converter"] if placement(kind).grid == FORMS)


def test_a_droop_controlled_converter_loses_synchronism_like_a_machine(droop):
    run = psmr.simulate(droop, psmr.VariableStep(), 3.0, [psmr.Fault(7, 1.0, 1.5)], certify=False)
    assert run.outcome.machines == 3
    lost = run.outcome.lost
    assert (lost.first, lost.second) == (("G1",), ("C2", "G3"))
    angles = np.degrees(run.values(["G1.delta", "C2.theta", "G3.delta"]))
    wide = np.ptp(angles - angles[0], axis=1)
    k = int(np.flatnonzero(run.t == lost.t)[-1])
    assert wide[k] > 180 >= wide[:k].max()
    assert judge_run(run.outcome, ()).colour == "red"
    short = psmr.simulate(droop, psmr.VariableStep(), 3.0, [psmr.Fault(7, 1.0, 1.3)], certify=False)
    assert short.outcome.lost is None


def test_a_droop_controlled_converter_alone_falls_out_of_step(droop):
    # With G3 tripped in the fault, only the converter's angle tells that the two sources part.
    events = [psmr.Fault(7, 1.0, 1.5), psmr.GeneratorTrip("G3", start=1.1)]
    run = psmr.simulate(droop, psmr.VariableStep(), 3.0, events, certify=False)
    assert run.outcome.headline.startswith("Lost synchronism: G1 against C2 at t = 1.5")
    stopped = psmr.simulate(
        droop, psmr.VariableStep(), 3.0, events, certify=False, monitors=[psmr.AngleSpread(150.0)]
    )
    assert stopped.outcome.stopped.what == "C2 - G1"
    assert stopped.t[-1] < run.outcome.lost.t


@pytest.fixture(scope="module")
def following(wscc9):
    """A system of which two converters follow bus 3."""
    return psmr.build(psmr.read_case(wscc9 / "wscc9-ibr.toml"))


def looked_at(system, turns, at_once=1000):
    """What a run comes to in which the loop of C1 moves away from its bus by so many turns."""
    from tests.internals import DeadParts, Detection, Detectors, Outcome, first_span

    t = np.linspace(0.0, 1.0, len(turns))
    x, y = np.tile(system.x0, (len(t), 1)), np.tile(system.y0, (len(t), 1))
    x[:, system.names_x.index("C1.theta")] += 2 * np.pi * np.asarray(turns)
    # The frame turns, too: angles pass from pi to -pi, which is no slip.
    turn = np.exp(1j * np.linspace(0.0, 9.0, len(t)))[:, None]
    for bus in {name.rpartition(".")[0] for name in system.names_y if name.endswith(".v_re")}:
        re, im = (system.names_y.index(f"{bus}.v_{part}") for part in ("re", "im"))
        v = (y[:, [re]] + 1j * y[:, [im]]) * turn
        y[:, re], y[:, im] = v[:, 0].real, v[:, 0].imag
    for k, name in enumerate(system.names_x):
        if name.endswith((".theta", ".delta")):
            x[:, k] += np.linspace(0.0, 9.0, len(t))
    detectors = Detectors.of(system, psmr.Criteria(), 1.0)
    detection = Detection(system, detectors.all)
    detection.begin(first_span(system, DeadParts(system)))
    for first in range(0, len(t), at_once):
        rows = slice(first, first + at_once)
        detection.points(t[rows], np.hstack([x[rows], y[rows]]))
    return Outcome.of(detectors, psmr.Criteria(), 1.0, None, ())


@pytest.mark.parametrize("at_once", [1000, 7])
def test_a_converter_that_slips_a_turn_against_its_bus_is_red(following, at_once):
    assert looked_at(following, 0.6 * np.sin(np.linspace(0, 12, 300)), at_once).slips == ()
    out = looked_at(following, np.linspace(0.0, -2.0, 301), at_once)
    (slip,) = out.slips
    assert (slip.converter, slip.bus) == ("C1", "bus3")
    assert slip.t == pytest.approx(0.375, abs=0.01)
    assert slip.turns == pytest.approx(-2.0, abs=1e-6)
    assert out.lost is None
    assert out.headline == "Lost synchronism: C1 against bus3 at t = 0.3767 s, -2 turns away at the end."
    assert judge_run(out, ()).colour == "red"


def test_a_converter_that_slips_in_a_run(wscc9, tmp_path):
    text = (wscc9 / "wscc9-ibr.toml").read_text()
    slow = text.replace("kp_pll = 0.25", "kp_pll = 0.05")
    (tmp_path / "slow.toml").write_text(slow)
    system = psmr.build(psmr.read_case(tmp_path / "slow.toml"))
    run = psmr.simulate(system, psmr.VariableStep(), 2.5, [psmr.Fault(5, 1.0, 1.6)], certify=False)
    assert {slip.converter for slip in run.outcome.slips} == {"C1", "C2"}
    away = run["C1.theta"] - run["bus3.angle"]
    after = run.at([run.outcome.slips[0].t], ["C1.theta", "bus3.angle"]).iloc[0]
    moved = after["C1.theta"] - after["bus3.angle"] - away.iloc[0]
    assert abs(moved) > 1.5 * np.pi
