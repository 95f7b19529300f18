"""The New England system with delayed stabilisers: as many as one wants of plants 39, 38, 37, ...

A stabiliser whose signal is late by half a period acts the wrong way round. Here the gains of the delayed
ones are -0.7 times those of the case, so that the delay of 0.3 s is what makes them damp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from psmr.base.arrays import Reals
from psmr.dae.system.assemble import assemble, with_delays
from psmr.dae.system.eigenvalues import modes
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.files.shipped import case
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.one_step import SingleRate
from psmr.integrate.schemes.scheme import Scheme
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.network.start.initialise import build
from psmr.pencil.modes.shapes import fit_mode
from psmr.pencil.operator.step_operator import step_operator

TAU, GAIN, MOST = 0.3, -0.7, 5
"""Delay in s, factor of the gains, and how many stabilisers are delayed at most."""
STEPS = (0.3, 0.2, 0.15, 0.1)
"""In s."""
PLANTS = tuple(range(39, 39 - MOST, -1))
WATCHED = ("G37.omega", "G39.omega")


def delayed_stabilisers(plants: Sequence[int]) -> System:
    """Return the system with the stabilisers of some plants reversed and late by `TAU`."""
    system = build(case("new-england"))
    late = {f"PSS{plant}" for plant in plants}
    devices = [
        replace(device, parameters={**device.parameters, "k_s": GAIN * device.parameters["k_s"]})
        if device.name in late
        else device
        for device in system.devices
    ]
    names = (*system.names_x, *system.names_y, *system.names_u)
    start = dict(zip(names, map(float, system.w0[:-1]), strict=True))
    reversed_gains = assemble(devices, start, name=system.name)
    return with_delays(reversed_gains, {f"{name}.omega": TAU for name in sorted(late)})


def least_stable(linear: LinearDae) -> complex:
    """Return the least stable oscillation in 1/s, the angle of the whole system aside."""
    table = modes(linear)
    row = table[table["imag"] > 0.5].sort_values("real").iloc[-1]
    return complex(row["real"], row["imag"])


def least_stable_numerical(linear: LinearDae, scheme: Scheme) -> complex:
    """Return what a scheme has as its least stable oscillation, in 1/s."""
    z = np.linalg.eigvals(step_operator(linear, scheme)).astype(complex)
    s = np.log(z[np.abs(z) > 1e-9]) / scheme.step
    s = s[s.imag > 0.5]
    return complex(s[s.real.argmax()])


def by_number() -> pd.DataFrame:
    """Return the growth of the least stable oscillation in 1/s by the number of delayed stabilisers."""
    rows = []
    for count in range(1, MOST + 1):
        linear = delayed_stabilisers(PLANTS[:count]).linearise()
        row = {"delayed stabilisers": count, "exact": least_stable(linear).real}
        for method, steps in (("TM", STEPS), ("BEM", STEPS[:1])):
            for h in steps:
                numerical = least_stable_numerical(linear, SingleRate(method, h))
                row[f"{method}, h = {h:g} s"] = numerical.real
        rows.append(row)
    return pd.DataFrame(rows)


class Swings(NamedTuple):
    """Runs of the system with `MOST` delayed stabilisers after a small change of a speed.

    Attributes
    ----------
    curves
        (K,) times in s and (K,) speed of plant 37 less that of plant 39 in pu, by the words of the scheme.
    run, pencil
        The growing mode as the run has it and as the pencil has it, in 1/s.
    """

    curves: dict[str, tuple[Reals, Reals]]
    run: complex
    pencil: complex

    @property
    def apart(self) -> float:
        """Distance of the two in 1/s."""
        return abs(self.run - self.pencil)

    @property
    def ratio(self) -> tuple[float, float]:
        """Largest difference of the speeds in the last 10 s over that in the first 10 s, by scheme."""
        found = []
        for t, apart in self.curves.values():
            size = np.abs(apart)
            found.append(float(size[t > t[-1] - 10.0].max() / size[t < 10.0].max()))
        return found[0], found[1]


def swings(t_end: float = 90.0, kick: float = 1e-5) -> Swings:
    """Return a run by the trapezoidal rule with h = TAU, and one whose steps follow its error."""
    system, scheme = delayed_stabilisers(PLANTS), SingleRate("TM", TAU)
    start = system.x0.copy()
    start[system.names_x.index(WATCHED[0])] += kick
    first, second = (system.names_x.index(name) for name in WATCHED)
    curves = {}
    for words, taken in (
        (f"TM, h = {TAU:g} s", scheme),
        ("steps by error", VariableStep(1e-6)),
    ):
        run = integrate(system, taken, t_end, start=(start, system.y0))
        curves[words] = (run.t, run.x[:, first] - run.x[:, second])
    t, apart = curves[f"TM, h = {TAU:g} s"]
    late = t > 0.5 * t_end
    pencil = least_stable_numerical(system.linearise(), scheme)
    return Swings(curves, fit_mode(t[late], apart[late], near=pencil), pencil)


def stable_numbers(table: pd.DataFrame, column: str) -> list[int]:
    """Return the numbers of delayed stabilisers that a column of `by_number` has as stable."""
    stable = table[column] < 0.0
    return [int(count) for count in table.loc[stable, "delayed stabilisers"]]
