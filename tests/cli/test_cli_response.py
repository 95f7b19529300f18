"""``psmr response`` and ``psmr scan``."""

import json

import numpy as np
import pandas as pd
import pytest

import psmr
from tests.cli.command import call

STUDY = """\
format = "psmr-study"
version = 1
case = "wscc9"
[scheme]
type = "single"
method = "TM"
h = 0.05
[simulation]
t_end = 1.0
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml"


def test_response_of_a_study_beside_its_simulation(study, capsys, tmp_path):
    files = "--figure", tmp_path / "bode.svg", "--table", tmp_path / "gains.csv"
    pair = "--input", "AVR2.v_ref", "--output", "bus5.v"
    code, out, _ = call(capsys, "response", study, *pair, *files)
    assert code == 0
    assert "AVR2.v_ref to bus5.v: largest gain 0.5788 pu/pu at 0.201 Hz." in out
    assert "The simulation has it within 1 % up to 1.04 Hz. At 4.97 Hz its gain is 51 % smaller" in out
    table = pd.read_csv(tmp_path / "gains.csv")
    assert table["magnitude_simulated"].notna().sum() == (table["frequency_hz"] <= 10.0).sum()
    # Of lines between the steps TM is the system at tan(w h / 2) / (pi h), Tustin's rule.
    own = psmr.build(psmr.case("wscc9")).state_space("AVR2.v_ref", "bus5.v")
    row = table.iloc[200]
    warped = np.tan(np.pi * row["frequency_hz"] * 0.05) / (np.pi * 0.05)
    assert abs(own.response(warped).values[0, 0, 0]) == pytest.approx(row["magnitude_simulated"], rel=1e-9)
    assert "<svg" in (tmp_path / "bode.svg").read_text()


def test_response_of_a_case_as_json(capsys):
    options = (
        "--input",
        "bus5.p",
        "--output",
        "G1.omega",
        "--from",
        "1",
        "--to",
        "2",
        "--count",
        "3",
        "--json",
    )
    code, out, _ = call(capsys, "response", "wscc9", *options)
    assert code == 0
    found = json.loads(out)
    assert found["scheme"] is None
    assert [gain["frequency_hz"] for gain in found["gains"]] == pytest.approx([1.0, 2**0.5, 2.0])


def test_scan_of_a_study(study, capsys, tmp_path):
    code, out, _ = call(
        capsys,
        "scan",
        study,
        "--bus",
        "2",
        "--modified-sequence",
        "--table",
        tmp_path / "scan.csv",
        "--to",
        "100",
    )
    assert code == 0
    assert "Grid and plant together are stable by the generalised Nyquist criterion" in out
    assert "bus2.i_d to bus2.v_d: largest gain" in out
    assert "z_grid_pn_re" in pd.read_csv(tmp_path / "scan.csv").columns


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("response", "wscc9", "--input", "AVR1.vref", "--output", "bus5.v"), "did you mean 'AVR1.v_ref'"),
        (
            ("response", "wscc9", "--input", "AVR1.v_ref", "--output", "bus5.v", "--from", "0"),
            "--from 0 --to 100",
        ),
        (("response", "wscc9", "--input", "AVR1.v_ref", "--output", "bus5.v", "--count", "1"), "--count 1"),
        (
            ("response", "wscc9", "--input", "AVR1.v_ref", "--output", "bus5.v", "--figure", "x.txt"),
            "--figure",
        ),
        (("scan", "wscc9", "--bus", "55"), "there is no bus '55'"),
    ],
)
def test_what_is_wrong_is_said(options, words, capsys):
    code, _, err = call(capsys, *options)
    assert code == 2
    assert words in err


def test_frequencies_that_a_step_cannot_show_are_said(capsys, wscc9):
    # The study's steps are 50 ms: nothing above 1/(2h) = 10 Hz.
    names = ("--input", "AVR2.v_ref", "--output", "G2.omega")
    code, out, _ = call(
        capsys, "response", wscc9 / "fault-published.toml", *names, "--from", "20", "--to", "50"
    )
    assert code == 0
    words = "Only the system is shown: with steps of 0.05 s a simulation has no gain above 10 Hz."
    assert words in out
    assert words in call(capsys, "scan", wscc9 / "fault-published.toml", "--bus", "3", "--from", "20")[1]
