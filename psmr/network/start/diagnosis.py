"""A look at the start of a case that does not stop at the first problem, and every variable there."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from psmr.base.errors import PowerFlowError, PsmrError, PsmrWarning
from psmr.dae.declare.component import rows_of
from psmr.dae.declare.device import Device
from psmr.dae.declare.sampling import sampled_variables
from psmr.dae.system.assemble import assemble
from psmr.dae.system.samplers import sample_changes
from psmr.dae.system.system import System
from psmr.devices.catalogue import components
from psmr.network.case.case import Case
from psmr.network.case.checks import islands_of, unlikely
from psmr.network.powerflow.powerflow import PowerFlow, power_flow
from psmr.network.start.code import REST, codes_of, run_to_rest
from psmr.network.start.equilibrium import StartingPlant, attempt_plants, decide
from psmr.network.start.initialise import (
    allowed_residual,
    beyond_limits,
    ripples,
    timers,
    with_algebraic_resolved,
)
from psmr.network.start.limits import ADJUST, REFUSE, Margin, clipped_to_limits, margins
from psmr.network.start.report import ERROR, NOTE, WARNING, Report, StartFinding, ordered
from psmr.network.start.wiring import (
    bus_start,
    check_load,
    coupled,
    generator_plant,
    motor_plant,
    network_devices,
)

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = ("device", "model", "variable", "kind", "value", "unit", "residual", "lower", "upper", "limit")
NEAR_SHARE = 0.02
"""A value is near a limit within this share of the larger of both."""


def no_variables() -> pd.DataFrame:
    """Return the table without rows."""
    return _table([])


def variable_table(system: System, residual: np.ndarray, found: Sequence[Margin]) -> pd.DataFrame:
    """Return a row per state, algebraic variable, held input and limiter of the devices; see `Report`."""
    of_row = {name: float(r) for name, r in zip((*system.names_x, *system.names_g), residual, strict=True)}
    places, changes = sample_changes(system, system.w0)
    of_row |= {
        system.names_u[k - system.n - system.m]: float(x) for k, x in zip(places, changes, strict=True)
    }
    limits: dict[tuple[str, str], list[Margin]] = {}
    for margin in found:
        limits.setdefault((margin.device, margin.state), []).append(margin)
    rows = [row for device in system.devices for row in _device_rows(system, device, of_row, limits)]
    return _table(rows)


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd  # slow to import, for tables alone

    return pd.DataFrame(rows, columns=list(COLUMNS))


def _device_rows(
    system: System,
    device: Device,
    residual: Mapping[str, float],
    limits: Mapping[tuple[str, str], Sequence[Margin]],
) -> list[dict[str, Any]]:
    component = device.component
    held = [name for name in component.inputs if name not in device.connections]
    kinds = (
        *((name, "state", name) for name in component.states),
        *((name, "algebraic", r) for name, r in zip(component.algebraic, rows_of(component), strict=True)),
        *((name, "sampled", name) for name in sampled_variables(component)),
        *((name, "input" if name in component.optional else "set-point", "") for name in held),
    )
    rows = []
    for name, kind, equation in kinds:
        rows.append(
            {
                **_head(device),
                "variable": name,
                "kind": kind,
                "value": float(system.w0[system.index(f"{device.name}.{name}")]),
                "unit": component.units.get(name, "pu"),
                "residual": residual.get(f"{device.name}.{equation}", math.nan),
                **_limits(limits.get((device.name, name), ())),
            }
        )
    # Limiters within the equations come with both of their limits, one after the other.
    passed = limits.get((device.name, ""), ())
    for value in dict.fromkeys(margin.value for margin in passed):
        both = [margin for margin in passed if margin.value == value]
        rows.append(
            {
                **_head(device),
                "variable": "",
                "kind": "limiter",
                "value": value,
                "unit": "pu",
                **_limits(both),
            }
        )
    return rows


def _head(device: Device) -> dict[str, str]:
    return {"device": device.name, "model": model_of(device)}


def model_of(device: Device) -> str:
    """Return the name of a device's component in the library; special forms of it are subclasses."""
    known = components()
    kinds = device.component.__mro__
    return next((kind.__name__ for kind in kinds if kind in known), device.component.__name__)


def _limits(found: Sequence[Margin]) -> dict[str, Any]:
    limits: dict[str, Any] = {"lower": -math.inf, "upper": math.inf, "limit": ""}
    for margin in found:
        limits[margin.side] = margin.limit
        near = abs(margin.excess) <= NEAR_SHARE * max(abs(margin.value), abs(margin.limit))
        word = "outside" if margin.outside else "at" if margin.touched else "near" if near else ""
        if word:
            limits["limit"] = f"{word} {margin.name or margin.side}"
    return limits


LOW, HIGH = 0.9, 1.1
"""Voltages in pu outside of which a bus is worth a look."""

_REMEDIES = {
    "pv": "hold it there (--reactive-limits), change v, or correct the limit",
    "slack": "change the v of the slack and of others (limits do not bind a slack), or correct the limit",
    "pq": "change q_mvar, or correct the limit",
}

Result = TypeVar("Result")


@dataclass
class _Findings:
    """Problems and notes, collected while the look goes on."""

    found: list[StartFinding] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)

    def add(self, level: str, topic: str, name: str, message: str, size: float = 0.0) -> None:
        self.found.append(StartFinding(level, topic, name, message, size))

    def attempt(self, topic: str, name: str, what: Callable[..., Result], *arguments: Any) -> Result | None:
        """Return what a function returns, or None and a finding where it raises."""
        try:
            return what(*arguments)
        except PsmrError as error:
            self.failed.add(name)
            self.add(ERROR, topic, name, str(error))
            return None


def diagnose(
    case: Case,
    reactive_limits: bool | None = None,
    start_at_limits: str = ADJUST,
    power_flow_start: str | None = None,
) -> Report:
    """Return a report on the start of a case: power flow, equilibrium of every plant, limits, residuals.

    What stands in the way of one plant is a finding; the others are looked at all the same. The modes are
    left to `psmr.check`.
    """
    findings = _Findings()
    islands = len(islands_of(case))
    for value in unlikely(case):
        findings.add(WARNING, "data", value.name, str(value))
    for name, words in _standing(case):
        findings.add(NOTE, "control", name, words)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PsmrWarning)  # its notes are findings
            flow = power_flow(case, reactive_limits, start=power_flow_start)
    except PowerFlowError as error:
        findings.add(ERROR, "power flow", case.name, str(error))
        return Report(case, None, islands, tuple(findings.found), no_variables())
    _look_at_flow(flow, findings)
    if not any(row.devices for row in case.generators):
        return Report(case, flow, islands, ordered(findings.found), no_variables())
    plants = _plants(case, flow, findings)
    start, failures = attempt_plants(plants)
    for name, failure in failures.items():
        findings.add(ERROR, "equilibrium", name, str(failure))
        findings.failed.add(name)
    before = [plant for plant in plants if plant.name not in failures]
    plants = decide(before, start)
    start |= attempt_plants([new for new, old in zip(plants, before, strict=True) if new != old])[0]
    together = findings.attempt("devices", case.name, coupled, case, plants, start)
    plants, start = together or (plants, start)
    plants, start = _with_codes_at_rest(plants, start, findings)
    devices = [device for plant in plants for device in plant.devices]
    # Motors are among the network's devices, with or without an equilibrium.
    network = [d for d in network_devices(case, flow) if d.name not in findings.failed]
    names = {d.name for d in network}
    devices = [d for d in devices if d.name not in names]
    start |= bus_start(case, flow)
    system = findings.attempt("devices", case.name, assemble, [*network, *devices], start, case.name)
    if system is None:
        return Report(case, flow, islands, ordered(findings.found), no_variables())
    found = margins(system, devices)
    held = False
    if not findings.failed:
        if start_at_limits != REFUSE and any(margin.outside for margin in found):
            system, devices, held = _beyond(system, network, devices, start, start_at_limits, findings)
            found = margins(system, devices)
        elif not any(margin.outside for margin in found):
            system = findings.attempt("equilibrium", case.name, _at_rest, system) or system
            found = margins(system, devices)
    if held:
        table = variable_table(system, _residual(system, set()), found)
        return Report(case, flow, islands, ordered(findings.found), table, system)
    _look_at_limits(found, findings)
    residual = _residual(system, _blind(case, plants, found, findings))
    _look_at_residuals(system, residual, findings)
    table = variable_table(system, residual, found)
    good = not any(finding.level == ERROR for finding in findings.found)
    return Report(case, flow, islands, ordered(findings.found), table, system if good else None)


def _standing(case: Case) -> Iterator[tuple[str, str]]:
    """Yield the names of controls in service that a run holds where they are, with words."""
    for row in case.transformers:
        if row.regulating and row.status and row.tap_changer is None:
            at = f"tap = {row.tap:.6g}" + (f", shift_deg = {row.shift_deg:.6g}" if row.shift_deg else "")
            how = " (it moves with --tap-changers, read_case(tap_changers=...))" if row.controls else ""
            yield row.name, f"{row.name}: its tap changer stands still during a simulation, at {at}{how}"
    for shunt in case.shunts:
        if shunt.regulating and shunt.status and not shunt.devices:
            how = " (--switched-shunts, read_case(switched_shunts=...) switch it)" if shunt.steps else ""
            words = (
                f"this switched shunt stands still during a simulation, at b_mvar = {shunt.b_mvar:.6g}{how}"
            )
            yield shunt.name, f"{shunt.name}: {words}"


def _look_at_flow(flow: PowerFlow, findings: _Findings) -> None:
    case, base = flow.case, flow.case.base_mva
    for note in flow.notes:
        findings.add(WARNING, "power flow", case.name, note)
    for bus, v in zip(case.buses, flow.v, strict=True):
        if not LOW <= v <= HIGH:
            limit, side = (LOW, "below") if v < LOW else (HIGH, "above")
            message = f"{bus.name}: v = {v:.4f} pu is {side} {limit:g} pu"
            findings.add(WARNING, "voltage", bus.name, message, abs(v - limit))
    for row, p, q in zip(case.generators, flow.p * base, flow.q * base, strict=True):
        low, high = row.q_min_mvar, row.q_max_mvar
        # The power flow is solved to 1e-10 pu.
        excess = max(q - high, low - q)
        if excess > 1e-6 * base:
            name, limit, side = ("q_max_mvar", high, "above") if q > high else ("q_min_mvar", low, "below")
            far = f"{row.name}: {q:.4g} Mvar is {excess:.3g} {side} {name} = {limit:g}"
            message = f"{far}; {_REMEDIES[row.control]}"
            findings.add(WARNING, "reactive power", row.name, message, excess)
        power = math.hypot(p, q)
        # A machine on the base of the system says nothing of its rating.
        if row.rating_mva not in (0, base) and power > row.rating_mva * (1 + 1e-6):
            share = 100 * power / row.rating_mva
            message = (
                f"{row.name}: {power:.4g} MVA is {share:.4g} % of rating_mva = {row.rating_mva:g};"
                " change the dispatch, or correct the rating (by default the machine's s_n)"
            )
            findings.add(WARNING, "rating", row.name, message, share)


def _plants(case: Case, flow: PowerFlow, findings: _Findings) -> list[StartingPlant]:
    """Return the motors and plants that can be tried."""
    voltage = flow.by_number()
    found: list[StartingPlant | None] = []
    for load in case.loads:
        v = voltage[load.bus]
        findings.attempt("load", load.name, check_load, load, v)
        if load.solved is not None:
            found.append(findings.attempt("load", load.name, motor_plant, case, load, v))
    for row, p, q in zip(case.generators, flow.p, flow.q, strict=True):
        power = complex(p, q)
        found.append(findings.attempt("devices", row.name, generator_plant, case, row, voltage, power))
    return [plant for plant in found if plant is not None]


def _with_codes_at_rest(
    plants: Sequence[StartingPlant], start: Mapping[str, float], findings: _Findings
) -> tuple[list[StartingPlant], dict[str, float]]:
    """Return the plants and the start with controllers in files at rest; plants that have none are out."""
    found, values = [], dict(start)
    for plant in plants:
        rested = findings.attempt("equilibrium", plant.name, run_to_rest, [plant], values)
        if rested is not None:
            (plant,), values = rested
            found.append(plant)
            for device in codes_of(plant):
                findings.add(NOTE, "equilibrium", device.name, f"{device.name}: {device.data[REST]}")
    return found, values


def _beyond(
    system: System,
    network: Sequence[Device],
    devices: list[Device],
    start: Mapping[str, float],
    how: str,
    findings: _Findings,
) -> tuple[System, list[Device], bool]:
    """Return the system that starts beyond limits, its devices, and whether it is held at them.

    What is done is a finding: a warning, or an error where it cannot be.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            system, devices, at_rest = beyond_limits(system, network, devices, start, how)
        except PsmrError as error:
            findings.add(ERROR, "limit", system.name, str(error))
            return system, devices, False
    for warning in said:
        findings.add(WARNING, "limit", system.name, str(warning.message))
    return system, devices, not at_rest


def _at_rest(system: System) -> System:
    """Return the system with its algebraic variables solved and its states within their limits."""
    found = with_algebraic_resolved(system)
    inside = clipped_to_limits(found)
    return with_algebraic_resolved(inside) if (inside.x0 != found.x0).any() else inside


def _look_at_limits(found: Sequence[Margin], findings: _Findings) -> None:
    for margin in found:
        if margin.outside:
            message = f"{margin}; widen the limit, or change the dispatch"
            findings.add(ERROR, "limit", margin.device, message, margin.excess)
        elif margin.touched:
            message = f"{margin}; the linearisation is that of the inside"
            findings.add(WARNING, "limit", margin.device, message)


def _blind(
    case: Case, plants: Sequence[StartingPlant], found: Sequence[Margin], findings: _Findings
) -> set[str]:
    """Return the devices and buses whose residual says nothing new: something is off there already."""
    outside = {margin.device for margin in found if margin.outside}
    names = {bus.number: bus.name for bus in case.buses}
    where = {row.name: names[row.bus] for row in case.generators}
    where |= {row.name: names[row.bus] for row in case.loads}
    blind = {where[name] for name in findings.failed if name in where}
    for plant in plants:
        devices = {device.name for device in plant.devices}
        if devices & outside:
            blind |= devices | {where[plant.name]}
    return blind


def _residual(system: System, blind: set[str]) -> np.ndarray:
    """Return the residual of every equation, NaN for those of blind devices and buses."""
    names = (*system.names_x, *system.names_g)
    with np.errstate(all="ignore"):
        residual = np.concatenate([system.f(system.x0, system.y0), system.g(system.x0, system.y0)])
    residual = np.where(np.isfinite(residual), residual, np.inf)
    # At rest in the turning frame, not at an instant; what counts goes on.
    residual[[*ripples(system), *timers(system)]] = np.nan
    return np.where([name.split(".")[0] in blind for name in names], np.nan, residual)


def _look_at_residuals(system: System, residual: np.ndarray, findings: _Findings) -> None:
    names = (*system.names_x, *system.names_g)
    with np.errstate(all="ignore"):
        allowed = allowed_residual(system, np.nan_to_num(np.abs(residual), nan=0.0))
    # Not below what is allowed, rather than above it: where that is NaN it is not kept either.
    for i in np.flatnonzero(~(np.abs(residual) <= allowed) & ~np.isnan(residual)):
        message = (
            f"{names[i]}: residual {residual[i]:.3g} at the start, above {allowed[i]:g}; the power flow and"
            " the devices do not describe one equilibrium"
        )
        findings.add(ERROR, "residual", names[i].split(".")[0], message, float(abs(residual[i])))
