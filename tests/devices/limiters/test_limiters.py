"""Limiters by themselves, on a ramp of what they read, against closed forms.

A device gives the field current i = i_0 + r t (it and the field voltage are one); then what a limiter counts,
and when, are polynomials in t.
"""

import numpy as np
import pytest
from scipy.optimize import brentq

from psmr import Component, Device, Parameter, VariableStep, assemble, simulate
from psmr.errors import InputError
from tests import components as models
from tests.internals import with_algebraic_resolved

PID = {
    **{"t_c1": 0.02, "t_b1": 0.1, "t_c2": 0.03, "t_b2": 0.2, "k_p": 0.3, "k_i": 0.4, "k_d": 0.05, "t_d": 0.1},
    **{"v_oel_max3": 0.8, "v_oel_min3": -0.7, "v_oel_max2": 0.6, "v_oel_min2": -0.5, "v_oel_max1": 0.4},
}
OEL2C = PID | {
    **{"v_oel_min1": -0.3, "i_reset": 0.4, "t_en": 0.2, "t_off": 5.0, "ith_off": 0.05, "t_r": 0.01},
    **{
        "itf_pu": 0.7,
        "i_inst": 1.2,
        "i_lim": 0.7,
        "t_a": 0.04,
        "c_1": 1.0,
        "k_1": 0.3,
        "c_2": 2.0,
        "k_2": 0.5,
    },
    **{"v_inv_max": 0.6, "v_inv_min": -0.4, "fixed_ru": -0.2, "fixed_rd": 0.1, "t_fcl": 0.9, "t_max": 1.0},
    **{"t_min": 0.0, "k_fb": 0.1, "k_rd": -0.7, "k_ru": 0.8, "k_zru": 0.9},
}
MAXEX = {
    **{"rated": 0.8, "des_1": 0.5, "time_1": 2.0, "des_2": 0.9, "time_2": 1.5, "des_3": 1.3, "time_3": 0.5},
    **{"desired": 0.45, "k_mx": 0.3, "v_low": -0.8, "running": 1.0, "latched": 1.0},
}
POLYGON = {"p_1": -0.5, "q_1": -0.3, "p_2": 0.4, "q_2": -0.2, "p_3": 0.9, "q_3": 0.1}
REGULATOR = {
    **{"k_ui": 0.4, "k_ul": 0.6, "v_ui_max": 0.7, "v_ui_min": -0.6, "t_u1": 0.02, "t_u2": 0.1, "t_u3": 0.03},
    **{"t_u4": 0.2, "v_ul_max": 0.5, "v_ul_min": -0.4},
}
UEL2 = POLYGON | REGULATOR | {"k_1": 1.0, "k_2": 2.0, "t_uv": 0.1, "t_up": 0.2, "t_uq": 0.15}
PARAMETERS = {
    models.OEL1B: {
        **{"itf_pu": 0.6, "ifd_max": 1.2, "ifd_lim": 0.7, "hyst": 0.1, "k_cd": 0.8, "k_ramp": 2.0},
        **{"ifd_rated": 0.9, "above": 1.0},
    },
    models.MAXEX1: MAXEX,
    models.MAXEX2: MAXEX,
    models.OEL2C: OEL2C,
    models.OEL3C: {
        **{
            "itf_pu": 0.7,
            "t_f": 0.05,
            "k_1": 2.0,
            "k_oel": 0.8,
            "t_oel": 2.0,
            "k_poel": 0.5,
            "v_oel_max1": 0.1,
        },
        **{"v_oel_min1": -0.8, "v_oel_max2": 0.2, "v_oel_min2": -0.6},
    },
    models.OEL4C: {"q_ref": 0.3, "t_delay": 2.0, "k_p": 0.4, "k_i": 0.6, "v_min": -0.5, "active": 1.0},
    models.OEL5C: {
        **{"ifd_pu": 0.6, "ifd_lim": 0.5, "v_oel_max1": 0.9, "t_oel": 2.0, "k_ifdt": 0.01, "k": 1.1},
        **{
            "t_coel": 0.02,
            "t_boel": 0.1,
            "ifd_pulev": 0.9,
            "t_ifdlev": 1.0,
            "ifd_ref1": 0.8,
            "ifd_ref2": 0.6,
        },
        **{"k_poel": 0.5, "k_ioel": 0.7, "v_oel_max": 0.6, "v_oel_min": -0.7, "t_f1": 0.05, "i_bias": 0.9},
        **{"level": 1.0},
    },
    models.UEL1: REGULATOR | {"k_ur": 0.8, "k_uc": 0.6, "v_ur_max": 0.7, "v_uc_max": 1.1},
    models.UEL2: UEL2,
    models.UEL2C: UEL2
    | {
        **{"v_bias": 0.9, "t_adj": 0.3, "t_qref": 0.1, "v_uel_max2": 0.6, "v_uel_min2": -0.5},
        **{"v_uel_max1": 0.5, "v_uel_min1": -0.4, "x_q": 1.7, "v_ul_max": 0.3, "v_ul_min": -0.2},
    },
    models.SCL1C: {
        **{"i_scl_lim": 0.8, "t_it": 0.05, "t_qscl": 0.1, "i_q_min": 0.1, "v_scl_db": 0.1, "t_inv": 3.0},
        **{"t_dscl": 1.0, "k_poex": 0.4, "k_ioex": 0.5, "k_puex": 0.3, "k_iuex": 0.6, "v_scl_max": 0.6},
        **{"v_scl_min": -0.5, "inverse": 1.0},
    },
}
for side in ("oel", "uel"):
    tails = {f"{name}_{side}": value for name, value in PID.items() if not name.startswith("v_")}
    tails |= {f"v_{side}_{end}{k}": x for end, x in (("max", 0.6), ("min", -0.5)) for k in (1, 2, 3)}
    tails |= {f"t_iq_{side}": 0.05, f"t_ip_{side}": 0.04, f"k_ip_{side}": 0.9, f"t_en_{side}": 0.2}
    PARAMETERS.setdefault(models.SCL2C, {}).update(tails)
TIMED = {name: value for name, value in OEL2C.items() if name not in PID and name not in ("t_r", "t_fcl")}
del TIMED["v_oel_min1"], TIMED["t_en"]
PARAMETERS[models.SCL2C] |= TIMED | {
    **{"t_it": 0.03, "i_inst_uel": 0.9, "t_scl": 0.9, "t_vt": 0.02, "v_t_min": 0.4, "v_t_reset": 0.3},
    **{"i_q_min_oel": 0.02, "i_q_max_uel": -0.02, "k_p_ref": 0.5},
}
VARIANTS = {
    models.SCL2C: [{"sw_1": 1.0, "t_en_oel": 0.0, "t_en_uel": 0.0}],
    models.MAXEX2: [{"ic": 0.0}],
    models.OEL2C: [{"input": 1.0, "sw_1": 2.0}, {"t_en": 0.0}],
    models.UEL2: [{"q_quad": 1.0, "k_1": 0.0, "k_2": 1.0}],
    models.UEL2C: [{"sw_1": 2.0, "q_quad": 1.0}, {"v_bias": -1.0}],
    models.SCL1C: [{"sw_1": 1.0, "sw_2": 0.0}],
}
ZERO = {models.OEL2C: ("t_r", "t_a", "t_b1", "t_c1", "k_i"), models.UEL1: ("t_u2", "t_u1", "k_ui")}
ZERO[models.SCL2C] = ("t_it", "t_a", "t_b1_oel", "t_c1_oel", "k_i_uel", "t_iq_uel")


class Ramp(Component):
    """What a limiter reads, on a ramp up to t_top and down from there."""

    algebraic = ("i_f",)
    start = Parameter("pu", "value at t = 0")
    slope = Parameter("pu/s", "rate up")
    fall = Parameter("pu/s", "rate down")
    t_top = Parameter("s", "when it turns")

    ramps = ("slope", "fall")

    @staticmethod
    def equations(m, v, p):
        up, down = m.min(v.t, p.t_top), m.max(v.t - p.t_top, 0)
        return (), (p.start + p.slope * up - p.fall * down - v.i_f,), ()


def on_ramp(kind, parameters, t_end, start=1.0, slope=0.02, t_top=1e3, fall=0.0):
    """Run of a limiter at rest at t = 0, and the device itself."""
    wires = dict.fromkeys(("i_f", "v_f"), "ramp.i_f")
    limiter = Device("L", kind, parameters, {k: x for k, x in wires.items() if k in kind.inputs})
    ramp = Device("ramp", Ramp, {"start": start, "slope": slope, "fall": fall, "t_top": t_top})
    sides = {
        s: low if s in ("timer", "theta") else high for s, (low, high) in limiter.component.limits.items()
    }
    values = limiter.parameters
    rest = {f"L.{s}": values[side] for s, side in sides.items()}
    rest |= {
        "L.i": start * values.get("k_scale", values.get("k_scale1", 1.0)),
        "L.i_a": values.get("i_inst", 0.0),
    }
    known = (*limiter.component.states, *limiter.component.algebraic)
    system = assemble(
        [limiter, ramp], {k: x for k, x in rest.items() if k[2:] in known} | {"ramp.i_f": start}
    )
    return simulate(with_algebraic_resolved(system), VariableStep(tolerance=1e-7), t_end)


def at(run, name, t):
    return np.interp(t, run.t, run[name])


def test_maxex_counts_by_its_points_and_integrates():
    points = {"des_1": 1.05, "time_1": 60.0, "des_2": 1.2, "time_2": 30.0, "des_3": 1.5, "time_3": 10.0}
    p = points | {"rated": 1.0, "desired": 1.02, "k_mx": 0.02, "v_low": -10.0}
    run = on_ramp(models.MAXEX2, p, 40.0)
    # 1/T of a time that is linear in the current: logarithms, 0.05 to 0.2 and on above rated.
    begin, bend = 2.5, 10.0
    first = np.log(60.0 / 30.0) * (bend - begin) / 30.0
    rate = 20.0 / 15.0  # s per s: from 30 s at i = 1.2 to 10 s at 1.5, which the ramp takes 15 s for
    out = bend + 30.0 / rate * (1 - np.exp(-rate * (1 - first)))
    latched = next(t for t, v in zip(run.t, run["L.v_oel"], strict=True) if v < 0)
    assert latched == pytest.approx(out, abs=0.3)
    excess = [0.02 * (0.5 * t**2 * 0.02 - 0.02 * t) for t in (out, 40.0)]
    assert at(run, "L.v_oel", 40.0) == pytest.approx(excess[0] - excess[1], abs=2e-4)


def test_oel2c_lowers_its_reference_at_the_end_of_its_count():
    p = OEL2C | {
        **{
            "t_r": 0.0,
            "t_a": 0.0,
            "t_b1": 0.0,
            "t_c1": 0.0,
            "t_b2": 0.0,
            "t_c2": 0.0,
            "k_i": 0.0,
            "k_d": 0.0,
        },
        **{
            "t_d": 0.0,
            "itf_pu": 1.1,
            "i_inst": 3.0,
            "i_lim": 1.0,
            "k_2": 1 / 33.75,
            "v_inv_min": 0.0,
            "k_rd": -0.1,
        },
        **{"v_inv_max": 9.0, "fixed_ru": -0.001, "fixed_rd": 0.0, "t_fcl": 1.0, "k_fb": 0.0, "i_reset": 5.0},
        **{f"v_oel_{side}{k}": value for side, value in (("max", 9.0), ("min", -9.0)) for k in (1, 2, 3)},
    }
    run = on_ramp(models.OEL2C, p, 70.0)

    def count(t):
        x = np.array([1.1, 1 + 0.02 * t])
        of = (x**3 / (3 * 1.1**2) - x) / 0.02 / 33.75
        return of[1] - of[0] - 1

    out = brentq(count, 5.0, 60.0)
    reference = run["L.i_ref"]
    before = run.t[(run.t > 5.5) & (run.t < out)]
    assert at(run, "L.timer", before) == pytest.approx([1 + count(t) for t in before], abs=1e-6)
    assert at(run, "L.i_ref", out + 5.0) == pytest.approx(3.0 - 0.5, abs=1e-3)
    assert reference.iloc[-1] == pytest.approx(1.0, abs=1e-9)
    # Proportional alone, and no reset addition from then on.
    assert run["L.v_oel"].iloc[-1] == pytest.approx(0.3 * (1.0 - 2.4), abs=1e-6)
    assert at(run, "L.v_oel", out - 1.0) == pytest.approx(0.3 * (3.0 + 5.0 - 1 - 0.02 * (out - 1)), abs=1e-6)


def test_oel1b_comes_down_and_cools():
    p = {"itf_pu": 1.05, "ifd_max": 1.5, "ifd_lim": 1.05, "hyst": 0.03, "k_cd": 1.0, "k_ramp": 0.3}
    run = on_ramp(models.OEL1B, p | {"ifd_rated": 2.0}, 150.0, start=2.0, slope=0.04, t_top=45.0, fall=0.04)

    def overload(t):
        x = np.array([1.05, 1 + 0.02 * t])
        of = (x**3 / 3 - x) / 0.02 / 33.75
        return of[1] - of[0] - 1

    out = brentq(overload, 5.0, 45.0)
    before = run.t[(run.t > 3.0) & (run.t < out)]
    # It begins a thousandth of a step after the pick-up.
    assert at(run, "L.theta", before) == pytest.approx([1 + overload(t) for t in before], abs=1e-5)
    assert at(run, "L.v_oel", out + 1.0) == pytest.approx(2.0 * (1.5 - 0.3), abs=2e-3)
    assert at(run, "L.v_oel", 45.0) == pytest.approx(2.1)
    # Back below 1.02 it cools down to nothing, and the instantaneous limit holds again.
    assert (run["L.theta"].iloc[-1], run["L.v_oel"].iloc[-1]) == (0.0, 3.0)


def test_oel3c_integrates_the_excess():
    p = {"itf_pu": 1.1, "t_f": 0.0, "k_1": 2.0, "k_oel": 1.5, "t_oel": 4.0, "k_poel": 0.2}
    p |= {"v_oel_max1": 0.0, "v_oel_min1": -5.0, "v_oel_max2": 0.0, "v_oel_min2": -3.0}
    run = on_ramp(models.OEL3C, p, 20.0)
    i, t = 1 + 0.02 * 20.0, 15.0  # above 1.1 from 5 s on
    integral = -1.5 / 4.0 * ((i**3 - 1.1**3) / 0.06 - 1.1**2 * t)
    assert run["L.x"].iloc[-1] == pytest.approx(integral, abs=1e-6)
    assert run["L.v_oel"].iloc[-1] == pytest.approx(integral - 0.3 * (i**2 - 1.1**2), abs=1e-6)
    assert at(run, "L.v_oel", 4.9) == 0.0


def test_oel5c_latches_at_its_count():
    p = PARAMETERS[models.OEL5C] | {"ifd_pu": 1.02, "k_ifdt": 0.05, "t_oel": 1.0, "ifd_lim": 0.8, "t_f1": 0.0}
    p |= {"ifd_pulev": 9.0, "t_boel": 0.0, "t_coel": 0.0, "k_ioel": 0.0, "level": 0.0, "v_oel_min": -9.0}
    run = on_ramp(models.OEL5C, p, 20.0)

    def theta(t):  # theta' = 0.02 (t - 1) - 0.05 theta from t = 1 on
        return 0.4 * (t - 1) - 8.0 * (1 - np.exp(-0.05 * (t - 1)))

    out = brentq(lambda t: theta(t) - 0.8, 2.0, 20.0)
    assert at(run, "L.theta", 18.0) == pytest.approx(min(theta(18.0), 0.9), abs=1e-4)
    before, after = at(run, "L.v_oel", out - 0.1), at(run, "L.v_oel", out + 0.1)
    assert (before, after) == (0.9, pytest.approx(0.5 * (0.6 - 1.1 * (1 + 0.02 * (out + 0.1))), abs=1e-4))


def stator_of(kind, parameters, voltage, current):
    """Equations of a limiter of the stator, with lags left out and its states where they rest."""
    delta = 0.4
    turned = np.exp(-1j * (delta - np.pi / 2))
    v, i = voltage * turned, current * turned
    read = {"v_re": voltage.real, "v_im": voltage.imag, "delta": delta, "i_d": i.real, "i_q": i.imag}
    limiter = Device("L", kind, parameters)
    read |= {"v_m": abs(v)} if "v_m" in limiter.component.algebraic else {}
    system = assemble([limiter], {f"L.{k}": float(x) for k, x in read.items()})
    return with_algebraic_resolved(system), abs(v), voltage * np.conj(current)


def scl2c_on_ramps(parameters, t_end, **ramps):
    """Run of an SCL2C without lags, proportional alone, whose inputs are constant or ramp (start, slope)."""
    none = {name: 0.0 for name in PARAMETERS[models.SCL2C] if name.startswith(("t_", "k_i_", "k_d"))}
    none |= {f"v_{side}_{end}{k}": x for side in ("oel", "uel") for end, x in WIDE.items() for k in (1, 2, 3)}
    p = PARAMETERS[models.SCL2C] | none | {"k_ip_oel": 1.0, "k_ip_uel": 1.0, "k_fb": 0.0, "i_reset": 5.0}
    p |= {"itf_pu": 1.1, "t_scl": 1.0, "t_max": 1.0, "k_2": 1.0, "v_inv_min": 0.0, "v_inv_max": 9.0}
    p |= {"fixed_rd": 0.0, "fixed_ru": -0.001, "i_lim": 1.0, "k_rd": -0.1, "t_en_oel": 0.2, "t_en_uel": 0.2}
    p |= {"t_off": 5.0, "t_min": 0.0} | parameters
    limiter = Device("L", models.SCL2C, p, {name: f"{name}.i_f" for name in ramps})
    sources = [
        Device(name, Ramp, {"start": start, "slope": slope, "fall": 0.0, "t_top": 1e3})
        for name, (start, slope) in ramps.items()
    ]
    # Where v is along q, i_d is the reactive current and i_q the active one.
    read = {"v_re": 1.0, "v_im": 0.0, "delta": 0.0, "i_q": 0.6, "i_ref": p["i_inst"], "v_m": 1.0}
    q = ramps["i_d"][0]
    read |= {"i_p_oel": 0.6, "i_p_uel": 0.6, "i_q_oel": q, "i_q_uel": q, "i": np.hypot(0.6, q), "i_a": 1.0}
    rest = {f"L.{name}": x for name, x in read.items() if name not in ramps}
    rest |= {f"{name}.i_f": x for name, (x, _) in ramps.items()}
    system = assemble([limiter, *sources], rest)
    return simulate(with_algebraic_resolved(system), VariableStep(tolerance=1e-7), t_end)


WIDE = {"max": 9.0, "min": -9.0}


@pytest.mark.parametrize("sign", [1, -1])
def test_scl2c_counts_and_limits_on_both_sides(sign):
    run = scl2c_on_ramps(
        {"i_inst": 3.0, "i_inst_uel": 1.4, "v_t_min": 0.0, "v_t_reset": 0.0},
        60.0,
        i_d=(sign * 0.5, sign * 0.02),
    )
    first = (np.sqrt(1.1**2 - 0.36) - 0.5) / 0.02

    def count(t):
        q = np.array([0.5 + 0.02 * first, 0.5 + 0.02 * t])
        of = (0.36 * q + q**3 / 3) / 1.1**2 - q
        return (of[1] - of[0]) / 0.02 - 1

    out = brentq(count, first, 60.0)
    before = run.t[(run.t > first + 0.5) & (run.t < out)]
    assert at(run, "L.timer", before) == pytest.approx([1 + count(t) for t in before], abs=1e-6)
    signal, other = ("L.v_scl_oel", "L.v_scl_uel")[::sign]

    def expected(t, reference, reset=0.0):  # what the active current leaves of the reference, by k_p_ref
        left = np.sqrt(reference**2 - (0.5 * 0.6) ** 2)
        left = left if sign > 0 else min(left, 1.4)
        return sign * 0.3 * (left + reset - np.hypot(0.6, 0.5 + 0.02 * t))

    assert at(run, signal, out - 1.0) == pytest.approx(expected(out - 1.0, 3.0, 5.0), abs=1e-6)
    assert at(run, signal, out + 5.0) == pytest.approx(expected(out + 5.0, 2.5), abs=1e-3)
    assert at(run, signal, 60.0) == pytest.approx(expected(60.0, 1.0), abs=1e-6)
    # The other side is kept from acting by the sign of the reactive current.
    assert at(run, other, 60.0) == pytest.approx(sign * -0.3 * (0.02 + 1.7), abs=1e-6)


def test_scl2c_lets_go_where_the_voltage_is_low():
    low = {"i_inst": 0.7, "i_lim": 0.5, "v_t_min": 0.9, "v_t_reset": 0.6, "k_p_ref": 0.0, "itf_pu": 2.0}
    run = scl2c_on_ramps(low, 12.0, i_d=(0.5, 0.0), v_re=(1.3, -0.1))
    over = 0.7 - np.hypot(0.6, 0.5)
    assert at(run, "L.v_scl_oel", 0.1) == pytest.approx(0.3 * (over + 5.0), abs=1e-6)
    assert at(run, "L.v_scl_oel", 1.0) == pytest.approx(0.3 * over, abs=1e-6)
    assert at(run, "L.v_scl_oel", 7.0 - 1e-6) == pytest.approx(0.3 * (0.9 - 0.6), abs=1e-6)
    assert at(run, "L.v_scl_oel", 8.0) == pytest.approx(0.3 * (over + 5.0), abs=1e-6)


def test_uel1_is_a_circle_and_uel2_a_polygon():
    voltage, current = 0.95 * np.exp(0.2j), 0.7 * np.exp(0.9j)
    none = dict.fromkeys(("t_u1", "t_u2", "t_u3", "t_u4", "k_ui"), 0.0) | {"k_ul": 1.0}
    wide = {"v_ui_max": 9.0, "v_ui_min": -9.0, "v_ul_max": 9.0, "v_ul_min": -9.0}
    circle = REGULATOR | none | wide | {"k_ur": 1.95, "k_uc": 1.38, "v_ur_max": 5.8, "v_uc_max": 5.8}
    system, magnitude, _ = stator_of(models.UEL1, circle, voltage, current)
    expected = abs(1.38 * voltage - 1j * current) - 1.95 * magnitude
    assert system.y0[system.names_y.index("L.v_uel")] == pytest.approx(expected, abs=1e-12)
    no_lags = dict.fromkeys(("t_uv", "t_up", "t_uq"), 0.0)
    polygon = UEL2 | none | wide | no_lags
    system, magnitude, power = stator_of(models.UEL2, polygon, voltage, current)
    least = np.interp(power.real / magnitude, [-0.5, 0.4, 0.9], [-0.3, -0.2, 0.1]) * magnitude**2
    assert system.y0[system.names_y.index("L.v_uel")] == pytest.approx(least - power.imag, abs=1e-12)


def test_what_never_acts_is_refused():
    with pytest.raises(InputError, match=r"L: t_max = 0.5: must be at least t_fcl = 0.9, or it never acts"):
        Device("L", models.OEL2C, OEL2C | {"t_max": 0.5})
    with pytest.raises(
        InputError, match=r"L: desired = 0.6: must be at most des_1 = 0.5, or it never lets go"
    ):
        Device("L", models.MAXEX1, MAXEX | {"desired": 0.6})
    with pytest.raises(InputError, match=r"L: p_3 = 0.3: must be above p_2"):
        Device("L", models.UEL2, UEL2 | {"p_3": 0.3})
