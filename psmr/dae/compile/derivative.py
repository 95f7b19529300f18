"""Derivatives of expressions, exact, and what an expression depends on.

A limiter has, within `psmr.dae.declare.component.NEAR` of a limit, the derivative of the inside: an
equilibrium at a limit is found to rounding only, and on which side of the limit it lies says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from psmr.dae.compile.expression import Graph, Node
from psmr.dae.declare.component import NEAR

Rule = Callable[[Graph, Node, Sequence[Node]], Node]


def _multiply(g: Graph, node: Node, d: Sequence[Node]) -> Node:
    (a, b), (da, db) = node.args, d
    return 2.0 * (a * da) if a is b else da * b + a * db


def _divide(g: Graph, node: Node, d: Sequence[Node]) -> Node:
    # What does not depend on the variable stands together, so that it is shared between the derivatives.
    inverse = g.divide(g.one, node.args[1])
    return d[0] * inverse - d[1] * (node * inverse)


def _power(g: Graph, node: Node, d: Sequence[Node]) -> Node:
    base, exponent = node.args
    by_base = d[0] * (exponent * g.power(base, exponent - 1.0)) if d[0] is not g.zero else g.zero
    by_exponent = d[1] * (node * g.log(base)) if d[1] is not g.zero else g.zero
    return by_base + by_exponent


def _atan2(g: Graph, node: Node, d: Sequence[Node]) -> Node:
    y, x = node.args
    inverse = g.divide(g.one, x * x + y * y)
    return d[0] * (x * inverse) - d[1] * (y * inverse)


def _clip(g: Graph, node: Node, d: Sequence[Node]) -> Node:
    x, lower, upper = node.args
    inside = g.where(g.ge(x, lower - NEAR), d[0], d[1])
    return g.where(g.ge(lower, upper), d[2], g.where(g.ge(upper + NEAR, x), inside, d[2]))


_RULES: dict[str, Rule] = {
    "add": lambda g, node, d: d[0] + d[1],
    "subtract": lambda g, node, d: d[0] - d[1],
    "negative": lambda g, node, d: -d[0],
    "multiply": _multiply,
    "divide": _divide,
    "power": _power,
    "sin": lambda g, node, d: d[0] * g.cos(node.args[0]),
    "cos": lambda g, node, d: -(d[0] * g.sin(node.args[0])),
    "tan": lambda g, node, d: d[0] * (1.0 + node * node),
    "exp": lambda g, node, d: d[0] * node,
    "log": lambda g, node, d: d[0] * g.divide(g.one, node.args[0]),
    "sqrt": lambda g, node, d: 0.5 * (d[0] * g.divide(g.one, node)),
    "atan2": _atan2,
    "ge": lambda g, node, d: g.zero,
    "where": lambda g, node, d: g.where(node.args[0], d[1], d[2]),
    "clip": _clip,
}


def dependence(nodes: Sequence[Node]) -> list[int]:
    """Return for each node of a graph the variables that it depends on, a bit each."""
    masks: list[int] = []
    for node in nodes:
        mask = 1 << int(node.value) if node.kind == "variable" else 0
        for argument in node.args:
            mask |= masks[argument.place]
        masks.append(mask)
    return masks


def derivatives(graph: Graph, expressions: Sequence[Node], columns: int) -> list[dict[int, Node]]:
    """Differentiate expressions with respect to the first variables.

    `graph`: whose nodes they are; it grows by the derivatives; `expressions`: what to differentiate;
    `columns`: number of variables. Returns for each expression its derivatives that are not zero, by column,
    ascending.
    """
    nodes = list(graph.nodes)
    masks = dependence(nodes)
    needed = reachable(expressions)
    found: dict[int, dict[int, Node]] = {}
    for node in nodes:
        mask = masks[node.place] & ((1 << columns) - 1)
        if not mask or node.place not in needed:
            continue
        if node.kind == "variable":
            found[node.place] = {int(node.value): graph.one}
            continue
        rule, own = _RULES[node.kind], {}
        parts = [found.get(argument.place, {}) for argument in node.args]
        for column in sorted(set().union(*parts)):
            derivative = rule(graph, node, [part.get(column, graph.zero) for part in parts])
            if derivative is not graph.zero:
                own[column] = derivative
        found[node.place] = own
    return [found.get(e.place, {}) for e in expressions]


def reachable(expressions: Sequence[Node]) -> set[int]:
    """Return the places of the nodes that expressions are made of."""
    seen: set[int] = set()
    stack = list(expressions)
    while stack:
        node = stack.pop()
        if node.place not in seen:
            seen.add(node.place)
            stack.extend(node.args)
    return seen


def rebuilt(
    graph: Graph,
    expressions: Sequence[Node],
    change: Callable[[Node, Callable[..., Node], Sequence[Node]], Node],
) -> list[Node]:
    """Return expressions made anew, folded on the way.

    `graph`, `expressions`: what to rebuild; `change`: returns the new node for a node, from the function that
    builds its kind and from its new arguments.
    """
    new: dict[int, Node] = {}
    for place in sorted(reachable(expressions)):
        node = graph.nodes[place]
        build = getattr(Graph, _BUILDERS.get(node.kind, node.kind))
        new[place] = change(node, build, [new[a.place] for a in node.args])
    return [new[e.place] for e in expressions]


_BUILDERS = {"negative": "negate"}


def substituted(graph: Graph, expressions: Sequence[Node], values: dict[int, float]) -> list[Node]:
    """Return expressions with numbers in place of some parameters.

    `graph`, `expressions`: what to rebuild; `values`: column of a parameter -> its number.
    """

    def change(node: Node, build: Callable[..., Node], args: Sequence[Node]) -> Node:
        if node.kind == "parameter" and int(node.value) in values:
            return graph.constant(values[int(node.value)])
        return build(graph, *args) if node.args else node

    return rebuilt(graph, expressions, change)
