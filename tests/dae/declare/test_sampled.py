"""Components that sample: how they are declared, compiled, assembled and at rest; what bad ones get."""

import ctypes
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import psmr
from psmr.errors import InputError
from tests.internals import NumericMath, nonnegative, positive, resting_form, sample_changes
from tests.systems.sampled import (
    PI,
    Area,
    DigitalLoop,
    ExternalPI,
    GenerationControl,
    Lag,
    LinePI,
    PhasorMeasurement,
    SamplingRelay,
    regulated,
)

KERNEL = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 6)
CODE = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_int64, ctypes.c_double, *[ctypes.POINTER(ctypes.c_double)] * 2
)


def computed(system, sampler, w):
    """What a sampler's kernel gives at a buffer."""
    out = np.zeros(sampler.width)
    p = np.ascontiguousarray(system.parameters[sampler.group][sampler.row])
    pointers = (array.ctypes.data for array in (sampler.index, sampler.target, p, w, out))
    KERNEL(sampler.kernel)(1, *pointers)
    return out


@pytest.mark.parametrize("kind", [PI, DigitalLoop, PhasorMeasurement, GenerationControl, SamplingRelay])
def test_a_kernel_computes_what_the_declaration_does(kind):
    system = psmr.assemble([psmr.Device("C", kind, {})])
    names = [name.removeprefix("C.") for name in system.names_u]
    for seed in range(5):
        w = np.append(np.random.default_rng(seed).normal(size=system.k), 0.25)
        v = SimpleNamespace(**dict(zip(names, w, strict=False)), t=0.25)
        states, outputs = kind.sample(NumericMath, v, SimpleNamespace(**system.devices[0].parameters))
        found = computed(system, system.samplers[0], w)
        assert found == pytest.approx(np.array([*states, *outputs], float), abs=1e-13, rel=1e-13)


def test_sampled_variables_come_first_among_the_held_inputs():
    area = psmr.Device("A", Area, {}, {"p_ref": "AGC.p_ref"})
    control = psmr.Device("AGC", GenerationControl, {"T_0": 1.0}, {"omega": "A.omega"})
    system = psmr.assemble([area, control], {"A.omega": 1.0, "A.p_m": 0.5, "AGC.omega_ref": 1.0})
    assert system.s == 2
    assert system.names_u == ("AGC.integral", "AGC.p_ref", "A.p_load", "AGC.omega_ref")
    (sampler,) = system.samplers
    assert (sampler.device, sampler.period, sampler.offset, sampler.code) == ("AGC", 4.0, 1.0, None)
    assert sampler.at.tolist() == [system.index("AGC.integral"), system.index("AGC.p_ref")]
    assert system.with_values([("AGC", "T", 2.0)]).samplers[0].period == 2.0


def test_a_start_that_leaves_values_out_is_at_rest_at_the_samples():
    """The set-point, the integral and what the regulator gives follow from the lag's state."""
    for controller in (PI, LinePI):
        for delay in (0.0, 0.004, 0.01):
            system = regulated(controller, T_d=delay)
            for name in ("C.ref", "C.integral", "C.u"):
                assert system.w0[system.index(name)] == pytest.approx(0.7, abs=1e-12)
            assert sample_changes(system, system.w0)[1] == pytest.approx(0.0, abs=1e-12)


def test_a_delay_and_a_line_are_sampled_variables_of_the_device():
    names = [name for name in regulated(T_d=0.004).names_u if name.startswith("C.")]
    assert names == ["C.integral", "C.u_computed", "C.u", "C.ref"]
    first, release = regulated(T_d=0.004, T_0=0.5).samplers
    assert (first.offset, release.offset) == (0.5, 0.504)
    line = regulated(LinePI)
    assert line.names_y == ("C.u",)
    assert line.names_u == ("C.integral", "C.u_held", "C.u_before", "C.t_held", "C.ref")
    assert [s.offset for s in line.samplers] == [0.0, 0.0]
    delayed = regulated(LinePI, T_d=0.01)
    assert [s.offset for s in delayed.samplers] == [0.0, 0.01]


def sample_by_hand(system, w, until):
    """Take all samples up to a time with what no sample writes held; return the buffer after each instant."""
    due = {}
    for sampler in system.samplers:
        for k in range(round((until - sampler.offset) / sampler.period) + 1):
            due.setdefault(round(sampler.offset + k * sampler.period, 9), []).append(sampler)
    found = []
    for t in sorted(due):
        w[-1] = t
        new = [computed(system, sampler, w) for sampler in due[t]]
        for sampler, values in zip(due[t], new, strict=True):
            w[sampler.at] = values
        found.append(w.copy())
    return found


@pytest.mark.parametrize("delay", [0.0, 0.004, 0.01])
@pytest.mark.parametrize("controller", [PI, LinePI])
def test_all_read_before_anything_is_written(controller, delay):
    """With a constant error, output k is 2 error + 0.7 + 3 T error k, and there a delay after sample k."""
    system, T, error = regulated(controller, T_d=delay), 0.01, 0.1
    w = system.w0.copy()
    w[system.index("C.ref")] += error
    *_, w = sample_by_hand(system, w, 7 * T + delay)
    outputs = 2.0 * error + 0.7 + 3.0 * T * error * np.arange(8)
    if controller is PI:
        assert w[system.index("C.u")] == pytest.approx(outputs[7], abs=1e-12)
        return
    held = {"C.u_held": outputs[7], "C.u_before": outputs[6], "C.t_held": 7 * T + delay}
    for name, value in held.items():
        assert w[system.index(name)] == pytest.approx(value, abs=1e-12)
    # A quarter of a period later the output is on the line through both.
    w[-1] += 0.25 * T
    w[system.index("C.u")] = on = outputs[7] + 0.25 * (outputs[7] - outputs[6])
    assert system.residual(w)[system.n] == pytest.approx(0.0, abs=1e-12)
    assert on > outputs[7]


class Code:
    """The regulator as a function of another program's."""

    repeatable = True
    handle = 7

    def __init__(self):
        def sample(handle, t, reads, values):
            error = reads[1] - reads[0]
            values[1] = 2.0 * error + values[0]
            values[0] += 3.0 * reads[2] * error
            return 0

        self.function = CODE(sample)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value

    def failure(self, t, reads):
        return "it failed"


def test_external_code_is_handed_what_the_component_reads():
    code = Code()
    system = regulated(ExternalPI, code=code, T=0.02)
    (sampler,) = system.samplers
    assert sampler.code is code
    w = system.w0.copy()
    w[system.index("P.x")], w[system.index("C.ref")] = 0.4, 0.6
    assert computed(system, sampler, w) == pytest.approx([0.4, 0.6, 0.02])
    assert [system.names_u[place - 1] for place in sampler.at] == ["C.integral", "C.u"]


def test_the_start_of_external_code_is_what_its_plant_needs():
    """Its output follows from the lag at rest; its state and its set-point it finds by running."""
    system = regulated(ExternalPI, code=Code())
    start = dict(zip(system.names_u, system.u0, strict=True))
    assert start == pytest.approx({"C.integral": 0.0, "C.u": 0.7, "C.ref": 0.0})


def test_sampled_angles_turn_with_the_network():
    """A loop that turns at 2 rad/s beside nominal is at rest there with its integral at 2 rad/s."""
    v = SimpleNamespace(v_re=np.cos(0.3), v_im=np.sin(0.3), theta=0.3, integral=2.0, f=60.0 + 1.0 / np.pi)
    p = SimpleNamespace(T=0.001, f_n=60.0, k_p=60.0, k_i=900.0)
    resting = resting_form(DigitalLoop).equations
    still = resting(NumericMath, v, p)[1]
    assert np.array(still) == pytest.approx([0.002, 0.0, 0.0], abs=1e-12)
    v.turning = 2.0
    assert np.array(resting(NumericMath, v, p)[1]) == pytest.approx(0.0, abs=1e-12)


def test_systems_and_devices_with_samples_are_pickled():
    for controller in (PI, LinePI):
        system = regulated(controller, T_d=0.004)
        again = pickle.loads(pickle.dumps(system))
        assert again.devices[1].component is system.devices[1].component
        assert [s.kernel for s in again.samplers] == [s.kernel for s in system.samplers]


def test_the_linearisation_holds_what_samples_write():
    """The lag alone, with what its regulator gives held: the loop is the business of the certificate."""
    assert regulated().linearise().state_matrix() == pytest.approx(np.array([[-2.0]]))


def declared(**changed):
    """Return a class of component that samples, with some of its declaration changed."""
    body = {
        "inputs": ("y",),
        "sampled_outputs": ("u",),
        "samples": psmr.Samples(period="T"),
        "T": psmr.Parameter("s", "time between samples", positive, 0.01),
        "T_d": psmr.Parameter("s", "computing delay", nonnegative, 0.0),
        "sample": staticmethod(lambda m, v, p: ((), (v.y,))),
    }
    kept = {name: value for name, value in (body | changed).items() if value is not ...}
    return type("Digital", (psmr.Component,), kept)


WRONG = {
    "no samples": ({"samples": ...}, "sampled_outputs without samples; write samples = psmr.Samples"),
    "not samples": ({"samples": 0.01}, "samples must be psmr.Samples"),
    "no parameter": ({"samples": psmr.Samples("Ts")}, "period = 'Ts' is none of its parameters"),
    "no delay": ({"samples": psmr.Samples("T", delay="T_e")}, "delay = 'T_e' is none of its parameters"),
    "no outputs": ({"sampled_outputs": ()}, "no sampled_outputs: nothing it computes could act"),
    "no code": ({"sample": ...}, "either sample.* or reads"),
    "both": ({"reads": staticmethod(lambda m, v, p: (v.y,))}, "either sample.* or reads"),
    "twice": ({"sampled_states": ("u",)}, "u is a sampled variable and something else as well"),
    "an input": ({"sampled_states": ("y",)}, "y is a sampled variable and something else as well"),
    "a parameter": ({"sampled_outputs": ("T",)}, "T is a sampled variable and something else as well"),
    "the time": ({"sampled_outputs": ("t",)}, "t is a sampled variable and something else as well"),
    "a delay's": (
        {"samples": psmr.Samples("T", delay="T_d"), "algebraic": ("u_computed",)},
        "u_computed is what a computing delay or a hold of order one adds",
    ),
    "a line's": (
        {"samples": psmr.Samples("T", hold=1), "inputs": ("y", "t_held")},
        "t_held is what a computing delay or a hold of order one adds",
    ),
    "one another's": (
        {
            "samples": psmr.Samples("T", hold=1),
            "sampled_outputs": ("u", "u_held"),
            "sample": staticmethod(lambda m, v, p: ((), (v.y, v.y))),
        },
        "u_held is what a computing delay or a hold of order one adds",
    ),
    "too few": ({"sample": staticmethod(lambda m, v, p: ((), ()))}, "returned 0 and 0 values, 0 .* 1 "),
    "flat": ({"sample": staticmethod(lambda m, v, p: (v.y,))}, "must return two tuples"),
    "branch": ({"sample": staticmethod(lambda m, v, p: ((), (v.y if v.y > 1 else 1,)))}, "Digital.sample: "),
}


@pytest.mark.parametrize(("changed", "words"), WRONG.values(), ids=WRONG)
def test_samples_that_are_declared_wrongly_get_a_sentence(changed, words):
    with pytest.raises(InputError, match=words):
        assert psmr.assemble([psmr.Device("D", declared(**changed), {})]).samplers


TIMES = {
    "no period": ({"T": 0.0}, "D.T = 0.0: must be > 0"),
    "negative delay": ({"T_d": -1e-3}, "D.T_d = -0.001: must be >= 0"),
    "delay beyond the period": ({"T_d": 0.011}, "T_d = 0.011: .* between 0 s and .*, T = 0.01 s"),
}


@pytest.mark.parametrize(("values", "words"), TIMES.values(), ids=TIMES)
def test_samples_at_impossible_times_get_a_sentence(values, words):
    kind = declared(samples=psmr.Samples("T", delay="T_d"))
    with pytest.raises(InputError, match=words):
        psmr.Device("D", kind, values)


def test_times_are_looked_at_whatever_the_parameters_check():
    T = psmr.Parameter("s", "time between samples", default=0.01)
    with pytest.raises(InputError, match="D: T = -1: the time between samples must be > 0 s"):
        psmr.Device("D", declared(T=T), {"T": -1.0})
    kind = declared(samples=psmr.Samples("T", offset="T_0"), T_0=T)
    with pytest.raises(InputError, match="D: T_0 = -1: the time of the first sample must be >= 0 s"):
        psmr.Device("D", kind, {"T_0": -1.0})
    with pytest.raises(InputError, match=r"C: T_d = 0.02: the computing delay must be between"):
        assert regulated().with_values([("C", "T_d", 0.02)]).samplers
    with pytest.raises(InputError, match="hold = 2: must be 0"):
        psmr.Samples("T", hold=2)


def test_code_that_nothing_calls_or_that_is_missing_gets_a_sentence():
    with pytest.raises(InputError, match="C: ExternalPI hands external code what it reads; give it code"):
        regulated(ExternalPI)
    with pytest.raises(InputError, match="C: code: PI declares no reads"):
        regulated(PI, code=Code())


EVENTS = {
    "output": (psmr.SetPoint("C", "u", 1.0, 0.1), "C has no set-point 'u'; its set-points: ref"),
    "period": (psmr.ParameterStep("C", "T", 0.02, 0.1), "T = 0.02: says when it samples, which stays"),
    "state": (psmr.ParameterStep("C", "integral", 1.0, 0.1), "C has no parameter 'integral'"),
}


@pytest.mark.parametrize(("event", "words"), EVENTS.values(), ids=EVENTS)
def test_events_change_neither_what_samples_write_nor_their_times(event, words):
    with pytest.raises(psmr.PsmrError, match=words):
        psmr.simulate(regulated(), psmr.SingleRate("TM", 0.01), 0.2, [event], certify=False)


def test_a_delayed_input_keeps_the_start_of_samples():
    system = psmr.with_delays(regulated(), {"C.y": 0.05})
    assert system.s == 2
    assert system.names_u == ("C.integral", "C.u", "C.y", "C.ref")
    assert system.u0 == pytest.approx(np.full(4, 0.7))


def test_lags_and_loads_beside_samples():
    """A class with states and samples has an index of both, and its equations read what samples write."""

    class Both(Lag):
        inputs = ("u", "y")
        sampled_states = ("held",)
        sampled_outputs = ("z",)
        samples = psmr.Samples("T")
        T = psmr.Parameter("s", "time between samples", positive, 0.01)
        sample = staticmethod(lambda m, v, p: ((v.x,), (2 * v.x,)))
        equations = staticmethod(lambda m, v, p: ((v.z - v.held + v.u - v.x,), (), ()))

    start = {"D.held": 0.5, "D.z": 2.0, "D.u": 3.0, "D.x": 1.0, "D.y": 0.0}
    system = psmr.assemble([psmr.Device("D", Both, {})], start)
    assert system.f(system.x0, system.y0) == pytest.approx([3.5])
    assert computed(system, system.samplers[0], system.w0) == pytest.approx([1.0, 2.0])
