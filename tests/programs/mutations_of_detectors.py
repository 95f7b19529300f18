"""Mutations of the detectors and of the criteria, each of which the tests of this folder must fail on.

Every comparison is turned into its opposite, and every threshold moved by one per cent up and down (a
tolerance for rounding: a thousandfold, and zero). From the root of the repository:

    python -m tests.programs.mutations_of_detectors [part of a file's name ...]
"""

from __future__ import annotations

import ast
import compileall
import contextlib
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = (*sorted((ROOT / "psmr/study/detectors").glob("*.py")), ROOT / "psmr/study/criteria.py")
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
TESTS = "tests/study/detectors"
ROUNDING = ("ROUNDING", "AT_LIMIT", "NO_VOLTAGE")

# Mutations that change no result, by file and change, and why.
EQUIVALENT: dict[tuple[str, str], str] = {}


@dataclass(frozen=True)
class Mutation:
    """A source with one change: which file, which line, what the change is and the text with it."""

    path: Path
    line: int
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}: {self.what}"


def mutations_of(path: Path) -> Iterator[Mutation]:
    """Yield the mutations of a source."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            yield from _opposites(path, text, node)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef):
            for place in node.body:
                yield from _moved(path, text, place)


def _opposites(path: Path, text: str, node: ast.Compare) -> Iterator[Mutation]:
    for k, operator in enumerate(node.ops):
        if type(operator) in OPPOSITE:
            changed = ast.Compare(node.left, list(node.ops), node.comparators)
            changed.ops[k] = OPPOSITE[type(operator)]()
            yield _replaced(path, text, node, f"({ast.unparse(changed)})")


def _moved(path: Path, text: str, place: ast.stmt) -> Iterator[Mutation]:
    if not isinstance(place, ast.Assign | ast.AnnAssign) or place.value is None:
        return
    name = ast.unparse(place.targets[0] if isinstance(place, ast.Assign) else place.target)
    kinds = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    if not all(isinstance(part, kinds) for part in ast.walk(place.value)):
        return
    value = ast.unparse(place.value)
    if any(isinstance(p, ast.Constant) and not isinstance(p.value, float) for p in ast.walk(place.value)):
        return
    for factor in (0.0, 1000.0) if name in ROUNDING else (0.99, 1.01):
        yield _replaced(path, text, place.value, f"({value}) * {factor}", name)


def _replaced(path: Path, text: str, node: ast.expr, new: str, name: str = "") -> Mutation:
    lines = text.encode().splitlines(keepends=True)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    first, last = node.lineno - 1, node.end_lineno - 1
    before = b"".join(lines[:first]) + lines[first][: node.col_offset]
    after = lines[last][node.end_col_offset :] + b"".join(lines[last + 1 :])
    changed = (before + new.encode() + after).decode()
    what = f"{name + ' = ' if name else ''}{ast.get_source_segment(text, node)} -> {new}"
    return Mutation(path, node.lineno, " ".join(what.split()), changed)


def copied(folder: Path) -> None:
    """Copy what the tests need into a folder."""
    for name in ("psmr", "partitioning", "tests", "cases", "pyproject.toml"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    # By the hash of a source: one that is changed within a second must not be taken for the one before.
    compileall.compile_dir(folder, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


# What no mutation changes is loaded once; each run of tests is a child of that process.
SERVER = """
import os, signal, sys
import matplotlib, networkx, pandas, pytest
import psmr, psmr.integrate.run
psmr.build(psmr.case("wscc9"))
assert not any(name.startswith("psmr.study.detectors") for name in sys.modules)
for line in sys.stdin:
    child = os.fork()
    if not child:
        signal.alarm(600)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        plain = ["--assert=plain", "-p", "no:hypothesispytest", "-p", "no:cacheprovider"]
        os._exit(pytest.main(["-x", "-q", "-n", "0", *plain, line.strip()]))
    print(os.waitpid(child, 0)[1], flush=True)
"""


@contextlib.contextmanager
def test_runner(folder: Path) -> Iterator[Callable[[str], bool]]:
    """Yield what says whether some tests of a copy of the repository pass."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", SERVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, text=True) as server:
        asked, answers = server.stdin, server.stdout
        assert asked is not None
        assert answers is not None

        def passes(tests: str) -> bool:
            print(tests, file=asked, flush=True)
            return int(answers.readline()) == 0

        yield passes


def survives(mutation: Mutation, folder: Path, passes: Callable[[str], bool]) -> bool:
    """Return whether the tests pass in a copy of the repository with the mutation."""
    target = folder / mutation.path.relative_to(ROOT)
    original, own = target.read_bytes(), f"{TESTS}/test_{mutation.path.stem}.py"
    target.write_text(mutation.text, encoding="utf-8")
    try:
        return (not (folder / own).exists() or passes(own)) and passes(TESTS)
    finally:
        target.write_bytes(original)


def survivors(mutations: list[Mutation]) -> Iterator[tuple[Mutation, bool]]:
    """Yield each mutation and whether the tests pass with it."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copied(folder)
        with test_runner(folder) as passes:
            if not passes(TESTS):
                raise SystemExit(f"{TESTS} fails without a mutation")
            for mutation in mutations:
                yield mutation, survives(mutation, folder, passes)


def main() -> None:
    """Print what survives, and how many were killed."""
    wanted = sys.argv[1:]
    chosen = [path for path in SOURCES if not wanted or any(part in path.name for part in wanted)]
    mutations = [mutation for path in chosen for mutation in mutations_of(path)]
    killed = equivalent = 0
    for mutation, lives in survivors(mutations):
        killed += not lives
        if lives:
            reason = EQUIVALENT.get((mutation.path.name, mutation.what), "")
            equivalent += bool(reason)
            print(f"equivalent: {mutation}: {reason}" if reason else f"survives: {mutation}", flush=True)
    survived = len(mutations) - killed - equivalent
    print(f"{len(mutations)} mutations: {killed} killed, {equivalent} equivalent, {survived} survived")


if __name__ == "__main__":
    main()
