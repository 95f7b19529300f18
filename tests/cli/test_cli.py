import json
import re
import subprocess
import sys

import pandas as pd
import pytest

from psmr import cli
from tests.cli.command import call
from tests.internals import Progress, json_value
from tests.internals import console_module as console

NAMES = ("run", "cases", "sweep", "check", "plot", "compare", "modes", "partition", "deformation", "response")
NAMES += ("scan", "tune", "view", "explain", "convert", "new", "reproduce", "warmup")


@pytest.fixture
def study(tmp_path, study_text, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "study.toml"
    path.write_text(study_text)
    return path


def test_run_writes_and_says_what_it_did(study, fault_run, capsys):
    code, out, err = call(capsys, "run", study)
    assert code == 0
    assert err == ""
    assert "50 % of the load at bus5 trips" in out
    assert "Numerical accuracy check: pre-disturbance system" in out
    assert "deformed by 1.44 %" in out
    assert "compared with a single-rate run at 5 ms" in out
    assert out.rstrip().endswith("out/run.csv\n  out/report.html")
    assert out.startswith("WSCC 9-bus: Check. Synchronism maintained to t = 0.5 s.\n")
    assert "Estimated error of the" in out  # a macro step of 50 ms
    assert list(pd.read_csv("out/run.csv").columns) == ["t", "G1.omega", "G2.omega", "G3.omega"]


def test_run_as_json_with_other_outputs(study, capsys, tmp_path):
    code, out, err = call(capsys, "run", study, "--json", "-o", tmp_path / "here", "--figure", "--html")
    record = json.loads(out)
    assert (code, err) == (0, "")
    assert record["certificate"]["stable"] is True
    assert record["certificate"]["mode"] == pytest.approx([-0.19561, 8.37292], abs=1e-4)
    assert record["stats"]["counters"]["macro_steps"] == 10
    assert record["events"] == [{"t": 0.1, "label": "50 % of the load at bus5 trips"}]
    assert sorted(p.name for p in (tmp_path / "here").glob("[!.]*")) == ["report.html", "run.csv", "run.svg"]
    assert not (tmp_path / "out").exists()


def test_run_without_an_output_table_leaves_a_report_under_the_name_of_the_study(study, capsys, tmp_path):
    text = study.read_text()
    study.write_text(text[: text.index("[output]")])
    code, _, err = call(capsys, "run", study)
    assert (code, err) == (0, "")
    place = tmp_path / "results" / "study"
    assert sorted(p.name for p in place.glob("[!.]*")) == ["report.html", "run.csv"]
    assert "How to reproduce" in (place / "report.html").read_text()
    code, _, _ = call(capsys, "run", study, "--no-report", "--signals", "G*.p", "-o", tmp_path / "power")
    assert list(pd.read_csv(tmp_path / "power" / "run.csv").columns) == ["t", "G1.p", "G2.p", "G3.p"]
    assert not (tmp_path / "power" / "report.html").exists()


def test_plot_of_a_run_and_of_two(study, capsys, tmp_path):
    assert call(capsys, "run", study, "--save", "--no-report")[0] == 0
    code, out, err = call(capsys, "plot", "out/run.psmr", "--signals", "G*.p", "bus5.v", "-o", "p.svg")
    assert (code, err) == (0, "")
    assert "active power [MW]" in (tmp_path / "p.svg").read_text()
    study.write_text(study.read_text().replace("h_fast = 0.005", "h_fast = 0.01"))
    code, out, err = call(capsys, "plot", "out/run.psmr", study, "--signals", "*.omega", "--json")
    assert (code, err) == (0, "")
    record = json.loads(out)
    assert record["file"] == "plot.svg"
    assert 0 < abs(record["differences"][0]["largest"]) < 1e-3
    assert (tmp_path / "plot.svg").read_text().count("difference") >= 1
    for arguments, words in (
        (("out/run.csv",), "is not a run saved by run.save"),
        (("out/run.psmr", "-o", "x.doc"), "must end in .svg, .png, .pdf, .eps"),
        (("out/run.psmr", "--signals", "*.omga"), "there is no signal '*.omga'"),
    ):
        code, _, err = call(capsys, "plot", *arguments)
        assert (code, words in err) == (2, True)


def test_modes(wscc9, capsys, tmp_path):
    code, out, _ = call(capsys, "modes", wscc9 / "wscc9.toml", "-o", tmp_path / "modes.csv")
    assert code == 0
    assert "33 states" in out
    assert "8.3729" in out
    table = pd.read_csv(tmp_path / "modes.csv")
    assert {"real", "imag", "frequency_hz", "damping_ratio", "dominant_state"} <= set(table.columns)
    code, out, _ = call(capsys, "modes", wscc9 / "wscc9.toml", "--json")
    assert len(json.loads(out)) == len(table)


def test_partition(wscc9, capsys, tmp_path):
    case = wscc9 / "wscc9.toml"
    code, out, _ = call(capsys, "partition", case, "--delta", 20, "--figure", tmp_path / "net.svg")
    assert code == 0
    assert "3 of 33 states" in out
    assert "AVR1.v_m" in out
    assert (tmp_path / "net.svg").read_text().count("<svg") == 1
    code, out, _ = call(capsys, "partition", case, "--suggest", "--json")
    assert code == 0
    assert any(20 < row["delta"] < 1000 for row in json.loads(out))


def test_deformation_of_a_study_and_of_a_case(wscc9, capsys, tmp_path):
    page = tmp_path / "report.html"
    code, out, _ = call(capsys, "deformation", wscc9 / "deformation.toml", "-o", page)
    assert code == 0
    assert "* least damped oscillation" in out
    assert "<html" in page.read_text()
    options = ("--delta", 20, "--h-slow", 0.05, "--h-fast", 0.005)
    code, out, _ = call(capsys, "deformation", wscc9 / "wscc9.toml", *options, "--json")
    record = json.loads(out)
    assert code == 0
    assert record["dominant"]["relative_deformation"] == pytest.approx(0.0144, abs=1e-4)
    assert {"real", "status"} <= set(record["modes"][0])
    code, out, _ = call(capsys, "deformation", wscc9 / "wscc9.toml", "--method", "TM", "--h", 0.01)
    assert (code, "single rate TM" in out) == (0, True)


def test_a_study_names_the_dynamic_data(psse, capsys, study_text):
    raw, dyr = psse
    study = raw.with_name("raw-study.toml")
    head = 'case = "grid.raw"\ndynamics = "grid.dyr"\nskip_unknown_models = true\n'
    scheme = '[scheme]\ntype = "single"\nmethod = "TM"\nh = 0.01\n'
    study.write_text(f'format = "psmr-study"\nversion = 1\n{head}{scheme}')
    given = call(capsys, "deformation", raw, "--dynamics", dyr, "--method", "TM", "--h", 0.01)
    assert call(capsys, "deformation", study)[:2] == given[:2]
    assert given[0] == 0
    study.write_text(study.read_text().replace("grid.dyr", "grit.dyr"))
    code, _, err = call(capsys, "deformation", study)
    assert code == 2
    assert (
        ":4: dynamics = 'grit.dyr': there is no such file beside the study; did you mean 'grid.dyr'?" in err
    )


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("run", "{case}"), 'must be "psmr-study" for a study file; this is a case file'),
        (("run", "no.toml"), "no.toml: cannot be read"),
        (("run", "{wscc9}/deformation.toml"), "there is nothing to run; add [simulation] with t_end"),
        (("run", "{study}", "-o", "{study}/x"), "cannot write to"),
        (("modes", "no.toml"), "no.toml: cannot be read"),
        (("modes", "case.xyz"), "knows no format '.xyz'"),
        (("partition", "{case}", "--suggest", "--figure", "a.svg"), "--figure draws one partition"),
        (("partition", "{case}", "--delta", "-1"), "delta"),
        (("deformation", "{case}"), "--delta, --h-slow, --h-fast missing; for instance"),
        # What is wrong with the options is said before the case is read.
        (("deformation", "{wscc9}/none.raw"), "--delta, --h-slow, --h-fast missing; for instance"),
        (("deformation", "{case}", "--method", "TM"), "needs --method and --h"),
        (
            ("deformation", "{case}", "--method", "TM", "--h", "0.1", "--delta", "3"),
            "--delta belongs to a multirate scheme",
        ),
        (
            ("deformation", "{case}", "--method", "TM", "--h", "-1"),
            "h = -1.0: must be a finite number > 0 in s",
        ),
        (("deformation", "{wscc9}/fault.toml", "--h-slow", "0.1"), "is a study, its scheme is in [scheme]"),
        (
            ("deformation", "{wscc9}/fault.toml", "--dynamics", "a.dyr"),
            "is a study, it has a field dynamics; give the option with a case file",
        ),
        (("modes", "{case}", "--dynamics", "a.dyr"), "dynamic data belong to a .raw or .m file"),
        (("modes", "{case}", "--sequence", "a.seq"), "a SEQ file belongs to a .raw file"),
        (
            ("check", "{wscc9}/fault.toml", "--sequence", "a.seq"),
            "is a study, it has a field sequence; give the option with a case file",
        ),
        (("check", "{case}", "-o", "a.xlsx"), "-o: a.xlsx: must end in .csv, which is what is written there"),
        (("check", "{case}", "-o", "a"), "-o: a: must end in .csv"),
        (("modes", "{case}", "-o", "m.html"), "-o: m.html: must end in .csv"),
        (("partition", "{case}", "--delta", "20", "-o", "q.png"), "-o: q.png: must end in .csv"),
        (("partition", "{case}", "--delta", "20", "--figure", "q.raw"), "--figure: q.raw: must end in .svg"),
        (("run", "{study}", "-o", "/dev/full"), "/dev/full is a pipe or device and no folder; name a folder"),
        (("tune", "{case}", "--up-to", "2", "-o", "{study}"), "study.toml is a file and no folder"),
        (
            ("deformation", "{wscc9}/fault.toml", "-o", "report.pdf"),
            "-o: report.pdf: must end in .html, .htm or .csv",
        ),
    ],
)
def test_wrong_input_is_one_line_and_code_2(study, wscc9, capsys, argv, message):
    places = {"case": wscc9 / "wscc9.toml", "wscc9": wscc9, "study": study}
    code, out, err = call(capsys, *(a.format(**places) for a in argv))
    assert (code, out) == (2, "")
    assert err.startswith("psmr: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_wrong_signal_is_found_before_the_run_and_nothing_is_written(study, capsys, tmp_path):
    study.write_text(study.read_text().replace("*.omega", "*.omga"))
    code, _, err = call(capsys, "run", study)
    assert (code, "there is no signal '*.omga'" in err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_run_that_fails_has_code_1_and_writes_nothing(study, capsys, tmp_path, monkeypatch):
    from psmr.errors import SimulationError

    def fail(*_, **__):
        raise SimulationError("t = 0.1 s: no convergence")

    monkeypatch.setattr("psmr.study.run.simulate.integrate", fail)
    code, out, err = call(capsys, "run", study)
    assert (code, out, err) == (1, "", "psmr: error: t = 0.1 s: no convergence\n")
    assert not (tmp_path / "out").exists()


def test_an_unstable_scheme_is_a_warning_on_standard_error(study, capsys):
    text = study.read_text().replace('type = "multirate"\ndelta = 20.0\nh_slow = 0.05\nh_fast = 0.005', "{}")
    single = text.format('type = "single"\nmethod = "FEM"\nh = 0.0025')
    study.write_text(single.replace("t_end = 0.5", "t_end = 0.2").replace("start = 0.1", "start = 0.005"))
    code, _, err = call(capsys, "run", study)
    assert err.startswith("psmr: warning: accuracy check before the run: Unstable")
    assert code in (0, 1)


@pytest.mark.parametrize("command", ["run", "plot", "modes", "partition", "deformation", "warmup"])
def test_every_command_has_help_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([command, "--help"])
    assert end.value.code == 0
    assert f"example: psmr {command}" in capsys.readouterr().out


def test_usage_errors_have_code_2(capsys):
    for argv in ([], ["fly"], ["partition", "case.toml"]):
        with pytest.raises(SystemExit) as end:
            cli.main(argv)
        assert end.value.code == 2
    assert "usage: psmr" in capsys.readouterr().err


def test_progress_follows_only_where_somebody_watches(monkeypatch, capsys):
    with Progress(1.0) as progress:
        progress(0.5)
        assert progress.bar is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(1.0) as progress:
        progress(0.5)
        assert progress.bar.n == 0.5


def test_interrupt_and_broken_pipe(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("psmr.cli.linear.case_file", interrupted)
    assert cli.main(["modes", "x.toml"]) == 130
    said = "interrupted; no partial files were left behind"
    assert capsys.readouterr().err == f"psmr: error: {said}\n"


def test_json_has_no_nan():
    record = json_value({"a": float("nan"), "b": [1 + 2j, float("inf")], "c": True})
    assert record == {"a": None, "b": [[1.0, 2.0], None], "c": True}


def test_the_command_is_installed_and_light():
    # Help needs neither numba nor pandas: it must come at once.
    heavy = "('numba', 'pandas', 'sympy', 'matplotlib', 'scipy')"
    code = f"""
import sys
from psmr.cli.entry import COMMANDS
from psmr.cli.options import settings
for command in COMMANDS:
    assert all(setting.option is not None for setting in settings(command))
print(*[m for m in {heavy} if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_options_with_help_and_an_example(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main([name, "--help"])
    out = capsys.readouterr().out
    assert f"example: psmr {name}" in out


def test_a_run_without_a_report_loads_only_what_it_needs(study, tmp_path):
    heavy = "'pandas', 'networkx', 'scipy.optimize', 'matplotlib', 'jinja2'"
    argv = ["run", str(study), "-o", str(tmp_path / "out"), "--no-report"]
    code = (
        "import sys; from psmr.cli.entry import main; "
        f"assert main({argv!r}) == 0; print(*[m for m in ({heavy}) if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == ""


def test_a_reader_that_goes_away_is_no_traceback(wscc9):
    line = f"{sys.executable} -m psmr.cli modes {wscc9 / 'wscc9.toml'} --json | head -n 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("check", "{case}", "-o", ""),
        ("modes", "{case}", "--output="),
        ("partition", "{case}", "--delta", "20", "--figure", ""),
        ("deformation", "{wscc9}/fault.toml", "-o", ""),
        ("plot", "a.psmr", "-o", ""),
        ("run", "{study}", "-o", ""),
        ("sweep", "{study}", "-o", ""),
        ("tune", "{case}", "--up-to", "2", "-o", ""),
        ("reproduce", "shi-rojas", "-o", ""),
        ("modes", "{case}", "--dynamics", ""),
    ],
)
def test_an_empty_path_is_not_left_out(study, wscc9, capsys, words):
    places = {"case": wscc9 / "wscc9.toml", "wscc9": wscc9, "study": study}
    with pytest.raises(SystemExit) as end:
        call(capsys, *(word.format(**places) for word in words))
    assert end.value.code == 2
    assert "the path is empty; name a file or folder, or leave the option out" in capsys.readouterr().err


def test_what_is_written_is_said(wscc9, capsys, tmp_path):
    case, table, figure = wscc9 / "wscc9.toml", tmp_path / "t.csv", tmp_path / "f.svg"
    for words in (
        ("check", case),
        ("modes", case),
        ("deformation", case, "--method", "TM", "--h", 0.01),
    ):
        assert call(capsys, *words, "-o", table)[1].endswith(f"\nWritten {table}\n")
    words = ("partition", case, "--delta", 20)
    assert call(capsys, *words, "-o", table, "--figure", figure)[1].endswith(
        f"\nWritten {figure} and {table}\n"
    )


def test_a_network_without_dynamics_says_how_it_gets_some(wscc9, capsys, tmp_path, study_text):
    """As published cases of MATPOWER are: read, but not run before dynamics are added."""
    study = tmp_path / "study.toml"
    study.write_text(re.sub(r'case = ".*"', f'case = "{wscc9 / "wscc9.m"}"', study_text))
    code, _, err = call(capsys, "run", study, "-o", tmp_path)
    assert code == 2
    assert re.search(r"wscc9\.m:\d+ \(mpc\.gen\) .*no machine and no converter; .*--add-dynamics", err)


def test_a_study_that_asks_for_no_file_says_so(study, capsys):
    study.write_text(study.read_text().replace("[output]", "[output]\ncsv = false\nhtml = false"))
    code, out, _ = call(capsys, "run", study)
    assert code == 0
    assert "Nothing is written: [output] of" in out


def test_a_large_table_is_said_with_what_makes_it_smaller(study, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(console, "LARGE", 5_000)
    assert cli.main(["run", str(study), "-o", str(tmp_path), "--signals", "*"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"run\.csv \([\d.]+ KiB\)\n", out)
    assert "\nrun.csv: large; --signals NAME ... writes fewer signals, --every K every K-th" in out
    few = ["--signals", "G1.omega", "--every", "10", "--no-report"]
    assert cli.main(["run", str(study), "-o", str(tmp_path), *few]) == 0
    assert "KiB" not in capsys.readouterr().out


def test_what_is_done_beside_the_run_takes_the_place_of_the_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(1.0) as progress:
        progress(0.5)
        progress.stage("writing run.csv")
        assert progress.bar is None
        assert progress.words.desc == "writing run.csv"
        progress(0.7)
        assert progress.words is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("start = 0.1", "start = 0.6", "is not before the end of the run"),
        ("bus = 5", "bus = 7", "bus7 has no load"),
        ("start = 0.1", 'when = "bus55.v < 0.7"', "bus55.v"),
    ],
)
def test_check_refuses_the_events_that_a_run_refuses(study, study_text, capsys, old, new, message):
    assert call(capsys, "check", study)[0] == 0
    study.write_text(study_text.replace(old, new))
    for command in ("check", "run"):
        code, _, err = call(capsys, command, study)
        assert code == 2
        assert f"{study}:15" in err
        assert message in err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('[output]\nsignals = ["*.omaga"]\n', "[output]: there is no signal '*.omaga'"),
        ("[dynamic]\nbuses = [3, 99]\n", "[dynamic]: Region: there is no bus 99"),
    ],
)
def test_check_refuses_the_outputs_and_run_the_region_with_their_line(
    study, study_text, capsys, more, message
):
    text = study_text.partition("[output]")[0]
    study.write_text(f"{text}\n{more}")
    line = study.read_text().splitlines().index(more.partition("\n")[0]) + 1
    at = line + ("signals" in more)
    code, _, err = call(capsys, "run", study, "-o", study.parent / "out")
    assert code == 2
    assert f"{study}:{at} {message}" in err
    code, out, err = call(capsys, "check", study)
    assert code
    assert message.partition(": ")[2] in out + err
