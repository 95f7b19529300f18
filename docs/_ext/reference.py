"""Sphinx extension: the reference of commands and of study and case files, from what records declare."""

import inspect
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from psmr.cli.cases import check
from psmr.cli.entry import COMMANDS
from psmr.cli.options import START, CommandArgument, settings
from psmr.files.case_file import CaseFile
from psmr.files.toml.case import ROWS
from psmr.files.toml.case import TABLES as CASE
from psmr.files.toml.document import Spec, specification
from psmr.files.toml.region import DYNAMIC
from psmr.network.case.region import Region
from psmr.study.criteria import Criteria
from psmr.study.detectors.detection import MONITORS
from psmr.study.file.recipe import HOMES, scheme_class, scheme_fields
from psmr.study.file.study import EVENTS, HEAD, SIMULATION, Output
from psmr.study.record.record import Record

BAR = r"\|"
"""A bar within a table."""

INTRODUCTION = """\
# Reference of options and fields

Written from the declarations that the command line and the readers of files are made of: what stands here is
what they take. What it means is told in [](../commands.md), [](../files.md), [](../events.md) and
[](../formats.md).

"""


def text() -> str:
    """Return the page in MyST."""
    reading = {each.argument.name: each for each in settings(check) if each.heading == START.heading}
    parts = [INTRODUCTION, "## Commands\n\n"]
    for command in COMMANDS:
        known = settings(command)
        missing = [each for name, each in reading.items() if name not in {of.argument.name for of in known}]
        shared = set(reading) if len(missing) < len(reading) / 2 else set()
        rows = [_option(each) for each in known if each.argument.name not in shared]
        summary = (command.__doc__ or "").partition("\n\n")[0]
        parts += [f"### `psmr {command.__name__}`\n\n{summary}\n\n", *_table("option", rows)]
        if shared:
            without = ", ".join(f"`{each.flags[0]}`" for each in missing)
            but = f", but for {without}" if missing else ""
            parts.append(f"It takes what is said under *Reading a case* as well{but}.\n\n")
    parts += ["### Reading a case\n\n", *_table("option", [_option(each) for each in reading.values()])]
    parts.append("## Study files\n\n")
    for title, spec, made in _study():
        parts += [f"### {title}\n\n", *_summary(made, 1), *_table("field", _fields(spec, made))]
    parts.append("## Case files\n\n")
    for title, spec in {**CASE, "dynamic": DYNAMIC}.items():
        made = ROWS[title][1] if title in CASE else Region
        head = f"[[{title}]]" if title in CASE else f"[{title}]"
        parts += [f"### `{head}`\n\n", *_summary(made), *_table("field", _fields(spec, made))]
    return "".join(parts)


def _study() -> Iterator[tuple[str, Spec, Callable[..., Any]]]:
    """Yield title, fields and what is made of them of every table of a study file."""
    yield "Head", HEAD, CaseFile
    for kind in HOMES:
        yield f'`[scheme]`, `type = "{kind}"`', scheme_fields(kind), scheme_class(kind)
    yield "`[simulation]`", SIMULATION, Record
    for name, known in (("event", EVENTS), ("monitor", MONITORS)):
        for kind, make in known.items():
            yield f'`[[{name}]]`, `type = "{kind}"`', specification(make), make
    yield "`[criteria]`", specification(Criteria), Criteria
    yield "`[output]`", specification(Output), Output


def _option(setting: CommandArgument) -> tuple[str, str]:
    """Return how an option is typed, and what it does."""
    kinds, option = setting.argument.kinds, setting.option
    flags = list(setting.flags)
    if flags and "bool" in kinds and len(kinds) > 1:
        flags.append(flags[-1].replace("--", "--no-"))
    typed = " ".join(filter(None, (", ".join(flags), option.metavar))) or setting.argument.name
    choices = kinds["Literal"].choices if "Literal" in kinds else ()
    among = ", ".join(f"`{choice}`" for choice in choices if choice is not None)
    words = (option.help, among and f"one of {among}", "needed" * bool(setting.needed))
    return f"`{typed}`", _as_typed("; ".join(filter(None, words)))


def _fields(spec: Spec, made: Callable[..., Any]) -> list[tuple[str, str]]:
    """Return the fields of a table, and of each what it holds, its default and what it is."""
    said, known = _described(made), inspect.signature(made).parameters
    rows = []
    for key, field in spec.items():
        name = field.fills or key
        right = re.sub(r", for instance \[[^]]*\]", "", field.right(True))
        default = known[name].default if name in known and not field.help else None
        usual = f"default `{json.dumps(default)}`" if _is_plain(default) else ""
        needed = "needed" if field.needed else ""
        words = (field.help or said.get(name, ""), re.sub(r'"[^"]*"', r"`\g<0>`", right), needed, usual)
        rows.append((f"`{key}`", _as_typed("; ".join(filter(None, words)))))
    return rows


def _is_plain(default: object) -> bool:
    return isinstance(default, str | int | float) and default != "" and default != math.inf


def _as_typed(words: str) -> str:
    """Return a text whose options and quoted examples are code, so that nothing makes dashes of them."""
    parts = re.split(r"(`+[^`]*`+)", words)
    typed = r"(?<![\w-])(--[a-z][\w-]*|'[^' ]+=[^']*')"
    return "".join(part if part[:1] == "`" else re.sub(typed, r"`\1`", part) for part in parts)


def _summary(made: Callable[..., Any], paragraphs: int | None = None) -> Iterator[str]:
    """Yield what the docstring says before its sections, as many paragraphs of it as are wanted."""
    before = re.split(r"\n\n\w+\n-+\n", inspect.getdoc(made) or "")[0]
    yield from (f"{paragraph}\n\n" for paragraph in before.split("\n\n")[:paragraphs])


def _described(made: Callable[..., Any]) -> dict[str, str]:
    """Return the first sentence that a docstring has on each argument or field."""
    sections = re.split(r"\n\n(\w+)\n-+\n", inspect.getdoc(made) or "")
    listed = dict(zip(sections[1::2], sections[2::2], strict=True))
    found = {}
    for names, words in re.findall(
        r"^(\w[\w, ]*)\n((?:    .*\n?|\n(?=    ))+)",
        listed.get("Parameters") or listed.get("Attributes", ""),
        re.M,
    ):
        sentence = re.split(r"(?<=\.) (?=[A-Z\d`])", " ".join(words.split()))[0].removesuffix(".")
        found |= dict.fromkeys(names.split(", "), sentence)
    return found


def _table(head: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    if rows:
        yield f"| {head} | what it is |\n|---|---|\n"
        yield from (f"| {' | '.join(part.replace('|', BAR) for part in row)} |\n" for row in rows)
        yield "\n"


def setup(app):
    """Write the page before Sphinx looks for sources."""

    def write(app):
        page = Path(app.srcdir) / "reference" / "index.md"
        page.parent.mkdir(exist_ok=True)
        if not page.exists() or page.read_text(encoding="utf-8") != text():
            page.write_text(text(), encoding="utf-8")

    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
