"""Records of DYR files that name a model of psmr: python -m tests.programs.benchmarks.dyr_coverage FOLDER.

Counted are the records of all files below the folder whose names end in .dyr, files with the same text once.
A record of a user-written model (USRMDL, USRLOD and their like) has equations of its own, which no library
has: such records are counted beside the others. A name is covered where
`psmr.files.psse.record.MODELS`, `dyr_loads`, `dyr_relays` or `dyr_static_var` has it; whether the values
of a record are among the options that psmr has is counted too, of relays and static var systems only whether
there are any.
"""

import hashlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from psmr.errors import PsmrError
from tests.internals import (
    KINDS,
    RECORDS,
    LoadRecords,
    RelayRecords,
    StaticVarRecords,
    component_for,
    entries,
    names_of,
    unwrapped,
)

USER_WRITTEN = ("USRMDL", "USRLOD", "USRMSC", "USRBUS", "USRBRN", "USRFCT", "USRSWS", "USRDCL", "USRREL")
EVENTS = ("TOGGLE",)
"""Records that describe no device."""


LOADS = LoadRecords.models()
RELAYS = (*RelayRecords((), {}).takers(), *StaticVarRecords({}).takers())


def known(model: str) -> bool:
    """Say whether psmr has a model of this name."""
    return component_for(model) is not None or model in LOADS or model in RELAYS


def files(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the DYR files below a folder with their lines, each text once."""
    seen: set[bytes] = set()
    for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() == ".dyr"):
        text = path.read_bytes()
        digest = hashlib.sha256(text).digest()
        if digest not in seen:
            seen.add(digest)
            yield path, text.decode("utf-8", errors="replace").splitlines()


def fits(model: str, words: list[str]) -> bool:
    """Say whether a record has as many values as psmr expects, and those that psmr has options for."""
    if model in RELAYS:
        return bool(words)
    names = RECORDS[KINDS[model][0]].split() if model in LOADS else names_of(model, len(words))
    if len(names) != len(words):
        return False
    fixed = [(n.partition("=")[2], w) for n, w in zip(names, words, strict=True) if "=" in n]
    try:
        return all(float(value) == float(word) for value, word in fixed)
    except ValueError:
        return False


def count(folder: Path) -> tuple[Counter[str], Counter[str], Counter[str], int]:
    """Return records by model, those of them that fit, files by model, and the number of files."""
    records, fitting, places, number = Counter[str](), Counter[str](), Counter[str](), 0
    for path, lines in files(folder):
        here: set[str] = set()
        found = entries(str(path), lines)
        while True:
            try:
                entry = unwrapped(next(found))
            except StopIteration:
                break
            except PsmrError as error:
                print(f"left off at {error}")
                break
            words = [word for _, word in entry.words]
            if len(words) < 2 or words[1].upper() in EVENTS:
                continue
            model = words[1].upper()
            records[model] += 1
            fitting[model] += known(model) and fits(model, words[3:])
            here.add(model)
        places.update(here)
        number += bool(here)
    return records, fitting, places, number


def report(folder: Path) -> str:
    """Return the table of what is covered and what is missing."""
    records, fitting, places, number = count(folder)
    own = sum(n for model, n in records.items() if model in USER_WRITTEN)
    standard = sum(records.values()) - own
    covered = {model: n for model, n in records.items() if known(model)}
    share = sum(covered.values()) / standard if standard else 0.0
    lines = [
        f"{number} distinct files, {sum(records.values())} records, {own} of them of user-written models",
        f"named by psmr: {sum(covered.values())} of {standard} others, {100 * share:.1f} %",
        f"with values that psmr reads: {sum(fitting[model] for model in covered)}",
        "",
        "| model | records | files | in psmr | values read |",
        "|---|---|---|---|---|",
    ]
    for model, n in records.most_common():
        has = "user-written" if model in USER_WRITTEN else "yes" if model in covered else "no"
        lines.append(f"| {model} | {n} | {places[model]} | {has} | {fitting[model] or ''} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("give one folder with DYR files: python -m tests.programs.benchmarks.dyr_coverage FOLDER")
    print(report(Path(sys.argv[1])))
