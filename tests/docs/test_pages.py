"""Every fenced command and every piece of Python on a page is carried out as a reader would."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import partitioning
import psmr

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *(
        page
        for folder in ("", "benchmarks", "papers")
        for page in sorted((ROOT / "docs" / folder).glob("*.md"))
    ),
]
# Carried out by tests/docs/test_readme.py, which also looks at what they print.
ELSEWHERE = ("README.md", "getting-started.md", "extending.md", "events.md")
# What a page shows to fail: the exit code by a word of the command.
FAILS = {"W3": 1, "bad.dyr": 2, "hot.toml": 1, "stranger.toml": 2}
# Minutes each, what ends with Ctrl-C, and what needs a trace: carried out by tests of their own.
LONG = ("reproduce", "view", "compare")


def blocks(page, language):
    """The fenced blocks of a page in a language, each as text."""
    found, inside = [], None
    for line in page.read_text(encoding="utf-8").splitlines():
        if inside is None and line.startswith("```"):
            inside = (line.removeprefix("```").strip(), [])
        elif inside is not None and line.startswith("```"):
            found.append(inside)
            inside = None
        elif inside is not None:
            inside[1].append(line)
    return ["\n".join(lines) for name, lines in found if name == language]


def commands(page):
    """The commands of a page: the lines that begin with psmr, behind a prompt where output is shown too."""
    found = []
    for body in (*blocks(page, ""), *blocks(page, "text")):
        lines = body.splitlines()
        prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ psmr ")]
        found += prompted or [line for line in lines if line.startswith("psmr ")]
    return found


CODE = [page for page in PAGES if blocks(page, "python") and page.name not in ELSEWHERE]
TYPED = [page for page in PAGES if commands(page)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the repository's cases and files of the names that pages use."""
    (tmp_path / "cases").symlink_to(ROOT / "cases")
    new_england = ROOT / "cases" / "new-england" / "new-england"
    shutil.copy(new_england.with_suffix(".raw"), tmp_path / "grid.raw")
    shutil.copy(new_england.with_suffix(".dyr"), tmp_path / "grid.dyr")
    shutil.copy(ROOT / "cases" / "wscc9" / "wscc9.m", tmp_path / "grid.m")
    records = new_england.with_suffix(".dyr").read_text(encoding="utf-8")
    (tmp_path / "bad.dyr").write_text(records.replace("'EXST1'", "'ABCXYZ'", 1), encoding="utf-8")
    case = psmr.read_case(ROOT / "cases" / "wscc9" / "wscc9.toml")
    psmr.write_case(case.edit({"GOV2.p_max": 1.5}), tmp_path / "hot.toml")
    (tmp_path / "stranger.toml").write_text(
        'format = "psmr-study"\nversion = 1\ncase = "wscc9"\nmodules = ["mine"]\n[simulation]\nt_end = 1.0\n'
    )
    (tmp_path / "mine.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", CODE, ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page, folder):
    code = "\n".join(blocks(page, "python"))
    if "pandapower" in code:
        pytest.importorskip("pandapower", reason="no pandapower here: pip install 'psmr[pandapower]'")
    system = psmr.build(psmr.read_case("cases/wscc9/wscc9.toml"))
    linear = system.linearise()
    split = partitioning.by_participation(linear, delta=20.0)
    # What the text around a fragment takes for given.
    given = {
        "psmr": psmr,
        "system": system,
        "linear": linear,
        "scheme": psmr.Multirate(split, h_slow=0.05, ratio=10),
        "events": [],
        "__name__": page.name,
    }
    if page.stem == "large":
        given["scheme"] = psmr.SingleRate("TM", h=0.02)
    exec(compile(code, str(page), "exec"), given)


@pytest.mark.slow
@pytest.mark.parametrize("page", TYPED, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for line in commands(page):
        words = shlex.split(line, comments=True)
        if words[1] in LONG:
            continue
        done = subprocess.run(
            [sys.executable, "-m", "psmr.cli", *words[1:]], env=environment, text=True, capture_output=True,
            check=False,
        )  # fmt: skip
        expected = next((code for word, code in FAILS.items() if word in words), 0)
        assert done.returncode == expected, f"{line}\n{done.stdout}\n{done.stderr}"


def test_pages_have_commands_and_code():
    assert {"getting-started", "formats", "starting", "tuning", "own-files"} <= {page.stem for page in TYPED}
    assert {"pencil", "explicit", "formats", "large"} <= {page.stem for page in CODE}
