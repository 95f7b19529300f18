"""Figures, the page of a sweep, and the reports of its worst runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from psmr.base.errors import PsmrError
from psmr.figures.run.canvas import close, save, styled
from psmr.study.output.files import write_text
from psmr.sweep.point_runner import PointRunner
from psmr.sweep.words import said, shown

if TYPE_CHECKING:
    from psmr.sweep.swept import Swept

# Rows of the ranked table that a page shows; all are in rows.csv.
ROWS = 200

# Of different messages of failed points, and of warnings, a page shows so many.
MESSAGES = 20

# Rows above which they are not written as CSV beside the Parquet files.
MOST_CSV = 200_000


def write_report(swept: Swept, runner: PointRunner) -> tuple[Path, ...]:
    """Write figures, table, page and the reports of the worst runs; return their paths.

    The worst runs are carried out once more, each alone, since no sweep keeps every trajectory.
    """
    from psmr.figures.modes.page import Picture
    from psmr.figures.modes.render import inline_svg
    from psmr.figures.sweep import figures_of

    files, pictures = [], []
    for drawn in figures_of(swept):
        files.append(swept.folder / f"{drawn.name}.svg")
        save(drawn.figure, files[-1])
        with styled():
            pictures.append(Picture(inline_svg(drawn.figure, drawn.words), drawn.words, wide=True))
        close(drawn.figure)
    if len(swept.table) <= MOST_CSV:
        files.append(swept.folder / "rows.csv")
        write_text(files[-1], swept.ranked().to_csv(index=False))
    links = _worst(swept, runner)
    files += [swept.folder / link for link in links.values()]
    page = swept.folder / "sweep.html"
    write_text(page, _page(swept, pictures, links))
    return (*files, page)


def _worst(swept: Swept, runner: PointRunner) -> dict[int, str]:
    """Write the reports of the worst runs; return their paths from the folder, by the runs' numbers."""
    from psmr.figures.run.report import run_page

    links: dict[int, str] = {}
    if swept.sweep.study.t_end is None:
        return links
    ranked = swept.ranked()
    for number in ranked.loc[ranked["status"] == "done", "run"].head(swept.sweep.worst).tolist():
        _, run = runner.point(int(number))
        if run is None:
            continue
        start, variation = runner.start(int(number))
        what = ", ".join(f"{name} {_text(value)}" for name, value in variation.labels)
        try:
            page = run_page(replace(run, certificate=start.certify(run)), title=f"{swept.sweep.name}: {what}")
        except PsmrError:  # a run that cannot be drawn must not take the page of the others with it
            continue
        links[int(number)] = f"worst/run-{number}.html"
        write_text(swept.folder / links[int(number)], page)
    return links


def _page(swept: Swept, pictures: list[Any], links: dict[int, str]) -> str:
    from psmr.figures.modes.render import render

    worst = swept.ranked()
    table = shown(worst, swept.labels, swept.sweep.measure, ROWS)
    units = {"clearing": "s"} | {c.name: c.unit for c in swept.sweep.measure.columns}
    # The names of what was swept are those of the file; only measures are words.
    words = [name if "." in name else name.replace("_", " ") for name in table.columns]
    heads = [
        f"{word} [{units[name]}]" if units.get(name) else word
        for word, name in zip(words, table.columns, strict=True)
    ]
    left = [k for k, name in enumerate(table.columns) if not pd.api.types.is_numeric_dtype(table[name])]
    rows = [
        {
            "cells": [_text(value) for value in cells],
            "mark": _mark(row),
            "link": links.get(int(row["run"]), ""),
        }
        for cells, row in zip(table.itertuples(index=False), worst.head(ROWS).to_dict("records"), strict=True)
    ]
    return render(
        "sweep.html",
        "psmr.sweep",
        title=swept.sweep.name,
        headline=swept.headline,
        colour=_colour(swept),
        pictures=pictures,
        heads=heads,
        rows=rows,
        left=left,
        more=len(swept.table) - len(rows),
        worst=len(links),
        failures=said(swept.table, "message")[:MESSAGES],
        warnings=said(swept.table, "warnings")[:MESSAGES],
        columns=[(c.name, c.unit, c.doc) for c in swept.sweep.measure.columns],
        definition=_definition(swept),
    )


def _colour(swept: Swept) -> str:
    table, kind = swept.table, swept.sweep.measure.kind
    bad = {
        "outcomes": lambda: (table["synchronism"] == "lost").any(),
        "clearing-time": lambda: False,
        "damping": lambda: (table["damping_ratio"] < 0).any(),
        "stability": lambda: (table["stable"] == False).any(),  # noqa: E712
    }[kind]()
    return "red" if bad else "amber" if len(swept.failed) else "green"


def _mark(row: Mapping[Any, Any]) -> str:
    bad = row["status"] == "failed" or row.get("synchronism") == "lost" or row.get("stable") is False
    return "alarm" if bad else ""


def _definition(swept: Swept) -> str:
    import json

    return json.dumps(swept.sweep.definition(), indent=1, ensure_ascii=False)


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, float):
        return f"{value:.5g}" if abs(value) < 1e4 else f"{value:.0f}"
    return str(value)
