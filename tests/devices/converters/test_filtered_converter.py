"""The converter with its filter: SI equations written anew, the ripple of voltages beside the fundamental."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import partitioning
import psmr
from psmr import Device, assemble
from tests.components import FilteredConverter
from tests.devices.library import PARAMETERS
from tests.devices.test_jacobians import Signal
from tests.internals import Plant, integrate, solve_plants

# 1 MVA, 690 V, 60 Hz. In SI units: H, F, ohm; v and i are of peak phase values in a power-invariant frame.
W_N, S, V = 2 * np.pi * 60.0, 1e6, 690.0
Z = V**2 / S
P = PARAMETERS[FilteredConverter] | {"s_n": 1.0}
L_F, L_G, C_F = P["x_f"] * Z / W_N, P["x_g"] * Z / W_N, P["b_f"] / Z / W_N
R_F, R_G = P["r_f"] * Z, P["r_g"] * Z
BEFORE = 1.0 * np.exp(0.1j)


def alone(voltage, power, **changes):
    """The converter at a voltage that is held, started with a power in pu."""
    parameters = P | {"s_base": 1.0, "f_n": 60.0} | changes
    wires = {port: f"bus.{port}" for port in ("v_re", "v_im", "i_re", "i_im")}
    plant = Plant(
        "c", (Device("c", FilteredConverter, parameters, wires),), voltage, np.conj(power / voltage)
    )
    device = Device("c", FilteredConverter, parameters, {"i_re": "re.s", "i_im": "im.s"})
    held = {"c.v_re": voltage.real, "c.v_im": voltage.imag}
    return assemble(
        [device, Device("re", Signal, {}), Device("im", Signal, {})], solve_plants([plant]) | held
    )


def circuit(p_ref, q_ref):
    """Rates of (theta, w_pll, v_m, p_m, q_m, x_p, x_q, y, e, i, v_c, i_o) in SI units."""
    volts_per_ampere = P["kp_i"] * Z

    def rates(x, v_bus):
        theta, w_i = x[:2]
        v_m = complex(x[2], x[3])
        p_m, q_m, x_p, x_q = x[4:8]
        y, e, i, v_c, i_o = x[8::2] + 1j * x[9::2]
        w = W_N * (1 + P["kp_pll"] * v_m.imag / V) + w_i
        grid = v_bus * np.exp(-1j * theta)
        power = v_c * np.conj(i_o)
        wanted = complex(P["kp_p"] * (p_ref - p_m) / V + x_p, -(P["kp_q"] * (q_ref - q_m) / V + x_q))
        limit = P["i_max"] * S / V
        q_given = min(max(wanted.imag, -limit), limit)
        room = np.sqrt(max(limit**2 - q_given**2, (0.1 * limit) ** 2))
        given = complex(min(max(wanted.real, -room), room), q_given)
        asked = (
            P["f_v"] * v_m - P["k_ad"] * (v_c - v_m) + 1j * W_N * L_F * i + volts_per_ampere * (given - i) + y
        )
        pairs = [
            P["ki_i"] * Z * (given - i),
            (asked - e) / P["t_d"],
            (e - v_c - R_F * i) / L_F - 1j * w * i,
            (i - i_o) / C_F - 1j * w * v_c,
            (v_c - grid - R_G * i_o) / L_G - 1j * w * i_o,
        ]
        measured = (v_c - v_m) / P["t_m"]
        first = [
            w - W_N,
            W_N * P["ki_pll"] * v_m.imag / V,
            measured.real,
            measured.imag,
            (power.real - p_m) / P["t_p"],
            (power.imag - q_m) / P["t_p"],
            P["ki_p"] * (p_ref - p_m) / V + P["k_aw"] * (given - wanted).real,
            P["ki_q"] * (q_ref - q_m) / V - P["k_aw"] * (given - wanted).imag,
        ]
        return np.array(first + [part for value in pairs for part in (value.real, value.imag)])

    return rates


AMPERES = S / V
# SI value of one per-unit state, in the order of the component's states and of the circuit's.
SCALE = np.array([1.0, W_N, V, V, S, S, AMPERES, AMPERES, *[V] * 4, AMPERES, AMPERES, V, V, AMPERES, AMPERES])


def rates_of(system, voltage):
    u = system.u0.copy()
    for name, value in (("c.v_re", voltage.real), ("c.v_im", voltage.imag)):
        u[system.names_u.index(name)] = value
    return lambda t, x: system.f(x, np.zeros(2), u)


def test_response_against_the_circuit_in_si_units():
    """A dip to 0.4 with a jump of phase, into the limit of the current and out of it again."""
    system = alone(BEFORE, 0.6 + 0.1j)
    rates = circuit(*(S * system.w0[system.index(f"c.{n}")] for n in ("p_ref", "q_ref")))
    ours, theirs = system.x0, system.x0 * SCALE
    assert np.abs(rates(theirs, BEFORE * V) / SCALE).max() < 1e-7
    worst, currents = 0.0, []
    dip = {0.0: BEFORE, 0.002: 0.4 * np.exp(-0.1j), 0.15: 0.97 * np.exp(0.12j), 0.4: None}
    for (begin, v), (end, _) in pairwise(dip.items()):
        options = {"t_eval": np.linspace(begin, end, 100), "method": "LSODA", "rtol": 1e-10, "atol": 1e-12}
        first = solve_ivp(rates_of(system, v), (begin, end), ours, **options)
        options["atol"] = 1e-12 * SCALE
        second = solve_ivp(lambda t, x, v=v: rates(x, v * V), (begin, end), theirs, **options)
        ours, theirs = first.y[:, -1], second.y[:, -1]
        worst = max(worst, np.abs(first.y - second.y / SCALE[:, None]).max())
        currents.append(np.hypot(*first.y[12:14]))
    assert currents[0].max() < 1.0 < 1.19 < currents[1][-1]
    assert currents[2][-1] < 1.0
    # Error of the two integrations (measured: 2e-10).
    assert worst < 1e-8


@pytest.fixture(scope="module")
def nine_buses(wscc9):
    return psmr.build(psmr.read_case(wscc9 / "wscc9-emt.toml"))


def test_what_the_pencil_says_is_what_the_step_does(nine_buses):
    """Explicit prediction, the converter alone fast: a small motion on both sides of the critical ratio."""
    linear = nine_buses.linearise()
    split = partitioning.by_device(linear, fast=["C3"])
    scheme = psmr.Multirate(split, 1e-3, 20, predictor="FEM", solution="TM")
    found = psmr.critical_step(linear, scheme, vary="ratio", last=0.004)
    # docs/emt.md; the converter's voltage oscillates with its current control.
    assert found.h == pytest.approx(2.05e-3)
    assert found.variable.startswith("C3.")
    moved = nine_buses.index("C3.v_cd")
    start = nine_buses.x0.copy()
    start[moved] += 1e-7
    grown, steps = [], round(found.h / 5e-5)
    for ratio in (steps - 4, steps + 4):
        scheme = psmr.Multirate(split, ratio * 5e-5, ratio, predictor="FEM", solution="TM", tolerance=1e-13)
        run = integrate(nine_buses, scheme, 0.6, start=(start, nine_buses.y0))
        motion = np.abs(np.diff(run.x[:, moved]))
        grown.append(motion[-20:].max() / motion[20:40].max())
    assert grown[0] < 0.1
    assert grown[1] > 10.0


def test_with_its_bus_fast_no_step_is_too_long(nine_buses):
    linear = nine_buses.linearise()
    split = partitioning.by_device(linear, fast=["C3", "bus3"])
    for predictor in ("FEM", "TM"):
        scheme = psmr.Multirate(split, 0.01, 200, predictor=predictor, solution="TM")
        assert psmr.deformation(linear, scheme).stable
