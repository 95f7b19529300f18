"""Shunts that are switched by a voltage: instants and positions in closed form, from TOML, RAW and DYR."""

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning
from tests.internals import shunt_positions

BLOCKS = {"n_1": 3.0, "b_1": 2.0, "n_2": 2.0, "b_2": 4.0, "n_3": 1.0, "b_3": -6.0}
TIMES = {"t_low": 5.0, "t_high": 3.0}
STEPS = (0.0, 2.0, 4.0, 6.0, 10.0, 14.0)
X = 0.5


def bank(b=0.0, load=30.0, **values):
    """Return an infinite bus of 1 pu behind X, a reactive load and a bank: v = 1/(1 + X (b_load - b))."""
    switching = {"type": "SwitchedShunt", "v_low": 0.97, "v_high": 1.03, **TIMES, **BLOCKS, **values}
    machine = {"type": "InfiniteBus", "s_n": 100.0, "x_d1": 1e-7}
    return psmr.make_case(
        "bank",
        base_mva=100.0,
        frequency_hz=50.0,
        buses=[{"number": 1}, {"number": 2}],
        lines=[{"from": 1, "to": 2, "x": X}],
        loads=[{"bus": 2, "p_mw": 0.0, "q_mvar": load, "model": "impedance", "v_0": 1.0}],
        shunts=[{"bus": 2, "name": "bank", "b_mvar": b, "switching": switching}],
        generators=[{"name": "G1", "bus": 1, "control": "slack", "v": 1.0, "machine": machine}],
    )


def steps_in(run):
    return [(change.t, change.acts[0].value) for change in run.changes if change.acts]


def test_steps_come_after_their_delays_until_the_voltage_is_within():
    """v = 1/(1 + 0.5 (0.12 - b)): within from b = 0.06 on, the third position."""
    run = psmr.simulate(psmr.build(bank(load=12.0)), psmr.VariableStep(1e-4), 30.0)
    assert steps_in(run) == [(pytest.approx(5.0 * k, abs=1e-9), float(k)) for k in (1, 2, 3)]
    assert {act.kind for change in run.changes for act in change.acts} == {"shunt"}
    for k in range(4):
        v = 1 / (1 + X * (0.12 - STEPS[k] / 100))
        assert run["bus2.v"][5.0 * k + 0.1 :].iloc[0] == pytest.approx(v, abs=1e-6)
    assert run["SH-bank.position"].iloc[-1] == 3.0
    assert run["bank.q"].iloc[-1] == pytest.approx(-6.0 * (1 / 1.03) ** 2, abs=1e-4)


def test_breaker_discharge_and_number_of_steps():
    """A high voltage takes capacitors out, s_high after t_high; none is back before its discharge."""
    case = bank(b=14.0, load=-1.0, s_high=0.5, t_discharge=60.0, moves=4.0)
    system = psmr.build(case)
    low = psmr.ParameterStep("load2", "q", 0.4, 12.0)
    run = psmr.simulate(system, psmr.VariableStep(1e-4), 100.0, [low])
    # The load comes at 12 s; the last of four steps has to wait for 60 s from the last one out.
    wanted = ((3.5, 4.0), (7.0, 3.0), (10.5, 2.0), (75.5, 3.0))
    assert steps_in(run) == [(pytest.approx(t, abs=1e-6), x) for t, x in wanted]


def test_between_two_positions_a_step_leads_to_the_next_one():
    run = psmr.simulate(psmr.build(bank(b=5.0, load=12.0)), psmr.VariableStep(1e-4), 8.0)
    assert run["SH-bank.position"].iloc[0] == 2.5
    assert steps_in(run) == [(pytest.approx(5.0, abs=1e-9), 3.0)]


def test_positions_are_blocks_in_their_order():
    given = (2, 10.0, 1, -20.0, 1, 5.0, 2, -30.0)
    assert list(shunt_positions(given)) == [-80.0, -50.0, -20.0, 0.0, 10.0, 20.0, 25.0]


def test_a_band_narrower_than_a_step_is_said():
    with pytest.warns(PsmrWarning, match="a step changes the voltage by 0.0227 pu, more than the width"):
        psmr.build(bank(v_low=0.99, v_high=1.01))


def test_a_start_beyond_the_steps_is_said():
    with pytest.warns(PsmrWarning, match="b_mvar = 20 is beyond its steps, -6 to 14 Mvar: it stays until"):
        psmr.build(bank(b=20.0))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"v_low": 1.04}, "v_low = 1.04: must be below v_high = 1.03"),
        ({"n_1": 0.0, "n_2": 0.0, "n_3": 0.0}, "there is no step"),
        ({"bus": 7.0}, "bus = 7: there is no bus with this number"),
    ],
)
def test_bad_banks(values, words):
    with pytest.raises(CaseError, match=words):
        bank(**values)


RAW = """0, 100.0, 33, 0, 0, 50.0 / bank
a bank

1,'A           ', 110.0,3,   1,   1,   1,1.0,0.0
2,'B           ', 110.0,1,   2,   1,   1,0.95,0.0
0 / END OF BUS DATA, BEGIN LOAD DATA
2,'1 ',1,2,1, 0.0, 12.0, 0.0, 0.0, 0.0, 0.0, 1
0 / END OF LOAD DATA, BEGIN FIXED SHUNT DATA
0 / END OF FIXED SHUNT DATA, BEGIN GENERATOR DATA
1,'1 ', 0.0, 0.0, 99.0, -99.0, 1.0, 0, 100.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1, 100.0, 999.0, -999.0
0 / END OF GENERATOR DATA, BEGIN BRANCH DATA
1, 2,'1 ', 0.0, 0.5, 0.0, 0, 0, 0
0 / END OF BRANCH DATA, BEGIN TRANSFORMER DATA
0 / END OF TRANSFORMER DATA, BEGIN AREA DATA
1, 1, 40.0, 5.0, 'NORTH       '
2, 0, 0.0, 10.0, 'SOUTH       '
0 / END OF AREA DATA, BEGIN TWO-TERMINAL DC DATA
0 / END OF TWO-TERMINAL DC DATA, BEGIN VSC DC LINE DATA
0 / END OF VSC DC LINE DATA, BEGIN IMPEDANCE CORRECTION DATA
0 / END OF IMPEDANCE CORRECTION DATA, BEGIN MULTI-TERMINAL DC DATA
0 / END OF MULTI-TERMINAL DC DATA, BEGIN MULTI-SECTION LINE DATA
0 / END OF MULTI-SECTION LINE DATA, BEGIN ZONE DATA
0 / END OF ZONE DATA, BEGIN INTER-AREA TRANSFER DATA
0 / END OF INTER-AREA TRANSFER DATA, BEGIN OWNER DATA
0 / END OF OWNER DATA, BEGIN FACTS DEVICE DATA
0 / END OF FACTS DEVICE DATA, BEGIN SWITCHED SHUNT DATA
2, {mode}, 0, 1, 1.03, 0.97, 0, 100.0, '', 0.0, 3, 2.0, 2, 4.0
0 / END OF SWITCHED SHUNT DATA
Q
"""


def test_raw_and_dyr(tmp_path):
    """MODSW = 1 with delays by the option, SWSHNT with its own; areas have PDES and PTOL."""
    raw, dyr = tmp_path / "bank.raw", tmp_path / "bank.dyr"
    raw.write_text(RAW.format(mode=1))
    dyr.write_text("1 'GENCLS' 1 0.0 0.0 /\n2 'SWSHNT' 0 4 1.04 3.0 0.1 0.96 6.0 0.2 /\n")
    case = psmr.read_case(raw)
    assert [(row.name, row.schedule_mw, row.tolerance_mw) for row in case.areas] == [
        ("NORTH", 40.0, 5.0),
        ("SOUTH", None, 10.0),
    ]
    assert case.shunts[0].switching is None
    with pytest.warns(PsmrWarning, match="1 shunts are switched in a run, 10 s below and 20 s above"):
        case = psmr.read_case(raw, switched_shunts=(10.0, 20.0))
    values = case.shunts[0].switching.values
    assert [values[k] for k in ("v_low", "v_high", "t_low", "t_high")] == [0.97, 1.03, 10.0, 20.0]
    assert [values[f"{k}_{j}"] for j in (1, 2) for k in "nb"] == [3.0, 2.0, 2.0, 4.0]
    with pytest.raises(CaseError, match="must be two times > 0 in s, below and above"):
        psmr.read_case(raw, switched_shunts=(10.0,))
    given = psmr.read_case(raw, dyr)
    values = given.shunts[0].switching.values
    assert [values[k] for k in ("moves", "v_high", "t_high", "s_high")] == [4.0, 1.04, 3.0, 0.1]
    assert [values[k] for k in ("v_low", "t_low", "s_low")] == [0.96, 6.0, 0.2]
    raw.write_text(RAW.format(mode=2).replace("1.03, 0.97", "1.0, 1.0"))
    with pytest.warns(PsmrWarning, match="1 shunts are switched"):
        assert psmr.read_case(raw, switched_shunts=(10.0, 20.0)).shunts[0].switching.type == "ContinuousShunt"


@pytest.mark.parametrize(
    ("mode", "band", "words"),
    [
        (3, "0.6, 0.4", "switched2 .MODSW = 3: no unit at its bus 2 whose reactive power"),
        (4, "0.6, 0.4", "switched2 .keeps the reactive power of a VSC converter, MODSW = 4"),
        (5, "0.6, 0.4", "switched2 .MODSW = 5: no shunt at its bus 2 that goes continuously"),
        (6, "0.6, 0.4", "switched2 .keeps the shunt of a FACTS device, MODSW = 6"),
        (7, "0.6, 0.4", ":27 .switched shunt.: MODSW = 7: must be 0 to 6; the shunt stays at BINIT"),
        (-1, "0.6, 0.4", ":27 .switched shunt.: MODSW = -1: must be 0 to 6"),
        (1, "0.4, 0.6", ":27 .switched shunt.: VSWHI = 0.4 is below VSWLO = 0.6: the shunt stays"),
    ],
)
@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_why_a_shunt_of_a_file_stands_still(tmp_path, mode, band, words):
    (tmp_path / "bank.raw").write_text(RAW.format(mode=mode).replace("1.03, 0.97", band))
    with pytest.warns(PsmrWarning, match=words):
        case = psmr.read_case(tmp_path / "bank.raw", switched_shunts=(10.0, 20.0))
    assert case.shunts[0].switching is None


@pytest.mark.slow
def test_a_continuous_shunt_holds_the_edge_of_its_band():
    """v = 1/(1 + 0.5 (b_load - b)) is 1 at b = b_load, which moves find to 1e-4 pu; each after its delay."""
    system = psmr.build(bank(load=12.0, type="ContinuousShunt", v_low=1.0, v_high=1.0))
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 60.0, [psmr.ParameterStep("load2", "q", 0.05, 31.0)])
    steps = steps_in(run)
    assert steps[0][0] == pytest.approx(5.0, abs=1e-9)
    assert next(t for t, _ in steps if t > 31.0) == pytest.approx(34.0, abs=1e-4)
    ends = [run["SH-bank.position"][:t].iloc[-1] for t in (30.9, 60.0)]
    assert ends == pytest.approx([12.0, 5.0], abs=100 * 1e-4 / X)


PLANT = """1 'GENROU' 1 6.0 0.03 0.7 0.05 40.0 0.0 1.8 1.7 0.3 0.55 0.25 0.2 0.0 0.0 /
1 'SEXS' 1 0.1 10.0 50.0 0.1 -5.0 5.0 /
"""


@pytest.mark.slow
def test_banks_keep_the_reactive_power_of_a_plant(tmp_path):
    """MODSW = 3: QB + (VSWLO to VSWHI) (QT - QB) = -9.9 to 9.9 Mvar; G1 gives 12.8 Mvar."""
    (tmp_path / "bank.dyr").write_text(PLANT)
    text = RAW.format(mode=3).replace("1.03, 0.97, 0,", "0.55, 0.45, 1,")
    (tmp_path / "bank.raw").write_text(text)
    with pytest.warns(PsmrWarning, match="1 shunts are switched"):
        case = psmr.read_case(tmp_path / "bank.raw", tmp_path / "bank.dyr", switched_shunts=(10.0, 20.0))
    half = psmr.GeneratorTrip("G1", 60.0, fraction=0.5)
    run = psmr.simulate(psmr.build(case), psmr.VariableStep(1e-5), 70.0, [half])
    assert steps_in(run) == [(pytest.approx(20.0 * k, abs=1e-9), k) for k in (1, 2)]
    assert run["SH-switched2.q"].to_numpy() == pytest.approx(run["G1.q"].to_numpy(), abs=1e-9)
    assert run["G1.q"][40.01:].max() < 9.9 < run["G1.q"][:39.9].min()


def test_written_and_read_again(tmp_path):
    case = bank(b=5.0)
    psmr.write_case(case, tmp_path / "bank.toml")
    assert psmr.read_case(tmp_path / "bank.toml").shunts == case.shunts
    changed = case.edit({"SH-bank.v_low": 0.9}).shunts[0].switching.values
    assert np.isclose(changed["v_low"], 0.9)


STATIC_VAR = {
    **{
        "type": "SVSMO1",
        "b_max": 0.5,
        "b_min": -0.5,
        "b_shrt": 0.0,
        "uvsb_max": 0.5,
        "uv1": 0.1,
        "uv2": 0.05,
    },
    **{"uvt": 0.0, "ov1": 0.0, "ov2": 0.0, "ve_max": 1.0, "ve_min": -1.0, "x_c1": 0.0, "k_pv": 0.0},
    **{"k_iv": 50.0, "t_2": 0.01, "pll_delay": 0.1, "t_c1": 0.0, "t_b1": 0.0, "t_c2": 0.0, "t_b2": 0.0},
    **dict.fromkeys(("uv_tm1", "uv_tm2", "ov_tm1", "ov_tm2", "t_shrt"), 1.0),
}
BANKS = {
    **{"type": "SwitchedByStaticVar", "system_bus": 2, "over_large": 15.0, "over_small": 5.0, "t_large": 2.0},
    **{"under_large": 16.0, "under_small": 4.0, "t_small": 10.0, "t_breaker": 0.1, "t_discharge": 100.0},
}


def with_static_var(of=BANKS, system=STATIC_VAR, **values):
    """Return a static var system that holds 1 pu, of 0 Mvar, with two banks of 10 and 5 Mvar beside it."""
    case = bank(load=0.0)
    banks = [
        {"bus": 2, "name": f"C{b:g}", "switching": of | {"n_1": 1.0, "b_1": b} | values} for b in (10.0, 5.0)
    ]
    machine = {"type": "InfiniteBus", "s_n": 100.0, "x_d1": 1e-7}
    return psmr.make_case(
        "static var system",
        base_mva=100.0,
        frequency_hz=50.0,
        buses=[{"number": 1}, {"number": 2}],
        lines=[{"from": 1, "to": 2, "x": case.lines[0].x}],
        shunts=[
            *banks,
            {"bus": 2, "name": "SVS", "static_var_system": system},
            {"bus": 2, "name": "reactor", "b_mvar": -18.0, "status": 0},
        ],
        generators=[{"name": "G1", "bus": 1, "control": "slack", "v": 1.0, "machine": machine}],
    )


STATCOM = {
    **{"type": "SVSMO3", "s_n": 100.0, "x_c0": 0.0, "k_p": 0.0, "k_i": 50.0, "ve_max": 1.0, "ve_min": -1.0},
    **{"t_c1": 0.0, "t_b1": 0.0, "t_c2": 0.0, "t_b2": 0.0, "t_o": 0.01, "i_max": 0.5, "i_shrt": 1.0},
    **{"uv1": 0.3, "uv2": 0.2, "ov1": 1.3, "ov2": 1.4, "v_trip": 1.5, "t_delay1": 1.0, "t_delay2": 1.0},
}


@pytest.mark.parametrize(
    ("static_var", "given"), [(STATIC_VAR, "b"), pytest.param(STATCOM, "i", marks=pytest.mark.slow)]
)
def test_banks_take_over_from_a_static_var_system(static_var, given):
    """18 Mvar from 1 s to 30 s: beyond the large threshold one bank, beyond the small one the other."""
    system = psmr.build(with_static_var(system=static_var))
    events = [psmr.ParameterStep("reactor", "status", x, t) for x, t in ((1.0, 1.0), (0.0, 30.0))]
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 60.0, events)
    acts = [(change.t, act.device, act.value) for change in run.changes for act in change.acts]
    wanted = ((3.1, "SH-C10", 1.0), (13.2, "SH-C5", 1.0), (40.1, "SH-C10", 0.0), (50.2, "SH-C5", 0.0))
    assert acts == [(pytest.approx(t, abs=0.1), name, x) for t, name, x in wanted]
    b = [run[f"SVS.{given}"][:t].iloc[-1] for t in (2.9, 13.0, 29.9, 39.9, 50.0, 60.0)]
    assert b == pytest.approx([0.18, 0.08, 0.03, -0.15, -0.05, 0.0], abs=1e-4)


@pytest.mark.slow
def test_banks_keep_the_susceptance_of_a_static_var_system():
    """18 Mvar are beyond 15: 3 s later both banks go in, for -3 Mvar; out again in turn by -33 and -18."""
    other = {"type": "SwitchedByReactivePower", "shunt_bus": 2, "q_low": -15.0, "q_high": 15.0, **TIMES}
    system = psmr.build(with_static_var(other))
    events = [psmr.ParameterStep("reactor", "status", x, t) for x, t in ((1.0, 1.0), (0.0, 30.0))]
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 45.0, events)
    acts = [(change.t, act.device, act.value) for change in run.changes for act in change.acts]
    wanted = ((4.0, "SH-C10", 1.0), (4.0, "SH-C5", 1.0))
    assert acts[:2] == [(pytest.approx(t, abs=0.1), name, x) for t, name, x in wanted]
    assert run["SVS.b"][:29.9].iloc[-1] == pytest.approx(0.03, abs=1e-4)


def test_banks_without_a_static_var_system():
    with pytest.raises(CaseError, match="system_bus = 1: there is no static var system in service"):
        psmr.build(with_static_var(system_bus=1))
