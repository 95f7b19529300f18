"""What a page shows beside its diagram: the choices of a scheme, the modes, signals of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from psmr.base.errors import InputError
from psmr.figures.chart import COLOURS, FAINT, FAST, SLOW
from psmr.figures.run.lines import thinned
from psmr.figures.run.plots import panels_of
from psmr.network.signals.signals import unit_of
from psmr.study.file.recipe import scheme_fields
from psmr.study.record.record import values_of
from psmr.viewer.workbench import Finished, ModePoints

LINES = 12
"""Lines of a panel at most, over all runs; the search is to be made narrower."""

POINTS = 1500
"""Points of a line: what a wide screen resolves."""

FRAME = 240
"""Height of a panel between its axes in pixels; its legend is below."""

DASHES = ("solid", "dashed", "dotted", "dotdash")

FASTEST = 3.0
"""Hz up to which the map of modes shows frequencies, unless a step of the run shows faster ones."""


class ModeMap:
    """A figure of eigenvalues: those of the system as rings, what a step makes of them as dots."""

    def __init__(self) -> None:
        from bokeh.models import ColumnDataSource, Range1d, Span
        from bokeh.plotting import figure

        self.exact = ColumnDataSource({"x": [], "y": []})
        self.numerical = ColumnDataSource({"x": [], "y": []})
        self.figure = figure(
            height=330, sizing_mode="stretch_width", tools="pan,box_zoom,wheel_zoom,reset", name="modes",
            toolbar_location="above",
            x_axis_label="real part [1/s]", y_axis_label="frequency [Hz]", active_drag="box_zoom",
            x_range=Range1d(-12.0, 2.0), y_range=Range1d(-0.1, FASTEST),
        )  # fmt: skip
        self.figure.add_layout(Span(location=0.0, dimension="height", line_color=FAINT))
        self.figure.scatter(
            "x",
            "y",
            source=self.exact,
            size=13,
            fill_color=None,
            line_color=SLOW,
            line_width=2,
            legend_label="system",
        )
        self.figure.scatter(
            "x", "y", source=self.numerical, size=7, fill_color=FAST, line_color=None, legend_label="step"
        )
        self.figure.toolbar.logo = None
        self.figure.legend.location = "top_left"
        self.figure.legend.background_fill_alpha = 0.6

    def show(self, points: ModePoints | None) -> None:
        """Show modes, or none."""
        none = np.zeros(0, complex)
        exact, numerical = (none, none) if points is None else (points.exact, points.numerical)
        for source, found in ((self.exact, exact), (self.numerical, numerical)):
            upper = found[found.imag >= -1e-9]
            source.data = {"x": upper.real, "y": upper.imag / (2 * np.pi)}


def signal_panels(runs: Sequence[Finished], pattern: str, difference: bool) -> list[Any]:
    """Return a figure for each kind of quantity that a pattern names, of all runs over one another.

    With `difference` the lines are those of each run less those of the first, at the first one's points.
    Raises InputError for a pattern that names nothing, with the nearest, or too much.
    """
    from bokeh.models import Range1d

    first = runs[0].run
    names = pattern.replace(",", " ").split() or None
    shared = Range1d(0.0, max(float(entry.run.t[-1]) for entry in runs), bounds="auto")
    return [_panel(runs, panel, shared, difference) for panel in panels_of(first, names)]


def _panel(runs: Sequence[Finished], names: Sequence[str], shared: Any, difference: bool) -> Any:
    from bokeh.models import Legend, LegendItem, PlainText, Span
    from bokeh.plotting import figure

    first = runs[0].run
    unit, kind = unit_of(first.signals, first.units, names[0]), names[0].rpartition(".")[2]
    panel = figure(
        frame_height=FRAME, sizing_mode="stretch_width", x_range=shared,
        tools="pan,box_zoom,wheel_zoom,reset,save", active_drag="box_zoom",
        x_axis_label="time [s]", output_backend="canvas",
        y_axis_label=PlainText(f"{'difference of ' if difference else ''}{kind} [{unit}]"),
        toolbar_location="above",
    )  # fmt: skip
    panel.toolbar.logo = None
    shown = names[: max(1, LINES // len(runs))]
    items = []
    for number, entry in enumerate(runs):
        if difference and number == 0:
            continue
        missing = [name for name in shown if name not in entry.run.signals.select(None)]
        if missing:
            raise InputError(
                f"{entry.label}: the run has no {missing[0]}; show it alone, or search for others"
            )
        t, values = _values(entry, shown, runs[0] if difference else None)
        for place, name in enumerate(shown):
            at, line = thinned(t, values[:, [place]], POINTS)
            drawn = panel.line(
                at,
                line[:, 0],
                color=COLOURS[place % len(COLOURS)],
                line_dash=DASHES[number % len(DASHES)],
                width=1.5,
            )
            label = name if len(runs) == 1 else f"{name}, {entry.label.partition(':')[0]}"
            items.append(LegendItem(label=label, renderers=[drawn]))
    for instant, _ in first.instants:
        panel.add_layout(Span(location=instant, dimension="height", line_dash="dashed", line_color=FAINT))
    if len(shown) < len(names):
        panel.title.text = f"{len(shown)} of {len(names)} signals; narrow the selection to see the rest"
    legend = Legend(
        items=items,
        orientation="horizontal",
        ncols=3,
        label_text_font_size="8pt",
        click_policy="hide",
        margin=0,
    )
    panel.add_layout(legend, "below")
    return panel


def _values(entry: Finished, names: Sequence[str], less: Finished | None) -> tuple[np.ndarray, np.ndarray]:
    """Return times (K,) and values (K, j) of signals, less those of another run where one is given."""
    run = entry.run
    if less is None:
        return run.t, values_of(run, names, exact=False)
    end = min(float(run.t[-1]), float(less.run.t[-1]))
    t = np.unique(less.run.t[less.run.t <= end])
    ours, theirs = (each.at(t, list(names)).to_numpy() for each in (run, less.run))
    return t, ours - theirs


FORMS: dict[str, dict[str, Any]] = {
    "variable": {"tolerance": 1e-4},
    "single": {"method": "TM", "h": 0.01},
    "multirate": {
        "delta": 20.0,
        "h_slow": 0.02,
        "h_fast": 0.002,
        "predictor": "TM",
        "solution": "TM",
        "coupling": "end",
        "interface": "held",
    },
}
"""For each type of scheme that a page offers its fields, with what they begin with; choices are its own."""

TITLES = {"variable": "steps by a tolerance", "single": "one fixed step", "multirate": "two step sizes"}


class SchemeForm:
    """Widgets for the fields of a scheme; `changed` is called with the table [scheme] that they make."""

    def __init__(self, changed: Callable[[dict[str, Any]], None]) -> None:
        from bokeh.models import NumericInput, Select

        self.changed, self.busy = changed, False
        self.type = Select(title="Scheme", value="variable", options=list(TITLES.items()))
        self.fields: dict[str, Any] = {}
        for kind, fields in FORMS.items():
            for name, value in fields.items():
                if choices := scheme_fields(kind)[name].among:
                    self.fields[name] = Select(title=name, value=value, options=list(choices))
                else:
                    unit = {"tolerance": "", "delta": " [1/s]"}.get(name, " [s]")
                    self.fields[name] = NumericInput(title=name + unit, value=value, mode="float")
        for widget in (self.type, *self.fields.values()):
            widget.on_change("value", self._on_change)
        self._arrange()

    @property
    def widgets(self) -> list[Any]:
        """All widgets, those that do not belong to the type hidden."""
        return [self.type, *self.fields.values()]

    def show(self, table: dict[str, Any]) -> None:
        """Show the table [scheme] of a study; fields that no widget has stay in the study."""
        self.busy = True
        self.type.value = table.get("type", "variable")
        for name, widget in self.fields.items():
            if name in table:
                widget.value = table[name]
        self._arrange()
        self.busy = False

    def _arrange(self) -> None:
        for name, widget in self.fields.items():
            widget.visible = name in FORMS.get(self.type.value, {})

    def _on_change(self, attribute: str, old: Any, new: Any) -> None:
        if self.busy or self.type.value not in FORMS:
            return
        self._arrange()
        chosen = FORMS[self.type.value]
        table = {name: self.fields[name].value for name in chosen if self.fields[name].value is not None}
        self.changed({"type": self.type.value} | table)
