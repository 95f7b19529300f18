"""Numbers of any kind are numbers, and what is declared is what is taken."""

import functools
import importlib
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Sweep
from psmr.errors import EventError, InputError, SchemeError
from tests.internals import COMMANDS, Fills, check_arguments, declared, settle_fields


@pytest.fixture(scope="module")
def system(wscc9):
    return psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))


@pytest.fixture(scope="module")
def split(system):
    return partitioning.by_participation(system.linearise(), delta=20.0)


ONES = (1, np.int64(1), np.float32(1.0), np.array(1), Fraction(1))


@pytest.mark.parametrize("one", ONES, ids=lambda one: type(one).__name__)
def test_a_whole_number_is_a_number(one, split):
    """Fields that declare floats hold floats: machine code is made for one type alone."""
    pairs = (
        (psmr.SingleRate("TM", h=one), psmr.SingleRate("TM", h=1.0)),
        (psmr.Multirate(split, one, ratio=4, epsilon=one), psmr.Multirate(split, 1.0, ratio=4, epsilon=1.0)),
        (psmr.VariableStep(h_max=one), psmr.VariableStep(h_max=1.0)),
        (psmr.SlowManifold(split, one, drift=one), psmr.SlowManifold(split, 1.0, drift=1.0)),
        (psmr.Smes(one, 0.1, 2), psmr.Smes(1.0, 0.1, 2)),
        (psmr.ArcLength("RK4", one, weights=one), psmr.ArcLength("RK4", 1.0, weights=1.0)),
        (psmr.Adaptive(longest=one), psmr.Adaptive(longest=1.0)),
        (psmr.Fault(5, one, 2, x=one), psmr.Fault(5, 1.0, 2.0, x=1.0)),
        (psmr.SetPoint("AVR1", "v_ref", one, one), psmr.SetPoint("AVR1", "v_ref", 1.0, 1.0)),
        (psmr.LoadTrip(5, one, one), psmr.LoadTrip(5, 1.0, 1.0)),
        (psmr.LoadRamp(5, 0, one, 2), psmr.LoadRamp(5, 0.0, 1.0, 2.0)),
        (psmr.AngleSpread(one), psmr.AngleSpread(1.0)),
        (psmr.VoltageCollapse(one, one), psmr.VoltageCollapse(1.0, 1.0)),
        (psmr.Record("*.omega", memory=one), psmr.Record("*.omega", memory=1.0)),
        (psmr.ClearingTime(0.1, one), psmr.ClearingTime(0.1, 1.0)),
        (psmr.Damping(0, one), psmr.Damping(0.0, 1.0)),
        (psmr.BusFaults(one, [one]), psmr.BusFaults(1.0, [1.0])),
        (psmr.ParameterAxis("G1", "h", [one, 2]), psmr.ParameterAxis("G1", "h", [1.0, 2.0])),
        (
            psmr.SampleAxis("G1", "h", 2, 1, low=0, high=one),
            psmr.SampleAxis("G1", "h", 2, 1, low=0.0, high=1.0),
        ),
    )
    for given, plain in pairs:
        assert given == plain
        assert repr(given) == repr(plain)
        assert str(given) == str(plain)
        mine, theirs = vars(given), vars(plain)
        assert [type(mine[name]) for name in mine] == [type(theirs[name]) for name in theirs]


def test_whole_numbers_stay_whole(split):
    scheme = psmr.Multirate(split, 1, np.int64(4), corrections=np.int32(2))
    assert (type(scheme.ratio), type(scheme.corrections)) == (int, int)
    assert type(psmr.VariableStep(most_steps=np.int64(10)).most_steps) is int
    assert type(psmr.Fault(np.int64(5), 0, 1).bus) is int
    with pytest.raises(SchemeError, match=r"ratio = 4\.0: .*whole number"):
        psmr.Multirate(split, 1, 4.0)


def test_a_run_with_a_whole_step_is_that_with_the_float(system):
    runs = [
        psmr.simulate(system, psmr.SingleRate("TM", h=h), t_end=t, certify=False)
        for h, t in ((1, 2), (1.0, 2.0))
    ]
    assert np.array_equal(runs[0].t, runs[1].t)
    assert np.array_equal(runs[0].x, runs[1].x)


def test_a_sweep_is_the_same_with_whole_numbers(wscc9):
    base = psmr.read_sweep(wscc9 / "clearing-time.toml").study
    texts = []
    for one in (1, 1.0):
        axes = (psmr.BusFaults(one, [one]), psmr.SchemeAxis("h_max", [one]))
        texts.append(json.dumps(Sweep(base, axes).definition(), default=str))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("huge", [10**400, -(10**400), 10**5000, Fraction(10**400)], ids="abcd")
def test_numbers_beyond_the_largest_get_a_sentence(system, huge):
    """Python cannot make floats of them, nor write those of more than 4,300 digits."""
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.1), 0.2, certify=False)
    for call, words in (
        (lambda: psmr.SingleRate("TM", h=huge), r"h = -?inf: must be a finite number"),
        (lambda: psmr.Fault(5, 0.1, clear=huge), r"clear = -?inf"),
        (lambda: psmr.Fault(5, 0.1, 0.2, x=huge), r"x = -?inf"),
        (lambda: psmr.simulate(system, t_end=huge), r"t_end = .*: must be a finite number > 0 in s"),
        (lambda: run.at(huge), r"times .*: must be a number or an array of numbers"),
    ):
        with pytest.raises(InputError, match=words) as error:
            call()
        assert len(str(error.value)) < 700


def test_a_function_takes_what_it_declares():
    def example(case: "Case", times: "Iterable[float]", path: "str | os.PathLike[str] | None" = None):  # noqa: F821
        check_arguments(example, locals())

    with pytest.raises(InputError, match=r"example: case = 'x\.raw': .*; write psmr\.read_case\('x\.raw'\)"):
        example("x.raw", [1.0])
    with pytest.raises(InputError, match=r"case is the class Case: .*; make one of it, Case\(\.\.\.\)"):
        example(psmr.Case, [1.0])


def test_keywords_that_were_taken_in_silence(system, wscc9):
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.1), 0.5, certify=False)
    case = psmr.read_case(wscc9 / "wscc9.toml")
    for call, words in (
        (
            lambda: psmr.check(case, start_at_limits="x"),
            "start_at_limits = 'x': must be 'adjust' or",
        ),
        (lambda: psmr.simulate(system, t_end=1.0, large="x"), "large = 'x': must be True or False"),
        (
            lambda: psmr.SingleRate("TM", h=0.1, tolerance=2),
            r"tolerance = 2.*: must be below 1, the error at which Newton stops",
        ),
        (
            lambda: psmr.simulate(system, t_end=1.0, certify=3),
            "certify = 3: must be True or False or",
        ),
        (lambda: psmr.simulate(system, t_end=1.0, start=[]), r"start: must be two arrays"),
        (lambda: run.at("0.25"), "times = '0.25': must be a number"),
        (lambda: run.at(["0.25"]), r"times = \['0.25'\]: must be a number"),
        (lambda: run[None], "names = None: must be a text or a list of texts"),
        (lambda: run.plot([]), "names of signals: none is given"),
        (lambda: psmr.BusFaults(1.0, buses=[5]), r"buses = .*5.*: must be a list of texts"),
        (lambda: psmr.ParameterAxis("G1", "h", ["1.5"]), r"values = .*: must be a list of"),
        (lambda: psmr.fit_mode(np.arange(9.0), np.ones(9), near=1j, order=-1), "order = -1: must be"),
        (lambda: psmr.participation(system.linearise(), 2, least=3), "least = 3: must be a share"),
    ):
        with pytest.raises(InputError, match=words):
            call()


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: psmr.SingleRate("TM", h=-1.0), "h"),
        (lambda: psmr.SingleRate("TN", h=0.1), "method"),
        (lambda: psmr.VariableStep(tolerance=2.0), "tolerance"),
        (lambda: psmr.VariableStep(h_max=0.0), "h_max"),
        (lambda: psmr.SetPoint(None, "v_ref", 1.0, 1.0), "device"),
        (lambda: psmr.Fault(5, 0.2, 0.1), ""),
    ],
)
def test_an_error_names_the_field_by_itself(make, field):
    """Studies say the line of that field: they read it from the sentence."""
    with pytest.raises(InputError) as raised:
        make()
    assert raised.value.field == field
    assert pickle.loads(pickle.dumps(raised.value)).field == field


def test_an_event_says_which_field_is_wrong():
    with pytest.raises(EventError, match="SetPoint: device = None: must be a text"):
        psmr.SetPoint(None, "v_ref", 1.0, 1.0)
    with pytest.raises(EventError, match=r"Fault: bus = 5\.5: must be a whole number or a text"):
        psmr.Fault(5.5, 0.1, 0.2)
    assert psmr.Fault(5.0, 0.1, 0.2) == psmr.Fault(5, 0.1, 0.2)


def test_generators_of_names_and_events_are_gone_through_once(system):
    scheme = psmr.SingleRate("TM", h=0.1)
    events = (event for event in [psmr.LoadTrip(5, 0.1, 0.5)])
    run = psmr.simulate(system, scheme, 0.5, events, record=(name for name in ["G1.omega"]), certify=False)
    assert [label for _, label in run.instants] == ["50 % of the load at bus5 trips"]
    assert list(run.frame(name for name in ["G1.omega"]).columns) == ["G1.omega"]


def test_fields_of_a_record_are_settled_once():
    scheme = psmr.SingleRate("TM", h=1)
    settle_fields(scheme, SchemeError)
    assert scheme == psmr.SingleRate("TM", h=1.0)


def test_what_a_source_declares_is_what_its_record_declares():
    """Options are read from the source alone, since importing it takes too long for help."""
    notes = [note for command in COMMANDS for each in declared(command) for note in each.notes]
    made = {note.made for note in notes if isinstance(note, Fills)}
    assert len(made) > 10
    for name in made:
        parts = name.split(".")
        split = next((k for k, part in enumerate(parts) if part[0].isupper()), len(parts) - 1)
        module = importlib.import_module(".".join(parts[:split]))
        imported = functools.reduce(getattr, parts[split:], module)
        known = {each.name: each for each in declared(imported)}
        for each in declared(name):
            there = known[each.name]
            assert each.kinds.keys() == there.kinds.keys(), (name, each.name)
            assert (each.notes, each.needed, each.stands) == (there.notes, there.needed, there.stands)
