"""Sweeps of a second on WSCC-9."""

from pathlib import Path

import pytest

import psmr

CASE = Path(__file__).parents[2] / "cases" / "wscc9" / "wscc9.toml"


FILE = """
format = "psmr-sweep"
version = 1
case = "CASE"
[scheme]
type = "variable"
[simulation]
t_end = 1.0
[[axis]]
type = "bus-faults"
start = 0.1
buses = ["bus5", "bus7"]
"""


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """A study of a second on WSCC-9 without events."""
    file = tmp_path_factory.mktemp("base") / "base.toml"
    file.write_text(
        f"""
format = "psmr-study"
version = 1
name = "WSCC-9"
case = "{CASE}"
[scheme]
type = "variable"
[simulation]
t_end = 1.0
"""
    )
    return psmr.read_study(file)


@pytest.fixture
def faults():
    return psmr.BranchOutages(0.1, clearing=(0.05, 0.1), branches=("line5-7", "line4-5"))


def same_rows(a, b):
    """Whether two tables are equal but for the time that the runs took."""
    a, b = (table.drop(columns="seconds", errors="ignore") for table in (a, b))
    return a.equals(b)


def swept(study, axes, folder, **options):
    """Return a sweep in one process without figures."""
    return psmr.sweep(study, axes, folder=folder, **{"workers": 1, "report": False, **options})
