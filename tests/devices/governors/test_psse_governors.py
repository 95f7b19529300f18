"""Step responses of the later governors against their block diagrams, past both sides of every limit."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

import psmr
from psmr import Device
from psmr.errors import InitialisationError, InputError, PsmrWarning
from tests.components import DEGOV, DEGOV1, GGOV1, IEEEG3, WSIEG1
from tests.devices.diagram import Block, clip, device_response, step
from tests.devices.exciters.test_responses import (
    SPEED,
    TOLERANCE,
    compare,
    lag,
    lead_lag,
    numbers,
    staged,
    stages,
)
from tests.devices.library import PARAMETERS
from tests.internals import DeviceRow

# A machine whose d axis lies on the bus voltage: its power is i_d.
POWER = {"v_re": step(1.0), "v_im": step(0.0), "delta": step(np.pi / 2), "i_q": step(0.0)}
POWER |= {"i_d": step(0.5, (1.2011, 0.7))}


def delay(t, order=2):
    """A Padé approximant: its denominator is that of the exponential function's continued fraction."""
    den = {2: [1 / 12, 1 / 2, 1], 6: [1 / 665280, 1 / 15840, 1 / 792, 1 / 66, 5 / 44, 1 / 2, 1]}[order]
    powers = t ** np.arange(order, -1.0, -1.0)
    return Block(den * powers * (-1.0) ** np.arange(order, -1, -1), den * powers)


def beyond(x, width):
    return np.sign(x) * max(abs(x) - width, 0.0)


def integrator(start, limits=(-np.inf, np.inf)):
    return Block([1], [1, 0], limits, start)


def ggov1(p):
    blocks = {
        "power": lag(p["t_pelec"]),
        "reset": integrator(p.get("x_mw_start", 0.0), (-1.1, 1.1)),
        "derivative": Block([p["k_dgov"], 0], [p["t_dgov"], 1]),
        "integral": integrator(p["x_gov_start"]),
        "valve": integrator(p["valve_start"]),
        "delay": delay(p["t_eng"]),
        "turbine": lead_lag(p["t_c"], p["t_b"]),
        "temperature": Block([p["t_sa"], 1], np.polymul([p["t_sb"], 1], [p["t_fload"], 1])),
        "load": integrator(p["x_load_start"]),
        "acceleration": Block([1, 0], [p["t_a"], 1]),
        "ceiling": integrator(p["x_a_start"]),
    }
    ratio = p["t_rate"] / p["s_n"] if p["t_rate"] else 1.0

    def wiring(b, u):
        slip, valve = u.omega - 1, b.valve.out
        fuel = valve * (u.omega if p["flag"] else 1.0)
        heat = b.temperature(fuel * (u.omega ** min(p["d_m"], 0.0)))
        power = b.power(u.i_d / ratio)
        b.reset(p["k_imw"] * (u.p_ref - power) / p["r"])
        f_t = min(p["k_pload"] * (p["l_dref"] / p["k_turb"] + p["w_fnl"] - heat) + b.load.out, 1.0)
        accelerated = b.acceleration(slip)
        f_a = b.ceiling.out if p["k_a"] else np.inf

        def error(f):
            droop = {1: power, 0: 0.0, -1: valve, -2: f}[int(p["rselect"])]
            wanted = p["r"] * (u.p_ref + b.reset.out - droop) - slip
            return clip(beyond(wanted, p["db"]), p["min_err"], p["max_err"])

        def demand(f):
            derived = b.derivative(error(f))
            least = min(p["k_pgov"] * error(f) + b.integral.out + derived, f_t, f_a)
            return clip(least, p["v_min"], p["v_max"])

        f = demand(0.0) if p["rselect"] != -2 else brentq(lambda x: x - demand(x), -5.0, 5.0, xtol=1e-15)
        derived = b.derivative(error(f))
        b.integral((f - derived - b.integral.out) * p["k_igov"] / p["k_pgov"])
        b.load((f - b.load.out) * p["k_iload"] / p["k_pload"])
        b.ceiling(p["k_a"] * (p["a_set"] - accelerated) + (f - b.ceiling.out) / p["t_step"])
        b.valve(clip((f - valve) / p["t_act"], p["r_close"], p["r_open"]))
        turned = b.turbine(b.delay(p["k_turb"] * (fuel - p["w_fnl"])))
        return ratio * (turned - max(p["d_m"], 0.0) * slip)

    return blocks, wiring


def wsieg1(p):
    xs = [p.get(f"gv{k}", 0.0) for k in range(1, 6)]
    ys = [p.get(f"pgv{k}", 0.0) for k in range(1, 6)]
    used = 4 if xs[3] else 0
    blocks = {
        "governor": Block([p["k"] * p["t_2"], p["k"]], [p["t_1"], 1]),
        "valve": integrator(p["valve_start"], (p["p_min"], p["p_max"])),
        **stages(p),
    }

    def wiring(b, u):
        valve = b.valve.out
        error = (u.p_ref - b.governor(beyond(u.omega - 1, p["db1"])) - valve) / p["t_3"]
        valve = b.valve(clip(error, p["u_c"], p["u_o"]))
        return staged(b, p, np.interp(valve, xs[:used], ys[:used]) if used else valve)

    return blocks, wiring


def ieeeg3(p):
    start = p["gate_start"]
    t_11 = p["a_11"] * p["t_w"]
    lead = (p["a_11"] - p["a_13"] * p["a_21"] / p["a_23"]) * p["t_w"]
    blocks = {
        "pilot": lag(p["t_p"], 1 / p["t_g"]),
        "gate": integrator(start, (p["p_min"], p["p_max"])),
        "temporary": Block([p["delta"] * p["t_r"], 0], [p["t_r"], 1]),
        "water": Block([p["a_23"] * lead, p["a_23"]], [t_11, 1]),
    }

    def wiring(b, u):
        gate = b.gate.out
        error = p["sigma"] * (u.p_ref - gate) - b.temporary(gate) - (u.omega - 1)
        b.gate(clip(b.pilot(error), p["u_c"], p["u_o"]))
        return b.water(gate)

    return blocks, wiring


def degov(p):
    blocks = {
        "power": lag(p.get("t_e", 0.0)),
        "box": Block([p["t_3"], 1], [p["t_1"] * p["t_2"], p["t_1"], 1]),
        "actuator": Block([p["t_4"], 1], np.polymul([p["t_5"], 1], [p["t_6"], 1])),
        "throttle": Block([p["k"]], [1, 0], (p["t_min"], p["t_max"]), p["throttle_start"]),
        "delay": delay(p["t_d"], 6),
    }

    def wiring(b, u):
        throttle = b.throttle.out
        error = u.p_ref - (u.omega - 1)
        power = b.power(getattr(u, "i_d", 0.0))
        if "r" in p:
            error += (p["r"] - 1) * u.p_ref - p["r"] * (power if p["droop_flag"] else throttle)
        b.throttle(b.actuator(b.box(error)))
        return b.delay(throttle) * (u.omega if p["mechanical_power"] else 1.0)

    return blocks, wiring


DIAGRAMS = {GGOV1: ggov1, WSIEG1: wsieg1, IEEEG3: ieeeg3, DEGOV: degov, DEGOV1: degov}
FORMS = [(component, form, {}) for component in DIAGRAMS for form in ("whole", "algebraic")]
FORMS += [
    (GGOV1, "whole", {"rselect": -1.0, "k_imw": 0.0, "d_m": 0.3, "flag": 0.0, "t_rate": 0.0}),
    (GGOV1, "whole", {"rselect": -2.0, "k_imw": 0.0, "k_a": 0.0, "k_dgov": 0.0, "k_iload": 0.0}),
    # Isochronous; the load limiter decides after the fall of the speed, and lets go after its rise.
    (GGOV1, "whole", {"rselect": 0.0, "k_imw": 0.0, "l_dref": 0.62, "k_a": 0.0}),
    # The acceleration limiter decides while the speed settles.
    (GGOV1, "whole", {"a_set": 0.01, "k_a": 10.0, "k_imw": 0.0}),
    (WSIEG1, "whole", {f"{name}{k}": 0.0 for name in ("gv", "pgv") for k in (1, 2, 3, 4)}),
    (DEGOV1, "whole", {"droop_flag": 0.0}),
    (DEGOV, "whole", {"mechanical_power": 0.0}),
]


@pytest.mark.parametrize(
    ("component", "form", "change"), FORMS, ids=[f"{c.__name__}-{f}-{'-'.join(x)}" for c, f, x in FORMS]
)
def test_governor(component, form, change):
    p = numbers(component, form, **change)
    inputs = {"omega": SPEED} | {k: f for k, f in POWER.items() if k in component.inputs}
    if form == "algebraic" and component is GGOV1:
        p |= {"rselect": -1.0}  # otherwise the power's step is a step of the derivative's input
    found = compare(component, DIAGRAMS[component], p, "t_m", inputs, {"t_m": 0.5}, "p_ref")
    assert np.ptp(found) > 0.05


@pytest.mark.parametrize("name", ["DEGOV", "DEGOV1"])
def test_the_throttle_reaches_both_limits(name):
    component = {"DEGOV": DEGOV, "DEGOV1": DEGOV1}[name]
    p = numbers(component, "whole") | {"k": 30.0, "t_max": 0.7, "t_min": 0.3}
    inputs = {"omega": SPEED} | {k: f for k, f in POWER.items() if k in component.inputs}
    found, _ = device_response(component, p, "throttle", inputs, {"t_m": 0.5})
    assert found.max() == pytest.approx(0.7, abs=TOLERANCE)
    assert found.min() == pytest.approx(0.3, abs=TOLERANCE)


@pytest.mark.parametrize(
    ("change", "least"),
    [({"l_dref": 0.62, "k_a": 0.0}, "x_load"), ({"a_set": 0.01}, "x_a")],
    ids=["load", "acceleration"],
)
def test_each_limiter_of_ggov1_holds_back_the_fuel(change, least):
    """With the limiter far away the fuel rises further."""
    p = numbers(GGOV1, "whole", rselect=0.0, k_imw=0.0, **change)
    inputs = {"omega": SPEED} | POWER
    held, _ = device_response(GGOV1, p, "f", inputs, {"t_m": 0.5})
    free, _ = device_response(GGOV1, p | {"l_dref": 9.0, "k_a": 0.0}, "f", inputs, {"t_m": 0.5})
    assert (free - held).max() > 0.02
    assert least in GGOV1.states


@pytest.mark.parametrize(
    ("component", "change", "message"),
    [
        (GGOV1, {"r_close": 0.1}, r"r_close = 0\.1: must be < 0"),
        (GGOV1, {"rselect": -1.0}, r"k_imw = 0\.01 and rselect = -1"),
        (GGOV1, {"t_a": 0.0}, r"t_a = 0 and k_a = 10"),
        (GGOV1, {"t_dgov": 0.0}, r"t_dgov = 0 and k_dgov = 0\.5"),
        (GGOV1, {"k_igov": 0.0}, r"db = 0\.002 and k_igov = 0"),
        (GGOV1, {"rselect": 2.0}, "must be a whole number from -2 to 1"),
        (WSIEG1, {"gv3": 0.2}, r"gv3 = 0\.2: must be above gv2 = 0\.3"),
        (WSIEG1, {"pgv4": 0.7}, r"pgv4 = 0\.7: must be above pgv3 = 0\.7"),
        (IEEEG3, {"u_c": 0.0}, "u_c = 0: must be < 0"),
        (DEGOV, {"t_1": 0.0, "t_3": 0.0}, r"t_1 = 0 and t_2 = 0\.05"),
        (DEGOV1, {"t_5": 0.0}, r"t_5 = 0 and t_4 = 0\.3"),
    ],
)
def test_what_cannot_be_is_refused(component, change, message):
    with pytest.raises(InputError, match=message):
        Device("d", component, PARAMETERS[component] | change)


# A dispatch that needs a fuel of 1.1 of a turbine whose load limiter passes 1, at a reference of 0.8.
BEYOND = {"t_rate": 0.0, "l_dref": 0.8, "k_imw": 0.0, "v_max": 1.5, "rselect": 0.0}


def with_governor(model, given):
    """A plant of PSS/E's traces, dispatched at 1 pu, with a governor of its own."""
    from tests.files.psse.traces import HERE, TRACES

    case = next(trace for trace in TRACES if trace.name == "TGOV1, ESAC1A").case(HERE)

    def swapped(row):
        if row.role != "governor":
            return row
        return DeviceRow(row.name, "governor", model, given)

    rows = (replace(row, devices=tuple(map(swapped, row.devices))) for row in case.generators)
    return replace(case, generators=tuple(rows))


@pytest.fixture(scope="module")
def beyond_the_load_limiter():
    given = {k: v for k, v in PARAMETERS[GGOV1].items() if k != "s_n"} | BEYOND
    return with_governor("GGOV1", given | {"s_n": 100.0, "k_turb": 1.25, "w_fnl": 0.3})


def test_a_dispatch_beyond_the_load_limiter_is_an_error(beyond_the_load_limiter):
    with pytest.raises(
        InitialisationError, match=r"GOV102.valve = 1\.1 is 0\.1 above load_max = 1; GOV102.temp"
    ):
        psmr.build(beyond_the_load_limiter, start_at_limits="refuse")


def test_a_dispatch_beyond_the_load_limiter_can_be_adjusted(beyond_the_load_limiter):
    with pytest.warns(PsmrWarning, match=r"load_max = 1 set to 1\.1; .*l_dref = 0\.8 set to 1"):
        system = psmr.build(beyond_the_load_limiter)
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9


def test_a_dispatch_beyond_the_load_limit_of_gast():
    """At rest its gate passes a_t; the limit moves, or holds and the turbine slows down."""
    given = {"r": 0.05, "t_1": 0.2, "t_2": 0.2, "t_3": 2.0, "a_t": 0.9, "k_t": 2.5}
    case = with_governor("GAST", given | {"v_max": 1.1, "v_min": 0.0, "d_turb": 0.0})
    with pytest.raises(InitialisationError, match=r"GOV102\.temperature = 1 is 0\.1 above a_t = 0\.9"):
        psmr.build(case, start_at_limits="refuse")
    with pytest.warns(PsmrWarning, match=r"above a_t = 0\.9: a_t = 0\.9 set to 1"):
        system = psmr.build(case, start_at_limits="adjust")
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    with pytest.warns(PsmrWarning, match="exceeded at the start and held"):
        held = psmr.build(case, start_at_limits="hold")
    assert held.f(held.x0, held.y0).min() == pytest.approx((0.9 - 2.5 * 0.1 - 1) / 0.2, rel=1e-6)
