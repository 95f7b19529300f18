"""The scripts of the gallery run as a user runs them, by themselves and from another folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "docs" / "gallery").glob("*.py"))


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
