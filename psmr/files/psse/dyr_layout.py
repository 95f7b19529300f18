"""The records of a PSS/E DYR file: which values a model's record has, and which parameters they are.

Components declare their records (`psmr.dae.declare.component.Component.records`): the model's name, then the
names of the parameters in the order of the values. ``name=value`` is a value that must be as given, for the
component has no such option; ``-name`` one that changes nothing in psmr. Source: Siemens PTI, PSS/E Model
Library, the data sheets of the models.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from psmr.dae.declare.component import Component
from psmr.devices.catalogue import components, records_of, role_parameters

_RECORDS = tuple((record.split(), kind) for kind in components() for record in records_of(kind))
_LAYOUTS: dict[str, list[list[str]]] = {}
for (_model, *_names), _ in _RECORDS:
    _LAYOUTS.setdefault(_model, []).append(_names)
_KINDS = {names[0]: kind for names, kind in _RECORDS}

MODELS: Mapping[str, str] = {model: " ".join(layouts[0]) for model, layouts in _LAYOUTS.items()}
"""Model to the names of its values, in their order, after bus, name and machine identifier."""


def names_of(model: str, count: int) -> list[str]:
    """Return the names of the `count` values of a model's record, the first layout where none fits."""
    layouts = _LAYOUTS[model]
    return next((names for names in layouts if len(names) == count), layouts[0])


ALIASES = {"IEEEG1CC": "IEEEG1"}
"""Names that psmr gives to what a record with other values is; files have the name after it."""


def component_for(model: str) -> tuple[str, type[Component]] | None:
    """Return (role, component) of a model, or None where the library has none."""
    kind = _KINDS.get(model)
    return None if kind is None else (kind.role, kind)


def parameters(
    component: type[Component], values: Mapping[str, float], mbase: float, zr: float, zx: float
) -> dict[str, float]:
    """Return the component's parameters: those of the record, and the machine's base and impedance.

    The impedance that the network file gives a generator is, per unit on its base, the stator resistance and,
    for the classical machine, the transient reactance.
    """
    found = dict(values)
    if "ta_tb" in found:
        found["t_a"] = found.pop("ta_tb") * found["t_b"]
    if "x_comp" in found:
        found |= {"r_c": 0.0, "x_c": -found.pop("x_comp")}
    for name in [name for name in found if name.endswith("_deg")]:
        found[name.removesuffix("_deg")] = math.radians(found.pop(name))
    declared = role_parameters(component)
    outside = {"s_n": mbase, "r_a": zr, "x_d1": zx, "r_e": zr, "x_e": zx}
    return {name: value for name, value in outside.items() if name in declared} | found
