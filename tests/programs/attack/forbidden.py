"""What the documentation of the readers forbids: each rule broken in a file that is good otherwise.

The rules are those of docs/files.md, docs/formats.md and the pages of the components. A breach must be
refused by the reader or by the start of the system, and where a line breaks the rule the error names file and
line: its own, or in a TOML file that of its table.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psmr
from psmr import read_study, read_sweep
from psmr.errors import PsmrError
from tests.files.raw import raw_text
from tests.internals import components, load_system, power_flow, refuse_events, schedule, with_event_devices
from tests.programs.attack.mutations import CASES
from tests.programs.attack.tally import Tally, Wrong

OTHER_TYPES = ("true", '"x"', "[]", "{}", "1979-05-27", "nan", "-inf")

# Bounds may be infinite.
BOUNDS = ("q_min_mvar", "q_max_mvar")
OUT_OF_RANGE = (-1.0, 0.0, 0.5, 7.0, 1e9)

TWICE = "a field twice"

# Fields of the TOML files whose values are one of a list.
CHOICES = ("type", "model", "method", "predictor", "solution", "interpolation", "newton", "format", "figure")

TOML_CASES = (
    *("wscc9/wscc9", "wscc9/wscc9-ibr", "wscc9/wscc9-gfm", "wscc9/wscc9-renewable", "wscc9/wscc9-emt"),
    *(
        "wscc9/sauer-pai",
        "kundur/kundur",
        "kundur/thyristor",
        "new-england/new-england",
        "microgrid/microgrid",
    ),
)
STUDIES = ("wscc9/fault", "wscc9/fault-ibr", "wscc9/load-trip", "kundur/fault", "microgrid/load-trip")
SWEEPS = ("wscc9/clearing-time", "wscc9/stability", "kundur/damping", "new-england/n-1")


TURBINE = "1 'TGOV1' 1  0.05 0.5 1.0 0.0 2.0 6.0 0.0 /"


@dataclass(frozen=True)
class Breach:
    """A file that breaks a rule.

    Attributes
    ----------
    kind, rule
        The format, and the rule in words.
    text
        The file.
    line
        Number of the line that breaks it; None where none does by itself.
    beside
        A file next to it, as (name, text).
    """

    kind: str
    rule: str
    text: str
    line: int | None = None
    beside: tuple[str, str] | None = None


def breaches() -> Iterator[Breach]:
    """Yield every breach, format by format."""
    for name in TOML_CASES:
        text = (CASES / f"{name}.toml").read_text()
        yield from _toml("TOML case", text)
        yield from _parameters(text)
    for kind, names in (("TOML study", STUDIES), ("TOML sweep", SWEEPS)):
        for name in names:
            folder = CASES / Path(name).parent
            text = (CASES / f"{name}.toml").read_text()
            text = re.sub(
                r'^(case|study) = "(.*)"', lambda m, at=folder: f'{m[1]} = "{at / m[2]}"', text, flags=re.M
            )
            yield from _toml(kind, text)
    yield from _raw()
    yield from _dyr()
    yield from _matpower()


def attack(tally: Tally, folder: Path, breach: Breach) -> None:
    """Read a file that breaks a rule, and count what comes of it."""

    def refused() -> str:
        path = folder / {"RAW": "case.raw", "DYR": "case.dyr", "MATPOWER": "case.m"}.get(
            breach.kind, "file.toml"
        )
        path.write_text(breach.text)
        if breach.beside is not None:
            (folder / breach.beside[0]).write_text(breach.beside[1])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _use(breach.kind, path)
        except PsmrError as error:
            if breach.line is not None and not _named(str(error), path, breach):
                raise Wrong(f"line {breach.line} is not named: {error}") from None
            raise
        raise Wrong("accepted")

    line = "" if breach.line is None else f", line {breach.line}: {breach.text.splitlines()[breach.line - 1]}"
    tally.attempt(f"rules of {breach.kind}", f"{breach.rule}{line}", refused)


def _named(words: str, path: Path, breach: Breach) -> bool:
    """Return whether an error names the line, alone or in a list of lines."""
    assert breach.line is not None
    places = {breach.line}
    if breach.kind.startswith("TOML"):
        before = breach.text.split("\n")[: breach.line]
        header = max((k for k, line in enumerate(before, start=1) if line.startswith("[")), default=0)
        places |= {header, breach.line + 1 if breach.rule == TWICE else breach.line}
        if not header and f"{path.name}: {before[-1].partition(' ')[0]} = " in words:
            return True  # of a field before the first table
    return any(int(found) in places for found in re.findall(rf"{re.escape(path.name)}:(\d+)", words))


def _use(kind: str, path: Path) -> None:
    if kind == "TOML study":
        study = read_study(path)
        if study.t_end is not None:
            system = load_system(study.case)
            refuse_events(study, system)
            schedule(with_event_devices(system, study.events), study.events, study.t_end)
    elif kind == "TOML sweep":
        read_sweep(path)
    elif kind == "RAW":
        power_flow(psmr.read_case(path))
    elif kind == "DYR":
        psmr.build(psmr.read_case(path.with_name("case.raw"), dynamics=path))
    elif kind == "MATPOWER":
        power_flow(psmr.read_case(path, frequency_hz=60.0))
    else:
        psmr.build(psmr.read_case(path))


def _changed(lines: list[str], at: int, line: str) -> tuple[str, int]:
    return "\n".join([*lines[:at], line, *lines[at + 1 :]]) + "\n", at + 1


def _toml(kind: str, text: str) -> Iterator[Breach]:
    """Yield other types for each number, unknown fields and choices, and a head that lacks a field."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        found = re.fullmatch(r"(\w+) = ([^#]*?)(\s*#.*)?", line)
        if line.startswith("["):
            new = [*lines[: at + 1], "nonsense = 1", *lines[at + 1 :]]
            yield Breach(kind, "a field that is misspelt", "\n".join(new), at + 2)
        if found is None:
            continue
        key, value = found[1], found[2]
        if re.fullmatch(r"[-+]?[\d._]+(e[-+]?\d+)?", value):
            for other in OTHER_TYPES[: -2 if key in BOUNDS else None]:
                yield Breach(kind, "a field of the wrong type", *_changed(lines, at, f"{key} = {other}"))
        elif value in ("true", "false"):
            for other in ("1", '"true"', "[]"):
                yield Breach(kind, "a field of the wrong type", *_changed(lines, at, f"{key} = {other}"))
        elif key in CHOICES and value.startswith('"'):
            for other in ('"nonsense"', "7", "[]", '""'):
                yield Breach(kind, "a choice that is not there", *_changed(lines, at, f"{key} = {other}"))
        if key in ("format", "version", "case") and at < 20:
            yield Breach(kind, f"a file without {key}", "\n".join(lines[:at] + lines[at + 1 :]))
        if key == "version":
            for other in ("0", "2", "1.5"):
                yield Breach(kind, "a version that is not there", *_changed(lines, at, f"version = {other}"))
        yield Breach(kind, TWICE, *_changed(lines, at, f"{line}\n{line}"))


def _parameters(text: str) -> Iterator[Breach]:
    """Yield values beyond the range of each parameter of a device, as its component's page gives it."""
    known = {component.__name__: component for component in components()}
    lines, component = text.split("\n"), None
    for at, line in enumerate(lines):
        if line.startswith("["):
            block = lines[
                at + 1 : next((k for k in range(at + 1, len(lines)) if lines[k].startswith("[")), None)
            ]
            types = [m[1] for other in block if (m := re.match(r'type = "(\w+)"', other))]
            component = known.get(types[0]) if types else None
        found = re.match(r"(\w+) = [-+\d.]", line)
        declared = getattr(component, found[1], None) if component and found else None
        for value in OUT_OF_RANGE if isinstance(declared, psmr.Parameter) else ():
            if declared.objection(value):
                yield Breach(
                    "TOML case",
                    f"{component.__name__}.{found[1]} {declared.objection(value)}",
                    *_changed(lines, at, f"{found[1]} = {value}"),
                )


def _edited(
    kind: str, text: str, rule: str, old: str, new: str, beside: tuple[str, str] | None = None
) -> Breach:
    """Return the breach of a text in which the only or first `old` is `new`."""
    assert old in text, (rule, old)
    line = text[: text.index(old)].count("\n") + 1
    return Breach(kind, rule, text.replace(old, new, 1), line, beside)


def _raw() -> Iterator[Breach]:
    kundur = (CASES / "kundur/kundur.raw").read_text()
    changes = (
        ("a number that is none", "5,6,'1 ',0.0025,0.025,", "5,6,'1 ',0.0025,x,"),
        ("a value that is not finite", "5,6,'1 ',0.0025,0.025,", "5,6,'1 ',0.0025,nan,"),
        ("a branch to a bus that is not there", "5,6,'1 ',0.0025", "5,66,'1 ',0.0025"),
        ("a value that is not finite", "5,6,'1 ',0.0025,0.025,0.04375", "5,6,'1 ',0.0025,0.025,inf"),
        ("a load at a bus that is not there", "7,'1 ',1,1,1,0.0,0.0,1006", "77,'1 ',1,1,1,0.0,0.0,1006"),
        ("a bus type that is not there", "'BUS 5       ', 230.0,1,", "'BUS 5       ', 230.0,5,"),
        ("a base voltage below zero", "'BUS 5       ', 230.0,1,", "'BUS 5       ',-230.0,1,"),
        ("a code of a transformer", "1,5,0,'1 ',1,2,1,", "1,5,0,'1 ',4,2,1,"),
        ("a code of a transformer", "1,5,0,'1 ',1,2,1,", "1,5,0,'1 ',1,4,1,"),
        ("a code of a transformer", "1,5,0,'1 ',1,2,1,", "1,5,0,'1 ',1,2,3,"),
        ("a ratio of nothing", "0.0,0.15,900.0\n1.0,0.0,0.0", "0.0,0.15,900.0\n0.0,0.0,0.0"),
        ("a version that is not read", "0, 100.0, 33,", "0, 100.0, 22,"),
        ("a version that is not read", "0, 100.0, 33,", "0, 100.0, 37,"),
        ("a base of nothing", "0, 100.0, 33,", "0, 0.0, 33,"),
        ("a frequency below zero", "0, 0, 60.0 ", "0, 0, -60.0 "),
        ("a section out of its order", "END OF LOAD DATA, BEGIN FIXED SHUNT DATA",
         "END OF LOAD DATA, BEGIN GENERATOR DATA"),
        ("a text that is not ended", "'BUS 6       '", "'BUS 6        "),
        ("a status that is none", "7,'1 ',1,0.0,200.0", "7,'1 ',2,0.0,200.0"),
        ("a machine base below zero", "0,900.0,0.0025", "0,-900.0,0.0025"),
        ("limits in the wrong order", "185.0,9999.0,-9999.0", "185.0,-9999.0,9999.0"),
    )  # fmt: skip
    for rule, old, new in changes:
        breach = _edited("RAW", kundur, rule, old, new)
        anywhere = rule == "a text that is not ended"
        yield Breach("RAW", rule, breach.text, None if anywhere or "ratio" in rule else breach.line)
    rows = (
        ("multi_terminal_dc", "an MTDC line without its converters", "'MT',2,2,1,1,0.0,0.0,0"),
        ("facts", "a FACTS device in service without a model", "'F',2,3,8,0.0,0.0,1.0,9999.0,0.0"),
        ("induction_machine", "an induction machine in service", "2,'1 ',1,1,1,1,1,1,1,1,100.0,20.0"),
        ("gne", "a GNE device in service", "'G','MODEL',1,2,1,0,0,1"),
    )
    for section, rule, row in rows:
        yield Breach("RAW", rule, raw_text(33, **{section: row}))


def _dyr() -> Iterator[Breach]:
    kundur, raw = (CASES / "kundur" / f"kundur.{kind}" for kind in ("dyr", "raw"))
    text, beside = kundur.read_text(), ("case.raw", raw.read_text())
    lines = text.rstrip("\n").split("\n")
    added = (
        ("a model that is not known", "1 'NOMODEL' 1  1.0 /"),
        ("too few values", "1 'TGOV1' 1  0.05 0.5 1.0 /"),
        ("too many values", "1 'TGOV1' 1  0.05 0.5 1.0 0.0 2.0 6.0 0.0 1.0 2.0 /"),
        ("a text in the place of a number", "1 'TGOV1' 1  0.05 'x' 1.0 0.0 2.0 6.0 0.0 /"),
        ("a value that is not finite", "1 'TGOV1' 1  0.05 nan 1.0 0.0 2.0 6.0 0.0 /"),
        ("a time constant below zero", "1 'TGOV1' 1  0.05 -0.5 1.0 0.0 2.0 6.0 0.0 /"),
        ("crossed limits", "1 'TGOV1' 1  0.05 0.5 0.0 1.0 2.0 6.0 0.0 /"),
        ("a transfer trip of LDS3BL",
         f"7 'LDS3BL' 1 2 '1' 1 {' '.join(['0'] * 20)} 0.02 /"),
        ("a power control of GGOV1 without droop",
         "1 'GGOV1' 1  0 0 0.04 0.3 1.0 -1.0 10.0 2.0 0.0 1.0 1.0 0.15 0.5 1.5 0.2 0.1 0.0 0.0 4.0 5.0 0.0"
         " 99.0 0.0 99.0 -99.0 0.01 0.01 10.0 0.1 0.0 0.0 4.0 5.0 99.0 -99.0 /"),
        ("a motor with saturation",
         "7 'CIM5BL' 1  1 0.01 0.1 3.0 0.02 0.1 0.0 0.0 1.0 0.1 1.2 0.3 100.0 0.0 0.0 0.5 0.0 0.0 2.0 0.0 /"),
    )  # fmt: skip
    for rule, record in added:
        last = len(lines) + 1 + record.count("\n")
        yield Breach("DYR", rule, "\n".join([*lines, record, ""]), last, beside)
    for rule, old, new in (
        ("no inertia", "8.0 0.03 0.4 0.05  6.5", "8.0 0.03 0.4 0.05  -6.5"),
        ("a reactance below zero", "1.8 1.7 0.3", "-1.8 1.7 0.3"),
        ("a subtransient reactance below zero", "0.55 0.25 0.2 ", "0.55 -0.25 0.2 "),
        ("a time constant of nothing", "1  8.0 0.03", "1  0.0 0.03"),
        ("an input code that is not there", "'IEEEST' 1  1 0", "'IEEEST' 1  9 0"),
    ):
        yield _edited("DYR", text, rule, old, new, beside)


def _matpower() -> Iterator[Breach]:
    text = (CASES / "wscc9/wscc9.m").read_text()
    for rule, old, new in (
        ("a base of nothing", "mpc.baseMVA = 100;", "mpc.baseMVA = 0;"),
        ("a number that is none", "4	5	0.01	0.085", "4	5	x	0.085"),
        ("a value that is not finite", "4	5	0.01	0.085", "4	5	NaN	0.085"),
        ("a branch without impedance", "1	4	0	0.0576", "1	4	0	0"),
        ("a branch to a bus that is not there", "4	5	0.01	0.085", "4	55	0.01	0.085"),
        (
            "a row that is too short",
            "	5	1	125	50	0	0	1	1	0	230	1	1.1	0.9;",
            "	5	1	125;",
        ),
        ("a bus twice", "	5	1	125", "	4	1	125"),
        ("a bus type that is not there", "	5	1	125", "	5	9	125"),
    ):
        yield _edited("MATPOWER", text, rule, old, new)
    for field in ("baseMVA", "bus", "gen", "branch"):
        yield Breach("MATPOWER", f"a file without {field}", text.replace(f"mpc.{field} =", f"mpc.x{field} ="))
