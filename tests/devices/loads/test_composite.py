"""The composite load: its start by hand, end uses against the published words, what it does in a fault."""

from types import SimpleNamespace

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError
from tests.components import CMLD
from tests.devices.loads.composite import PARAMETERS, read, system_with, text
from tests.devices.psse_library import COMPOSITE
from tests.internals import NumericMath as M
from tests.internals import air_conditioner_module as air_conditioner
from tests.internals import defaults
from tests.internals import start_of_composite as start
from tests.internals import static_parts_module as static_parts

AT_REST = 1e-8


def given(**changes):
    return PARAMETERS | {"s_base": 100.0, "f_n": 60.0, "v_0": 1.01, "p_0": 0.8, "q_0": 0.2} | changes


def of(**changes):
    return SimpleNamespace(**defaults(CMLD) | COMPOSITE | changes)


def by_hand(p):
    """Voltages and powers from the bus to the load bus, with the tap and the susceptance that were found."""
    decided, v = start(p)
    u, base = complex(v["u_re"], v["u_im"]), decided["s_mva"]
    k = 100.0 / base
    high = p["v_0"] - 1j * p["x_xf"] * k * p["tfixhs"] ** 2 * np.conj((p["p_0"] + 1j * p["q_0"]) / p["v_0"])
    a = decided["tap"] * p["tfixls"] / p["tfixhs"]
    low, into = a * high, np.conj((p["p_0"] + 1j * p["q_0"]) / p["v_0"]) / a
    at_low = p["f_b"] * v["b_f"] if v["b_f"] > 0 else v["b_f"]
    flow = into - 1j * (p["b_ss"] / k + at_low) * low
    end = low - decided["shrink"] * (p["r_fdr"] + 1j * p["x_fdr"]) * k * flow
    return decided, v, u, low, end, end * np.conj(flow - 1j * (v["b_f"] - at_low) * end)


@pytest.mark.parametrize(
    "changes",
    [
        *({}, {"mva": 0.0, "tfixhs": 1.05}, {"mva": 300.0, "x_xf": 0.0}, {"q_0": 0.6}),
        *({"r_fdr": 0.2, "x_fdr": 0.2}, {"fm_a": 0.9}, {"b_ss": 0.05, "r_cmp": 0.02, "x_cmp": 0.05}),
    ],
    ids=["plain", "base", "no transformer", "inductive", "long feeder", "too much", "compensated"],
)
def test_start_brings_the_power_to_the_load_bus(changes):
    p = given(**changes)
    decided, v, u, low, end, power = by_hand(p)
    assert end == pytest.approx(u, abs=1e-12)
    assert decided["p_load"] == pytest.approx(power.real, abs=1e-12)
    one = max(1.0, sum(p[name] for name in ("fm_a", "fm_b", "fm_c", "fm_d", "f_el")))
    taken = 0
    for k in "abc":
        e2 = complex(v[f"e2_re_{k}"], v[f"e2_im_{k}"])
        s = u * np.conj((u - e2) / (p[f"ra_{k}"] + 1j * p[f"lpp_{k}"]))
        assert s.real == pytest.approx(p[f"lf_{k}"], rel=1e-9)
        taken += p[f"fm_{k}"] / one / p[f"lf_{k}"] * s
    taken += p["fm_d"] / one * (1 + 1j * np.tan(np.arccos(p["pf_d"]))) + p["f_el"] / one
    taken = taken * power.real + v["p_s"] * (1 + 1j * np.tan(np.arccos(p["pf_s"])))
    assert taken == pytest.approx(power, abs=1e-11)
    assert abs(u) >= 0.95 - 1e-12
    # The tap is the nearest to the middle of the band.
    if p["x_xf"]:
        into = np.conj((p["p_0"] + 1j * p["q_0"]) / p["v_0"]) * low / low
        a = decided["tap"] * p["tfixls"] / p["tfixhs"]
        regulated = abs(low - (p["r_cmp"] + 1j * p["x_cmp"]) * 100 / decided["s_mva"] * into / a)
        assert abs(regulated - 1.0325) < 0.6 * p["step"] or decided["tap"] in (0.9, 1.1)
        assert (decided["tap"] - 1) / p["step"] == pytest.approx(
            round((decided["tap"] - 1) / p["step"]), abs=1e-9
        )


def test_base_of_the_substation():
    found = {mva: start(given(mva=mva))[0]["s_mva"] for mva in (90.0, -1.25, 0.0)}
    assert found == pytest.approx({90.0: 90.0, -1.25: 64.0, 0.0: 100.0})


def electronic_published(v, vmin, vd1, vd2, frcel):
    """The pseudo code of the specification, section electronic load model."""
    vmin = max(min(v, vmin), vd2)
    if v < vd2:
        return 0.0, vmin
    if v < vd1:
        part = (v - vd2) if v <= vmin else (vmin - vd2) + frcel * (v - vmin)
        return part / (vd1 - vd2), vmin
    if vmin >= vd1:
        return 1.0, vmin
    return ((vmin - vd2) + frcel * (vd1 - vmin)) / (vd1 - vd2), vmin


def test_electronics_leave_and_a_part_comes_back():
    path = np.concatenate([np.linspace(1, 0.62, 39), np.linspace(0.62, 0.75, 14), np.linspace(0.75, 0.4, 36)])
    path = np.concatenate([path, np.linspace(0.4, 1.1, 71)])
    vmin = least = 2.0
    for v in path:
        expected, vmin = electronic_published(v, vmin, 0.8, 0.5, 0.4)
        least = min(least, v)
        current = static_parts.electronics(
            M, SimpleNamespace(v_m=v, v_y=v), of(v_el=least, pf_el=1.0), (v, 0.0), 0.7
        )
        assert current[0] * v == pytest.approx(0.7 * expected if v > 0.5 else 0.0, abs=1e-12)


def test_static_load_follows_voltage_and_frequency():
    p = of(v_l=0.98, v_z=0.5)
    i = static_parts.static(M, p, (0.9, 0.0), 0.9, 0.01, 0.4, -0.1)
    x = 0.9 / 0.98
    active = 0.4 * (0.5 * x**2 + 0.3 * x + 0.2) * (1 + 1.2 * 0.01)
    reactive = -0.1 * (-0.5 * x**2 + 1.5 * x + 0.0) * (1 - 0.01)
    assert 0.9 * np.conj(complex(*i)) == pytest.approx(active + 1j * reactive, abs=1e-12)


def test_motor_d_has_the_published_curves():
    """P and Q of the specification, with its numbers 0.86, 6, 12, 3.2, 11, 2.5, 1 and -3.3."""
    p = given(kp1=0.0, v_brk=0.86)
    decided = start(p)[0]
    u_0 = decided["v_l"]
    q_0 = np.tan(np.arccos(0.98)) - 6 * (u_0 - 0.86) ** 2
    full = of(
        **{k: p[k] for k in air_conditioner.PARAMETERS if k in p}, **decided, stalled_1=0.0, stalled_2=1.0
    )
    for v, df in ((1.0, 0.0), (0.9, -0.01), (0.8, 0.01), (0.6, 0.0)):
        (g, b), stalled = air_conditioner.admittances(M, full, v, df)
        more = (0.0, 6 * (v - 0.86) ** 2) if v > 0.86 else (12 * (0.86 - v) ** 3.2, 11 * (0.86 - v) ** 2.5)
        assert g * v**2 == pytest.approx((1 + more[0]) * (1 + df), rel=1e-12)
        assert -b * v**2 == pytest.approx((q_0 + more[1]) * (1 - 3.3 * df), rel=1e-12)
        assert complex(*stalled) == pytest.approx(1 / (0.1 + 0.1j))


def test_the_crossing_is_that_of_the_published_search():
    decided = start(given(v_stall=0.6, r_stall=0.124, x_stall=0.114))[0]
    conductance = 0.124 / (0.124**2 + 0.114**2)
    v = np.arange(0.4, 0.6, 1e-5)
    first = v[1.0 + 12 * (0.86 - v) ** 3.2 <= conductance * v**2][0]
    assert decided["v_x"] == pytest.approx(first, abs=2e-5)


def test_contactors_open_and_close_on_different_ways():
    p = of(v_con=10.0)
    falling = {v: float(air_conditioner.contactors(M, p, v)) for v in (0.6, 0.5, 0.45, 0.3, 0.2)}
    assert falling == pytest.approx({0.6: 1, 0.5: 1, 0.45: 0.75, 0.3: 0, 0.2: 0})
    p = of(v_con=0.35)
    rising = {v: float(air_conditioner.contactors(M, p, v)) for v in (0.35, 0.4, 0.55, 0.7, 1.0)}
    assert rising == pytest.approx({0.35: 0.25, 0.4: 0.25, 0.55: 0.625, 0.7: 1, 1.0: 1})
    assert float(air_conditioner.contactors(M, of(v_con=0.45), 0.45)) == pytest.approx(0.75)


def labels(run):
    return [(c.t, part.removeprefix("load102: ")) for c in run.changes for part in c.label.split("; ")]


def test_in_a_fault_motors_trip_stall_and_come_back():
    system = system_with()
    assert np.abs(system.f(system.x0, system.y0)).max() < AT_REST
    fault = psmr.Fault(bus=102, start=1.0, clear=1.1, x=1e-4)
    run = psmr.simulate(system, psmr.VariableStep(1e-4), t_end=6.0, events=[fault])
    at = {label: t for t, label in labels(run)}
    # Delays of the record, from the fault on.
    for label, delay in (
        ("trip 2 of motor A", 0.02),
        ("trip 1 of motor B", 0.02),
        ("trip 2 of motor B", 0.025),
        ("trip 1 of motor C", 0.03),
        ("motor D stalls", 0.03),
        ("trip 1 of motor A", 0.1),
    ):
        assert at[label] == pytest.approx(1 + delay, abs=1e-3), label
    # B comes back 0.05 s after the voltage does; the first trip of A not at all.
    assert at["motor B is back after trip 1"] == pytest.approx(1.15, abs=5e-3)
    assert "motor A is back after trip 1" not in at
    # A fifth of the stalled motors runs again, the temperature of the others goes on rising.
    assert at["a part of motor D runs again"] > 1.4
    theta = run.frame(["load102.theta_1", "load102.theta_2"]).iloc[-1]
    assert theta["load102.theta_1"] > theta["load102.theta_2"] > 0.5


def test_the_tap_moves_after_its_delays():
    system = system_with(t_d=1.0, t_c=0.5, v_min=1.04, v_max=1.05)
    trip = psmr.LoadTrip(bus=103, start=0.2, fraction=1.0)
    run = psmr.simulate(system, psmr.VariableStep(1e-4), t_end=3.5, events=[trip])
    steps = [(t, label) for t, label in labels(run) if "tap" in label]
    assert steps[0][1] == "tap lowered"
    first = steps[0][0]
    assert 1.2 <= first < 1.5
    assert [t for t, _ in steps[1:]] == pytest.approx(
        [first + 0.5 * k for k in range(1, len(steps))], abs=1e-6
    )
    assert len(steps) >= 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lp_a": 2.0}, "must fall from ls over lp to lpp"),
        ({"v_d2": 0.7}, r"v_d2 = 0\.7: must be below v_d1"),
        ({"lf_b": 9.0}, "motor B: lf_b = 9: it cannot take that at 0.9"),
        (
            {"t_min": 1.001, "t_max": 1.004},
            r"t_max = 1\.004: no tap 1 \+ k step with step = 0\.00625 is between",
        ),
        ({"t_min": 0.8, "t_max": 0.85}, "the low side of the substation is at"),
        ({"t_v": 0.0}, r"t_v = 0\.0: must be > 0"),
        ({"mtyp_b": 1}, "MtypB = 1: psmr has this motor with three phases only"),
    ],
)
def test_what_cannot_be_is_said(changes, words):
    with pytest.raises(CaseError, match=words):
        psmr.build(read(text(**changes)))


def test_a_motor_without_a_part_is_not_judged():
    case = read(text(fm_b=0, mtyp_b=1, lf_b=9.0))
    system = psmr.build(case)
    assert np.abs(system.f(system.x0, system.y0)).max() < AT_REST
    slip = [k for k, name in enumerate(system.names_x) if name.endswith("slip_b")]
    assert system.x0[slip] == pytest.approx(0.0, abs=1e-12)


def test_the_report_on_a_start_has_loads_and_relays():
    records = text() + "102 'LVSHBL' 1 103 0.8 0.05 0.5 0 0 0 0 0 0 0.02 /\n"
    found = str(psmr.check(read(records)))
    assert "load102  102   50.00     30.00  CMLD   p_s = " in found
    assert "shed-load102  103  load102  UnderVoltageShedding  set_1 = 0.8, pickup_1 = 0.05" in found
