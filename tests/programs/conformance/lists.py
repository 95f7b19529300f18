"""Eigenvalues and tables that others publish, and how far psmr's are from each."""

from __future__ import annotations

import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import psmr
from psmr.errors import PsmrWarning
from tests.cases import test_kundur as kundur
from tests.cases import test_new_england as new_england
from tests.devices.exciters.test_static_exciters import distance
from tests.files.psse import test_renewable_eigenvalues as renewable
from tests.files.psse.eigenvalues import LISTED, apart, both
from tests.files.psse.traces import HERE
from tests.internals import power_flow
from tests.peers.andes_system import aligned
from tests.peers.pairs import PAIRS
from tests.peers.pencils import differenced, eigenvalues, matched, own_eigenvalues
from tests.programs.conformance.psid.systems import SYSTEMS
from tests.programs.conformance.traces import PSCAD

PSID = "PowerSimulationsDynamics.jl"


@dataclass(frozen=True)
class Published:
    """A list of eigenvalues or a table: whose, of what, how many numbers, the largest difference, and why."""

    program: str
    name: str
    count: int
    largest: float
    unit: str
    cause: str = ""


def published() -> Iterator[Published]:
    """Yield every list that the repository has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        yield from _of_psid()
        yield from of_inverters_and_dynamic_lines()
        yield from _of_andes()
        yield from _of_kundur()
        yield from _of_new_england()


RELATIVE = "of each eigenvalue"
MEASURED = "that program's ST6B reads the measured voltage; the standard's, as psmr, the voltage"
ROUNDED = "that program rounds 1/√3 to 0.577"
STARTS = {"GENCLS": "the start: powers are printed with few digits"}


def _of_psid() -> Iterator[Published]:
    for trace in LISTED:
        ours, theirs = both(trace)
        yield Published(
            PSID, trace.name, len(theirs), apart(ours, theirs), RELATIVE, STARTS.get(trace.name, "")
        )
    for folder, dyr, name, cause in (
        ("PIDGOV", "ThreeBus_PIDGOV_GateFlag.dyr", "test58_eigvals_GateFlag", ""),
        ("PIDGOV", "ThreeBus_PIDGOV_PowerFlag.dyr", "test58_eigvals_PowerFlag", ""),
        ("WPIDHY", "ThreeBus_WPIDHY.dyr", "test60_eigvals", ""),
        ("ST8C", "ThreeBus_ST8C.dyr", "test61_eigvals", ROUNDED),
    ):
        mechanical = "torque" if folder == "ST8C" else "power"
        case = psmr.read_case(
            *(HERE / folder / "ThreeBusMulti.raw", HERE / folder / dyr),
            loads="impedance",
            mechanical=mechanical,
        )
        system = psmr.build(case)
        yield Published(PSID, f"{folder}, {dyr}", system.n, distance(system, folder, name), RELATIVE, cause)
    yield _st6b()
    for name, (words, flags, shift) in renewable.CASES.items():
        theirs = np.array([complex(*pair) for pair in renewable.LISTS[name]])
        system = psmr.build(renewable.plant(words, flags, shift))
        ours = np.linalg.eigvals(system.linearise().state_matrix())
        if words == "frequency flag":
            ours = np.delete(ours, np.abs(ours - renewable.FILTER).argmin())
        yield Published(
            *(PSID, f"renewable plant, {name.removesuffix('_eigvals')}", len(theirs)),
            renewable.distance(ours, theirs)[0],
            RELATIVE,
            "the start: that program's power flow" if shift else "",
        )


def _st6b() -> Published:
    """Return ST6B's, without its current limiter, beyond which its file starts."""
    text = (HERE / "ST6B" / "ThreeBus_ST6B.dyr").read_text().replace("17.330", "0.0")
    with tempfile.TemporaryDirectory() as folder:
        dyr = Path(folder) / "free.dyr"
        dyr.write_text(text)
        case = psmr.read_case(
            HERE / "ST6B" / "ThreeBusMulti.raw", dyr, loads="impedance", mechanical="torque"
        )
    system = psmr.build(case)
    off = distance(system, "ST6B", "test59_eigvals")
    return Published(PSID, "ST6B without its current limiter", system.n, off, RELATIVE, MEASURED)


def of_inverters_and_dynamic_lines() -> Iterator[Published]:
    """Yield the lists of systems with components of one's own, and lines whose currents are states."""
    lists = tomllib.loads((PSCAD / "eigenvalues.toml").read_text())
    for number, pairs in lists.items():
        words, build = SYSTEMS[number]
        theirs = np.array([complex(*pair) for pair in pairs])
        ours = np.linalg.eigvals(build().linearise().state_matrix())
        yield Published(PSID, f"test {number}: {words}", len(theirs), apart(ours, theirs), RELATIVE)


def _of_andes() -> Iterator[Published]:
    with tempfile.TemporaryDirectory() as folder:
        for name, pair in PAIRS.items():
            ours, theirs = aligned(pair.raw_path, pair.compared_in(Path(folder)))
            found, expected = own_eigenvalues(ours), eigenvalues(theirs, differenced(theirs))
            yield Published(
                *("ANDES", f"{name}, its package", len(expected)),
                float(matched(found, expected)[0][0]),
                RELATIVE,
            )


BOOK = "the book's machine equations (cases/kundur/SOURCE.md)"


def _of_kundur() -> Iterator[Published]:
    for name, book in kundur.BOOK.items():
        yield _modes("Kundur 1994, table E12.3", f"two areas, {name}", kundur.swings(name), book, BOOK)
    ours = kundur.swings("thyristor")
    yield _modes("PacDyn, IEEE PES-TR18", "two areas, thyristor", ours, kundur.PACDYN, "not explained")


def _modes(program: str, name: str, ours: NDArray, theirs: tuple[complex, ...], cause: str) -> Published:
    """Return the largest distance of modes, of which `ours` has the imaginary part first."""
    off = np.abs((ours.imag + 1j * ours.real) - np.array(theirs)) / np.abs(theirs)
    return Published(program, name, len(theirs), float(off.max()), RELATIVE, cause)


def _of_new_england() -> Iterator[Published]:
    flow = power_flow(new_england.read("dyr"))
    for words, ours, table, unit in (
        ("voltages", flow.v, new_england.V, "pu (printed to 1e-4)"),
        ("angles", np.degrees(flow.angle), new_england.ANGLE, "degrees (printed to 1e-2)"),
        ("reactive powers", 100 * flow.q, new_england.Q, "Mvar (printed to 1e-2)"),
    ):
        off = float(np.abs(ours - np.array(table)).max())
        yield Published("IEEE PES benchmark (Hiskens 2013)", f"39 buses, {words}", len(table), off, unit)
