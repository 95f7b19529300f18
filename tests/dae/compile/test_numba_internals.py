"""Private names of numba: in one file, and there in the version that is installed."""

import ast
import re
import tomllib
from pathlib import Path

import llvmlite
import numba

import psmr
from tests.conftest import ROOT
from tests.internals import numba_internals_module as numba_internals

PACKAGE = Path(psmr.__file__).parent
PRIVATE = ("numba.core", "numba.np", "numba.experimental", "numba._")


def test_this_version_of_numba_has_what_psmr_uses():
    """A version that fails here is one that psmr does not run with: the list says which names it lacks."""
    missing = numba_internals.missing()
    assert not missing, f"numba {numba.__version__} lacks {', '.join(missing)}"


def test_only_versions_that_are_tested_are_installed():
    """The next numba may lack a name: pyproject.toml has an upper bound, which the error repeats."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    bounds = {
        found[1]: found[2]
        for needed in tomllib.loads(text)["project"]["dependencies"]
        if (found := re.fullmatch(r"(numba|llvmlite)>=[0-9.]+,<([0-9.]+)", needed))
    }
    assert bounds.keys() == {"numba", "llvmlite"}
    for module in (numba, llvmlite):
        version = tuple(map(int, re.findall(r"[0-9]+", module.__version__)[:2]))
        assert version < tuple(map(int, bounds[module.__name__].split(".")))
    source = Path(numba_internals.__file__).read_text(encoding="utf-8")
    assert f'"numba>=0.62,<{bounds["numba"]}"' in source


def test_a_name_that_is_gone_is_said(monkeypatch):
    monkeypatch.setattr(numba_internals, "PRIVATE", {numba_internals.CompileResult: ("_reduce", "_gone")})
    assert numba_internals.missing() == ["CompileResult._gone"]


def test_private_modules_are_imported_in_one_file():
    found = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            if any(name.startswith(PRIVATE) for name in names):
                found.add(file.name)
    assert found == {"numba_internals.py"}
