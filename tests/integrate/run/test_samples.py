"""Samples in runs: exact discrete solutions at one rate and at two, several clocks, what ends a run."""

import ctypes
import math
import pickle
from typing import Any

import numpy as np
import pytest

import psmr
from psmr import Device, Multirate, SingleRate, VariableStep, assemble
from psmr.errors import InputError, SchemeError, SimulationError
from tests.internals import Change, Course, integrate
from tests.systems.sampled_loops import (
    Counter,
    Deadbeat,
    Plant,
    fast_split,
    integrating,
    integrating_solution,
)


def simulate(system, scheme, t_end, *events, **more):
    return psmr.simulate(system, scheme, t_end, events, certify=False, **more)


SCHEMES = {
    "variable": (2e-10, lambda system: VariableStep(1e-9)),
    "BDF": (1e-7, lambda system: VariableStep(1e-7, "BDF")),
    "TM": (2e-9, lambda system: SingleRate("TM", 1e-4)),
    "RK4": (1e-10, lambda system: SingleRate("RK4", 2e-3)),
    "SDIRK2": (2e-8, lambda system: SingleRate("SDIRK2", 5e-4)),
    "two rates": (2e-9, lambda system: Multirate(fast_split(system, ("P", "E")), 0.05, 500, solution="TM")),
    "extrapolating": (
        2e-9,
        lambda system: Multirate(
            fast_split(system, ("P", "E")), 0.05, 500, predictor="extrapolation", predict="slow"
        ),
    ),
    "corrected": (
        2e-9,
        lambda system: Multirate(fast_split(system, ("P", "E")), 0.05, 500, predictor="TM", corrections=2),
    ),
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("delay", [0.0, 0.004, 0.01])
def test_a_sampled_integrator_follows_its_recursion(scheme, delay):
    bound, made = SCHEMES[scheme]
    system = integrating(T_d=delay)
    run = simulate(system, made(system), 0.25)
    x, integral = integrating_solution(25, T_d=delay)
    assert abs(run.x[-1, 0] - x[-1]) < bound
    assert abs(run["C.integral"].iloc[-1] - integral[-1]) < bound


def test_a_held_plant_is_its_discrete_map_to_rounding():
    """An explicit rule of order four at a tenth of the period leaves 1e-12 of the exponential."""
    system = integrating(T=0.02, a=2.0)
    run = simulate(system, SingleRate("RK4", 0.002), 1.0)
    x, _ = integrating_solution(50, T=0.02, a=2.0)
    at = np.searchsorted(run.t, 0.02 * np.arange(51) - 1e-9)
    np.testing.assert_allclose(run.x[at, 0], x, atol=1e-10)


@pytest.mark.parametrize("ratio", [20, 40])
def test_two_rates_take_the_samples_of_one_rate_at_the_fast_step(ratio):
    system = integrating(T_d=0.005)
    two = Multirate(fast_split(system, ("P", "E")), 0.1, ratio, solution="TM")
    one = simulate(system, SingleRate("TM", two.h_fast), 1.0)
    run = simulate(system, two, 1.0)
    np.testing.assert_allclose(run.x[-1, 0], one.x[-1, 0], rtol=0, atol=1e-14)
    assert run.stats.counters.macro_steps == 10
    assert len(run.t) == 11 + 10  # both rows of the samples at the ends of macro steps, but the last
    inner = simulate(system, two, 1.0, all=True)
    np.testing.assert_array_equal(inner.x[-1], run.x[-1])


@pytest.mark.parametrize("early", [1e-9, 1e-7, 0.9e-6, 1.1e-6])
@pytest.mark.parametrize("scheme", [SingleRate("TM", 1e-3), VariableStep(1e-6)])
def test_a_step_that_is_far_shorter_than_the_period_ends_in_its_sample(scheme, early):
    """Behind the event whole steps lead to just before the sample at 0.8 s; a sample at 2 s is none."""
    event = psmr.ParameterStep("P", "a", 2.0, 0.75 - early)
    run = simulate(clocks((0.2, 0.0)), scheme, 2.0, event)
    assert run["K0.count"].iloc[-1] == 10


def test_deadbeat_arrives_with_the_first_sample():
    devices = [Device("C", Deadbeat, {}, {"x": "P.x"}), Device("P", Plant, {}, {"u": "C.u"})]
    system = assemble(devices, {"P.x": 0.0, "C.u": 0.0})
    run = simulate(system, VariableStep(1e-10), 0.05)
    at = np.flatnonzero(run.t >= 0.01 - 1e-12)
    np.testing.assert_allclose(run.x[at, 0], 1.0, atol=1e-10)


def clocks(*times):
    """Return counters of the plant's state with periods and offsets in s."""
    devices = [Device("P", Plant, {"a": 1.0}, {"u": "one.u"}), Device("one", Held, {})]
    devices += [
        Device(f"K{k}", Counter, {"T": period, "T_0": offset}, {"x": "P.x"})
        for k, (period, offset) in enumerate(times)
    ]
    names = [f"K{k}" for k in range(len(times))]
    return assemble(
        devices,
        {"P.x": 0.0, "one.u": 1.0} | {f"{n}.{v}": 0.0 for n in names for v in ("count", "last")},
    )


class Held(psmr.Component):
    """Something to read that stays."""

    algebraic = ("u",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (), (v.u - 1.0,), ()


@pytest.mark.parametrize("rates", ["one", "two", "chosen"])
def test_clocks_of_three_decades_tick_exactly(rates):
    system = clocks((1e-5, 0.0), (1e-3, 3e-4), (0.04, 0.01))
    scheme = {
        "one": SingleRate("RK4", 1e-3),
        "two": Multirate(fast_split(system, ("P", "one")), 2e-3, 200),
        "chosen": VariableStep(1e-6, most_steps=10**6),
    }[rates]
    end = 0.0505  # more samples than a grid knows at a time are behind it in the next test
    run = simulate(system, scheme, end)
    counts = [run[f"K{k}.count"].iloc[-1] for k in range(3)]
    assert counts == [5050, 51, 2]
    assert run["K2.last"].iloc[-1] == pytest.approx(1.0 - math.exp(-0.05), abs=1e-6)


def test_a_grid_goes_on_behind_the_instants_it_knows():
    system = clocks((1e-5, 0.0))
    for scheme in (SingleRate("RK4", 1e-3), Multirate(fast_split(system, ("P", "one")), 2e-3, 200)):
        run = simulate(system, scheme, 0.4, record=["K0.count"], every=1000)
        assert run["K0.count"].iloc[-1] == 40_000


def test_fast_steps_begin_anew_at_the_first_sample_that_they_do_not_meet():
    """An offset of half a fast step cuts the first macro step, and no other."""
    system = integrating(T_0=5e-4)
    two = Multirate(fast_split(system, ("P", "E")), 0.1, 100)
    run = simulate(system, two, 1.0005)
    assert run.stats.counters.macro_steps == 11
    assert run.stats.counters.samples == {"C": 100}
    x, _ = integrating_solution(99)
    at = np.searchsorted(run.t, 0.9005 - 1e-9)
    assert run.x[at, 0] == pytest.approx(x[90], abs=2e-7)


def test_samples_at_one_instant_read_before_any_writes():
    """A chain of counters hands a value on by one device a sample."""
    devices = [Device("P", Plant, {}, {"u": "P.x"})]
    devices += [Device(f"K{k}", Counter, {}, {"x": "P.x" if k == 0 else f"K{k - 1}.last"}) for k in range(3)]
    start = {"P.x": 1.0} | {f"K{k}.{v}": 0.0 for k in range(3) for v in ("count", "last")}
    run = simulate(assemble(devices, start), VariableStep(1e-6), 0.025)
    last = run.frame(["K0.last", "K1.last", "K2.last"]).to_numpy()
    rows = np.searchsorted(run.t, [0.0, 0.01, 0.02], side="right") - 1
    assert last[rows].tolist() == [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]


def test_both_sides_of_a_sample_are_recorded():
    system = integrating()
    run = simulate(system, VariableStep(1e-6), 0.05)
    for t in (0.01, 0.03):
        before, after = np.flatnonzero(np.abs(run.t - t) < 1e-12)
        assert run.x[before, 0] == run.x[after, 0]
        u = run["C.u"].to_numpy()
        assert u[after] == pytest.approx(u[before] + 0.01 * (1.0 - run.x[before, 0]), rel=1e-9)
    assert run.instants == ()
    assert run.sampled.shape == (len(run.t), 2)
    np.testing.assert_array_equal(run.sampled, run.frame(["C.integral", "C.u"]).to_numpy())


def test_a_rejected_step_takes_no_sample():
    """A plant that is faster than the first steps has steps refused; the integral is that of its samples."""
    system = integrating(a=400.0)
    run = simulate(system, VariableStep(1e-8), 0.1)
    assert run.stats.counters.rejected > 0
    assert run.stats.counters.samples == {"C": 10}
    _, integral = integrating_solution(10, a=400.0)
    assert run["C.integral"].iloc[-1] == pytest.approx(integral[-1], abs=1e-7)


@pytest.mark.parametrize("scheme", ["variable", "TM", "two rates"])
def test_a_run_goes_on_from_where_another_ended(scheme):
    _, made = SCHEMES[scheme]
    system = integrating(T_d=0.004)
    whole = simulate(system, made(system), 0.2)
    first = simulate(system, made(system), 0.1)
    # At the end of a run the sample of that instant is to come, within one it has been taken.
    for later in (first.system_at(0.1), whole.system_at(0.1)):
        rest = simulate(later, made(later), 0.2)
        np.testing.assert_allclose(rest.x[-1], whole.x[-1], atol=1e-8)
        np.testing.assert_allclose(rest.sampled[-1], whole.sampled[-1], atol=1e-8)


def test_an_event_begins_behind_the_sample_of_its_instant():
    system = integrating()
    run = simulate(system, VariableStep(1e-9), 0.1, psmr.SetPoint("E", "r", 2.0, 0.05))
    plain = simulate(system, VariableStep(1e-9), 0.1)
    at = np.searchsorted(run.t, 0.055), np.searchsorted(plain.t, 0.055)
    assert run["C.integral"].iloc[at[0]] == pytest.approx(plain["C.integral"].iloc[at[1]], abs=1e-8)
    x, integral = integrating_solution(6)
    at = np.searchsorted(run.t, 0.065)
    # r = 2 is first read at 0.06.
    assert run["C.integral"].iloc[at] == pytest.approx(integral[6] + 0.01 * (2.0 - x[6]), abs=1e-8)


def test_saved_runs_and_pickled_systems_keep_their_samples(tmp_path):
    system = pickle.loads(pickle.dumps(integrating()))
    run = simulate(system, SingleRate("TM", 0.002), 0.1)
    run.save(tmp_path / "run.psmr")
    again = psmr.load_run(tmp_path / "run.psmr", modules=["tests.systems.sampled_loops"])
    np.testing.assert_array_equal(again.sampled, run.sampled)
    np.testing.assert_array_equal(again["C.u"], run["C.u"])


def test_records_of_chosen_and_of_every_other_signal():
    system = integrating()
    whole = simulate(system, SingleRate("TM", 0.002), 0.1)
    chosen = simulate(system, SingleRate("TM", 0.002), 0.1, record=["C.*", "P.x"])
    assert list(chosen.frame()) == ["P.x", "C.integral", "C.u"]
    np.testing.assert_array_equal(chosen["C.u"], whole["C.u"])
    thinned = simulate(system, SingleRate("TM", 0.002), 0.1, every=3)
    at = np.searchsorted(whole.t, thinned.t, side="right") - 1
    np.testing.assert_array_equal(thinned["C.u"].iloc[1:-1], whole["C.u"].iloc[at[1:-1]])


def test_a_period_that_the_fast_step_does_not_meet():
    system = integrating(T=0.0013)
    scheme = Multirate(fast_split(system, ("P", "E")), 0.1, 100)
    with pytest.raises(SchemeError) as error:
        simulate(system, scheme, 1.0)
    assert "C samples every 0.0013 s, which is not at the fast steps of h_fast = 0.001 s" in str(error.value)
    assert "Take ratio = 1000, a fast step of 0.0001 s" in str(error.value)
    simulate(system, Multirate(fast_split(system, ("P", "E")), 0.1, 1000), 0.2)


def test_a_period_longer_than_the_run():
    with pytest.raises(InputError, match=r"C samples every 20 s, and the run ends at 1 s"):
        simulate(integrating(T=20.0), VariableStep(), 1.0)


def test_a_scheme_that_takes_no_samples():
    system = integrating()
    with pytest.raises(SchemeError, match="takes no samples"):
        simulate(system, psmr.SlowManifold(fast_split(system, ("P", "E")), 0.01), 1.0)


class Root(psmr.Component):
    """The square root of what it reads."""

    inputs = ("x",)
    sampled_outputs = ("u",)
    samples = psmr.Samples(period="T")
    T = psmr.Parameter("s", "time between samples", None, 0.01)

    @staticmethod
    def sample(m: Any, v: Any, p: Any) -> Any:
        return (), (m.sqrt(v.x),)


@pytest.mark.parametrize("rates", ["chosen", "one", "two"])
def test_a_sample_that_is_no_number_ends_the_run(rates):
    devices = [
        Device("R", Root, {}, {"x": "P.x"}),
        Device("P", Plant, {}, {"u": "H.u"}),
        Device("H", Fixed, {}),
    ]
    system = assemble(devices, {"P.x": 1.0, "R.u": 1.0, "H.u": -1.0})
    scheme = {
        "chosen": VariableStep(1e-6),
        "one": SingleRate("TM", 0.005),
        "two": Multirate(fast_split(system, ("P", "H")), 0.05, 50),
    }[rates]
    with pytest.raises(SimulationError) as error:
        simulate(system, scheme, 1.0, partial=True)
    t = 0.24  # the first sample behind ln 2 / 3 = 0.231
    assert f"t = {t:g} s: the sample of R gave R.u = nan, from P.x = " in str(error.value)
    run = error.value.partial
    assert run.t[-1] == pytest.approx(t)
    assert run["R.u"].iloc[-1] > 0.0


class Fixed(psmr.Component):
    """Minus one."""

    algebraic = ("u",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (), (v.u + 1.0,), ()


class Handed(psmr.Component):
    """Hands code the state of the plant."""

    inputs = ("e",)
    sampled_states = ("integral",)
    sampled_outputs = ("u",)
    samples = psmr.Samples(period="T")
    T = psmr.Parameter("s", "time between samples", None, 0.01)

    @staticmethod
    def reads(m: Any, v: Any, p: Any) -> Any:
        return (v.e, p.T)


KIND = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_double,
    ctypes.POINTER(ctypes.c_double),
    ctypes.POINTER(ctypes.c_double),
)


class Code:
    """The integrator, in a function that is called by its address."""

    def __init__(self, fails_at=math.inf, repeatable=True):
        self.repeatable, self.handle, self.times = repeatable, 7, []

        def function(handle, t, reads, values):
            assert handle == 7
            self.times.append(t)
            values[0] += reads[1] * reads[0]
            values[1] = values[0]
            return int(t > fails_at)

        self._function = KIND(function)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value

    def failure(self, t, reads):
        return f"the code failed at t = {t:g} s with {reads[0]:.3f}"


def with_code(code):
    plain = integrating()
    devices = [Device("C", Handed, {}, {"e": "E.e"}, code=code), *plain.devices[1:]]
    return assemble(
        devices, dict(zip((*plain.names_x, *plain.names_y, *plain.names_u), plain.w0, strict=False))
    )


@pytest.mark.parametrize("scheme", ["variable", "TM", "two rates"])
def test_external_code_is_called_at_its_samples(scheme):
    bound, made = SCHEMES[scheme]
    code = Code()
    system = with_code(code)
    chosen = made(system)  # its partition may have perturbed the code
    code.times.clear()
    run = simulate(system, chosen, 0.25)
    x, _ = integrating_solution(25)
    assert abs(run.x[-1, 0] - x[-1]) < bound
    np.testing.assert_allclose(code.times, 0.01 * np.arange(25), atol=1e-15)


@pytest.mark.parametrize("scheme", ["variable", "TM", "two rates"])
def test_external_code_that_fails_ends_the_run_in_its_own_words(scheme):
    _, made = SCHEMES[scheme]
    system = with_code(Code(fails_at=0.125))
    with pytest.raises(SimulationError, match=r"the code failed at t = 0.13 s with 0\.\d+") as error:
        simulate(system, made(system), 0.25, partial=True)
    assert error.value.partial.t[-1] == pytest.approx(0.13)


def test_code_with_states_of_its_own_is_not_done_over():
    system = with_code(Code(repeatable=False))
    with pytest.raises(SchemeError, match="C keeps states of its own"):
        simulate(system, SCHEMES["corrected"][1](system), 0.25)
    code = Code(repeatable=False)
    system = with_code(code)
    scheme = SCHEMES["two rates"][1](system)
    code.times.clear()
    simulate(system, scheme, 0.25)
    assert len(code.times) == 25


def test_code_with_states_of_its_own_does_not_go_back_to_a_condition():
    system = with_code(Code(repeatable=False))
    acting = psmr.When("P.x > 0.02", psmr.SetPoint("E", "r", 2.0, 0.0))
    with pytest.raises(SimulationError, match="so that the run cannot go back to there"):
        simulate(system, VariableStep(1e-6), 0.25, acting)
    simulate(with_code(Code()), VariableStep(1e-6), 0.25, acting)


@pytest.mark.parametrize("scheme", [SingleRate("TM", 0.005), VariableStep(1e-6)], ids=str)
def test_jumps_that_are_apart_by_less_than_what_a_sample_tells_apart_take_it_once(scheme):
    """Two inputs jump at a sample, 3e-8 of its period apart."""
    devices = [Device("C", Counter, {"T": 0.1}, {"x": "A.x"}), Device("A", Plant, {}), Device("B", Plant, {})]
    system = assemble(devices, {"A.u": 0.0, "B.u": 0.0})
    courses = [(name, Course.held([0.0, t], [0.0, 1.0])) for name, t in (("A.u", 0.5), ("B.u", 0.5 + 3e-9))]
    found = integrate(system, scheme, 1.0, [Change(0.0, courses=tuple(courses))])
    assert found.counters.samples == {"C": 10}
