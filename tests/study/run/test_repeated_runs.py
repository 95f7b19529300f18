"""A run of a system that has run before: the same to the last bit, for less, with nothing shared."""

import copy
import gc
import pickle
import threading
import tracemalloc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import psmr
from partitioning import by_participation
from psmr.errors import SimulationError
from tests.internals import KeptStarts, kept, start_module

FAULT = psmr.Fault(5, 0.1, 0.2, trip="5-7")
LOAD = psmr.LoadTrip(6, 0.15, 0.4, reconnect=0.3)


@pytest.fixture
def system():
    return psmr.build(psmr.case("wscc9"))


def schemes(system):
    split = by_participation(system.linearise(), delta=20.0)
    return [
        psmr.VariableStep(1e-3),
        psmr.VariableStep(1e-5),
        psmr.SingleRate("SDIRK2", h=0.01),
        psmr.SingleRate("RK4", h=0.0005),
        psmr.Multirate(split, h_slow=0.02, ratio=5),
        psmr.Multirate(split, h_slow=0.02, ratio=5, predictor="TM", interface="schur"),
    ]


def points(run):
    return np.column_stack([run.t, run.x, run.y])


def counted(run):
    return {name: count for name, count in vars(run.stats.counters).items() if name != "seconds"}


def test_each_run_is_the_first_one_to_the_last_bit(system):
    for scheme in schemes(system):
        again = psmr.build(psmr.case("wscc9"))
        runs = [psmr.simulate(again, scheme, 0.5, [FAULT, LOAD], certify=False) for _ in range(4)]
        # Another end, other events and devices out of service in between.
        psmr.simulate(again, scheme, 0.3, [psmr.LineTrip("4-6", 0.1)], certify=False)
        psmr.simulate(again, scheme, 0.3, [psmr.GeneratorTrip("G3", 0.1)], certify=False)
        runs.append(psmr.simulate(again, scheme, 0.5, [FAULT, LOAD], certify=False))
        for run in runs[1:]:
            np.testing.assert_array_equal(points(run), points(runs[0]), err_msg=str(scheme))
            assert counted(run) == counted(runs[0])
            assert run.instants == runs[0].instants


def test_a_failed_run_leaves_nothing_behind(system):
    scheme = psmr.VariableStep(1e-3, most_steps=10)
    good = [psmr.simulate(system, scheme, 0.3, certify=False) for _ in range(3)]
    with pytest.raises(SimulationError):
        psmr.simulate(system, scheme, 0.5, [FAULT], certify=False)
    good.append(psmr.simulate(system, scheme, 0.3, certify=False))
    for run in good[1:]:
        np.testing.assert_array_equal(points(run), points(good[0]))


def test_runs_at_the_same_time_share_no_engine(system):
    scheme = psmr.VariableStep(1e-4)
    expected = [psmr.simulate(system, scheme, 2.0, [event], certify=False) for event in (FAULT, LOAD)]
    for _ in range(2):
        psmr.simulate(system, scheme, 2.0, certify=False)
    found, barrier = {}, threading.Barrier(4)

    def carry_out(place):
        barrier.wait()
        found[place] = [
            psmr.simulate(system, scheme, 2.0, [(FAULT, LOAD)[place % 2]], certify=False) for _ in range(5)
        ]

    threads = [threading.Thread(target=carry_out, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place, runs in found.items():
        for run in runs:
            np.testing.assert_array_equal(points(run), points(expected[place % 2]))


def test_a_run_within_a_run_has_an_engine_of_its_own(system, monkeypatch):
    scheme, taken = psmr.SingleRate("TM", h=0.01), []
    take = KeptStarts.take
    monkeypatch.setattr(
        KeptStarts, "take", lambda self, make: taken.append(take(self, make)) or taken[-1], raising=True
    )
    runs = [psmr.simulate(system, scheme, 0.2, certify=False) for _ in range(3)]
    inner = []

    def progress(t):
        if not inner:
            inner.append(psmr.simulate(system, scheme, 0.2, [psmr.LoadTrip(6, 0.1, 0.4)], certify=False))

    runs.append(psmr.simulate(system, scheme, 0.2, certify=False, progress=progress))
    engines = [id(start.engine) for start, _ in taken]
    assert engines[1] == engines[2] == engines[3], "the third run has that of the second"
    assert engines[4] != engines[3], "the one within another has its own"
    for run in runs[1:]:
        np.testing.assert_array_equal(points(run), points(runs[0]))


def test_nothing_grows_with_the_number_of_runs(system):
    def carry_out(times):
        for k in times:
            events = [psmr.Fault(5, 0.05, 0.06 + 1e-4 * k)]
            psmr.simulate(system, psmr.VariableStep(1e-3 + 1e-6 * k), 0.1, events, certify=False)
            psmr.simulate(system, psmr.VariableStep(1e-3 + 1e-6 * k), 0.1, events, certify=False)
            psmr.simulate(system, psmr.VariableStep(1e-3), 0.1, events)

    carry_out(range(15))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        carry_out(range(15, 45))
        gc.collect()  # what waits for the collector does not grow
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    # One engine of WSCC-9 is 70 kB, and 30 runs would leave 2 MB.
    assert after - before < 1_000_000
    assert all(len(found) <= 64 for found in vars(system)["_kept"].values())


def test_a_large_start_is_not_kept(system, monkeypatch):
    monkeypatch.setattr(start_module, "LARGEST", 50_000)
    for _ in range(4):
        psmr.simulate(system, psmr.VariableStep(1e-3), 0.1, certify=False)
    ((starts,),) = vars(system)["_kept"]["starts"].values()
    assert not starts.waiting


def test_copies_carry_nothing(system):
    for _ in range(3):
        psmr.simulate(system, psmr.VariableStep(1e-3), 0.1, certify=False)
    ((starts,),) = vars(system)["_kept"]["starts"].values()
    assert starts.waiting
    other = system.with_values([("load5", "p", 1.3)])
    for copied in (pickle.loads(pickle.dumps(system)), copy.deepcopy(system), copy.copy(system), other):
        assert "_kept" not in vars(copied)


@dataclass(frozen=True)
class OwnEvent:
    """An event that reads what is no field of it."""

    kind: ClassVar[str] = "own"
    factor: ClassVar[float] = 1.0
    start: float = 0.1
    end: ClassVar[None] = None

    def changes(self, system):
        return psmr.LoadTrip(5, self.start, 0.5 * self.factor).changes(system)


def test_an_event_of_ones_own_is_asked_each_time(system, monkeypatch):
    runs = [psmr.simulate(system, None, 0.3, [OwnEvent()], certify=False) for _ in range(3)]
    np.testing.assert_array_equal(points(runs[2]), points(runs[0]))
    monkeypatch.setattr(OwnEvent, "factor", 0.5)
    other = psmr.simulate(system, None, 0.3, [OwnEvent()], certify=False)
    assert abs(other["G1.omega"].iloc[-1] - runs[0]["G1.omega"].iloc[-1]) > 1e-6


class OwnPath:
    """A path that cannot be pickled."""

    def __init__(self, file):
        self.file = file

    def __fspath__(self):
        return str(self.file)

    def __reduce__(self):
        raise TypeError("not pickled")


def test_an_event_with_a_field_that_cannot_be_pickled_is_planned_each_time(system, tmp_path):
    file = tmp_path / "p.csv"
    file.write_text("t,p\n0.0,1.25\n0.2,1.3\n")
    series = psmr.TimeSeries(OwnPath(file), "p", "load5.p")
    ours = psmr.simulate(system, None, 0.3, [series], certify=False)
    other = psmr.simulate(system, None, 0.3, [psmr.TimeSeries(file, "p", "load5.p")], certify=False)
    np.testing.assert_array_equal(points(ours), points(other))


class OwnScheme(psmr.SingleRate):
    """A scheme that is altered in place, and equal to itself before."""

    __setattr__ = object.__setattr__
    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


def test_a_scheme_that_was_altered_is_another_scheme(system):
    scheme = OwnScheme("TM", 0.01)
    runs = [psmr.simulate(system, scheme, 0.3, [FAULT], certify=False) for _ in range(3)]
    scheme.method = "BEM"
    ours = psmr.simulate(system, scheme, 0.3, [FAULT], certify=False)
    other = psmr.simulate(system, psmr.SingleRate("BEM", 0.01), 0.3, [FAULT], certify=False)
    np.testing.assert_array_equal(points(ours), points(other))
    assert np.abs(ours.x[-1] - runs[0].x[-1]).max() > 1e-6


def test_the_certificate_of_an_altered_scheme_is_another_one(system):
    scheme = OwnScheme("TM", 0.01)
    before = [psmr.certify(system, scheme).deformation for _ in range(3)]
    scheme.method = "BEM"
    after = psmr.certify(system, scheme).deformation
    assert len(set(before)) == 1
    assert after == psmr.certify(system, psmr.SingleRate("BEM", 0.01)).deformation
    assert after > 2.0 * before[0]


def test_a_file_that_was_altered_is_another_event(system, tmp_path):
    file, found = tmp_path / "p.csv", []
    for p in (1.3, 1.3, 1.3, 1.1):
        file.write_text(f"t,p\n0.0,1.25\n0.2,{p}\n")
        series = psmr.TimeSeries(file, "p", "load5.p")
        found.append(psmr.simulate(system, None, 0.3, [series], certify=False)["bus5.v"].iloc[-1])
    assert found[0] == found[1] == found[2]
    assert found[3] - found[0] > 1e-4, "less load, a higher voltage"


def test_what_is_asked_for_once_is_not_kept(system):
    made = []
    for k in (1, 2, 3, 4, 1):
        kept(system, "numbers", k, lambda k=k: made.append(k) or k, 3)
    assert made == [1, 2, 3, 4, 1], "the key of 1 was the oldest and went"
    assert [kept(system, "numbers", 1, lambda: made.append(1) or 1, 3) for _ in range(3)] == [1, 1, 1]
    assert made == [1, 2, 3, 4, 1, 1]
