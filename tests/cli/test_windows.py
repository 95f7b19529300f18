"""What psmr owes to Windows and can be held to without it: names of files, line ends, code pages, shells."""

import io
import re
import subprocess
import sys
from pathlib import Path, PureWindowsPath

import pytest

import psmr
from tests.internals import require_streams

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "cases"
RESERVED = {"con", "prn", "aux", "nul", *(f"{name}{k}" for name in ("com", "lpt") for k in range(1, 10))}


def test_files_of_the_repository_can_be_on_windows():
    """No reserved name or character, no two that differ in capitals alone, no symbolic link, no long path."""
    done = subprocess.run(["git", "ls-files", "-s"], cwd=ROOT, text=True, capture_output=True, check=False)
    if done.returncode or not done.stdout:
        pytest.skip("no git here, or no repository")
    modes, names = zip(*(line.split("\t") for line in done.stdout.splitlines()), strict=True)
    assert not [name for mode, name in zip(modes, names, strict=True) if mode.startswith("120000")]
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        for part in PureWindowsPath(name).parts:
            assert not re.search(r'[<>:"|?*\x00-\x1f]|[ .]$', part), name
            assert part.partition(".")[0].casefold() not in RESERVED, name
        # 260 with the folder of the clone before it.
        assert len(name) < 150, name


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("wscc9/wscc9-ibr.toml", ()),
        ("wscc9/wscc9.m", ()),
        ("new-england/new-england.raw", ("new-england/new-england.dyr",)),
    ],
)
def test_files_with_the_line_ends_of_windows_are_the_same(name, others, tmp_path):
    """As `core.autocrlf` makes them in a clone."""
    for file in (name, *others):
        data = (CASES / file).read_bytes()
        assert b"\r" not in data
        (tmp_path / Path(file).name).write_bytes(data.replace(b"\n", b"\r\n"))

    def read(folder):
        return psmr.read_case(folder / Path(name).name, *(folder / Path(other).name for other in others))

    assert read(tmp_path) == read((CASES / name).parent)


def test_a_study_with_the_line_ends_of_windows_is_the_same(tmp_path):
    for file in ("wscc9-ibr.toml", "fault-ibr.toml"):
        (tmp_path / file).write_bytes((CASES / "wscc9" / file).read_bytes().replace(b"\n", b"\r\n"))
    one, other = psmr.read_study(tmp_path / "fault-ibr.toml"), psmr.read_study("cases/wscc9/fault-ibr.toml")
    assert (one.events, one.recipe, one.t_end) == (other.events, other.recipe, other.t_end)


@pytest.mark.parametrize(("encoding", "piped"), [("cp1252", b"\\u96fb \xb1"), ("cp866", b"\\u96fb \\xb1")])
def test_results_can_be_piped_in_a_code_page(encoding, piped, monkeypatch):
    """Letters that it lacks, as in the names of a case or the sign of a pair of modes, are escapes."""
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, encoding=encoding))
    require_streams()
    print("電 ±", end="", flush=True)
    assert pipe.getvalue() == piped


def test_commands_of_the_readme_are_those_of_every_shell():
    """PowerShell 5 has no `&&`, cmd no single quotes."""
    for page in ("README.md", "docs/index.md", "docs/getting-started.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for block in re.findall(r"```(?:text)?\n(.*?)```", text, flags=re.S):
            typed = [line for line in block.splitlines() if re.match(r"\$? ?(pip|psmr|pytest|python) ", line)]
            assert not [line for line in typed if "&&" in line or "'" in line or "\\" in line], page
