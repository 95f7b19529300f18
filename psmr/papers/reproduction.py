"""What comes out of reproducing a paper: tables, figures, and a finding for each of its claims."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from psmr.errors import InputError
from psmr.papers.check import plain
from psmr.papers.finding import VERDICTS, Finding
from psmr.study.output.files import write_text

_STYLE = """body { font: 15px/1.5 system-ui, sans-serif; color: #1c2330; max-width: 62rem; margin: 2rem auto;
padding: 0 1rem } h1 { font-size: 1.5rem; margin-bottom: .2rem } h2 { font-size: 1.1rem; margin-top: 2rem }
.note { color: #5b6472 } img { max-width: 100%; display: block; margin: 1rem 0 } .wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums } th, td { padding:
.3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid #e3e5e8 } th { border-bottom: 2px
solid #b9bec6 } .agrees { color: #2a7f62; font-weight: 600 } .differs { color: #b7791f; font-weight: 600 }
.misprint { color: #d1495b; font-weight: 600 }
.not-decided { color: #5b6472; font-weight: 600 }"""


COUNTED = {
    "agrees": ("agrees", "agree"),
    "differs": ("differs", "differ"),
    "misprint": ("is a misprint", "are misprints"),
    "not decided": ("is not decided", "are not decided"),
}
"""A verdict as the verb of one finding, and of several or none."""


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The reproduction of one paper.

    Attributes
    ----------
    name
        As on the command line, ``"gil-sanfelice-nikravesh"``.
    citation
        Authors, title, place, year.
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
    findings: tuple[Finding, ...] = field(repr=False)

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
        return "\n\n".join(
            [self.citation, *tables, *map(str, self.findings), f"{len(self.findings)} findings: {counts}"]
        )

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
        """Write tables (CSV), figures and ``index.html`` into a folder; return the files.

        Raises
        ------
        StudyError
            When the folder cannot be written.
        """
        folder = Path(folder)
        written = []
        for title, table in self.tables.items():
            path = folder / f"{slug(title)}.csv"
            write_text(path, table.to_csv(index=False))
            written.append(path)
        page = folder / "index.html"
        write_text(page, self._page())
        for figure in self.figures.values():
            target = folder / figure.name
            if target.resolve() != figure.resolve():
                shutil.copyfile(figure, target)
            written.append(target)
        return (*written, page)

    def markdown(self, folder: str = ".") -> str:
        """Return the findings as a Markdown table, for a page beside whose `folder` the figures are."""

        def place(finding: Finding) -> str:
            file = self.figures.get(finding.figure)
            return f"[{finding.figure}]({folder}/{file.name})" if file else finding.figure

        rows = [
            (f.claim, f.paper, f.ours, f"**{f.verdict}**", f.decided, place(f), f.why) for f in self.findings
        ]
        lines = [
            "| claim | paper | ours | verdict | rule | shown in | why |",
            "|---|---|---|---|---|---|---|",
        ]
        return (
            "\n".join(
                lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
            )
            + "\n"
        )

    def _page(self) -> str:
        rows = [
            f"<tr><td>{escape(f.claim)}</td><td>{escape(f.paper)}</td><td>{escape(f.ours)}</td>"
            f"<td class='{slug(f.verdict)}'>{f.verdict}</td><td>{escape(f.decided)}</td>"
            f"<td><a href='#{slug(f.figure)}'>{escape(f.figure)}</a></td><td>{escape(f.why)}</td></tr>"
            for f in self.findings
        ]
        columns = ("claim", "paper", "ours", "verdict", "rule", "shown in", "why")
        heads = "".join(f"<th>{head}</th>" for head in columns)
        figures = [
            f"<h2 id='{slug(title)}'>{escape(title)}</h2>"
            f"<img alt='{escape(title)}' src='{escape(path.name)}'>"
            for title, path in self.figures.items()
        ]
        tables = [
            f"<h2 id='{slug(title)}'>{escape(title)}</h2><div "
            f"class='wide'>{table.to_html(index=False, na_rep='', border=0)}</div>"
            for title, table in self.tables.items()
        ]
        return (
            f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{escape(self.name)}</title>"
            f"<style>{_STYLE}</style></head>\n<body>\n<h1>{escape(self.name)}</h1>\n"
            f"<p class='note'>{escape(self.citation)}</p>\n"
            f"<div class='wide'><table><tr>{heads}</tr>\n" + "\n".join(rows) + "</table></div>\n"
            + "\n".join([*figures, *tables]) + "\n</body></html>\n"
        )  # fmt: skip


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): plain(value) for name, value in row.items()} for row in table.to_dict("records")]


def slug(title: str) -> str:
    """Return a title as a file name: small letters, digits and hyphens."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in title.lower())
    return "-".join(part for part in kept.split("-") if part)
