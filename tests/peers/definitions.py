"""psmr's cases with the options and definitions of ANDES, where the two programs differ by choice.

Each is a difference that docs/benchmarks/comparison.md explains; what is left after them is to agree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from psmr import Case
from tests.internals import DeviceRow

GUARD = 1e-8
"""pu that ANDES adds to r and x of every branch, so that none is divided by zero (its Line, y_hk)."""

IMPEDANCE = (1.0, 0.0, 0.0)


def guarded(case: Case) -> Case:
    """Add to every branch what ANDES adds."""
    rows = {
        table: tuple(
            dataclasses.replace(row, r=row.r + GUARD, x=row.x + GUARD) for row in getattr(case, table)
        )
        for table in ("lines", "transformers")
    }
    return dataclasses.replace(case, **rows)


def impedance_loads(case: Case) -> Case:
    """Let every load be an impedance from the power flow on, as ANDES' PQ is by its defaults."""
    loads = tuple(dataclasses.replace(row, p_zip=IMPEDANCE, q_zip=IMPEDANCE) for row in case.loads)
    return dataclasses.replace(case, loads=loads)


def rounded_bridge(row: DeviceRow, ratio: float = 1.0) -> dict[str, float]:
    """Let the first slope of the rectifier be 0.577, as the standard prints it, and not 1/sqrt(3)."""
    return {"k_c": row.parameters["k_c"] * 0.577 * 3**0.5}


def system_base_currents(row: DeviceRow, ratio: float) -> dict[str, float]:
    """Let the source of ESST3A and ESST4B see currents per unit on the system base, not on the machine's.

    The gains of the current, k_i and x_l, take the quotient.
    """
    return {name: row.parameters[name] * ratio for name in ("k_i", "x_l")} | rounded_bridge(row)


def no_transducer(row: DeviceRow, ratio: float) -> dict[str, float]:
    """Let EXAC1 and ESDC2A read the bus voltage past their transducers."""
    return {"t_r": 0.0} | (rounded_bridge(row) if "k_c" in row.parameters else {})


def system_base_gate(row: DeviceRow, ratio: float) -> dict[str, float]:
    """Let HYGOV's gate and flow be per unit on the system base, and its integral have no 1/(r_temp t_r).

    Flow by gate is the same on either base, and so the flow's derivative is too: on the machine's base the
    water is slower by the quotient of the bases, the integral as well.
    """
    p = row.parameters
    return {"t_r": ratio / p["r_temp"], "t_w": ratio * p["t_w"], "d_turb": ratio * p["d_turb"]}


def system_base_gain(row: DeviceRow, ratio: float) -> dict[str, float]:
    """Let the gain of IEESGO be per unit on the system base."""
    return {"k_1": row.parameters["k_1"] / ratio}


ANDES_NAMES = {"'EXDC2": "'IEEEX1"}
"""What ANDES has to read for a model of psmr: the speed multiplies the output of its EXDC2.

Neither its EXDC2 nor its IEEEX1 has limits that follow the voltage: a run may not reach them.
"""

DEFINITIONS: Mapping[str, Callable[[DeviceRow, float], dict[str, float]]] = {
    "ESST3A": system_base_currents,
    "ESST4B": system_base_currents,
    "AC8B": rounded_bridge,
    "EXAC1": no_transducer,
    "ESDC2A": no_transducer,
    "HYGOV": system_base_gate,
    "IEESGO": system_base_gain,
}
"""Model -> the parameters that give psmr's the equations of ANDES'; the ratio is s_n by the system base."""


def redefined(case: Case) -> Case:
    """Give the devices of each plant the parameters of `DEFINITIONS`."""
    plants = []
    for plant in case.generators:
        s_n = next(row.parameters["s_n"] for row in plant.devices if "s_n" in row.parameters)
        devices = []
        for row in plant.devices:
            define = DEFINITIONS.get(row.type)
            new = define(row, s_n / case.base_mva) if define else {}
            devices.append(dataclasses.replace(row, parameters=dict(row.parameters) | new))
        plants.append(dataclasses.replace(plant, devices=tuple(devices)))
    return dataclasses.replace(case, generators=tuple(plants))


def same_options(case: Case) -> Case:
    """Return the case with ANDES' options."""
    return impedance_loads(guarded(case))


def as_andes(case: Case) -> Case:
    """Return the case with ANDES' options and definitions."""
    return redefined(same_options(case))
