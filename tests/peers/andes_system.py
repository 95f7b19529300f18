"""ANDES at a RAW and a DYR file, beside psmr with the same options."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from psmr import Case, build, read_case
from psmr.errors import PsmrWarning
from tests.internals import PowerFlow, System, power_flow
from tests.peers.definitions import ANDES_NAMES, as_andes

andes = pytest.importorskip("andes")
andes.config_logger(stream_level=40)


def load(raw: Path, dyr: Path, fault: dict[str, float] | None = None, trip: str | None = None) -> Any:
    """Return ANDES' system with its power flow solved to 1e-12 and no events but the given fault.

    Parameters
    ----------
    fault
        bus, tf, tc (s), xf (pu).
    trip
        Line that the clearing takes out of service.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        system = andes.load(str(raw), addfile=str(dyr), setup=False, no_output=True, default_config=True)
        for i in range(system.Toggle.n):
            system.Toggle.u.v[i] = 0
        if fault is not None:
            system.add("Fault", {"rf": 0.0, **fault})
        if trip is not None:
            system.add("Toggle", {"model": "Line", "dev": trip, "t": fault["tc"]})
        system.setup()
        system.PFlow.config.tol = 1e-12
        system.PFlow.run()
    assert system.PFlow.converged
    return system


def start(system: Any) -> None:
    """Initialise the dynamics."""
    system.TDS.config.no_tqdm = 1
    system.TDS.init()
    assert system.TDS.test_ok


def machines(system: Any) -> list[tuple[Any, int]]:
    """Return (model, place) of every machine, in the order of buses and of the file within a bus."""
    found = [(model, i) for model in (system.GENCLS, system.GENROU) for i in range(model.n)]
    return sorted(found, key=lambda item: int(item[0].bus.v[item[1]]))


def plants(case: Case) -> list[int]:
    """Return the places of psmr's generators in the same order."""
    return sorted(range(len(case.generators)), key=lambda k: case.generators[k].bus)


def shared_flow(case: Case, system: Any) -> PowerFlow:
    """Return psmr's power flow with ANDES' division of reactive power between generators of one bus.

    No law gives that division: psmr follows the file, ANDES what its Newton's start leaves. ANDES keeps no
    reactive limits here, psmr would where the stored solution does.
    """
    flow = power_flow(case, reactive_limits=False, tolerance=1e-12)
    q = flow.q.copy()
    for place, (model, i) in zip(plants(case), machines(system), strict=True):
        q[place] = model.Qe.v[i]
    assert abs(q.sum() - flow.q.sum()) < 1e-9
    return dataclasses.replace(flow, q=q)


def in_andes_names(dyr: Path) -> Path:
    """Return the DYR file with ANDES' names for the models, written beside it where they differ."""
    text = dyr.read_text()
    renamed = functools.reduce(lambda t, names: t.replace(*names), ANDES_NAMES.items(), text)
    if renamed == text:
        return dyr
    path = dyr.with_name(f"andes-{dyr.name}")
    path.write_text(renamed)
    return path


def aligned(raw: Path, dyr: Path, alike: Callable[[Case], Case] = as_andes) -> tuple[System, Any]:
    """Return psmr's system of the files with ANDES' options and definitions, and ANDES', at their starts.

    Models that psmr does not know are left out of its system.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        case = alike(read_case(raw, dyr, skip_unknown_models=True, mechanical="torque"))
    theirs = load(raw, in_andes_names(dyr) if alike is as_andes else dyr)
    start(theirs)
    return build(case, shared_flow(case, theirs)), theirs
