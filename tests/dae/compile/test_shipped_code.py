"""Code that comes with a wheel: who takes it, who compiles all the same, and that it is only read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dae.compile.test_cache import PROGRAM, entries, outcome, start
from tests.internals import shipped_code_module as shipped_code

TARGET = shipped_code.portable_target()

pytestmark = pytest.mark.skipif(TARGET is None, reason="no code is shipped for this kind of processors")

COMPILING = "psmr: compiling the evaluation of residual and Jacobian"


WITHOUT_AVX2 = """
all_features = shipped_code.llvm.get_host_cpu_features

def features():
    found = all_features()
    found["avx2"] = False
    return found

shipped_code.llvm.get_host_cpu_features = features
"""


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Return a folder as a wheel has it, with what the program needs for every processor of this kind."""
    place = tmp_path_factory.mktemp("shipped") / "compiled"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM % 3.0],
        env=os.environ | TARGET.environment | {"PSMR_CACHE_DIR": str(place)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return place


def with_shipped(place, more=""):
    """Return what makes the program use a folder of shipped code."""
    return f"""
from pathlib import Path
import psmr.dae.compile.shipped_code as shipped_code
shipped_code.PLACE = Path({str(place)!r})
{more}
"""


def test_an_installation_with_code_compiles_and_writes_nothing(shipped, tmp_path):
    """Two processes at once, neither of which may write a cache nor the folder that they read."""
    before = {file: file.stat().st_mtime_ns for file in entries(shipped)}
    (tmp_path / "a file").write_text("")
    running = [start(tmp_path / name, before=with_shipped(shipped)) for name in ("cache", "a file/cache")]
    first, second = map(outcome, running)
    assert first == (-6.0, tmp_path / "cache", [])
    assert entries(tmp_path / "cache") == []
    # Where to keep something is asked for by the program alone, at its end.
    assert second[0] == -6.0
    assert [line for line in second[2] if "cannot keep compiled code" not in line] == []
    assert {file: file.stat().st_mtime_ns for file in entries(shipped)} == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has neither owners by number nor modes")
def test_the_rights_of_the_packages_own_folder_are_those_of_the_package(shipped, tmp_path):
    for file in [*shipped.rglob("*"), shipped]:
        file.chmod(0o777 if file.is_dir() else 0o666)
    assert outcome(start(tmp_path / "cache", before=with_shipped(shipped)))[2] == []


@pytest.mark.parametrize(
    "more",
    [
        WITHOUT_AVX2,
        "import numba; numba.__version__ = '0.0'",
        "shipped_code.TARGETS.clear()",
        "import os; os.environ['NUMBA_CPU_NAME'] = 'generic'",
    ],
    ids=["older processor", "other numba", "unknown machine", "another one asked for"],
)
def test_what_does_not_fit_is_compiled(more, shipped, tmp_path):
    value, _, lines = outcome(start(tmp_path / "cache", before=with_shipped(shipped, more)))
    assert value == -6.0
    assert any(line.startswith(COMPILING) for line in lines), lines


def test_what_is_damaged_is_compiled_and_said(shipped, tmp_path):
    copied = tmp_path / "compiled"
    for file in entries(shipped):
        place = copied / file.relative_to(shipped)
        place.parent.mkdir(parents=True, exist_ok=True)
        data = file.read_bytes()
        place.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if "residual" in file.name else data)
    value, root, lines = outcome(start(tmp_path / "cache", before=with_shipped(copied)))
    assert value == -6.0
    assert any("kernels.residual-" in line and "it is damaged" in line for line in lines)
    assert any(line.startswith(COMPILING) for line in lines)
    assert [file.name.partition("-")[0] for file in entries(root)] == ["psmr.dae.compile.kernels.residual"]


def test_code_for_all_processors_of_a_kind_is_named_by_that(shipped):
    """The processor of the machine that builds a wheel is in no name."""
    code = "import psmr.dae.compile.shipped_code as shipped_code; print(shipped_code.processor()[1:])"
    environment = os.environ | TARGET.environment
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == f"{(TARGET.name, TARGET.features)}\n", done.stderr
    assert Path(shipped_code.__file__).parents[2] / "compiled" == shipped_code.PLACE
