"""Whole renewable plants at bus 3 of the nine-bus system: start, fault, and what is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest

from partitioning import by_participation
from psmr import Fault, LineTrip, Multirate, SingleRate, build, read_case, simulate
from psmr.errors import CaseError, InitialisationError


@pytest.fixture(scope="module")
def case(wscc9):
    return read_case(wscc9 / "wscc9-renewable.toml")


@pytest.fixture(scope="module")
def system(case):
    return build(case)


def with_parameters(case, name, **changes):
    """The case with other parameters of one device; None takes the device out."""
    plants = []
    for plant in case.generators:
        devices = [
            replace(row, parameters={**row.parameters, **changes}) if row.name == name else row
            for row in plant.devices
        ]
        plants.append(replace(plant, devices=tuple(devices)))
    return replace(case, generators=tuple(plants))


def test_it_starts_at_rest(system):
    rest = np.concatenate([system.f(system.x0, system.y0), system.g(system.x0, system.y0)])
    assert np.abs(rest).max() < 1e-10
    start = dict(zip((*system.names_x, *system.names_y, *system.names_u), system.w0, strict=False))
    # 42.5 MW on 64 MVA, and the voltage of the regulated bus with its reactive droop.
    assert start["W3.p_e"] == pytest.approx(42.5 / 64, abs=1e-9)
    regulated = abs(complex(start["bus9.v_re"], start["bus9.v_im"]))
    assert start["PPC-W3.ref"] == pytest.approx(regulated + 0.02 * start["W3.q_e"], abs=1e-9)


@pytest.mark.parametrize(
    ("flags", "reference"),
    [
        ({"v_flag": 1.0, "q_flag": 1.0}, "q"),
        ({"v_flag": 0.0, "q_flag": 1.0}, "v"),
        ({"v_flag": 0.0, "q_flag": 0.0}, "q"),
        ({"pf_flag": 1.0}, "tangent"),
        ({"pq_flag": 1.0, "v_flag": 1.0, "q_flag": 1.0}, "q"),
    ],
    ids=str,
)
def test_every_mode_of_the_electrical_control_starts(case, flags, reference):
    system = build(with_parameters(case, "EC-S3", **flags))
    value = dict(zip((*system.names_x, *system.names_y, *system.names_u), system.w0, strict=False))
    q = value["S3.q_e"]
    expected = {"q": q, "v": 1.025, "tangent": q / value["S3.p_e"]}[reference]
    assert value["EC-S3.q_ext"] == pytest.approx(expected, abs=1e-9)


def test_it_rides_through_a_fault(system):
    """Single rate and multirate; the dip logic, the power logic and the current limits all act."""
    fault = [Fault(6, 1.0, 1.1)]
    split = by_participation(system.linearise(), 15.0)
    single = simulate(system, SingleRate("TM", 0.002), 10.0, fault)
    multi = simulate(system, Multirate(split, 0.01, 5, predictor="TM", solution="TM"), 10.0, fault)
    for run in (single, multi):
        for plant in ("W3", "S3"):
            i_p, lvpl = run.values([f"{plant}.i_p", f"{plant}.lvpl"]).T
            assert (i_p <= lvpl + 1e-9).all()
            assert lvpl.min() < 0.2 < i_p[0]
            p_cmd, q_cmd = run.values([f"EC-{plant}.ip_cmd", f"EC-{plant}.iq_cmd"]).T
            assert np.hypot(p_cmd, q_cmd).max() <= 1.1 + 1e-9
            assert q_cmd.max() > 0.5
            # It is back at its power after nine seconds, the wind plant up to its answer to frequency.
            p_e = run.values(f"{plant}.p_e")[:, 0]
            assert abs(p_e[-1] - p_e[0]) < 0.02
        assert abs(run.values("G2.omega")[-1, 0] - 1) < 1e-3
    # p_ord rests in the dip: it leaves it with what it had when it came.
    order, bus = single.values(["EC-W3.p_ord", "bus3.v"]).T
    dip = bus < 0.85
    assert dip.sum() > 20
    assert np.ptp(order[dip][1:]) < 1e-9
    # Where no event is near; measured 1e-3 for the currents, of the larger step's error.
    times = np.linspace(2.0, 10.0, 81)
    for name, bound in (("W3.i_p", 2e-3), ("W3.i_q", 2e-3), ("G2.omega", 1e-4)):
        one, two = (np.interp(times, run.t, run.values(name)[:, 0]) for run in (single, multi))
        assert np.abs(one - two).max() < bound


def test_the_reference_stands_in_the_middle_of_its_dead_band(case):
    system = build(with_parameters(case, "PPC-W3", dbd1=-0.02, dbd2=0.01))
    value = dict(zip((*system.names_x, *system.names_y, *system.names_u), system.w0, strict=False))
    assert value["PPC-W3.ref"] == pytest.approx(value["PPC-W3.y_m"], abs=1e-9)


@pytest.mark.parametrize("flags", [{"ref_flag": 0.0}, {"vc_flag": 1.0}, {"vc_flag": 0.0}], ids=str)
@pytest.mark.parametrize("ends", [(9.0, 8.0), (8.0, 9.0), (9.0, 3.0)], ids=str)
def test_a_monitored_branch(case, flags, ends):
    """Line 8-9 read at either end, and the plant's transformer at the network: power, current, start."""
    base = 250.0
    changes = flags | {"from_bus": ends[0], "to_bus": ends[1], "s_n": base, "x_c": 0.05, "r_c": 0.01}
    system = build(with_parameters(case, "PPC-W3", **changes))
    rest = np.concatenate([system.f(system.x0, system.y0), system.g(system.x0, system.y0)])
    assert np.abs(rest).max() < 1e-10
    value = dict(zip((*system.names_x, *system.names_y, *system.names_u), system.w0, strict=False))
    here, there = (complex(value[f"bus{k:g}.v_re"], value[f"bus{k:g}.v_im"]) for k in ends)
    branch = next(b for b in case.branches if {b.from_bus, b.to_bus} == set(ends))
    admittance = 1 / complex(branch.r, branch.x)
    current = (here - there) * admittance + 0.5j * branch.b * here * (branch.kind == "line")
    power = here * current.conjugate() * case.base_mva / base
    assert value["PPC-W3.p_m"] == pytest.approx(power.real, abs=1e-9)
    regulated = complex(value["bus9.v_re"], value["bus9.v_im"])
    droop = with_parameters(case, "PPC-W3", **changes).generators[2].devices[-1].parameters["k_c"]
    expected = {
        "ref_flag": power.imag,
        "vc_flag": abs(regulated - (0.01 + 0.05j) * current * case.base_mva / base),
    }[next(iter(flags))]
    if flags == {"vc_flag": 0.0}:
        expected = abs(regulated) + droop * power.imag
    assert value["PPC-W3.ref"] == pytest.approx(expected, abs=1e-9)


def test_the_monitored_branch_is_lost(case):
    """Its current is zero then: what the control measures goes there, and the plant's power is its own."""
    changes = {"ref_flag": 0.0, "from_bus": 9.0, "to_bus": 8.0, "s_n": 64.0}
    system = build(with_parameters(case, "PPC-W3", **changes))
    run = simulate(system, SingleRate("TM", 0.005), 2.0, [LineTrip("8-9", 0.5)])
    lost = run.t > 0.5
    assert (
        np.abs(run.values([f"line8-9.m_{x}_{k}" for x in ("re", "im") for k in "ij"])[lost][1:]).max() < 1e-12
    )
    assert abs(run.values("PPC-W3.y_m")[-1, 0]) < 1e-6
    assert abs(run.values("PPC-W3.y_m")[0, 0]) > 0.01


WRONG = [
    ("W3", {"zerox": 0.95}, "zerox = 0.95: must be below brkpt = 0.9"),
    ("W3", {"lvpnt0": 0.8}, "lvpnt0 = 0.8: must be below lvpnt1 = 0.8"),
    ("W3", {"iqrmin": 1.0}, "iqrmin = 1: must be < 0"),
    ("W3", {"t_g": 0.0}, "t_g = 0 and rrpwr = 10: a rate needs a lag; t_g must be > 0, or rrpwr at least 99"),
    ("W3", {"lvplsw": 2.0}, "lvplsw = 2.0: must be 0 or 1"),
    ("EC-S3", {"pf_flag": 1.0, "q_flag": 1.0}, "v_flag must be 1, or pf_flag 0"),
    ("EC-S3", {"q_min": 0.5}, "q_min = 0.5: must be below q_max = 0.436"),
    ("EC-S3", {"q_flag": 1.0, "k_vi": 0.0}, "k_vi = 0: must be > 0 where q_flag is 1"),
    ("EC-W3", {"k_qi": 0.0}, "k_qi = 0: must be > 0 where q_flag and v_flag are 1"),
    ("EC-W3", {"dp_min": 0.0}, "dp_min = 0: must be < 0"),
    ("EC-W3", {"dbd1": 0.01}, "dbd1 = 0.01: must be at most 0"),
    (
        "EC-W3",
        {"vp2": 0.1},
        "vp2 = 0.1: must be above vp1 = 0.2; points that are not needed stand at the end",
    ),
    ("EC-W3", {"pf_flag": 1.0}, "the plant control of W3 asks for reactive power"),
    ("PPC-W3", {"e_min": 0.2}, "e_min = 0.2: must be below e_max = 0.1"),
    ("PPC-W3", {"k_ig": 0.0}, "k_ig = 0: must be > 0 where f_flag is 1"),
    ("PPC-W3", {"t_ft": 0.1, "t_fv": 0.0}, "t_fv = 0 and t_ft = 0.1: t_fv must be > 0"),
    ("PPC-W3", {"bus": 11.0}, "bus = 11: there is no bus with this number"),
    ("PPC-W3", {"from_bus": 9.0, "to_bus": 8.0}, "s_n = 0: must be > 0 where a branch is monitored"),
    (
        "PPC-W3",
        {"from_bus": 9.0, "to_bus": 8.0, "circuit": 2.0, "s_n": 64.0},
        "from_bus = 9, to_bus = 8, circuit = 2: there is no such branch; its circuits are 1",
    ),
]


@pytest.mark.parametrize(("name", "change", "message"), WRONG, ids=[message[:25] for _, _, message in WRONG])
def test_what_is_wrong_is_named(case, name, change, message):
    with pytest.raises(CaseError, match=re.escape(message)):
        with_parameters(case, name, **change)


def test_a_start_outside_a_limit_is_named(case):
    with pytest.raises(InitialisationError, match=r"EC-S3\.p_ord = 0\.664\d+ is 0\.164 above p_max = 0\.5"):
        build(with_parameters(case, "EC-S3", p_max=0.5), start_at_limits="refuse")


def test_an_electrical_control_alone_acts_on_nothing(case):
    machine, control = case.generators[1], case.generators[3].devices[1]
    plant = replace(machine, devices=(machine.devices[0], control))
    with pytest.raises(CaseError, match="no device of G2 reads the output of REECB1"):
        build(replace(case, generators=(case.generators[0], plant)))
