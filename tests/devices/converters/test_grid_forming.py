"""Grid-forming converters: the paper's equations in SI units, droop sharing, a grid of nothing else."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import psmr
from psmr import Case, Device, assemble, modes, read_case
from psmr.errors import CaseError, InitialisationError
from tests.components import GridFormingConverter
from tests.devices.test_jacobians import Signal
from tests.internals import BusRow, DeviceRow, GeneratorRow, LineRow, LoadRow, Plant, solve_plants

# Pogaku, Prodanovic and Green (2007), inverter parameters: 10 kVA, 381 V, 50 Hz; ohm, H, F, rad/s.
L_F, R_F, C_F, L_C, R_C = 1.35e-3, 0.1, 50e-6, 0.35e-3, 0.03
W_C, M_P, N_Q = 31.41, 9.4e-5, 1.3e-3
K_PV, K_IV, K_PC, K_IC, F = 0.05, 390.0, 10.5, 16e3, 0.75
W_N = 2 * np.pi * 50.0
S, V = 10e3, 381.0
Z = V**2 / S
# Not in the paper: limit and anti-windup, part of the voltage fed forward.
LIMITS = {"i_max": 1.5, "k_aw": 400.0, "f_v": 0.5}
POGAKU = {
    "s_n": 0.01,
    **{"m_p": M_P * S / W_N, "n_q": N_Q * S / V, "t_p": 1 / W_C},
    **{"kp_v": K_PV * Z, "ki_v": K_IV * Z, "f_i": F, "kp_i": K_PC / Z, "ki_i": K_IC / Z},
    **{"r_f": R_F / Z, "x_f": W_N * L_F / Z, "b_f": W_N * C_F * Z, "r_c": R_C / Z, "x_c": W_N * L_C / Z},
    **LIMITS,
}


def wired(**changes):
    wires = {port: f"bus.{port}" for port in ("v_re", "v_im", "i_re", "i_im")}
    return Device("c", GridFormingConverter, {**POGAKU, "s_base": 0.01, "f_n": 50.0} | changes, wires)


def alone(voltage, power, **changes):
    """The converter at a voltage that is held, started with a power in pu."""
    start = solve_plants([Plant("c", (wired(**changes),), voltage, np.conj(power / voltage))])
    device = Device("c", GridFormingConverter, wired(**changes).parameters, {"i_re": "re.s", "i_im": "im.s"})
    held = {"c.v_re": voltage.real, "c.v_im": voltage.imag}
    return assemble([device, Device("re", Signal, {}), Device("im", Signal, {})], start | held)


def paper(p_ref, v_ref, l_c=L_C, r_v=0.0, l_v=0.0):
    """Rates of (delta, P, Q, phi, gamma, i_l, v_o, i_o) in SI units, complex numbers d + jq.

    Pogaku et al., section II, with the virtual impedance, the limit of the current reference and the
    feed-forward of the voltage beside it. Reactive power counts as positive for a current that lags.
    """
    i_limit, back = LIMITS["i_max"] * S / V, LIMITS["k_aw"]

    def rates(x, v_grid):
        delta, p, q = x[:3]
        phi, gamma, i_l, v_o, i_o = x[3::2] + 1j * x[4::2]
        w = W_N - M_P * (p - p_ref)
        v_b = v_grid * np.exp(-1j * delta)
        power = v_o * np.conj(i_o)
        error = v_ref - N_Q * q - (r_v + 1j * W_N * l_v) * i_o - v_o
        wanted = F * i_o + 1j * W_N * C_F * v_o + K_PV * error + K_IV * phi
        given = wanted * min(1.0, i_limit / abs(wanted))
        v_i = LIMITS["f_v"] * v_o + 1j * W_N * L_F * i_l + K_PC * (given - i_l) + K_IC * gamma
        pairs = [
            error + back / K_IV * (given - wanted),
            given - i_l,
            (v_i - v_o - R_F * i_l) / L_F - 1j * w * i_l,
            (i_l - i_o) / C_F - 1j * w * v_o,
            (v_o - v_b - R_C * i_o) / l_c - 1j * w * i_o,
        ]
        flat = [part for value in pairs for part in (value.real, value.imag)]
        return np.array([w - W_N, W_C * (power.real - p), W_C * (power.imag - q), *flat])

    return rates


# SI value of one per-unit state, in the order of the component's states and of the paper's.
ORDER = ("theta", "p_m", "q_m", "x_d", "x_q", "y_d", "y_q", "i_d", "i_q", "v_cd", "v_cq", "i_od", "i_oq")
SCALE = np.array(
    [1.0, S, S, *[S / V / K_IV] * 2, *[V / K_IC] * 2, *[S / V] * 2, *[V] * 2, *[S / V] * 2], dtype=float
)


def rates_of(system, voltage):
    u = system.u0.copy()
    for name, value in (("c.v_re", voltage.real), ("c.v_im", voltage.imag)):
        u[system.names_u.index(name)] = value
    return lambda t, x: system.f(x, np.zeros(2), u)


TRIP = psmr.LoadTrip(bus=3, start=0.1, fraction=0.5)

# The reactor to the grid is larger than the paper's, whose inverters have lines before them.
GRID = {"x_c": W_N * 2e-3 / Z}


@pytest.mark.parametrize("virtual", [{}, {"r_v": 0.02, "x_v": 0.1}], ids=["plain", "virtual impedance"])
def test_response_against_the_paper(virtual):
    """A dip to 0.4 with a jump of phase, into the limit and out of it again."""
    before = 1.0 * np.exp(0.1j)
    system = alone(before, 0.5 + 0.1j, **GRID, **virtual)
    l_v = virtual.get("x_v", 0.0) * Z / W_N
    p_ref, v_ref = (system.w0[system.index(f"c.{n}")] for n in ("p_ref", "v_ref"))
    rates = paper(p_ref * S, v_ref * V, l_c=2e-3, r_v=virtual.get("r_v", 0.0) * Z, l_v=l_v)
    assert tuple(name.removeprefix("c.") for name in system.names_x) == ORDER
    # The paper's integrators hold errors over time, ours currents and voltages.
    ours, theirs = system.x0, system.x0 * SCALE
    assert np.abs(rates(theirs, before * V) / SCALE).max() < 1e-7
    voltage = {0.0: before, 0.01: 0.4 * np.exp(-0.2j), 0.06: 0.97 * np.exp(0.15j), 0.3: None}
    worst, reached = 0.0, []
    for (begin, v), (end, _) in pairwise(voltage.items()):
        times = np.linspace(begin, end, 80)
        options = {"t_eval": times, "method": "LSODA", "rtol": 1e-10, "atol": 1e-12}
        first = solve_ivp(rates_of(system, v), (begin, end), ours, **options)
        scaled = {**options, "atol": 1e-12 * SCALE}
        second = solve_ivp(lambda t, x, v=v: rates(x, v * V), (begin, end), theirs, **scaled)
        ours, theirs = first.y[:, -1], second.y[:, -1]
        worst = max(worst, np.abs(first.y - second.y / SCALE[:, None]).max())
        reached.append([_asked(system, x) for x in first.y.T])
    limit = LIMITS["i_max"]
    assert max(reached[0]) < limit < max(reached[1])
    assert reached[2][-1] < limit
    # Error of the two integrations across the limit's kinks (measured: 3e-8).
    assert worst < 1e-6


def _asked(system, x):
    """The magnitude of the current that the voltage control asks for, before the limit."""
    s = dict(zip(ORDER, x, strict=True))
    p = system.devices[0].parameters
    v_ref = system.w0[system.index("c.v_ref")]
    i_o, v_c = complex(s["i_od"], s["i_oq"]), complex(s["v_cd"], s["v_cq"])
    error = v_ref - p["n_q"] * s["q_m"] - (p["r_v"] + 1j * p["x_v"]) * i_o - v_c
    return abs(p["f_i"] * i_o + 1j * p["b_f"] * v_c + p["kp_v"] * error + complex(s["x_d"], s["x_q"]))


def test_eigenvalues_against_the_paper():
    """Eigenvalues of the compiled Jacobian and of the SI equations, differenced."""
    voltage = 1.0 + 0.0j
    system = alone(voltage, 0.5 + 0.1j, **GRID)
    found = np.linalg.eigvals(system.linearise().state_matrix())
    p_ref, v_ref = (system.w0[system.index(f"c.{n}")] for n in ("p_ref", "v_ref"))
    rates = paper(p_ref * S, v_ref * V, l_c=2e-3)
    x = system.x0 * SCALE
    step = 1e-4
    columns = [
        (rates(x + step * SCALE * e, V) - rates(x - step * SCALE * e, V)) / (2 * step) / SCALE
        for e in np.eye(len(x))
    ]
    expected = np.linalg.eigvals(np.array(columns).T)
    for value in expected:
        nearest = found[np.argmin(np.abs(found - value))]
        assert abs(nearest - value) < 1e-5 * abs(value) + 1e-3
    assert expected.real.max() < 0


def inverter(name, bus, control, **given):
    row = DeviceRow(name, "converter", "GridFormingConverter", POGAKU)
    return GeneratorRow(name, bus, control, v=1.0, devices=(row,), **given)


@pytest.fixture(scope="module")
def microgrid():
    """The paper's three inverters, two lines and two loads of 25 and 20 ohm; nothing but converters."""
    p = V**2 / 25 / 1e6, V**2 / 20 / 1e6
    loads = [LoadRow(n, mw, 0.0, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)) for n, mw in zip((1, 3), p, strict=True)]
    return Case(
        "microgrid",
        0.01,
        50.0,
        (BusRow(1), BusRow(2), BusRow(3)),
        (LineRow(1, 2, 0.1 / Z, r=0.23 / Z), LineRow(2, 3, 0.58 / Z, r=0.35 / Z)),
        loads=tuple(loads),
        generators=(
            inverter("C1", 1, "slack"),
            inverter("C2", 2, "pv", p_mw=sum(p) / 3),
            inverter("C3", 3, "pv", p_mw=sum(p) / 3),
        ),
    )


def test_converters_alone_share_a_loss_of_load(microgrid):
    """Equal droops: what the loads no longer take is taken off in equal parts, and the frequency tells."""
    system = psmr.build(microgrid)
    table = modes(system.linearise())
    values = (table.real + 1j * table.imag).to_numpy()
    assert np.sort(np.abs(values))[0] < 1e-6
    assert values[np.abs(values) > 1e-6].real.max() < -1
    run = psmr.simulate(system, psmr.SingleRate("TM", h=2e-4), t_end=4.0, events=[TRIP])
    power = np.array([[run.x[k, system.index(f"C{i}.p_m")] for i in (1, 2, 3)] for k in (0, -1)])
    change = power[1] - power[0]
    np.testing.assert_allclose(change, change.mean(), rtol=1e-4)
    assert -0.4 < change.sum() < -0.3
    angle = [run.x[:, system.index(f"C{i}.theta")] for i in (1, 2, 3)]
    last = run.t > 3.5
    speed = [np.polyfit(run.t[last], theta[last], 1)[0] for theta in angle]
    np.testing.assert_allclose(speed, -M_P * S * change, rtol=1e-4)


def test_case_file_has_the_numbers_of_the_paper(microgrid):
    from tests.conftest import ROOT

    case = read_case(ROOT / "cases" / "microgrid" / "microgrid.toml")
    for row, expected in zip(case.generators, microgrid.generators, strict=True):
        given, paper = row.devices[0].parameters, expected.devices[0].parameters
        assert given.keys() == paper.keys()
        for name in given.keys() - LIMITS.keys():
            assert given[name] == pytest.approx(paper[name], rel=1e-5)
    for row, expected in zip(case.lines + case.loads, microgrid.lines + microgrid.loads, strict=True):
        for name in ("r", "x") if isinstance(row, LineRow) else ("p_mw", "q_mvar"):
            assert getattr(row, name) == pytest.approx(getattr(expected, name), rel=1e-5)
    # The limit, which the paper does not have, is out of reach.
    system = psmr.build(case)
    run = psmr.simulate(system, psmr.SingleRate("TM", h=1e-4), t_end=0.2, events=[TRIP])
    for name in ("C1", "C2", "C3"):
        current = np.hypot(*(run.x[:, system.index(f"{name}.{axis}")] for axis in ("i_d", "i_q")))
        assert current.max() < 1.0


def test_current_above_its_limit_at_the_start_is_named(microgrid):
    c1 = microgrid.generators[0]
    low = replace(c1.devices[0], parameters={**POGAKU, "i_max": 0.3})
    with pytest.raises(
        InitialisationError, match=r"C1: input of a limiter = 0\.\d+ is 0\.\d+ above i_max = 0\.3"
    ):
        psmr.build(
            replace(microgrid, generators=(replace(c1, devices=(low,)), *microgrid.generators[1:])),
            start_at_limits="refuse",
        )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("x_f", 0.0, r"x_f = 0\.0: must be > 0 \(reactance of the filter's reactor, pu on converter base\)"),
        ("b_f", 0.0, r"b_f = 0\.0: must be > 0"),
        ("f_i", 1.5, r"f_i = 1\.5: must be between 0 and 1"),
        ("m_p", -0.01, r"m_p = -0\.01: must be >= 0"),
        ("i_max", 0.0, r"i_max = 0\.0: must be > 0"),
    ],
)
def test_wrong_parameter_is_named(name, value, message):
    with pytest.raises(CaseError, match=message):
        DeviceRow("C1", "converter", "GridFormingConverter", {**POGAKU, name: value})


def test_two_integrators_of_one_voltage_are_refused(wscc9):
    case = read_case(wscc9 / "wscc9-ibr.toml")
    c1, c2 = case.generators[2:]
    twin = replace(c1, devices=(replace(c2.devices[0], name="C1"),))
    with pytest.raises(CaseError, match=r"C1 and C2 both integrate the error of the voltage at bus 3"):
        replace(case, generators=(*case.generators[:2], twin, c2))
