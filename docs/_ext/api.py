"""Sphinx extension: the API by group, each name with typed signature, docstring and an example that ran.

A group is a file ``docs/api/NN_<group>.py``: its docstring is the title and the introduction, a cell
that begins with ``# %% <names>`` is the example of these names. The cells of a file run one after
another when the documentation is built, in an empty folder; what they print stands below them. A name is
documented in one cell; one with ``(needs <module>)`` runs where that is installed, one with
``(minutes)`` takes them and does not run.
"""

import ast
import contextlib
import functools
import importlib.util
import inspect
import io
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

FOLDER = "api"
LINES = 14
"""Lines of what an example prints that are shown."""

HEAD = re.compile(
    r"^# %% ?(?P<names>[\w., ]+?)(?: \((?:needs (?P<needs>\w+)|(?P<minutes>minutes))\))?$", re.M
)


@dataclass(frozen=True)
class Cell:
    """An example: the names that it is of, its code, whether it is run here, and what it printed."""

    names: tuple[str, ...]
    code: str
    runs: bool = True
    printed: str = ""


@dataclass(frozen=True)
class Group:
    """A page: its name, title and introduction, and its cells."""

    name: str
    title: str
    introduction: str
    cells: tuple[Cell, ...]


def groups(folder: Path) -> list[Group]:
    """Return the groups of a folder, in the order of their files, before anything ran."""
    found = []
    for file in sorted(folder.glob("[0-9]*.py")):
        text = file.read_text(encoding="utf-8")
        title, _, introduction = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
        heads = list(HEAD.finditer(text))
        ends = [head.start() for head in heads[1:]] + [len(text)]
        cells = [
            Cell(tuple(head["names"].split(", ")), text[head.end() : end].strip(), _runs(head))
            for head, end in zip(heads, ends, strict=True)
        ]
        found.append(
            Group(file.stem.partition("_")[2], title.rstrip("."), introduction.strip(), tuple(cells))
        )
    return found


def _runs(head: re.Match[str]) -> bool:
    return not head["minutes"] and (not head["needs"] or importlib.util.find_spec(head["needs"]) is not None)


def carried_out(group: Group) -> Group:
    """Return the group with what its cells print, run one after another in an empty folder."""
    from matplotlib import pyplot

    space: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in group.cells:
            printed = io.StringIO()
            if cell.runs:
                with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                    exec(compile(cell.code, f"{group.name}: {cell.names[0]}", "exec"), space)
            cells.append(replace(cell, printed=printed.getvalue().rstrip()))
    # What examples drew is not to be taken for figures of the gallery.
    pyplot.close("all")
    return replace(group, cells=tuple(cells))


def page(group: Group) -> str:
    """Return a page in reStructuredText."""
    parts = [_heading(group.title), _linked(group.introduction), ""]
    parts += [".. list-table::", "   :widths: 30 70", ""]
    for cell in group.cells:
        for name in cell.names:
            parts += [f"   * - :py:obj:`~{name}`", f"     - {_summary(name)}"]
    for cell in group.cells:
        for name in cell.names:
            parts += ["", *_documented(name, cell if name == cell.names[0] else None)]
    return "\n".join(parts) + "\n"


def named(name: str) -> Any:
    """Return what a name is: what is public under it, before a module below that is called the same."""
    first, *rest = name.split(".")
    with contextlib.suppress(AttributeError):
        return functools.reduce(getattr, rest, importlib.import_module(first))
    return resolve_name(name)


def _heading(title: str) -> str:
    return f"{title}\n{'=' * len(title)}\n"


def _linked(text: str) -> str:
    """Return text with its links to pages as reStructuredText has them."""
    return re.sub(r"\[\]\(\.\./([\w-]+)\.md\)", r":doc:`/\1`", text)


def _summary(name: str) -> str:
    """Return the first sentence of a docstring, in one line."""
    words = (inspect.getdoc(named(name)) or "").partition("\n\n")[0]
    return re.split(r"(?<=\.)\s", " ".join(words.split()))[0].replace("|", r"\|")


def _documented(name: str, cell: Cell | None) -> list[str]:
    """Return the directive of a name, with its example between its docstring and its members."""
    found = named(name)
    if inspect.ismodule(found):
        lines = [f".. automodule:: {name}"]
    elif isinstance(found, type):
        lines = [f".. autoclass:: {name}"]
    else:
        lines = [f".. autofunction:: {name}"]
    if cell is not None and cell.code:
        lines += ["", "   .. rubric:: Example", "", *_block("python", cell.code)]
        shown = cell.printed.split("\n")
        if cell.printed:
            lines += _block("text", "\n".join(shown[:LINES] + ["..."] * (len(shown) > LINES)))
    return lines


def _block(language: str, text: str) -> list[str]:
    indented = [f"      {line}".rstrip() for line in text.split("\n")]
    return [f"   .. code-block:: {language}", "", *indented, ""]


class _Plain(ast.NodeTransformer):
    """Leaves of ``Annotated[X, ...]`` the type."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        annotated = ast.unparse(node.value).endswith("Annotated") and isinstance(node.slice, ast.Tuple)
        return node.slice.elts[0] if annotated else node


def typed(app, what, name, found, options, signature, returned):
    """Return a signature with the types as they are written, and defaults short."""
    if what not in ("class", "function", "method") or signature is None:
        return None
    try:
        known = inspect.signature(found)
    except (TypeError, ValueError):
        return None
    own = [
        each.replace(annotation=_type(each.annotation), default=_default(each.default))
        for each in known.parameters.values()
        if each.name != "self" and "Never" not in str(each.annotation)
    ]
    words = str(known.replace(parameters=own, return_annotation=inspect.Signature.empty))
    back = "" if what == "class" else str(_type(known.return_annotation) or "")
    return words, None if known.return_annotation is inspect.Signature.empty else back


class _Words(str):
    """Words that stand in a signature as they are."""

    def __repr__(self) -> str:
        return str(self)


def _type(annotation: Any) -> Any:
    if annotation is inspect.Parameter.empty:
        return annotation
    words = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    with contextlib.suppress(SyntaxError):
        words = ast.unparse(_Plain().visit(ast.parse(words, mode="eval")))
    return _Words(re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", words))


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return value
    words = getattr(value, "__name__", None) or repr(value)
    return _Words("..." if words.startswith("<") or len(words) > 60 else words)


def build(app) -> None:
    """Write the page of each group, and the one that lists them."""
    folder = Path(app.srcdir) / FOLDER
    found = [carried_out(group) for group in groups(folder)]
    listed = [_heading("API"), (folder / "index.inc").read_text(encoding="utf-8"), ""]
    for group in found:
        _write(folder / f"{group.name}.rst", page(group))
        names = ", ".join(f":py:obj:`~{name}`" for cell in group.cells for name in cell.names)
        listed += [f":doc:`{group.name}`", f"   {names}", ""]
    listed += [".. toctree::", "   :hidden:", "", *(f"   {group.name}" for group in found)]
    _write(folder / "index.rst", "\n".join(listed) + "\n")


def _write(file: Path, text: str) -> None:
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def setup(app):
    """Write the pages before Sphinx looks for sources."""
    app.connect("builder-inited", build)
    app.connect("autodoc-process-signature", typed)
    return {"parallel_read_safe": True}
