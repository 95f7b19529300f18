"""Packages that are missing, or installed and broken: a sentence with what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from psmr.errors import PsmrError
from tests.internals import broken_package, optional

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["ImportError", "AttributeError", "OSError", "SystemError"]


def broken(folder, name, kind):
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(
        f"def begin():\n    raise {kind}('compiled for another numpy')\n\n\nbegin()\n"
    )


def test_a_package_that_is_missing():
    words = r'^a thing needs nosuchthing, which is not installed; pip install "psmr\[x\]", or do without$'
    with pytest.raises(PsmrError, match=words):
        optional("nosuchthing.part", "a thing", "psmr[x]", "do without")
    # What is missing beside a package that is there is not that package.
    with pytest.raises(PsmrError, match=r"needs json, which is installed and cannot be imported \(Module"):
        optional("json.nothing", "a thing", "psmr[x]", "do without")
    assert optional("json.decoder", "a thing", "x", "y").JSONDecoder


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_that_is_broken(tmp_path, monkeypatch, kind):
    name = f"broken_{kind.lower()}"
    broken(tmp_path, name, kind)
    monkeypatch.syspath_prepend(tmp_path)
    words = (
        rf"^a thing needs {name}, which is installed and cannot be imported \({kind}: compiled for another "
        rf"numpy\); install it anew \(pip install --force-reinstall {name}\), or do without$"
    )
    with pytest.raises(PsmrError, match=words):
        optional(name, "a thing", "psmr[x]", "do without")


@pytest.mark.parametrize("kind", KINDS[1:3])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("modes", "{case}"), "the package pyarrow cannot be imported"),  # pandas imports it where it is
        (("run", "{study}", "-o", "{out}"), "a Parquet file needs pyarrow, which is installed and cannot"),
    ],
)
def test_commands_with_a_broken_pyarrow(tmp_path, wscc9, kind, words, said):
    broken(tmp_path, "pyarrow", kind)
    study = tmp_path / "study.toml"
    text = (wscc9 / "fault.toml").read_text().replace('case = "', f'case = "{wscc9}/')
    study.write_text(text.split("[output]")[0] + "[output]\nparquet = true\n")
    places = {"case": wscc9 / "wscc9.toml", "study": study, "out": tmp_path / "out"}
    done = subprocess.run(
        [sys.executable, "-m", "psmr", *(word.format(**places) for word in words)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"psmr: error: {said}")
    assert f"({kind}: compiled for another numpy)" in last
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_other_errors_are_of_no_package():
    with pytest.raises(ValueError) as caught:
        int("x")
    assert broken_package(caught.value) is None
