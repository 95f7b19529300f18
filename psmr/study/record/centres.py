"""The frequency and the angle of centres of inertia at recorded points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.network.signals.signals import CENTRE, quantity
from psmr.network.topology.islands import islands
from psmr.network.topology.network import nominal_frequency
from psmr.network.topology.sources import centre_of_inertia, island_of, leading, sources_of
from psmr.study.detectors.sources import Speeds, angles_of
from psmr.study.events.spans import Span

Reals = NDArray[np.float64]


def centres(
    system: System, spans: Sequence[Span], names: Iterable[str], t: Reals, x: Reals, y: Reals
) -> dict[str, Reals]:
    """Return (K,) values of signals of centres of inertia by name, in Hz and rad.

    NaN where the island of a bus has no source with an angle of its own. See
    `psmr.study.detectors.frequency` for what they are.
    """
    f_n = nominal_frequency(system)
    assert f_n is not None
    sources = sources_of(system)
    speeds = Speeds(system, sources)
    found = {name: np.full(len(t), np.nan) for name in names}
    for span in spans:
        rows = span.rows
        if not len(t[rows]):
            continue
        out, speed = span.absent(system), speeds.of(t[rows], x[rows])
        parts = islands(system, out)
        for name, values in found.items():
            device = name.rpartition(".")[0]
            own = leading(island_of("" if device == CENTRE else device, parts, out, sources), sources)
            members = [sources[k] for k in own]
            if not own:
                continue
            if quantity(name).endswith("frequency"):
                values[rows] = f_n * centre_of_inertia(speed[:, own], members)
            else:
                angles = angles_of(system, span, members, t[rows], x[rows], y[rows])
                values[rows] = centre_of_inertia(angles, members)
    return found
