"""Expressions: what a component's equations become when they are evaluated on nodes in place of numbers.

Equal expressions are one node of a graph (hash-consing), so common subexpressions are shared as they are
written, and constants are folded on the way. Comparisons and selections are nodes of their own: a selection
never multiplies the branch that was not taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

from psmr.base.errors import InputError

LARGEST_PRODUCT = 4
"""Whole and half exponents up to this size become products and square roots."""

_NUMERIC: dict[str, Callable[..., float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "atan2": math.atan2,
    "power": math.pow,
    "ge": lambda a, b: float(a >= b),
    "clip": lambda x, lower, upper: min(max(x, lower), upper),
}


class Node:
    """One operation on earlier nodes of a graph, or a leaf: a variable, a parameter, a constant.

    `graph`: The graph that it belongs to.
    `place`: Its number there; the arguments have smaller ones.
    `kind`: Name of the operation.
    `args`: Nodes that it is made of.
    `value`: The number of a constant, the column of a variable or parameter.
    `fixed`: Whether it depends on no variable.
    """

    __array_ufunc__ = None  # numpy's scalars leave the operation to the node
    __slots__ = ("args", "fixed", "graph", "kind", "place", "value")

    def __init__(self, graph: Graph, kind: str, args: tuple[Node, ...], value: float = 0.0) -> None:
        self.graph, self.kind, self.args, self.value = graph, kind, args, value
        self.place = len(graph.nodes)
        self.fixed: bool = kind != "variable" and all(a.fixed for a in args)

    def __add__(self, other: Any) -> Node:
        return self.graph.add(self, other)

    def __radd__(self, other: Any) -> Node:
        return self.graph.add(other, self)

    def __sub__(self, other: Any) -> Node:
        return self.graph.subtract(self, other)

    def __rsub__(self, other: Any) -> Node:
        return self.graph.subtract(other, self)

    def __mul__(self, other: Any) -> Node:
        return self.graph.multiply(self, other)

    def __rmul__(self, other: Any) -> Node:
        return self.graph.multiply(other, self)

    def __truediv__(self, other: Any) -> Node:
        return self.graph.divide(self, other)

    def __rtruediv__(self, other: Any) -> Node:
        return self.graph.divide(other, self)

    def __pow__(self, other: Any) -> Node:
        return self.graph.power(self, other)

    def __rpow__(self, other: Any) -> Node:
        return self.graph.power(other, self)

    def __neg__(self) -> Node:
        return self.graph.negate(self)

    def __pos__(self) -> Node:
        return self

    def __abs__(self) -> Node:
        return self.graph.absolute(self)

    def _refuse(self, *_: Any) -> Any:
        raise InputError(
            "equations are traced symbolically: use m.where, m.ge, m.le, m.min, m.max or m.clip in place of "
            "`if`, and the functions of m, such as m.sin, in place of those of math and numpy"
        )

    __bool__ = __float__ = __int__ = __index__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __hash__ = None  # type: ignore[assignment]  # two nodes are the same where they are one object


class Graph:
    """Nodes by what they are; every method returns the one node of an operation on nodes or numbers.

    It is also the namespace ``m`` that a component's equations are evaluated with, the counterpart of
    `psmr.dae.declare.component.NumericMath`.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple[Any, ...], Node] = {}
        self.zero, self.one = self.constant(0.0), self.constant(1.0)

    def _node(self, kind: str, args: tuple[Node, ...], value: float = 0.0) -> Node:
        # repr distinguishes -0.0 from 0.0; NaN equals itself.
        key = (kind, repr(value), *(a.place for a in args))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Node(self, kind, args, value)
            self.nodes.append(found)
        return found

    def constant(self, value: float) -> Node:
        """Return the node of a number."""
        return self._node("constant", (), float(value))

    def variable(self, column: int) -> Node:
        """Return the node of the variable in a column of the index table."""
        return self._node("variable", (), column)

    def parameter(self, column: int) -> Node:
        """Return the node of the parameter in a column of the parameter table."""
        return self._node("parameter", (), column)

    def node(self, value: Any) -> Node:
        """Return a node as it is, a real number as a constant; raises InputError for anything else."""
        if isinstance(value, Node):
            if value.graph is not self:
                raise InputError("an expression was kept from another evaluation of equations")
            return value
        # bool and numpy's scalars are numbers as well; numpy's bool and arrays without a dimension only here
        if isinstance(value, Real) or (getattr(value, "shape", None) == () and value.dtype.kind in "biuf"):
            return self.constant(float(value))
        raise InputError(f"{value!r} is not a real number and no expression of variables and parameters")

    def _operation(self, kind: str, *values: Any) -> Node:
        args = tuple(map(self.node, values))
        if all(a.kind == "constant" for a in args):
            numbers = [a.value for a in args]
            try:
                return self.constant(_NUMERIC[kind](*numbers))
            except (ValueError, OverflowError, ZeroDivisionError) as error:
                listed = ", ".join(f"{number:g}" for number in numbers)
                raise InputError(f"{kind}({listed}) is not a real number") from error
        return self._node(kind, args)

    def add(self, a: Any, b: Any) -> Node:
        """Return a + b."""
        a, b = self.node(a), self.node(b)
        if a.kind == "constant" and b.kind == "constant":
            return self.constant(a.value + b.value)
        if a is self.zero or b is self.zero:
            return b if a is self.zero else a
        if b.kind == "negative":
            return self.subtract(a, b.args[0])
        if a.kind == "negative":
            return self.subtract(b, a.args[0])
        return self._node("add", (a, b) if a.place <= b.place else (b, a))

    def subtract(self, a: Any, b: Any) -> Node:
        """Return a - b."""
        a, b = self.node(a), self.node(b)
        if a.kind == "constant" and b.kind == "constant":
            return self.constant(a.value - b.value)
        if a is b:
            return self.zero
        if b is self.zero:
            return a
        if a is self.zero:
            return self.negate(b)
        if b.kind == "negative":
            return self.add(a, b.args[0])
        if a.kind == "negative":
            return self.negate(self.add(a.args[0], b))
        return self._node("subtract", (a, b))

    def negate(self, a: Any) -> Node:
        """Return -a."""
        a = self.node(a)
        if a.kind == "constant":
            return self.constant(-a.value) if a.value else self.zero
        if a.kind == "negative":
            return a.args[0]
        if a.kind == "subtract":
            return self.subtract(a.args[1], a.args[0])
        return self._node("negative", (a,))

    def multiply(self, a: Any, b: Any) -> Node:
        """Return a b; a product with zero is zero."""
        a, b = self.node(a), self.node(b)
        if b.kind == "constant":
            a, b = b, a
        if a.kind == "constant":
            if b.kind == "constant":
                return self.constant(a.value * b.value)
            if a.value == 0.0:
                return self.zero
            if a.value in (1.0, -1.0):
                return b if a.value == 1.0 else self.negate(b)
            if b.kind == "multiply" and b.args[0].kind == "constant":
                return self.multiply(a.value * b.args[0].value, b.args[1])
        if a.kind == "negative":
            return self.negate(self.multiply(a.args[0], b))
        if b.kind == "negative":
            return self.negate(self.multiply(a, b.args[0]))
        if a.kind == "constant":
            return self._node("multiply", (a, b))
        # Numbers and parameters move outward, where they meet.
        if a.fixed != b.fixed:
            one, other = (a, b) if a.fixed else (b, a)
            if other.kind == "multiply" and other.args[0].fixed:
                return self.multiply(self.multiply(one, other.args[0]), other.args[1])
            return self._node("multiply", (one, other))
        for one, other in ((a, b), (b, a)):
            if one.kind == "multiply" and (
                one.args[0].kind == "constant" or (not one.fixed and one.args[0].fixed)
            ):
                return self.multiply(one.args[0], self.multiply(one.args[1], other))
        if a.place > b.place:
            a, b = b, a
        return self._node("multiply", (a, b))

    def divide(self, a: Any, b: Any) -> Node:
        """Return a / b; zero divided is zero; raises InputError where b is the number zero."""
        a, b = self.node(a), self.node(b)
        if b.kind == "constant" and b.value == 0.0:
            raise InputError("an expression is divided by the number 0")
        if a.kind == "constant" and b.kind == "constant":
            return self.constant(a.value / b.value)
        if a is self.zero or b is self.one:
            return a
        if a is b:
            return self.one
        if a.kind == "negative":
            return self.negate(self.divide(a.args[0], b))
        if b.kind == "negative":
            return self.negate(self.divide(a, b.args[0]))
        return self._node("divide", (a, b))

    def power(self, a: Any, b: Any) -> Node:
        """Return a to the power b: products and square roots where b is a small whole or half number."""
        a, b = self.node(a), self.node(b)
        twice = 2 * b.value
        small = b.kind == "constant" and twice == round(twice) and abs(twice) <= 2 * LARGEST_PRODUCT
        if a.kind == "constant" or not small:
            return self._operation("power", a, b)
        if twice < 0:
            return self.divide(self.one, self.power(a, -b.value))
        whole, half = divmod(int(twice), 2)
        root = self.sqrt(a) if half else self.one
        square = self.multiply(a, a)
        products = (self.one, a, square, self.multiply(square, a), self.multiply(square, square))
        return self.multiply(products[whole], root)

    def sin(self, x: Any) -> Node:
        """Return the sine."""
        return self._operation("sin", x)

    def cos(self, x: Any) -> Node:
        """Return the cosine."""
        return self._operation("cos", x)

    def tan(self, x: Any) -> Node:
        """Return the tangent."""
        return self._operation("tan", x)

    def exp(self, x: Any) -> Node:
        """Return the exponential."""
        return self._operation("exp", x)

    def log(self, x: Any) -> Node:
        """Return the natural logarithm."""
        return self._operation("log", x)

    def sqrt(self, x: Any) -> Node:
        """Return the square root."""
        return self._operation("sqrt", x)

    def atan2(self, y: Any, x: Any) -> Node:
        """Return the angle of (x, y)."""
        return self._operation("atan2", y, x)

    def ge(self, a: Any, b: Any) -> Node:
        """Return whether a >= b: 1 or 0."""
        return self._operation("ge", a, b)

    def le(self, a: Any, b: Any) -> Node:
        """Return whether a <= b: 1 or 0."""
        return self.ge(b, a)

    def where(self, condition: Any, a: Any, b: Any) -> Node:
        """Return a where the condition is not 0, otherwise b."""
        condition, a, b = self.node(condition), self.node(a), self.node(b)
        if a is b:
            return a
        if condition.kind == "constant":
            return a if condition.value != 0 else b
        return self._node("where", (condition, a, b))

    def min(self, a: Any, b: Any) -> Node:
        """Return the smaller of a and b."""
        return self.where(self.ge(b, a), a, b)

    def max(self, a: Any, b: Any) -> Node:
        """Return the larger of a and b."""
        return self.where(self.ge(a, b), a, b)

    def clip(self, x: Any, lower: Any, upper: Any) -> Node:
        """Return x limited to [lower, upper]."""
        return self._operation("clip", x, lower, upper)

    def absolute(self, x: Any) -> Node:
        """Return the absolute value."""
        return self.where(self.ge(x, 0.0), x, self.negate(x))

    abs = absolute
