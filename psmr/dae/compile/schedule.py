"""The order in which a kernel evaluates its expressions, and what it evaluates only where it is selected.

Selections with one condition are taken together: one branch of the program for all of them. An operation that
only one side of a selection needs stands on that side.
"""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from psmr.dae.compile.derivative import reachable, rebuilt
from psmr.dae.compile.expression import Graph, Node


@dataclass(eq=False)
class Selection:
    """Nodes ``where(condition, a, b)`` with one condition, none of which depends on another.

    Attributes
    ----------
    condition
        The node that decides.
    home
        The region that they stand in.
    level
        How many selections, one after the other, lead to their values.
    members
        The nodes.
    """

    condition: Node
    home: Region
    level: int
    members: list[Node] = field(default_factory=list)


Region = tuple[Selection, bool] | None
"""One side of a selection, True for the first; None for what is always evaluated."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """Operations by region, in an order in which each finds what it needs.

    Attributes
    ----------
    items
        Nodes and selections of each region.
    columns
        Place of a node -> the outputs that have its value.
    """

    items: dict[Region, list[Node | Selection]]
    columns: dict[int, list[int]]


def schedule(outputs: Sequence[Node]) -> Schedule:
    """Return the order of evaluation of expressions of one graph."""
    nodes = [outputs[0].graph.nodes[place] for place in sorted(reachable(outputs))]
    levels: dict[int, int] = {}
    for node in nodes:
        levels[node.place] = max((levels[a.place] for a in node.args), default=0) + (node.kind == "where")
    columns = defaultdict(list)
    for column, node in enumerate(outputs):
        columns[node.place].append(column)

    homes: dict[int, Region] = dict.fromkeys(columns)
    selections: dict[tuple[Region, int, int], Selection] = {}
    items: dict[Region, list[tuple[tuple[int, ...], Node | Selection]]] = defaultdict(list)
    # A call of the C library spills every register: what waits for none comes after the calls.
    calls = reachable([node for node in nodes if node.kind in _CALLS])

    def use(node: Node, region: Region) -> None:
        known = node.place in homes
        homes[node.place] = (_common(homes[node.place], region) if known else region) if node.args else None

    # Whoever uses a node has a larger number.
    for node in reversed(nodes):
        home = homes[node.place]
        level = levels[node.place]
        if node.kind == "where":
            condition = node.args[0]
            key = (home, condition.place, level)
            if key not in selections:
                selections[key] = Selection(condition, home, level)
            selections[key].members.append(node)
            use(condition, home)
            for side, argument in zip((True, False), node.args[1:], strict=True):
                use(argument, (selections[key], side))
        else:
            items[home].append(((2 * level, node.place not in calls, node.place), node))
            for argument in node.args:
                use(argument, home)
    for selection in selections.values():
        selection.members.reverse()
        first = selection.members[0].place
        items[selection.home].append(((2 * selection.level - 1, first), selection))
    ordered = {
        region: [item for _, item in sorted(found, key=operator.itemgetter(0))]
        for region, found in items.items()
    }
    return Schedule(ordered, columns)


_CALLS = ("sin", "cos", "tan", "exp", "log", "atan2", "power")


def _common(a: Region, b: Region) -> Region:
    """Return the innermost region that holds both."""
    around_a, around_b = _around(a), _around(b)
    common: Region = None
    for one, other in zip(around_a, around_b, strict=False):
        if one != other:
            break
        common = one
    return common


def _around(region: Region) -> list[Region]:
    """Return the regions around a region and itself, the outermost first."""
    found: list[Region] = []
    while region is not None:
        found.append(region)
        region = region[0].home
    return found[::-1]


def economical(graph: Graph, outputs: Sequence[Node]) -> list[Node]:
    """Return expressions that do the same with less work.

    What divides several times is inverted once, and of two powers whose exponents differ by one the larger is
    a product.
    """
    nodes = [graph.nodes[place] for place in reachable(outputs)]
    divisors = Counter(
        node.args[1].place for node in nodes if node.kind == "divide" and node.args[1].kind != "constant"
    )
    # (base, exponent + 1) -> a power that is computed anyway
    smaller = {
        (node.args[0].place, node.args[1].args[0].place): node
        for node in nodes
        if node.kind == "power" and node.args[1].kind == "subtract" and node.args[1].args[1] is graph.one
    }

    def change(node: Node, build: Callable[..., Node], args: Sequence[Node]) -> Node:
        if node.kind == "divide" and divisors[node.args[1].place] > 1:
            return args[0] * graph.divide(graph.one, args[1])
        if node.kind == "power" and (node.args[0].place, node.args[1].place) in smaller:
            return args[0] * graph.power(args[0], args[1] - 1.0)
        return build(graph, *args) if args else node

    return rebuilt(graph, outputs, change)
