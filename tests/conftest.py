"""What every test shares: one thread, no windows, and the repository's root at the end of the path."""

import os
import sys
from pathlib import Path

import pytest

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
