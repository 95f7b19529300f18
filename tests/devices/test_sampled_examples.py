"""Digital controllers of several kinds in runs, against what their samples and plants give exactly."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm

import psmr
from tests.dae.declare.test_sampled import Code
from tests.internals import NumericMath, equilibrium_near
from tests.systems.sampled import (
    PI,
    Area,
    DigitalLoop,
    ExternalPI,
    GenerationControl,
    LinePI,
    PhasorMeasurement,
    regulated,
)


class Source(psmr.Component):
    """A voltage of 1 pu whose frequency deviates from nominal by df in Hz."""

    states = ("delta",)
    algebraic = ("v_re", "v_im")
    inputs = ("df",)
    units = {"delta": "rad"}

    @staticmethod
    def equations(m, v, p):
        residuals = (m.cos(v.delta) - v.v_re, m.sin(v.delta) - v.v_im)
        return (2 * np.pi * v.df,), residuals, ()


def measured(kind, t_end, **parameters):
    """Run a source that is 0.5 Hz above nominal, beside what measures it."""
    wires = {"v_re": "S.v_re", "v_im": "S.v_im"}
    devices = [psmr.Device("S", Source, {}), psmr.Device("M", kind, parameters, wires)]
    system = psmr.assemble(devices, {"S.v_re": 1.0, "S.df": 0.5})
    return psmr.simulate(system, psmr.SingleRate("RK4", 0.005), t_end, certify=False)


def test_a_loop_in_software_is_its_recursion_and_finds_the_frequency():
    run = measured(DigitalLoop, 1.0)
    p = SimpleNamespace(T=0.001, f_n=60.0, k_p=60.0, k_i=900.0)
    v = SimpleNamespace(theta=0.0, integral=0.0)
    for k in range(1000):
        delta = np.pi * 0.001 * k
        v.v_re, v.v_im = np.cos(delta), np.sin(delta)
        (v.theta, v.integral), (v.f,) = DigitalLoop.sample(NumericMath, v, p)
    last = run.frame(["M.theta", "M.f"]).iloc[-1]
    assert last.to_numpy() == pytest.approx([v.theta, v.f], abs=1e-10)
    assert last["M.f"] == pytest.approx(60.5, abs=1e-3)


@pytest.mark.parametrize("frames", [50, 60])
def test_a_phasor_measurement_says_a_frame_later_what_there_was(frames):
    """Angle and frequency of frame k are out from frame k + 1 on, whatever the step."""
    T = 1 / frames
    run = measured(PhasorMeasurement, 0.5, T=T, T_d=T)
    t = (np.arange(2, 20) + 0.5) * T
    magnitude, angle, f = run.at(t, ["M.magnitude", "M.angle", "M.f"]).to_numpy().T
    k = np.floor(t / T) - 1
    assert magnitude == pytest.approx(1.0, abs=1e-12)
    assert angle == pytest.approx(np.pi * T * k, abs=1e-10)
    assert f[1:] == pytest.approx(50.5, abs=1e-9)


def between_samples(A, b, T):
    """Return x(t + T) = F x(t) + G u(t) of x' = A x + b u with u held."""
    n = len(A)
    both = expm(T * np.block([[A, b], [np.zeros((b.shape[1], n + b.shape[1]))]]))
    return both[:n, :n], both[:n, n:]


def test_generation_control_brings_the_frequency_back():
    """Every 4 s, first at 1 s; its load rises by 0.1 pu at 0.5 s. Between samples the area is linear."""
    area = psmr.Device("A", Area, {}, {"p_ref": "AGC.p_ref"})
    control = psmr.Device("AGC", GenerationControl, {"T_0": 1.0}, {"omega": "A.omega"})
    start = {"A.omega": 1.0, "A.p_m": 0.5, "AGC.integral": 0.5, "AGC.p_ref": 0.5, "AGC.omega_ref": 1.0}
    system = psmr.assemble([area, control], start)
    events = [psmr.SetPoint("A", "p_load", 0.6, 0.5)]
    run = psmr.simulate(system, psmr.VariableStep(1e-8), 200.0, events, certify=False)
    A = np.array([[0.0, 0.1], [-1 / 0.05 / 0.5, -2.0]])
    b = np.array([[0.0, -0.1], [2.0, 0.0]])
    x, p_ref, omegas = np.zeros(2), 0.0, []
    for k in range(50):
        F, G = between_samples(A, b, 4.0 if k else 0.5)
        x = F @ x + G @ [p_ref, 0.1]
        omegas.append(x[0])
        p_ref += 0.5 * 4.0 * -x[0]
    assert run["AGC.p_ref"].iloc[-1] == pytest.approx(0.5 + p_ref, abs=1e-6)
    t = 1.0 + 4.0 * np.arange(50)
    assert run.at(t, "A.omega").to_numpy().ravel() - 1 == pytest.approx(omegas, abs=1e-6)
    assert abs(omegas[-1]) < 1e-4 < 0.004 < abs(omegas[0])


@pytest.mark.parametrize("T_d", [0.0, 0.01])
@pytest.mark.parametrize("controller", [PI, LinePI])
def test_a_regulator_of_a_lag_is_its_recursion(controller, T_d):
    """Between samples the output is held, or a line; one sample late with the longest delay."""
    system = regulated(controller, T_d=T_d).with_values([("C", "ref", 0.9)])
    run = psmr.simulate(system, psmr.SingleRate("RK4", 0.005), 0.5, certify=False)
    T, tau = 0.01, 0.5
    a = np.exp(-T / tau)
    x, integral, out = 0.7, 0.7, [0.7, 0.7, 0.7]  # the last three outputs computed
    found = []
    for _ in range(50):
        found.append(x)
        error = 0.9 - x
        out = [*out[1:], 2.0 * error + integral]
        integral += 3.0 * T * error
        now, before = (out[-2], out[-3]) if T_d else (out[-1], out[-2])
        slope = (now - before) / T if controller is LinePI else 0.0
        x = a * x + (1 - a) * now + slope * (T - tau * (1 - a))
    assert run.at(T * np.arange(50), "P.x").to_numpy().ravel() == pytest.approx(found, abs=1e-9)


def test_external_code_and_the_declaration_are_the_same():
    ref = [psmr.SetPoint("C", "ref", 0.9, 0.1)]
    scheme = psmr.SingleRate("TM", 0.005)
    systems = regulated(PI, T=0.02), regulated(PI, T=0.02)
    own = psmr.simulate(systems[0], scheme, 1.0, ref, certify=False)
    code = regulated(ExternalPI, code=Code(), T=0.02)
    code = code.with_start(u=systems[1].u0)
    other = psmr.simulate(code, scheme, 1.0, ref, certify=False)
    names = ["P.x", "C.u", "C.integral"]
    assert other.frame(names).to_numpy() == pytest.approx(own.frame(names).to_numpy(), abs=1e-12)


def test_a_loop_in_software_rests_beside_nominal_frequency():
    """All angles turn at pi rad/s together, that of the loop with them; its integral has that speed."""
    wires = {"v_re": "S.v_re", "v_im": "S.v_im"}
    devices = [psmr.Device("S", Source, {}), psmr.Device("M", DigitalLoop, {}, wires)]
    system = psmr.assemble(devices, {"S.delta": 0.4, "S.v_re": 0.9, "S.df": 0.5})
    found = equilibrium_near(system)
    at = dict(zip(system.names_u, found.u, strict=True))
    assert found.turning == pytest.approx(np.pi, abs=1e-10)
    assert at["M.integral"] == pytest.approx(np.pi, abs=1e-9)
    assert at["M.theta"] == pytest.approx(found.x[0], abs=1e-9)
    assert at["M.f"] == pytest.approx(60.5, abs=1e-9)
