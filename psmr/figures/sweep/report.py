"""Figures, the page of a sweep, and the reports of its worst runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from psmr.base.errors import PsmrError
from psmr.dae.declare.component import parameters_of
from psmr.study.output import write_text
from psmr.sweep.axes.values import ParameterAxis, SampleAxis
from psmr.sweep.point_runner import PointRunner
from psmr.sweep.swept import value_counts, worst_table

if TYPE_CHECKING:
    from psmr.sweep.swept import Swept

# Step sizes that a scheme may have.
STEPS = ("h", "h_slow", "h_max", "h_min")

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
    from psmr.figures.modes.page import picture
    from psmr.figures.sweep import figures_of
    from psmr.figures.sweep.maps import WIDE
    from psmr.figures.with_matplotlib import save, to_matplotlib

    files, pictures = [], []
    units = _units(swept, runner)
    for both in zip(figures_of(swept, units), figures_of(swept, units, WIDE), strict=True):
        files.append(swept.folder / f"{both[0].name}.svg")
        save(to_matplotlib(both[0].figure), files[-1])
        # The page has the title itself.
        pictures.append([picture(replace(one.figure, title=""), one.words) for one in both])
    if len(swept.table) <= MOST_CSV:
        files.append(swept.folder / "rows.csv")
        write_text(files[-1], swept.ranked().to_csv(index=False))
    links = _worst(swept, runner)
    files += [swept.folder / link for link in links.values()]
    page = swept.folder / "sweep.html"
    write_text(page, _page(swept, pictures, links, units))
    return (*files, page)


def _units(swept: Swept, runner: PointRunner) -> dict[str, str]:
    """Return the units of the numbers that varied: of parameters as their components declare them."""
    found = dict.fromkeys(("clearing", *(f"scheme.{h}" for h in STEPS)), "s")
    done = swept.table.loc[swept.table["status"] == "done", "run"].tolist()
    if done:
        devices = runner.start(int(done[0]))[0].system.devices
        for axis in swept.sweep.axes:
            if isinstance(axis, ParameterAxis | SampleAxis) and not axis.factor:
                for device in devices:
                    declared = parameters_of(device.component)
                    if fnmatch(device.name, axis.device) and axis.name in declared:
                        found[f"{axis.device}.{axis.name}"] = declared[axis.name].unit
    return found


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


def _page(swept: Swept, pictures: list[Any], links: dict[int, str], units: Mapping[str, str]) -> str:
    from psmr.figures.modes.page import ModeRow
    from psmr.figures.modes.render import render

    worst = swept.ranked()
    table = worst_table(worst, swept.labels, swept.sweep.measure, ROWS)
    units = {**units, **{c.name: c.unit for c in swept.sweep.measure.columns}}
    # The names of what was swept are those of the file; only measures are words.
    words = [name if "." in name else name.replace("_", " ") for name in table.columns]
    heads = [
        f"{word} [{units[name]}]" if units.get(name) else word
        for word, name in zip(words, table.columns, strict=True)
    ]
    left = [k for k, name in enumerate(table.columns) if not pd.api.types.is_numeric_dtype(table[name])]
    rows = [
        ModeRow([_text(value) for value in cells], _mark(row), links.get(int(row["run"]), ""))
        for cells, row in zip(table.itertuples(index=False), worst.head(ROWS).to_dict("records"), strict=True)
    ]
    return render(
        "sweep.html",
        "psmr.figures.sweep",
        title=swept.sweep.name,
        headline=swept.headline,
        colour=_colour(swept),
        pictures=pictures,
        heads=heads,
        rows=rows,
        left=left,
        more=len(swept.table) - len(rows),
        worst=len(links),
        failures=value_counts(swept.table, "message")[:MESSAGES],
        warnings=value_counts(swept.table, "warnings")[:MESSAGES],
        columns=[(c.name, c.unit, c.doc) for c in swept.sweep.measure.columns],
        definition=json.dumps(swept.sweep.definition(), indent=1, ensure_ascii=False),
    )


def _colour(swept: Swept) -> str:
    table, kind = swept.table, swept.sweep.measure.kind
    bad = {
        "outcomes": lambda: (table["verdict"] == "red").any(),
        "clearing-time": lambda: False,
        "load-margin": lambda: False,
        "damping": lambda: (table["damping_ratio"] < 0).any(),
        "stability": lambda: (table["stable"] == False).any(),  # noqa: E712
    }[kind]()
    doubt = len(swept.failed) or (kind == "outcomes" and (table["verdict"] == "amber").any())
    return "red" if bad else "amber" if doubt else "green"


def _mark(row: Mapping[Any, Any]) -> str:
    bad = row["status"] == "failed" or row.get("verdict") == "red" or row.get("stable") is False
    return "alarm" if bad else ""


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return str(value)
