"""What leaving out dynamics of the network does to modes, beside what a scheme does to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError
from psmr.dae.system.eigenvalues import modes as modes_of
from psmr.integrate.schemes.scheme import Scheme
from psmr.network.case.case import Case
from psmr.network.case.region import Region
from psmr.network.dynamic.switching import dynamic_elements
from psmr.network.powerflow.powerflow import PowerFlow, power_flow
from psmr.network.start.initialise import build
from psmr.study.certificate.certificate import mode_text, percent

if TYPE_CHECKING:
    import pandas as pd

    from psmr.dae.system.system import System

LARGEST = 2000
"""States up to which every mode of a system is looked at."""

SLOWEST = 1e-2
"""Modes below this, in 1/s, are common angles and speeds, and integrators at rest."""


@dataclass(frozen=True)
class NetworkDeformation:
    """Modes of a system as it is simulated, in full dynamics of the network, and as a scheme shows them.

    `name`: What the system is.
    `modes`: Eigenvalues in 1/s of the system as it is: phasors but for its region.
    `full`: What each is where every element of the network has its own dynamics; None where it cannot be
      followed there, as in a crossing with modes that are like it.
    `numerical`: What a scheme makes of each; None without a scheme, and where its step cannot show the mode.
    """

    name: str
    modes: tuple[complex, ...]
    full: tuple[complex | None, ...]
    numerical: tuple[complex | None, ...]

    @property
    def by_model(self) -> tuple[float, ...]:
        """Deformation of each mode by the model, |system - full| / |full|; NaN where it is not known."""
        pairs = zip(self.modes, self.full, strict=True)
        return tuple(np.nan if f is None else abs(s - f) / abs(f) for s, f in pairs)

    @property
    def by_numerics(self) -> tuple[float, ...]:
        """Deformation of each mode by the scheme, |scheme - system| / |system|; NaN where there is none."""
        pairs = zip(self.modes, self.numerical, strict=True)
        return tuple(np.nan if z is None else abs(z - s) / abs(s) for s, z in pairs)

    @property
    def table(self) -> pd.DataFrame:
        """A row for each mode: real, imag, real_full, imag_full, by_model, and the same of the scheme."""
        import pandas as pd  # slow to import, for tables alone

        columns: dict[str, object] = {}
        for end, values in (("", self.modes), ("_full", self.full), ("_numerical", self.numerical)):
            z = np.array([complex(np.nan, np.nan) if s is None else s for s in values], dtype=complex)
            columns |= {f"real{end}": z.real, f"imag{end}": z.imag}
        return pd.DataFrame(columns | {"by_model": self.by_model, "by_numerics": self.by_numerics})

    def __str__(self) -> str:
        known = [k for k, d in enumerate(self.by_model) if np.isfinite(d)]
        if not known:
            return f"{self.name}: no mode could be followed to full dynamics of the network"
        worst = max(known, key=lambda k: self.by_model[k])
        lost = len(self.modes) - len(known)
        more = f"; {lost} could not be followed" if lost else ""
        return (
            f"{self.name}: dynamics of the network that are left out change {mode_text(self.modes[worst])} "
            f"most, by {percent(self.by_model[worst])}{more}"
        )


def network_deformation(
    case: Case,
    dynamic: Region | None = None,
    scheme: Scheme | None = None,
    modes: Sequence[complex] | None = None,
    loads: str | None = None,
    stator_speed: bool = True,
    power_flow: Callable[[Case], PowerFlow] = power_flow,
) -> NetworkDeformation:
    """Return what phasors do to the modes of a case, and beside it what a scheme does.

    The modes are those of the case with a region of it dynamic. Each is followed to the system in which every
    element of the network has its own dynamics, by the sparse pencil.

    Parameters
    ----------
    case
        The case.
    dynamic
        The region that has its own dynamics; None: as the case says, where it does not, a phasor study.
    scheme
        A scheme whose deformation of the same modes is to stand beside; None: none.
    modes
        Eigenvalues in 1/s that are looked at, the nearest ones are meant; None: all that oscillate or decay
        faster than 1e-2 1/s, for up to 2,000 states.
    loads
        As in `build`.
    stator_speed
        Whether stators in full dynamics have speed voltages of flux times speed. Phasor machines have not,
        unless the case says so, which changes the mode of the frequency by itself.
    power_flow
        What solves the power flow.

    Raises
    ------
    InputError
        For more than 2,000 states and no `modes`.
    """
    check_arguments(network_deformation, locals())
    dynamic = case.dynamic if dynamic is None else dynamic
    flow = power_flow(case)
    system = build(case, flow, loads=loads, dynamic=dynamic)
    full = build(case, flow, loads=loads, dynamic=whole_network(dynamic, stator_speed))
    return compared_with_full(system, full, scheme, modes)


def whole_network(region: Region | None = None, stator_speed: bool = True) -> Region:
    """Return the region of the whole network, with the sections of lines that another region has."""
    return Region(("all",), stator_speed=stator_speed, sections=1 if region is None else region.sections)


def compared_with_full(
    system: System, full: System, scheme: Scheme | None = None, modes: Sequence[complex] | None = None
) -> NetworkDeformation:
    """Return the modes of a system beside those of the same system whose `whole_network` has dynamics.

    Raises InputError for more than 2,000 states and no `modes`, and for a system that reads signals with a
    delay.
    """
    import partitioning

    if system.delays:
        raise InputError(
            f"{system.name}: reads signals with a delay, with which no mode is followed to full dynamics of"
            " the network; leave [delays] out for the deformation by the model"
        )
    linear = system.linearise()
    if system.n > LARGEST:
        if modes is None:
            raise InputError(
                f"network_deformation: {system.n} states are more than the {LARGEST} of which every mode is"
                " looked at; name modes, for instance those that psmr.deformation(linear, scheme, modes=5)"
                " finds"
            )
        kept = tuple(map(complex, modes))
    else:
        table = modes_of(linear)
        every = np.asarray(table["real"]) + 1j * np.asarray(table["imag"])
        wanted = every[abs(every) > SLOWEST] if modes is None else np.asarray(modes, dtype=complex)
        kept = tuple(complex(every[abs(every - complex(s.real, abs(s.imag))).argmin()]) for s in wanted)
    whole = partitioning.modes_in_full(full, kept, dynamic_elements(system))
    return NetworkDeformation(system.name, kept, whole, _numerical(linear, scheme, kept))


def _numerical(linear: object, scheme: Scheme | None, modes: Sequence[complex]) -> tuple[complex | None, ...]:
    """Return what a scheme makes of the modes nearest to some."""
    if scheme is None:
        return (None,) * len(modes)
    from psmr.pencil.deformation.deformation import deformation

    columns = deformation(linear, scheme).columns  # type: ignore[arg-type]
    exact = np.asarray(columns["real"]) + 1j * np.asarray(columns["imag"])
    made = np.asarray(columns["real_numerical"]) + 1j * np.asarray(columns["imag_numerical"])
    found: list[complex | None] = []
    for s in modes:
        k = int(np.abs(exact - complex(s.real, abs(s.imag))).argmin())
        found.append(complex(made[k]) if np.isfinite(made[k]) else None)
    return tuple(found)
