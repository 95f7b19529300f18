"""What the README and the page of first steps promise, done."""

import os
import re
from pathlib import Path

import pytest

import psmr
from psmr.cli import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "page", ["README.md", "docs/getting-started.md", "docs/extending.md", "docs/events.md"]
)
def test_the_code_runs_as_it_stands(page, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    names = {"__name__": page}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.S):
        exec(compile(code, page, "exec"), names)
    if "run" in names and page != "docs/events.md":
        printed = capsys.readouterr().out
        block = re.search(r"```\n(WSCC 9-bus: Check.*?)```", (ROOT / "README.md").read_text(), flags=re.S)[1]
        for line in block.splitlines():
            assert line.strip() == "..." or line in printed, line


def test_the_readme_begins_with_the_two_commands():
    first, _, second = re.findall(r"```\n(.*?)\n```", (ROOT / "README.md").read_text(), flags=re.S)[:3]
    assert first.split("\n") == ["pip install .", "psmr run cases/wscc9/fault-ibr.toml"]
    assert second.split("\n") == ['pip install ".[test]"', "pytest"]


def test_the_readme_shows_what_its_first_command_prints(tmp_path, capsys):
    assert main(["run", str(ROOT / "cases/wscc9/fault-ibr.toml"), "-o", str(tmp_path), "--no-report"]) == 0
    printed = capsys.readouterr().out
    block = re.findall(r"```\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)[1]
    for line in block.splitlines():
        assert line.strip() == "..." or line in printed, line


@pytest.mark.parametrize("page", ["README.md", "docs/contributing.md"])
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), target


def test_the_ci_script_runs_what_the_readme_says():
    script = ROOT / ".ci" / "run"
    text = script.read_text()
    assert os.access(script, os.X_OK)
    for line in (
        "pip install -q .\n",
        "psmr run cases/wscc9/fault-ibr.toml",
        'pip install -q ".[test]"',
        "ruff check",
        "mypy",
    ):
        assert line in text


def test_the_newest_version_in_the_changelog_is_read_in_two_minutes():
    """At some 250 words a minute; what is longer is for docs/history.md."""
    versions = (ROOT / "docs" / "changelog.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert [version.partition(" (")[0].strip() for version in versions[:2]] == [
        "Unreleased",
        psmr.__version__,
    ]
    assert len(re.findall(r"\w[\w.()=`'-]*", versions[0] + versions[1])) < 550
