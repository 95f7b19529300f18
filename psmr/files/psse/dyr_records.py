"""The records of a PSS/E DYR file: which values a model's record has, and which parameters they are.

Components declare their records (`psmr.dae.declare.component.Component.records`): the model's name, then the
names of the parameters in the order of the values. ``name=value`` is a value that must be as given, for the
component has no such option; ``-name`` one that changes nothing in psmr. Source: Siemens PTI, PSS/E Model
Library, the data sheets of the models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from psmr.dae.declare.component import Component
from psmr.devices.catalogue import ROLES, components, records_of, role_parameters


class Records:
    """The records of some components: which component a model is, and which parameters its values are."""

    def __init__(self, kinds: Iterable[type[Component]], own: Iterable[type[Component]] = ()) -> None:
        self.kinds: dict[str, type[Component]] = {}
        self.layouts: dict[str, list[list[str]]] = {}
        self.own: frozenset[str] = frozenset()
        for kind in kinds:
            self._add(kind, records_of(kind))
        self.own = frozenset(model for kind in own for model in self._add(kind, _own_records(kind)))

    def _add(self, kind: type[Component], records: tuple[str, ...]) -> set[str]:
        split = [record.split() for record in records]
        for model, *_ in split:
            self.kinds[model], self.layouts[model] = kind, []
        for model, *names in split:
            self.layouts[model].append(names)
        return {model for model, *_ in split}

    def with_own(self, own: Iterable[type[Component]]) -> Records:
        """Return these and those of the user's own components, which come first."""
        plants = [kind for kind in own if kind.role in ROLES]
        return Records(components(), plants) if plants else self

    def names_of(self, model: str, count: int) -> list[str]:
        """Return the names of the `count` values of a model's record, the first layout where none fits."""
        layouts = self.layouts[model]
        return next((names for names in layouts if len(names) == count), layouts[0])

    def component_for(self, model: str) -> tuple[str, type[Component]] | None:
        """Return (role, component) of a model, or None where there is none."""
        kind = self.kinds.get(model)
        return None if kind is None else (kind.role, kind)


def _own_records(kind: type[Component]) -> tuple[str, ...]:
    """Return the records of a component of the user's own: its name, its parameters, unless it says else."""
    names = [name for name in role_parameters(kind) if name != "s_n"]
    return records_of(kind) or (" ".join([kind.__name__.upper(), *names]),)


LIBRARY = Records(components())
names_of, component_for = LIBRARY.names_of, LIBRARY.component_for

MODELS: Mapping[str, str] = {model: " ".join(layouts[0]) for model, layouts in LIBRARY.layouts.items()}
"""Model to the names of its values, in their order, after bus, name and machine identifier."""

ALIASES = {"IEEEG1CC": "IEEEG1"}
"""Names that psmr gives to what a record with other values is; files have the name after it."""


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
    found |= component.from_record(found)
    outside = {"s_n": mbase, "r_a": zr, "x_d1": zx, "r_e": zr, "x_e": zx}
    return {name: value for name, value in outside.items() if name in declared} | found
