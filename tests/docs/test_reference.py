"""The reference of options and fields, which is written from what records declare."""

import re
import sys
from pathlib import Path

import pytest


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs" / "_ext")
    import reference

    yield reference.text()
    sys.modules.pop("reference")


def test_every_command_event_and_scheme_has_its_table(page):
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 3 for row in rows)
    for words in (
        "| `--h-slow S` | macro step in s |",
        "its response by the Schur complement; one of `held`, `schur` |",
        "| `--net-unmodelled, --no-net-unmodelled` |",
        "It takes what is said under *Reading a case* as well, but for `--reactive-limits`",
        '### `[[event]]`, `type = "fault"`\n\nA short circuit at a bus or along a line',
        '; one of `"FEM"`, `"TM"`, `"BEM"`',
        "| `x` | Fault resistance and reactance in pu on the system base; a finite number; default `0.0001`",
        "| `start` | Times in s at which the fault begins and ends; a finite number",
    ):
        assert words in page
    # What is typed is code: two hyphens of running text become a dash.
    assert not re.search(r"--[a-z]", re.sub(r"`[^`]*`", "", page))
