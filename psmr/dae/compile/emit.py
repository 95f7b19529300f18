"""Kernels as LLVM's text: for each device, ``out[target[i]] += expression``.

Products and sums may be contracted to fused operations; division follows IEEE 754.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from psmr.dae.compile.expression import Node
from psmr.dae.compile.schedule import Region, Schedule, Selection, economical, schedule

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

    Parameters
    ----------
    name
        Its symbol.
    outputs
        What to evaluate; output k goes to column ``first + k`` of the target table.
    variables, parameters, width
        Number of columns of the index table, the parameter table and the target table.
    first
        First column used of the target table.
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
