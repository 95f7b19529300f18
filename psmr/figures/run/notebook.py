"""What a notebook shows of a run: the sentence on it, its trajectories, and what happened below them."""

from __future__ import annotations

from html import escape

from psmr.figures.run.plots import panel_drawing, panels_of, smooth
from psmr.figures.svg.ink import LIGHT
from psmr.figures.svg.writer import svg
from psmr.study.record.recorded import Recorded

COLOURS = {"green": "#23805a", "amber": "#b5761a", "red": "#c23b4e"}

MOST = 2
"""Panels that are drawn."""


def run_html(run: Recorded) -> str:
    """Return a run as a piece of HTML: sentence, figures, and its facts to fold out."""
    judgement = run.judgement
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in judgement.reasons)
    left = "style='text-align:left'"
    facts = "".join(
        f"<tr><td {left}>{escape(what)}</td><td {left}>{escape(words)}</td></tr>"
        for what, words in run.outcome.facts()
    )
    drawn = smooth(run)
    pictures = (
        svg(panel_drawing(drawn, panel), f"{panel[0]} and others over time")
        for panel in panels_of(run, None)[:MOST]
    )
    figures = "".join(f"<div style='min-width:0'>{picture}</div>" for picture in pictures)
    events = "; ".join(f"{label}, {t:g} s" for t, label in run.instants[:6])
    return (
        f"<div style='{LIGHT};background:#fff;color:#1c2330'>"
        f"<p style='border-left:5px solid {COLOURS[judgement.colour]};padding-left:.6em'>"
        f"<strong>{escape(judgement.headline)}</strong><br>{escape(run.name)}: {escape(str(run.scheme))}"
        f"<br>{escape(events)}</p><ul>{reasons}</ul>"
        f"<div style='display:flex;flex-wrap:wrap;gap:1em'>{figures}</div>"
        f"<details><summary>What happened</summary><table>{facts}</table></details></div>"
    )
