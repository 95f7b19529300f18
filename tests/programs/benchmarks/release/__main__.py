"""Compare this version with a stored commit, study by study in turn; the exit status is 1 where it is slower.

Run ``python -m tests.programs.benchmarks.release [COMMIT]`` from the repository, on a machine with little
other work. Both versions run at the same time, one study of the one after the same of the other, and what
counts is the least processor time of each: both meet the same disturbances. Where one seems slower it is
measured again, three times as often.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[3]

SLOWER = 1.1
"""Ratio of processor times from which a study counts as slower."""

TIMES, SECONDS = 40, 6.0
"""How often each study is run, and for how long in both versions together at most, in s."""


class Version:
    """A version of psmr in a process of its own.

    `tree`: Its folder.
    `cache`: Where it keeps what it compiles.
    """

    def __init__(self, tree: Path, cache: Path) -> None:
        own = {"PYTHONPATH": str(tree), "PSMR_CACHE_DIR": str(cache), "PYTHONHASHSEED": "0"}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        self.tree = tree
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "studies.py")],
            env=os.environ | own | threads | {"MPLBACKEND": "Agg"},
            cwd=cache.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def studies(self) -> list[str]:
        """Return the names of the studies."""
        return self._answer("").split("\t")

    def run(self, study: str) -> float:
        """Return the processor time of a study in s; NaN where this version cannot run it."""
        answer = self._answer(study)
        try:
            return float(answer)
        except ValueError:
            print(f"{study} in {self.tree}: {answer or 'the process ended'}", file=sys.stderr)
            return math.nan

    def _answer(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(line, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().strip()

    def end(self) -> None:
        """End the process."""
        self._process.communicate()


@contextlib.contextmanager
def tree_of(commit: str, folder: Path) -> Iterator[Path]:
    """Lay a commit into a folder, and take it away again."""
    tree = folder / "tree"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
    try:
        yield tree
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def compared_with() -> tuple[str, str]:
    """Return the stored commit, and the release that it belongs to."""
    lines = (HERE / "compared.txt").read_text(encoding="utf-8").splitlines()
    commit, release = next(line for line in lines if line and not line.startswith("#")).split(maxsplit=1)
    return commit, release


def least(versions: tuple[Version, Version], study: str, times: int) -> tuple[float, float]:
    """Return the least processor time of a study in s in both versions, in turn."""
    found, spent = [math.inf, math.inf], 0.0
    for k in range(times):
        order = (0, 1) if k % 2 else (1, 0)
        for which in order:
            seconds = versions[which].run(study)
            found[which], spent = min(found[which], seconds), spent + seconds
        if k > 2 and spent > SECONDS * times / TIMES:
            break
    return found[0], found[1]


def main() -> int:
    """Print a row per study; return 1 where one is slower, 2 where one could not be run here."""
    parser = argparse.ArgumentParser(description=__doc__)
    commit, release = compared_with()
    parser.add_argument("commit", nargs="?", default=commit, help="commit or tag to compare with")
    parser.add_argument("--times", type=int, default=TIMES, help="how often each study is run")
    chosen = parser.parse_args()
    print(f"beside {chosen.commit}" + (f" ({release})" if chosen.commit == commit else ""))
    print(f"{'least processor time, ms':32} {'before':>9} {'now':>9} {'ratio':>7}")
    slower, missing = [], []
    with tempfile.TemporaryDirectory() as name, tree_of(chosen.commit, Path(name)) as tree:
        versions = Version(tree, Path(name) / "before"), Version(ROOT, Path(name) / "now")
        for study in versions[1].studies():
            # What is compiled and kept once is no part of it.
            first = [version.run(study) for version in versions for _ in range(3)]
            if any(map(math.isnan, first)):
                print(f"{study:32} " + ("not run" if math.isnan(first[-1]) else "not there before"))
                missing += [study] if math.isnan(first[-1]) else []
                continue
            before, now = least(versions, study, chosen.times)
            if now > SLOWER * before:
                before, now = least(versions, study, 3 * chosen.times)
            mark = "  slower" if now > SLOWER * before else ""
            print(f"{study:32} {1e3 * before:9.2f} {1e3 * now:9.2f} {now / before:7.2f}{mark}", flush=True)
            slower += [study] if mark else []
        for version in versions:
            version.end()
    return 2 if missing else 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
