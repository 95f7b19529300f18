"""Commands that are killed, that share a cache, and whose disk fills."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.programs.attack.mutations import CASES
from tests.programs.attack.tally import Tally

PSMR = [sys.executable, "-m", "psmr"]
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
T_END = 2.0

# Of commands, the processes are new: they share the machine with what else runs on it.
PATIENCE = 240


class Commands:
    """A study, a cache and a folder of results that the commands of an attack share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        text = (CASES / "wscc9/fault.toml").read_text().split("[output]")[0]
        text = text.replace("wscc9.toml", str(CASES / "wscc9/wscc9.toml")).replace(
            "t_end = 10.0", f"t_end = {T_END}"
        )
        self.study = folder / "study.toml"
        self.study.write_text(
            text + '[output]\nfolder = "out"\nparquet = true\nfigure = "svg"\nsave = true\n'
        )
        self.environment = {**os.environ, "PSMR_CACHE_DIR": str(folder / "cache")}
        begun = time.monotonic()
        self.sizes: dict[str, int] = {}
        done = self.start(folder / "whole").communicate(timeout=PATIENCE)
        self.whole = (
            (folder / "whole" / "run.csv").read_bytes() if (folder / "whole/run.csv").exists() else b""
        )
        assert self.whole, done
        begun = time.monotonic()
        self.start(folder / "whole").communicate(timeout=PATIENCE)
        self.seconds = time.monotonic() - begun

    def start(self, out: Path, study: Path | None = None, **environment: str) -> subprocess.Popen[str]:
        """Start a run."""
        return subprocess.Popen(
            [*PSMR, "run", str(study or self.study), "-o", str(out)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.environment, **environment},
        )

    def unsound(self, out: Path) -> str:
        """Return what is wrong with the files of a folder, "" for nothing."""
        for file in out.iterdir() if out.exists() else ():
            if file.name.startswith("."):
                continue  # unfinished, and called so
            data = file.read_bytes()
            if file.name == "run.csv" and data != self.whole:
                return f"{file} is not the result of the study"
            ends = {"report.html": b"</html>", "run.svg": b"</svg>", "run.parquet": b"PAR1", "run.psmr": b""}
            if file.name in ends and not data.rstrip().endswith(ends[file.name]):
                return f"{file} is half-written"
            if file.name == "run.psmr":
                import psmr

                psmr.load_run(file)
            if not data:
                return f"{file} is empty"
        return ""

    def unsound_cache(self) -> str:
        """Return the first entry of the cache that cannot be believed."""
        for file in (self.folder / "cache").rglob("*"):
            if file.is_file() and not file.name.startswith("."):
                data = file.read_bytes()
                if b"psmr compiled code" in data[:30] and not _sound(file):
                    return f"{file} is damaged"
        return ""


def _sound(file: Path) -> bool:
    from tests.internals import read_entry

    return read_entry(file) is not None


def kill(commands: Commands, tally: Tally, seed: int, number: int) -> None:
    """Kill one of two runs with one cache at a random moment; look at what is left."""
    rng = random.Random(f"{seed} kill {number}")
    out = commands.folder / "out"
    if rng.random() < 0.2:  # with code to compile, while the other one compiles it too
        entries = [f for f in (commands.folder / "cache").rglob("*") if f.is_file()]
        for file in rng.sample(entries, min(len(entries), 3)):
            file.unlink()
    before = set(out.glob(".*")) if out.exists() else set()  # of one that was killed
    child = commands.start(out)
    number_of = rng.choice(SIGNALS)
    time.sleep(rng.uniform(0.0, 1.1) * commands.seconds)
    child.send_signal(number_of)
    words = f"--seed {seed}, kill {number} by {number_of.name}"
    try:
        said = child.communicate(timeout=PATIENCE)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        tally.add("kills", "hang", words)
        return
    if said.startswith("Fatal Python error: init"):  # Python itself was still starting
        tally.add("kills", "run", words)
        return
    if "Traceback" in said:
        tally.add("kills", "traceback", f"{words}: {said}")
        return
    if child.returncode not in (0, -number_of, 128 + number_of):
        tally.add("kills", "wrong", f"{words}: exit code {child.returncode}: {said}")
        return
    trouble = commands.unsound(out) or commands.unsound_cache()
    if not trouble and number_of != signal.SIGKILL and child.returncode != -number_of:
        left = set(out.glob(".*")) - before - {out / ".study"} if out.exists() else set()
        trouble = f"{', '.join(file.name for file in left)} was left" if left else ""
    tally.add("kills", "lost" if trouble else "run", f"{words}: {trouble}")


def tidy(commands: Commands, tally: Tally) -> None:
    """Let a last run write into the folder: it is whole and nothing else is there."""
    out = commands.folder / "out"
    child = commands.start(out)
    said = child.communicate(timeout=PATIENCE)[1]
    names = sorted(file.name for file in out.iterdir())
    unfinished = [name for name in names if name.startswith(".") and name != ".study"]
    good = child.returncode == 0 and not commands.unsound(out) and not unfinished
    tally.add("the run after", "run" if good else "lost", f"{names} {said}")


def together(commands: Commands, tally: Tally, seed: int, number: int) -> None:
    """Start runs at one time with an empty cache of their own, one of them killed."""
    cache = commands.folder / f"together-{number}"
    running = [commands.start(commands.folder / f"out-{k}", PSMR_CACHE_DIR=str(cache)) for k in range(3)]
    rng = random.Random(f"{seed} together {number}")
    time.sleep(rng.uniform(0.5, 3.0) * commands.seconds)
    running[0].kill()
    said = [child.communicate(timeout=PATIENCE)[1] for child in running]
    for k in (1, 2):
        out = commands.folder / f"out-{k}"
        good = running[k].returncode == 0 and not commands.unsound(out) and "Traceback" not in said[k]
        tally.add("one cache", "run" if good else "lost", f"--seed {seed}, together {number}: {said[k]}")


def small_disk(commands: Commands, tally: Tally, seed: int, number: int) -> None:
    """Run with the results on a disk of random size; where none can be mounted nothing is tried."""
    rng = random.Random(f"{seed} disk {number}")
    place = commands.folder / "disk"
    place.mkdir(exist_ok=True)
    size = math.exp(rng.uniform(math.log(8), math.log(2048)))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size:.0f}k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        return
    words = f"--seed {seed}, disk {number} of {size:.0f} KiB"
    try:
        child = commands.start(place / "out")
        said = child.communicate(timeout=PATIENCE)[1]
        trouble = commands.unsound(place / "out") or ", ".join(map(str, (place / "out").glob(".*")))
        outcome = "run" if child.returncode == 0 else "refused"
        if "Traceback" in said:
            outcome = "traceback"
        elif trouble:
            outcome = "lost"
        elif child.returncode and "psmr: error: cannot write to" not in said:
            outcome = "wrong"
        tally.add("full disks", outcome, f"{words}: {trouble} {said}")
    finally:
        subprocess.run(["umount", str(place)], check=False)
