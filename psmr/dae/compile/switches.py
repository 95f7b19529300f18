"""Where the equations of a component switch: what decides on which side, and what a side makes of the rows.

A comparison a >= b decides by the sign of its margin a - b, ``clip(x, lower, upper)`` by those of x - lower
and upper - x. With the margins of another point in place of its own, an equation goes on with the sides that
it had there: its share in a corner is what it is less what it would be so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from psmr.dae.compile.derivative import dependence, reachable, rebuilt
from psmr.dae.compile.expression import Graph, Node


@dataclass(frozen=True, eq=False)
class Switches:
    """The margins of a component, and the shares of its rows.

    Attributes
    ----------
    margins
        What decides, by its sign: not negative or negative.
    rows, shares
        Rows of a device's row table that have a corner, and for each its value less the one with the sides
        that the margins in the columns behind those of the variables decide on.
    """

    margins: tuple[Node, ...]
    rows: tuple[int, ...]
    shares: tuple[Node, ...]


def switches(graph: Graph, expressions: Sequence[Node], variables: int) -> Switches:
    """Return where expressions of so many variables switch; what parameters decide is no switch."""
    masks = dependence(graph.nodes)
    decided = [
        graph.nodes[place]
        for place in sorted(reachable(expressions))
        if graph.nodes[place].kind in ("ge", "clip") and masks[place]
    ]
    margins: dict[int, Node] = {}
    for node in decided:
        for margin in _margins(graph, node):
            if not margin.fixed and graph.negate(margin).place not in margins:
                margins[margin.place] = margin
    column = {place: variables + k for k, place in enumerate(margins)}

    def side(margin: Node) -> Node:
        """Return what has, at the other point, the sign of a margin."""
        if margin.place in column:
            return graph.variable(column[margin.place])
        opposite = graph.negate(margin).place
        return graph.negate(graph.variable(column[opposite])) if opposite in column else margin

    held = {node.place: [graph.ge(side(margin), 0.0) for margin in _margins(graph, node)] for node in decided}

    def change(node: Node, build: Callable[..., Node], args: Sequence[Node]) -> Node:
        if node.place not in held:
            return build(graph, *args) if args else node
        if node.kind == "ge":
            return held[node.place][0]
        (above, below), (x, lower, upper) = held[node.place], args
        return graph.where(above, graph.where(below, x, upper), lower)

    there = rebuilt(graph, expressions, change)
    shares = {
        row: share
        for row, (own, other) in enumerate(zip(expressions, there, strict=True))
        if (share := own - other) is not graph.zero
    }
    return Switches(tuple(margins.values()), tuple(shares), tuple(shares.values()))


def _margins(graph: Graph, node: Node) -> list[Node]:
    """Return the margins of a comparison or of ``clip``."""
    if node.kind == "ge":
        return [graph.subtract(*node.args)]
    x, lower, upper = node.args
    return [graph.subtract(x, lower), graph.subtract(upper, x)]
