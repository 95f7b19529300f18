"""Sphinx extension: run the scripts of the gallery and make a page of each, with what it prints and draws.

A script is a Python file whose docstring is a title line and an introduction; every figure that it makes
with pyplot and everything it prints appears below its text. It runs by itself as well.
"""

import ast
import contextlib
import io
import os
import runpy
import textwrap
from pathlib import Path

FOLDER = "gallery"
CARD, LETTERS = (3.4, 2.1), 24
"""Size of a thumbnail in inches, and letters of a text that it has room for."""


def build(source: Path) -> None:
    """Run every script and write ``<script>.md`` and its pictures beside it."""
    folder = source / FOLDER
    cards = []
    for script in sorted(folder.glob("*.py")):
        page = script.with_suffix(".md")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.chdir(source.parent):
            runpy.run_path(str(script))
        pictures = _pictures(script)
        page.write_text(_page(script, printed.getvalue(), pictures), encoding="utf-8")
        cards.append(_card(script))
    (folder / "cards.inc").write_text("\n".join(cards), encoding="utf-8")


def _pictures(script: Path) -> list[str]:
    """Save the figures that a script has left open, and return the names of the files."""
    from matplotlib import pyplot as plt

    from psmr.figures.with_matplotlib import save

    names, folder = [], script.parent / "_figures"
    figures = [plt.figure(number) for number in plt.get_fignums()]
    for figure in figures:
        names.append(f"{script.stem}-{len(names) + 1}.svg")
        save(figure, folder / names[-1])
    save(_thumbnail(figures[0]), folder / f"{script.stem}.svg")
    plt.close("all")
    return names


def _thumbnail(figure):
    """Return the first panel of a figure alone, so small that its letters can be read on a card."""
    from matplotlib.gridspec import GridSpec

    first, *others = figure.axes
    for part in (*others, *figure.legends, *filter(None, [first.get_legend()])):
        part.remove()
    figure.suptitle("")
    title = first.get_title(loc="left") or first.get_title()
    first.set_title("", loc="center")
    first.set_title("" if len(title) > 2 * LETTERS else title, loc="left", fontsize=9)
    for text in first.texts:
        # Captions of events are longer than a card is wide.
        text.set_visible(len(text.get_text()) <= LETTERS and "\n" not in text.get_text())
    first.set_ylabel(textwrap.fill(first.get_ylabel(), LETTERS))
    figure.set_size_inches(*CARD)
    if figure.get_layout_engine() is not None:
        first.set_subplotspec(GridSpec(1, 1, figure=figure)[0])
    else:
        first.set_position((0.0, 0.0, 1.0, 1.0))
    return figure


def _title(script: Path) -> str:
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or script.stem
    return text.partition("\n")[0].rstrip(".")


def _card(script: Path) -> str:
    """Return a thumbnail with the title, both a link to the page of the script."""
    title = _title(script)
    return f"[![{title}](_figures/{script.stem}.svg)\\\n{title}]({script.stem}.md)\n"


def _page(script: Path, printed: str, pictures: list[str]) -> str:
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    title, _, introduction = (ast.get_docstring(tree) or script.stem).partition("\n")
    first = tree.body[1].lineno if len(tree.body) > 1 else 1
    code = "\n".join(text.split("\n")[first - 1 :]).strip()
    parts = [f"# {title.rstrip('.')}", introduction.strip(), f"```python\n{code}\n```"]
    if printed.strip():
        parts.append(f"```text\n{printed.rstrip()}\n```")
    parts += [f"![{title}](_figures/{name})" for name in pictures]
    return "\n\n".join(parts) + "\n"


def setup(app):
    """Run the scripts before Sphinx looks for sources."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    app.connect("builder-inited", lambda app: build(Path(app.srcdir)))
    return {"parallel_read_safe": True}
