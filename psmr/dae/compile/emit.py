"""Kernels as LLVM's text: for each device, ``out[target[i]] += expression``.

Products and sums may be contracted to fused operations; division follows IEEE 754. Selections with one
condition are taken together: one branch of the program for all of them. An operation that only one side of a
selection needs stands on that side.
"""

from __future__ import annotations

import operator
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from psmr.dae.compile.derivative import reachable, rebuilt
from psmr.dae.compile.expression import Graph, Node


@dataclass(eq=False)
class Selection:
    """Nodes ``where(condition, a, b)`` with one condition, none of which depends on another.

    `condition`: The node that decides.
    `home`: The region that they stand in.
    `level`: How many selections, one after the other, lead to their values.
    `members`: The nodes.
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

    `items`: Nodes and selections of each region.
    `columns`: Place of a node -> the outputs that have its value.
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


_BINARY = {
    "add": "fadd contract",
    "subtract": "fsub contract",
    "multiply": "fmul contract",
    "divide": "fdiv contract",
}
# LLVM's intrinsics become calls of the C library; tan and atan2 have none in its older versions.
_FUNCTIONS = {
    **{name: f"llvm.{name}.f64" for name in ("sin", "cos", "exp", "log", "sqrt")},
    "power": "llvm.pow.f64",
    "tan": "tan",
    "atan2": "atan2",
}
_ARITY = {"power": 2, "atan2": 2}

DECLARATIONS = "\n".join(
    f"declare double @{name}({', '.join(['double'] * _ARITY.get(kind, 1))}) nounwind memory(none)"
    for kind, name in _FUNCTIONS.items()
)
"""What a module with kernels begins with."""


class _Body:
    """The instructions of one device, each node once."""

    def __init__(self, first: int) -> None:
        self.lines: list[str] = []
        self.block = "device"
        self._first = first
        self._names: dict[int, str] = {}
        self._numbers: dict[tuple[str, int], str] = {}
        self._count = 0

    def _put(self, text: str) -> str:
        """Add an instruction and return the name of its result."""
        self._count += 1
        name = f"%s{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def _begin(self, block: str) -> None:
        """Begin a block of instructions."""
        self.block = block
        self.lines.append(f"{block}:")

    def run(self, plan: Schedule, region: Region) -> None:
        """Add the instructions of a region, those of its selections included."""
        for item in plan.items.get(region, ()):
            if isinstance(item, Selection):
                self._select(plan, item)
            else:
                self._names[item.place] = self._instruction(item)
            if region is None:
                for node in item.members if isinstance(item, Selection) else [item]:
                    for column in plan.columns.get(node.place, ()):
                        self._add_to(column, self._number(node))

    def _select(self, plan: Schedule, selection: Selection) -> None:
        condition = self._bit(selection.condition)
        regions: list[Region] = [(selection, True), (selection, False)]
        if not any(plan.items.get(region) for region in regions):
            for node in selection.members:
                a, b = map(self._number, node.args[1:])
                self._names[node.place] = self._put(f"select i1 {condition}, double {a}, double {b}")
            return
        self._count += 1
        labels = [f"{name}{self._count}" for name in ("taken", "other", "joined")]
        self.lines.append(f"  br i1 {condition}, label %{labels[0]}, label %{labels[1]}")
        ends = []
        for side, (label, region) in enumerate(zip(labels, regions, strict=False)):
            self._begin(label)
            self.run(plan, region)
            values = [self._number(node.args[1 + side]) for node in selection.members]
            ends.append((self.block, values))
            self.lines.append(f"  br label %{labels[2]}")
        self._begin(labels[2])
        for k, node in enumerate(selection.members):
            pairs = ", ".join(f"[ {values[k]}, %{block} ]" for block, values in ends)
            self._names[node.place] = self._put(f"phi double {pairs}")

    def _number(self, node: Node) -> str:
        """Return a node as a double; a comparison is a bit otherwise."""
        if node.kind != "ge":
            return self._names[node.place]
        # What was converted within a block is not known outside it.
        if (self.block, node.place) not in self._numbers:
            number = self._put(f"uitofp i1 {self._names[node.place]} to double")
            self._numbers[self.block, node.place] = number
        return self._numbers[self.block, node.place]

    def _instruction(self, node: Node) -> str:
        kind = node.kind
        if kind == "constant":
            return "0x" + struct.pack(">d", node.value).hex().upper()
        if kind in ("variable", "parameter"):
            return self._leaf(kind, int(node.value))
        args = list(map(self._number, node.args))
        if kind in _BINARY:
            return self._put(f"{_BINARY[kind]} double {args[0]}, {args[1]}")
        if kind == "negative":
            return self._put(f"fneg double {args[0]}")
        if kind == "ge":
            return self._put(f"fcmp oge double {args[0]}, {args[1]}")
        if kind == "clip":
            return self._clip(*args)
        listed = ", ".join(f"double {a}" for a in args)
        return self._put(f"call double @{_FUNCTIONS[kind]}({listed})")

    def _clip(self, x: str, lower: str, upper: str) -> str:
        # Where x is not a number, it stays that.
        below = self._put(f"fcmp ogt double {lower}, {x}")
        raised = self._put(f"select i1 {below}, double {lower}, double {x}")
        above = self._put(f"fcmp olt double {upper}, {raised}")
        return self._put(f"select i1 {above}, double {upper}, double {raised}")

    def _bit(self, node: Node) -> str:
        if node.kind == "ge":
            return self._names[node.place]
        return self._put(f"fcmp une double {self._names[node.place]}, 0.0")

    def _leaf(self, kind: str, column: int) -> str:
        if kind == "parameter":
            place = self._put(f"getelementptr inbounds double, ptr %p, i64 {column}")
        else:
            at = self._put(f"getelementptr inbounds i32, ptr %v, i64 {column}")
            narrow = self._put(f"load i32, ptr {at}, align 4, !invariant.load !0")
            wide = self._put(f"zext i32 {narrow} to i64")
            place = self._put(f"getelementptr inbounds double, ptr %w, i64 {wide}")
        return self._put(f"load double, ptr {place}, align 8")

    def _add_to(self, column: int, value: str) -> None:
        """Add a number to the entry of ``out`` that a column of the target table names."""
        at = self._put(f"getelementptr inbounds i32, ptr %t, i64 {self._first + column}")
        narrow = self._put(f"load i32, ptr {at}, align 4, !invariant.load !0")
        wide = self._put(f"zext i32 {narrow} to i64")
        place = self._put(f"getelementptr inbounds double, ptr %out, i64 {wide}")
        old = self._put(f"load double, ptr {place}, align 8")
        new = self._put(f"fadd contract double {old}, {value}")
        self.lines.append(f"  store double {new}, ptr {place}, align 8")


def kernel(
    name: str, outputs: Sequence[Node], variables: int, parameters: int, width: int, first: int = 0
) -> str:
    """Return the text of one kernel ``void name(n, index, target, P, w, out)``.

    `outputs`: what to evaluate; output k goes to column ``first + k`` of the target table; `variables`,
    `parameters`, `width`: number of columns of the index table, the parameter table and the target table;
    `first`: first column used of the target table.
    """
    body = _Body(first)
    body.run(schedule(economical(outputs[0].graph, outputs)), None)
    lines = "\n".join(body.lines)
    return f"""
define void @{name}(i64 %n, ptr noalias readonly %index, ptr noalias readonly %target,
    ptr noalias readonly %P, ptr noalias readonly %w, ptr noalias %out) nounwind {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %device, label %done
device:
  %i = phi i64 [ 0, %entry ], [ %next, %behind ]
  %vi = mul nuw nsw i64 %i, {variables}
  %v = getelementptr inbounds i32, ptr %index, i64 %vi
  %ti = mul nuw nsw i64 %i, {width}
  %t = getelementptr inbounds i32, ptr %target, i64 %ti
  %pi = mul nuw nsw i64 %i, {parameters}
  %p = getelementptr inbounds double, ptr %P, i64 %pi
{lines}
  br label %behind
behind:
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %device, label %done
done:
  ret void
}}
"""
