"""The one-line diagram on which events are dropped."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from psmr.dae.system.system import System
from psmr.figures.chart import FAINT, FAST, INK, SLOW, Point
from psmr.figures.run.oneline import layout, outward, spacing
from psmr.network.topology.islands import plants
from psmr.network.topology.network import at_buses, branches, is_load

LABELLED = 80
"""Buses up to which names are written."""

PALETTE = ("fault", "trip")
"""What can be dragged onto the diagram: a fault onto a bus; a trip onto a branch, a load or a machine."""


@dataclass(frozen=True)
class DropTarget:
    """Something on the diagram that an event can happen to: its kind of event, its name and its place."""

    kind: str
    name: str
    at: Point


def targets(system: System, where: dict[str, Point]) -> tuple[DropTarget, ...]:
    """Return everything on a diagram that an event can happen to."""
    scale, centre = spacing(where), middle(where)
    found = [DropTarget("fault", bus, at) for bus, at in where.items()]
    for branch in branches(system):
        a, b = (where[end] for end in branch.ends)
        found.append(DropTarget("line-trip", branch.name, ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)))
    for bus, there in at_buses(system).items():
        if any(map(is_load, there)):
            found.append(DropTarget("load-trip", bus, (where[bus][0], where[bus][1] - 0.55 * scale)))
    beside: dict[str, int] = {}
    for name, plant in plants(system).items():
        beside[plant.bus] = beside.get(plant.bus, -1) + 1
        spot = outward(where[plant.bus], centre, 0.9 * scale, 0.9 * beside[plant.bus])
        found.append(DropTarget("generator-trip", name, spot))
    return tuple(found)


def dropped_on(symbol: str, at: Point, known: tuple[DropTarget, ...]) -> DropTarget:
    """Return the nearest thing on the diagram that a symbol of `PALETTE` can be dropped on."""
    fits = [target for target in known if (target.kind == "fault") == (symbol == "fault")]
    return min(fits, key=lambda target: math.dist(at, target.at))


def middle(where: dict[str, Point]) -> Point:
    """Return the middle of some places."""
    return tuple(sum(at[k] for at in where.values()) / len(where) for k in (0, 1))  # type: ignore[return-value]


class Diagram:
    """A figure of the network, with symbols to drag onto it and the events that the study has.

    `dropped` is called with what a symbol was dropped on.
    """

    def __init__(self, system: System, dropped: Callable[[DropTarget], None]) -> None:
        from bokeh.models import ColumnDataSource, PointDrawTool
        from bokeh.plotting import figure

        self.system = system
        self.where = layout(system)
        self.targets = targets(system, self.where)
        self.dropped = dropped
        self.figure = figure(
            height=430, sizing_mode="stretch_width", match_aspect=True, tools="pan,wheel_zoom,reset",
            toolbar_location="above", x_axis_type=None, y_axis_type=None, name="diagram",
        )  # fmt: skip
        self.figure.toolbar.logo = None
        self.figure.grid.visible = False
        self.figure.outline_line_color = None
        self._draw(system)
        xs, ys = zip(*self.where.values(), strict=True)
        low, left, unit = min(ys) - 1.6 * spacing(self.where), min(xs), spacing(self.where)
        self.home = {"x": [left, left + 2.6 * unit], "y": [low, low]}
        self.palette = ColumnDataSource({**self.home, "what": list(PALETTE), "colour": [FAST, INK]})
        symbols = self.figure.scatter(
            "x", "y", source=self.palette, size=22, marker="hex", fill_color="colour", line_color="white"
        )
        self.figure.text(
            "x", "y", "what", source=self.palette, x_offset=15, text_baseline="middle", text_font_size="9pt"
        )
        self.events = ColumnDataSource({"x": [], "y": [], "number": []})
        self.figure.scatter(
            "x", "y", source=self.events, size=17, marker="circle", fill_color=FAST, line_color="white"
        )
        self.figure.text(
            "x", "y", "number", source=self.events, text_color="white", text_align="center",
            text_baseline="middle", text_font_size="8pt",
        )  # fmt: skip
        drag = PointDrawTool(renderers=[symbols], add=False, drag=True)
        self.figure.add_tools(drag)
        self.figure.toolbar.active_tap = drag
        self.figure.toolbar.active_drag = drag
        self.palette.on_change("data", self._moved)

    def show_events(self, events: list[tuple[str, str]]) -> None:
        """Mark the events of a study, pairs of kind and place, by their numbers."""
        at = {(target.kind, target.name): target.at for target in self.targets}
        shown = [(at[event], str(k)) for k, event in enumerate(events, 1) if event in at]
        self.events.data = {
            "x": [place[0] - 0.45 * spacing(self.where) for place, _ in shown],
            "y": [place[1] for place, _ in shown],
            "number": [number for _, number in shown],
        }

    def _moved(self, attribute: str, old: Any, new: Any) -> None:
        for k, symbol in enumerate(PALETTE):
            at = (new["x"][k], new["y"][k])
            if at != (self.home["x"][k], self.home["y"][k]):
                self.palette.data = {
                    **dict(self.palette.data),
                    **{key: list(v) for key, v in self.home.items()},
                }
                self.dropped(dropped_on(symbol, at, self.targets))
                return

    def _draw(self, system: System) -> None:
        where, unit = self.where, spacing(self.where)
        ends = [(where[branch.ends[0]], where[branch.ends[1]]) for branch in branches(system)]
        self.figure.multi_line(
            [[a[0], b[0]] for a, b in ends], [[a[1], b[1]] for a, b in ends], line_color=FAINT, line_width=1.3
        )
        names, places = list(where), list(where.values())
        x, y = [at[0] for at in places], [at[1] for at in places]
        self.figure.segment(
            [a - 0.3 * unit for a in x], y, [a + 0.3 * unit for a in x], y, line_width=5, line_color=SLOW
        )
        for kind, marker, size, colour in (
            ("load-trip", "inverted_triangle", 9, FAINT),
            ("generator-trip", "circle", 24, SLOW),
        ):
            chosen = [target for target in self.targets if target.kind == kind]
            home = [self._home(system, target) for target in chosen]
            self.figure.segment(
                [at[0] for at in home], [at[1] for at in home],
                [t.at[0] for t in chosen], [t.at[1] for t in chosen], line_color=FAINT, level="underlay",
            )  # fmt: skip
            self.figure.scatter(
                [t.at[0] for t in chosen], [t.at[1] for t in chosen], size=size, marker=marker,
                fill_color=colour if kind == "load-trip" else "white", line_color=colour, line_width=2,
            )  # fmt: skip
            if kind == "generator-trip" and len(names) <= LABELLED:
                self.figure.text(
                    [t.at[0] for t in chosen], [t.at[1] for t in chosen], [t.name for t in chosen],
                    text_align="center", text_baseline="middle", text_font_size="8pt", text_color=INK,
                )  # fmt: skip
        if len(names) <= LABELLED:
            self.figure.text(
                x, y, [name.removeprefix("bus") for name in names], y_offset=-6, text_align="center",
                text_font_size="9pt", text_color=INK,
            )  # fmt: skip

    def _home(self, system: System, target: DropTarget) -> Point:
        return self.where[target.name if target.kind == "load-trip" else plants(system)[target.name].bus]
