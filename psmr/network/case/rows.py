"""From the rows of a case, in engineering units, to the parameters of components, per unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import numpy as np
from scipy import sparse

from psmr.base.arrays import Complexes
from psmr.base.errors import CaseError
from psmr.dae.declare.component import Component, NumericMath, parameters_of
from psmr.dae.declare.device import structure_for
from psmr.devices.loads.zip import ExponentialLoad, ZipLoad
from psmr.devices.network import (
    Line,
    MonitoredLine,
    MonitoredRatioTransformer,
    MonitoredTransformer,
    RatioTransformer,
    Shunt,
    Transformer,
)
from psmr.devices.placement import placement
from psmr.network.case.case import Case
from psmr.network.case.row import DARK
from psmr.network.case.tables import (
    POWER,
    SPEED,
    BranchRow,
    DeviceRow,
    LoadRow,
    ShuntRow,
    Tables,
    TransformerRow,
)


def branch_component(row: BranchRow, monitored: bool = False) -> type[Component]:
    """Return the component of a branch, with its currents as variables where devices read them."""
    if isinstance(row, TransformerRow):
        if row.tap_changer is not None and "ratio" in row.tap_changer.component.states:
            return MonitoredRatioTransformer if monitored else RatioTransformer
        return MonitoredTransformer if monitored else Transformer
    return MonitoredLine if monitored else Line


def branch_parameters(row: BranchRow) -> dict[str, float]:
    """Return the parameters of a line or transformer."""
    values = {key: float(getattr(row, key)) for key in ("r", "x", "b", "g", "status")}
    if isinstance(row, TransformerRow):
        values |= {"tap": row.tap, "shift": math.radians(row.shift_deg)}
    return values


def shunt_parameters(row: ShuntRow, base_mva: float) -> dict[str, float]:
    """Return the parameters of a shunt."""
    return {"g": row.g_mw / base_mva, "b": row.b_mvar / base_mva, "status": float(row.status)}


def component_of(row: DeviceRow) -> type[Component]:
    """Return the component of a device of a plant or load, with the variables that its codes ask for."""
    return structure_for(row.component, row.values)


def device_parameters(
    row: DeviceRow, case: Tables, v_0: float, q_0: float = 0.0, p_0: float = 0.0
) -> dict[str, float]:
    """Return the parameters of a device, with those of the case and those that its start decides.

    `v_0`, `q_0` and `p_0` are the power flow's voltage and powers at its terminals, in pu.
    """
    known = {"s_base": case.base_mva, "f_n": case.frequency_hz, "v_0": v_0, "q_0": q_0, "p_0": p_0}
    known["mechanical_power"] = float(case.mechanical == POWER)
    known["speed_voltage"] = float(case.stator == SPEED)
    declared = parameters_of(component_of(row))
    return dict(row.parameters) | {name: value for name, value in known.items() if name in declared}


def load_component(row: LoadRow) -> type[Component]:
    """Return the component of a load."""
    if row.device is not None:
        return component_of(row.device)
    return ExponentialLoad if row.exponential else ZipLoad


def load_parameters(row: LoadRow, case: Tables, v_0: float) -> dict[str, float]:
    """Return the parameters of a load, at the power flow's voltage v_0 unless its row names another one."""
    base_mva = case.base_mva
    power = {"p": row.p_mw / base_mva, "q": row.q_mvar / base_mva}
    if row.solved is not None:
        component = load_component(row)
        values = device_parameters(row.solved, case, v_0, power["q"], power["p"])
        full = {k: p.default for k, p in parameters_of(component).items() if p.default is not None} | values
        try:
            return {**values, **placement(component).prepared(full)}
        except CaseError as error:
            raise CaseError(f"{row.place}: {row.solved.type}: {error}") from None
    if row.characteristic is not None:
        return device_parameters(row.characteristic, case, v_0) | power
    power |= {"v_0": row.v_0 or v_0, "v_min": max(row.v_min, DARK)}
    if not row.exponential:
        power["v_min_current"] = max(row.v_min_current, DARK)
    if row.exponent_p is not None and row.exponent_q is not None:
        return power | {"exponent_p": row.exponent_p, "exponent_q": row.exponent_q}
    p_parts = dict(zip(("p_z", "p_i", "p_p"), row.p_zip, strict=True))
    q_parts = dict(zip(("q_z", "q_i", "q_p"), row.q_zip, strict=True))
    return power | p_parts | q_parts


def two_ports(component: type[Component], rows: Sequence[BranchRow]) -> Complexes:
    """Return (rows, 2, 2) admittance matrices in pu of branches: a unit voltage at one end gives a column.

    They are read off the component's own equations, which are linear.
    """
    p = columns(component, [branch_parameters(row) for row in rows])
    found = np.zeros((len(rows), 2, 2), dtype=complex)
    for end in (0, 1):
        v = {"v_re_i": 1.0 - end, "v_im_i": 0.0, "v_re_j": float(end), "v_im_j": 0.0}
        i = component.equations(NumericMath, SimpleNamespace(**v), p)[2]
        for other in (0, 1):
            found[:, other, end] = -(i[2 * other] + 1j * i[2 * other + 1])
    return found


def admittance(case: Case) -> sparse.csc_matrix:
    """Return the (buses, buses) complex admittance matrix Y: currents out of the buses are Y v."""
    row_, column, value = [], [], []
    place = case.places
    for component, rows in ((Line, case.lines), (Transformer, case.transformers)):
        if not rows:
            continue
        ends = np.array([(place[row.from_bus], place[row.to_bus]) for row in rows])
        y = two_ports(component, rows)
        for end, other in np.ndindex(2, 2):
            row_.append(ends[:, other])
            column.append(ends[:, end])
            value.append(y[:, other, end])
    if case.shunts:
        at = np.array([place[row.bus] for row in case.shunts])
        p = columns(Shunt, [shunt_parameters(row, case.base_mva) for row in case.shunts])
        i = Shunt.equations(NumericMath, SimpleNamespace(v_re=1.0, v_im=0.0), p)[2]
        row_.append(at)
        column.append(at)
        value.append(-(i[0] + 1j * i[1]))
    size = len(case.buses)
    if not row_:
        return sparse.csc_matrix((size, size), dtype=complex)
    entries = (np.concatenate(value), (np.concatenate(row_), np.concatenate(column)))
    return sparse.csc_matrix(entries, shape=(size, size))


def columns(component: type[Component], rows: list[Mapping[str, float]]) -> SimpleNamespace:
    """Return the parameters of many devices of one component as arrays."""
    declared = parameters_of(component)
    return SimpleNamespace(
        **{k: np.array([row.get(k, p.default) for row in rows]) for k, p in declared.items()}
    )
