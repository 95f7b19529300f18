"""Sphinx extension: the reference of commands and of study and case files, from what records declare."""

from collections.abc import Iterator
from pathlib import Path

from psmr.cli.entry import COMMANDS
from psmr.cli.options import CommandArgument, settings
from psmr.files.toml.case import DYNAMIC
from psmr.files.toml.case import TABLES as CASE
from psmr.files.toml.document import Spec, specification
from psmr.study.criteria import Criteria
from psmr.study.detectors.detection import MONITORS
from psmr.study.file.recipe import HOMES, scheme_fields
from psmr.study.file.study import EVENTS, HEAD, SIMULATION, Output

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
    parts = [INTRODUCTION, "## Commands\n\n"]
    for command in COMMANDS:
        rows = [(f"`{_flags(each)}`", _words(each)) for each in settings(command)]
        summary = (command.__doc__ or "").partition("\n\n")[0]
        parts += [f"### `psmr {command.__name__}`\n\n{summary}\n\n", *_table("option", rows)]
    parts.append("## Study files\n\n")
    for title, spec in _study():
        parts += [f"### {title}\n\n", *_table("field", _fields(spec))]
    parts.append("## Case files\n\n")
    for title, spec in {**CASE, "dynamic": DYNAMIC}.items():
        head = f"[[{title}]]" if title in CASE else f"[{title}]"
        parts += [f"### `{head}`\n\n", *_table("field", _fields(spec))]
    return "".join(parts)


def _study() -> Iterator[tuple[str, Spec]]:
    yield "Head", HEAD
    for kind in HOMES:
        yield f'`[scheme]`, `type = "{kind}"`', scheme_fields(kind)
    yield "`[simulation]`", SIMULATION
    for name, known in (("event", EVENTS), ("monitor", MONITORS)):
        for kind, make in known.items():
            yield f'`[[{name}]]`, `type = "{kind}"`', specification(make)
    yield "`[criteria]`", specification(Criteria)
    yield "`[output]`", specification(Output)


def _flags(setting: CommandArgument) -> str:
    metavar = setting.option.metavar or ""
    flags = ", ".join(setting.flags)
    return f"{flags} {metavar}".strip() if flags else metavar or setting.argument.name


def _words(setting: CommandArgument) -> str:
    kinds = setting.argument.kinds
    choices = kinds["Literal"].choices if "Literal" in kinds else ()
    among = ", ".join(f"`{choice}`" for choice in choices if choice is not None)
    return "; ".join(part for part in (setting.option.help, among, "needed" * bool(setting.needed)) if part)


def _fields(spec: Spec) -> list[tuple[str, str]]:
    rows = [(key, field, field.right(True) + ", needed" * field.needed) for key, field in spec.items()]
    return [(f"`{key}`", "; ".join(filter(None, (right, field.help)))) for key, field, right in rows]


def _table(head: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    if rows:
        yield f"| {head} | |\n|---|---|\n"
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
