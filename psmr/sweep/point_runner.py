"""The points of a sweep, numbered; what a process needs to carry them out; their rows."""

from __future__ import annotations

import math
import time
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.base.errors import InputError, PsmrError, PsmrWarning, StudyError, without_numbers
from psmr.dae.system.system import System
from psmr.network.case.case import Case
from psmr.network.powerflow.adjustment import adjusted
from psmr.network.powerflow.powerflow import PowerFlow
from psmr.study.certificate.certificate import Certificate, Scheme
from psmr.study.certificate.certify import LARGEST, certify, judged_steps
from psmr.study.file.study import system_at
from psmr.study.output import require_pyarrow
from psmr.study.record.record import values_of
from psmr.study.run.run import Run
from psmr.sweep.axes.axis import (
    CASE,
    EVENT,
    Axis,
    Base,
    LoadGrowth,
    Points,
    Setting,
    Value,
    Variation,
    advancing_together,
    merged_variation,
    with_settings,
)
from psmr.sweep.axes.values import recipe_with
from psmr.sweep.measures import Measure, Start
from psmr.sweep.sweep import Sweep

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class CasePoints:
    """The points of one case: all combinations of its axes, the last one fastest."""

    case: int
    axes: tuple[Points, ...]

    def __len__(self) -> int:
        return math.prod(len(axis) for axis in self.axes)

    def point(self, number: int) -> Variation:
        """Return a point."""
        parts = []
        for axis in reversed(self.axes):
            number, k = divmod(number, len(axis))
            parts.append(axis[k])
        return merged_variation(reversed(parts))


@dataclass(frozen=True)
class SweepPlan:
    """All points of a sweep, numbered from 0."""

    blocks: tuple[CasePoints, ...]
    hidden: tuple[str, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def point(self, number: int) -> tuple[int, Variation]:
        """Return the number of the case and what varies."""
        for block in self.blocks:
            if number < len(block):
                return block.case, block.point(number).without_labels(self.hidden)
            number -= len(block)
        raise IndexError(number)

    def labels(self) -> tuple[str, ...]:
        """Return the names of the columns that say what varied."""
        firsts = [block.point(0).labels for block in self.blocks if len(block)]
        names = dict.fromkeys(name for first in firsts for name, _ in first)
        return tuple(name for name in names if name not in self.hidden)


def plan_of(sweep: Sweep, bases: Sequence[Base]) -> SweepPlan:
    """Return the points of a sweep on the systems of its cases.

    Raises StudyError for a name that an axis does not find, axes that vary the same, and no point at all.
    """
    if not sweep.axes:
        raise StudyError(f"{sweep.name}: nothing varies; add [[axis]] tables")
    ordered = sorted(sweep.axes, key=lambda axis: axis.rank)
    blocks = []
    for number, base in enumerate(bases):
        points = [(axis, _points(sweep, axis, base)) for axis in ordered]
        # A block has one of the cases.
        points = [(axis, at[number : number + 1] if axis.rank == CASE else at) for axis, at in points]
        blocks.append(CasePoints(number, tuple(_grouped(sweep, points))))
        _check_columns(sweep, points)
    plan = SweepPlan(tuple(blocks), ("clearing",) if sweep.finds_clearing else ())
    if not len(plan):
        empty = [axis.kind for axis in ordered for base in bases if not len(axis.points(base))]  # type: ignore[attr-defined]
        raise StudyError(
            f"{sweep.name}: there is nothing to run; {', '.join(dict.fromkeys(empty))} has no point"
        )
    return plan


def _check_columns(sweep: Sweep, points: Iterable[tuple[Axis, Points]]) -> None:
    """Raise StudyError for two axes that fill one column."""
    known: set[str] = set()
    for axis, at in points:
        names = {name for name, _ in at[0].labels} if len(at) else set()
        for name in sorted(names & known):
            raise StudyError(
                f"{sweep.place_of(axis)}{axis.kind}: two axes vary {name}; leave one of them out, or combine "
                "them"
            )
        known |= names


def _points(sweep: Sweep, axis: Axis, base: Base) -> Points:
    """Return the points of an axis; what is wrong with it begins with its place in the file."""
    try:
        _check_times(sweep, axis)
        return axis.points(base)
    except InputError as error:
        raise StudyError(f"{sweep.place_of(axis)}{error}") from error


def _check_times(sweep: Sweep, axis: Axis) -> None:
    """Raise StudyError where no run is long enough for the faults or trips of an axis."""
    start, t_end = getattr(axis, "start", None), sweep.study.t_end
    if axis.rank != EVENT or start is None or t_end is None:
        return
    if start >= t_end:
        raise StudyError(
            f"{axis.kind}: start = {start:g}: the run ends at t_end = {t_end:g} s; begin before that, or "
            "lengthen the run"
        )
    durations = getattr(axis, "durations", None)
    if durations is None:
        return
    what, longest = "longest (of the measure)", sweep.measure.longest_fault
    if longest is None:
        what, longest = "clearing", max(durations)
    if start + longest >= t_end:
        raise StudyError(
            f"{axis.kind}: {what} = {longest:g}: a fault at {start:g} s is not cleared before the run ends, "
            f"at t_end = {t_end:g} s; lengthen the run by what a swing takes, some seconds"
        )


def _grouped(sweep: Sweep, points: Sequence[tuple[Axis, Points]]) -> Iterator[Points]:
    """Yield the points of axes, those that advance together as one."""
    done: set[str] = set()
    for axis, at in points:
        if not axis.together:
            yield at
        elif axis.together not in done:
            done.add(axis.together)
            members = [points for other, points in points if other.together == axis.together]
            try:
                found = advancing_together(axis.together, members)
            except StudyError as error:
                raise StudyError(f"{sweep.place_of(axis)}{error}") from error
            yield found


KEYS = ("run", "status", "message", "warnings")
"""Columns that every table has."""


def schema_of(plan: SweepPlan, measure: Measure) -> pyarrow.Schema:
    """Return the columns of a sweep's rows: number, labels, status, what is found out, messages."""
    require_pyarrow()
    import pyarrow

    holds = {
        "number": pyarrow.float64(),
        "count": pyarrow.int64(),
        "text": pyarrow.string(),
        "flag": pyarrow.bool_(),
        "numbers": pyarrow.list_(pyarrow.float64()),
    }
    kinds = {float: "number", int: "count", str: "text"}
    firsts = [block.point(0).labels for block in plan.blocks if len(block)]
    labels = {name: holds[kinds[type(value)]] for first in firsts for name, value in first}
    taken = {*KEYS, *(column.name for column in measure.columns)}
    for name in plan.labels():
        if name in taken:
            raise InputError(f"{name}: the table has a column of this name; call what varies otherwise")
    return pyarrow.schema(
        [
            ("run", pyarrow.int64()),
            *((name, labels[name]) for name in plan.labels()),
            ("status", pyarrow.string()),
            *((column.name, holds[column.holds]) for column in measure.columns),
            ("message", pyarrow.string()),
            ("warnings", pyarrow.string()),
        ]
    )


def row_table(rows: Sequence[Mapping[str, Any]], schema: pyarrow.Schema) -> pyarrow.Table:
    """Return rows as a table; what a row does not have is null."""
    import pyarrow

    columns = [
        pyarrow.array([row.get(field.name) for row in rows], type=field.type, from_pandas=True)
        for field in schema
    ]
    return pyarrow.Table.from_arrays(columns, schema=schema)


def signal_table(number: int, run: Run, names: Sequence[str]) -> pyarrow.Table:
    """Return signals of a run with its number: ``run``, ``t`` in s, a column a signal."""
    import pyarrow

    chosen = run.signals.select(names)
    values = values_of(run, chosen)
    columns = {"run": np.full(len(run.t), number), "t": run.t}
    return pyarrow.table(columns | {name: values[:, k] for k, name in enumerate(chosen)})


# Systems at other parameters that are kept.
KEPT = 8

# Time in s and bytes of signals after which a batch ends early. Handing one over and writing its file costs
# about 8 ms: one for each of 540 points of 8 ms doubled the processor time of a sweep.
MOST_SECONDS, MOST_BYTES = 1.0, 64_000_000

DONE, FAILED = "done", "failed"


@dataclass(frozen=True, eq=False)
class Batch:
    """Finished points: their numbers, rows, and signals where asked for."""

    numbers: tuple[int, ...]
    rows: pyarrow.Table
    signals: pyarrow.Table | None


class PointRunner:
    """Carries out points of a sweep, one after the other.

    Cases are read once. Power flow and equilibrium are solved anew where a parameter changes, the power flow
    only if it must be; compiled kernels, index tables and topology are shared by all points.

    """

    def __init__(self, sweep: Sweep, cases: Sequence[Case]) -> None:
        self.sweep, self.cases = sweep, tuple(cases)
        self._clear()
        self.plan: SweepPlan = plan_of(
            sweep, [Base(sweep.study, one, self.system(k, ())) for k, one in enumerate(self.cases)]
        )
        self.schema = schema_of(self.plan, sweep.measure)

    def _clear(self) -> None:
        self._flows: dict[int, PowerFlow] = {}
        self._systems: OrderedDict[Any, System] = OrderedDict()
        self._schemes: OrderedDict[Any, Scheme] = OrderedDict()
        self._certificates: OrderedDict[Any, Certificate] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        # What is solved is solved again where it is needed: it is larger than what it follows from.
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._clear()

    def system(self, case: int, settings: tuple[Setting | LoadGrowth, ...]) -> System:
        """Return a case's system at its start with parameters set."""
        return _kept(self._systems, (case, settings), lambda: self._started(case, settings))

    def _started(self, case: int, settings: tuple[Setting | LoadGrowth, ...]) -> System:
        file = self.sweep.cases[case]
        if case not in self._flows:
            self._flows[case] = file.solve(self.cases[case])
        base, flow = self.cases[case], self._flows[case]
        if not settings:
            return system_at(file, base, flow, self.sweep.study.events)
        changed, same_flow = with_settings(base, settings)
        if move := {what for given in settings if isinstance(given, LoadGrowth) for what in given.adjust}:
            changed = adjusted(changed, sorted(move), file.solve)
        flow = replace(flow, case=changed) if same_flow else file.solve(changed)
        return _on_tables_of(self.system(case, ()), system_at(file, changed, flow, self.sweep.study.events))

    def start(self, number: int) -> tuple[Start, Variation]:
        """Return what a measure needs at a point, and what varies there."""
        case, variation = self.plan.point(number)
        key = case, variation.settings, variation.choices
        study = self.sweep.study
        system = self.system(case, variation.settings)
        scheme = _kept(self._schemes, key, lambda: self._scheme(system, variation.choices))
        events = variation.events
        if events is None or variation.beside:
            events = (*study.events, *(events or ()))
        start = Start(
            system=system,
            scheme=scheme,
            events=events,
            monitors=study.monitors,
            criteria=study.criteria,
            labels=dict(variation.labels),
            t_end=study.t_end,
            certify=lambda run: self._certified(key, system, scheme, run),
            at=lambda more: self.system(case, (*variation.settings, *more)),
        )
        return start, variation

    def _certified(self, key: Any, system: System, scheme: Scheme, run: Run | None) -> Certificate:
        """Return the certificate of a scheme, at the steps of a run where it has chosen them."""
        small = system.n + system.m <= LARGEST and system.n > 0
        if run is None or not small or scheme.error_control is None:
            return _kept(self._certificates, key, lambda: certify(system, scheme, warn=False, any_size=False))
        end = run.outcome.t_end
        scheme = scheme.after(run.stats.counters.by_order)
        steps = judged_steps(run.taken, [change.t for change in run.changes if change.t < end])
        return certify(system, scheme, warn=False, steps=steps, t_end=end)

    def _scheme(self, system: System, choices: tuple[tuple[str, Value], ...]) -> Scheme:
        return recipe_with(self.sweep.study.recipe, choices).scheme(system.linearise())

    def point(self, number: int) -> tuple[dict[str, Any], Run | None]:
        """Return the row of a point, and its run where there is one; what goes wrong is in the row."""
        labels = dict(self.plan.point(number)[1].labels)
        row: dict[str, Any] = {"run": number, **labels, "status": DONE, "message": None}
        run = None
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", PsmrWarning)
            try:
                start, _ = self.start(number)
                values, run = self.sweep.measure.of(start)
                row |= values
            except PsmrError as error:
                row |= {"status": FAILED, "message": str(error)}
            except Exception as error:  # one run that meets a defect must not end ten thousand others
                row |= {"status": FAILED, "message": f"{type(error).__name__}: {error}"}
        words = [str(w.message) for w in said if issubclass(w.category, PsmrWarning)]
        alike = {without_numbers(sentence): sentence for sentence in reversed(words)}
        row["warnings"] = "; ".join(reversed(alike.values())) or None
        return row, run

    def batch(self, numbers: Sequence[int]) -> Batch:
        """Carry out points until all are done, the time is over, or signals fill the memory of a batch."""
        end = time.perf_counter() + MOST_SECONDS
        rows, tables, size = [], [], 0
        for number in numbers:
            row, run = self.point(number)
            rows.append(row)
            if run is not None and self.sweep.signals is not None:
                tables.append(signal_table(number, run, self.sweep.signals))
                size += tables[-1].nbytes
            if size > MOST_BYTES or time.perf_counter() > end:
                break
        signals = None
        if tables:
            import pyarrow

            signals = pyarrow.concat_tables(tables, promote_options="default")
        done = tuple(numbers[: len(rows)])
        return Batch(done, row_table(rows, self.schema), signals)

    def failed(self, numbers: Sequence[int], message: str) -> Batch:
        """Return rows of points that could not be carried out."""
        rows = [
            {"run": n, **dict(self.plan.point(n)[1].labels), "status": FAILED, "message": message}
            for n in numbers
        ]
        return Batch(tuple(numbers), row_table(rows, self.schema), None)


def _kept(kept: OrderedDict[Any, Any], key: Any, make: Any) -> Any:
    """Return what is kept under a key, made where it is not; the oldest goes."""
    if key in kept:
        kept.move_to_end(key)
        return kept[key]
    made = make()
    kept[key] = made
    while len(kept) > KEPT:
        kept.popitem(last=False)
    return made


def _on_tables_of(base: System, system: System) -> System:
    """Return a system with the index tables of another one of equal structure, which others share."""
    if len(base.groups) != len(system.groups):
        return system
    for old, new in zip(base.groups, system.groups, strict=True):
        same = old.compiled.component is new.compiled.component and old.names == new.names
        if not same or (old.index != new.index).any() or (old.row != new.row).any():
            return system
    return replace(system, groups=base.groups)
