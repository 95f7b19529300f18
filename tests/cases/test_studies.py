"""What each study that ships with psmr reports, and how long that takes."""

import re
import time
from pathlib import Path

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
    table = (Path(__file__).parents[2] / "docs" / "figures" / "shipped-studies.inc").read_text("utf-8")
    assert re.search(rf"^\| `{name}` \| \w+ \({said}\) \|", table, re.M), "make the table of the docs again"


def test_most_studies_are_green():
    heads = [psmr.case_path(name).read_text(encoding="utf-8").split("format =")[0] for name in RUNS]
    assert sum("amber" not in head and ": red." not in head for head in heads) >= 12


# The fields that take the place of others.
INSTEAD = {"h_fast": "h_fast|ratio"}


def advised(text, advice):
    """The text of a study in which a sentence "Take h_slow = 0.006 s, h_fast = 0.0006 s." is followed."""
    fields = dict(re.findall(r"(\w+) = (\"\w+\"|[\d.e-]+\d)", advice))
    assert fields, advice
    head, table, rest = re.fullmatch(r"(.*\[scheme\]\n)(.*?)(\n\[.*)", text, re.S).groups()
    if "type" in fields:
        table = ""
    for name, value in fields.items():
        table = re.sub(rf"^({INSTEAD.get(name, name)}) = .*\n?", "", table, flags=re.M)
        table += f"\n{name} = {value}"
    return f"{head}{table}\n{rest}"


@pytest.mark.slow
def test_every_advice_followed_once_is_green(tmp_path):
    """What a report says to take, typed into its study by the fields' own names."""
    followed = []
    for name in (name for name in RUNS if "amber" in psmr.case_path(name).read_text("utf-8")):
        study = psmr.read_study(psmr.case_path(name))
        reasons = run_study(study, write=False)[1].judgement.reasons
        for advice in re.findall(r"Take [^.]* = .*? Tried", " ".join(reasons)):
            text = advised(study.text, advice).replace('case = "', f'case = "{study.case.path.parent}/')
            (tmp_path / "advised.toml").write_text(text, "utf-8")
            after = run_study(psmr.read_study(tmp_path / "advised.toml"), write=False)[1].judgement
            assert after.colour == "green", (name, advice, after.reasons)
            followed.append(name)
    assert {"wscc9/fault-published", "wscc9/load-trip-published"} <= set(followed)
