"""Exciters of IEEE Std 421.5-2016: their diagrams; records of PSS/E 36 from InterPSS' public test data."""

import numpy as np
import pytest

from psmr import Device
from psmr.errors import InputError
from tests.components import AC3C, AC5C, AC8C, DC2C, DC4C, ESAC2A
from tests.devices.exciters.test_alternator_exciters import (
    AC2,
    AC5,
    ceiling,
    check_diagram,
    check_record,
    error_of,
)
from tests.devices.exciters.test_planning_exciters import SATURATION, fex, potential, saturation

AC3 = {
    **{"t_r": 0.02, "t_b": 0.3, "t_c": 0.1, "k_a": 12.0, "t_a": 0.05, "v_a_max": 2.0, "v_a_min": -1.0},
    **{"k_r": 1.5, "t_e": 0.5, "v_e_min": 0.1, "k_f": 0.05, "k_n": 0.2, "t_f": 0.6, "e_fdn": 0.8, "k_c": 0.2},
    **{"k_d": 0.4, "k_e": 1.0, "v_fe_max": 1.6, "k_pr": 1.2, "k_ir": 0.6, "k_dr": 0.1, "t_dr": 0.1},
    **{"v_pid_max": 0.15, "v_pid_min": -0.1},
    **SATURATION,
}
AC5_2016 = AC5 | {"k_c": 0.2, "k_d": 0.4, "v_fe_max": 1.3, "v_e_min": 0.1}
del AC5_2016["v_f_min"]
SOURCE = {"sw_1": 1.0, "k_p": 1.1, "theta_p": 0.2, "k_i": 0.3, "x_l": 0.1, "k_c1": 0.15, "v_b_max": 1.25}
AC8 = {
    **{"t_r": 0.02, "k_pr": 4.0, "k_ir": 3.0, "k_dr": 0.2, "t_dr": 0.1, "v_pid_max": 0.7, "v_pid_min": -0.4},
    **{"k_a": 1.5, "t_a": 0.05, "v_r_max": 1.0, "v_r_min": -0.5, "k_c": 0.2, "k_d": 0.4, "k_e": 1.0},
    **{"t_e": 0.5, "v_fe_max": 1.4, "v_e_min": 0.1},
    **SOURCE,
    **SATURATION,
}
DC2 = {
    **{"t_r": 0.02, "k_a": 20.0, "t_a": 0.06, "t_b": 0.5, "t_c": 0.1, "v_r_min": -0.5, "v_r_max": 1.6},
    **{"k_e": 0.9, "t_e": 0.5, "k_f": 0.05, "t_f": 0.7, "v_f_min": 0.1, "v_f_max": 1.1},
    **SATURATION,
}
DC4 = {
    **{"t_r": 0.02, "k_pr": 2.0, "k_ir": 1.5, "k_dr": 0.1, "t_dr": 0.1, "v_r_max": 0.9, "v_r_min": -0.6},
    **{"k_a": 1.5, "t_a": 0.06, "k_e": 0.9, "t_e": 0.5, "k_f": 0.05, "t_f": 0.7, "v_f_min": 0.1},
    **SOURCE,
    **SATURATION,
}
PARAMETERS = {AC3C: AC3, AC5C: AC5_2016, AC8C: AC8, DC2C: DC2, DC4C: DC4}
ZERO = {
    AC3C: ("t_r", "t_b", "t_c", "t_a"),
    AC5C: ("t_r", "t_a", "t_f2", "t_f3"),
    AC8C: ("t_r", "t_a"),
    DC2C: ("t_r", "t_b", "t_c", "t_a"),
    DC4C: ("t_r", "t_a"),
}


def measured(u):
    return np.hypot(u.v_re, u.v_im)


def source(p, u, v_fe):
    u_0 = potential(p, u) if p["sw_1"] == 1 else p["k_p"]
    return min(u_0 * fex(p["k_c1"] * v_fe / u_0), p["v_b_max"])


def pid(p, error, x_i, x_d):
    return p["k_pr"] * error + x_i + p["k_dr"] / p["t_dr"] * (error - x_d)


def ac3c(p, u, x):
    v_m, x_i, x_d, x_l, v_a, v_e, x_f = x
    v_fe = p["k_e"] * v_e + saturation(v_e) + p["k_d"] * u.i_f
    v_f = v_e * fex(p["k_c"] * u.i_f / v_e)
    error = error_of(u, v_m)
    regulated = np.clip(pid(p, error, x_i, x_d), p["v_pid_min"], p["v_pid_max"])
    led = x_l + p["t_c"] / p["t_b"] * (regulated - x_l)
    v_n = p["k_f"] * v_f if v_f < p["e_fdn"] else p["k_f"] * p["e_fdn"] + p["k_n"] * (v_f - p["e_fdn"])
    rates = (
        (measured(u) - v_m) / p["t_r"],
        p["k_ir"] * error,
        (error - x_d) / p["t_dr"],
        (regulated - x_l) / p["t_b"],
        (p["k_a"] * (led - (v_n - x_f) / p["t_f"]) - v_a) / p["t_a"],
        (p["k_r"] * v_f * v_a - v_fe) / p["t_e"],
        (v_n - x_f) / p["t_f"],
    )
    limits = {
        1: (p["v_pid_min"], p["v_pid_max"]),
        4: (p["v_a_min"], p["v_a_max"]),
        5: (p["v_e_min"], ceiling(p, u)),
    }
    return rates, limits, (x_i, v_a, v_e, v_f)


def ac5c(p, u, x):
    v_m, v_r, v_e, x_f, x_f2 = x
    v_fe = p["k_e"] * v_e + saturation(v_e) + p["k_d"] * u.i_f
    washed = p["k_f"] / p["t_f"] * (v_r - x_f)
    feedback = x_f2 + p["t_f3"] / p["t_f2"] * (washed - x_f2)
    rates = (
        (measured(u) - v_m) / p["t_r"],
        (p["k_a"] * (error_of(u, v_m) - feedback) - v_r) / p["t_a"],
        (v_r - v_fe) / p["t_e"],
        (v_r - x_f) / p["t_f"],
        (washed - x_f2) / p["t_f2"],
    )
    limits = {1: (p["v_r_min"], p["v_r_max"]), 2: (p["v_e_min"], ceiling(p, u))}
    return rates, limits, (v_r, v_e, x_f2, v_e * fex(p["k_c"] * u.i_f / v_e))


def ac8c(p, u, x):
    v_m, x_i, x_d, v_r, v_e = x
    v_fe = p["k_e"] * v_e + saturation(v_e) + p["k_d"] * u.i_f
    error = error_of(u, v_m)
    regulated = np.clip(pid(p, error, x_i, x_d), p["v_pid_min"], p["v_pid_max"])
    rates = (
        (measured(u) - v_m) / p["t_r"],
        p["k_ir"] * error,
        (error - x_d) / p["t_dr"],
        (p["k_a"] * regulated - v_r) / p["t_a"],
        (source(p, u, v_fe) * v_r - v_fe) / p["t_e"],
    )
    limits = {
        1: (p["v_pid_min"], p["v_pid_max"]),
        3: (p["v_r_min"], p["v_r_max"]),
        4: (p["v_e_min"], ceiling(p, u)),
    }
    return rates, limits, (x_i, v_r, v_e, v_e * fex(p["k_c"] * u.i_f / v_e))


def dc2c(p, u, x):
    v_m, x_l, v_r, v_f, x_f = x
    error = error_of(u, v_m) - p["k_f"] / p["t_f"] * (v_f - x_f)
    led = x_l + p["t_c"] / p["t_b"] * (error - x_l)
    rates = (
        (measured(u) - v_m) / p["t_r"],
        (error - x_l) / p["t_b"],
        (p["k_a"] * led - v_r) / p["t_a"],
        (v_r - p["k_e"] * v_f - saturation(v_f)) / p["t_e"],
        (v_f - x_f) / p["t_f"],
    )
    limits = {
        2: (measured(u) * p["v_r_min"], measured(u) * p["v_r_max"]),
        3: (p["v_f_min"], p["v_f_max"]),
    }
    return rates, limits, (v_m, v_r, v_f)


def dc4c(p, u, x):
    v_m, x_i, x_d, v_r, v_f, x_f = x
    v_fe = p["k_e"] * v_f + saturation(v_f)
    error = error_of(u, v_m) - p["k_f"] / p["t_f"] * (v_f - x_f)
    integral = x_i / p["k_a"]
    regulated = np.clip(p["k_a"] * pid(p, error, integral, x_d), p["v_r_min"], p["v_r_max"])
    rates = (
        (measured(u) - v_m) / p["t_r"],
        p["k_a"] * p["k_ir"] * error,
        (error - x_d) / p["t_dr"],
        (regulated - v_r) / p["t_a"],
        (source(p, u, v_fe) * v_r - v_fe) / p["t_e"],
        (v_f - x_f) / p["t_f"],
    )
    limits = {
        **dict.fromkeys((1, 3), (p["v_r_min"], p["v_r_max"])),
        4: (p["v_f_min"], np.inf),
    }
    return rates, limits, (x_i, v_r, v_f)


SHOWN = {
    AC3C: (ac3c, ("x_i", "v_a", "v_e", "v_f")),
    AC5C: (ac5c, ("v_r", "v_e", "x_f2", "v_f")),
    AC8C: (ac8c, ("x_i", "v_r", "v_e", "v_f")),
    DC2C: (dc2c, ("v_m", "v_r", "v_f")),
    DC4C: (dc4c, ("x_i", "v_r", "v_f")),
}


@pytest.mark.parametrize("kind", SHOWN, ids=lambda kind: kind.__name__)
def test_it_is_its_block_diagram(kind):
    check_diagram(kind, PARAMETERS[kind], *SHOWN[kind])


@pytest.mark.parametrize("kind", [AC8C, DC4C])
def test_a_constant_source(kind):
    """With sw_1 = 2 the source is k_p, whatever the terminals have."""
    check_diagram(kind, PARAMETERS[kind] | {"sw_1": 2.0, "k_p": 1.2}, *SHOWN[kind])


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (ESAC2A, {"k_e": 0.0}, r"k_e = 0\.0: must be > 0"),
        (AC3C, {"k_pr": 0.0, "k_ir": 0.0}, r"k_pr = k_ir = 0: one of them must be > 0"),
        (AC3C, {"t_b": 0.0}, r"t_b = 0 and t_c = 0\.1"),
        (AC5C, {"v_r_min": 5.0}, r"v_r_min = 5: must be below v_r_max"),
        (AC8C, {"sw_1": 3.0}, r"sw_1 = 3"),
        (DC4C, {"t_dr": 0.0}, r"t_dr = 0 and k_dr = 0\.1"),
    ],
)
def test_what_it_objects_to(kind, change, message):
    with pytest.raises(InputError, match=message):
        Device("d", kind, (PARAMETERS | {ESAC2A: AC2})[kind] | change)


RECORDS = {
    "ESAC3A": (
        "0.1 0.2 0.05 20.0 0.1 10.0 -10.0 0.4 0.0 1.0 0.1 0.7 0.2 2.0 0.0 0.0 1.0 100.0 0.0 0.0 0.0 0.0",
        {"t_b": 0.2, "k_r": 1.0, "k_f": 0.1, "t_f": 0.7, "k_n": 0.2, "e_fdn": 2.0, "v_fe_max": 100.0},
    ),
    "AC3C": (
        "0 0 0.0 0.2 0.05 10.0 0.3 20.0 -20.0 0.4 0.0 1.0 0.2 0.5 0.4 2.0 0.0 0.0 1.0 99.0 0.0 0.0 1.0 0.0 "
        "1.0 2.0 0.5 0.25 20.0 -20.0",
        {"t_f": 0.5, "k_n": 0.4, "k_pr": 1.0, "k_ir": 2.0, "k_dr": 0.5, "t_dr": 0.25, "v_pid_max": 20.0},
    ),
    "AC5C": (
        "0 0 0.0 2.0 0.3 10.0 -10.0 1.0 0.4 0.05 0.7 0.5 0.2 1.0 0.1 2.0 0.3 0.05 0.1 10.0 0.0",
        {"k_a": 2.0, "t_f": 0.7, "t_f2": 0.5, "t_f3": 0.2, "se_2": 0.3, "k_c": 0.05, "v_fe_max": 10.0},
    ),
    "AC8C": (
        "0 0 1 1 0.1 2.0 3.0 0.4 0.2 10.0 -10.0 4.0 0.05 10.0 -10.0 0.1 0.2 0.5 0.2 10.0 0.0 1.0 0.1 2.0 0.3 "
        "1.0 0.1 0.2 10.0 0.05 10.0",
        {"t_dr": 0.2, "k_a": 4.0, "k_e": 0.5, "t_e": 0.2, "k_i": 0.1, "theta_p": np.pi / 18, "k_c1": 0.05},
    ),
    "ESAC8B": (
        "0.02 15.0 0.8 10.0 0.03 0.6 0.04 5.0 -4.0 0.4 1.0 5.7 0.1 7.6 0.4",
        {"k_pr": 15.0, "k_ir": 0.8, "k_dr": 10.0, "t_dr": 0.03, "k_a": 0.6, "t_a": 0.04, "t_e": 0.4},
    ),
    "DC1C": (
        "1 1 0.0 20.0 0.05 0.2 0.05 5.0 -5.0 1.0 0.4 0.1 0.3 5.6 0.86 4.2 0.5 99.0 0.0",
        {"k_a": 20.0, "t_b": 0.2, "t_f": 0.3, "e_1": 5.6, "v_f_max": 99.0},
    ),
    "DC2C": (
        "1 1 0.0 20.0 0.05 0.2 0.05 2.0 -2.0 1.0 0.4 0.1 0.3 5.6 0.86 4.2 0.5 99.0 0.0",
        {"t_c": 0.05, "v_r_max": 2.0, "k_f": 0.1, "se_2": 0.5, "v_f_max": 99.0, "v_f_min": 0.0},
    ),
    "DC4C": (
        "0 0 0 1 0.1 3.0 4.0 0.5 0.1 10.0 -10.0 2.0 0.2 1.0 0.4 0.2 0.3 0.0 0.0 0.0 0.0 0.0 0.9 0.1 0.05 "
        "10.0 0.0 10.0",
        {"k_dr": 0.5, "k_a": 2.0, "k_f": 0.2, "t_f": 0.3, "k_p": 0.9, "x_l": 0.05, "v_b_max": 10.0},
    ),
}


@pytest.mark.parametrize("model", RECORDS)
def test_record(tmp_path, model):
    check_record(tmp_path, model, *RECORDS[model])
