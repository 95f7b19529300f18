"""The report of a run: a page, its text on a terminal, and what a notebook shows.

Trajectories to zoom, to hover over and to choose signals in are drawn by bokeh, whose package brings its own
JavaScript; that is put into the page, which still needs nothing from elsewhere.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from psmr.base.errors import first_few
from psmr.base.files import PAGES, OutputTransaction, require_suffix
from psmr.base.modules import optional
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.figures.chart import COLOURS, FAST, unbroken
from psmr.figures.modes.figures import shape_drawing
from psmr.figures.modes.page import ModeRow, network_parts, parts, picture
from psmr.figures.modes.render import render
from psmr.figures.run.lines import LETTERED, letters, most_informative, named_signals, panels_with, thinned
from psmr.figures.run.oneline import one_line_drawing
from psmr.figures.run.plots import angle_drawing, axis_words, moves_drawings, panel_drawing, panels_of, smooth
from psmr.figures.svg import svg
from psmr.figures.svg_frame import LIGHT
from psmr.network.dynamic.switching import dynamic_elements, zero_elements
from psmr.network.signals.signals import quantity, unit_of
from psmr.network.topology.connections import system_at_start
from psmr.network.topology.islands import sources_of
from psmr.network.topology.network import buses
from psmr.study.certificate.certificate import Certificate, mode_text, percent
from psmr.study.events import Fault
from psmr.study.output import placed
from psmr.study.record.record import FinishedRun, values_of

if TYPE_CHECKING:
    from psmr.pencil.modes.shapes import ModeShape
    from psmr.study.certificate.network_deformation import NetworkDeformation


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
    figures = "".join(f"<div style='flex:1 1 22rem;min-width:0'>{picture}</div>" for picture in pictures)
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


def zoomable(run: FinishedRun, signals: Iterable[str] | None = None) -> dict[str, Any]:
    """Return the parts of a page: scripts for its head, the panels, and their script."""
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
        tips = [("", "$name"), ("t", "@x{0.0000} s"), (quantity(names[0]), f"@y{{0.00000}} {unit}")]
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


# Bars beside a compass.
BARS = 6
SHAPES = 3
"""So many modes, the least damped, are shown with their phasors."""

EXPONENTS = 12
"""So many exponents of a periodic system, the slowest, are in the table."""

OVERDAMPED = 0.5
"""A pair with a larger damping ratio has no period that anybody sees."""

BADGES = {"green": "OK", "amber": "Check", "red": "Failed"}
"""What a colour means, for readers who see no colours."""


@dataclass(frozen=True)
class ReportOrigin:
    """Where a run came from: the command that makes it, the study file's text, the case file's name."""

    command: str
    study: str
    case: str


def run_text(run: FinishedRun, work: bool = True) -> str:
    """Return outcome, events, certificates and, if asked for, work of a run as lines of text."""
    judgement = run.judgement
    # What is red says in its headline what failed: the result first.
    badge = "" if judgement.colour == "red" else f"{BADGES[judgement.colour]}. "
    head = f"{run.name or 'run'}: {badge}{judgement.headline}"
    parts = [head, *(f"  note: {reason}" for reason in judgement.reasons)]
    parts += [f"  {line}" for line in run.outcome.lines()[1:]]
    parts += ["", f"Events, {len(run.t)} points", *(f"  t = {t:g} s  {label}" for t, label in run.instants)]
    parts += [f"  not done: {event} (its condition did not hold)" for event in run.unmet]
    for certificate in run.certificates:
        parts += ["", heading(certificate), *(f"  {line}" for line in certificate.lines())]
    if run.judgement.error is not None:
        parts += ["", "Accuracy", f"  {run.judgement.error}"]
    parts += ["", "Work", *(f"  {line}" for line in run.stats.lines())] if work else []
    return "\n".join(parts)


def heading(certificate: Certificate) -> str:
    """Return the heading above a certificate."""
    return f"Numerical accuracy check: {certificate.subject.removeprefix('the ')}"


def run_page(
    run: FinishedRun,
    system: System | None = None,
    title: str | None = None,
    signals: Iterable[str] | None = None,
    origin: ReportOrigin | None = None,
    interactive: bool = False,
    network: NetworkDeformation | str | None = None,
) -> str:
    """Return the report on a run as one HTML page.

    The figures of modes and partition are of `system`, the run's own where left out; the title is the
    system's name, the signals what is worth seeing where they are not given. `interactive` trajectories are
    drawn by bokeh, to zoom and hover over, static ones are then for print. `network` is what leaving out
    dynamics of the network does to the modes, or in words why that is not known.
    """
    own = None if run.system is None else system_at_start(run.system)
    system = own if system is None else system
    signals = None if signals is None else tuple(signals)
    judgement = run.judgement
    head, rows = run.stats.table()
    shown = run.instants[:LETTERED]
    marks = letters(len(shown))
    trajectories, others = _trajectories(run, signals)
    return render(
        "run.html",
        "psmr.figures.run",
        explore=zoomable(run, signals) if interactive else None,
        title=title or run.name or "Run",
        subtitle=unbroken(f"{run.name}: {run.scheme}; {len(run.t)} points to t = {run.t[-1]:g} s"),
        colour=judgement.colour,
        badge=BADGES[judgement.colour],
        headline=unbroken(judgement.headline),
        reasons=[unbroken(reason) for reason in judgement.reasons],
        facts=[(what, unbroken(words)) for what, words in (*run.outcome.facts(), *_region(run))],
        trajectories=trajectories,
        others=others,
        events=[ModeRow((m, f"{t:g}", label)) for m, (t, label) in zip(marks, shown, strict=True)],
        more_events=len(run.instants) - len(shown),
        unmet=run.unmet,
        moves=_moves(run),
        certificates=[_entries(certificate) for certificate in run.certificates],
        unaltered=run.certificate is not None
        and run.certificate.stability is not None
        and bool(run.instants)
        and run.certificate_after is None,
        modes=_modes(run, system, system is own),
        network=network and network_parts(network),
        partition=_partition(run, system),
        work={
            "heads": head,
            "rows": [ModeRow(row) for row in rows],
            "notes": [n for n in (*run.stats.notes(), str(judgement.error or "")) if n],
        },
        command="" if origin is None else origin.command,
        study="" if origin is None else origin.study,
        versions=_versions(origin),
    )


def write_page(path: str | os.PathLike[str], page: str, transaction: OutputTransaction | None = None) -> None:
    """Write an HTML page, whole or not at all; at once, or with other files."""
    require_suffix(path, PAGES)
    with placed(path, transaction) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _trajectories(run: FinishedRun, signals: Iterable[str] | None) -> tuple[list[Any], list[Any]]:
    """Return pictures of the signals that are drawn, and those of others that the first lines speak of."""
    named = named_signals(run)
    chosen = panels_of(run, None if signals is None else list(signals))
    found, run = [], smooth(run)
    angles = angle_drawing(run, {name.rpartition(".")[0] for name in named})
    turning = () if angles is None or run.system is None else {s.angle for s in sources_of(run.system)}
    for panel in panels_with(chosen, named):
        if panel not in chosen and turning and turning.issuperset(panel):
            continue  # against the centre of inertia they say more
        words = (
            f"{quantity(panel[0])} of {first_few([name.rpartition('.')[0] for name in panel], 9)} over time"
        )
        found.append(picture(panel_drawing(run, panel, named), words))
    if angles is not None:
        found.append(picture(angles, "Rotor angles against the centre of inertia over time"))
    asked = any(name.endswith(".position") for panel in chosen for name in panel)
    found += [picture(drawing, words) for drawing, words in (() if asked else moves_drawings(run))]
    return found[: len(chosen)], found[len(chosen) :]


def _moves(run: FinishedRun) -> list[Any]:
    """Return a row for each tap changer and shunt that moved: from where to where, what is left, and when."""
    controls = run.outcome.controls
    rows = []
    for one in () if controls is None else (*controls.taps, *controls.shunts):
        left = ("", "") if one.left is None else tuple(map(str, one.left))
        times = ", ".join(f"{t:.4g}" for t in one.t[1:])
        ends = f"{one.position[0]:g}", f"{one.position[-1]:g}"
        rows.append(ModeRow((one.acts_on or one.device, *ends, *left, times)))
    return rows


def _entries(certificate: Certificate) -> dict[str, Any]:
    return {
        "heading": heading(certificate),
        "entries": [(key, unbroken(value)) for key, value in certificate.entries()],
        "exponents": _exponents(certificate),
    }


def _exponents(certificate: Certificate) -> list[Any]:
    """Return the slowest exponents of a periodic system as rows of a table, exact and simulated."""
    if certificate.columns is None:
        return []
    names = ("real", "imag", "real_numerical", "imag_numerical", "deformation")
    rows = zip(*(certificate.columns[name][:EXPONENTS] for name in names), strict=True)
    shown = lambda s: mode_text(s) if np.isfinite(s) else "not shown"  # noqa: E731
    return [
        ModeRow((mode_text(complex(a, b)), shown(complex(c, d)), percent(off))) for a, b, c, d, off in rows
    ]


def _region(run: FinishedRun) -> list[tuple[str, str]]:
    """Return what part of the network has its own dynamics; nothing of a network of phasors."""
    if run.system is None or not (elements := dynamic_elements(run.system)):
        return []
    count = len(elements.keys() & set(buses(run.system)))
    phases = ", with their zero sequence" if zero_elements(run.system) else ""
    return [("dynamics of the network", f"{count} of {len(buses(run.system))} buses{phases}")]


def _modes(run: FinishedRun, system: System | None, own: bool) -> dict[str, Any] | None:
    if system is None or run.certificate is None or run.certificate.stability is None:
        return None
    from psmr.dae.system.eigenvalues import mode_columns
    from psmr.pencil.deformation.deformation import deformation

    linear = system.linearise()
    columns = mode_columns(linear)
    states = {
        complex(real, imag): f"{name} ({100 * share:.0f}\N{NO-BREAK SPACE}%)"
        for real, imag, name, share in zip(
            *(columns[key] for key in ("real", "imag", "dominant_state", "participation")), strict=True
        )
    }
    subject = run.certificate.subject
    for judged in run.certificate.at_steps[:1]:
        subject += f", at {judged.which}, {judged.h:.4g} s"
    # That of another system than the run's own is not the certificate's.
    known = run.certificate.report if own else None
    scheme = run.scheme.after(run.stats.counters.by_order)
    report = deformation(linear, run.certificate.judged(scheme)) if known is None else known
    figures = parts(report, states, run.criteria.damping)
    return figures | {"subject": subject, "shapes": _shapes(linear, report.columns)}


def _shapes(linear: LinearDae, columns: Mapping[str, np.ndarray]) -> list[Any]:
    """Return pictures of the least damped oscillations: who swings against whom."""
    from psmr.pencil.modes.shapes import shapes_at
    from psmr.pencil.modes.spectrum import ZERO_MODE

    ratio = columns["damping_ratio"]
    swings = np.flatnonzero((columns["imag"] > 0) & (ratio < OVERDAMPED) & (columns["status"] != ZERO_MODE))
    chosen = swings[np.argsort(ratio[swings], kind="stable")[:SHAPES]]
    return [
        picture(
            shape_drawing(shape.title, shape.quantity, shape.parts(), shape.leading(BARS)),
            f"Phasors and participation at {shape.title}: {_largest(shape)}",
            whole=True,
        )
        for shape in shapes_at(linear, columns["real"][chosen] + 1j * columns["imag"][chosen])
    ]


def _largest(shape: ModeShape) -> str:
    """Return the four largest phasors of a mode in words."""
    found = list(zip(*shape.parts(), strict=True))[:4]
    return ", ".join(f"{name} {abs(p):.2f} at {np.degrees(np.angle(p)):.0f} degrees" for name, p in found)


def _partition(run: FinishedRun, system: System | None) -> Any:
    split = getattr(run.scheme, "split", None)
    if split is None or system is None or not buses(system):
        return None
    words = "Network with the fast buses and the share of fast states of each plant in red, slow in blue"
    return picture(one_line_drawing(system, split), words)


def _versions(origin: ReportOrigin | None) -> list[tuple[str, str]]:
    import numba
    import scipy

    from psmr.version import __version__

    own = f"psmr {__version__}, Python {platform.python_version()}"
    kept = f"numpy {np.__version__}, scipy {scipy.__version__}, numba {numba.__version__}"
    case = [] if origin is None else [("case", origin.case)]
    return [
        *case,
        ("version", own),
        ("libraries", kept),
        ("machine", f"{platform.machine()}, {platform.system()}"),
    ]
