"""GENROU and GENSAL against the machine's own circuit, their saturation curve, and in plants at rest."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from psmr import Device, SingleRate, assemble, build, read_case
from psmr.errors import CaseError, EventError, InputError
from tests.components import (
    ESST3A,
    ESST4B,
    EXAC1,
    EXST1,
    GAST,
    GENROE,
    GENROU,
    GENSAE,
    GENSAL,
    GENTPJ1,
    HYGOV,
    IEEEG1,
    IEEEST,
    IEEET1,
    IEEEX1,
    IEESGO,
    SEXS,
    TGOV1,
    Bus,
)
from tests.devices.library import PARAMETERS, ZERO
from tests.internals import Change, DeviceRow, Plant, Terminal, integrate, solve_plants

BUS = {port: f"bus.{port}" for port in ("v_re", "v_im", "i_re", "i_im")}
LINEAR = {"s_10": 0.0, "s_12": 0.0, "s_n": 100.0}
VOLTAGE, CURRENT = 1.02 + 0.0j, 0.8 - 0.3j


def at_rest(component, voltage=VOLTAGE, current=CURRENT, **other):
    """Parameters and equilibrium of one machine, solved for; its guess is that equilibrium already."""
    device = Device("G", component, PARAMETERS[component] | other, BUS)
    return device, solve_plants([Plant("G", (device,), voltage, current)])


def winding(main, leakages, t_first, t_second, speed):
    """Leakage and resistance of two rotor windings from standard parameters (Sauer and Pai 1998, chapter 3).

    x' is main parallel to the first leakage, x'' parallel to both; T' belongs to the first winding with
    the second open, T'' to the second with the first short.
    """
    transient, subtransient = leakages
    first = 1 / (1 / transient - 1 / main)
    second = 1 / (1 / subtransient - 1 / transient)
    r_first = (first + main) / (speed * t_first)
    r_second = (second + first * main / (first + main)) / (speed * t_second)
    return first, second, r_first, r_second


def circuit(p, voltage, delta, field):
    """Currents of the rotor and stator windings as functions of rotor fluxes, and the fluxes' rates."""
    speed = 2 * np.pi * p["f_n"]
    x_l, main_d, main_q = p["x_l"], p["x_d"] - p["x_l"], p["x_q"] - p["x_l"]
    d = winding(main_d, (p["x_d1"] - x_l, p["x_2"] - x_l), p["t_d01"], p["t_d02"], speed)
    if "x_q1" in p:
        q = winding(main_q, (p["x_q1"] - x_l, p["x_2"] - x_l), p["t_q01"], p["t_q02"], speed)
    else:
        leakage = 1 / (1 / (p["x_2"] - x_l) - 1 / main_q)
        q = (leakage, None, (leakage + main_q) / (speed * p["t_q02"]), None)

    def axis(main, windings):
        """Flux linkages of (stator, rotor windings) from their currents, generator sign in the stator."""
        matrix = np.full((1 + len(windings), 1 + len(windings)), main)
        matrix[:, 0] *= -1
        matrix[0, 0] = -(main + x_l)
        for i, leakage in enumerate(windings, start=1):
            matrix[i, i] += leakage
        return matrix

    windings_q = [x for x in q[:2] if x is not None]
    l_d, l_q = axis(main_d, d[:2]), axis(main_q, windings_q)
    count = 3 + len(windings_q)

    def currents(fluxes, angle):
        """(i_d, i_q, rotor currents) with v = -r i + j psi in the rotor's frame."""
        v = voltage * np.exp(-1j * (angle - np.pi / 2))
        size = 2 + len(fluxes)
        matrix, right = np.zeros((size, size)), np.zeros(size)
        # Unknowns: i_d, i_f, i_1d, i_q, dampers of q. psi_d = v_q + r i_q, psi_q = -(v_d + r i_d).
        matrix[:3, :3], matrix[3:, 3:] = l_d, l_q
        right[1:3], right[4:] = fluxes[:2], fluxes[2:]
        matrix[0, 3] -= p["r_a"]
        right[0] = v.imag
        matrix[3, 0] += p["r_a"]
        right[3] = -v.real
        return np.linalg.solve(matrix, right)

    def rates(t, z):
        angle, omega, fluxes = z[0], z[1], z[2:]
        i = currents(fluxes, angle)
        v = voltage * np.exp(-1j * (angle - np.pi / 2))
        psi_d, psi_q = v.imag + p["r_a"] * i[3], -(v.real + p["r_a"] * i[0])
        torque = psi_d * i[3] - psi_q * i[0]
        slip = omega - 1
        flux_rates = [speed * (d[2] * field[0] / main_d - d[2] * i[1]), -speed * d[3] * i[2]]
        flux_rates += [-speed * r * x for r, x in zip([r for r in q[2:] if r], i[4:], strict=True)]
        return np.array(
            [speed * slip, (field[1] - torque - p["d"] * slip) / (2 * p["h"]), *flux_rates], dtype=float
        )

    def fluxes_at_rest(i_d, i_q):
        i_field = field[0] / main_d
        return [
            -main_d * i_d + (main_d + d[0]) * i_field,
            -main_d * i_d + main_d * i_field,
            *([-main_q * i_q] * (count - 3)),
        ]

    return rates, fluxes_at_rest


@pytest.mark.parametrize("component", [GENROU, GENSAL], ids=lambda c: c.__name__)
def test_unsaturated_machine_is_its_circuit(component):
    device, start = at_rest(component, **LINEAR)
    p = device.parameters
    alone = Device("G", component, p, {"i_re": "bus.i_re", "i_im": "bus.i_im"})
    held = {"G.v_re": VOLTAGE.real, "G.v_im": VOLTAGE.imag}
    system = assemble([Device("bus", Bus, {}), alone], start | held)
    rates, fluxes_at_rest = circuit(p, VOLTAGE, start["G.delta"], (start["G.v_f"], start["G.t_m"]))
    z0 = [start["G.delta"], 1.0, *fluxes_at_rest(start["G.i_d"], start["G.i_q"])]
    assert np.abs(rates(0.0, z0)).max() < 1e-9

    # A step of field voltage and torque together.
    field = (start["G.v_f"] + 0.5, start["G.t_m"] + 0.1)
    rates, _ = circuit(p, VOLTAGE, start["G.delta"], field)
    times = np.linspace(0.0, 2.0, 81)
    accuracy = {"rtol": 1e-10, "atol": 1e-12, "method": "LSODA", "t_eval": times}
    expected = solve_ivp(rates, (0.0, 2.0), z0, **accuracy).y[:2]
    u = system.u0.copy()
    for name, value in (("G.v_f", field[0]), ("G.t_m", field[1])):
        u[system.names_u.index(name)] = value
    y = system.y0.copy()
    # The stator and the field current are linear in their unknowns; the bus here only takes the current up.
    own = [i for i, name in enumerate(system.names_y) if name.startswith("G.")]
    rows = [i for i, name in enumerate(system.names_g) if name.startswith("G.")]

    def ours(t, x):
        w = np.concatenate([x, y, u, [0.0]])
        gy = system.jacobian(w).toarray()[np.ix_(system.n + np.array(rows), system.n + np.array(own))]
        y[own] -= np.linalg.solve(gy, system.g(x, y, u)[rows])
        return system.f(x, y, u)

    found = solve_ivp(ours, (0.0, 2.0), system.x0, **accuracy).y[:2]
    assert np.ptp(expected[0]) > 0.05
    # Both integrations keep 1e-10 a step; the swing carries it on (measured: 3e-9).
    assert np.abs(found - expected).max() < 1e-7


@pytest.mark.parametrize("component", [GENROU, GENSAL, GENTPJ1], ids=lambda c: c.__name__)
@pytest.mark.parametrize(("voltage", "saturation"), [(0.7, 0.0), (1.0, 0.1), (1.2, 0.4)])
def test_open_circuit_saturation(component, voltage, saturation):
    """On the open stator the field current is v (1 + S(v)): that is how s_10 and s_12 are measured."""
    _, start = at_rest(component, voltage + 0.0j, 0.0j)
    assert start["G.i_f"] == pytest.approx(voltage * (1 + saturation), abs=1e-12)


@pytest.mark.parametrize("component", [GENROU, GENSAL, GENROE, GENSAE, GENTPJ1], ids=lambda c: c.__name__)
def test_guess_is_the_equilibrium(component):
    device, start = at_rest(component)
    p = SimpleNamespace(**device.parameters)
    guess = component.guess(Terminal(VOLTAGE, CURRENT, {}), p)
    for name, value in guess.items():
        assert start[f"G.{name}"] == pytest.approx(value, abs=1e-11)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x_l": 0.3, "x_2": 0.3}, "x_d1 = x_l = 0.3: must differ"),
        ({"x_q1": 0.2, "x_2": 0.2}, "x_q1 = x_l = 0.2: must differ"),
        ({"x_l": 1.8}, "x_d = x_l = 1.8: must differ"),
        ({"s_12": 0.0}, "s_12 must be > 0 where s_10 is"),
    ],
)
def test_impossible_machines(values, message):
    with pytest.raises(InputError, match=message):
        Device("G", GENROU, PARAMETERS[GENROU] | values, BUS)


# Limits wide enough for the plants of the WSCC system.
WIDE = {
    **{"v_max": 3.0, "v_min": 0.0, "p_max": 3.0, "p_min": 0.0, "a_t": 3.0, "g_max": 3.0, "g_min": 0.0},
    **{"e_min": 0.0, "e_max": 8.0, "v_r_min": -8.0, "v_r_max": 8.0, "v_i_max": 0.5, "v_i_min": -0.5},
    **{"v_cu": 1.2, "v_cl": 0.8, "v_b_max": 8.0, "k_p": 4.0, "v_g_max": 8.0, "v_m_max": 2.0},
}
PLANTS = [
    (GENSAL, SEXS, HYGOV),
    (GENROU, IEEET1, TGOV1),
    (GENROU, IEEEX1, IEEEG1),
    (GENROU, EXST1, GAST),
    (GENSAL, EXST1, IEESGO),
    (GENSAL, EXAC1, TGOV1),
    (GENROU, ESST3A, TGOV1),
    (GENROU, ESST4B, TGOV1),
]


def plant(case, machine, exciter, governor, forms):
    """The case with the standard models in all plants."""
    roles = {"machine": machine, "exciter": exciter, "governor": governor, "stabiliser": IEEEST}
    generators = []
    for generator in case.generators:
        rows = []
        for role, kind in roles.items():
            values = {k: WIDE.get(k, x) for k, x in PARAMETERS[kind].items() if k not in ("s_base", "f_n")}
            if role == "machine":
                values |= {"s_n": 200.0}
            if forms:
                values |= dict.fromkeys(ZERO.get(kind, ()), 0.0)
            name = next(row.name for row in generator.devices if row.role == role)
            rows.append(DeviceRow(name, role, kind.__name__, values))
        generators.append(replace(generator, devices=tuple(rows)))
    return replace(case, generators=tuple(generators))


@pytest.mark.parametrize("forms", [False, True], ids=["whole", "algebraic"])
@pytest.mark.parametrize("models", PLANTS, ids=lambda k: "-".join(c.__name__ for c in k))
def test_plants_start_at_rest(wscc9, models, forms):
    system = build(plant(read_case(wscc9 / "wscc9.toml"), *models, forms))
    assert np.abs(system.f(system.x0, system.y0)).max() <= 1e-10
    assert np.abs(system.g(system.x0, system.y0)).max() <= 1e-10


def test_case_names_the_conflict():
    values = PARAMETERS[TGOV1] | {"t_3": 0.0}
    with pytest.raises(CaseError, match=r"t_3 = 0 and t_2 = .*: t_3 must be > 0 where t_2 is not 0"):
        DeviceRow("GOV1", "governor", "TGOV1", values)


@pytest.mark.parametrize(
    ("forms", "value", "message"),
    [
        (False, 0.0, "GOV1.t_1 = 0: zero makes the block algebraic"),
        (True, 0.4, "GOV1.t_1 = 0.4: must be 0 in this algebraic form"),
        (False, -1.0, "GOV1.t_1 = -1: must be >= 0"),
    ],
)
def test_a_run_does_not_change_the_form(wscc9, forms, value, message):
    system = build(plant(read_case(wscc9 / "wscc9.toml"), GENSAL, EXAC1, TGOV1, forms))
    change = Change(0.1, parameters=(("GOV1", "t_1", value),))
    with pytest.raises(EventError, match=message):
        integrate(system, SingleRate("TM", h=0.01), 0.2, [change])


def test_a_fault_with_an_open_limit(wscc9):
    """A run of plants with every limited device: the exciter's lower limit of zero has no upper one."""
    system = build(plant(read_case(wscc9 / "wscc9.toml"), GENSAL, EXAC1, TGOV1, False))
    dip = Change(0.1, parameters=(("bus5", "b_fault", -20.0),))
    clear = Change(0.15, parameters=(("bus5", "b_fault", 0.0),))
    run = integrate(system, SingleRate("TM", h=0.005), 1.0, [dip, clear])
    assert np.isfinite(run.x).all()
    assert np.ptp(run.x[:, system.names_x.index("G1.omega")]) > 1e-4
