"""Impedances of the grid and of a plant at a bus, and whether both are stable together."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Complexes, Reals
from psmr.base.errors import InputError
from psmr.base.files import atomic, require_suffix
from psmr.base.modules import draw
from psmr.dae.declare.component import Component, Parameter, Terms
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.frequency_response import checked_frequencies, gains
from psmr.dae.system.state_space import StateSpace
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import DynamicBus
from psmr.integrate.timeline.span import AsTripped, first_span
from psmr.network.signals.points import Points
from psmr.network.signals.state_space import matching
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import plants
from psmr.network.topology.network import find_bus

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class CurrentSource(Component):
    """A constant current into a bus, and what is injected beside it: the plant, seen from the grid."""

    inputs = ("i_re", "i_im")
    outputs = ("at_re", "at_im")
    optional = {"i_re": 0.0, "i_im": 0.0}

    constant_re = Parameter("pu", "real part of the constant current", default=0.0)
    constant_im = Parameter("pu", "imaginary part of the constant current", default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus."""
        return (), (), (p.constant_re + v.i_re, p.constant_im + v.i_im)


class IdealVoltage(Component):
    """An ideal voltage at a bus, whatever current it takes: the grid, seen from the plant.

    i_re + j i_im is the current that it feeds into the bus: what flows from the grid into the plant.
    """

    algebraic = ("i_re", "i_im")
    inputs = ("v_re", "v_im", "e_re", "e_im")
    outputs = ("at_re", "at_im")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residuals of the voltage, and the current into the bus."""
        return (), (v.e_re - v.v_re, v.e_im - v.v_im), (v.i_re, v.i_im)


BORDER = "border"
"""Name of the device in the place of the other side."""


def plant_at(system: System, bus: str, named: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the devices of the plant at a bus: those named, or the sources there with their controllers.

    Raises InputError for a pattern that means no device, the bus itself, and devices that are wired to others
    than the bus, with both.
    """
    if named is None:
        chosen = {name for plant in plants(system).values() if plant.bus == bus for name in plant.devices}
    else:
        chosen = set(matching(named, [device.name for device in system.devices], "device"))
    if bus in chosen:
        raise InputError(f"plant: {bus} is the bus between grid and plant; name what is on one side of it")
    for device in system.devices:
        for port, target in device.connections.items():
            other = target.rpartition(".")[0]
            if (device.name in chosen) == (other in chosen) or bus in (device.name, other):
                continue
            inside, outside = (device.name, other) if device.name in chosen else (other, device.name)
            raise InputError(
                f"{inside} of the plant at {bus} and {outside} of the grid are wired to one another "
                f"({device.name}.{port} to {target}): they meet at other places than {bus}, so that neither "
                "has an impedance of its own; name the devices of the plant so that they do not"
            )
    return tuple(device.name for device in system.devices if device.name in chosen)


def current_of(system: System, bus: str, devices: Collection[str]) -> complex:
    """Return the current in pu that devices of a system inject into a bus at its start."""
    there = Connections(system, first_span(system, AsTripped()))
    injected = Points.of(there, system.w0[-1:], system.x0[None], system.y0[None]).injected(devices)
    total = 0j
    for device in (device for device in system.devices if device.name in devices):
        for output, target in device.connections.items():
            unit = {f"{bus}.i_re": 1.0, f"{bus}.i_im": 1j}.get(target)
            if unit is not None and (device.name, output) in injected:
                total += unit * float(injected[device.name, output][0])
    return total


def grid_without(system: System, bus: str, plant: Collection[str]) -> StateSpace:
    """Return the grid as matrices from a current into the bus to the voltage there, both in d and q."""
    current = current_of(system, bus, plant)
    values = {"constant_re": current.real, "constant_im": current.imag}
    source = Device(BORDER, CurrentSource, values, {"at_re": f"{bus}.i_re", "at_im": f"{bus}.i_im"})
    kept = [device for device in system.devices if device.name not in plant]
    part = _assembled(system, [*kept, source], {})
    names = (f"{BORDER}.i_re", f"{BORDER}.i_im"), (f"{bus}.v_re", f"{bus}.v_im")
    return _in_dq(part, part.state_space(*names), bus, ("i", "v"))


def plant_alone(system: System, bus: str, plant: Sequence[str]) -> StateSpace:
    """Return the plant as matrices from the voltage of the bus to the current into it, both in d and q."""
    ends = {"v_re": f"{bus}.v_re", "v_im": f"{bus}.v_im", "at_re": f"{bus}.i_re", "at_im": f"{bus}.i_im"}
    voltage = Device(BORDER, IdealVoltage, {}, ends)
    kept = [device for device in system.devices if device.name in plant]
    place = next(device for device in system.devices if device.name == bus)
    current = current_of(system, bus, plant)
    start = {f"{BORDER}.i_re": -current.real, f"{BORDER}.i_im": -current.imag}
    start |= {f"{BORDER}.e_{part}": _value(system, f"{bus}.v_{part}") for part in ("re", "im")}
    part = _assembled(system, [*kept, place, voltage], start)
    names = (f"{BORDER}.e_re", f"{BORDER}.e_im"), (f"{BORDER}.i_re", f"{BORDER}.i_im")
    return _in_dq(part, part.state_space(*names), bus, ("v", "i"))


def whole_system(system: System, bus: str) -> StateSpace:
    """Return the whole system as matrices from a current into the bus to the voltage there, in d and q."""
    names = (f"{bus}.i_re", f"{bus}.i_im"), (f"{bus}.v_re", f"{bus}.v_im")
    return _in_dq(system, system.state_space(*names), bus, ("i", "v"))


def _value(system: System, name: str) -> float:
    return float(system.w0[system.index(name)])


def _assembled(system: System, devices: Sequence[Device], start: dict[str, float]) -> System:
    """Return the system of some devices with the others' values, at the same start."""
    own = {device.name for device in devices}
    names = (*system.names_x, *system.names_y, *system.names_u)
    values = zip(names, system.w0[:-1].tolist(), strict=True)
    known = {name: value for name, value in values if name.rpartition(".")[0] in own}
    part = assemble(devices, known | start, name=system.name)
    return replace(part, w0=part.buffer(t=float(system.w0[-1])))


def _in_dq(system: System, matrices: StateSpace, bus: str, kinds: tuple[str, str]) -> StateSpace:
    """Return matrices between real and imaginary parts as ones along and across the voltage of a bus."""
    v = complex(_value(system, f"{bus}.v_re"), _value(system, f"{bus}.v_im"))
    c, s = v.real / abs(v), v.imag / abs(v)
    turn = np.array([[c, -s], [s, c]])  # (re, im) = turn (d, q)
    given, seen = ((f"{bus}.{kind}_d", f"{bus}.{kind}_q") for kind in kinds)
    return replace(
        matrices,
        b=sparse.csc_array(matrices.b @ turn),
        c=sparse.csr_array(sparse.csr_array(turn.T) @ matrices.c),
        c_late=sparse.csr_array(sparse.csr_array(turn.T) @ matrices.c_late),
        d=turn.T @ matrices.d @ turn,
        d_rate=turn.T @ matrices.d_rate @ turn,
        inputs=given,
        outputs=seen,
    )


# Modes further right than this, in 1/s, count: the line along which the loop is looked at passes the zeros of
# a system whose angles can all turn together on their right.
RIGHT_OF = 1e-3

# The phase of det(1 + L) between two neighbouring frequencies turns by less than this, in rad.
TURN = 0.4

# First and last rad/s that are looked at before any refinement, and most frequencies.
FIRST, LAST, MOST = 1e-3, 1e6, 20_000


def unstable_alone(part: StateSpace) -> int:
    """Return how many eigenvalues of a part are right of `RIGHT_OF`."""
    return int((part.eigenvalues.real > RIGHT_OF).sum())


def unstable_together(grid: StateSpace, plant: StateSpace) -> int:
    """Return how many modes of a grid with its plant are unstable, by the generalised Nyquist criterion.

    The loop is L = Z Y, with the impedance Z of the grid and the admittance Y of the plant (the current that
    it draws over the voltage). det(1 + L) turns about 0 once for every mode right of the line, clockwise,
    less one for every such mode of the two alone (MacFarlane and Postlethwaite, Int. J. Control 25, 1977).

    Raises InputError where the loop comes so near to -1 that no number of frequencies says on which side it
    passes.
    """
    forms = grid.descriptor, plant.descriptor

    def determinant(omega: float) -> complex:
        s = np.array([RIGHT_OF + 1j * omega])
        loop = gains(forms[0], s)[0] @ gains(forms[1], s)[0]
        return complex(np.linalg.det(np.eye(2) + loop))

    end = complex(np.linalg.det(np.eye(2) + grid.D @ plant.D))
    modes = np.abs(np.concatenate([grid.eigenvalues.imag, plant.eigenvalues.imag]))
    start = np.unique([0.0, *np.geomspace(FIRST, LAST, 90), *modes[modes > FIRST]])
    turned = _turned(determinant, start) + float(np.angle(end / determinant(float(start[-1]))))
    return unstable_alone(grid) + unstable_alone(plant) - round(turned / np.pi)


def _turned(function: Callable[[float], complex], omega: NDArray[np.float64]) -> float:
    """Return by how much the phase of a function turns along ascending places, with more where it is fast."""
    places = [(w, function(w)) for w in omega.tolist()][::-1]
    total, count = 0.0, len(places)
    here = places.pop()
    while places:
        there = places[-1]
        turn = float(np.angle(there[1] / here[1]))
        if abs(turn) < TURN:
            total, here = total + turn, places.pop()
            continue
        middle = 0.5 * (here[0] + there[0])
        count += 1
        if count > MOST or not here[0] < middle < there[0]:
            raise InputError(
                f"the loop of grid and plant passes -1 too near at {here[0] / (2 * np.pi):g} Hz to say on "
                "which side; a mode of the system is at the border of stability there, see psmr.modes"
            )
        places.append((middle, function(middle)))
    return total


def characteristic_loci(loop: Complexes) -> Complexes:
    """Return (K, 2) eigenvalues of (K, 2, 2) loop gains, each one a curve."""
    values = np.linalg.eigvals(loop)
    for k in range(1, len(values)):
        straight = np.abs(values[k] - values[k - 1]).sum()
        if np.abs(values[k, ::-1] - values[k - 1]).sum() < straight:
            values[k] = values[k, ::-1]
    return np.asarray(values)


DQ, SEQUENCE = ("d", "q"), ("p", "n")

USUAL = (1.0, 1000.0, 300)
"""First and last frequency in Hz and number of them where none are given, evenly in their logarithm."""

# From (d, q) to the modified sequence domain: positive at f + f_n, negative at f - f_n (Rygg, Molinas, Zhang
# and Cai, IEEE J. Emerg. Sel. Topics Power Electron. 4, 2016, equation 10).
TO_SEQUENCE = np.array([[1.0, 1j], [1.0, -1j]]) / np.sqrt(2.0)


@dataclass(frozen=True, eq=False, repr=False)
class ImpedanceScan:
    """Impedances at a bus over frequency, per unit on the system base.

    Attributes
    ----------
    bus, plant
        The bus, and the devices of the plant there; none where the whole system is looked at.
    f
        (K,) frequencies in Hz, in the frame that turns with the network.
    grid
        (K, 2, 2) impedance of everything but the plant.
    plant_admittance
        (K, 2, 2) current that the plant draws over the voltage; None without a plant.
    whole
        (K, 2, 2) impedance of all of it: the voltage over a current that is injected.
    axes
        ``("d", "q")``, along and across the voltage of the bus, or ``("p", "n")``; see `sequence`.
    unstable
        Modes with a real part above 1e-3 1/s: of the grid alone (with the plant's current held), of the plant
        alone (at a held voltage), and of both together by the generalised Nyquist criterion.
    matrices
        The whole system as matrices, for the response of a simulation.
    name
        Name of the case.
    """

    bus: str
    plant: tuple[str, ...]
    f: Reals
    grid: Complexes
    plant_admittance: Complexes | None
    whole: Complexes
    axes: tuple[str, str]
    unstable: tuple[int, int, int] | None
    matrices: StateSpace = field(repr=False)
    name: str = ""

    def __repr__(self) -> str:
        plant = f", plant {', '.join(self.plant)}" if self.plant else ""
        return f"ImpedanceScan({self.name!r}, {self.bus}{plant}, {self.f[0]:g} to {self.f[-1]:g} Hz)"

    @property
    def sequence(self) -> ImpedanceScan:
        """The same in the modified sequence domain: positive and negative sequence, with their coupling."""
        there, back = TO_SEQUENCE, TO_SEQUENCE.conj().T
        turned = {name: there @ getattr(self, name) @ back for name in ("grid", "whole")}
        if self.plant_admittance is not None:
            turned["plant_admittance"] = there @ self.plant_admittance @ back
        return replace(self, axes=SEQUENCE, **turned)

    @functools.cached_property
    def loci(self) -> Complexes:
        """(K, 2) eigenvalues of the loop gain Z Y; of a scan without a plant zeros."""
        if self.plant_admittance is None:
            return np.zeros((len(self.f), 2), dtype=complex)
        return characteristic_loci(self.grid @ self.plant_admittance)

    @property
    def stable(self) -> bool | None:
        """Whether grid and plant are stable together, by the generalised Nyquist criterion; None without."""
        return None if self.unstable is None else self.unstable[2] == 0

    @property
    def nearest(self) -> tuple[float, float]:
        """How near a locus comes to -1, and at which frequency in Hz."""
        distance = np.abs(1.0 + self.loci).min(axis=1)
        k = int(distance.argmin())
        return float(distance[k]), float(self.f[k])

    @property
    def passivity(self) -> Reals | None:
        """(K,) passivity index of the plant in pu: the least eigenvalue of (Y + Y^H) / 2; None without."""
        if self.plant_admittance is None:
            return None
        y = self.plant_admittance
        return np.asarray(np.linalg.eigvalsh((y + y.conj().transpose(0, 2, 1)) / 2)[:, 0])

    def sentences(self) -> list[str]:
        """Return what is seen, in sentences."""
        d, q = self.axes
        first = self.grid[0]
        pair = ", ".join(f"Z_{a}{a} = {abs(first[k, k]):.4g} pu" for k, a in enumerate((d, q)))
        found = [f"Grid at {self.bus}: {pair} at {self.f[0]:.4g} Hz."]
        if self.plant_admittance is None or self.unstable is None or self.passivity is None:
            return [*found, "There is no source at the bus, so that the whole system is the grid."]
        alone = ", ".join(
            f"the {side} alone has {count or 'no'} unstable mode{'s' if count != 1 else ''}"
            for side, count in zip(("grid", "plant"), self.unstable[:2], strict=True)
        )
        together = self.unstable[2]
        verdict = "stable" if together == 0 else f"unstable ({together} mode{'s' if together != 1 else ''})"
        near, at = self.nearest
        found.append(f"Grid and plant together are {verdict} by the generalised Nyquist criterion; {alone}.")
        found.append(f"Their loci come to -1 within {near:.3g} at {at:.4g} Hz.")
        negative = self.passivity < 0
        if not negative.any():
            return [*found, "The plant is passive at every frequency of the scan."]
        worst = int(self.passivity.argmin())
        bands = ", ".join(f"{self.f[a]:.4g} to {self.f[b]:.4g} Hz" for a, b in _bands(negative))
        return [
            *found,
            f"The plant is not passive at {bands}; lowest index {self.passivity[worst]:.3g} pu at "
            f"{self.f[worst]:.4g} Hz.",
        ]

    def frame(self) -> pd.DataFrame:
        """Return a row per frequency: real and imaginary parts of every entry, loci and passivity index."""
        import pandas as pd

        columns: dict[str, Any] = {"frequency_hz": self.f}
        matrices = {"z_grid": self.grid, "z_whole": self.whole}
        if self.plant_admittance is not None:
            matrices["y_plant"] = self.plant_admittance
        for name, matrix in matrices.items():
            for i, j in np.ndindex(2, 2):
                entry = f"{name}_{self.axes[i]}{self.axes[j]}"
                columns |= {f"{entry}_re": matrix[:, i, j].real, f"{entry}_im": matrix[:, i, j].imag}
        if self.plant_admittance is not None:
            for k in range(2):
                columns |= {
                    f"locus{k + 1}_re": self.loci[:, k].real,
                    f"locus{k + 1}_im": self.loci[:, k].imag,
                }
            columns["passivity"] = self.passivity
        return pd.DataFrame(columns)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table of `frame`."""
        require_suffix(path, (".csv",))
        with atomic(path) as temporary:
            self.frame().to_csv(temporary, index=False)

    def plot(self) -> Figure:
        """Draw magnitudes of grid and plant; with a plant its passivity index and the loci beside -1."""
        return draw("frequency.scan_figure", self)  # type: ignore[no-any-return]


def impedance_scan(
    system: System,
    bus: Annotated[int | str, "bus between grid and plant: 5 or bus5", "BUS"],
    plant: Annotated[
        str | Iterable[str] | None,
        "devices of the plant, buses and branches behind the bus included; by default the sources there",
        "NAME",
    ] = None,
    f: ArrayLike | None = None,
) -> ImpedanceScan:
    """Return the impedances of the grid and of a plant, seen from the bus between them.

    The system is linearised at its start and cut at the bus. The grid then has the current of the plant, held
    in the frame of the network, the plant the voltage of the bus.

    Parameters
    ----------
    system
        The system.
    bus
        Bus as ``5`` or ``"bus5"``.
    plant
        Names or patterns of the plant's devices, buses and branches behind the bus included; the sources at
        the bus with their controllers where left out.
    f
        (K,) frequencies in Hz in the frame of the network; by default 1 Hz to 1 kHz.

    Raises
    ------
    InputError
        For a bus or device that is not there, devices of the plant that are wired to others than the bus,
        frequencies that are none, and one that is a pole.
    """
    check_arguments(impedance_scan, locals())
    place = find_bus(system, bus, "impedance scan")
    hertz = np.geomspace(*USUAL) if f is None else checked_frequencies(f)
    devices = plant_at(system, place, plant)
    all_of_it = whole_system(system, place)
    seen = all_of_it.response(hertz).values
    own = system.device(place).component
    if devices and issubclass(own, DynamicBus):
        raise InputError(
            f"{place} has dynamics of its own, which belong to grid and plant alike; cut the system at a bus "
            "outside the dynamic region"
        )
    if not devices:
        return ImpedanceScan(place, (), hertz, seen, None, seen, DQ, None, all_of_it, system.name)
    grid, alone = grid_without(system, place, devices), plant_alone(system, place, devices)
    return ImpedanceScan(
        bus=place,
        plant=devices,
        f=hertz,
        grid=grid.response(hertz).values,
        plant_admittance=alone.response(hertz).values,
        whole=seen,
        axes=DQ,
        unstable=(unstable_alone(grid), unstable_alone(alone), unstable_together(grid, alone)),
        matrices=all_of_it,
        name=system.name,
    )


def _bands(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first and last place of each stretch of chosen ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]
