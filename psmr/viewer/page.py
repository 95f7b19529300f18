"""The page: a study on its diagram, its scheme and modes, and the runs that were made of it."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

from psmr.base.errors import PsmrError, printable
from psmr.dae.compile.notice import say
from psmr.dae.system.system import System
from psmr.figures.modes.render import environment
from psmr.figures.run.report import BADGES, run_text
from psmr.network.topology.network import buses
from psmr.viewer.diagram import Diagram, DropTarget
from psmr.viewer.panels import ModeMap, SchemeForm, signal_panels
from psmr.viewer.workbench import Job, Workbench

REFRESH = 200
"""Milliseconds between two looks at a run that goes on."""

TITLES = {
    "fault": "fault at a bus",
    "line-trip": "trip of a line",
    "load-trip": "trip of a load",
    "generator-trip": "trip of a machine",
}


def usual_search(system: System) -> str:
    """Return what signals a page begins with: speeds, and voltages of buses, however these are called."""
    called = any(name.startswith("bus") for name in buses(system))
    return "*.omega bus*.v" if called else "*.omega *.v"


class Page:
    """One page on a workbench; every browser tab has its own, all have the same workbench."""

    def __init__(self, bench: Workbench, document: Any) -> None:
        from bokeh import models

        wide = "stretch_width"
        self.bench, self.document = bench, document
        self.job: Job | None = None
        self.diagram = Diagram(bench.system, self._dropped)
        self.message = models.Div(name="message", text="", sizing_mode=wide, disable_math=True)
        self.text = models.TextAreaInput(title="Study file", rows=16, sizing_mode=wide, max_length=100_000)
        self.form = SchemeForm(self._change_scheme)
        self.map = ModeMap()
        self.slider = models.Slider(
            title="step [ms]", start=0.5, end=100.0, step=0.5, value=10.0, sizing_mode=wide
        )
        self.kind = models.Select(title="Event", value="fault", options=list(TITLES.items()))
        self.place = models.Select(title="at", value="", options=[])
        self.start = models.NumericInput(title="time [s]", value=1.0, mode="float")
        self.lasting = models.NumericInput(title="cleared after [s]", value=0.1, mode="float")
        self.add = models.Button(label="Add event", button_type="default")
        self.undo = models.Button(label="Remove last event", button_type="default")
        self.run = models.Button(label="Run", button_type="primary")
        self.cancel = models.Button(label="Cancel", disabled=True)
        self.progress = models.Div(text="", sizing_mode=wide, disable_math=True)
        self.search = models.TextInput(
            title="Names and patterns of signals", value=usual_search(bench.system), sizing_mode=wide
        )
        self.shown = models.CheckboxGroup(labels=[], active=[], sizing_mode=wide)
        self.difference = models.CheckboxGroup(labels=["difference from first run"], active=[])
        # Long lines are broken, so that the page is not wider than a telephone.
        self.summary = models.PreText(
            text="", sizing_mode=wide, stylesheets=["pre { white-space: pre-wrap }"], disable_math=True
        )
        self.placeholder = models.Div(text="", disable_math=True)
        self.file = models.TextInput(title="Save study as", value="my-study.toml", sizing_mode=wide)
        self.replace = models.CheckboxGroup(labels=["replace"], active=[])
        self.save = models.Button(label="Save")
        self._connect()
        self._assemble()
        self._list_places()
        self.refresh()
        self._show_runs()
        document.add_periodic_callback(self._look, REFRESH)

    def _connect(self) -> None:
        self.add.on_click(self._guard(self._add_event))
        self.undo.on_click(self._guard(self._remove_event))
        self.run.on_click(self._guard(self._start))
        self.cancel.on_click(lambda: self.job.cancel() if self.job else None)
        self.save.on_click(self._guard(self._save))
        for widget, field, action in (
            (self.text, "value", self._edit),
            (self.kind, "value", self._list_places),
            (self.slider, "value", self._show_modes),
            (self.slider, "value_throttled", self._set_step),
            (self.search, "value", self._draw),
            (self.shown, "active", self._draw),
            (self.difference, "active", self._draw),
        ):
            widget.on_change(field, self._follow(action))

    def _assemble(self) -> None:
        from bokeh.layouts import column, row

        wide = "stretch_width"

        def line(*widgets: Any) -> Any:
            return row(*widgets, sizing_mode=wide, styles={"flex-wrap": "wrap"})

        self.network = column(self.diagram.figure, sizing_mode=wide)
        self.panels = column(self.placeholder, sizing_mode=wide)
        event = line(self.kind, self.place, self.start, self.lasting, self.add, self.undo)
        roots = {
            "network": column(self.network, event, sizing_mode=wide),
            "scheme": column(
                line(*self.form.widgets), self.slider, self.map.figure, sizing_mode=wide
            ),
            "run": column(line(self.run, self.cancel), self.progress, self.message, sizing_mode=wide),
            "study": column(
                self.text, line(self.file, self.replace, self.save), sizing_mode=wide
            ),
            "signals": column(
                self.search, self.shown, self.difference, self.panels, sizing_mode=wide
            ),
            "summary": column(self.summary, sizing_mode=wide),
        }  # fmt: skip
        for name, root in roots.items():
            root.name = name
            self.document.add_root(root)
        self.document.template = environment("psmr.viewer").get_template("view.html")
        self.document.title = f"psmr view: {self.bench.system.name}"
        self.document.template_variables["system"] = self.bench.system.name

    def refresh(self) -> None:
        """Show the study of the workbench as it is now."""
        if self.diagram.system is not self.bench.system:
            self.diagram = Diagram(self.bench.system, self._dropped)
            self.network.children = [self.diagram.figure]
            self._list_places()
        self.diagram.show_events(self.bench.events())
        self.text.value = self.bench.text
        self.form.show(self.bench.content.get("scheme", {"type": "variable"}))
        if self.bench.step is not None:
            self.slider.value = 1e3 * self.bench.step
        self._show_modes()

    def _guard(self, action: Callable[[], None]) -> Callable[[], None]:
        """Return an action whose errors are shown on the page."""

        @functools.wraps(action)
        def guarded() -> None:
            try:
                action()
            except PsmrError as error:
                self.say(str(error), wrong=True)
            except Exception as error:  # a mistake of psmr's own: shown whole where the command was given
                say(traceback.format_exc())
                self.say(f"{type(error).__name__}: {error}; please report this", wrong=True)

        return guarded

    def _follow(self, action: Callable[[], None]) -> Callable[[str, Any, Any], None]:
        guarded = self._guard(action)
        return lambda attr, old, new: guarded()

    def say(self, words: str, wrong: bool = False) -> None:
        """Show a message, one of an error in red."""
        from markupsafe import escape

        colour = "#b42318" if wrong else "inherit"
        self.message.text = (
            f'<div role="status" style="color:{colour};white-space:pre-wrap">{escape(printable(words))}</div>'
        )

    def _edit(self) -> None:
        if self.text.value != self.bench.text:
            self.bench.edit(self.text.value)
            self.say("")
            self.refresh()

    def _change_scheme(self, table: dict[str, Any]) -> None:
        def change() -> None:
            self.bench.change(scheme=table)
            self.say("")
            self.refresh()

        self._guard(change)()

    def _set_step(self) -> None:
        if self.bench.step is not None and self.slider.value_throttled is not None:
            self.bench.set_step(self.slider.value_throttled / 1e3)
            self.refresh()

    def _show_modes(self) -> None:
        from bokeh.models import PlainText

        h = self.slider.value / 1e3
        try:
            self.map.show(self.bench.modes(h))
        except PsmrError as error:
            self.map.show(None)
            self.map.figure.title.text = PlainText(str(error)[:90])
        else:
            self.map.figure.title.text = f"one step of {1e3 * h:g} ms"

    def _list_places(self) -> None:
        places = list(self.bench.places(self.kind.value))
        self.place.options = places
        self.place.value = places[0] if places else ""
        self.lasting.visible = self.kind.value == "fault"

    def _add_event(self) -> None:
        self.bench.add_event(
            self.kind.value, self.place.value, self.start.value or 0.0, self.lasting.value or 0.1
        )
        self.say(f"Added: {TITLES[self.kind.value]}, {self.place.value}.")
        self.refresh()

    def _dropped(self, target: DropTarget) -> None:
        self.kind.value, self.place.value = target.kind, target.name
        self._guard(self._add_event)()

    def _remove_event(self) -> None:
        self.bench.remove_event(len(self.bench.events()) - 1)
        self.refresh()

    def _start(self) -> None:
        self._edit()
        self.job = Job(self.bench)
        self.run.disabled, self.cancel.disabled = True, False
        self.say("")

    def _look(self) -> None:
        job = self.job
        if job is None:
            return
        if not job.ended:
            share = 100 * job.t / job.t_end
            self.progress.text = (
                f'<progress max="100" value="{share:.0f}"></progress> t = {job.t:.2f} of {job.t_end:g} s'
            )
            return
        self.job = None
        self.progress.text = ""
        self.run.disabled, self.cancel.disabled = False, True
        self.say(job.words, wrong=job.failed)
        self._show_runs()

    def _show_runs(self) -> None:
        known = len(self.shown.labels)
        self.shown.labels = [
            f"{entry.label} ({BADGES[entry.run.judgement.colour]})" for entry in self.bench.runs
        ]
        if len(self.bench.runs) > known:
            self.shown.active = [*self.shown.active, len(self.bench.runs) - 1]
        self._guard(self._draw)()

    def _draw(self) -> None:
        chosen = [self.bench.runs[k] for k in self.shown.active if k < len(self.bench.runs)]
        if not chosen:
            self.panels.children, self.summary.text = [self.placeholder], "No run is shown."
            return
        less = bool(self.difference.active) and len(chosen) > 1
        self.panels.children = signal_panels(chosen, self.search.value, less)
        # The table of work at the end of a summary is wider than the page.
        texts = [run_text(entry.run, work=False) for entry in chosen]
        self.summary.text = "\n\n".join(
            f"{entry.label}\n{text}" for entry, text in zip(chosen, texts, strict=True)
        )
        if len(chosen) == 2:
            compared = chosen[0].run.compare(chosen[1].run, self.search.value.split())
            self.summary.text = f"{compared}\n\n{self.summary.text}"

    def _save(self) -> None:
        self._edit()
        target = self.bench.save(self.file.value, bool(self.replace.active))
        self.say(f"Saved {target}; psmr run {target.name} reproduces the run.")
