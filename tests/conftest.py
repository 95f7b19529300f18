"""What every test shares: one thread, no windows, and the repository's root at the end of the path."""

import os
import sys
from pathlib import Path

import pytest

import partitioning
import psmr

ROOT = Path(__file__).resolve().parents[1]

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

# At the end, so that `from tests.systems import ...` works and an installed psmr is still the one that is
# tested.
sys.path.append(str(ROOT))


@pytest.fixture(autouse=True)
def no_open_figures():
    """Close what a test left open where pyplot is loaded, which keeps every figure."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def wscc9() -> Path:
    """The folder of the WSCC 9-bus cases."""
    return ROOT / "cases" / "wscc9"


# What takes the limits of dense computations by their names is imported before a test changes them.
READ_BEFORE = psmr.simulate, psmr.read_study


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
    from tests.files.raw import raw_text
    from tests.files.test_psse_dyr import GOOD

    (tmp_path / "grid.raw").write_text(raw_text())
    (tmp_path / "grid.dyr").write_text(GOOD)
    return tmp_path / "grid.raw", tmp_path / "grid.dyr"
