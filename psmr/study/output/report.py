"""What a reader gets of a run: a summary for the terminal, one HTML page with its figures inside."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from psmr.dae.system.system import System
from psmr.study.output.files import write_text
from psmr.study.record.recorded import Recorded
from psmr.study.topology.network import buses

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2330; max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; }
h2 { font-size: 1.1rem; margin-top: 2.2rem; }
.verdict { padding: .6rem .9rem; border-left: 4px solid; background: #f4f6f8; font-weight: 600; }
.good { border-color: #2a7f62; }
.bad { border-color: #d1495b; }
.unknown { border-color: #b9bec6; }
.note { color: #5b6472; }
svg { max-width: 100%; height: auto; display: block; margin: 1rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #e3e5e8; white-space: nowrap; }
th { border-bottom: 2px solid #b9bec6; }
td:first-child, th:first-child { text-align: left; }
dl { display: grid; grid-template-columns: max-content auto; gap: .2rem 1rem; margin: 0; }
dt { color: #5b6472; }
dd { margin: 0; }
"""


def run_text(run: Recorded) -> str:
    """Return outcome, events, certificates and work of a run as lines of text."""
    judgement = run.judgement
    head = f"{run.name or 'run'}: {judgement.headline}"
    parts = [head, *(f"  {line}" for line in run.outcome.lines()[1:])]
    parts += [f"{judgement.colour}: {reason}" for reason in judgement.reasons]
    parts += ["", f"Events, {len(run.t)} points", *(f"  t = {t:g} s  {label}" for t, label in run.instants)]
    for certificate in (run.certificate, run.certificate_after):
        if certificate is not None:
            title = f"Certificate: the scheme on {certificate.subject}"
            parts += ["", title, *(f"  {line}" for line in certificate.lines())]
    parts += ["", "Work", *(f"  {line}" for line in run.stats.lines())]
    return "\n".join(parts)


def run_page(
    run: Recorded,
    system: System | None = None,
    title: str | None = None,
    signals: Iterable[str] | None = None,
) -> str:
    """Return the report on a run as one HTML page.

    Parameters
    ----------
    run
        What to report.
    system
        The system it ran on; with it the page has the eigenvalue map, the bars and the one-line graph.
    title
        Heading; None: the system's name.
    signals
        Signals to draw; None: what is worth seeing.
    """
    from psmr.study.output.plots import trajectories  # with matplotlib, which a terminal report does not need

    name = title or run.name or "Run"
    body = [f"<h1>{escape(name)}</h1>", f"<p class='note'>{escape(repr(run))}</p>", _certificate(run)]
    if run.stopped is not None:
        body.append(
            f"<p class='verdict bad'>Stopped at t = {run.stopped.t:g} s by {escape(str(run.stopped))}</p>"
        )
    body += ["<h2>Trajectories</h2>", _inline(trajectories(run, signals, title=""), "Trajectories over time")]
    if system is not None:
        body += _pencil_figures(run, system)
    body += ["<h2>Work</h2>", _work(run)]
    return html_page(name, body)


def html_page(title: str, body: Sequence[str]) -> str:
    """Return a whole HTML page that needs nothing from elsewhere."""
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>"
        f"<style>{STYLE}</style></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def write_page(path: str | os.PathLike[str], page: str) -> None:
    """Write an HTML page, whole or not at all."""
    write_text(path, page)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table of texts."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<div class='wide'><table><tr>{top}</tr>\n{body}\n</table></div>"


def _certificate(run: Recorded) -> str:
    certificate = run.certificate
    if certificate is None:
        return "<p class='verdict unknown'>No certificate: it was not asked for.</p>"
    first, *rest = certificate.lines()
    mark = {True: "good", False: "bad", None: "unknown"}[certificate.stable]
    items = [line.partition(": ") for line in rest]
    entries = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, _, value in items)
    return f"<p class='verdict {mark}'>{escape(first)}</p>\n<dl>{entries}</dl>"


def _pencil_figures(run: Recorded, system: System) -> list[str]:
    parts: list[str] = []
    if run.certificate is not None and run.certificate.stable is not None:
        from psmr.pencil.deformation.deformation import deformation
        from psmr.pencil.report.figures import deformation_bars, eigenvalue_map

        report = deformation(system.linearise(), run.scheme)
        parts += ["<h2>What the scheme does to the modes</h2>"]
        parts += [_inline(eigenvalue_map(report), "Eigenvalues of the system and of the scheme")]
        parts += [_inline(deformation_bars(report), "Relative deformation of each mode")]
    if run.scheme.split is not None and buses(system):
        from psmr.study.output.oneline import one_line

        figure = one_line(system, run.scheme.split)
        parts += ["<h2>Partition</h2>", _inline(figure, "Partition on the one-line graph")]
    return parts


def _work(run: Recorded) -> str:
    head, rows = run.stats.table()
    notes = "".join(f"<p class='note'>{escape(line)}</p>" for line in run.stats.notes())
    return table(head, rows) + notes


def _inline(figure: Figure, words: str) -> str:
    from psmr.study.output.canvas import close, svg_of

    picture = svg_of(figure)
    close(figure)
    return picture.replace("<svg ", f"<svg role='img' aria-label='{escape(words)}' ", 1)
