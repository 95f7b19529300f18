"""The rows of a network with what the records of a DYR file say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from psmr.base.errors import Mistakes
from psmr.files.joined import Rows
from psmr.files.psse.dyr import Unit, read_dyr
from psmr.files.psse.dyr_loads import LoadRecords, LoadUnit
from psmr.files.psse.dyr_relays import RelayRecords
from psmr.files.psse.dyr_static_var import StaticVarRecords
from psmr.files.user_components import NONE, UserComponents

Key = tuple[int, str]


def with_dynamics(
    rows: Rows,
    path: str | Path,
    units: Mapping[Key, Unit],
    loads: Sequence[LoadUnit],
    switched: Mapping[Key, str],
    frequency_hz: float,
    mistakes: Mistakes,
    skip_unknown_models: bool = False,
    net_unmodelled: bool = False,
    own: UserComponents = NONE,
) -> Rows:
    """Return the rows of a case with the devices, load characteristics and relays of a DYR file.

    Parameters
    ----------
    rows
        Rows by the names of the case's tables, every bus still by itself.
    path
        The DYR file.
    units, loads, switched
        Generators and names of switched shunts by bus and identifier, and what load records need of loads.
    frequency_hz
        Nominal frequency.
    mistakes, skip_unknown_models, net_unmodelled
        See `psmr.files.psse.dyr.read_dyr`.
    own
        Components of the user's own.
    """
    of_loads = LoadRecords(loads, mistakes, frequency_hz)
    branches, buses = [*rows["lines"], *rows["transformers"]], [row.number for row in rows["buses"]]
    relays = RelayRecords(loads, units, branches, buses, frequency_hz)
    systems = StaticVarRecords(switched)
    others = dict.fromkeys(of_loads.models(), of_loads.take) | relays.takers() | systems.takers()
    kinds = own.kinds.values()
    generators = list(read_dyr(path, units, mistakes, skip_unknown_models, net_unmodelled, others, kinds))
    return rows | {
        "generators": generators,
        "loads": of_loads.applied(rows["loads"]),
        "relays": relays.settled(mistakes) + of_loads.relays,
        "shunts": systems.applied(rows["shunts"]),
    }
