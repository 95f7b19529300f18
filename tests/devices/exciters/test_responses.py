"""Step responses of governors and exciters against their block diagrams, past both sides of every limit."""

import numpy as np
import pytest
from scipy.optimize import brentq

from tests import components as models
from tests.devices.diagram import Block, clip, device_response, respond, step
from tests.devices.library import PARAMETERS, ZERO

# Error of the two integrations, with steps of at most 10 ms and relative tolerances of 1e-9, at the corners
# that limits make (measured: below 2e-7).
TOLERANCE = 1e-6
UNDER, OVER = 0.97, 1.04
SPEED = step(1.0, (0.1013, UNDER), (2.0021, OVER))


def lead_lag(lead, lag):
    return Block([lead, 1], [lag, 1])


def lag(t, gain=1.0, limits=(-np.inf, np.inf), start=None):
    return Block([gain], [t, 1], limits, start)


def tgov1(p):
    blocks = {"valve": lag(p["t_1"], 1.0, (p["v_min"], p["v_max"])), "turbine": lead_lag(p["t_2"], p["t_3"])}

    def wiring(b, u):
        slip = u.omega - 1
        return b.turbine(b.valve(u.p_ref - slip / p["r"])) - p["d_t"] * slip

    return blocks, wiring


def stages(p):
    """The four volumes of a steam turbine."""
    return {f"stage_{i}": lag(p[f"t_{i}"]) for i in (4, 5, 6, 7)}


def staged(b, p, x):
    """The torque of the four stages behind a valve."""
    torque = 0.0
    for stage, fraction in ((4, "k_1"), (5, "k_3"), (6, "k_5"), (7, "k_7")):
        x = getattr(b, f"stage_{stage}")(x)
        torque += p[fraction] * x
    return torque


def ieeeg1(p):
    start = 0.5 / (p["k_1"] + p["k_3"] + p["k_5"] + p["k_7"])
    blocks = {
        "governor": Block([p["k"] * p["t_2"], p["k"]], [p["t_1"], 1]),
        "valve": Block([1], [1, 0], (p["p_min"], p["p_max"]), start),
        **stages(p),
    }

    def wiring(b, u):
        error = (u.p_ref - b.governor(u.omega - 1) - b.valve.out) / p["t_3"]
        return staged(b, p, b.valve(clip(error, p["u_c"], p["u_o"])))

    return blocks, wiring


def hygov(p):
    start = 0.5 / p["a_t"] + p["q_nl"]
    blocks = {
        "filter": lag(p["t_f"]),
        "slope": Block([1, 0], [p["t_f"], 1]),
        "governor": Block([1], [1, 0], (p["g_min"], p["g_max"]), start),
        "gate": lag(p["t_g"]),
        "water": Block([1], [p["t_w"], 0], start=start),
    }

    def wiring(b, u):
        slip = u.omega - 1
        error = p["r_perm"] * (u.p_ref - b.governor.out) - slip
        rate = (b.slope(error) + b.filter(error) / p["t_r"]) / p["r_temp"]
        gate = b.gate(b.governor(clip(rate, -p["velm"], p["velm"])))
        head = np.divide(b.water.out, gate) ** 2  # infinite before the gate has settled
        flow = b.water(1 - head)
        return p["a_t"] * head * (flow - p["q_nl"]) - p["d_turb"] * gate * slip

    return blocks, wiring


def gast(p):
    blocks = {
        "fuel": lag(p["t_1"], 1.0, (p["v_min"], p["v_max"])),
        "flow": lag(p["t_2"]),
        "temperature": lag(p["t_3"]),
    }

    def wiring(b, u):
        slip = u.omega - 1
        limit = p["a_t"] + p["k_t"] * (p["a_t"] - b.temperature.out)
        flow = b.flow(b.fuel(min(u.p_ref - slip / p["r"], limit)))
        b.temperature(flow)
        return flow - p["d_turb"] * slip

    return blocks, wiring


def ieesgo(p):
    blocks = {
        "first": Block([p["k_1"] * p["t_2"], p["k_1"]], [p["t_1"], 1]),
        "second": lag(p["t_3"]),
        "chest": lag(p["t_4"]),
        "reheater": lag(p["t_5"], p["k_2"]),
        "crossover": lag(p["t_6"], p["k_3"]),
    }

    def wiring(b, u):
        governed = u.p_ref - b.second(b.first(u.omega - 1))
        x_4 = b.chest(clip(governed, p["p_min"], p["p_max"]))
        x_5 = b.reheater(x_4)
        return (1 - p["k_2"]) * x_4 + (1 - p["k_3"]) * x_5 + b.crossover(x_5)

    return blocks, wiring


def sexs(p):
    blocks = {
        "lead": lead_lag(p["t_a"], p["t_b"]),
        "exciter": lag(p["t_e"], p["k"], (p["e_min"], p["e_max"])),
    }
    return blocks, lambda b, u: b.exciter(b.lead(u.v_ref + u.v_s - u.v_re))


def saturation(p, v_f):
    """b (v - a)^2 through the two points, a and b from numbers."""
    if v_f <= 0:
        return 0.0
    root = np.sqrt(p["se_1"] * p["e_1"]), np.sqrt(p["se_2"] * p["e_2"])
    slope = (root[1] - root[0]) / (p["e_2"] - p["e_1"])
    a = p["e_1"] - root[0] / slope
    return (slope * max(v_f - a, 0.0)) ** 2


def direct_current(p):
    blocks = {
        "transducer": lag(p["t_r"]),
        "lead": lead_lag(p.get("t_c", 0.0), p.get("t_b", 0.0)),
        "regulator": lag(p["t_a"], p["k_a"], (p["v_r_min"], p["v_r_max"])),
        "exciter": Block([1], [p["t_e"], 0], start=V_F),
        "feedback": Block([p["k_f"], 0], [p["t_f"], 1]),
    }

    def wiring(b, u):
        v_f = b.exciter.out
        error = u.v_ref + u.v_s - b.transducer(u.v_re) - b.feedback(v_f)
        v_r = b.regulator(b.lead(error))
        b.exciter(v_r - p["k_e"] * v_f - saturation(p, v_f))
        return v_f

    return blocks, wiring


def terminal_fed(p):
    """The regulator's limits follow the bus voltage."""
    blocks, wiring = direct_current(p)

    def fed(b, u):
        b.regulator.limits = (p["v_r_min"] * u.v_re, p["v_r_max"] * u.v_re)
        return wiring(b, u)

    return blocks, fed


def exst1(p):
    blocks = {
        "transducer": lag(p["t_r"]),
        "lead": lead_lag(p["t_c"], p["t_b"]),
        "regulator": lag(p["t_a"], p["k_a"]),
        "feedback": Block([p["k_f"], 0], [p["t_f"], 1]),
    }

    def rectifier(v_a, u):
        drop = p["k_c"] * u.i_f if "k_c" in p else 0.0  # a static exciter without the regulation has none
        return clip(v_a, u.v_re * p["v_r_min"] - drop, u.v_re * p["v_r_max"] - drop)

    def wiring(b, u):
        if b.regulator.order:
            v_f = rectifier(b.regulator.out, u)
            # EXST1 feeds back what is before the rectifier's limits, as PSS/E's trace of a fault has it.
            fed_back = b.regulator.out if "k_c" in p else v_f
            error = u.v_ref + u.v_s - b.transducer(u.v_re) - b.feedback(fed_back)
            b.regulator(b.lead(clip(error, p["v_i_min"], p["v_i_max"])))
            return v_f
        assert p["k_f"] == 0  # otherwise the diagram is an algebraic loop
        error = u.v_ref + u.v_s - b.transducer(u.v_re) - b.feedback(0.0)
        return rectifier(b.regulator(b.lead(clip(error, p["v_i_min"], p["v_i_max"]))), u)

    return blocks, wiring


def rectifier(v_e, drop):
    """The loaded bridge of IEEE Std 421.5 by its quotient."""
    if v_e <= 0:
        return 0.0
    n = drop / v_e
    if n <= 0:
        return v_e
    if n <= np.sqrt(3) / 4:
        return v_e * (1 - n / np.sqrt(3))
    if n < 0.75:
        return v_e * np.sqrt(0.75 - n**2)
    return v_e * max(np.sqrt(3) * (1 - n), 0.0)


def exac1(p):
    blocks = {
        "transducer": lag(p["t_r"]),
        "lead": lead_lag(p["t_c"], p["t_b"]),
        "regulator": lag(p["t_a"], p["k_a"], (p["v_r_min"], p["v_r_max"])),
        "exciter": Block([1], [p["t_e"], 0], (0.0, np.inf), start=p["v_e_start"]),
        "feedback": Block([p["k_f"], 0], [p["t_f"], 1]),
    }

    def wiring(b, u):
        v_e = b.exciter.out
        v_fe = p["k_e"] * v_e + saturation(p, v_e) + p["k_d"] * u.i_f
        v_r = b.regulator(b.lead(u.v_ref + u.v_s - b.transducer(u.v_re) - b.feedback(v_fe)))
        b.exciter(v_r - v_fe)
        return rectifier(v_e, p["k_c"] * u.i_f)

    return blocks, wiring


def ac8b(p):
    blocks = {
        "transducer": lag(p["t_r"]),
        "integral": Block([p["k_ir"]], [1, 0], (p["v_pid_min"], p["v_pid_max"]), p["x_i_start"]),
        "derivative": Block([p["k_dr"], 0], [p["t_dr"], 1]),
        "amplifier": lag(p["t_a"], p["k_a"], (p["v_r_min"], p["v_r_max"])),
        "exciter": Block([1], [p["t_e"], 0], (p["v_e_min"], np.inf), start=p["v_e_start"]),
    }

    def field_current(v_e, u):
        return p["k_e"] * v_e + saturation(p, v_e) + p["k_d"] * u.i_f

    def wiring(b, u):
        highest = brentq(lambda x: field_current(x, u) - p["v_fe_max"], -10.0, 10.0, xtol=1e-15)
        b.exciter.limits = (p["v_e_min"], highest)
        error = u.v_ref + u.v_s - b.transducer(u.v_re)
        pid = p["k_pr"] * error + b.integral.out + b.derivative(error)
        b.integral(error)
        v_e = b.exciter.out
        b.exciter(b.amplifier(clip(pid, p["v_pid_min"], p["v_pid_max"])) - field_current(v_e, u))
        return rectifier(v_e, p["k_c"] * u.i_f)

    return blocks, wiring


def source(p, u):
    """The source's voltage from complex numbers, with a real bus voltage."""
    i = (u.i_d + 1j * u.i_q) * np.exp(1j * (u.delta - np.pi / 2))
    k = p["k_p"] * np.exp(1j * p["theta_p"])
    return min(
        rectifier(abs(k * u.v_re + 1j * (p["k_i"] + k * p["x_l"]) * i), p["k_c"] * u.i_f), p["v_b_max"]
    )


def esst3a(p):
    blocks = {
        "transducer": lag(p["t_r"]),
        "lead": lead_lag(p["t_c"], p["t_b"]),
        "regulator": lag(p["t_a"], p["k_a"], (p["v_r_min"], p["v_r_max"])),
        "inner": lag(p["t_m"], p["k_m"], (p["v_m_min"], p["v_m_max"]), p["v_inner_start"]),
    }

    def wiring(b, u):
        error = clip(u.v_ref + u.v_s - b.transducer(u.v_re), p["v_i_min"], p["v_i_max"])
        v_b = source(p, u)
        v_r = b.regulator(b.lead(error))
        if b.inner.order:
            v_inner = b.inner.out
            b.inner(v_r - min(p["k_g"] * v_b * v_inner, p["v_g_max"]))
            return v_b * v_inner
        assert p["k_g"] == 0  # otherwise the diagram is an algebraic loop
        return v_b * b.inner(v_r)

    return blocks, wiring


def esst4b(p):
    blocks = {
        "transducer": lag(p["t_r"]),
        "integral": Block([p["k_ir"]], [1, 0], (p["v_r_min"], p["v_r_max"]), p["x_r_start"]),
        "lag": lag(p["t_a"]),
        "inner": Block([p["k_im"]], [1, 0], (p["v_m_min"], p["v_m_max"]), p["x_m_start"]),
    }

    def wiring(b, u):
        error = u.v_ref + u.v_s - b.transducer(u.v_re)
        v_a = b.lag(clip(p["k_pr"] * error + b.integral.out, p["v_r_min"], p["v_r_max"]))
        b.integral(error)
        v_b = source(p, u)

        def inner(v_f):
            return clip(p["k_pm"] * (v_a - p["k_g"] * v_f) + b.inner.out, p["v_m_min"], p["v_m_max"])

        # v_f = v_b inner(v_f) falls on the right: one root.
        v_f = brentq(lambda x: x - v_b * inner(x), -10.0, 10.0, xtol=1e-15)
        b.inner(v_a - p["k_g"] * v_f)
        return v_f

    return blocks, wiring


V_F = 0.5
GOVERNORS = {
    models.TGOV1: tgov1,
    models.IEEEG1: ieeeg1,
    models.HYGOV: hygov,
    models.GAST: gast,
    models.IEESGO: ieesgo,
}
EXCITERS = {
    models.SEXS: sexs,
    models.IEEET1: direct_current,
    models.IEEEX1: direct_current,
    models.EXST1: exst1,
}
EXCITERS |= {
    models.EXDC2: terminal_fed,
    models.ESDC2A: terminal_fed,
    models.AC8B: ac8b,
    models.StaticExciter: exst1,
    models.EXAC1: exac1,
    models.ESST3A: esst3a,
    models.ESST4B: esst4b,
}
FORMS = ("whole", "algebraic")


def numbers(component, form, **other):
    zero = ZERO[component] if form == "algebraic" else ()
    return PARAMETERS[component] | dict.fromkeys(zero, 0.0) | other


def compare(component, diagram, p, output, inputs, signals, set_point=None):
    found, guess = device_response(component, p, output, inputs, signals)
    # Integrators start from rest, which only the whole diagram knows.
    blocks, wiring = diagram(p | {f"{k}_start": float(x) for k, x in guess.items()})
    if set_point:
        inputs = inputs | {set_point: lambda t: guess[set_point]}
    expected = respond(blocks, wiring, inputs)
    assert np.abs(found - expected).max() <= TOLERANCE * max(1.0, np.abs(expected).max())
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("component", GOVERNORS, ids=lambda c: c.__name__)
def test_governor(component, form):
    p = numbers(component, form)
    if component is models.GAST:
        p |= {"t_3": 3.0}  # otherwise the diagram is an algebraic loop
    if component is models.HYGOV:
        p |= {"r_temp": 0.3, "velm": 0.12, "t_r": 2.0, "g_max": 0.57, "g_min": 0.45}
    found = compare(component, GOVERNORS[component], p, "t_m", {"omega": SPEED}, {"t_m": 0.5}, "p_ref")
    if component is models.HYGOV:  # the water is slow: look at the gate
        found, _ = device_response(component, p, "gate_ref", {"omega": SPEED}, {"t_m": 0.5})
        assert found.max() == pytest.approx(p["g_max"], abs=TOLERANCE)
        assert found.min() == pytest.approx(p["g_min"], abs=TOLERANCE)
        return
    assert found.max() > 0.55
    assert found.min() < 0.45


# Gains of the feedbacks that are algebraic loops where the time constants are zero.
LOOPS = {models.EXST1: "k_f", models.StaticExciter: "k_f", models.ESST3A: "k_g"}
# Small steps for the linear part, then the error past both sides of every limit, then a sag of the bus.
REFERENCE = step(0.0, (0.1013, 0.004), (0.7021, 0.4), (2.0017, -0.5), (3.2013, 0.0))
SAG = step(1.0, (3.0013, 0.8))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("component", EXCITERS, ids=lambda c: c.__name__)
def test_exciter(component, form):
    p = numbers(component, form)
    if form == "algebraic" and component in LOOPS:
        p[LOOPS[component]] = 0.0
    inputs = {"v_re": SAG, "v_im": step(0.0), "v_s": REFERENCE}
    fed = {"i_f": 0.7, "i_d": 0.4, "i_q": 0.6, "delta": 0.8}
    inputs |= {k: step(x, (2.5011, 0.5 * x)) for k, x in fed.items() if k in component.inputs}
    found = compare(component, EXCITERS[component], p, "v_f", inputs, {"v_f": V_F} | fed, "v_ref")
    assert found.max() > 0.6
    assert found.min() < 0.2
