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
        "its response by the Schur complement; `held`, `schur` |",
        '### `[[event]]`, `type = "fault"`',
        '| `method` | one of "FEM", "TM", "BEM"',
        "| `x` | a finite number |",
    ):
        assert words in page
