"""Compiled functions as parts of others: called from Python and from compiled code, kept once."""

import os
import subprocess
import sys

import numpy as np

from tests.internals import lean


@lean
def double(x):
    """Return 2 x."""
    return 2 * x


@lean
def total(values):
    """Return the sum of the doubled values, and twice the number of values."""
    found = 0.0
    for value in values:
        found += double(value)
    return found, double(values.size)


def test_a_function_serves_python_and_compiled_code_with_each_signature():
    assert total(np.array([1.0, 2.5])) == (7.0, 4)
    assert double(3) == 6
    assert double(0.25) == 0.5
    assert [signature[0].name for signature in double.signatures] == ["int64", "float64"]


def test_only_what_python_enters_is_kept(tmp_path):
    program = "import numpy as np; from tests.dae.compile.test_part import total; print(total(np.ones(3)))"
    for _ in range(2):  # compiled, then loaded
        made = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PSMR_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert made.stdout == "(6.0, 6)\n"
        kept = [file.name for file in tmp_path.rglob("*") if file.is_file() and file.parent.name != "sources"]
        assert len(kept) == 1
        assert "total" in kept[0]
    assert made.stderr == ""
