"""Attack psmr: ``python -m tests.programs.attack --seed S --seconds N``, or ``--only PART --count N``.

Every attempt follows from seed and number alone. The exit code is 0 where nothing bad was found.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.programs.attack import andes, forbidden, lists, mutations, processes, runs
from tests.programs.attack.tally import Tally

# Shares of the time.
SHARES = {"fields": 0.4, "rules": 0.1, "runs": 0.15, "lists": 0.1, "kills": 0.25}


def main() -> int:
    """Carry the attack out and print its table."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.attack", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long, for all parts together")
    parser.add_argument("--only", choices=(*SHARES, "andes"), help="one part alone")
    parser.add_argument("--first", type=int, default=0, help="number of the first attempt")
    parser.add_argument("--small", action="store_true", help="lists on small cases alone")
    parser.add_argument("--count", type=int, help="how many attempts of each part, however long they take")
    arguments = parser.parse_args()
    tally = Tally()
    shares = {arguments.only: 1.0} if arguments.only else SHARES
    with tempfile.TemporaryDirectory() as name:
        for part, share in shares.items():
            folder = Path(name) / part
            folder.mkdir()
            numbers = counted(arguments.first, arguments.count, share * arguments.seconds)
            carry_out(part, tally, folder, arguments.seed, numbers, arguments.small)
    print(f"seed {arguments.seed}, user {os.getuid()}\n\n{tally.table()}")
    return 1 if tally.found and arguments.only != "andes" else 0


def counted(first: int, count: int | None, seconds: float) -> Iterator[int]:
    """Yield the numbers of attempts: as many as asked for, or as many as there is time for."""
    end = time.monotonic() + seconds
    for number in itertools.count(first):
        if number - first == count or (count is None and time.monotonic() > end):
            return
        yield number


def carry_out(
    part: str, tally: Tally, folder: Path, seed: int, numbers: Iterator[int], small: bool = False
) -> None:
    """Carry one part out."""
    if part == "kills":
        commands = processes.Commands(folder)
        for number in numbers:
            processes.kill(commands, tally, seed, number)
            if number % 10 == 5:
                processes.small_disk(commands, tally, seed, number)
            if number % 50 == 25:
                processes.together(commands, tally, seed, number)
        processes.tidy(commands, tally)
        return
    if part == "rules":
        # A shuffled deck: whoever has little time sees some of each format.
        deck = list(forbidden.breaches())
        random.Random(seed).shuffle(deck)
        for _, breach in zip(numbers, deck, strict=False):
            forbidden.attack(tally, folder, breach)
        return
    for number in numbers:
        if part == "fields":
            mutations.attack(tally, folder, seed, number)
        elif part == "runs":
            runs.attack(tally, seed, number)
        elif part == "lists":
            lists.attack(tally, folder, seed, number, lists.SMALL if small else lists.CASES)
        else:
            andes.attack(tally, folder, seed, number)


if __name__ == "__main__":
    sys.exit(main())
