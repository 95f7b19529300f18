"""The papers that can be reproduced, by name; a paper as data and functions, and what comes of it."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd

from psmr.base.errors import InputError, nearest
from psmr.figures.with_matplotlib import save, styled
from psmr.papers.finding import VERDICTS, Claim, ClaimResult, Numbers, plain, read_claims
from psmr.study.output import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Progress = Callable[[str], None]
Results = SimpleNamespace
"""What the parts of a paper computed, by name."""

COUNTED = {
    "agrees": ("agrees", "agree"),
    "differs": ("differs", "differ"),
    "misprint": ("is a misprint", "are misprints"),
    "not decided": ("is not decided", "are not decided"),
    "beyond the paper": ("is beyond the paper", "are beyond the paper"),
}
"""A verdict as the verb of one finding, and of several or none."""
COLOURS = {"agrees": "#2a7f62", "differs": "#b7791f", "misprint": "#d1495b"}
COLUMNS = ("claim", "paper", "ours", "verdict", "rule", "shown in", "why")
FIGURES = "figures"
"""Name of the last part of every paper."""

_STYLE = """body { font: 15px/1.5 system-ui, sans-serif; color: #1c2330; max-width: 62rem; margin: 2rem auto;
padding: 0 1rem } h1 { font-size: 1.5rem; margin-bottom: .2rem } h2 { font-size: 1.1rem; margin-top: 2rem }
.note { color: #5b6472 } img { max-width: 100%; display: block; margin: 1rem 0 } .wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums } th, td { padding:
.3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid #e3e5e8 } th { border-bottom: 2px
solid #b9bec6 } b { color: #5b6472 }"""


@dataclass(frozen=True, eq=False)
class Paper:
    """How a paper is reproduced.

    Attributes
    ----------
    name
        As on the command line, ``"gil-sanfelice-nikravesh"``.
    citation
        Authors, title, place, year.
    parts
        What is computed, by the words shown meanwhile: functions of the results so far that return further
        ones by name.
    tables
        From the results.
    figures
        By title: file name, and the function that draws it.
    numbers
        What the claims in ``claims.toml`` are about, by name, from the results.
    """

    name: str
    citation: str
    parts: Mapping[str, Callable[[Results], Mapping[str, Any]]]
    tables: Callable[[Results], Mapping[str, pd.DataFrame]]
    figures: Mapping[str, tuple[str, Callable[[Results], Figure]]]
    numbers: Callable[[Results], Numbers]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What it states, in order."""
        return read_claims(Path(__file__).parent / self.name.replace("-", "_"))

    def reproduce(self, folder: Path, progress: Progress | None = None) -> Reproduction:
        """Compute the parts in their order and draw the figures into a folder that is there."""
        say, results = progress or (lambda words: None), Results()
        for words, work in self.parts.items():
            say(words)
            vars(results).update(work(results))
        say(FIGURES)
        files = {title: folder / name for title, (name, _) in self.figures.items()}
        for title, path in files.items():
            with styled():
                figure = self.figures[title][1](results)
            save(figure, path)
        tables = dict(self.tables(results))
        titles = {title.partition(":")[0]: title for title in (*tables, *files)}
        numbers = self.numbers(results)
        found = [finding for claim in self.claims for finding in claim.findings(numbers)]
        shown = tuple(
            replace(finding, figure=titles.get(finding.figure, finding.figure)) for finding in found
        )
        return Reproduction(self.name, self.citation, tables, files, shown)


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The reproduction of one paper.

    Attributes
    ----------
    name, citation
        Of the `Paper`.
    tables
        By title.
    figures
        Files by title.
    findings
        A finding per claim; each names the figure or table that shows it.

    Raises
    ------
    InputError
        For a finding that names a figure or table that is not there.
    """

    name: str
    citation: str
    tables: Mapping[str, pd.DataFrame] = field(repr=False)
    figures: Mapping[str, Path] = field(repr=False)
    findings: tuple[ClaimResult, ...] = field(repr=False)

    def __post_init__(self) -> None:
        for finding in self.findings:
            if finding.figure not in (*self.figures, *self.tables):
                raise InputError(
                    f"finding {finding.claim!r}: no figure or table {finding.figure!r} among "
                    + "; ".join((*self.figures, *self.tables))
                )

    def count(self, verdict: str) -> int:
        """Return how many findings have a verdict."""
        return sum(finding.verdict == verdict for finding in self.findings)

    def __str__(self) -> str:
        numbers = {verdict: self.count(verdict) for verdict in VERDICTS}
        counts = ", ".join(f"{n} {COUNTED[verdict][n != 1]}" for verdict, n in numbers.items())
        tables = [
            f"{title}\n{table.to_string(index=False, na_rep='')}" for title, table in self.tables.items()
        ]
        last = f"{len(self.findings)} findings: {counts}"
        return "\n\n".join([self.citation, *tables, *map(str, self.findings), last])

    def record(self) -> dict[str, Any]:
        """Return findings, tables and figure files as plain data, for JSON."""
        return {
            "name": self.name,
            "citation": self.citation,
            "findings": [finding.record() for finding in self.findings],
            "tables": {title: _rows(table) for title, table in self.tables.items()},
            "figures": {title: str(path) for title, path in self.figures.items()},
        }

    def write(self, folder: str | Path) -> tuple[Path, ...]:
        """Write tables (CSV), figures and ``index.html`` into a folder, else StudyError; return the files."""
        folder = Path(folder)
        texts = {f"{slug(title)}.csv": table.to_csv(index=False) for title, table in self.tables.items()}
        for name, text in (texts | {"index.html": self._page()}).items():
            write_text(folder / name, text)
        for figure in self.figures.values():
            if (folder / figure.name).resolve() != figure.resolve():
                shutil.copyfile(figure, folder / figure.name)
        return tuple(
            folder / name for name in (*texts, *(f.name for f in self.figures.values()), "index.html")
        )

    def markdown(self, folder: str = ".") -> str:
        """Return the findings as a Markdown table; the figures are in `folder`, seen from its page."""

        def place(title: str) -> str:
            return f"[{title}]({folder}/{self.figures[title].name})" if title in self.figures else title

        rows = [
            [cell.replace("|", "\\|") for cell in _cells(f, "**{}**".format, place)] for f in self.findings
        ]
        lines = [COLUMNS, ["---"] * len(COLUMNS), *rows]
        return "".join("| " + " | ".join(line) + " |\n" for line in lines)

    def _page(self) -> str:
        rows = [
            _cells(
                finding,
                lambda verdict: f"<b class='{slug(verdict)}'>{verdict}</b>",
                lambda title: f"<a href='#{slug(title)}'>{escape(title)}</a>",
                escape,
            )
            for finding in self.findings
        ]
        style = "".join(f" .{verdict} {{ color: {colour} }}" for verdict, colour in COLOURS.items())
        shown = {
            title: f"<img alt='{escape(title)}' src='{escape(p.name)}'>" for title, p in self.figures.items()
        }
        shown |= {
            title: f"<div class='wide'>{table.to_html(index=False, na_rep='', border=0)}</div>"
            for title, table in self.tables.items()
        }
        return (
            f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{escape(self.name)}</title>"
            f"<style>{_STYLE}{style}</style></head>\n<body>\n<h1>{escape(self.name)}</h1>\n"
            f"<p class='note'>{escape(self.citation)}</p>\n<div class='wide'><table>\n<tr>"
            + "".join(f"<th>{column}</th>" for column in COLUMNS) + "</tr>\n"
            + "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
            + "</table></div>\n"
            + "\n".join(f"<h2 id='{slug(title)}'>{escape(title)}</h2>{text}" for title, text in shown.items())
            + "\n</body></html>\n"
        )  # fmt: skip


def _cells(
    f: ClaimResult,
    verdict: Callable[[str], str],
    place: Callable[[str], str],
    text: Callable[[str], str] = str,
) -> tuple[str, ...]:
    """Return the cells of a finding under `COLUMNS`."""
    head, tail = (text(f.claim), text(f.paper), text(f.ours)), (place(f.figure), text(f.why))
    return (*head, verdict(f.verdict), text(f.decided), *tail)


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): plain(value) for name, value in row.items()} for row in table.to_dict("records")]


def slug(title: str) -> str:
    """Return a title as a file name: small letters, digits and hyphens."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in title.lower())
    return "-".join(part for part in kept.split("-") if part)


PAPERS = (
    "huang-tzounas",
    "shi-rojas",
    "gil-sanfelice-nikravesh",
    "kuznetsov-krasnikov",
    "bouterakos-tzounas",
)


def reproduce(name: str, folder: str | Path, progress: Progress | None = None) -> Reproduction:
    """Reproduce a paper's tables and figures.

    Parameters
    ----------
    name
        One of `PAPERS`.
    folder
        Where figures go; made where it is missing.
    progress
        Called with the name of each part as it begins, see `parts`.

    Raises
    ------
    InputError
        For a paper that is not there, with the nearest known one.
    """
    found = paper(name)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return found.reproduce(folder, progress)


def parts(name: str) -> tuple[str, ...]:
    """Return the parts of a paper's reproduction in their order, as `progress` is called with them.

    Raises
    ------
    InputError
        For a paper that is not there, with the nearest known one.
    """
    return (*paper(name).parts, FIGURES)


def paper(name: str) -> Paper:
    """Return how a paper is reproduced; InputError for one that is not there, with the nearest known one."""
    if name not in PAPERS:
        raise InputError(f"no paper {name!r}{nearest(name, PAPERS)}; there are {', '.join(PAPERS)}")
    found: Paper = importlib.import_module(f"psmr.papers.{name.replace('-', '_')}.paper").PAPER
    return found
