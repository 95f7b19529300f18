"""Traces made with PSS/E itself, and psmr's run of the same files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psmr
from psmr import Case
from psmr.errors import PsmrWarning
from tests.internals import System

Reals = NDArray[np.float64]

HERE = Path(__file__).parent / "data"

STEP = 0.005
"""Step of PSS/E's runs in s; their times are sums in single precision, the steps are whole ones."""


def _of(run: Any, name: str) -> Reals:
    return run.values(name).ravel()


def _degrees(name: str) -> Callable[[Any], Reals]:
    return lambda run: np.degrees(_of(run, name))


def _flow(start: int, end: int, part: str) -> Callable[[Any], Reals]:
    """Return MW or Mvar into a line r = 0.01, x = 0.12 pu without charging, at its first bus, on 100 MVA."""

    def values(run: Any) -> Reals:
        v_i, v_j = (_of(run, f"bus{bus}.v_re") + 1j * _of(run, f"bus{bus}.v_im") for bus in (start, end))
        power = 100 * v_i * np.conj((v_i - v_j) / (0.01 + 0.12j))
        return power.real if part == "p" else power.imag

    return values


def _across(start: int, end: int, x: float) -> Callable[[Any], Reals]:
    """Return the power in pu through a reactance."""

    def values(run: Any) -> Reals:
        v_i, v_j = (_of(run, f"bus{bus}.v_re") + 1j * _of(run, f"bus{bus}.v_im") for bus in (start, end))
        return (v_i * np.conj((v_i - v_j) / (1j * x))).real

    return values


def _difference(first: int, second: int) -> Callable[[Any], Reals]:
    return lambda run: np.degrees(_of(run, f"bus{first}.angle") - _of(run, f"bus{second}.angle"))


@dataclass(frozen=True)
class Column:
    """A column of a trace: its place, what it is, psmr's signal, and the kind of quantity.

    With `changes` the start is subtracted on both sides: a bus angle has the error of PSS/E's own power flow.
    `offset` is what makes a speed of a deviation; `of_run` is the signal of a run of psmr, where it has
    another name than the column.
    """

    place: int
    name: str
    signal: Callable[[Any], Reals] | str
    kind: str
    changes: bool = False
    offset: float = 0.0
    of_run: str = ""


def angle(place: int, machine: str) -> Column:
    """Return the rotor angle of a machine in degrees."""
    return Column(place, f"{machine}.delta", _degrees(f"{machine}.delta"), "deg")


def voltage(place: int, bus: int) -> Column:
    """Return the voltage of a bus in pu."""
    return Column(place, f"bus{bus}.v", f"bus{bus}.v", "pu")


def bus_angle(place: int, bus: int) -> Column:
    """Return the angle of a bus in degrees."""
    return Column(place, f"bus{bus}.angle", _degrees(f"bus{bus}.angle"), "deg")


def speed(place: int, machine: str, rated: float = 1.0) -> Column:
    """Return the deviation of a machine's speed from `rated` in pu; with 0 the speed itself."""
    return Column(
        place, f"{machine}.omega", lambda run: _of(run, f"{machine}.omega") - rated, "speed", False, rated
    )


def field_voltage(place: int, exciter: str) -> Column:
    """Return the field voltage in pu."""
    return Column(place, f"{exciter}.v_f", f"{exciter}.v_f", "Efd")


OUT = psmr.LineTrip("101-102", 1.0)


@dataclass(frozen=True)
class Trace:
    """A pair of files, what happens, and the columns of PSS/E's result.

    `given` are the arguments of `read_case` beside the files; `rated` a frequency in Hz that stands in for
    the header's.
    """

    name: str
    raw: str
    dyr: str
    csv: str
    columns: Sequence[Column]
    events: Sequence[Any] = (OUT,)
    t_end: float = 20.0
    t_event: float = 1.0
    step: float = STEP
    given: Mapping[str, Any] = field(default_factory=lambda: {"loads": "impedance"})
    rated: float | None = None

    def case(self, folder: Path) -> Case:
        """Return the case as PSS/E's users read it: loads become impedances."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PsmrWarning)
            case = psmr.read_case(folder / self.raw, folder / self.dyr, **self.given)
        if self.rated is None:
            return case
        return replace(case, frequency_hz=self.rated)

    def measured(self, folder: Path) -> tuple[Reals, Reals]:
        """Return (K,) times and (K, columns) values of the trace, without the event and the step after it."""
        rows = np.genfromtxt(folder / self.csv, delimiter=",")
        rows = rows[np.isfinite(rows).all(axis=1)]
        t = self.step * np.round(rows[:, 0] / self.step)
        first = self.t_event - 0.5 * self.step
        kept = ((t < first) | (t > self.t_event + 1.5 * self.step)) & (t <= self.t_end + 1e-9) & (t >= 0)
        return t[kept], rows[kept][:, [column.place for column in self.columns]]


def trapezoidal(trace: Trace, system: System, h: float = 0.001) -> Any:
    """Return psmr's run of a trace."""
    return psmr.simulate(
        system,
        psmr.SingleRate("TM", h=min(h, trace.step)),
        t_end=trace.t_end,
        events=list(trace.events),
        certify=False,
    )


def differences(trace: Trace, folder: Path, found: Any) -> dict[str, tuple[float, str]]:
    """Return the largest difference of each column of a run from PSS/E, and its kind."""
    t, theirs = trace.measured(folder)
    # An event has two points at its instant; away from it interpolation in 1 ms is exact to 1e-7.
    times, rows = np.unique(found.t, return_index=True)
    result = {}
    for k, column in enumerate(trace.columns):
        ours = column.signal(found) if callable(column.signal) else _of(found, column.signal)
        off = np.interp(t, times, ours[rows]) - theirs[:, k]
        if column.changes:
            off = off - off[0]
        result[column.name] = float(np.abs(off).max()), column.kind
    return result


_THREE = "ThreeBusMulti.raw"


def _three(name: str, folder: str, dyr: str, csv: str, *columns: Column, **more: Any) -> Trace:
    return Trace(name, f"{folder}/{_THREE}", f"{folder}/{dyr}", f"{folder}/{csv}", columns, **more)


_LOAD = (voltage(1, 102), bus_angle(2, 102), voltage(3, 103), bus_angle(4, 103))
_FLOWS = (
    voltage(1, 102),
    Column(2, "P 101-103", _flow(101, 103, "p"), "MW", of_run="line101-103.p_from"),
    Column(3, "Q 101-103", _flow(101, 103, "q"), "Mvar", of_run="line101-103.q_from"),
    Column(4, "P 103-101", _flow(103, 101, "p"), "MW", of_run="line101-103.p_to"),
    Column(5, "Q 103-101", _flow(103, 101, "q"), "Mvar", of_run="line101-103.q_to"),
    field_voltage(6, "AVR102"),
)
_FOUR = (*(voltage(k, k) for k in (1, 2, 3, 4)), speed(5, "G2"), field_voltage(6, "AVR2"))
_FIVE = tuple(enumerate((1, 2, 3, 6, 8), start=1))
_RENEWABLE = "RENA/ThreeBusRenewable.raw"
_P_Q_V = (voltage(3, 103),)
_ANGLE = (
    Column(1, "angle 103 - 102", _difference(103, 102), "deg", changes=True),
    voltage(2, 103),
)
_REN = "RENA/ThreeBus_REN_A_"
_NOFREQ = f"{_REN}NOFREQFLAG_with_REF_FLAG"

TRACES: tuple[Trace, ...] = (
    Trace(
        *("GENCLS", "Test01/OMIB.raw", "Test01/OMIB.dyr", "Test01/Test01_delta.csv"),
        (angle(1, "G102"),),
        (psmr.LineTrip("line101-102-2", 1.0),),
    ),
    _three("GENROU", "GENROU", "ThreeBus_GENROU.dyr", "TEST_GENROU.csv", angle(1, "G102")),
    _three(
        *("GENROU, much saturation", "GENROU", "ThreeBus_GENROU_HIGH_SAT.dyr", "TEST_GENROU_HIGH_SAT.csv"),
        angle(1, "G102"),
    ),
    _three(
        *("GENROU, S(1.0) = 0", "GENROU", "ThreeBus_GENROU_NO_SAT.dyr", "TEST_GENROU_NO_SAT.csv"),
        angle(1, "G102"),
    ),
    _three("GENROE", "GENROE", "ThreeBus_GENROE.dyr", "TEST_GENROE.csv", angle(1, "G102")),
    _three(
        *("GENROE, much saturation", "GENROE", "ThreeBus_GENROE_HIGH_SAT.dyr", "TEST_GENROE_HIGH_SAT.csv"),
        angle(1, "G102"),
    ),
    _three("GENSAL", "GENSAL", "ThreeBus_GENSAL.dyr", "TEST_GENSAL.csv", angle(1, "G102")),
    _three("GENSAE", "GENSAE", "ThreeBus_GENSAE.dyr", "TEST_GENSAE.csv", angle(1, "G102")),
    _three(*("ESAC1A", "AC1A", "ThreeBus_ESAC1A.dyr", "TEST_ESAC1A.csv"), angle(1, "G102"), voltage(2, 102)),
    _three(
        *("ESAC1A, saturation", "AC1A", "ThreeBus_ESAC1A_SAT.dyr", "TEST_ESAC1A_SAT.csv"),
        *(angle(1, "G102"), voltage(2, 102)),
    ),
    _three(
        *("GAST, ESAC1A", "GAST", "ThreeBus_GAST.dyr", "GAST_TEST.csv"),
        *(angle(1, "G102"), field_voltage(2, "AVR102")),
    ),
    *(
        Trace(
            *(f"GAST, ESAC1A, IEEE 14: {words}", "GAST/14bus.raw", "GAST/dyn_data.dyr", f"GAST/{csv}.csv"),
            columns,
            (psmr.LineTrip("line2-4", 1.0),),
        )
        for words, csv, columns in (
            ("speeds", "GAST_SPD", tuple(speed(k, f"G{bus}") for k, bus in _FIVE)),
            ("voltages", "GAST_ESAC1A_TEST", tuple(voltage(k, bus) for k, bus in _FIVE)),
        )
    ),
    _three(
        *("TGOV1, ESAC1A", "TGOV1", "ThreeBus_TGOV1.dyr", "TEST_TGOV1.csv"),
        *(angle(1, "G102"), field_voltage(2, "AVR102")),
    ),
    _three("SEXS", "SEXS", "ThreeBus_SEXS.dyr", "SEXS_RESULTS.csv", *_FLOWS),
    _three("SEXS, T_E = 0", "SEXS", "ThreeBus_SEXS_noTE.dyr", "SEXS_RESULTS_NoTE.csv", *_FLOWS),
    _three(
        *("IEEEST, SEXS", "IEEEST", "ThreeBus_IEEEST.dyr", "IEEEST_SEXS_RESULTS_NOFILT.csv"),
        *(field_voltage(1, "AVR102"), voltage(2, 102)),
    ),
    _three(
        *("IEEEST with filter", "IEEEST", "ThreeBus_IEEEST_with_filter.dyr", "IEEEST_SEXS_RESULTS_FILT.csv"),
        *(field_voltage(1, "AVR102"), voltage(2, 102)),
    ),
    _three(
        *("load, constant power", "LOAD", "ThreeBus_GENROU.dyr", "constantpower.csv", *_LOAD),
        given={"loads": "power"},
    ),
    _three(
        *("load, constant current", "LOAD", "ThreeBus_GENROU.dyr", "constantcurrent.csv", *_LOAD),
        given={"loads": "current"},
    ),
    Trace(
        "EXST1, HYGOV",
        *("EXST1/TVC_System_32.raw", "EXST1/TVC_System.dyr", "EXST1/results_PSSe.csv"),
        _FOUR,
        (psmr.LineTrip("line1-4", 1.0),),
    ),
    Trace(
        "STAB1, SEXS",
        *("STAB1/OMIB_SSS.raw", "STAB1/OMIB_SSS.dyr", "STAB1/results_PSSe.csv"),
        (voltage(1, 1), speed(2, "G1"), angle(3, "G1")),
        (psmr.SetPoint("AVR1", "v_ref", 1.0472, 1.0),),
        rated=60.0,
    ),
    Trace(
        "ESST1A, HYGOV",
        *("ESST1A/TVC_System_32.raw", "ESST1A/TVC_System_ESST1A.dyr", "ESST1A/results_PSSe.csv"),
        (voltage(1, 2), voltage(2, 3), speed(3, "G2", 0.0), field_voltage(4, "AVR2")),
        (psmr.LineTrip("line1-4", 1.0),),
    ),
    Trace(
        "PSS2B, SEXS",
        *("PSS2B/OMIB.raw", "PSS2B/OMIB_PSS2B.dyr", "PSS2B/results_PSSe.csv"),
        (
            Column(1, "P 1-2", _across(1, 2, 0.45), "pu of power", of_run="line1-2.p_from"),
            voltage(2, 1),
            speed(3, "G1", 0.0),
        ),
        (psmr.SetPoint("AVR1", "v_ref", 1.04691, 1.0),),
    ),
    *(
        Trace(
            f"DEGOV, {words} delay",
            *("DEGOV/ThreeBusMulti.raw", f"DEGOV/ThreeBus_DEGOV_{kind}.dyr"),
            *(f"DEGOV/degov_{kind}_speed_final.csv", (speed(1, "G102", 0.0),)),
            t_end=5.0,
            step=1 / 240,
        )
        for words, kind in (("no", "nodelay"), ("1 s of", "delay"))
    ),
    Trace(
        "CSVGN1",
        *("CSVGN1/3_BUS_System_with_CSVGN1.raw", "CSVGN1/3_BUS_System_with_CSVGN1.dyr"),
        "CSVGN1/results_PSSe.csv",
        tuple(voltage(k, k) for k in (1, 2, 3)),
        (psmr.LoadTrip(2, 0.005, fraction=1 - 400 / 455),),
        t_end=0.07,
        t_event=0.005,
        step=1e-4,
    ),
    _three(
        *("DERA1", "DERA", "ThreeBus_DERA1.dyr", "dera_freqflag0.csv", voltage(1, 102), bus_angle(2, 102)),
        events=(psmr.LineTrip("101-102", 2.0),),
        t_end=4.0,
        t_event=2.0,
        given={"loads": {"p": (0.0, 1.0, 0.0), "q": (1.0, 0.0, 0.0)}},
    ),
    *(
        Trace(
            f"renewable plant, {words}",
            *(_RENEWABLE, f"{dyr}.dyr", f"RENA/{csv}.csv"),
            columns,
            (psmr.LineTrip("101-103", 1.0),),
            t_end,
        )
        for words, dyr, csv, columns, t_end in (
            ("default flags", f"{_REN}DEFAULT_FLAG", "TEST_RENA_DEFAULT_FLAGS", _P_Q_V, 5.0),
            ("frequency flag", f"{_REN}FREQ_FLAG", "TEST_RENA_FREQ_FLAG", _P_Q_V, 5.0),
            ("reference flag", _NOFREQ, "TEST_RENA_NOFREQ_REF_FLAG", _ANGLE, 10.0),
            ("reference and Q flag", f"{_NOFREQ}_Q_FLAG", "TEST_RENA_NOFREQ_REF_FLAG_Q_FLAG", _ANGLE, 20.0),
        )
    ),
)
