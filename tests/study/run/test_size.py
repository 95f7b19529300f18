"""A run that is too large is refused before any time is spent, with its estimate; nothing overflows."""

import time

import pytest

import psmr
from partitioning import PartitionError
from psmr.cli import main
from psmr.errors import EventError, InputError, SchemeError, SimulationError
from tests.internals import size_module as sizes


@pytest.mark.parametrize(("t_end", "h"), [(1e300, 0.01), (1e12, 0.01), (10.0, 1e-300), (1e4, 1e-9)])
def test_too_many_points(system, t_end, h):
    with pytest.raises(InputError, match=r"too large: .* steps and .* points: about .* of memory.*every"):
        psmr.simulate(system, psmr.SingleRate("TM", h), t_end)


def test_too_long_and_too_much_for_the_disk(system, monkeypatch):
    scheme = psmr.SingleRate("TM", 1e-3)
    with pytest.raises(InputError, match=r"more than 7 days\. Take a longer step.*large=True"):
        psmr.simulate(system, scheme, 1e8, record=psmr.Record(["G1.omega"], every=10**6))
    with pytest.raises(InputError, match="are free in"):
        psmr.simulate(system, scheme, 1e7, record=psmr.Record(files=["run.csv"]))
    monkeypatch.setattr(sizes, "available_memory", lambda: 500.0)
    with pytest.raises(InputError, match="500 B of memory are free"):
        psmr.simulate(system, scheme, 0.1)
    assert psmr.simulate(system, scheme, 0.1, certify=False, large=True).t[-1] == 0.1


def test_the_estimate_is_that_of_the_run(system):
    scheme, t_end = psmr.SingleRate("TM", 0.01), 1.0
    size = sizes.size_of(system, scheme, t_end, None, False)
    run = psmr.simulate(system, scheme, t_end, certify=False)
    assert size.points == pytest.approx(len(run.t) - 1)
    assert size.memory == pytest.approx(run.x.nbytes + run.y.nbytes + run.t.nbytes, rel=0.02)


def test_the_command_says_so_and_goes_on_where_told(tmp_path, study_text, capsys, monkeypatch):
    study = tmp_path / "a.toml"
    study.write_text(study_text)
    monkeypatch.setattr(sizes, "available_memory", lambda: 500.0)
    assert main(["run", str(study), "-o", str(tmp_path / "out"), "--no-report"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main(["run", str(study), "-o", str(tmp_path / "out"), "--no-report", "--yes"]) == 0


def test_of_steps_that_the_error_chooses_the_least_number_is_known(system):
    with pytest.raises(InputError, match=r"too large: at least 1e\+07 steps .* most_steps = 1,000,000"):
        psmr.simulate(system, psmr.VariableStep(h_max=1e-6), 10.0)
    with pytest.raises(InputError, match=r"too large: at least 1e\+13 steps .* of memory are free"):
        psmr.simulate(system, psmr.VariableStep(h_max=1e-6, most_steps=10**15), 1e7)
    scheme = psmr.VariableStep(h_max=0.01)
    size = sizes.size_of(system, scheme, 1.0, None, False)
    assert size.points <= len(psmr.simulate(system, scheme, 1.0, certify=False).t)
    assert sizes.size_of(system, psmr.VariableStep(), 1e9, None, False).steps == 0.0


@pytest.mark.parametrize("ratio", [10**4 + 1, 10**12, 10**400])
def test_too_many_fast_steps_in_a_macro_step(split, ratio):
    words = "too many digits" if ratio > 2**63 else "more than 10,000 fast steps within one macro step"
    with pytest.raises(SchemeError, match=words):
        psmr.Multirate(split, 0.05, ratio)
    with pytest.raises(SchemeError, match=words):
        psmr.Multirate(split, 0.05, 10, corrections=ratio)


@pytest.mark.parametrize("h_fast", [5e-9, 1e-300, 5e-324])
def test_fast_steps_that_are_far_too_short(split, h_fast):
    with pytest.raises(SchemeError, match="more than 10,000 fast steps"):
        psmr.Multirate.from_steps(split, 0.05, h_fast)


def test_the_repair_of_a_partition_has_a_budget(system):
    linear = system.linearise()

    def never(_):
        begun = time.process_time()
        while time.process_time() - begun < 0.005:
            pass
        return 2.0 if never.first else 0.5

    never.first = True
    from partitioning import repair

    class Slow(repair._Repair):
        def judge(self, groups):
            never.first = not groups.all()
            return super().judge(groups)

    wish = partitioning_wish(linear)
    with pytest.raises(
        PartitionError, match=r"within 0\.05 s: \d+ splits were tried \(groups moved: .*smaller steps"
    ):
        Slow(linear, wish, never, 1.0, 0.05).run()


def partitioning_wish(linear):
    """Return the wish that one state alone is fast."""
    import numpy as np

    from tests.internals import RequestedSplit

    fast = np.zeros(linear.n + linear.m, dtype=bool)
    fast[0] = True
    return RequestedSplit(fast, [""] * len(fast), None, "participation", None, np.zeros_like(fast))


@pytest.mark.parametrize("h", [0.02, 0.05, 0.1])
def test_values_that_no_quantity_has_end_a_run(system, h):
    with pytest.raises(
        SimulationError, match=r"no quantity is beyond 1e\+30.*smaller step or an implicit"
    ) as caught:
        psmr.simulate(
            system, psmr.SingleRate("FEM", h), 5.0, [psmr.Fault(5, 0.1, 0.2)], certify=False, partial=True
        )
    assert abs(caught.value.partial.x).max() < 1e30
    assert len(caught.value.partial.t) > 5


@pytest.mark.parametrize("x", [1e-300, 5e-324, 1e300])
def test_impedances_of_no_fault(x):
    with pytest.raises(EventError, match=r"must lie between 1e-09 and 1e\+09 pu, a bolted fault is x = 1e-4"):
        psmr.Fault(5, 0.1, 0.2, x=x)


@pytest.mark.parametrize(
    ("slip", "words"),
    [
        ({"signals": ["G1.p"]}, r"record=\['G1\.p'\] keeps these"),
        ({"h": 0.01}, r'psmr\.SingleRate\("TM", h=0\.01\)'),
        ({"tend": 5.0}, r"t_end=5\.0 is the length of the run"),
        ({"monitor": []}, r"did you mean 'monitors'\?"),
        ({"zzz": 1}, r"no keyword 'zzz'; it has system, scheme, t_end"),
    ],
)
def test_keywords_that_simulate_does_not_have(system, slip, words):
    with pytest.raises(InputError, match=words):
        psmr.simulate(system, **slip)


def test_numbers_of_numpy_are_numbers(system):
    import pickle
    from fractions import Fraction

    import numpy as np

    scheme = psmr.SingleRate("TM", h=np.float32(0.0078125))
    assert scheme == psmr.SingleRate("TM", 0.0078125)
    assert type(scheme.h) is float
    assert "np." not in repr(scheme)
    assert pickle.loads(pickle.dumps(scheme)) == scheme
    fault = psmr.Fault(bus=np.int64(5), start=Fraction(1, 10), clear=np.float64(0.2), r=np.array(0.0))
    assert fault == psmr.Fault(5, 0.1, 0.2)
    record = psmr.Record(["G1.omega"], every=np.int32(2), memory=np.int64(10))
    run = psmr.simulate(system, scheme, np.int64(1), [fault], record=record, certify=False)
    assert run.t[-1] == 1.0
    for wrong in (np.bool_(True), "0.01", np.array([0.01]), np.nan, 1j):
        with pytest.raises(SchemeError, match=r"h = .*must be a finite number > 0"):
            psmr.SingleRate("TM", h=wrong)


def test_slips_in_the_call(system, wscc9):
    case = psmr.read_case(wscc9 / "wscc9.toml")
    with pytest.raises(
        InputError, match=r"system is of the type Case: must be a system; write psmr\.build\(case\)"
    ):
        psmr.simulate(case)
    fault = psmr.Fault(5, 0.1, 0.2)
    with pytest.raises(EventError, match="events 1 and 3 of the list are one and the same"):
        psmr.simulate(system, psmr.SingleRate("TM", 0.01), 1.0, [fault, psmr.LoadTrip(6, 0.5, 0.5), fault])


def test_an_event_that_cannot_be_names_its_line(tmp_path, study_text, capsys):
    study = tmp_path / "a.toml"
    for old, new in (("bus = 5", "bus = 77"), ("start = 0.1", "start = 5.0")):
        study.write_text(study_text.replace(old, new))
        assert main(["run", str(study), "-o", str(tmp_path / "out")]) == 2
        assert f"{study}:15 [[event]]: " in capsys.readouterr().err


def test_names_are_printable(tmp_path, wscc9):
    text = (wscc9 / "wscc9.toml").read_text()
    for name in ('name = "WSCC', 'name = "G1'):
        if name in text:
            (tmp_path / "a.toml").write_text(text.replace(name, name.replace('"', '"\\u0000'), 1))
            with pytest.raises(InputError, match=r"cannot be printed|control characters"):
                psmr.read_case(tmp_path / "a.toml")
