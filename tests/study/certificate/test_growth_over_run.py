"""Growth is judged over a run, and no scheme is to blame where nothing grows: from the run to its colour."""

import warnings

import numpy as np
import pytest

import psmr
from psmr.errors import PsmrWarning
from tests.internals import Kind, OneStepModes, judge_run, times_within


@pytest.fixture(scope="module")
def undamped():
    """Kundur's two areas without stabilisers: 0.0244 ± j3.83 1/s grows, 2 % in 0.81 s."""
    return psmr.build(psmr.case("kundur/thyristor"))


def run_and_words(system, scheme, t_end, **choices):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PsmrWarning)
        run = psmr.simulate(system, scheme, t_end, **choices)
        judged = run.judgement
    said = [str(warning.message) for warning in caught if issubclass(warning.category, PsmrWarning)]
    return run, judged, said


@pytest.mark.parametrize(
    "scheme", [None, psmr.SingleRate("TM", 0.02), psmr.SingleRate("BEM", 0.0034)], ids=str
)
def test_what_grows_by_less_than_two_per_cent_is_a_fact(undamped, scheme):
    """exp(0.02437 * 0.4) - 1 = 0.98 %; backward Euler hides the mode, which is no reason either."""
    run, judged, said = run_and_words(undamped, scheme, 0.4)
    assert (judged.colour, judged.reasons, said) == ("green", (), [])
    assert run.certificate.stable
    assert run.certificate.growing == run.certificate.hidden == ()
    assert (
        "Grows too little in the 0.4 s of the run to be judged: mode 0.02437 ± j3.832 1/s of the system by"
        in (str(run.certificate))
    )
    assert "hides" not in str(run.certificate)


@pytest.mark.parametrize(
    ("scheme", "reason"),
    [
        (psmr.SingleRate("TM", 0.02), "The pre-disturbance system is itself unstable: mode 0.02437"),
        (psmr.SingleRate("TM", 1.0), "The pre-disturbance system is itself unstable: mode 0.02437"),
        (psmr.SingleRate("BEM", 0.02), "The scheme hides an instability of the pre-disturbance system: mode"),
        (None, "The pre-disturbance system is itself unstable: mode 0.02437"),
    ],
    ids=str,
)
def test_what_grows_by_more_is_amber_whatever_the_step(undamped, scheme, reason):
    """At 1 s |Im s| h = 3.8 is between pi and 2 pi; at rest VariableStep takes one step of 1 s."""
    run, judged, said = run_and_words(undamped, scheme, 1.0)
    assert judged.colour == "amber"
    assert any(words.startswith(reason) for words in judged.reasons)
    assert len(said) <= 1
    assert not run.certificate.blames_scheme


def test_a_run_that_a_monitor_stops_is_judged_to_there(undamped):
    """Its certificate is that of the run that was asked for, its colour that of the one that was had."""
    certificate = psmr.certify(undamped, psmr.SingleRate("TM", 0.02), warn=False)
    assert certificate.stable is False
    run, judged, _ = run_and_words(undamped, psmr.SingleRate("TM", 0.02), 0.4)
    assert judge_run(run.outcome, (certificate,)) == judge_run(run.outcome, run.certificates)
    assert judged.colour == judge_run(run.outcome, (certificate,)).colour == "green"
    short = certificate.over(0.4)
    assert short.stable
    assert short.over(10.0) == short
    assert certificate.over(10.0).stable is False
    steps = {"the median step": 0.02, "the longest step": 1.5}
    whole = psmr.certify(undamped, psmr.VariableStep(), warn=False, steps=steps)
    assert whole.at_steps[1].hidden
    assert whole.record()["at_steps"][1]["hidden"] == whole.at_steps[1].hidden
    short = psmr.certify(undamped, psmr.VariableStep(), warn=False, steps=steps, t_end=0.4)
    assert [step.hidden for step in short.at_steps] == [(), ()]
    assert [step.stable for step in short.at_steps] == [True, True]
    record = short.record()
    assert (record["stable"], record["verdict"], record["stability"]) == (True, short.verdict, "stable")


class Explicit:
    """Judges every step as one of RK4."""

    def __init__(self, modes):
        self.modes = modes

    def deformation(self, scheme):
        return self.modes.deformation(psmr.SingleRate("RK4", scheme.h))


@pytest.mark.parametrize("order", [(0.02, 0.5), (0.5, 0.02)])
def test_of_several_steps_the_worst_one_decides(undamped, order):
    """At 20 ms RK4 shows what grows in the system, at 0.5 s it makes other modes grow."""
    steps = dict(zip(("the median step", "the longest step"), order, strict=True))
    judge = Explicit(OneStepModes.of(undamped.linearise()))
    found = psmr.certify(undamped, psmr.VariableStep(), warn=False, steps=steps, judge=judge)
    kinds = {step.h: step.stability.kind for step in found.at_steps}
    assert kinds == {0.02: Kind.SYSTEM, 0.5: Kind.SCHEME}
    assert found.blames_scheme
    assert found.verdict == judge.deformation(psmr.SingleRate("RK4", 0.5)).verdict
    with pytest.warns(PsmrWarning, match="take a smaller tolerance, which makes the steps smaller"):
        psmr.certify(undamped, psmr.VariableStep(), steps=steps, judge=judge)


def test_long_steps_that_hide_are_shortened_by_h_max(undamped):
    _, judged, _ = run_and_words(undamped, psmr.VariableStep(), 1.5)
    assert "the median step, 1.5 s: mode" in judged.reasons[0]
    assert judged.reasons[0].endswith("Take an h_max below the step that hides it.")
    _, judged, _ = run_and_words(undamped, psmr.VariableStep(h_max=0.5), 1.5)
    assert judged.reasons[0].startswith("The pre-disturbance system is itself unstable")


@pytest.mark.parametrize("model", ["power", "current", "impedance"])
def test_one_machine_on_its_load_is_no_instability(model):
    """Angle and speed are a double zero, on which no A-stable scheme is unstable: the run stays at rest."""
    case = psmr.make_case(
        "one machine",
        base_mva=100.0,
        frequency_hz=50.0,
        buses=[{"number": 1}, {"number": 2}],
        lines=[{"from": 1, "to": 2, "x": 0.1}],
        loads=[{"bus": 2, "p_mw": 80.0, "q_mvar": 20.0, "model": model}],
        generators=[
            {
                "name": "G1", "bus": 1, "control": "slack", "v": 1.0,
                "machine": {"type": "ClassicalMachine", "s_n": 100.0, "h": 3.0, "x_d1": 0.3, "d": 0.0},
            }
        ],
    )  # fmt: skip
    system = psmr.build(case)
    for scheme, t_end in ((None, 60.0), (None, 6000.0), (psmr.SingleRate("BEM", 0.5), 600.0)):
        run, judged, said = run_and_words(system, scheme, t_end)
        assert abs(run.x - run.x[0]).max() < 1e-6
        assert (judged.colour, judged.reasons, said) == ("green", (), [])


def test_a_line_of_new_england_plants_trips_and_nothing_is_unstable():
    """Its frequency drifts, so that no equilibrium is found: at the last point a cluster of zeros.

    The common angle and speed are a double zero: a point that is off by e moves it by the root of e, which at
    a tolerance of 1e-4 is 0.003 1/s, more than is left to a run of 10 s.
    """
    case = psmr.case("new-england-plants")
    trip = psmr.LineTrip(case.branches[0].name, 1.0)
    run, judged, _ = run_and_words(psmr.build(case), psmr.VariableStep(1e-5), 10.0, events=[trip])
    assert judged.colour == "green"
    assert run.certificate_after.stable


def test_steps_of_a_stretch_begin_at_its_second_instant():
    t = np.array([0.0, 1.0, 1.0, 1.5, 3.0, 3.0, 4.0])
    for begin, end, expected in ((0.0, 1.0, [0, 1]), (1.0, 3.0, [1, 1.5, 3]), (3.0, 4.0, [3, 4])):
        assert times_within(t, begin, end).tolist() == expected


def test_with_delays_no_stability_function_holds(undamped):
    """R(h s) is of a system that reads the present; with delays the step operator decides."""
    system = psmr.with_delays(psmr.build(psmr.case("wscc9")), {"AVR1.v": 0.06})
    report = psmr.deformation(system.linearise(), psmr.SingleRate("TM", 0.02))
    assert report.stable
    assert len(report.spurious)
