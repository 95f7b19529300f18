"""The partition drawn on the one-line graph: which buses, machines and controls are fast."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partitioning import Partition
from psmr.base.arguments import check_arguments, positive_number
from psmr.base.errors import InputError
from psmr.dae.system.system import System
from psmr.figures.modes.labels import unbroken
from psmr.figures.run.canvas import FAINT, FAST, INK, SLOW, bare, page_figure, plain_figure, styled
from psmr.figures.run.stress import stress_layout
from psmr.figures.svg.figure import PageFigure
from psmr.network.topology.network import at_buses, branches, branches_in_service, buses, is_load

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = tuple[float, float]

# Angle between two plants at one bus in rad: their rings and captions stay apart.
FAN = 1.1

# Buses up to which names can be read in the drawing.
LABELLED = 60

# Buses up to which the rings of plants are wide enough for a name, with room for what is fast beside them.
ROOMY = 15

# Inches of the drawing on a page, wide and high; corners of what is drawn as a circle.
PAGE = (4.9, 5.6)
CORNERS = 37

# The stress of a layout keeps distances along the branches and costs n^3; a spring layout serves more buses.
STRESS = 300


@dataclass(frozen=True)
class Plant:
    """A source at a bus with the controls that are wired to it, and how many of their states are fast."""

    name: str
    bus: str
    devices: tuple[str, ...]
    fast: int
    states: int
    note: str


def one_line(system: System, split: Partition, *, width: float = 7.2, height: float = 5.4) -> Figure:
    """Return a figure of the network in which colour says which side of the partition a thing is on.

    A bus is fast when its voltage is; the ring of a plant shows the share of its states that are fast.

    Raises
    ------
    InputError
        For a system without buses, and for a partition of another system.
    """
    check_arguments(one_line, locals())
    width, height = positive_number("width", width, "inches"), positive_number("height", height, "inches")
    _check(system, split)
    with styled():
        figure = plain_figure(width, height)
        _draw(figure, system, split, _layout(system), int(13 * width))
    return figure


def one_line_page(system: System, split: Partition) -> PageFigure:
    """Return the figure for a narrow page: upright, in letters that can be read there."""
    _check(system, split)
    figure = page_figure(*PAGE)
    _draw(figure, system, split, upright(_layout(system), PAGE[1] / PAGE[0]), int(14 * PAGE[0]))
    return figure


def _check(system: System, split: Partition) -> None:
    if not buses(system):
        raise InputError("the system has no buses, there is no one-line graph to draw")
    if (split.names_x, split.names_y) != (system.names_x, system.names_y):
        raise InputError("the partition belongs to another system; its names are not those of this one")


def _draw(figure: Any, system: System, split: Partition, where: dict[str, Point], letters: int) -> None:
    """Draw the network at places on a figure, with a title of so many letters a line."""
    ax = figure.add_axes((0.02, 0.02, 0.96, 0.86))
    bare(ax)
    scale = _spacing(where)
    for branch in branches(system):
        _branch(ax, where[branch.ends[0]], where[branch.ends[1]], branch.kind == "Transformer", scale)
    fast = {name for name, side in zip(split.names_y, split.fast_y, strict=True) if side}
    centre = _mean(list(where.values()))
    small = len(where) <= LABELLED
    for bus, there in at_buses(system).items():
        _bus(ax, bus if small else "", where[bus], f"{bus}.v_re" in fast, scale, centre)
        if any(map(is_load, there)):
            _load(ax, where[bus], centre, scale)
    every = plants(system, split)
    for plant in every:
        beside = [p for p in every if p.bus == plant.bus]
        turn = FAN * (beside.index(plant) - (len(beside) - 1) / 2)
        _plant(ax, plant, where[plant.bus], centre, scale, turn, small, len(where) <= ROOMY)
    ax.margins(0.06)
    _legend(ax)
    title = "\n".join(filter(None, (system.name, textwrap.fill(unbroken(str(split)), letters))))
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK)


def upright(where: dict[str, Point], ratio: float) -> dict[str, Point]:
    """Return places turned so that their longest extent points up, and stretched sideways to a ratio.

    A sheet whose height is `ratio` times its width is then filled; no distance grows more than twofold.
    """
    points = np.array(list(where.values()))
    points = points - points.mean(axis=0)
    across, along = np.linalg.svd(points, full_matrices=False)[2][[1, 0]] if len(points) > 2 else np.eye(2)
    # The same turn on every machine: an axis has no sign of its own.
    turned = np.column_stack([points @ across * _sign(across), points @ along * _sign(along)])
    wide, high = np.ptp(turned, axis=0)
    if wide > 0.0 and high > 0.0:
        turned[:, 0] *= float(np.clip(high / ratio / wide, 0.5, 2.0))
    return {bus: (float(x), float(y)) for bus, (x, y) in zip(where, turned, strict=True)}


def _sign(axis: np.ndarray) -> float:
    return float(np.sign(axis[np.abs(axis).argmax()]) or 1.0)


def plants(system: System, split: Partition) -> tuple[Plant, ...]:
    """Return the plants of a system with their share of fast states."""
    side = dict(zip(split.names_x, split.fast_x.tolist(), strict=True))
    wires = _wires(system)
    controls = {d.name: d for d in system.devices if d.component.states}
    found = []
    taken: set[str] = set()
    for bus, there in at_buses(system).items():
        for source in (d for d in there if d.component.states):
            members = [controls[name] for name in _reached(source.name, wires, taken) if name in controls]
            taken |= {d.name for d in members}
            flags = {d.name: [side[f"{d.name}.{state}"] for state in d.component.states] for d in members}
            partly = [f"{name} {sum(f)}/{len(f)}" for name, f in flags.items() if any(f)]
            fast, states = (sum(map(count, flags.values())) for count in (sum, len))
            note = ", ".join(partly) or "all slow"
            found.append(Plant(source.name, bus, tuple(flags), fast, states, note))
    return tuple(found)


def _wires(system: System) -> dict[str, list[str]]:
    """Return for each device those it is wired to, in their order, the network left out."""
    network = set(buses(system)) | {branch.name for branch in branches(system)}
    wires: dict[str, list[str]] = {d.name: [] for d in system.devices if d.name not in network}
    for device in system.devices:
        for target in device.connections.values():
            other = target.rpartition(".")[0]
            if other in wires and device.name in wires:
                wires[device.name].append(other)
                wires[other].append(device.name)
    return wires


def _reached(source: str, wires: dict[str, list[str]], taken: set[str]) -> list[str]:
    """Return a source and every device that its wires lead to, nearest first."""
    reached, ahead = [source], [source]
    while ahead:
        ahead = [
            n for n in dict.fromkeys(o for here in ahead for o in wires[here]) if n not in {*reached, *taken}
        ]
        reached += ahead
    return reached


def _layout(system: System) -> dict[str, Point]:
    names, ends = buses(system), [branch.ends for branch in branches_in_service(system)]
    if len(names) <= STRESS:
        return stress_layout(names, ends)
    import networkx as nx  # slow to import, for large networks alone

    simple = nx.Graph()
    simple.add_nodes_from(names)
    simple.add_edges_from(ends)
    place = nx.spring_layout(simple, seed=1)
    return {bus: (float(x), float(y)) for bus, (x, y) in place.items()}


def _spacing(where: dict[str, Point]) -> float:
    """Return the unit in which symbols are drawn: a part of the typical distance between neighbours."""
    points = list(where.values())
    if len(points) == 1:
        return 0.2
    nearest = [min(math.dist(p, q) for q in points if q is not p) for p in points]
    return 0.5 * sorted(nearest)[len(nearest) // 2]


def _branch(ax: Axes, a: Point, b: Point, transformer: bool, scale: float) -> None:
    ax.plot([a[0], b[0]], [a[1], b[1]], color=FAINT, lw=1.1, zorder=1, solid_capstyle="round")
    if not transformer:
        return
    length = math.dist(a, b) or 1.0
    unit = ((b[0] - a[0]) / length, (b[1] - a[1]) / length)
    radius = 0.13 * scale
    for shift in (-0.6 * radius, 0.6 * radius):
        centre = ((a[0] + b[0]) / 2 + shift * unit[0], (a[1] + b[1]) / 2 + shift * unit[1])
        ax.fill(*_circle(centre, radius), fc="white", ec=FAINT, lw=1.0, zorder=2)
    for shift in (-0.6 * radius, 0.6 * radius):
        centre = ((a[0] + b[0]) / 2 + shift * unit[0], (a[1] + b[1]) / 2 + shift * unit[1])
        ax.fill(*_circle(centre, radius), fc="none", ec=FAINT, lw=1.0, zorder=2.1)


def _bus(ax: Axes, name: str, at: Point, fast: bool, scale: float, centre: Point) -> None:
    half = 0.3 * scale
    colour = FAST if fast else SLOW
    ax.plot([at[0] - half, at[0] + half], [at[1], at[1]], color=colour, lw=5, zorder=3, solid_capstyle="butt")
    # Towards the middle of the drawing, where plants and loads do not hang.
    below = at[1] > centre[1]
    text = name.removeprefix("bus")
    ax.annotate(
        text, at, xytext=(0, -7 if below else 7), textcoords="offset points", ha="center",
        va="top" if below else "bottom", fontsize=8, color=INK, zorder=4,
    )  # fmt: skip


def _plant(
    ax: Axes, plant: Plant, at: Point, centre: Point, scale: float, turn: float, small: bool, roomy: bool
) -> None:
    spot = _outward(at, centre, 0.9 * scale, turn)
    ax.plot([at[0], spot[0]], [at[1], spot[1]], color=FAINT, lw=1.1, zorder=1)
    radius = 0.3 * scale
    share = plant.fast / plant.states
    ax.fill(*_circle(spot, radius), fc=SLOW, ec="none", zorder=2.5)
    if share:
        ax.fill(*_sector(spot, radius, share), fc=FAST, ec="none", zorder=2.6)
    ax.fill(*_circle(spot, 0.7 * radius), fc="white", ec="none", zorder=2.7)
    if not small:
        return
    above = spot[1] >= at[1]
    note = f"{plant.fast} of {plant.states} fast\n{plant.note}"
    if roomy:
        ax.annotate(plant.name, spot, ha="center", va="center", fontsize=8, color=INK, zorder=4)
    else:
        note = f"{plant.name} {plant.fast}/{plant.states}"
    ax.annotate(
        note, (spot[0], spot[1] + (radius if above else -radius)), xytext=(0, 3 if above else -3),
        textcoords="offset points", ha="center", va="bottom" if above else "top", fontsize=7.5, color=FAINT,
    )  # fmt: skip


def _load(ax: Axes, at: Point, centre: Point, scale: float) -> None:
    upward = at[1] > centre[1]
    tip = 0.5 * scale if upward else -0.5 * scale
    ax.annotate(
        "", (at[0], at[1] + tip), xytext=at,
        arrowprops={"arrowstyle": "-|>", "color": FAINT, "lw": 1.1, "shrinkA": 0, "shrinkB": 0,
        "mutation_scale": 11}, zorder=1,
    )  # fmt: skip


def _legend(ax: Axes) -> None:
    for colour, label in ((FAST, "fast"), (SLOW, "slow")):
        ax.plot([], [], color=colour, lw=5, label=label)
    ax.legend(loc="lower right", handlelength=1.0)


def _circle(centre: Point, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the outline of a circle, as a polygon that the eye takes for one."""
    return _sector(centre, radius, 1.0)


def _sector(centre: Point, radius: float, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the outline of a share of a disk, from the top to the right."""
    angle = np.pi / 2 - 2 * np.pi * share * np.linspace(0.0, 1.0, max(3, round(CORNERS * share)))
    x, y = centre[0] + radius * np.cos(angle), centre[1] + radius * np.sin(angle)
    return (x, y) if share == 1.0 else (np.append(x, centre[0]), np.append(y, centre[1]))


def _outward(at: Point, centre: Point, distance: float, turn: float) -> Point:
    """Return the point at a distance from a bus, away from the middle of the drawing, turned by an angle."""
    direction = math.atan2(at[1] - centre[1], at[0] - centre[0]) if at != centre else math.pi / 2
    return at[0] + distance * math.cos(direction + turn), at[1] + distance * math.sin(direction + turn)


def _mean(points: Sequence[Point]) -> Point:
    return sum(p[0] for p in points) / len(points), sum(p[1] for p in points) / len(points)
