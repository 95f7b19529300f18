"""The scripts of the gallery run as a user runs them, by themselves and from another folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "docs" / "gallery").glob("*.py"))

# What the pages say in figures; those of the first benchmark are tested against other equations in
# tests/devices/machines/test_first_benchmark.py, deformations in tests/partitioning/test_by_deformation.py.
PRINTED = {
    "09_five_converters": (
        "G34: -33.4+23.8j 1/s, phasors 5.8 % predicted, 5.3 % measured, region 0.5 %",
        "25 of 108 elements",
    ),
    "10_weak_grid": (
        "phasor: -250.2 1/s at 93 Hz with a ratio of 2\n",
        "line with its dynamics: 27.7 1/s at 61 Hz with a ratio of 2, unstable up to 2.4",
    ),
    "11_subsynchronous_resonance": (
        "mode 1: grows fastest at 95 % (x_c = 0.475 pu)",
        "mode 2: grows fastest at 76 % (x_c = 0.380 pu)",
        "mode 3: grows fastest at 57 % (x_c = 0.285 pu)",
        "mode 4: grows fastest at 37 % (x_c = 0.185 pu)",
        "largest torque LPA-LPB: 4.89 pu",
    ),
    "12_energisation": ("with its charge: 1.47 to 3.22 pu", "discharged: 1.87 to 1.99 pu"),
}


def test_there_are_scripts_and_they_import_what_is_public():
    assert len(SCRIPTS) >= 7
    for script in SCRIPTS:
        found = re.findall(r"^(?:from|import) (psmr[\w.]*)", script.read_text(encoding="utf-8"), flags=re.M)
        assert set(found) <= {"psmr", "psmr.pencil"}, script.name


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_by_itself(script, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore::UserWarning", script], cwd=tmp_path, env=environment, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())
    assert [words for words in PRINTED.get(script.stem, ()) if words not in done.stdout] == []
