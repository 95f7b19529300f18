"""Files with damaged fields, of every format that psmr reads."""

from __future__ import annotations

import functools
import random
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import psmr
from psmr import read_study, read_sweep
from tests.files.mutate import mutated, rescaled
from tests.files.raw import raw_text
from tests.files.test_psse_versions import as_rawx, read_sections
from tests.internals import check_residual, load_system, power_flow, toml_text
from tests.programs.attack.tally import Tally, Wrong

CASES = Path(__file__).resolve().parents[3] / "cases"

NUMBER = re.compile(r"(?<![\w.'\"])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w.'\"])")
SIZES = (0.0, -1.0, 1e-12, 1e-6, 1e-3, 1 / 60, 377.0, 1e3, 1e6, 1e12)
TEXTS = (
    '""',
    "''",
    "[]",
    "{}",
    "true",
    "nan",
    "-inf",
    "1e400",
    "9" * 400,
    "'\\u0000'",
    '"é"',
    "/",
    "*",
    "null",
)


def scaled(text: str, rng: random.Random) -> str:
    """Another unit, nothing, the other sign, or something impossible in the place of a number."""
    places = [match.span() for match in NUMBER.finditer(text)]
    for first, last in sorted(rng.sample(places, min(len(places), rng.randint(1, 2))), reverse=True):
        value = float(text[first:last])
        text = f"{text[:first]}{value * rng.choice(SIZES) or rng.choice((0.0, 1.0, -1.0)):.9g}{text[last:]}"
    return text


def crossed(text: str, rng: random.Random) -> str:
    """Two numbers of a line in each other's place: columns or limits that are crossed."""
    lines = text.split("\n")
    several = [k for k, line in enumerate(lines) if len(NUMBER.findall(line)) > 1]
    if several:
        k = rng.choice(several)
        (a, b), (c, d) = sorted(m.span() for m in rng.sample(list(NUMBER.finditer(lines[k])), 2))
        line = lines[k]
        lines[k] = line[:a] + line[c:d] + line[b:c] + line[a:b] + line[d:]
    return "\n".join(lines)


def exchanged(text: str, rng: random.Random) -> str:
    """The values of two lines in each other's place."""
    lines = text.split("\n")
    given = [k for k, line in enumerate(lines) if "=" in line]
    if len(given) > 1:
        i, j = rng.sample(given, 2)
        (a, x), (b, y) = (lines[k].split("=", 1) for k in (i, j))
        lines[i], lines[j] = f"{a}={y}", f"{b}={x}"
    return "\n".join(lines)


def replaced(text: str, rng: random.Random) -> str:
    """Something of another kind in the place of a number or a text."""
    places = [match.span() for match in re.finditer(r"[-+.\w]+|\"[^\"\n]*\"|'[^'\n]*'", text)]
    if not places:
        return text
    first, last = rng.choice(places)
    return text[:first] + rng.choice(TEXTS) + text[last:]


def unended(text: str, rng: random.Random) -> str:
    """A file without one of its terminators, brackets or quotes."""
    places = [match.span() for match in re.finditer(r"\n0 ?/.*|\nQ|[\]\[}{\"'/;]|\n", text)]
    first, last = rng.choice(places or [(0, len(text) // 2)])
    return text[:first] + text[last:]


def repeated(text: str, rng: random.Random) -> str:
    """A line, or a block of lines, that stands twice."""
    lines = text.split("\n")
    first = rng.randrange(len(lines))
    last = first + rng.choice((1, 1, 2, 5, 20))
    place = rng.randrange(len(lines))
    return "\n".join([*lines[:place], *lines[first:last], *lines[place:]])


def dropped(text: str, rng: random.Random) -> str:
    """A file without some lines, or without its end."""
    lines = text.split("\n")
    first = rng.randrange(len(lines))
    last = len(lines) if rng.random() < 0.2 else first + rng.choice((1, 1, 2, 5))
    return "\n".join(lines[:first] + lines[last:])


def encoded(text: str, rng: random.Random) -> bytes:
    """Another encoding, another end of lines, a byte-order mark."""
    kind = rng.choice(("utf-16", "utf-32", "latin-1", "mac", "bom", "crlf", "cr", "nul", "separator"))
    if kind == "latin-1":
        return text.replace("e", "é", 1).encode("latin-1", "replace")
    made = {
        "bom": "\ufeff" + text,
        "crlf": text.replace("\n", "\r\n"),
        "cr": text.replace("\n", "\r"),
        "mac": text.replace("\n", "\n\r"),
        "nul": text.replace("1", "\0", 1),
        "separator": text.replace(" ", "\u2028", 1),
    }
    return made[kind].encode() if kind in made else text.encode(kind)


BY_FIELD = (
    scaled,
    scaled,
    scaled,
    crossed,
    crossed,
    exchanged,
    replaced,
    replaced,
    unended,
    repeated,
    dropped,
)


def mutation(text: str, seed: str) -> bytes:
    """Return a text with damaged fields."""
    rng = random.Random(seed)
    draw = rng.random()
    if draw < 0.1:
        return encoded(text, rng)
    if draw < 0.2:
        try:
            return rng.choice((mutated, rescaled))(text, rng.randrange(2**31))
        except ValueError:  # too few numbers to rescale
            pass
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(BY_FIELD)(text, rng)
    return text.encode("utf-8", "replace")


def run_case(case: psmr.Case) -> str:
    """Take a case that was read to a short run; check what must hold."""
    for table in (case.buses, case.branches, case.shunts, case.loads, case.generators):
        for row in table:
            if any(isinstance(value, float) and np.isnan(value) for value in vars(row).values()):
                raise Wrong(f"{row} has a value that is not a number")
    toml_text(case)
    system = psmr.build(case)
    check_residual(system)
    run_system(system, psmr.SingleRate("TM", 0.01), ())
    return "run"


def run_network(case: psmr.Case) -> str:
    """Solve the power flow of a network without dynamic data."""
    flow = power_flow(case)
    if not np.isfinite(flow.v).all():
        raise Wrong("the power flow has values that are no numbers")
    return "run"


def run_system(system: psmr.System, scheme: object, events: tuple[object, ...], t_end: float = 0.2) -> None:
    """Run a system for a moment."""
    run = psmr.simulate(system, scheme, t_end, events, certify=False)
    if not (np.isfinite(run.x).all() and np.isfinite(run.y).all() and np.isfinite(run.t).all()):
        raise Wrong("the run has values that are no numbers")
    if run.stopped is None and abs(run.t[-1] - t_end) > 1e-9:
        raise Wrong(f"the run ended at {run.t[-1]} s and does not say why")


def run_file(path: Path) -> str:
    """Read a study and run the beginning of it."""
    study = read_study(path)
    system = load_system(study.case)
    scheme = study.recipe.scheme(system.linearise())
    if study.t_end is None:
        return "run"
    events = tuple(event for event in study.events if event.end is None or event.end < study.t_end)
    run_system(system, scheme, events, min(study.t_end, 1.3))
    return "run"


def sweep_file(path: Path) -> str:
    """Read a sweep, which checks it."""
    read_sweep(path)
    return "run"


FORMATS: dict[str, tuple[str, str, tuple[str, ...], Callable[[Path], str]]] = {
    "TOML case": ("wscc9/wscc9.toml", "case.toml", (), lambda path: run_case(psmr.read_case(path))),
    "TOML study": ("wscc9/fault.toml", "study.toml", ("wscc9/wscc9.toml",), run_file),
    "TOML sweep": ("wscc9/clearing-time.toml", "sweep.toml", ("wscc9/wscc9.toml",), sweep_file),
    "RAW": ("kundur/kundur.raw", "case.raw", ("kundur/kundur.dyr",),
            lambda path: run_case(psmr.read_case(path, dynamics=path.with_name("kundur.dyr")))),
    "DYR": ("kundur/kundur.dyr", "case.dyr", ("kundur/kundur.raw",),
            lambda path: run_case(psmr.read_case(path.with_name("kundur.raw"), dynamics=path))),
    "RAWX": ("", "case.rawx", (), lambda path: run_network(psmr.read_case(path))),
    "MATPOWER": ("wscc9/wscc9.m", "case.m", (),
                 lambda path: run_network(psmr.read_case(path, frequency_hz=60.0))),
}  # fmt: skip


@functools.cache
def source(name: str) -> str:
    """Return the good text of a format."""
    if name == "RAWX":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "case.raw"
            path.write_text(raw_text(35))
            return as_rawx(read_sections(path))
    return (CASES / FORMATS[name][0]).read_text()


def attack(tally: Tally, folder: Path, seed: int, number: int) -> None:
    """Try one damaged file, the formats in turn."""
    name = list(FORMATS)[number % len(FORMATS)]
    _, file, beside, use = FORMATS[name]
    for other in beside:
        place = folder / Path(other).name
        if not place.exists():
            place.write_bytes((CASES / other).read_bytes())
    path = folder / file
    path.write_bytes(mutation(source(name), f"{seed} {number}"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = set(folder.iterdir())
        tally.attempt(f"fields of {name}", f"--seed {seed}, mutation {number}", lambda: use(path))
        left = set(folder.iterdir()) - before
        if left:
            tally.add(f"fields of {name}", "lost", f"--seed {seed}, mutation {number} left {left}")
