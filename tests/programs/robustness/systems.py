"""The cases of the robustness study, each read and built once a process."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import psmr
from psmr.errors import PsmrWarning
from tests.internals import System

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Source:
    """Where a case stands: a file, for PSS/E with its DYR file, in a folder that a message calls `home`."""

    folder: Path
    path: str
    dynamics: str | None = None
    skip: bool = False
    home: str = ""

    @property
    def words(self) -> str:
        """How `read_case` is called, from the repository's root; `CASES` is that of tests/peers/pairs.py."""
        paths = [f"{self.home}{path!r}" for path in (self.path, self.dynamics) if path is not None]
        return f"read_case({', '.join(paths)}{', skip_unknown_models=True' if self.skip else ''})"


def _own() -> dict[str, Source]:
    toml = ("wscc9/wscc9", "wscc9/wscc9-gfm", "wscc9/wscc9-ibr", "wscc9/wscc9-renewable", "wscc9/sauer-pai")
    toml += (
        "kundur/kundur",
        "kundur/dc",
        "kundur/thyristor",
        "microgrid/microgrid",
        "new-england/new-england",
    )
    found = {name.rpartition("/")[2]: Source(ROOT, f"cases/{name}.toml") for name in toml}
    for name in ("kundur", "manual", "tgr", "thyristor"):
        found[f"{name}-dyr"] = Source(ROOT, "cases/kundur/kundur.raw", f"cases/kundur/{name}.dyr")
    folder = "cases/new-england/new-england"
    return found | {"new-england-dyr": Source(ROOT, f"{folder}.raw", f"{folder}.dyr")}


OWN: Mapping[str, Source] = _own()


@functools.cache
def pairs() -> Mapping[str, Source]:
    """Return the RAW and DYR pairs of ANDES' package; empty, with a message, where it is not installed."""
    try:
        from tests.peers.test_pairs_run import ALL, CASES
    except (ImportError, pytest.skip.Exception) as error:
        print(f"the pairs of ANDES' package are left out: {error}", flush=True)
        return {}
    return {
        f"andes-{name}": Source(CASES, pair.raw, pair.dyr, bool(pair.left_out), "CASES / ")
        for name, pair in ALL.items()
    }


def source(name: str) -> Source:
    """Return where a case stands."""
    return OWN[name] if name in OWN else pairs()[name]


@functools.cache
def load(name: str) -> tuple[Any, System]:
    """Return a case and its system at the equilibrium."""
    at = source(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)  # models left out, limits touched at the start
        dynamics = None if at.dynamics is None else at.folder / at.dynamics
        case = psmr.read_case(at.folder / at.path, dynamics, skip_unknown_models=at.skip)
        return case, psmr.build(case)


def buses(system: System) -> list[str]:
    """Return the names of the buses."""
    return [d.name for d in system.devices if "g_fault" in d.parameters]


def branches(system: System, kind: str = "") -> dict[str, tuple[str, str]]:
    """Return the buses that each line and transformer in service joins; of one kind where given."""
    return {
        d.name: tuple(d.connections[port].rpartition(".")[0] for port in ("v_re_i", "v_re_j"))
        for d in system.devices
        if "v_re_j" in d.connections
        and kind in ("", d.component.__name__)
        and system.parameter(d.name, "status") != 0
    }
