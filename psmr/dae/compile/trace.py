"""A component's equations evaluated once on the nodes of a graph, their Jacobian, and where they switch.

A comparison a >= b decides by the sign of its margin a - b, ``clip(x, lower, upper)`` by those of x - lower
and upper - x. With the margins of another point in place of its own, an equation goes on with the sides that
it had there: its share in a kink is what it is less what it would be so.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from psmr.base.errors import InputError
from psmr.dae.compile.derivative import dependence, derivatives, reachable, rebuilt, substituted
from psmr.dae.compile.expression import Graph, Node
from psmr.dae.declare.component import Component, local_rows, local_variables, parameters_of


@dataclass(frozen=True, eq=False)
class Switches:
    """The margins of a component, and the shares of its rows.

    `margins`: What decides, by its sign: not negative or negative.
    `rows`, `shares`: Rows of a device's row table that have a kink, and for each its value less the one
      with the sides that the margins in the columns behind those of the variables decide on.
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


Entry = tuple[int, int, Node]


@dataclass(frozen=True, eq=False)
class TracedEquations:
    """The equations of a component as nodes.

    `graph`: Whose nodes they are.
    `expressions`: Right-hand sides in the order of a device's row table: derivatives, residuals, injections.
    `variables`, `parameters`: Number of columns of the index table (the last is the time) and of the
      parameter table.
    `timed`: Whether an equation reads the time.
    """

    graph: Graph
    expressions: tuple[Node, ...]
    variables: int
    parameters: int
    timed: bool

    @functools.cached_property
    def switches(self) -> Switches:
        """Where the equations switch."""
        return switches(self.graph, self.expressions, self.variables)

    def digest(self, more: Sequence[Node] = ()) -> bytes:
        """Return a hash of the equations, and of further expressions in their variables and parameters."""
        outputs = (*self.expressions, *more)
        places = sorted(reachable(outputs))
        number = {place: i for i, place in enumerate(places)}
        nodes = (self.graph.nodes[place] for place in places)
        rows = [(node.kind, node.value, *(number[a.place] for a in node.args)) for node in nodes]
        ends = (len(self.expressions), *(number[e.place] for e in outputs))
        return hashlib.sha256(repr((self.variables, self.parameters, rows, ends)).encode()).digest()

    def jacobian(self) -> tuple[list[Entry], list[Entry]]:
        """Return the entries (row, variable, derivative) that are not zero: varying ones, constant ones.

        An entry is constant where it depends on parameters only.
        """
        columns = derivatives(self.graph, self.expressions, self.variables - 1)
        entries = [(row, column, e) for row, found in enumerate(columns) for column, e in found.items()]
        masks = dependence(self.graph.nodes)
        return (
            [entry for entry in entries if masks[entry[2].place]],
            [entry for entry in entries if not masks[entry[2].place]],
        )


_PARTS = (
    "must return three tuples: derivatives, residuals, injections; one of nothing is (), one of a single"
    " expression (x,)"
)


def on_nodes(component: type[Component], graph: Graph) -> tuple[SimpleNamespace, SimpleNamespace]:
    """Return the variables and the parameters of a component by name, as nodes of a graph."""
    return (
        SimpleNamespace(**{name: graph.variable(i) for i, name in enumerate(local_variables(component))}),
        SimpleNamespace(**{name: graph.parameter(i) for i, name in enumerate(parameters_of(component))}),
    )


def trace(component: type[Component]) -> TracedEquations:
    """Evaluate the equations of `component` on nodes.

    Raises InputError when the function returns another number of equations than the declaration has rows,
    does with a variable what cannot be traced, or reads the time where every declared rate is zero.
    """
    names, constants = local_variables(component), tuple(parameters_of(component))
    graph = Graph()
    try:
        parts = component.equations(graph, *on_nodes(component, graph))
        if len(parts) != 3 or any(isinstance(part, Node) for part in parts):
            raise InputError(_PARTS)
        expressions = tuple(tuple(map(graph.node, part)) for part in parts)
    except InputError as error:
        source = inspect.getsourcefile(inspect.unwrap(component.equations))
        lines = [step.lineno for step in traceback.extract_tb(error.__traceback__) if step.filename == source]
        at = f", line {lines[-1]}" if lines else ""
        raise InputError(f"{component.__name__}.equations{at}: {error}") from error
    _check_counts(component, expressions)
    flat = tuple(e for part in expressions for e in part)
    timed = _reads(graph, flat, len(names) - 1)
    if timed and component.ramps:
        _check_ramps(component, graph, flat)
    return TracedEquations(graph, flat, len(names), len(constants), timed)


def _reads(graph: Graph, expressions: tuple[Node, ...] | list[Node], column: int) -> bool:
    masks = dependence(graph.nodes)
    return any(masks[e.place] >> column & 1 for e in expressions)


def _check_ramps(component: type[Component], graph: Graph, expressions: tuple[Node, ...]) -> None:
    """Raise InputError where an equation reads the time although every declared rate is zero."""
    constants = tuple(parameters_of(component))
    still = substituted(graph, expressions, {constants.index(name): 0.0 for name in component.ramps})
    if _reads(graph, still, len(local_variables(component)) - 1):
        rates = " = ".join(component.ramps)
        raise InputError(
            f"{component.__name__}: the equations read the time even where {rates} = 0; declare every "
            "rate in ramps, or none"
        )


def _check_counts(component: type[Component], parts: Any) -> None:
    wanted = (
        len(component.states),
        len(local_rows(component)) - len(component.states) - len(component.outputs),
    )
    names = ("derivatives (one a state)", "residuals (one a row)", "injections (one an output)")
    for part, count, name in zip(parts, (*wanted, len(component.outputs)), names, strict=True):
        if len(part) != count:
            raise InputError(
                f"{component.__name__}.equations returned {len(part)} {name}, {count} are declared"
            )
    if wanted[1] != len(component.algebraic):
        raise InputError(
            f"{component.__name__} has {wanted[1]} residual rows "
            f"for {len(component.algebraic)} algebraic variables"
        )
