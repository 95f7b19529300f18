"""Figures of a run: trajectories with the events marked."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.study.events import Fault
from psmr.study.output.canvas import COLOURS, FAINT, FAST, INK, new_figure, styled
from psmr.study.record.recorded import Recorded
from psmr.study.record.signals import default_panels, quantity
from psmr.study.record.values import values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What an axis says for the field's own names.
DERIVED: Mapping[str, str] = {"v": "bus voltage", "angle": "bus voltage angle"}
TITLES: Mapping[str, str] = {
    "omega": "speed",
    "delta": "rotor angle",
    "e_q": "transient voltage, q axis",
    "e_d": "transient voltage, d axis",
    "v_f": "field voltage",
    "v_m": "measured voltage",
    "v_r": "regulator output",
}
UNITS: Mapping[str, str] = {"angle": "rad"}

# More lines than this cannot be told apart by colour; they are drawn alike and counted.
DISTINCT = len(COLOURS)


def trajectories(
    run: Recorded,
    names: str | Iterable[str] | None = None,
    *,
    title: str | None = None,
    width: float = 7.2,
    panel_height: float = 2.3,
    until: float | None = None,
) -> Figure:
    """Return a figure with a panel for each kind of quantity and the events marked.

    Parameters
    ----------
    run
        What to draw.
    names
        Names or patterns as in `Run.frame`; None: machine speeds and bus voltages, or the states where there
        are none.
    title
        Above the figure; None: system and scheme.
    width, panel_height
        In inches.
    until
        End of the time axis in s; None: the whole run.

    Raises
    ------
    InputError
        For a name that means nothing.
    """
    panels = default_panels(run.signals) if names is None else _by_quantity(run.signals.select(names))
    with styled():
        figure = new_figure(width, 0.75 + panel_height * len(panels))
        axes = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0])
        for ax, panel in zip(axes, panels, strict=True):
            _panel(ax, run, panel)
        mark_events(axes, run)
        axes[-1].set_xlabel("time [s]")
        axes[-1].set_xlim(run.t[0], run.t[-1] if until is None else until)
        text = _title(run) if title is None else title
        # A title wider than the figure would widen the picture; about 13 letters of this size fit an inch.
        figure.suptitle(textwrap.fill(text, int(13 * width)), x=0.01, ha="left", fontsize=10, color=INK)
    return figure


def mark_events(axes: Sequence[Axes], run: Recorded) -> None:
    """Shade faults, draw a line where anything else happens, and say what above the first panel."""
    for event in run.events:
        if isinstance(event, Fault):
            for ax in axes:
                ax.axvspan(event.start, event.clear, color=FAST, alpha=0.16, lw=0, zorder=0.5)
    for instant, _ in run.instants:
        for ax in axes:
            ax.axvline(instant, color=FAINT, lw=0.7, ls=(0, (4, 3)), zorder=0.6)
    if run.stopped is not None:
        for ax in axes:
            ax.axvline(run.stopped.t, color=FAST, lw=1.0, zorder=0.6)
    _caption_instants(axes[0], run)


def _caption_instants(ax: Axes, run: Recorded) -> None:
    """Write the labels of the instants one above the other, so that close ones do not overlap."""
    span = run.t[-1] - run.t[0]
    stopped = () if run.stopped is None else ((run.stopped.t, f"stopped by {run.stopped.monitor}"),)
    for level, (instant, label) in enumerate(reversed((*run.instants, *stopped))):
        right = instant - run.t[0] > 0.6 * span
        ax.annotate(
            f"{label}, {instant:g} s",
            (instant, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if right else 4, 3 + 10 * level),
            textcoords="offset points",
            fontsize=7.5,
            color=FAINT,
            ha="right" if right else "left",
            annotation_clip=False,
        )
        # A thin stem leads from a raised label down to its line.
        if level:
            ax.annotate(
                "",
                (instant, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 11 + 10 * level),
                textcoords="offset points",
                arrowprops={
                    "arrowstyle": "-",
                    "lw": 0.7,
                    "color": FAINT,
                    "ls": (0, (4, 3)),
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
                annotation_clip=False,
            )


def _panel(ax: Axes, run: Recorded, names: Sequence[str]) -> None:
    values = values_of(run, names)
    many = len(names) > DISTINCT
    for i, name in enumerate(names):
        colour = COLOURS[0] if many else COLOURS[i]
        look: dict[str, Any] = {"alpha": 0.35, "lw": 0.8} if many else {"label": name.rpartition(".")[0]}
        ax.plot(run.t, values[:, i], color=colour, **look)
    kinds = {quantity(name) for name in names}
    kind = kinds.pop() if len(kinds) == 1 else ""
    derived = names[0] in run.signals.derived
    words = (DERIVED if derived else TITLES).get(kind, kind) or "value"
    unit = UNITS.get(kind, "pu") if derived else run.units.get(names[0], "pu")
    ax.set_ylabel(f"{words} [{unit}]")
    if many:
        ax.text(
            0.995,
            0.97,
            f"{len(names)} signals",
            transform=ax.transAxes,
            ha="right",
            va="top",
            color=FAINT,
            fontsize=8,
        )
    else:
        # Beside the panel: a legend inside would cover the swing that the figure is about.
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2, borderaxespad=0.4)
    low, high = float(np.min(values)), float(np.max(values))
    # A flat line deserves a flat picture: rounding noise must not fill the panel.
    if high - low < 1e-6 * max(1.0, abs(high)):
        ax.set_ylim(low - 1e-3 * max(1.0, abs(low)), high + 1e-3 * max(1.0, abs(high)))


def _by_quantity(names: Sequence[str]) -> list[tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(quantity(name), []).append(name)
    return [tuple(group) for group in groups.values()]


def _title(run: Recorded) -> str:
    return f"{run.name}: {run.scheme}" if run.name else str(run.scheme)
