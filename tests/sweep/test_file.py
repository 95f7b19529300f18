"""Sweep files: what they say, and the places of what is wrong in them."""

import re

import numpy as np
import pytest

import psmr
from psmr import cli
from psmr.errors import StudyError
from tests.internals import PointRunner
from tests.sweep.conftest import CASE, FILE


def test_a_file_is_read(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(FILE.replace("CASE", str(CASE)))
    sweep = psmr.read_sweep(path)
    assert sweep.axes == (psmr.BusFaults(0.1, buses=("bus5", "bus7")),)
    assert sweep.measure == psmr.Outcomes()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'type = "bus-faults"',
            'type = "bus-fault"',
            r"sweep.toml:\d+ \[\[axis\]\].*did you mean 'bus-faults'",
        ),
        ("start = 0.1", 'start = "soon"', r"start = 'soon': must be a finite number"),
        ("start = 0.1", "start = -1.0", r"sweep.toml:\d+ \[\[axis\]\]: bus-faults: start = -1.0"),
        ("[[axis]]", '[measure]\ntype = "dampin"\n[[axis]]', "did you mean 'damping'"),
        ("t_end = 1.0", "t_end = -1.0", "t_end = -1"),
        ("[simulation]\nt_end = 1.0", "", "needs runs; add \\[simulation\\]"),
        ('case = "CASE"', 'study = "none.toml"', "there is no such file beside the sweep"),
        ("[[axis]]", "[axes]", r"did you mean 'axis'"),
    ],
)
def test_what_is_wrong_in_a_file_names_its_place(tmp_path, old, new, words):
    path = tmp_path / "sweep.toml"
    text = FILE.replace(old, new).replace("CASE", str(CASE))
    if "study" in new:
        text = text.replace('[scheme]\ntype = "variable"\n[simulation]\nt_end = 1.0\n', "")
    path.write_text(text)
    with pytest.raises(StudyError, match=words):
        psmr.read_sweep(path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"bus7"', '"bus77"', r"no bus 'bus77'; did you mean 'bus7'"),
        ("start = 0.1", "start = 1.0", r"start = 1: the run ends at t_end = 1 s; begin before that"),
        ("start = 0.1", "start = 0.95", r"clearing = 0.1: .* is not cleared before the run ends"),
        ("start = 0.1", "start = 0.1\ntogether = 'a'\n[[axis]]\ntype = 'generator-trips'\nstart = 0.1\n"
         "together = 'a'\n[[axis]]\ntype = 'bus-faults'\nstart = 0.1", "have 9, 3 points"),
        ("[[axis]]", "[[axis]]\ntype = 'bus-faults'\nstart = 0.1\nbuses = ['bus5']\n# second\n[[axis]]",
         "two axes vary bus; leave one of them out"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_axis_on_its_case_names_its_place(tmp_path, old, new, words):
    path = tmp_path / "sweep.toml"
    path.write_text(
        FILE.replace('buses = ["bus5", "bus7"]', "" if "together" in new else 'buses = ["bus7"]')
        .replace(old, new)
        .replace("CASE", str(CASE))
    )
    line = 14 if "second" in new else 9
    with pytest.raises(StudyError, match=rf"^{re.escape(str(path))}:{line} \[\[axis\]\]: .*{words}"):
        psmr.sweep(path, folder=tmp_path / "s", workers=1, report=False)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ('[output]\nworst = 2\nsignals = ["G1.omegaa"]\n', r":15 \[output\]: .*did you mean 'G1\.omega'"),
        ("[output]\nworst = -2\n", r":14 \[output\]: worst = -2: must be >= 0"),
        ('[measure]\ntype = "damping"\n', r":13 \[measure\]: .*; leave the events out"),
        (
            '[[axis]]\ntype = "case"\ncases = ["wscc9.toml", "wscc99.toml"]\n',
            r":13 \[\[axis\]\]: case: 'wscc99\.toml': there is no such file in .*; did you mean 'wscc9",
        ),
    ],
)
def test_what_is_wrong_beside_an_axis_names_its_place(tmp_path, end, words):
    path = tmp_path / "sweep.toml"
    path.write_text(FILE.replace("CASE", str(CASE)) + end)
    with pytest.raises(StudyError, match=rf"^{re.escape(str(path))}{words}"):
        psmr.sweep(path, folder=tmp_path / "s", workers=1, report=False)


def test_signals_of_a_call_are_not_those_of_the_file(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(FILE.replace("CASE", str(CASE)) + '[output]\nsignals = ["*.v"]\n')
    with pytest.raises(StudyError, match=r"^(?!.*sweep\.toml).*did you mean"):
        psmr.sweep(path, folder=tmp_path / "s", workers=1, report=False, signals="G1.omegaa")


@pytest.mark.parametrize(("values", "code"), [("[-1.0]", 1), ("[-1.0, 20.0]", 0)])
def test_the_exit_code_says_that_every_point_failed(tmp_path, capsys, values, code):
    path = tmp_path / "sweep.toml"
    axis = f'type = "parameter"\ndevice = "G1"\nname = "h"\nvalues = {values}\n'
    path.write_text(FILE[: FILE.index('type = "bus-faults"')].replace("CASE", str(CASE)) + axis)
    assert cli.main(["sweep", str(path), "-o", str(tmp_path / "s"), "--workers", "1"]) == code
    assert "Failed:\n  1: " in capsys.readouterr().out


def test_every_sweep_beside_the_cases_is_read():
    files = [p for p in CASE.parents[1].rglob("*.toml") if "psmr-sweep" in p.read_text()]
    assert len(files) >= 4
    for file in files:
        runner = PointRunner(psmr.read_sweep(file), [case.read() for case in psmr.read_sweep(file).cases])
        assert len(runner.plan) > 0
        assert np.array_equal(sorted(runner.plan.labels()), sorted(set(runner.plan.labels())))
