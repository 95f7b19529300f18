"""A study whose events concern single phases has the zero sequence of its region."""

import pytest

import psmr
from psmr.cli import main
from psmr.errors import PsmrWarning
from tests.internals import load_system

STUDY = """
format = "psmr-study"
version = 1
case = "wscc9"
loads = "impedance"

[dynamic]
buses = {buses}

[simulation]
t_end = 0.05

[[event]]
{event}
"""
GROUND = 'type = "fault"\nbus = 5\nstart = 0.01\nclear = 0.03\nr = 0.05\nx = 0.0\nphases = "ag"'
OPEN = 'type = "open-phases"\nline = "4-5"\nstart = 0.01\nclose = 0.04'
ZEROS = 'type = "line-trip"\nline = "4-5"\nstart = 0.01\nat_zero = true'
BALANCED = 'type = "fault"\nbus = 5\nstart = 0.01\nclear = 0.03\nr = 0.05\nx = 0.0'
WHEN = OPEN.replace("start = 0.01", 'when = "line5-7.i_from > 5"').replace("close = 0.04", "close = 0.01")


@pytest.fixture
def study(tmp_path):
    def write(event, buses='"all"'):
        path = tmp_path / "study.toml"
        path.write_text(STUDY.format(buses=buses, event=event))
        return path

    return write


@pytest.mark.parametrize("event", [GROUND, OPEN, ZEROS, WHEN])
def test_events_of_single_phases_bring_the_zero_sequence(study, event):
    read = psmr.read_study(study(event))
    with pytest.warns(PsmrWarning, match=r"(bus5|line 4-5).*its zero sequence is simulated"):
        system = load_system(read.case, read.events)
    assert "bus5_zero.v" in system.names_x


@pytest.mark.parametrize(
    ("event", "buses"),
    [(BALANCED, '"all"'), (GROUND, "9"), (OPEN, "9"), (GROUND.replace("ag", "bc"), '"all"')],
)
def test_others_do_not(study, event, buses):
    read = psmr.read_study(study(event, buses))
    assert "bus5_zero.v" not in load_system(read.case, read.events).names_x


@pytest.mark.slow
def test_the_report_says_so_and_check_agrees(study, tmp_path, capsys):
    path = study(GROUND)
    assert main(["run", str(path), "-o", str(tmp_path / "out"), "--signals", "bus5.v_a", "bus5.v_0"]) == 0
    assert "its zero sequence is simulated" in capsys.readouterr().err
    text = (tmp_path / "out" / "report.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "9 of 9 buses, with their zero sequence" in text
    assert main(["check", str(path)]) == 0
