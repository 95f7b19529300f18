"""Cases and disturbances: what is run."""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psmr
from psmr import Case
from tests.internals import Change, System, dense_points

Reals = NDArray[np.float64]

CASES = Path(__file__).parents[1] / "cases"

WECC_240 = ("240busWECC_2018_PSS32_fixed_shunts.raw", "240busWECC_2018_PSS.dyr")

# What happens begins here, in s; the small run before it is the same for all.
START = 0.5


@dataclass(frozen=True)
class Disturbance:
    """What happens in a run.

    Attributes
    ----------
    changes
        What the events do to the system.
    t_end
        End of the run in s.
    times
        (first, spacing) in s of the instants at which errors are taken.
    """

    changes: tuple[Change, ...]
    t_end: float
    times: tuple[float, float]


def system_of(name: str, converters: float, files: Path | None = None) -> tuple[System, int]:
    """Return a case at its equilibrium, and the bus of a severe fault.

    `files` is a folder with the RAW and DYR files of `WECC_240`, of NREL's reduced WECC system; they are in
    test/data_tests of PowerSimulationsDynamics.jl.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "wecc240":
            assert files is not None
            case = psmr.read_case(*(files / file for file in WECC_240), skip_unknown_models=True)
            return psmr.build(case), 2408
        if name in ("kundur", "new-england"):
            return psmr.build(psmr.read_case(CASES / name / f"{name}.toml")), {"kundur": 8}.get(name, 16)
        if name in ("npcc_full", "wecc_full"):
            from tests.peers.pairs import PAIRS

            with tempfile.TemporaryDirectory() as folder:
                dyr = PAIRS[name].compared_in(Path(folder))
                case = psmr.read_case(PAIRS[name].raw_path, dyr)
            return psmr.build(case), {"npcc_full": 36}.get(name, 77)
        import pandapower.networks

        from psmr import from_pandapower

        read = from_pandapower(getattr(pandapower.networks, name)())
        case = psmr.add_dynamics(read, seed=1, converters=converters)
        return psmr.build(case), busiest(case)


def busiest(case: Case) -> int:
    """Return the number of the bus with the most branches."""
    count = Counter(bus for row in case.branches for bus in (row.from_bus, row.to_bus))
    return max(count, key=lambda bus: (count[bus], -bus))


def faulted(system: System) -> str:
    """Return the bus of a local fault."""
    names = [name[: -len(".v_re")] for name in system.names_y if name.endswith(".v_re")]
    return names[len(names) // 3]


def local_fault(system: System, bus: int) -> Disturbance:
    """Return 100 ms of a fault with 0.1 pu to ground, somewhere."""
    fault = psmr.Fault(bus=faulted(system), start=START, clear=START + 0.1, x=0.1)
    return Disturbance(fault.changes(system), 5.0, (START + 0.12, 0.02))


def severe_fault(system: System, bus: int) -> Disturbance:
    """Return 100 ms of a bolted fault at the bus with the most branches, or where a run holds together."""
    fault = psmr.Fault(bus=bus, start=START, clear=START + 0.1)
    return Disturbance(fault.changes(system), 5.0, (START + 0.12, 0.02))


def load_step(system: System, bus: int) -> Disturbance:
    """Return the loss of half of a load."""
    for name in (name[: -len(".v_re")] for name in system.names_y if name.endswith(".v_re")):
        try:
            changes = psmr.LoadTrip(name, START, 0.5).changes(system)
        except psmr.PsmrError:
            continue
        return Disturbance(changes, 5.0, (START + 0.02, 0.02))
    raise AssertionError("a case without a load")


def watched(system: System) -> NDArray[np.intp]:
    """Return positions of the speeds and the parts of the bus voltages."""
    speeds = [i for i, name in enumerate(system.names_x) if name.endswith(".omega")]
    parts = [system.n + i for i, name in enumerate(system.names_y) if name.endswith((".v_re", ".v_im"))]
    return np.array(speeds + parts)


def quiet_minute(system: System, bus: int) -> Disturbance:
    """Return a local fault and the minute after it."""
    fault = local_fault(system, bus)
    return Disturbance(fault.changes, START + 0.1 + 60.0, (START + 0.2, 0.2))


DISTURBANCES: Mapping[str, Callable[[System, int], Disturbance]] = {
    "local fault": local_fault,
    "severe fault": severe_fault,
    "load step": load_step,
    "quiet minute": quiet_minute,
}
SMALL = ("kundur", "new-england", "npcc_full", "wecc_full", "wecc240")
LARGE = ("case1354pegase", "case9241pegase")
ALL: tuple[tuple[str, float], ...] = (
    *((name, 0.0) for name in SMALL),
    *((name, share) for name in LARGE for share in (0.0, 0.3, 0.6)),
)


def instants(disturbance: Disturbance) -> Reals:
    """Return the instants at which errors are taken: multiples of their spacing, which fixed steps meet."""
    first, spacing = disturbance.times
    whole = np.arange(np.ceil(first / spacing - 1e-9), disturbance.t_end / spacing - 1e-9)
    return np.asarray(whole * spacing)


def values_at(
    system: System, disturbance: Disturbance, run: Any, times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (K, n + m) values of a trajectory: its points, or its dense output between them."""
    points = np.hstack([run.x, run.y])
    place = np.minimum(np.searchsorted(run.t, times - 1e-9), len(run.t) - 1)
    met = np.abs(run.t[place] - times) < 1e-7
    out = points[place]
    if not met.all():
        out[~met] = dense_points(system, run.spans, run.t, points, times[~met])
    return np.asarray(out)


def title(name: str, converters: float) -> str:
    """Return how a case is called in tables."""
    short: dict[str, Any] = {
        "kundur": "Kundur",
        "new-england": "New England",
        "npcc_full": "NPCC",
        "wecc_full": "WECC 179",
        "wecc240": "WECC 240",
    }
    if name in short:
        return str(short[name])
    buses = int(name.removeprefix("case").removesuffix("pegase"))
    return f"{buses:,} buses, converters {converters:g}"
