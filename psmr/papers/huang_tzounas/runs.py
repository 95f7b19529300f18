"""What the figures share: systems, partitions, disturbances, runs; and what these say (figures 7 to 13).

The paper prints no data of its controls. `wscc9-static.toml` holds one set of parameters with which the
nine-bus system has the paper's size, mode and fast set, ``wscc9-static-sets.csv`` all.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

import partitioning
from partitioning import Partition
from psmr.base.arrays import Reals
from psmr.base.errors import InputError
from psmr.dae.compile.kernels import residual
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.files.case_file import read_case
from psmr.files.shipped import case_path
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.multirate import Multirate
from psmr.integrate.schemes.one_step import SingleRate
from psmr.network.case.case import Case
from psmr.network.start.initialise import build
from psmr.pencil.deformation.deformation import deformation
from psmr.pencil.deformation.report import Deformation, Pencil
from psmr.pencil.modes.shapes import fit_mode
from psmr.study.events import Event, Fault, LoadTrip
from psmr.study.run.run import Run
from psmr.study.run.simulate import simulate

SETS = "wscc9-static-sets.csv"


def parameter_sets(folder: Path) -> dict[str, dict[str, float]]:
    """Return the sets of ``wscc9-static-sets.csv`` in a folder: name -> ``role.parameter`` -> value."""
    table = pd.read_csv(folder / SETS).set_index("set")
    found: dict[str, dict[str, float]] = {}
    for name, row in table.iterrows():
        for column, value in row.items():
            if not isinstance(value, (int, float)) or value != value:
                raise InputError(f"{folder / SETS}, set {name}, {column} = {value!r}: must be a number")
        found[str(name)] = {str(column): float(value) for column, value in row.items()}
    return found


def with_parameters(case: Case, values: dict[str, float]) -> Case:
    """Return the case with other parameters of the devices of every plant, ``exciter.k_a`` -> value.

    All plants must have the same roles; InputError for a role or parameter that one has not.
    """
    plants = []
    for plant in case.generators:
        roles = {device.role: device for device in plant.devices}
        for name, value in values.items():
            role, _, parameter = name.partition(".")
            if role not in roles or parameter not in roles[role].parameters:
                raise InputError(f"{plant.name} has no {name}; {name} = {value:g} has no place")
            device = roles[role]
            roles[role] = replace(device, parameters={**device.parameters, parameter: value})
        plants.append(replace(plant, devices=tuple(roles.values())))
    return replace(case, generators=tuple(plants))


Scheme = SingleRate | Multirate

CASE = "wscc9-static.toml"
DELTA = 20.0  # 1/s
T_END = 10.0  # s
PRINTED_MODE = -0.19561 + 8.37291j
WATCHED = "G1.omega"  # the paper's omega_r,1
EVENTS: dict[str, tuple[Event, ...]] = {
    "load trip": (LoadTrip(bus=5, start=1.0, fraction=0.5, reconnect=1.2),),
    "fault": (Fault(bus=5, start=1.0, clear=1.1, trip="5-7"),),
}

# A kick small enough that what the nonlinear terms leave is below the rounding of the fit (1e-7 of the mode).
KICK = 1e-3


@dataclass(frozen=True, eq=False)
class StudiedSystem:
    """One system at its equilibrium, named for titles, with what is computed of it once."""

    system: System
    name: str

    @functools.cached_property
    def linear(self) -> LinearDae:
        """The system, linearised at its equilibrium."""
        return self.system.linearise()

    @functools.cached_property
    def split(self) -> Partition:
        """The paper's partition: delta = 20 1/s, states and algebraic variables alike."""
        return self.partition(DELTA)

    @functools.cached_property
    def all_y_fast(self) -> Partition:
        """The paper's comparison: the same fast states, every algebraic variable fast."""
        return self.partition(DELTA, "fast")

    def partition(self, delta: float, algebraic: str = "participation") -> Partition:
        """Return the partition at a threshold in 1/s.

        At 0 everything is fast, as in the paper's figure 13; by the rule |lambda| > delta the rotor angles,
        which belong to the zero mode, would stay slow. At infinity everything is slow.
        """
        if delta == 0.0:
            return partitioning.all_fast(self.linear)
        if np.isinf(delta):
            return partitioning.all_slow(self.linear)
        return partitioning.by_participation(self.linear, delta=delta, algebraic=algebraic)

    def scheme(
        self, predictor: str, solution: str, h_fast: float, ratio: int, split: Partition | None = None,
        interpolation: str = "linear",
    ) -> Multirate:  # fmt: skip
        """Return the paper's scheme on its partition, or on another one."""
        split = split or self.split
        return Multirate(
            split, h_fast * ratio, ratio, predictor=predictor, solution=solution, interpolation=interpolation
        )

    def run(self, scheme: Scheme, events: str = "fault", every: bool = False) -> Run:
        """Run one of the two disturbances for 10 s."""
        return simulate(self.system, scheme, T_END, EVENTS[events], all=every, certify=False)

    @functools.cache  # noqa: B019 -- a setting lives as long as one reproduction
    def reference(self, events: str, h: float = 0.001) -> tuple[Reals, Reals]:
        """Return times and omega_r,1 of the two-stage SDIRK method, by default with the paper's step in s."""
        run = self.run(SingleRate("SDIRK2", h), events)
        return run.t, run.values(WATCHED)[:, 0]

    def error(self, run: Run, events: str, h: float = 0.001) -> Reals:
        """Return (K,) omega_r,1 of a run less that of the reference, in pu, at the times of the run.

        The reference is read between its points along straight lines; at a millisecond that is 1e-8 pu.
        """
        t, omega = self.reference(events, h)
        return np.asarray(run.values(WATCHED)[:, 0] - np.interp(run.t, t, omega))

    def deform(self, scheme: Scheme, pencil: Pencil = "exact") -> Deformation:
        """Return the deformation report."""
        return deformation(self.linear, scheme, pencil=pencil)

    @functools.cached_property
    def mode(self) -> complex:
        """The dominant mode in 1/s: the least damped oscillation."""
        row = self.deform(SingleRate("TM", 0.001)).dominant
        assert row is not None
        return complex(row["real"], row["imag"])

    def ringdown(
        self, scheme: Multirate, kicked: complex | None = None, expected: complex | None = None
    ) -> complex:
        """Return the mode that the nonlinear run shows within 8 s after a kick along a mode, in 1/s.

        The kick has the shape of the mode `kicked`, the dominant one if None, and what comes of it is looked
        for at `expected`, at the mode kicked if None.
        """
        kicked = self.mode if kicked is None else kicked
        values, vectors = np.linalg.eig(self.linear.state_matrix())
        shape = vectors[:, np.abs(values - kicked).argmin()]
        shape = shape / shape[np.abs(shape).argmax()]
        start = self.system.x0 + KICK * shape.real
        steps = round(8.0 / scheme.step)
        path = integrate(self.system, scheme, steps * scheme.step, start=(start, self.system.y0))
        machines = [self.system.names_x.index(name) for name in ("G1.omega", "G2.omega")]
        apart = path.x[:, machines] - self.system.x0[machines]
        stride = max(1, round(0.05 / scheme.step))
        signal = (apart[:, 0] - apart[:, 1])[::stride]
        return fit_mode(path.t[::stride], signal, near=kicked if expected is None else expected)

    def numerical_oscillation(self, h_slow: float, ratio: int) -> float:
        """Return R^r, what is left after a macro step of the transducers' response to a jump.

        R = (1 - h_fast / 2 T_r) / (1 + h_fast / 2 T_r) is the trapezoidal rule's factor for a fast step.
        """
        half = h_slow / ratio / (2.0 * self.system.parameter("AVR1", "t_r"))
        return float(((1.0 - half) / (1.0 + half)) ** ratio)

    def lag_of_jump(self, h_slow: float, ratio: int) -> float:
        """Return the lag in s with which a regulator of the slow set sees a jump of its terminal voltage.

        The transducer answers a jump with T_r x' = v - x and lags by T_r. A regulator that is slow sees x at
        the macro points only, where 1 - R^r, 1 - R^2r, ... of the jump has arrived; the trapezoidal rule over
        these points makes the lag (h_slow / 2) (1 + R^r) / (1 - R^r).
        """
        left = self.numerical_oscillation(h_slow, ratio)
        return 0.5 * h_slow * (1.0 + left) / (1.0 - left)


def dominant(report: Deformation) -> complex:
    """Return what a scheme makes of the dominant mode, in 1/s."""
    assert report.dominant is not None
    return complex(report.dominant["real_numerical"], report.dominant["imag_numerical"])


def percent(report: Deformation) -> float:
    """Return the relative deformation of the dominant mode in percent."""
    assert report.dominant is not None
    return 100.0 * float(report.dominant["relative_deformation"])


@dataclass(frozen=True, eq=False)
class Settings:
    """The systems that are looked at, each at its equilibrium.

    The paper's has 33 states, AVR voltages and field voltages fast, and stands first among the `sets` of
    parameters of its controls; `converters` has two in place of the machine at bus 3, `transducers` 33 states
    with exciters of type 1, whose voltage transducers of 1 ms are all that is fast.
    """

    paper: StudiedSystem
    converters: StudiedSystem
    transducers: StudiedSystem
    sets: Mapping[str, StudiedSystem]


def settings() -> Settings:
    """Return the systems, each at its equilibrium."""
    folder = case_path(f"wscc9/{CASE}").parent
    case = read_case(folder / CASE)
    sets = {
        name: StudiedSystem(build(with_parameters(case, values)), f"set {name}")
        for name, values in parameter_sets(folder).items()
    }
    others = (("wscc9-ibr.toml", "with converters"), ("wscc9.toml", "fast transducers"))
    converters, transducers = (
        StudiedSystem(build(read_case(folder / file)), title) for file, title in others
    )
    return Settings(StudiedSystem(build(case), "WSCC 9-bus"), converters, transducers, sets)


RESPONSES = (("load trip", "TM"), ("load trip", "BEM"), ("fault", "TM"), ("fault", "BEM"))  # figures 7 to 10
PREDICTORS = ("BEM", "TM")
COMPARED_RATIOS = (2, 3, 4, 5, 6, 8, 10)  # figure 11
FINE = 0.0002  # s: the SDIRK2 reference of figure 13, whose errors go below those of the paper's reference


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a figure over time: its words in the legend, (K,) times in s and the quantity."""

    label: str
    t: Reals
    value: Reals


def responses(setting: StudiedSystem, events: str, solution: str) -> tuple[list[Curve], list[Curve]]:
    """Return omega_r,1 (reference first) and its errors, figures 7 to 10: h_slow = 0.05, h_fast = 0.005."""
    lines, errors = [Curve("SDIRK2, 1 ms", *setting.reference(events))], []
    for predictor in PREDICTORS:
        run = setting.run(setting.scheme(predictor, solution, 0.005, 10), events)
        label = f"{predictor} prediction, {solution} solution"
        lines.append(Curve(label, run.t, run.values("G1.omega")[:, 0]))
        errors.append(Curve(label, run.t, setting.error(run, events)))
    return lines, errors


def largest_errors(setting: StudiedSystem) -> pd.DataFrame:
    """Return the largest and the mean square error of omega_r,1 in pu, and the damping each run shows.

    The damping is what is left of the oscillation: the ratio of the speed's spread in the last 3 s to that of
    the reference.
    """
    rows = []
    for events, solution in RESPONSES:
        (reference, *lines), errors = responses(setting, events, solution)
        for line, error in zip(lines, errors, strict=True):
            left = _spread(line) / _spread(reference)
            rows.append((events, line.label, *_sizes(error.value), left))
    names = ["events", "scheme", *SIZES, "swing left, of the reference"]
    return pd.DataFrame(rows, columns=names)


def interpolation(setting: StudiedSystem, delta: float, h_slow: float) -> pd.DataFrame:
    """Compare linear and spline interpolation over the ratio, fault study, TM and TM (figure 11)."""
    split = setting.partition(delta)
    rows = []
    for ratio in COMPARED_RATIOS:
        row: dict[str, float] = {"r": ratio}
        for kind in ("linear", "spline"):
            scheme = setting.scheme("TM", "TM", h_slow / ratio, ratio, split, kind)
            error = setting.error(setting.run(scheme), "fault", FINE)
            row[f"{kind}, largest [pu]"], row[f"{kind}, rms [pu]"] = _sizes(error)
        row["spline / linear, largest"] = row["spline, largest [pu]"] / row["linear, largest [pu]"]
        row["spline / linear, rms"] = row["spline, rms [pu]"] / row["linear, rms [pu]"]
        row["lag of a jump [s]"] = setting.lag_of_jump(h_slow, ratio)
        rows.append(row)
    return pd.DataFrame(rows).astype({"r": int})


def lag_law(setting: StudiedSystem, h_slow: float = 0.05) -> pd.DataFrame:
    """Test whether the errors over the ratio are those of the lag of a jump, fault study (figure 11).

    From the errors over time at r = 3 and 10 the error of any other lag follows as e_3 + (lag - lag_3) slope.
    Of the other ratios, and of single rate at h_slow, whose transducers lag by their own T_r, the table shows
    how far the error is from that of r = 10, and how far from the one that follows, in pu.
    """

    def error(ratio: int) -> Reals:
        return setting.error(setting.run(setting.scheme("TM", "TM", h_slow / ratio, ratio)), "fault", FINE)

    near, far = setting.lag_of_jump(h_slow, 3), setting.lag_of_jump(h_slow, 10)
    at_3, at_10 = error(3), error(10)
    slope = (at_10 - at_3) / (far - near)
    single = setting.error(setting.run(SingleRate("TM", h_slow)), "fault", FINE)
    cases = [(str(r), setting.lag_of_jump(h_slow, r), error(r)) for r in (4, 5, 6, 7, 8)]
    cases.append(("single rate", setting.system.parameter("AVR1", "t_r"), single))
    rows = []
    for name, lag, found in cases:
        follows = at_3 + (lag - near) * slope
        rows.append((name, lag, float(np.abs(found - at_10).max()), float(np.abs(found - follows).max())))
    return pd.DataFrame(rows, columns=["r", "lag of a jump [s]", "from r = 10 [pu]", "from the law [pu]"])


def reference_error(setting: StudiedSystem) -> float:
    """Return the largest error of the paper's reference (SDIRK2 at 1 ms) after the fault, in pu of speed."""
    t, omega = setting.reference("fault")
    return float(np.abs(omega - np.interp(t, *setting.reference("fault", FINE))).max())


def error_curves(setting: StudiedSystem, schemes: Mapping[str, Scheme], h: float = FINE) -> list[Curve]:
    """Return the error of omega_r,1 over time for each scheme, fault study."""
    runs = {label: setting.run(scheme) for label, scheme in schemes.items()}
    return [Curve(label, run.t, setting.error(run, "fault", h)) for label, run in runs.items()]


def threshold_errors(setting: StudiedSystem, deltas: tuple[float, ...]) -> pd.DataFrame:
    """Sweep delta, fault study, TM and TM, h_slow = 0.005, h_fast = 0.001 s (figures 13 b and c)."""
    schemes: dict[object, Scheme] = {delta: threshold_scheme(setting, delta) for delta in deltas}
    schemes |= {f"single rate TM, {h:g} s": SingleRate("TM", h) for h in (0.001, 0.005)}
    rows = [
        (name, *_sizes(setting.error(setting.run(scheme), "fault", FINE))) for name, scheme in schemes.items()
    ]
    return pd.DataFrame(rows, columns=["delta [1/s]", *SIZES])


def threshold_scheme(setting: StudiedSystem, delta: float) -> Multirate:
    """Return the scheme of figure 13 at a threshold in 1/s."""
    return setting.scheme("TM", "TM", 0.001, 5, setting.partition(delta))


def slow_residuals(setting: StudiedSystem) -> list[list[Curve]]:
    """Return the panels of figure 12: Euclidean norm of the slow algebraic equations at fast points.

    Fault study, TM solution. Each curve has the largest norm within each macro step, its end left out: there
    the slow equations are solved.
    """

    def curve(
        label: str, predictor: str = "TM", h_fast: float = 0.001, interpolation: str = "linear"
    ) -> Curve:
        scheme = setting.scheme(predictor, "TM", h_fast, 5, interpolation=interpolation)
        return _slow_residual(setting, scheme, label)

    base = curve("TM prediction")
    return [
        [base, curve("BEM prediction", "BEM")],
        [
            curve("0.02 and 0.004 s", h_fast=0.004),
            curve("0.01 and 0.002 s", h_fast=0.002),
            Curve("0.005 and 0.001 s", base.t, base.value),
        ],
        [Curve("linear", base.t, base.value), curve("cubic spline", interpolation="spline")],
    ]


def _slow_residual(setting: StudiedSystem, scheme: Multirate, label: str) -> Curve:
    run = setting.run(scheme, "fault", every=True)
    system, slow = setting.system, ~scheme.split.fast_g
    norm = np.empty(len(run.t))
    w, out = system.w0.copy(), np.empty(system.n + system.m + 1)
    for span in run.spans:
        kernels = system.kernels(span.parameters)
        for k in range(span.first, span.last):
            w[: system.n], w[system.n : system.n + system.m], w[-1] = run.x[k], run.y[k], run.t[k]
            residual(kernels.table, w, out)
            norm[k] = np.linalg.norm(out[system.n : -1][slow])
    r = scheme.ratio
    starts = np.flatnonzero(np.diff(run.t, prepend=-1.0) == 0.0)  # second row of each instant
    pieces = np.split(np.arange(len(run.t)), starts)
    t, largest = [], []
    for piece in pieces:
        inside = piece[1:][: (len(piece) - 1) // r * r].reshape(-1, r)
        t.append(run.t[inside[:, -1]])
        largest.append(norm[inside[:, :-1]].max(axis=1))
    return Curve(label, np.concatenate(t), np.concatenate(largest))


SIZES = ("largest error [pu]", "rms error [pu]")


def _sizes(error: Reals) -> tuple[float, float]:
    """Return what stands under `SIZES`."""
    return float(np.abs(error).max()), rms(error)


def rms(values: Reals) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(values**2)))


def _spread(line: Curve) -> float:
    """Return the standard deviation of the speed about its trend in the last 3 s."""
    late = line.t >= line.t[-1] - 3.0
    t, value = line.t[late], line.value[late]
    return float(np.std(value - np.polyval(np.polyfit(t, value, 2), t)))
