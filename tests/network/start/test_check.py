"""The report on the start of a case: what it says where all is well, and each thing that can be off."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import psmr
from psmr import check, cli, read_case
from tests.internals import LineRow, LoadRow, chain
from tests.network.equilibrium.test_equilibrium import with_device

POWER = (0.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def case(wscc9):
    return read_case(wscc9 / "wscc9.toml")


@pytest.fixture(scope="module")
def good(case):
    return check(case)


def messages(report, *topics):
    return [finding.message for finding in report.about(*topics)]


def test_there_are_no_problems(case, good):
    assert good.good
    assert good.findings == ()
    text = str(good)
    assert "5 iterations to a mismatch of" in text
    assert "0.9956 pu (bus5) to 1.0400 pu (bus1)" in text
    assert "12 devices with 33 states and 6 set-points" in text
    assert "modes        0 of 33 with a positive real part" in text
    assert text.endswith("No problems found.")
    assert "AVR1  ExciterType1" not in text
    assert psmr.check is check


def regulating(tmp_path, code, mode, status=1):
    """Return Kundur's system with COD at transformer 1-5, and a switched shunt at bus 8, as a RAW file."""
    text = psmr.case_path("kundur/kundur.raw").read_text()
    head, tail = text.split("'T1          ',1\n")
    impedance, winding, rest = tail.split("\n", 2)
    assert winding == "1.0,0.0,0.0"
    tail = f"{impedance}\n{winding},0.0,0.0,0.0,{code},5,1.1,0.9,1.01,0.99,33,0\n{rest}"
    begin, end = "BEGIN SWITCHED SHUNT DATA\n", "0 / END OF SWITCHED SHUNT DATA"
    assert begin + end in tail
    shunt = f"8,{mode},0,{status},1.02,0.98,0,100.0,'',50.0,4,50.0\n"
    path = tmp_path / "regulating.raw"
    path.write_text(f"{head}'T1          ',1\n{tail}".replace(begin + end, begin + shunt + end))
    return path


def test_controls_that_stand_still_are_noted(tmp_path, capsys):
    """COD and MODSW above 0 regulate (PSS/E Program Operation Manual)."""
    path = regulating(tmp_path, 1, 2)
    assert cli.main(["check", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.endswith(
        "No problems found.\n"
        "  note: transformer1-5: its tap changer stands still during a simulation, at tap = 1 (it moves with"
        " --tap-changers, read_case(tap_changers=...))\n"
        "  note: switched8: this switched shunt stands still during a simulation, at b_mvar = 50"
        " (--switched-shunts, read_case(switched_shunts=...) switch it)\n"
    )
    case = read_case(path)
    again = tmp_path / "again.toml"
    psmr.write_case(case, again)
    notes = check(read_case(again)).findings
    assert [(f.level, f.topic, f.name) for f in notes] == [
        ("note", "control", "transformer1-5"),
        ("note", "control", "switched8"),
    ]


@pytest.mark.parametrize(("code", "mode", "status"), [(0, 0, 1), (-1, 0, 1), (0, 2, 0)])
def test_controls_that_do_not_regulate_are_not_noted(tmp_path, code, mode, status):
    assert check(read_case(regulating(tmp_path, code, mode, status))).findings == ()


def test_every_variable_is_in_the_table(case, good):
    system = psmr.build(case)
    table = good.variables
    values = dict(zip(table.device + "." + table.variable, table.value, strict=True))
    names = (*system.names_x, *system.names_y, *system.names_u)
    assert {name: values[name] for name in names} == {n: system.w0[system.index(n)] for n in names}
    assert table.residual.abs().max() <= 1e-10
    regulator = table[(table.device == "AVR2") & (table.variable == "v_r")].iloc[0]
    assert (regulator.model, regulator.kind, regulator.lower, regulator.upper) == (
        *("ExciterType1", "state", -10.0, 10.0),
    )
    limiter = table[(table.device == "GOV2") & (table.kind == "limiter")].iloc[0]
    assert (limiter.value, limiter.lower, limiter.upper) == (pytest.approx(1.63), 0.0, 1.92)
    assert set(table.kind) == {"state", "algebraic", "set-point", "limiter"}


def test_everything_as_text(good):
    text = good.text(everything=True)
    assert "bus5  0.9956  -3.989" in text
    assert "\nAVR1  ExciterType1\n" in text
    assert "v_r    state       1.10485  pu" in text
    assert "[-10, 10]" in text


def test_what_is_off_does_not_hide_the_rest(case):
    """A limit in one plant, no voltage to regulate in another: the third is looked at, and all is listed."""
    g3 = case.generators[2]
    bad = with_device(case, "governor", p_max=1.5)
    bad = replace(bad, generators=(*bad.generators[:2], replace(g3, devices=(g3.devices[0], g3.devices[3]))))
    report = check(bad)
    assert not report.good
    assert report.system is None
    assert len(report.findings) == 2
    (limit,) = messages(report, "limit")
    assert limit == (
        "GOV2: input of a limiter = 1.63 is 0.13 above p_max = 1.5; widen the limit, or change the dispatch"
    )
    (wiring,) = messages(report, "devices")
    assert "(PSS3): no device of G3 reads the output of PssSpeed" in wiring
    table = report.variables
    assert {"G1", "AVR1", "G2", "AVR2"} <= set(table.device)
    assert "G3" not in set(table.device)
    # What is known to be off already has no residual; everything else rests.
    assert table.residual.abs().max() <= 1e-10
    assert table[table.device.isin(["bus3", "G2"])].residual.isna().all()
    assert "2 errors, 0 warnings" in str(report)


def test_plant_without_an_equilibrium(case):
    """Saturation beyond the largest number: exp(b E_fd) has no value at the E_fd that G2 needs."""
    bad = with_device(case, "exciter", a_x=1.0, b_x=500.0)
    report = check(bad)
    (message,) = messages(report, "equilibrium")
    assert re.search(
        r"the power flow asks G2 for S = .* pu \(163 % of s_n = 100 MVA\) at V = 1\.0250 pu", message
    )
    assert report.variables.residual.abs().max() <= 1e-10
    assert {"AVR1", "AVR3"} <= set(report.variables.device)


def test_start_at_a_limit_is_a_warning(case):
    report = check(with_device(case, "governor", p_max=1.63))
    assert report.good
    assert messages(report, "limit") == [
        "GOV2: input of a limiter is at p_max = 1.63; the linearisation is that of the inside"
    ]
    near = check(with_device(case, "governor", p_max=1.65))
    assert near.findings == ()
    assert list(near.variables.limit[near.variables.limit != ""]) == ["near p_max"]
    assert "0 exceeded, 0 reached, 1 within 2 %" in str(near)


def test_voltages_ratings_and_reactive_power(case):
    second = replace(case.generators[1], rating_mva=150.0, q_max_mvar=5.0)
    weak = replace(
        case,
        loads=(*case.loads, LoadRow(5, 0.0, 150.0, POWER, POWER, name="compensation")),
        generators=(case.generators[0], second, case.generators[2]),
    )
    report = check(weak)
    assert report.good
    (voltage,) = messages(report, "voltage")
    assert voltage == f"bus5: v = {report.flow.v[4]:.4f} pu is below 0.9 pu"
    (rating,) = messages(report, "rating")
    assert "of rating_mva = 150; change the dispatch, or correct the rating" in rating
    (reactive,) = messages(report, "reactive power")
    assert "above q_max_mvar = 5; hold it there (--reactive-limits), change v" in reactive
    assert {finding.level for finding in report.findings} == {"warning"}


def test_reactive_limits_can_be_kept(case, capsys, wscc9, tmp_path):
    second = replace(case.generators[1], q_max_mvar=5.0)
    report = check(replace(case, generators=(case.generators[0], second, case.generators[2])), True)
    assert report.findings == ()
    assert report.flow.generators().loc["G2", "q_mvar"] == pytest.approx(5.0, abs=1e-9)
    assert "held         at a reactive limit: G2" in str(report)
    limited = (wscc9 / "wscc9.toml").read_text().replace("p_mw = 163.0", "p_mw = 163.0\nq_max_mvar = 5.0")
    (tmp_path / "case.toml").write_text(limited)
    assert call(capsys, tmp_path / "case.toml", "--reactive-limits") == (0, f"{report}\n", "")


def test_load_below_its_v_min(case):
    load = replace(case.loads[0], p_zip=POWER, v_min=1.0)
    report = check(replace(case, loads=(load, *case.loads[1:])))
    (message,) = messages(report, "power flow")
    assert re.search(r"^1 load\(s\) .* \(load5 134\.6 of 134\.6 MVA at 0\.996 pu\)", message)
    assert report.variables.residual.abs().max() <= 1e-10


def test_no_power_flow(case):
    report = check(replace(case, loads=(replace(case.loads[0], p_mw=900.0), *case.loads[1:])))
    (message,) = messages(report, "power flow")
    assert "no convergence after 30 iterations; largest mismatch" in message
    assert report.flow is None
    assert "no solution; nothing else can be looked at" in str(report)
    assert report.record()["power_flow"] is None


def test_case_without_dynamics_is_a_power_flow(case):
    bare = replace(case, generators=tuple(replace(row, devices=()) for row in case.generators))
    report = check(bare)
    assert (report.good, report.variables.empty, report.modes) == (True, True, None)
    assert "no dynamic data; those of a .raw file are in a .dyr file (--dynamics)" in str(report)


def test_generator_without_devices_beside_others(case):
    bare = replace(case.generators[2], devices=())
    report = check(replace(case, generators=(*case.generators[:2], bare)))
    (message,) = messages(report, "devices")
    assert "(G3): no machine and no converter" in message
    assert report.variables.residual.abs().max() <= 1e-10


def test_growing_modes_are_counted(case):
    """Far too much gain in one regulator."""
    report = check(with_device(case, "exciter", k_a=400.0, k_f=0.0))
    values = np.linalg.eigvals(report.system.linearise().state_matrix())
    assert report.good
    assert report.modes.unstable == np.count_nonzero(values.real > 1e-4) > 0
    assert f"{report.modes.unstable} of 33 with a positive real part" in str(report)


def test_many_findings_are_cut(case):
    """A chain of 12: a finding a copy, of which ten are shown, and no table of plants."""
    hot = with_device(case, "governor", p_max=1.5)
    report = check(chain(hot, 12, LineRow(6, 5, 0.1, 0.01), 0.1), start_at_limits="refuse")
    text = str(report)
    assert len(messages(report, "limit")) == 12
    assert text.count("above p_max = 1.5") == 10
    assert "error: limit: 2 more like these (--all shows them)" in text
    assert "Plants" not in text
    assert report.text(everything=True).count("above p_max = 1.5") == 12


def test_modes_of_a_large_system_on_request(case, monkeypatch):
    monkeypatch.setattr("psmr.study.check.DENSE", 10)
    assert "not looked at beyond 10 states (--modes does)" in str(check(case))
    report = check(case, modes=True)
    # The least damped oscillation of the nine-bus system.
    assert "0 of the" in report.modes.words
    assert "has 1.333 Hz and a damping ratio of 2.34 %" in report.modes.words
    assert check(case, modes=False).modes is None


def call(capsys, *argv):
    code = cli.main(["check", *map(str, argv)])
    out, err = capsys.readouterr()
    return code, out, err


def test_command(wscc9, capsys, tmp_path, case):
    code, out, err = call(capsys, wscc9 / "wscc9.toml", "-o", tmp_path / "start.csv")
    assert (code, err) == (0, "")
    assert out.endswith(f"No problems found.\nWritten {tmp_path / 'start.csv'}\n")
    table = pd.read_csv(tmp_path / "start.csv")
    assert len(table) == len(check(case).variables)
    code, out, _ = call(capsys, wscc9 / "wscc9.toml", "--all")
    assert (code, "PSS3  PssSpeed" in out) == (0, True)


def test_the_page_shows_what_the_command_prints(wscc9, capsys, monkeypatch):
    """Save the digits of what is rounding."""

    def rounded(text):
        return re.sub(r" *-?\d\.\d+e[-+]\d+.*", "", text)

    page = rounded((wscc9.parents[1] / "docs" / "starting.md").read_text())
    monkeypatch.chdir(wscc9.parents[1])
    _, out, _ = call(capsys, "cases/wscc9/wscc9.toml")
    assert rounded(f"$ psmr check cases/wscc9/wscc9.toml\n{out}```") in page
    _, out, _ = call(capsys, "cases/wscc9/wscc9.toml", "--all")
    device = out[out.index("AVR2  ") : out.index("PSS2  ")].rstrip()
    assert rounded(f"```text\n{device}\n```") in page


def test_a_study_stands_for_its_case(wscc9, capsys):
    expected = call(capsys, wscc9 / "wscc9.toml")
    assert call(capsys, wscc9 / "fault.toml") == expected
    code, _, err = call(capsys, wscc9 / "fault.toml", "--reactive-limits")
    assert (code, "it has a field reactive_limits" in err) == (2, True)


def test_command_says_by_its_code_what_it_found(wscc9, capsys, tmp_path):
    text = (wscc9 / "wscc9.toml").read_text()
    bad = tmp_path / "bad.toml"
    bad.write_text(text.replace("p_max = 1.92", "p_max = 1.5"))
    code, out, err = call(capsys, bad, "--json", "--start-at-limits", "refuse")
    record = json.loads(out)
    assert (code, err, record["good"]) == (1, "", False)
    assert record["findings"][0]["topic"] == "limit"
    assert record["modes"] is None
    assert len(record["power_flow"]["buses"]) == 9
    bad.write_text(text.replace("p_max = 1.92", "p_max = 'x'"))
    code, out, err = call(capsys, bad)
    assert (code, out) == (2, "")
    assert "bad.toml:" in err


def test_warnings_of_the_reading_are_counted(wscc9, tmp_path, capsys):
    # A letter of a name, in the encoding of Windows.
    raw = (wscc9 / "wscc9.raw").read_bytes()
    line = raw.splitlines()[3]
    (tmp_path / "case.raw").write_bytes(raw.replace(line, line.replace(b"BUS", b"B\xe9S", 1), 1))
    cli.main(["check", str(tmp_path / "case.raw")])
    shown = capsys.readouterr()
    count = shown.err.count("psmr: warning: ")
    assert count >= 1
    assert "read as cp1252" in shown.err
    words = "1 warning" if count == 1 else f"{count} warnings"
    assert f"{words} of the reading" in shown.out
