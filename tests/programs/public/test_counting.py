"""The counting script on a small folder whose counts are known."""

import csv
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from psmr import read_case
from tests.files.raw import raw_text
from tests.internals import power_flow
from tests.programs.public.__main__ import alike, main
from tests.programs.public.files import cases, pairs
from tests.programs.public.stored import distance, holds, is_solution, voltages, with_stored_set_points

PSSE = Path(__file__).parents[2] / "files" / "psse" / "data" / "GENROU"


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
    monkeypatch.setattr(
        sys, "argv", ["tests.programs.public", str(folder), "--csv", str(table), "--until", "start"]
    )
    assert main() == 0
    said = capsys.readouterr().out
    assert "| RAW | 2 | 1 | 1 | 1 | 1 | 1 | 1 | 0 | 0 | 0 |" in said
    assert "| RAW + DYR | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 1 | 0 | 0 |" in said
    assert "1 RAW: (bus): I = 'x': must be a whole number" in said
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["read"] == "yes" for row in rows) == [False, True, True]


def test_a_table_that_is_there_is_gone_on_with(folder, capsys, monkeypatch):
    """What has a row is not examined again, and counts as before."""
    table = folder / "files.csv"
    words = ["tests.programs.public", str(folder), "--csv", str(table), "--until", "read"]
    monkeypatch.setattr(sys, "argv", [*words, "--match", "broken"])
    assert main() == 0
    monkeypatch.setattr(sys, "argv", words)
    (folder / "broken.raw").write_text(raw_text())
    assert main() == 0
    assert "| RAW | 2 | 1 |" in capsys.readouterr().out


def test_stored_voltages_are_a_solution_or_not():
    """The file stores the solution that PSS/E found; a bus moved by 0.02 pu is none."""
    path = PSSE / "ThreeBusMulti.raw"
    case, stored = read_case(path), dict(voltages(path))
    assert is_solution(case, stored)
    number = case.buses[1].number
    assert not is_solution(case, stored | {number: stored[number] * 0.98})


def test_a_file_whose_set_points_are_others_stores_another_solution():
    """Held at the stored voltages it is met; the set-points of the file are 0.02 pu away."""
    case, stored = read_case(PSSE / "ThreeBusMulti.raw"), dict(voltages(PSSE / "ThreeBusMulti.raw"))
    assert holds(case, stored, 1e-3)
    moved = with_units(case, lambda row: replace(row, v=row.v + 0.02))
    assert is_solution(moved, stored)
    assert not holds(moved, stored, 1e-3)
    flow = power_flow(with_stored_set_points(moved, stored))
    assert distance(moved, flow.voltage, stored) < 1e-4
    assert holds(with_units(moved, lambda row: replace(row, q_max_mvar=row.q_mvar)), stored, 1e-3)
    assert not holds(with_units(moved, lambda row: replace(row, q_min_mvar=row.q_mvar)), stored, 1e-3)


def with_units(case, change):
    """Return a case with its generators beside the slack changed."""
    rows = (row if row.control == "slack" else change(row) for row in case.generators)
    return replace(case, generators=tuple(rows))


def test_alike_messages_are_counted_together():
    one = "2 mistakes:\n  /a/b.raw:7 (bus): VM = '0.0': must be > 0\n  more"
    assert (
        alike(one) == alike("/c/d.raw:12 (bus): VM = '-1.5': must be > 0") == "(bus): VM = 'N': must be > N"
    )
