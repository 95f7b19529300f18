"""What each study that ships with psmr reports, and how long that takes."""

import time

import pytest

import psmr
from tests.internals import run_study, shipped_files

STUDIES = [row["name"] for row in shipped_files() if row["kind"] == "study"]
RUNS = [name for name in STUDIES if name != "wscc9/deformation"]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "nordic" in name else name for name in RUNS]
)
def test_a_study_is_green_or_says_in_its_first_lines_why_not(name, capsys):
    """A table of colours and seconds; the amber ones are there to teach something, which they name."""
    head = psmr.case_path(name).read_text(encoding="utf-8").split("format =")[0]
    study = psmr.read_study(psmr.case_path(name))
    began = time.process_time()
    run = run_study(study, write=False)[1]
    with capsys.disabled():
        print(f"\n{name:28} {run.judgement.colour:6} {time.process_time() - began:5.1f} s")
    said = "amber" if "amber" in head else "red" if ": red." in head else "green"
    assert run.judgement.colour == said, run.judgement.reasons


def test_most_studies_are_green():
    heads = [psmr.case_path(name).read_text(encoding="utf-8").split("format =")[0] for name in RUNS]
    assert sum("amber" not in head and ": red." not in head for head in heads) >= 12
