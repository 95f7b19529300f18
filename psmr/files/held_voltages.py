"""One voltage for each bus that several generators hold."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from psmr.base.errors import PsmrWarning
from psmr.network.case.case import Case
from psmr.network.case.tables import GeneratorRow


def agreed(
    generators: Sequence[GeneratorRow], stored: Mapping[int, float | None], remote: Collection[str] = ()
) -> list[GeneratorRow]:
    """Return generators that hold one voltage at each bus.

    Those that regulate their own bus decide; of several the voltage that is nearest to the stored one, or
    the first.

    Parameters
    ----------
    generators
        The rows.
    stored
        Voltages in pu that the file stores, by bus.
    remote
        Names of those that regulate another bus, and hold their own at its stored voltage.

    Warns
    -----
    PsmrWarning
        For each bus whose generators ask for different voltages, with the one that is held.
    """
    at_bus: dict[int, list[GeneratorRow]] = {}
    for row in generators:
        if row.control != "pq":
            at_bus.setdefault(row.bus, []).append(row)
    held: dict[int, float] = {}
    for bus, rows in at_bus.items():
        own = [row for row in rows if row.name not in remote] or rows
        v, asked = stored.get(bus), list(dict.fromkeys(row.v for row in own))
        held[bus] = asked[0] if v is None else min(asked, key=lambda set_point: abs(set_point - v))
        if len(asked) > 1:
            words = ", ".join(f"{row.name} {row.v:g}" for row in own)
            warnings.warn(
                f"{own[-1].where}: generators ask for different voltages of bus {bus} ({words}); held at"
                f" {held[bus]:g}{'' if v is None else ', the nearest to the stored one'}",
                PsmrWarning,
                stacklevel=3,
            )
    return [row if row.control == "pq" else replace(row, v=held[row.bus]) for row in generators]


def held_voltages(case: Case) -> dict[int, float]:
    """Return the voltage in pu that generators hold at each bus where one does, by its number."""
    return {row.bus: row.v for row in case.generators if row.control != "pq"}
