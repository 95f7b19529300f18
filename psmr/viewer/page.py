"""The page: a study on its diagram, its scheme and modes, and the runs that were made of it."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from psmr.base.errors import InputError, PsmrError, printable
from psmr.dae.compile.notice import say
from psmr.figures.modes.render import environment
from psmr.figures.run.report import BADGES, JUDGEMENT_COLOURS
from psmr.network.topology.network import buses
from psmr.viewer.classroom import LONGEST_TEXT, packed, unpacked
from psmr.viewer.diagram import Diagram, DropTarget
from psmr.viewer.panels import ModeMap, SchemeForm, signal_panels
from psmr.viewer.workbench import Finished, Job, ModePoints, Workbench

REFRESH = 200
"""Milliseconds between two looks at a run that goes on."""

LONGEST_SEARCH = 1000
"""Characters of names and patterns at most; of each that is wrong the nearest is looked for."""

MODES = ThreadPoolExecutor(1, thread_name_prefix="psmr view: modes")
"""Computes the modes of all pages, one map at a time, so that no slider holds up the page of another."""

TITLES = {
    "fault": "fault at a bus",
    "line-trip": "trip of a line",
    "load-trip": "trip of a load",
    "generator-trip": "trip of a machine",
}


class Page:
    """One page on a workbench, both of one browser tab, which was opened at `url`.

    `keep` takes the page of a result, for whoever has the link that it returns.
    """

    def __init__(
        self, bench: Workbench, document: Any, url: str = "", keep: Callable[[str], str] | None = None
    ) -> None:
        from bokeh import models

        wide = "stretch_width"
        self.bench, self.document, self.url, self.keep = bench, document, url, keep
        self.job: Job | None = None
        self.listed: list[Finished] = []
        self.looking: Any = None
        self.mapping: Future[ModePoints] | None = None
        self.stale = False
        self.diagram = Diagram(bench.system, self._dropped)
        self.message = models.Div(name="message", text="", sizing_mode=wide, disable_math=True)
        # A text that is cut here is still longer than may be, and is refused.
        longest = LONGEST_TEXT + 1 if bench.room else None
        self.text = models.TextAreaInput(
            name="text", title="Study file", rows=16, sizing_mode=wide, max_length=longest
        )
        # What a link holds, which the page's own script puts here.
        self.linked = models.TextInput(name="linked", visible=False)
        self.link = models.Button(label="Link to this study")
        self.share = models.Button(label="Share last run", visible=keep is not None)
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
        usual = "bus*.v" if any(name.startswith("bus") for name in buses(bench.system)) else "*.v"
        self.search = models.TextInput(
            title="Names and patterns of signals", value=f"*.omega {usual}", sizing_mode=wide
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

    def _connect(self) -> None:
        self.add.on_click(self._guard(self._add_event))
        self.undo.on_click(self._guard(self._remove_event))
        self.run.on_click(self._guard(self._start))
        self.cancel.on_click(lambda: self.job.cancel() if self.job else None)
        self.save.on_click(self._guard(self._save))
        self.link.on_click(self._guard(self._show_link))
        self.share.on_click(self._guard(self._share))
        for widget, field, action in (
            (self.text, "value", self._edit),
            (self.linked, "value", self._open_link),
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
            "run": column(
                line(self.run, self.cancel, self.link, self.share),
                self.progress,
                self.message,
                sizing_mode=wide,
            ),
            "study": column(
                self.text,
                self.linked,
                *([] if self.bench.room else [line(self.file, self.replace, self.save)]),
                sizing_mode=wide,
            ),
            "signals": column(
                self.search, self.shown, self.difference, self.panels, sizing_mode=wide
            ),
            "summary": column(self.summary, sizing_mode=wide),
        }  # fmt: skip
        with self.document.models.freeze():  # which else goes through all of them after each root
            for name, root in roots.items():
                root.name = name
                self.document.add_root(root)
        self.document.template = environment("psmr.viewer").get_template("view.html")
        self.document.title = f"psmr view: {self.bench.system.name}"
        self.document.template_variables["system"] = self.bench.system.name
        self.document.template_variables["download"] = self.bench.room is not None

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

    def say(self, words: str, wrong: bool = False, colour: str = "", link: str = "") -> None:
        """Show a message: one of an error in red, a verdict in its colour, or with a link behind it."""
        from markupsafe import Markup

        style = "white-space:pre-wrap;overflow-wrap:anywhere;" + ("color:#b42318" if wrong else "")
        if colour:
            shade = JUDGEMENT_COLOURS[colour]
            style += f"border-left:6px solid {shade};padding-left:.6em;font-weight:600;color:{shade}"
        # A target of its own: the text of the page stays where it is.
        more = (
            Markup(' <a href="{}" target="_blank" rel="noopener">{}</a>').format(link, link) if link else ""
        )
        self.message.text = str(
            Markup('<div role="status" style="{}">{}{}</div>').format(style, printable(words), more)
        )

    def _open_link(self) -> None:
        if not self.linked.value:
            return
        text = unpacked(self.linked.value)
        self.linked.value = ""
        self.bench.edit(text, trusted=False)
        self.say("This study is from a link; nothing has been run.")
        self.refresh()

    def _show_link(self) -> None:
        self._edit()
        link = f"{self.url}#study={packed(self.bench.text)}"
        self.say("Whoever opens this link has this study in the editor:", link=link)

    def _share(self) -> None:
        if not self.bench.runs:
            raise InputError("there is no run to share yet; press Run first")
        self._begin(Job(self.bench, self.bench.runs[-1]))

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
        if self.mapping is not None:
            self.stale = True  # what is asked for now is computed when that is done
            return
        h, self.stale = self.slider.value / 1e3, False
        self.mapping = MODES.submit(self.bench.fresh().modes, h)
        show = self._guard(functools.partial(self._put_modes, self.mapping, h))
        self.mapping.add_done_callback(lambda done: self.document.add_next_tick_callback(show))

    def _put_modes(self, done: Future[ModePoints], h: float) -> None:
        from bokeh.models import PlainText

        self.mapping = None
        if self.stale:
            self._show_modes()
        try:
            self.map.show(done.result())
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
        if self.job is None:
            self._begin(Job(self.bench))

    def close(self) -> None:
        """End what goes on; nobody sees this page any more."""
        if self.job is not None:
            self.job.cancel()

    def _begin(self, job: Job) -> None:
        self.job = job
        self.run.disabled, self.share.disabled, self.cancel.disabled = True, True, False
        self.say("")
        # Of a class all may wait at once, and 60 that looked as often took half a processor.
        period = REFRESH if self.bench.room is None else 5 * REFRESH
        self.looking = self.document.add_periodic_callback(self._look, period)

    def _look(self) -> None:
        job = self.job
        if job is None:
            return
        if not job.ended:
            share = 100 * job.t / job.t_end
            words = f"t = {job.t:.2f} of {job.t_end:g} s" if job.of is None else "the page of the run"
            if job.queue:
                words = f"waiting: place {job.queue} in the queue"
            self.progress.text = f'<progress max="100" value="{share:.0f}"></progress> {words}'
            return
        self.job = None
        self.document.remove_periodic_callback(self.looking)
        self.progress.text = ""
        self.run.disabled, self.share.disabled, self.cancel.disabled = False, False, True
        if job.page and self.keep and self.bench.room:
            most = self.bench.room.shared
            words = f"Whoever opens this link sees the result, until {most} newer ones are shared:"
            self.say(words, link=self.keep(job.page))
            return
        self.say(job.words, wrong=job.failed, colour=job.colour)
        self._show_runs()

    def _show_runs(self) -> None:
        before, now = self.listed, self.bench.runs
        ticked = {id(before[k]) for k in self.shown.active if 0 <= k < len(before)}
        known = {id(entry) for entry in before}
        self.listed = now
        self.shown.labels = [f"{entry.label} ({BADGES[entry.colour]})" for entry in now]
        self.shown.active = [
            k for k, entry in enumerate(now) if id(entry) in ticked or id(entry) not in known
        ]
        self._guard(self._draw)()

    def _draw(self) -> None:
        chosen = [entry for k, entry in enumerate(self.listed) if k in self.shown.active]
        if not chosen:
            self.panels.children, self.summary.text = [self.placeholder], "No run is shown."
            return
        pattern = self.search.value
        if len(pattern) > LONGEST_SEARCH:
            raise InputError(f"the names of signals have more than {LONGEST_SEARCH} characters; use patterns")
        less = bool(self.difference.active) and len(chosen) > 1
        self.panels.children = signal_panels(chosen, pattern, less)
        self.summary.text = "\n\n".join(f"{entry.label}\n{entry.summary}" for entry in chosen)
        if len(chosen) == 2:
            compared = chosen[0].run.compare(chosen[1].run, pattern.split())
            self.summary.text = f"{compared}\n\n{self.summary.text}"

    def _save(self) -> None:
        self._edit()
        target = self.bench.save(self.file.value, bool(self.replace.active))
        self.say(f"Saved {target}; psmr run {target.name} reproduces the run.")
