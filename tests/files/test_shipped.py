"""The cases that ship with psmr, in a checkout and in a wheel."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import psmr
from psmr.cli import main
from psmr.errors import InputError, StudyError

ROOT = Path(__file__).parents[2]

WHAT_A_WHEEL_HAS = """
import psmr
from psmr.cli import main
from psmr.papers.huang_tzounas.runs import settings

print(psmr.__file__)
print(len(psmr.case("wscc9").buses), len(psmr.case("new-england").buses), len(settings().sets))
main(["exercise"])
"""


def test_a_case_by_name():
    """The name is that of the file, or file and folder."""
    path = ROOT / "cases" / "wscc9" / "wscc9-gfm.toml"
    # An installed package has a copy of the case, a checkout the case itself.
    for name, file in (
        ("wscc9-gfm", path.name),
        ("wscc9/wscc9-gfm.toml", path.name),
        ("wscc9/SOURCE.md", "SOURCE.md"),
    ):
        found = psmr.case_path(name)
        assert (found.parent.name, found.name) == ("wscc9", file)
        assert found.read_bytes() == path.with_name(file).read_bytes()
    ours, read = psmr.case("wscc9-gfm"), psmr.read_case(path)
    assert [g.name for g in ours.generators] == [g.name for g in read.generators]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "wssc9",
            r"name = 'wssc9': no case of psmr is called that; did you mean 'wscc9'\?; known: cigre-hvdc, ",
        ),
        ("wscc9/falt.toml", r"did you mean 'wscc9/fault.toml'\?"),
        ("../pyproject.toml", "no case of psmr is called that"),
        (9, "name = 9: must be a text"),
    ],
)
def test_a_name_that_none_has(name, words):
    with pytest.raises(InputError, match=words):
        psmr.case(name)


def test_an_installation_without_cases_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("psmr.files.shipped.FOLDER", tmp_path / "cases")
    with pytest.raises(InputError, match=r"there are no cases in .*: install psmr again"):
        psmr.case("wscc9")


def test_a_checkout_needs_no_symbolic_links():
    """Git for Windows checks them out as text files unless it is asked for links."""
    places = (
        place for name in ("psmr", "partitioning", "cases", "docs") for place in (ROOT / name).rglob("*")
    )
    assert not [place for place in places if place.is_symlink()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return a wheel of this tree."""
    pytest.importorskip("setuptools", "77")  # older ones do not read this pyproject.toml
    place = tmp_path_factory.mktemp("wheel")
    tree = place / "tree"
    tree.mkdir()
    for name in ("psmr", "partitioning", "cases", "docs/course"):
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tree)
    shutil.copy(ROOT / "docs" / "LICENSE", tree / "docs")
    build = "from setuptools.build_meta import build_wheel; print(build_wheel('..'))"
    done = subprocess.run([sys.executable, "-c", build], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(tree)
    return place / done.stdout.split()[-1]


def test_a_wheel_has_the_cases(wheel, tmp_path):
    """A wheel of this tree, put elsewhere: its cases are those of the folder, and a paper finds its own."""
    elsewhere = tmp_path / "elsewhere"
    shutil.unpack_archive(wheel, elsewhere, "zip")
    own = {
        p.relative_to(ROOT) for p in ROOT.glob("psmr/**/*") if p.is_file() and "__pycache__" not in p.parts
    }
    assert own <= {p.relative_to(elsewhere) for p in elsewhere.glob("psmr/**/*")}
    shipped = {p.relative_to(elsewhere / "psmr/cases") for p in elsewhere.glob("psmr/cases/*/*")}
    assert shipped == {p.relative_to(ROOT / "cases") for p in ROOT.glob("cases/*/*") if p.is_file()}
    done = subprocess.run(
        [sys.executable, "-c", WHAT_A_WHEEL_HAS],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(elsewhere)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    place, counts, exercises, *_, last = done.stdout.splitlines()
    assert place == str(elsewhere / "psmr" / "__init__.py")
    assert counts == "9 39 6"  # six sets in wscc9-static-sets.csv
    assert exercises.endswith(str(elsewhere / "psmr" / "course" / "pages"))
    assert last.startswith("8 Voltage collapse")


@pytest.mark.slow
def test_the_first_run_of_a_wheel_with_code_compiles_nothing(wheel, tmp_path):
    """Such a wheel, installed: a first report is there in 2.5 s of processor time (1.2 s measured)."""
    pytest.importorskip("resource")
    script = ROOT / ".ci" / "compiled_wheel.py"
    done = subprocess.run([sys.executable, script, wheel], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made, place = Path(done.stdout.strip()), tmp_path / "site"
    assert not made.name.endswith("-any.whl")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", place, made]
    subprocess.run(pip, check=True)
    cache = tmp_path / "cache"
    command = [sys.executable, "-m", "psmr", "run", ROOT / "cases/wscc9/fault.toml", "-o", tmp_path / "out"]
    code = (
        "import resource, subprocess, sys\n"
        "code = subprocess.run(sys.argv[1:]).returncode\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print('used', used.ru_utime + used.ru_stime)\n"
        "sys.exit(code)"
    )
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=tmp_path,
        env=os.environ | one | {"PYTHONPATH": str(place), "PSMR_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "report.html").stat().st_size > 1e5
    assert not cache.exists()
    assert float(done.stdout.split()[-1]) < 2.5


def test_the_list_names_what_the_commands_take(capsys):
    """Each name of `psmr cases` is that of a file; a case is also read by its name in Python."""
    assert main(["cases", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"kind": "study", "name": "wscc9/fault", "title": "WSCC 9-bus, fault at bus 5"} in rows
    assert {row["kind"] for row in rows} == {"case", "study", "sweep"}
    for row in rows:
        document = tomllib.loads(psmr.case_path(row["name"]).read_text())
        assert (document["format"], document["name"]) == (f"psmr-{row['kind']}", row["title"])


def test_a_command_takes_a_name_where_there_is_no_such_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "wscc9/fault-published"]) == 0
    shipped = capsys.readouterr().out
    assert "FEM" in shipped
    # A file of this name comes first.
    (tmp_path / "wscc9").mkdir()
    (tmp_path / "wscc9" / "fault-published").write_text("")
    assert main(["explain", "wscc9/fault-published"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["modes", "wscc8"],
            "there is no file 'wscc8', and no case of psmr is called that; did you mean 'wscc9'?",
        ),
        (["run", "wscc9/falt"], "did you mean 'wscc9/fault.toml'?"),
        (["run", "ripple"], "did you mean 'new-england/ripple'?"),
        (["run", "grid.raw", "--dynamics", "grid.dyr"], "`psmr new study NAME grid.raw` writes one"),
        (["run", "mine/falt.toml"], "mine/falt.toml: cannot be read: No such file or directory"),
    ],
)
def test_a_command_with_a_name_that_nothing_has(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert words in capsys.readouterr().err


def test_a_study_names_a_case_that_ships(tmp_path):
    """A file beside the study comes first; what is neither is said with the nearest name."""
    head = 'format = "psmr-study"\nversion = 1\n[simulation]\nt_end = 1.0\n'
    study = tmp_path / "study.toml"
    study.write_text(head.replace("[simul", 'case = "wscc9"\n[simul'))
    assert psmr.read_study(study).case.path == psmr.case_path("wscc9")
    (tmp_path / "wscc9").write_text("")
    assert psmr.read_study(study).case.path == tmp_path / "wscc9"
    study.write_text(head.replace("[simul", 'case = "wscc8"\n[simul'))
    with pytest.raises(
        StudyError, match=r"study.toml:3: case = 'wscc8': there is no such file.*did you mean 'wscc9'"
    ):
        psmr.read_study(study)
