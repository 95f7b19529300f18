"""Sphinx extension: the list of models, a page for each module of them, and the glossary of reports."""

import inspect
import sys
import textwrap
from itertools import groupby
from pathlib import Path

import model_list
from latex import equations, parameter_rows, symbol

from psmr.dae.declare.component import Component
from psmr.devices.catalogue import components
from psmr.figures.modes.render import GLOSSARY

INTRODUCTION = """\
# Models and their equations

All models that a case can use: {components} components, and {records} kinds of PSS/E record that become one
of them. Each name links to its equations, its parameters with units and defaults, and its sources. This
page and those behind it are written from the declarations that the kernels are compiled from: what is read
here is what runs.

How to read the tables: *states* is the number of differential variables as declared; an option may add or
remove some. *Switches* are the parameters that choose between parts of a model. *Limits of the record* says
which values of the PSS/E record must be as given, because psmr has the model only in that form, and which
have no effect here. Records with a star exist for one load (BL), and for the loads of an owner (OW), a zone
(ZN), an area (AR) or for all (AL): CIM5BL, CIM5OW, ... GENCLS with H = 0 is an `InfiniteBus`; IEEEG1 with a
second machine is an `IEEEG1CC`. What psmr makes of the network sections of a RAW file, and of single values
of the records: [](../formats.md).

On the pages of the equations derivatives come first, then the algebraic equations, then what the device
adds to the balances of its bus ($\\mathrel{{+}}=$); abbreviations $c_i$ stand below. Units are per unit on
the system base unless stated.
"""

PAGES = """
## Pages

```{{toctree}}
:maxdepth: 1

{names}
```
"""


def write(folder: Path) -> None:
    """Write the pages; files whose text has not changed are left alone."""
    folder.mkdir(exist_ok=True)
    modules = [(module, list(kinds)) for module, kinds in groupby(components(), key=_noun)]
    merged: dict[str, list[type[Component]]] = {}
    for module, kinds in modules:
        merged.setdefault(module, []).extend(kinds)
    for module, kinds in merged.items():
        _put(folder / f"{module.rpartition('.')[2]}.md", _page(module, kinds))
    pages = {kind: f"{module.rpartition('.')[2]}.md" for module, kinds in merged.items() for kind in kinds}
    parts = [INTRODUCTION.format(components=len(pages), records=model_list.count())]
    for title, kinds in model_list.groups().items():
        head = title.replace("_", " ")
        parts.append(f"\n## {head[0].upper()}{head[1:]}\n\n{model_list.table(kinds, pages)}\n")
    parts.append(
        PAGES.format(names="\n".join(page.removesuffix(".md") for page in dict.fromkeys(pages.values())))
    )
    _put(folder / "index.md", "".join(parts))
    words = "\n\n".join(f"{word}\n: {sentence}" for word, sentence in GLOSSARY)
    _put(folder / "glossary.inc", f"{words}\n")


def _noun(kind: type[Component]) -> str:
    """Return the module, or the package of a family, that a component's page is about."""
    return ".".join(kind.__module__.split(".")[:3])


def _page(module: str, kinds: list[type[Component]]) -> str:
    text = inspect.cleandoc(sys.modules[module].__doc__ or "")
    title = module.rpartition(".")[2].replace("_", " ").capitalize()
    parts = [f"# {title}", "", _prose(text)]
    for name, own in groupby(kinds, key=lambda kind: kind.__module__):
        # What the components of one file have in common stands before them: circuits, symbols, sources.
        # The first sentence of a file names it; its components say that again.
        if name != module:
            _, _, common = inspect.cleandoc(sys.modules[name].__doc__ or "").partition("\n\n")
            parts += ["", _prose(common)]
        parts += [_section(kind) for kind in own]
    return "\n".join(parts)


def _section(kind: type[Component]) -> str:
    lines = " \\\\\n".join(equations(kind))
    parts = [
        f"\n## {kind.__name__}\n",
        _prose(inspect.cleandoc(kind.__doc__ or "")),
        "",
        f"$$\n\\begin{{aligned}}\n{lines}\n\\end{{aligned}}\n$$",
        "",
        _variables(kind),
    ]
    rows = parameter_rows(kind)
    if rows:
        parts += ["", "| symbol | parameter | unit | meaning | default |", "|---|---|---|---|---|"]
        parts += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(parts)


def _variables(kind: type[Component]) -> str:
    def listed(names: tuple[str, ...]) -> str:
        return ", ".join(f"`{n}` (${symbol(n)}$, {kind.units.get(n, 'pu')})" for n in names) or "none"

    items = [("States", listed(kind.states)), ("Algebraic variables", listed(kind.algebraic))]
    items += [("Inputs", ", ".join(f"`{n}`" for n in kind.inputs) or "none")]
    if kind.limits:
        sides = {x: [f"`{side}`" if side else "" for side in pair] for x, pair in kind.limits.items()}
        limits = [f"`{x}` within [{low or '-∞'}, {high or '∞'}]" for x, (low, high) in sides.items()]
        items += [("Non-windup limits", ", ".join(limits))]
    if words := ", ".join(action.name for action in kind.actions if action.name):
        items += [("Acts in a run", words)]
    return "\n".join(f"- {name}: {text}" for name, text in items)


def _prose(text: str) -> str:
    """Turn a docstring into MyST: the lines of a formula or diagram become a block of code."""
    out = []
    for paragraph in text.replace("``", "`").split("\n\n"):
        lines = paragraph.split("\n")
        # A paragraph of short lines with an equals sign each is a set of equations, not prose.
        formula = all(" = " in line or line.startswith(" ") for line in lines) and paragraph[-1:] != "."
        if paragraph.strip() == "::":
            continue
        if formula:
            out.append("```text\n" + textwrap.dedent(paragraph) + "\n```")
        else:
            out.append(paragraph.removesuffix(":") + (":" if paragraph.endswith(":") else ""))
    return "\n\n".join(out)


def _put(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app):
    """Write the pages before Sphinx looks for sources."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "equations"))
    return {"parallel_read_safe": True}
