"""Attack psmr for a while: ``python -m tests.attack --seed S --seconds N``.

Every attempt follows from seed and number alone. The exit code is 0 where nothing bad was found.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.attack import andes, mutations, processes, runs
from tests.attack.tally import Tally

# Shares of the time.
SHARES = {"fields": 0.5, "runs": 0.25, "kills": 0.25}


def main() -> int:
    """Carry the attack out and print its table."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long, for all parts together")
    parser.add_argument("--only", choices=(*SHARES, "andes"), help="one part alone")
    parser.add_argument("--first", type=int, default=0, help="number of the first attempt")
    arguments = parser.parse_args()
    tally = Tally()
    shares = {arguments.only: 1.0} if arguments.only else SHARES
    with tempfile.TemporaryDirectory() as name:
        for part, share in shares.items():
            end = time.monotonic() + share * arguments.seconds
            folder = Path(name) / part
            folder.mkdir()
            carry_out(part, tally, folder, arguments.seed, arguments.first, end)
    print(f"seed {arguments.seed}, user {os.getuid()}\n\n{tally.table()}")
    return 1 if tally.found and arguments.only != "andes" else 0


def carry_out(part: str, tally: Tally, folder: Path, seed: int, first: int, end: float) -> None:
    """Carry one part out until its time is over."""
    number = first
    if part == "kills":
        commands = processes.Commands(folder)
        while time.monotonic() < end:
            processes.kill(commands, tally, seed, number)
            if number % 10 == 5:
                processes.small_disk(commands, tally, seed, number)
            if number % 50 == 25:
                processes.together(commands, tally, seed, number)
            number += 1
        processes.tidy(commands, tally)
        return
    while time.monotonic() < end:
        if part == "fields":
            mutations.attack(tally, folder, seed, number)
        elif part == "runs":
            runs.attack(tally, seed, number)
        else:
            andes.attack(tally, folder, seed, number)
        number += 1


if __name__ == "__main__":
    sys.exit(main())
