"""What a scan of the impedances at a bus gives, and how it is made."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Complexes, Reals
from psmr.base.drawing import draw
from psmr.base.errors import InputError
from psmr.base.files import atomic, require_suffix
from psmr.dae.system.frequency_response import checked_frequencies
from psmr.dae.system.state_space import StateSpace
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import DynamicBus
from psmr.network.impedance.cut import grid_without, plant_alone, plant_at, whole
from psmr.network.impedance.nyquist import characteristic_loci, unstable_alone, unstable_together
from psmr.network.topology.network import find_bus

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

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
    bus: int | str,
    plant: str | Iterable[str] | None = None,
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
    all_of_it = whole(system, place)
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
