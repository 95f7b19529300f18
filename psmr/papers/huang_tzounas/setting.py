"""What the paper's figures share: the two systems, the partitions, the two disturbances, runs and modes.

Parameter sets of controls with which the nine-bus system has the paper's size, mode and fast set.

The paper prints no data of its controls. `wscc9-static.toml` holds one set, ``wscc9-static-sets.csv`` all.
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
    """Return the sets of ``wscc9-static-sets.csv`` in a folder: name -> ``role.parameter`` -> value.

    Raises
    ------
    InputError
        For a value that is not a number.
    """
    table = pd.read_csv(folder / SETS).set_index("set")
    for name, row in table.iterrows():
        for column, value in row.items():
            if not isinstance(value, (int, float)) or value != value:
                raise InputError(f"{folder / SETS}, set {name}, {column} = {value!r}: must be a number")
    return {
        str(name): {str(column): float(value) for column, value in row.items()}
        for name, row in table.iterrows()
    }


def with_parameters(case: Case, values: dict[str, float]) -> Case:
    """Return the case with other parameters of the devices of every plant.

    Parameters
    ----------
    case
        A case whose plants all have the same roles.
    values
        ``role.parameter`` -> value, for instance ``exciter.k_a``.

    Raises
    ------
    InputError
        For a role or parameter that a plant has not.
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
class Setting:
    """One system with what is computed of it once.

    Attributes
    ----------
    system
        The DAE at its equilibrium.
    name
        For titles.
    """

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
        self,
        predictor: str,
        solution: str,
        h_fast: float,
        ratio: int,
        split: Partition | None = None,
        interpolation: str = "linear",
    ) -> Multirate:
        """Return the paper's scheme on its partition, or on another one."""
        return Multirate(
            split or self.split,
            h_fast * ratio,
            ratio,
            predictor=predictor,
            solution=solution,
            interpolation=interpolation,
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
        """Return the mode that the nonlinear run shows after a kick along a mode, in 1/s.

        Parameters
        ----------
        scheme
            What is run, for 8 s.
        kicked
            Mode of the system that gives the kick its shape; None: the dominant one.
        expected
            Where to look for it; None: at the mode kicked.
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
    """The systems that are looked at.

    Attributes
    ----------
    paper
        The paper's: 33 states, AVR voltages and field voltages fast.
    converters
        Two converters in place of the machine at bus 3.
    transducers
        33 states with exciters of type 1, whose voltage transducers of 1 ms are all that is fast.
    sets
        The paper's system with each parameter set of its controls, by name; the first is `paper`.
    """

    paper: Setting
    converters: Setting
    transducers: Setting
    sets: Mapping[str, Setting]


def settings() -> Settings:
    """Return the systems, each at its equilibrium.

    Raises
    ------
    InputError
        Where the case files are not found.
    """
    folder = case_path(f"wscc9/{CASE}").parent
    case = read_case(folder / CASE)
    sets = {
        name: Setting(build(with_parameters(case, values)), f"set {name}")
        for name, values in parameter_sets(folder).items()
    }
    others = (("wscc9-ibr.toml", "with converters"), ("wscc9.toml", "fast transducers"))
    converters, transducers = (Setting(build(read_case(folder / file)), title) for file, title in others)
    return Settings(Setting(build(case), "WSCC 9-bus"), converters, transducers, sets)
