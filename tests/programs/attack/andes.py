"""The same kinds of damage in files that ANDES reads whole, given to ANDES, which is run as a program.

ANDES is imported once, and each attempt is its command line in a process that is forked off.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

import psmr
from tests.programs.attack.mutations import CASES, mutation
from tests.programs.attack.tally import WAITING, Tally

# What psmr wrote is read by ANDES undamaged (`tests/peers/test_andes_reads_what_psmr_writes.py`).
NAMES = {"RAW": "case.raw", "DYR": "case.dyr", "MATPOWER": "case.m"}


@functools.cache
def texts() -> dict[str, str]:
    """Return the good text of each format."""
    with tempfile.TemporaryDirectory() as name:
        case = psmr.read_case(CASES / "kundur/kundur.raw", dynamics=CASES / "kundur/kundur.dyr")
        psmr.write_case(case, Path(name) / "case.raw")
        psmr.write_case(case, Path(name) / "case.m")
        return {kind: (Path(name) / file).read_text() for kind, file in NAMES.items()}


def attack(tally: Tally, folder: Path, seed: int, number: int) -> None:
    """Let ANDES run one damaged file, the formats in turn; numbers 0 to 2 are undamaged."""
    import andes.cli  # noqa: F401  # before the fork

    kind = list(NAMES)[number % len(NAMES)]
    for other, file in NAMES.items():
        (folder / file).write_text(texts()[other])
    if number >= len(NAMES):
        (folder / NAMES[kind]).write_bytes(mutation(texts()[kind], f"{seed} {number}"))
    words = ["run", str(folder / ("case.m" if kind == "MATPOWER" else "case.raw")), "--no-output"]
    # As psmr: RAW and DYR to the beginning of a run, MATPOWER to a power flow.
    words += ["-r", "pflow"] if kind == "MATPOWER" else ["--addfile", str(folder / "case.dyr"), "-r", "tds"]
    words += [] if kind == "MATPOWER" else ["--tf", "0.2"]
    said = folder / "said"
    child = multiprocessing.get_context("fork").Process(target=_run, args=(words, said))
    child.start()
    child.join(WAITING)
    label = f"ANDES: fields of {kind}"
    if child.is_alive():
        child.kill()
        child.join()
        tally.add(label, "hang", f"mutation {number}")
        return
    text = said.read_text(errors="replace")
    if "Traceback" in text:
        outcome = "traceback"
    elif child.exitcode:
        outcome = "refused"
    else:
        outcome = "wrong" if "nan" in text.lower().replace(",", " ").split() else "run"
    tally.add(label, outcome, f"mutation {number}: {text[-200:]}")


def _run(words: list[str], said: Path) -> None:
    """Be the command line of ANDES."""
    import traceback

    from andes.cli import main

    handle = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.chdir(said.parent)
    sys.argv = ["andes", *words]
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)
