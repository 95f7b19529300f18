"""ESAC2A, ESAC4A and ESAC5A: their diagrams; records of PSS/E 36 from InterPSS' public test data."""

import numpy as np
import pytest

from tests.components import ESAC2A, ESAC4A, ESAC5A
from tests.devices.alone import TOLERANCE, guess_of, respond, run_alone
from tests.devices.diagram import step
from tests.devices.exciters.test_planning_exciters import CURRENTS, SATURATION, fex, saturation
from tests.devices.exciters.test_static_exciters import INPUTS
from tests.files.back import OTHERS, there_and_back
from tests.internals import Terminal

AC2 = {
    **{"t_r": 0.02, "t_b": 0.3, "t_c": 0.1, "k_a": 12.0, "t_a": 0.05, "v_a_max": 4.0, "v_a_min": -2.0},
    **{"k_b": 5.0, "v_r_max": 3.5, "v_r_min": -2.5, "t_e": 0.5, "v_fe_max": 1.6, "k_h": 0.5, "k_f": 0.05},
    **{"t_f": 0.6, "k_c": 0.2, "k_d": 0.4, "k_e": 1.0, "v_e_min": 0.1},
    **SATURATION,
}
AC4 = {
    **{"t_r": 0.02, "v_i_max": 0.08, "v_i_min": -0.06, "t_c": 0.2, "t_b": 0.5, "k_a": 12.0, "t_a": 0.04},
    **{"v_r_max": 1.0, "v_r_min": 0.2, "k_c": 0.1},
}
AC5 = {
    **{"t_r": 0.02, "k_a": 8.0, "t_a": 0.1, "v_r_max": 1.3, "v_r_min": -0.4, "k_e": 1.0, "t_e": 0.4},
    **{"k_f": 0.05, "t_f": 0.7, "t_f2": 0.3, "t_f3": 0.1, "v_f_min": 0.0},
    **SATURATION,
}
PARAMETERS = {ESAC2A: AC2, ESAC4A: AC4, ESAC5A: AC5}
ZERO = {
    ESAC2A: ("t_r", "t_b", "t_c", "t_a"),
    ESAC4A: ("t_r", "t_b", "t_c", "t_a"),
    ESAC5A: ("t_r", "t_a", "t_f2", "t_f3"),
}


def error_of(u, v_m):
    return u.v_ref + u.v_s - v_m


def ceiling(p, u):
    """The v_e at which v_fe is v_fe_max: the root of a quadratic, here by bisection."""
    low, high = 0.0, 5.0
    for _ in range(60):
        middle = (low + high) / 2
        above = p["k_e"] * middle + saturation(middle) + p["k_d"] * u.i_f > p["v_fe_max"]
        low, high = (low, middle) if above else (middle, high)
    return low


def esac2a(p, u, x):
    v_m, x_l, v_a, v_e, x_f = x
    v_fe = p["k_e"] * v_e + saturation(v_e) + p["k_d"] * u.i_f
    error = error_of(u, v_m) - p["k_f"] / p["t_f"] * (v_fe - x_f)
    led = x_l + p["t_c"] / p["t_b"] * (error - x_l)
    v_r = np.clip(p["k_b"] * (v_a - p["k_h"] * v_fe), p["v_r_min"], p["v_r_max"])
    rates = (
        (np.hypot(u.v_re, u.v_im) - v_m) / p["t_r"],
        (error - x_l) / p["t_b"],
        (p["k_a"] * led - v_a) / p["t_a"],
        (v_r - v_fe) / p["t_e"],
        (v_fe - x_f) / p["t_f"],
    )
    limits = {2: (p["v_a_min"], p["v_a_max"]), 3: (p["v_e_min"], ceiling(p, u))}
    return rates, limits, (v_m, v_a, v_e, v_e * fex(p["k_c"] * u.i_f / v_e))


def esac4a(p, u, x):
    v_m, x_l, v_r = x
    error = np.clip(error_of(u, v_m), p["v_i_min"], p["v_i_max"])
    led = x_l + p["t_c"] / p["t_b"] * (error - x_l)
    rates = (
        (np.hypot(u.v_re, u.v_im) - v_m) / p["t_r"],
        (error - x_l) / p["t_b"],
        (p["k_a"] * led - v_r) / p["t_a"],
    )
    return rates, {2: (p["v_r_min"], p["v_r_max"] - p["k_c"] * u.i_f)}, (v_m, x_l, v_r, v_r)


def esac5a(p, u, x):
    v_m, v_r, v_f, x_f, x_f2 = x
    washed = p["k_f"] / p["t_f"] * (v_r - x_f)
    feedback = x_f2 + p["t_f3"] / p["t_f2"] * (washed - x_f2)
    rates = (
        (np.hypot(u.v_re, u.v_im) - v_m) / p["t_r"],
        (p["k_a"] * (error_of(u, v_m) - feedback) - v_r) / p["t_a"],
        (v_r - p["k_e"] * v_f - saturation(v_f)) / p["t_e"],
        (v_r - x_f) / p["t_f"],
        (washed - x_f2) / p["t_f2"],
    )
    limits = {1: (p["v_r_min"], p["v_r_max"]), 2: (p["v_f_min"], np.inf)}
    return rates, limits, (v_m, v_r, v_f, x_f2)


SHOWN = {
    ESAC2A: (esac2a, ("v_m", "v_a", "v_e", "v_f")),
    ESAC4A: (esac4a, ("v_m", "x_l", "v_r", "v_f")),
    ESAC5A: (esac5a, ("v_m", "v_r", "v_f", "x_f2")),
}


def check_diagram(kind, p, diagram, names):
    """The voltage falls and rises, the reference falls, the field current steps: limits on both sides."""
    signals = {"v_f": 0.7, "i_f": 0.6} | {name: f(-1.0) for name, f in CURRENTS.items()}
    guess = guess_of(kind, p, Terminal(0.8 + 0.6j, 0j, signals))
    inputs = {
        **{k: f for k, f in (INPUTS | CURRENTS).items() if k in kind.inputs},
        "v_ref": step(float(guess["v_ref"]), (3.0017, float(guess["v_ref"]) - 0.3)),
    }
    if "i_f" in kind.inputs:
        inputs["i_f"] = step(0.6, (0.6017, 0.9), (1.6013, 0.5))
    found = run_alone(kind, p, guess, inputs)
    states = tuple(float(guess.get(name, 0.0)) for name in kind.states)
    expected = respond(diagram, p, states, inputs).T
    for name, theirs in zip(names, expected, strict=True):
        assert np.abs(getattr(found, name) - theirs).max() < 4 * TOLERANCE, name
    return found


@pytest.mark.parametrize("kind", SHOWN, ids=lambda kind: kind.__name__)
def test_it_is_its_block_diagram(kind):
    check_diagram(kind, PARAMETERS[kind], *SHOWN[kind])


RECORDS = {
    "AC1C": (
        "0 0 0.0 0.2 0.05 10.0 0.3 20.0 -20.0 0.4 0.2 0.5 0.0 0.0 1.0 0.0 0.0 1.0 0.0 20.0 -20.0 99.0 0.0",
        {"t_b": 0.2, "k_a": 10.0, "k_b": 1.0, "k_h": 0.0, "t_f": 0.5, "v_r_max": 20.0, "v_fe_max": 99.0},
    ),
    "AC2C": (
        "0 0 0.0 0.2 0.05 10.0 0.3 20.0 -20.0 2.0 20.0 -20.0 0.4 99.0 0.5 0.2 0.5 0 0 1.0 0 0 1.0 0 0.1",
        {"t_c": 0.05, "k_b": 2.0, "t_e": 0.4, "k_h": 0.5, "k_f": 0.2, "v_e_min": 0.1},
    ),
    "AC4C": (
        "0 0 0.0 5.0 -5.0 0.05 0.2 20.0 0.1 10.0 -10.0 0.05",
        {"v_i_max": 5.0, "t_c": 0.05, "k_a": 20.0, "k_c": 0.05},
    ),
    "ESAC2A": (
        "0.1 0.4 0.1 20.0 0.1 10.0 -10.0 1.0 10.0 -10.0 0.4 100.0 0.5 0.1 0.7 0.0 0.0 1.0 0.0 0.0 0.0 0.0",
        {"k_b": 1.0, "v_fe_max": 100.0, "k_h": 0.5, "t_f": 0.7},
    ),
    "ESAC4A": ("0.02 7.0 -2.0 0.2 0.4 80.0 0.04 8.0 -1.0 0.05", {"v_i_max": 7.0, "t_b": 0.4, "k_c": 0.05}),
    "ESAC5A": (
        "0.1 2.0 0.3 10.0 -10.0 1.0 0.4 0.05 0.7 0.5 0.2 1.0 0.1 2.0 0.3",
        {"k_a": 2.0, "t_f": 0.7, "t_f2": 0.5, "t_f3": 0.2, "se_2": 0.3},
    ),
}


def check_record(tmp_path, model, values, some):
    """A record starts at rest and comes back from the file that psmr writes."""
    machine = "1 'GENROU' 1 6.0 0.033 0.54 0.078 6.4 0.0 0.8958 0.8645 0.1189 0.1969 0.089 0.0521 0.0 0.0 /\n"
    text = f"{OTHERS}{machine}1 '{model}' 1 {values} /\n"
    _, mine, theirs = there_and_back(tmp_path, text)
    (exciter,) = set(mine) - {"GENROU"}
    # The record that is written may have other places than the one that was read.
    both = set(mine[exciter]) & set(theirs[exciter])
    assert {name: mine[exciter][name] for name in both} == {name: theirs[exciter][name] for name in both}
    assert {name: (mine[exciter] | theirs[exciter])[name] for name in some} == some


@pytest.mark.parametrize("model", RECORDS)
def test_record(tmp_path, model):
    check_record(tmp_path, model, *RECORDS[model])
