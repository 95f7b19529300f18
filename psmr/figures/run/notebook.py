"""A run in a notebook, and trajectories to zoom, to hover over and to choose signals in.

The latter are drawn by bokeh, whose package brings its own JavaScript; that is put into the page, so that the
page still needs nothing from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from psmr.base.modules import optional
from psmr.figures.chart import COLOURS, FAST
from psmr.figures.run.lines import most_informative, thinned
from psmr.figures.run.plots import axis_words, panel_drawing, panels_of, smooth
from psmr.figures.svg.frame import LIGHT
from psmr.figures.svg.writer import svg
from psmr.network.signals.signals import unit_of
from psmr.study.events import Fault
from psmr.study.record.record import FinishedRun, values_of

JUDGEMENT_COLOURS = {"green": "#23805a", "amber": "#b5761a", "red": "#c23b4e"}

PANELS = 2
"""Panels that are drawn."""


def run_html(run: FinishedRun) -> str:
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
        for panel in panels_of(run, None)[:PANELS]
    )
    figures = "".join(f"<div style='min-width:0'>{picture}</div>" for picture in pictures)
    events = "; ".join(f"{label}, {t:g} s" for t, label in run.instants[:6])
    return (
        f"<div style='{LIGHT};background:#fff;color:#1c2330'>"
        f"<p style='border-left:5px solid {JUDGEMENT_COLOURS[judgement.colour]};padding-left:.6em'>"
        f"<strong>{escape(judgement.headline)}</strong><br>{escape(run.name)}: {escape(str(run.scheme))}"
        f"<br>{escape(events)}</p><ul>{reasons}</ul>"
        f"<div style='display:flex;flex-wrap:wrap;gap:1em'>{figures}</div>"
        f"<details><summary>What happened</summary><table>{facts}</table></details></div>"
    )


MOST = 40
"""Lines of a panel; with more the legend is longer than the panel. The most informative ones are drawn."""

COLUMNS, LEGEND = 3, 20
"""Names beside one another below a panel, and pixels of a line of them."""

POINTS = 2000
"""Points of a line: what a wide screen resolves at full width."""


def require_bokeh() -> None:
    """Raise PsmrError where interactive figures cannot be drawn."""
    optional("bokeh", "a page with interactive figures", "psmr[report]", "leave out --interactive")


def interactive(run: FinishedRun, signals: Iterable[str] | None = None) -> dict[str, Any]:
    """Return the parts of a page: scripts for its head, the panels, and their script.

    Raises
    ------
    PsmrError
        When bokeh is not installed.
    """
    require_bokeh()
    from bokeh.embed import components
    from bokeh.layouts import column
    from bokeh.models import Range1d
    from bokeh.resources import Resources

    shared = Range1d(float(run.t[0]), float(run.t[-1]), bounds="auto")
    panels = panels_of(run, None if signals is None else list(signals))
    figures = [_panel(run, panel, shared) for panel in panels]
    script, panel_html = components(column(figures, sizing_mode="stretch_width"))
    library = Resources(mode="inline", components=["bokeh"]).render_js()
    return {"head": Markup(library), "body": Markup(panel_html), "script": Markup(script)}


def _panel(run: FinishedRun, names: Sequence[str], shared: Any) -> Any:
    from bokeh.models import BoxAnnotation, HoverTool, PlainText, Span
    from bokeh.plotting import figure

    values = values_of(run, names, exact=False)
    unit = unit_of(run.signals, run.units, names[0])
    kind = names[0].rpartition(".")[2]
    height = 300 + LEGEND * -(-min(len(names), MOST) // COLUMNS)
    panel = figure(
        height=height, sizing_mode="stretch_width", x_range=shared, output_backend="canvas",
        tools="pan,box_zoom,wheel_zoom,reset,save", active_drag="box_zoom",
        x_axis_label="time [s]", y_axis_label=PlainText(axis_words(run, names)),
    )  # fmt: skip
    chosen = list(range(len(names)))
    if len(names) > MOST:
        swing = values.max(axis=0) - values.min(axis=0)
        wide = sorted(chosen, key=lambda k: -float(swing[k]))
        chosen = list(dict.fromkeys([*most_informative(run, names, values), *wide]))[:MOST]
        panel.title.text = f"{len(chosen)} of {len(names)} signals"
    for place, k in enumerate(chosen):
        t, line = thinned(run.t, values[:, [k]], POINTS)
        drawn = panel.line(
            t, line[:, 0], color=COLOURS[place % len(COLOURS)], legend_label=names[k], width=1.5
        )
        # In a tip @ and $ begin a field, and one that is "safe" makes markup of the whole: a name is a field.
        drawn.name = names[k]
        tips = [("", "$name"), ("t", "@x{0.0000} s"), (kind, f"@y{{0.00000}} {unit}")]
        panel.add_tools(HoverTool(renderers=[drawn], tooltips=tips, visible=place == 0))
    for event in run.events:
        if isinstance(event, Fault):
            panel.add_layout(
                BoxAnnotation(left=event.start, right=event.cleared, fill_color=FAST, fill_alpha=0.15)
            )
    for instant, _ in run.instants:
        panel.add_layout(Span(location=instant, dimension="height", line_dash="dashed", line_color="#6b7280"))
    panel.legend.click_policy = "hide"
    panel.legend.label_text_font_size = "8pt"
    panel.legend.ncols = COLUMNS
    panel.legend.padding = panel.legend.spacing = 2
    # Beside the panel it would leave no room for it on a telephone.
    panel.add_layout(panel.legend[0], "below")
    return panel
