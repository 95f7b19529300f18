"""Limiters at exciters, in a plant at a stiff network: where they bring it, and what is refused."""

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, InitialisationError, PsmrWarning
from tests.files.raw import raw_text

CASE = """
format = "psmr-case"
version = 1
name = "one machine at a stiff network"
base_mva = 100.0
frequency_hz = 50.0
[[bus]]
number = 1
base_kv = 20.0
[[bus]]
number = 2
base_kv = 400.0
[[line]]
from = 1
to = 2
r = 0.0
x = 0.03
b = 0.0
[[generator]]
name = "grid"
bus = 2
v = 1.0
control = "slack"
machine = {{ type = "InfiniteBus", s_n = 10000.0, x_d1 = 0.01 }}
[[generator]]
name = "G1"
bus = 1
p_mw = 310.0
v = 1.02
control = "pv"
rating_mva = 350.0
[generator.machine]
{machine}
[generator.exciter]
{exciter}
"""
MACHINE = {
    **{"type": "GENSAL", "s_n": 350.0, "h": 3.0, "x_d": 1.1, "x_q": 0.7, "x_d1": 0.25, "x_2": 0.2},
    **{"x_l": 0.15, "t_d01": 5.0, "t_d02": 0.05, "t_q02": 0.1, "s_10": 0.1, "s_12": 0.3},
}
STATIC = {
    **{"type": "ESST1A", "t_r": 0.02, "v_i_max": 9.0, "v_i_min": -9.0, "t_c": 1.0, "t_b": 10.0, "t_c1": 0.0},
    **{"t_b1": 0.0, "k_a": 200.0, "t_a": 0.0, "v_a_max": 9.0, "v_a_min": -9.0, "v_r_max": 5.0},
    **{"v_r_min": -4.0, "k_c": 0.04, "k_f": 0.0, "t_f": 1.0, "k_lr": 0.0, "i_lr": 9.0},
}
MAXEX2 = {
    **{"type": "MAXEX2", "rated": 1.8, "des_1": 1.05, "time_1": 60.0, "des_2": 1.2, "time_2": 30.0},
    **{"des_3": 1.5, "time_3": 10.0, "desired": 1.02, "k_mx": 0.02, "v_low": -0.3},
}
OEL2C = {
    **{"type": "OEL2C", "t_c1": 0.1, "t_b1": 0.1, "t_c2": 0.1, "t_b2": 0.1, "k_p": 0.3, "k_i": 0.0},
    **{"k_d": 0.0, "t_d": 0.1, "v_oel_max3": 100.0, "v_oel_min3": -100.0, "v_oel_max2": 100.0},
    **{"v_oel_min2": -100.0, "v_oel_max1": 10.0, "v_oel_min1": -10.0, "i_reset": 100.0, "t_en": 0.2},
    **{"t_off": 5.0, "ith_off": 0.05, "t_r": 0.01, "itf_pu": 1.9, "i_inst": 3.0, "i_lim": 1.9, "t_a": 0.04},
    **{"c_1": 0.0, "k_1": 0.0, "c_2": 2.0, "k_2": 0.5, "v_inv_max": 100.0, "v_inv_min": 0.0},
    **{"fixed_ru": -0.001, "fixed_rd": 0.0, "t_fcl": 1.0, "t_max": 1.0, "t_min": 0.0, "k_fb": 0.0},
    **{"k_rd": -1000.0, "k_ru": 1000.0, "k_zru": 0.99},
}
UEL2 = {
    **{"type": "UEL2", "k_1": 0.0, "k_2": 2.0, "t_uv": 0.1, "t_up": 0.1, "t_uq": 0.1, "k_ui": 0.1},
    **{"k_ul": 0.0, "v_ui_max": 0.5, "v_ui_min": 0.0, "t_u1": 0.0, "t_u2": 0.0, "t_u3": 0.0, "t_u4": 0.0},
    **{"v_ul_max": 0.5, "v_ul_min": 0.0, "p_1": 0.0, "q_1": -0.3, "p_2": 1.0, "q_2": -0.1},
}
SCL2C = {
    **{"type": "SCL2C", "i_reset": 100.0, "t_en_oel": 0.01, "t_en_uel": 0.0, "t_off": 5.0, "ith_off": 0.05},
    **{"t_it": 0.01, "itf_pu": 1.0, "i_inst": 5.0, "i_inst_uel": 1.0, "i_lim": 1.0, "t_a": 0.04, "c_1": 0.0},
    **{"k_1": 0.0, "c_2": 2.0, "k_2": 2.0, "v_inv_max": 100.0, "v_inv_min": 0.0, "fixed_ru": -0.001},
    **{"fixed_rd": 0.0, "t_scl": 1.0, "t_max": 1.0, "t_min": 0.0, "k_fb": 0.0, "k_rd": -1000.0},
    **{"k_ru": 1000.0, "k_zru": 0.99, "t_vt": 0.01, "v_t_min": 0.9, "v_t_reset": 0.8, "i_q_min_oel": 0.02},
    "i_q_max_uel": -0.02,
}
for _side, _low, _high in (("oel", -0.1, 0.0), ("uel", 0.0, 0.1)):
    SCL2C |= {f"{name}_{_side}": 0.1 for name in ("t_c1", "t_b1", "t_c2", "t_b2", "t_d")}
    SCL2C |= {f"k_p_{_side}": 0.3, f"k_i_{_side}": 1.0, f"k_d_{_side}": 0.0}
    SCL2C |= {f"t_ip_{_side}": 0.01, f"t_iq_{_side}": 0.01}
    SCL2C |= {f"v_{_side}_{end}{k}": x for end, x in (("min", _low), ("max", _high)) for k in (1, 2, 3)}
OEL, UEL = "over_excitation_limiter", "under_excitation_limiter"


def rows(values):
    return "\n".join(f"{name} = {value!r}".replace("'", '"') for name, value in values.items())


def plant(tmp_path, exciter=None, machine=None, **limiters):
    text = CASE.format(machine=rows(MACHINE | (machine or {})), exciter=rows(STATIC | (exciter or {})))
    for role, values in limiters.items():
        text += f"[generator.{role}]\n{rows(values)}\n"
    (tmp_path / "case.toml").write_text(text)
    return psmr.read_case(tmp_path / "case.toml")


def moved(system, reference, t_end, back=None):
    at_rest = float(system.w0[system.index("AVR1.v_ref")])
    events = [psmr.SetPoint("AVR1", "v_ref", at_rest + reference, 1.0)]
    events += [] if back is None else [psmr.SetPoint("AVR1", "v_ref", at_rest, back)]
    scheme = psmr.SingleRate("TM", h=0.02)
    run = psmr.simulate(system, scheme, t_end, events, certify=False)
    return run, [(x.t, x.label.removeprefix("AVR1: ")) for x in run.changes if x.label.startswith("AVR1: ")]


def test_over_excitation_at_the_error_and_at_the_gate(tmp_path):
    """Added to the error an integral brings the field current to the limit itself; at the gate the
    proportional regulator with the gain of the exciter brings it to k_a k_p i_lim/(1 + k_a k_p)."""
    system = psmr.build(plant(tmp_path, {"oel": 1}, over_excitation_limiter=MAXEX2))
    run, changes = moved(system, 0.03, 150.0, back=100.0)
    assert [label for _, label in changes] == [
        "field current of G1 limited",
        "field current of G1 free again",
    ]
    assert float(run["G1.i_f"].loc[:99.9].iloc[-1]) == pytest.approx(1.02 * 1.8, abs=2e-4)
    system = psmr.build(plant(tmp_path, {"oel": 2}, over_excitation_limiter=OEL2C))
    run, changes = moved(system, 0.03, 30.0)
    assert [label for _, label in changes] == ["field current of G1 limited"]
    assert float(run["G1.i_f"].iloc[-1]) == pytest.approx(60.0 * 1.9 / 61.0, rel=1e-6)
    left = run["OEL1.time_left"].loc[2.0 : changes[0][0] - 0.05]
    assert float(left.iloc[-1]) < 0.2 < float(left.iloc[0])


def test_under_excitation_is_brought_to_the_polygon(tmp_path):
    system = psmr.build(plant(tmp_path, {"uel": 1}, under_excitation_limiter=UEL2))
    run, changes = moved(system, -0.06, 60.0)
    assert [label for _, label in changes] == ["under-excitation of G1 limited"]
    p, q = (float(run[f"G1.{kind}"].iloc[-1]) / 350 for kind in "pq")
    v = float(run["bus1.v"].iloc[-1])
    assert q == pytest.approx((-0.3 + 0.2 * p) * v**2, abs=1e-5)


@pytest.mark.slow
def test_stator_current_is_brought_to_its_limit_from_both_sides(tmp_path):
    """With the data of Dynawo's library for the error, but for the limit, k_2, and the gains where Q < 0."""
    own = SCL2C | {"k_p_uel": 0.0, "k_i_uel": 0.05}
    system = psmr.build(plant(tmp_path, {"k_a": 50.0, "t_b": 1.0}, stator_current_limiter=own))
    for reference in (0.06, -0.09):
        run, changes = moved(system, reference, 25.0)
        assert [label for _, label in changes] == ["stator current of G1 limited"]
        assert run["G1.q"].iloc[-1] * reference > 0
        current = np.hypot(run["G1.i_d"], run["G1.i_q"])
        # The integral where Q < 0 has a time constant of 4.5 s here.
        assert current.iloc[-1] == pytest.approx(1.0, abs=1e-5 if reference > 0 else 5e-4)
        if reference > 0:  # The excess of i^2 - 1 lasts until it is 0.5 s: a count of 1 by k_2 = 2.
            until = np.array([t for t in run.t if t < run["SCL1.timer"].ge(1).idxmax()])
            excess = np.interp(until, run.t, np.maximum(current**2 - 1, 0))
            assert np.trapezoid(excess, until) == pytest.approx(0.5, abs=0.01)
            assert current.max() > 1.04


def test_a_limit_below_the_operating_point_is_said_with_the_current_there(tmp_path):
    case = plant(tmp_path, over_excitation_limiter=MAXEX2 | {"des_1": 0.9, "desired": 0.9})
    said = r"OEL1.i_f = 1.72\d* is 0.107 above its pick-up = 1.62"
    with pytest.warns(PsmrWarning, match=said + r".* begins with the run; widen the limits or change the"):
        system = psmr.build(case)
    # It counts from the start on, where no step of a chosen size is behind it yet.
    run = psmr.simulate(system, psmr.VariableStep(1e-4), 10.0, certify=False)
    fixed = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), 10.0, certify=False)
    assert [c.t for c in run.changes if c.t] == pytest.approx([c.t for c in fixed.changes if c.t], abs=0.01)
    with pytest.raises(InitialisationError, match=said + r". Widen the limits, change the dispatch"):
        psmr.build(case, start_at_limits="refuse")


OEL1B = {
    **{"type": "OEL1B", "itf_pu": 1.1, "ifd_max": 1.6, "ifd_lim": 1.05, "hyst": 0.03, "k_cd": 1.0},
    **{"k_ramp": 10.0, "ifd_rated": 1.8},
}
SEXS = {"type": "SEXS", "t_a": 1.0, "t_b": 10.0, "k": 100.0, "t_e": 0.1, "e_min": 0.0, "e_max": 5.0}


def test_what_cannot_act_is_refused(tmp_path):
    at_error = (
        r"toml:\d+ \[generator.over_excitation_limiter\] \(OEL1\): OEL1B: acts at a gate, and ESST1A adds"
    )
    with pytest.raises(CaseError, match=at_error):
        psmr.build(plant(tmp_path, {"oel": 1}, over_excitation_limiter=OEL1B))
    with pytest.raises(CaseError, match="OEL2C' is no under_excitation_limiter; did you mean 'UEL2C'"):
        plant(tmp_path, under_excitation_limiter=OEL2C)
    text = (tmp_path / "case.toml").read_text()
    machine = 'type = "TwoAxisMachine"\ns_n = 350.0\nh = 3.0\nx_d = 1.1\nx_q = 0.7\nx_d1 = 0.25\nx_q1 = 0.3'
    text = text.replace(rows(MACHINE), machine + "\nd = 0.0\nt_d01 = 5.0\nt_q01 = 0.5")
    text = text.replace("under_ex", "over_ex")
    (tmp_path / "case.toml").write_text(text)
    with pytest.raises(CaseError, match="i_f"):
        psmr.build(psmr.read_case(tmp_path / "case.toml"))


MACHINES = """1 GENROU 1 8 .03 .4 .05 6.5 0 1.8 1.7 .3 .55 .25 .06 0 0 /
2 GENCLS G1 4 0 /
2 GENCLS G2 4 0 /
"""
RECORDS = {
    "OEL2C": ".015 .08 .02 .10 .35 .8 .01 .08 0 -1 0 -1 0 -1 0 .12 .4 .04 .7 .02 1.02 .9 1.45 1.10 .05 1.8 "
    ".2 2 .05 .5 -.5 1 -1 .2 1 0 0 -2 2 .1 1",
    "UEL2C": ".02 .03 .025 .4 .8 .5 -.2 0 0 .08 .02 .07 .015 .06 -.2 .0125 .2 .0125 .6 .0125 1 .0125 "
    + "0 " * 14
    + ".6 -.3 .95 .9 .1 .04 .55 -.25 .5 -.2 .6",
}
COUNTS = {"OEL2C": ("1 1", "10 0 2 41 8 8"), "UEL2C": ("2 2 1 2", "9 0 4 47 9 2")}


def rows_of(case):
    return [(row.role, row.type, row.values) for row in case.generators[0].devices]


@pytest.mark.parametrize("model", RECORDS)
def test_records_under_both_names(model, tmp_path):
    """Payloads of InterPSS' tests, as models of PSS/E's library and as user-written ones."""
    exciter = "1 ESST1A 1 1 1 .02 9 -9 1 10 0 0 200 0 9 -9 5 -4 .04 0 1 0 9 /\n"
    (tmp_path / "case.raw").write_text(raw_text())
    codes, counts = COUNTS[model]
    found = []
    for head in (f"'{model}' 1", f"'USRMDL' 1 '{model}U1' {counts}"):
        (tmp_path / "case.dyr").write_text(f"{MACHINES}{exciter}1 {head} {codes} {RECORDS[model]} /\n")
        case = psmr.read_case(tmp_path / "case.raw", tmp_path / "case.dyr")
        with pytest.warns(PsmrWarning, match="RAW and DYR files cannot keep"):
            psmr.write_case(case, tmp_path / "again.raw")
        again = psmr.read_case(tmp_path / "again.raw", tmp_path / "again.dyr")
        assert rows_of(again) == rows_of(case)
        found.append(next(row.values for row in case.generators[0].devices if row.type == model))
    assert found[0] == found[1]
    known = {"itf_pu": 0.9, "k_zru": 0.1} if model == "OEL2C" else {"p_2": 0.2, "x_q": 0.6, "v_bias": 0.95}
    assert {name: found[0][name] for name in known} == known


def test_two_limiters_of_one_role_in_a_file(tmp_path):
    points = "2 1.05 60 1.2 30 1.5 10 1.02 .02 -.3 /\n"
    (tmp_path / "case.raw").write_text(raw_text())
    (tmp_path / "case.dyr").write_text(
        f"{MACHINES}1 SEXS 1 .1 10 100 .1 0 5 /\n1 MAXEX2 1 0 {points}1 MAXEX1 1 {points}"
    )
    with pytest.warns(
        PsmrWarning, match="MAXEX2: the MAXEX1 of line 6 is the over_excitation_limiter of this"
    ):
        psmr.read_case(tmp_path / "case.raw", tmp_path / "case.dyr")
