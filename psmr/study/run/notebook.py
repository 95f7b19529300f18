"""What a notebook shows of a run."""

from __future__ import annotations

from html import escape

from psmr.study.record.recorded import Recorded

COLOURS = {"green": "#23805a", "amber": "#b5761a", "red": "#c23b4e"}


def run_html(run: Recorded) -> str:
    """Return the outcome of a run as a piece of HTML: sentence, reasons and figures."""
    judgement = run.judgement
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in judgement.reasons)
    left = "style='text-align:left'"
    facts = "".join(
        f"<tr><td {left}>{escape(what)}</td><td {left}>{escape(words)}</td></tr>"
        for what, words in run.outcome.facts()
    )
    return (
        f"<div><p style='border-left:5px solid {COLOURS[judgement.colour]};padding-left:.6em'>"
        f"<strong>{escape(judgement.headline)}</strong><br>{escape(run.name)}: {escape(str(run.scheme))}</p>"
        f"<ul>{reasons}</ul><table>{facts}</table></div>"
    )
