"""One system and one run that many tests of this folder look at."""

import pytest

import partitioning
import psmr
from tests.files.raw import raw_text
from tests.files.test_psse_dyr import GOOD as DYR


@pytest.fixture(scope="session")
def system(wscc9):
    return psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))


@pytest.fixture(scope="session")
def split(system):
    return partitioning.by_participation(system.linearise(), delta=20.0)


@pytest.fixture(scope="session")
def scheme(split):
    return psmr.Multirate.from_steps(split, 0.05, 0.005)


@pytest.fixture(scope="session")
def fault_run(system, scheme):
    return psmr.simulate(system, scheme, 2.0, [psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")])


@pytest.fixture
def study_text(wscc9):
    """The text of a small study that runs; a test changes a line of it."""
    return f"""\
format = "psmr-study"
version = 1
name = "small"
case = "{wscc9 / "wscc9.toml"}"

[scheme]
type = "multirate"
delta = 20.0
h_slow = 0.05
h_fast = 0.005

[simulation]
t_end = 0.5

[[event]]
type = "load-trip"
bus = 5
start = 0.1
fraction = 0.5

[output]
folder = "out"
signals = ["*.omega"]
"""


@pytest.fixture
def psse(tmp_path):
    """A RAW and a DYR file."""
    (tmp_path / "grid.raw").write_text(raw_text())
    (tmp_path / "grid.dyr").write_text(DYR)
    return tmp_path / "grid.raw", tmp_path / "grid.dyr"
