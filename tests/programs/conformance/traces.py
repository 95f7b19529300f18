"""The traces of other programs that the test suite has, and how far psmr is from each.

Every comparison is that of `psmr.compare_trace`: a run of psmr, a reference of the same system by error
control at 1e-7, and the trace. What is left of a trace of PSS/E after the same equations in PSS/E's own steps
(`tests/files/psse/psse_step.py`) is the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psmr
from psmr.errors import PsmrWarning
from tests.files.psse import traces as psse
from tests.files.psse.psse_step import stepped
from tests.internals import Trace
from tests.programs.conformance.psid.systems import SYSTEMS

Reals = NDArray[np.float64]

POWERWORLD = Path(__file__).parents[2] / "files" / "powerworld" / "ieee39"

PSCAD = Path(__file__).parent / "psid"

STEP = 0.001
"""Step in s of the trapezoidal rule, by which psmr runs; the pencil gives the modes as that step has them."""

DEGREES = np.pi / 180.0


@dataclass(frozen=True)
class Compared:
    """A signal of psmr beside a column of a trace: the signal is scale times the column, plus offset.

    `unit` is that of the column; signals of one unit make one row of the page.
    """

    signal: str
    unit: str
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Entry:
    """A trace: of which program and what, psmr's system for it, and what happens.

    `trace` returns (K,) times and (K, j) columns, `in_its_step` the same columns of psmr's equations in the
    program's own steps, where those are known. `cause` names what the difference is, where that is known.
    """

    program: str
    name: str
    system: Callable[[], psmr.System]
    events: Sequence[Any]
    t_end: float
    columns: Sequence[Compared]
    trace: Callable[[], tuple[Reals, Reals]]
    in_its_step: Callable[[psmr.System], Reals] | None = None
    cause: str = ""
    step: float = STEP


@dataclass(frozen=True)
class Row:
    """What one kind of quantity of a trace is off by, in its unit.

    `rms`, `largest`: trace less psmr's run. `part`: rms over the largest range of the quantity in the trace.
    `numerics`: psmr's run less the reference, rms. `model`: the reference less the trace, rms; `own_step`:
    the trace less psmr's equations in the program's own steps, rms. `mode`: by how much the step deforms the
    dominant mode, in parts of its eigenvalue (the pencil). `device`: whose signals are most different.
    """

    program: str
    name: str
    unit: str
    rms: float
    largest: float
    part: float
    numerics: float
    mode: float
    model: float
    own_step: float
    device: str
    cause: str


def rows(entry: Entry) -> Iterator[Row]:
    """Yield a row for each unit among the columns of a trace."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        system = entry.system()
        scheme = psmr.SingleRate("TM", h=entry.step)
        run = psmr.simulate(system, scheme, entry.t_end, list(entry.events), certify=False)
        mode = abs(float(psmr.deformation(system.linearise(), scheme).dominant.relative_deformation))
    t, values = entry.trace()
    own = None if entry.in_its_step is None else entry.in_its_step(system)
    given = {c.signal: c.scale * values[:, k] + c.offset for k, c in enumerate(entry.columns)}
    found = psmr.compare_trace(run, Trace(t, given, entry.name))
    for unit in dict.fromkeys(column.unit for column in entry.columns):
        kept = [k for k, column in enumerate(entry.columns) if column.unit == unit]
        scale = entry.columns[kept[0]].scale
        table = found.table[found.table.signal.isin([entry.columns[k].signal for k in kept])]
        model = _together(table.model) / scale
        own_step = float("nan") if own is None else _together((own - values)[:, kept])
        yield Row(
            *(entry.program, entry.name, unit),
            rms=_together(table.rms) / scale,
            largest=float(table.largest.abs().max()) / scale,
            part=_together(table.rms) / float(table.range.max()),
            numerics=_together(table.numerics) / scale,
            mode=mode,
            model=model,
            own_step=own_step,
            device=str(table.signal.iloc[0]).rpartition(".")[0],
            cause=entry.cause or _explained(own_step, model),
        )


def _explained(own_step: float, model: float) -> str:
    """Return how much of the model part the program's own steps explain, in words."""
    if np.isnan(own_step):
        return ""
    part = 100.0 * (1.0 - own_step / model)
    return f"PSS/E's step: {part:.0f} %" if part >= 10.0 else "not explained"


def _together(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(values, dtype=float)))))


def entries() -> Iterator[Entry]:
    """Yield every trace that the repository has."""
    yield from map(_of_psse, psse.TRACES)
    yield from _of_powerworld()
    yield from _of_pscad()


CAUSES = {
    "GAST, ESAC1A": "the trace is of a turbine with D_turb = 0.1, its file says 0",
    "DERA1": "the tolerance of PSS/E's network solution",
    "SEXS, T_E = 0": "not explained: the field voltage in the second step after the event",
}
"""What is left in PSS/E's own steps, where that is known: docs/benchmarks/psse.md."""

UNITS = {"deg": "degrees", "speed": "pu of speed", "pu": "pu", "Efd": "pu of field voltage"}


SCALES = {"deg": DEGREES, "pu of power": 100.0}
"""psmr's unit (rad, MW on 100 MVA) of that of a trace."""


def _of_psse(trace: psse.Trace) -> Entry:
    # An angle between two buses is no signal of a run: such columns are compared in tests/files/psse.
    kept = [column for column in trace.columns if not column.changes]
    places = [list(trace.columns).index(column) for column in kept]

    def measured() -> tuple[Reals, Reals]:
        t, values = trace.measured(psse.HERE)
        return t, values[:, places]

    def in_its_step(system: psmr.System) -> Reals:
        found = stepped(system, trace.events, trace.t_end, trace.step)
        t, _ = trace.measured(psse.HERE)
        ours = (c.signal(found) if callable(c.signal) else found.values(c.signal) for c in kept)
        return np.column_stack([np.interp(t, found.t, values) for values in ours])

    return Entry(
        "PSS/E",
        f"{trace.name}; {happens(trace.events)}",
        lambda: psmr.build(trace.case(psse.HERE)),
        trace.events,
        trace.t_end,
        [_compared(column) for column in kept],
        measured,
        in_its_step,
        CAUSES.get(trace.name, ""),
        min(STEP, trace.step),
    )


def _compared(column: psse.Column) -> Compared:
    unit = UNITS.get(column.kind, column.kind)
    scale = SCALES.get(column.kind, 1.0)
    return Compared(column.of_run or column.name, unit, scale, column.offset)


def happens(events: Sequence[Any]) -> str:
    """Return what happens in words."""
    (event,) = events
    if isinstance(event, psmr.LineTrip):
        return f"line {event.line.removeprefix('line')} out"
    if isinstance(event, psmr.SetPoint):
        return f"step of {event.name}"
    if isinstance(event, psmr.LoadTrip):
        return f"load at bus {event.bus} out in part"
    return f"fault at bus {event.bus}"


POWERWORLD_STATOR = {
    "stator by its fluxes": ("flux", {}, "stator voltages times the speed, and ESDC1A has no floor"),
    "voltages times the speed, ESDC1A without a floor": (
        *("speed", {"AVR*.v_f_min": -99.0}),
        "the digits of the trace, single precision",
    ),
}
"""psmr's default, and PowerWorld's conventions, for the same trace."""


def _of_powerworld() -> Iterator[Entry]:
    for words, (stator, changed, cause) in POWERWORLD_STATOR.items():
        tables = {name: _table(name) for name in ("omega", "vmag")}
        fault = psmr.Fault(16, 1.0, 1.15, x=0.01)
        for name, signal, unit, offset in (
            ("omega", "G{}.omega", "pu of speed", 1.0),
            ("vmag", "bus{}.v", "pu", 0.0),
        ):
            buses, t, values = tables[name]
            yield Entry(
                "PowerWorld",
                f"New England, fault at bus 16; {words}",
                lambda stator=stator, changed=changed: _new_england(stator, changed),
                (fault,),
                10.0,
                [Compared(signal.format(bus), unit, 1.0, offset) for bus in buses],
                lambda t=t, values=values: (t, values),
                cause=cause,
            )


def _new_england(stator: str, changed: Mapping[str, float]) -> psmr.System:
    case = psmr.read_case(
        POWERWORLD / "ieee39.raw", POWERWORLD / "ieee39.dyr", loads="impedance", stator=stator
    )
    return psmr.build(case.edit(dict(changed)) if changed else case)


@dataclass(frozen=True)
class OfPscad:
    """A trace of PSCAD: the test it belongs to, its signal, and when it and what happens in it begin."""

    number: str
    column: str
    signal: Compared
    event: psmr.SetPoint
    t_end: float
    before: float
    spacing: float
    cause: str = ""

    def measured(self) -> tuple[Reals, Reals]:
        """Return times in s, to the spacing at which PSCAD wrote them, and the (K, 1) values."""
        path = PSCAD / f"Test{self.number}_{self.column}.csv"
        t, values = np.genfromtxt(path, delimiter=",").T
        return self.spacing * np.round((t - self.before) / self.spacing), values[:, None]


P_REF = psmr.SetPoint("INV", "p_ref", 0.7, 1.0)
TRACES = (
    OfPscad("08", "omega", Compared("INV.omega", "pu of speed"), P_REF, 4.0, 9.0, 0.005),
    OfPscad(
        *("23", "theta", Compared("INV.theta", "rad"), P_REF, 4.0, 9.0, 0.005),
        cause="PSCAD starts 6.5e-4 rad lower",
    ),
    OfPscad("24", "p", Compared("INV.p_m", "pu of power"), P_REF, 2.0, 9.0, 0.005),
    OfPscad(
        *("25", "v102", Compared("bus102.v", "pu")),
        *(psmr.SetPoint("G102", "t_m", 0.9, 1.0), 40.0, 49.0, 0.01),
        cause="PSCAD starts 1.7e-4 pu lower and damps more",
    ),
)


def _of_pscad() -> Iterator[Entry]:
    for trace in TRACES:
        words, build = SYSTEMS[trace.number]
        yield Entry(
            *("PSCAD", f"test {trace.number}: {words}; step of {trace.event.name}"),
            *(build, (trace.event,), trace.t_end, [trace.signal], trace.measured),
            cause=trace.cause,
            step=1e-4,
        )


def _table(name: str) -> tuple[list[str], Reals, Reals]:
    """Return buses, times and values from after the start of the fault."""
    path = POWERWORLD / f"{name}.sampled.csv"
    head, *lines = path.read_text().splitlines()
    table = np.array([[float(word) for word in line.split(",")] for line in lines])
    table = table[table[:, 0] > 1.0]
    return [word.split()[0] for word in head.split(",")[1:]], table[:, 0], table[:, 1:]
