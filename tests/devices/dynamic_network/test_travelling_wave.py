"""A line whose waves travel, against the exact solution of the wave equation and against its pi."""

import dataclasses

import numpy as np
import pytest

import psmr
from psmr.errors import InputError, SchemeError
from tests.components import Bus, TravellingWaveLine
from tests.internals import Change, integrate, own_waves, wave_values
from tests.network.dynamic.phase_equations import THREE, made

W0 = 2 * np.pi * 60
# A line of 300 km: travel time at 294,000 km/s, 1.02 ms, on the base of its characteristic impedance.
TAU, Z_C, R_S, R_L = 1.02e-3, 1.0, 0.4, 2.5


class Source(psmr.Component):
    """A voltage e (1 - part cos(w t)), on the real axis of the frame, behind a resistance."""

    inputs = ("v_re", "v_im", "e")
    outputs = ("i_re", "i_im")
    r = psmr.Parameter("pu", "resistance")
    w = psmr.Parameter("rad/s", "frequency in the frame", default=0.0)
    part = psmr.Parameter("1", "part that oscillates", default=0.0)

    @staticmethod
    def equations(m, v, p):
        e = v.e * (1 - p.part * m.cos(p.w * v.t))
        return (), (), ((e - v.v_re) / p.r, -v.v_im / p.r)


def line(r=0.0, w=0.0):
    """Return a source, the line and a resistance at its far end, at rest without voltage."""
    at = {b: {n: f"{b}.{n}" for n in ("v_re", "v_im", "i_re", "i_im")} for b in ("a", "z")}
    ends = {f"{n}_{e}": at[b][n] for e, b in (("i", "a"), ("j", "z")) for n in at["a"]}
    values = {"f_n": 60.0, "z_c": Z_C, "tau": TAU, "r": r}
    devices = [
        psmr.Device("a", Bus, {}),
        psmr.Device("z", Bus, {}),
        psmr.Device("line", TravellingWaveLine, values, ends | own_waves("line")),
        psmr.Device("source", Source, {"r": R_S, "w": w, "part": float(w > 0)}, at["a"]),
        psmr.Device("load", Source, {"r": R_L}, at["z"]),
    ]
    return psmr.assemble(devices, {"source.e": 0.0, "load.e": 0.0})


def far_end(t, e):
    """Return the space vector at the far end for a source e(t) in the frame: d'Alembert, with reflections.

    The wave v+ = Z / (Z + R_S) e meets the far end tau later with 1 + gamma_L, and comes again every 2 tau,
    gamma_S gamma_L smaller. In the frame, which turns, what comes T late has the factor exp(-j w0 T).
    """
    gamma_s, gamma_l = (R_S - Z_C) / (R_S + Z_C), (R_L - Z_C) / (R_L + Z_C)
    v = np.zeros(t.shape, complex)
    for k in range(int(t.max() / TAU)):
        late = (2 * k + 1) * TAU
        sent = np.where(t >= late - 1e-12, e(t - late), 0.0)
        v += Z_C / (Z_C + R_S) * (1 + gamma_l) * (gamma_s * gamma_l) ** k * sent * np.exp(-1j * W0 * late)
    return v


def test_a_step_travels_and_is_reflected():
    run = integrate(line(), psmr.SingleRate("TM", 5e-5), 0.02, [Change(0.0, inputs=(("source.e", 1.0),))])
    known = np.append(np.diff(run.t) > 0.0, True)  # behind the jumps
    v = run.y[known, 2] + 1j * run.y[known, 3]
    exact = far_end(run.t[known], lambda t: np.ones_like(t))
    assert abs(exact).max() > 1.0
    np.testing.assert_allclose(v, exact, rtol=0, atol=1e-11)  # 20.4 steps are the travel time
    assert 10 < np.count_nonzero(~known) < 25  # each arrival has a step that ends there


@pytest.mark.parametrize(("scheme", "allowed"), [("TM", 6e-3), ("RK4", 1e-5)])
def test_a_wave_arrives_as_the_interpolation_allows(scheme, allowed):
    """Lines with TM, cubics with RK4, of which corners beyond the third reflection leave order 2."""
    w, errors = 2 * np.pi * 300.0, []
    for h in (TAU / 20.4, TAU / 40.4):
        change = Change(0.0, inputs=(("source.e", 1.0),))
        run = integrate(line(w=w), psmr.SingleRate(scheme, h), 0.02, [change])
        v = run.y[:, 2] + 1j * run.y[:, 3]
        errors.append(abs(v - far_end(run.t, lambda t: 1 - np.cos(w * t))).max())
    assert errors[0] < allowed
    assert np.log2(errors[0] / errors[1]) > 1.7


def test_its_parameters_are_a_pi_of_nominal_frequency():
    r, x, b, g = 0.032, 0.161, 0.306, 0.002
    p = wave_values("line", r, x, b, g, 60.0)
    # At rest, for voltages of 1 at one end and 0 at the other: the admittances of the pi.
    z, h = p["z_c"] + p["r"] / 4, (p["z_c"] - p["r"] / 4) / (p["z_c"] + p["r"] / 4)
    rho = np.exp(-1j * W0 * p["tau"])
    # unknown i_i, i_j, b_i, b_j of the equations with what is late as it is
    near, far = rho * (1 - h) / 2, rho * (1 + h) / 2
    matrix = np.array([[1, 0, near, far], [0, 1, far, near], [-h, 0, 1, 0], [0, -h, 0, 1]], complex)
    i = np.linalg.solve(matrix, np.array([1 / z, 0, 1 / z, 0]))[:2] + np.array([p["g"] / 2, 0])
    series, shunt = 1 / complex(r, x), complex(g, b) / 2
    np.testing.assert_allclose(i, [series + shunt, -series], rtol=1e-12)
    assert p["r"] == pytest.approx(r, rel=0.05)
    assert p["tau"] == pytest.approx(np.sqrt(x * b) / W0, rel=0.02)


def test_a_line_that_no_wave_travels_on_is_refused():
    with pytest.raises(
        InputError, match=r"line5: x = 0\.1 and b = 0: waves travel on a line with inductance"
    ):
        wave_values("line5", 0.01, 0.1, 0.0, 0.0, 60.0)
    with pytest.raises(InputError, match=r"line5: .*its losses are too large for that"):
        wave_values("line5", 3.0, 0.1, 0.1, 0.0, 60.0)


@pytest.mark.slow
def test_wscc9_has_the_same_equilibrium_and_fault_with_travelling_waves():
    case, waves = psmr.case("wscc9"), ("line5-7", "line4-5")
    phasor = psmr.build(case)
    system = psmr.build(case, dynamic=psmr.Region("all", travelling_waves=waves))
    for name in ("bus5.v_re", "bus5.v_im", "G2.delta", "G3.e_q"):
        if name in phasor.names_x + phasor.names_y:
            assert system.w0[system.index(name)] == pytest.approx(phasor.w0[phasor.index(name)], abs=1e-10)
    assert abs(system.f(system.x0, system.y0)).max() < 1e-9
    assert abs(system.g(system.x0, system.y0)).max() < 1e-9
    events = [psmr.Fault(bus=8, start=0.02, clear=0.07, r=0.01, x=0.0)]
    scheme = psmr.SingleRate("TM", 1e-4)
    run = psmr.simulate(system, scheme, t_end=0.3, events=events)
    ladder = psmr.build(case, dynamic=psmr.Region("all", sections=10))
    other = psmr.simulate(ladder, psmr.VariableStep(1e-5), t_end=0.3, events=events)
    assert run["bus5.v"].iloc[-1] == pytest.approx(other["bus5.v"].iloc[-1], abs=2e-3)
    assert run["line5-7.p_from"].iloc[0] == pytest.approx(other["line5-7.p_from"].iloc[0], abs=1e-6)
    with pytest.raises(SchemeError, match=r"line4-5\.b_re_i_late reads line4-5\.b_re_i as it was 0\.000324"):
        psmr.simulate(system, psmr.SingleRate("RK4", 1e-3), t_end=0.1)


def test_lines_that_are_not_in_the_region_are_refused():
    with pytest.raises(InputError, match=r"travelling_waves: 'line5-8' is no line in the region.*line"):
        psmr.build(psmr.case("wscc9"), dynamic=psmr.Region("all", travelling_waves=("line5-8",)))


SYMMETRIC = {
    "buses": (1, 2, 3),
    "lines": [(1, 2, 0.02, 0.2, 0.1), (2, 3, 0.02, 0.25, 0.15), (1, 3, 0.03, 0.25, 0.12)],
    "loads": [(2, 80.0, 30.0), (3, 60.0, 20.0)],
    "grounded": (2, 3),
    "sources": [(1, 1.03, 0.0, 0.005, 0.1)],
}


def test_phases_without_coupling_do_not_see_each_other_behind_waves():
    """With equal zero and positive sequence each phase is a circuit of its own, with d'Alembert's waves.

    A fault of phase a leaves the others at rest, and phase a is that of a fault of all three.
    """
    lines = SYMMETRIC["lines"]
    case = made(**SYMMETRIC)
    rows = [
        dataclasses.replace(row, r0=r, x0=x, b0=c)
        for row, (_, _, r, x, c) in zip(case.sequence, lines, strict=False)
    ]
    source = dataclasses.replace(case.sequence[len(rows)], x0=0.1, r0=0.005)
    case = dataclasses.replace(case, sequence=(*rows, source, *case.sequence[len(rows) + 1 :]))
    region = psmr.Region("all", travelling_waves=("line2-3",), zero_sequence=True)
    system, t = psmr.build(case, dynamic=region), np.arange(1, 100) * 2e-4
    names = [f"bus{bus}.v_{k}" for bus in (1, 2, 3) for k in "abc"]
    fault = psmr.Fault(2, 0.004, 0.012, r=0.5, x=0.0, at_zero=False)
    errors = []
    for h in (2e-5, 1e-5, 5e-6):
        one, all_three, none = (
            psmr.simulate(system, psmr.SingleRate("TM", h=h, damped=False), 0.02, events, certify=False)
            .at(t, names).to_numpy().reshape(-1, 3, 3)
            for events in ([dataclasses.replace(fault, phases="ag")], [fault], [])
        )  # fmt: skip
        assert np.abs(one[..., 0] - none[..., 0]).max() > 0.1
        own, others = np.abs(one[..., 0] - all_three[..., 0]), np.abs(one[..., 1:] - none[..., 1:])
        errors.append(max(own.max(), others.max()))
    # TM has the frame turn and the zero sequence not: halving the step divides what is left by about 4.
    assert errors[0] < 5e-3
    assert errors[0] / errors[1] > 3.6
    assert errors[1] / errors[2] > 3.6


def test_waves_of_the_zero_sequence_have_a_speed_of_their_own():
    region = psmr.Region("all", travelling_waves=("line2-3",), zero_sequence=True)
    system = psmr.build(made(**THREE), dynamic=region)
    own, zero = (system.device(name).parameters for name in ("line2-3", "line2-3_zero"))
    # Without losses z_c = sqrt(x / b) and tau = sqrt(x b) / w0: x0 = 3 x, b0 = 0.6 b.
    assert zero["z_c"] / own["z_c"] == pytest.approx(np.sqrt(3 / 0.6), rel=1e-2)
    assert zero["tau"] / own["tau"] == pytest.approx(np.sqrt(3 * 0.6), rel=1e-2)
    assert system.f(system.x0, system.y0) == pytest.approx(0.0, abs=1e-9)
    trip = psmr.LineTrip("2-3", 0.01)
    run = psmr.simulate(system, psmr.SingleRate("TM", h=5e-5), 0.03, [trip], certify=False)
    assert np.abs(run["line2-3.i_0"].to_numpy()[run.t > 0.01]).max() < 1e-9
    assert np.abs(run["line2-3.i_a"].to_numpy()[run.t < 0.01]).max() > 0.05
