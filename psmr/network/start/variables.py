"""Every variable of a system at its start, as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.dae.declare.component import rows_of
from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.devices.catalogue import components
from psmr.network.equilibrium.margins import Margin

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "device",
    "model",
    "variable",
    "kind",
    "value",
    "unit",
    "residual",
    "lower",
    "upper",
    "limit",
)
NEAR_SHARE = 0.02
"""A value is near a limit within this share of the larger of both."""


def no_variables() -> pd.DataFrame:
    """Return the table without rows."""
    return _table([])


def variable_table(system: System, residual: np.ndarray, found: Sequence[Margin]) -> pd.DataFrame:
    """Return a row per state, algebraic variable, held input and limiter of the devices; see `Report`."""
    of_row = {name: float(r) for name, r in zip((*system.names_x, *system.names_g), residual, strict=True)}
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
