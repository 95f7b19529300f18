"""The counting script on a small folder whose counts are known."""

import csv
import shutil
import sys
from pathlib import Path

import pytest

from psmr import read_case
from tests.files.raw import raw_text
from tests.public.__main__ import alike, main
from tests.public.files import cases, pairs
from tests.public.stored import is_solution, voltages

PSSE = Path(__file__).parents[1] / "files" / "psse" / "data" / "GENROU"


@pytest.fixture
def folder(tmp_path):
    for name in ("ThreeBusMulti.raw", "ThreeBus_GENROU.dyr"):
        shutil.copy(PSSE / name, tmp_path)
    (tmp_path / "copy.raw").write_text((PSSE / "ThreeBusMulti.raw").read_text())
    (tmp_path / "broken.raw").write_text(raw_text(bus="x"))
    (tmp_path / "script.m").write_text("function r = run(mpc)\nbus = [mpc.bus]; gen = [mpc.gen];\n")
    return tmp_path


def test_each_text_counts_once_and_scripts_are_no_cases(folder):
    assert [item.path.name for item in cases(folder)] == ["ThreeBusMulti.raw", "broken.raw"]


def test_a_dyr_file_goes_with_the_raw_file_that_has_its_buses_and_most_of_its_name(folder):
    (found,) = pairs(folder)
    assert (found.path.name, found.dynamics.name) == ("ThreeBusMulti.raw", "ThreeBus_GENROU.dyr")


def test_the_table_counts_what_was_reached(folder, capsys, monkeypatch):
    table = folder / "files.csv"
    monkeypatch.setattr(sys, "argv", ["tests.public", str(folder), "--csv", str(table), "--until", "start"])
    assert main() == 0
    said = capsys.readouterr().out
    assert "| RAW | 2 | 1 | 1 | 1 | 1 | 0 | 0 | 0 |" in said
    assert "| RAW + DYR | 1 | 1 | 1 | 0 | 0 | 1 | 0 | 0 |" in said
    assert "1 RAW: (bus): I = 'x': must be a whole number" in said
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["read"] == "yes" for row in rows] == [True, False, True]


def test_stored_voltages_are_a_solution_or_not():
    """The file stores the solution that PSS/E found; a bus moved by 0.02 pu is none."""
    path = PSSE / "ThreeBusMulti.raw"
    case, stored = read_case(path), dict(voltages(path))
    assert is_solution(case, stored)
    number = case.buses[1].number
    assert not is_solution(case, stored | {number: stored[number] * 0.98})


def test_alike_messages_are_counted_together():
    one = "2 mistakes:\n  /a/b.raw:7 (bus): VM = '0.0': must be > 0\n  more"
    assert (
        alike(one) == alike("/c/d.raw:12 (bus): VM = '-1.5': must be > 0") == "(bus): VM = 'N': must be > N"
    )
