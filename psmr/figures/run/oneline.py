"""The partition drawn on the one-line graph: which buses, machines and controls are fast.

Places for the nodes of a graph: distances on paper follow those along the edges.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import shortest_path

from partitioning import Partition
from psmr.base.arguments import check_arguments, positive_number
from psmr.base.arrays import Reals
from psmr.base.errors import InputError
from psmr.dae.system.system import System
from psmr.figures.chart import (
    DATA,
    FAINT,
    FAST,
    SLOW,
    Area,
    Arrow,
    Drawing,
    Line,
    Mark,
    Panel,
    PanelAxis,
    Point,
    Text,
    unbroken,
)
from psmr.figures.with_matplotlib import to_matplotlib
from psmr.network.topology.islands import plants as plants_of
from psmr.network.topology.network import at_buses, branches, branches_in_service, buses, is_load

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ITERATIONS = 500
SETTLED = 1e-7  # relative decrease of the stress in an iteration

# The circle is the same on every machine; classical scaling turns with the rounding of equal eigenvalues.
BETTER = 0.98


def stress_layout(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, tuple[float, float]]:
    """Return places within [-1, 1] at which the weighted stress is smallest, sought from two starts.

    The stress is that of Kamada and Kawai (An algorithm for drawing general undirected graphs, 1989), each
    error relative to the distance; it is minimised by majorisation (Gansner, Koren and North, Graph drawing
    by stress majorization, 2004). It costs the cube of the number of nodes.
    """
    n = len(nodes)
    place = {node: k for k, node in enumerate(nodes)}
    ends = np.array([(place[a], place[b]) for a, b in edges], dtype=np.int32).reshape(-1, 2)
    joined = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    distance = shortest_path(joined, directed=False, unweighted=True)
    # Parts without a path between them stand beside one another.
    distance[np.isinf(distance)] = 1.0 + distance[np.isfinite(distance)].max(initial=0.0)
    weight = np.divide(1.0, distance**2, out=np.zeros_like(distance), where=distance > 0.0)
    starts = (_circle(distance), _scaling(distance)) if n > 2 else (_circle(distance),)
    found = [_settled(start, distance, weight) for start in starts]
    at = found[-1][1] if found[-1][0] < BETTER * found[0][0] else found[0][1]
    at -= at.mean(axis=0)
    at /= max(np.abs(at).max(initial=0.0), 1e-12)
    return {node: (float(x), float(y)) for node, (x, y) in zip(nodes, at, strict=True)}


def _settled(at: Reals, distance: Reals, weight: Reals) -> tuple[float, Reals]:
    """Return the stress that majorisation comes to, and the places."""
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    last = np.inf
    for _ in range(ITERATIONS):
        apart = _distances(at)
        stress = float((weight * (apart - distance) ** 2).sum())
        settled, last = stress == 0.0 or last - stress < SETTLED * last, stress
        if settled:
            break
        pull = np.divide(weight * distance, apart, out=np.zeros_like(apart), where=apart > 0.0)
        at = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ at)
    return last, at


def _circle(distance: Reals) -> Reals:
    angle = 2.0 * np.pi * np.arange(len(distance)) / len(distance)
    return 0.5 * distance.max() * np.column_stack([np.cos(angle), np.sin(angle)])


def _scaling(distance: Reals) -> Reals:
    """Return the two leading coordinates of classical scaling, each with its largest entry positive."""
    n = len(distance)
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ distance**2 @ centre)
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(n)]
    return (vectors * np.sign(largest) * np.sqrt(np.maximum(values, 0.0)))[:, :-3:-1]


def _distances(at: Reals) -> Reals:
    return np.asarray(np.linalg.norm(at[:, None, :] - at[None, :, :], axis=2))


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
class DrawnPlant:
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
    return to_matplotlib(_drawing(system, split, layout(system), (width, height)))


def one_line_drawing(system: System, split: Partition) -> Drawing:
    """Return the figure for a narrow page: upright, in letters that can be read there."""
    _check(system, split)
    return _drawing(system, split, upright(layout(system), PAGE[1] / PAGE[0]), PAGE)


def _check(system: System, split: Partition) -> None:
    if not buses(system):
        raise InputError("the system has no buses, there is no one-line graph to draw")
    if (split.names_x, split.names_y) != (system.names_x, system.names_y):
        raise InputError("the partition belongs to another system; its names are not those of this one")


def _drawing(system: System, split: Partition, where: dict[str, Point], size: Point) -> Drawing:
    """Return the network at places, on a figure of a size in inches."""
    scale, centre = spacing(where), _mean(list(where.values()))
    small, roomy = len(where) <= LABELLED, len(where) <= ROOMY
    marks: list[Mark] = []
    for branch in branches(system):
        marks += _branch(where[branch.ends[0]], where[branch.ends[1]], branch.transformer, scale)
    fast = {name for name, side in zip(split.names_y, split.fast_y, strict=True) if side}
    for bus, there in at_buses(system).items():
        marks += _bus(bus if small else "", where[bus], f"{bus}.v_re" in fast, scale, centre)
        if any(map(is_load, there)):
            at = where[bus]
            tip = at[0], at[1] + (0.5 * scale if at[1] > centre[1] else -0.5 * scale)
            marks.append(Arrow(at, tip, width=1.1, head=11.0, z=1.0))
    every = plants(system, split)
    for plant in every:
        beside = [p for p in every if p.bus == plant.bus]
        turn = FAN * (beside.index(plant) - (len(beside) - 1) / 2)
        marks += _plant(plant, where[plant.bus], centre, scale, turn, small, roomy)
    for colour, label in ((FAST, "fast"), (SLOW, "slow")):
        marks.append(Line([], [], colour, 5.0, butt=True, label=label))
    axis = PanelAxis(margin=0.06)
    panel = Panel(
        marks, axis, axis, bare=True, equal=True, legend="lower right", place=(0.02, 0.02, 0.96, 0.86)
    )
    title = "\n".join(filter(None, (system.name, textwrap.fill(unbroken(str(split)), int(13.5 * size[0])))))
    return Drawing((panel,), *size, title)


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


def plants(system: System, split: Partition) -> tuple[DrawnPlant, ...]:
    """Return the plants of a system, and loads that have states, with their share of fast states."""
    side = dict(zip(split.names_x, split.fast_x.tolist(), strict=True))
    known, states_of = plants_of(system), {d.name: d.component.states for d in system.devices}
    found = []
    for bus, there in at_buses(system).items():
        for source in (d for d in there if d.component.states):
            members = known[source.name].devices if source.name in known else (source.name,)
            flags = {name: [side[f"{name}.{state}"] for state in states_of[name]] for name in members}
            flags = {name: own for name, own in flags.items() if own}
            partly = [f"{name} {sum(f)}/{len(f)}" for name, f in flags.items() if any(f)]
            fast, states = (sum(map(count, flags.values())) for count in (sum, len))
            note = ", ".join(partly) or "all slow"
            found.append(DrawnPlant(source.name, bus, tuple(flags), fast, states, note))
    return tuple(found)


def layout(system: System) -> dict[str, Point]:
    """Return a place for each bus: by the lengths of paths, or by springs where there are many buses."""
    names, ends = buses(system), [branch.ends for branch in branches_in_service(system)]
    if len(names) <= STRESS:
        return stress_layout(names, ends)
    import networkx as nx  # slow to import, for large networks alone

    simple = nx.Graph()
    simple.add_nodes_from(names)
    simple.add_edges_from(ends)
    place = nx.spring_layout(simple, seed=1)
    return {bus: (float(x), float(y)) for bus, (x, y) in place.items()}


def spacing(where: dict[str, Point]) -> float:
    """Return the unit in which symbols are drawn: a part of the typical distance between neighbours."""
    points = list(where.values())
    if len(points) == 1:
        return 0.2
    nearest = [min(math.dist(p, q) for q in points if q is not p) for p in points]
    return 0.5 * sorted(nearest)[len(nearest) // 2]


def _branch(a: Point, b: Point, transformer: bool, scale: float) -> list[Mark]:
    marks: list[Mark] = [Line([a[0], b[0]], [a[1], b[1]], FAINT, 1.1, z=1.0)]
    if transformer:
        length = math.dist(a, b) or 1.0
        radius = 0.13 * scale
        step = 0.6 * radius * (b[0] - a[0]) / length, 0.6 * radius * (b[1] - a[1]) / length
        for fill, z in (("#ffffff", 2.0), ("none", 2.1)):
            for side in (-1, 1):
                centre = (a[0] + b[0]) / 2 + side * step[0], (a[1] + b[1]) / 2 + side * step[1]
                marks.append(Area(*_sector(centre, radius), fill, edge=FAINT, z=z))
    return marks


def _bus(name: str, at: Point, fast: bool, scale: float, centre: Point) -> list[Mark]:
    half = 0.3 * scale
    # Towards the middle of the drawing, where plants and loads do not hang.
    below = at[1] > centre[1]
    text = name.removeprefix("bus")
    return [
        Line([at[0] - half, at[0] + half], [at[1]] * 2, FAST if fast else SLOW, 5.0, butt=True, z=3.0),
        Text(text, at, shift=(0, -7 if below else 7), ha="center", va="top" if below else "bottom", z=4.0),
    ]


def _plant(
    plant: DrawnPlant, at: Point, centre: Point, scale: float, turn: float, small: bool, roomy: bool
) -> list[Mark]:
    spot = outward(at, centre, 0.9 * scale, turn)
    radius, share = 0.3 * scale, plant.fast / plant.states
    marks: list[Mark] = [
        Line([at[0], spot[0]], [at[1], spot[1]], FAINT, 1.1, z=1.0),
        Area(*_sector(spot, radius), SLOW, z=2.5),
        Area(*_sector(spot, 0.7 * radius), "#ffffff", z=2.7),
    ]
    if share:
        marks.append(Area(*_sector(spot, radius, share), FAST, z=2.6))
    if not small:
        return marks
    up = 1 if spot[1] >= at[1] else -1
    note = f"{plant.name} {plant.fast}/{plant.states}"
    if roomy:
        marks.append(Text(plant.name, spot, ha="center", va="center", z=4.0))
        note = f"{plant.fast} of {plant.states} fast\n{plant.note}"
    beside = spot[0], spot[1] + up * radius
    va = "bottom" if up > 0 else "top"
    return [*marks, Text(note, beside, DATA, (0, 3 * up), 7.5, FAINT, "center", va)]  # type: ignore[arg-type]


def _sector(centre: Point, radius: float, share: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return the outline of a share of a disk, from the top to the right, as a polygon of many corners."""
    angle = np.pi / 2 - 2 * np.pi * share * np.linspace(0.0, 1.0, max(3, round(CORNERS * share)))
    x, y = centre[0] + radius * np.cos(angle), centre[1] + radius * np.sin(angle)
    return (x, y) if share == 1.0 else (np.append(x, centre[0]), np.append(y, centre[1]))


def outward(at: Point, centre: Point, distance: float, turn: float) -> Point:
    """Return the point at a distance from a bus, away from the middle of the drawing, turned by an angle."""
    direction = math.atan2(at[1] - centre[1], at[0] - centre[0]) if at != centre else math.pi / 2
    return at[0] + distance * math.cos(direction + turn), at[1] + distance * math.sin(direction + turn)


def _mean(points: Sequence[Point]) -> Point:
    return sum(p[0] for p in points) / len(points), sum(p[1] for p in points) / len(points)
