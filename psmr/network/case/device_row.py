"""A dynamic device of a plant, load or relay, and how it is called where the case does not say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from psmr.base.errors import CaseError, nearest
from psmr.dae.declare.algebraic_form import form_for
from psmr.dae.declare.component import Component, crossed_limits
from psmr.devices.catalogue import (
    LOAD_ROLES,
    PREFIXES,
    RELAY_ROLES,
    ROLES,
    component_named,
    role_parameters,
)
from psmr.network.case.row import LARGEST, TOO_LARGE, Row, check_name

Kind = type[Component]


@dataclass(frozen=True)
class DeviceRow(Row):
    """A dynamic device of a plant: its role, its component, its parameters as the component declares them.

    `type` is the name of a component of the library, or that of `own`, a component of the user's.
    """

    name: str
    role: str
    type: str
    parameters: Mapping[str, float]
    own: Kind | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self)
        roles = {**ROLES, **LOAD_ROLES, **RELAY_ROLES}
        if self.role not in roles:
            raise CaseError(
                f"{self.place}: there is no role {self.role!r}{nearest(self.role, roles)}; known:"
                f" {', '.join(roles)}"
            )
        kinds = [kind.__name__ for kind in roles[self.role]]
        if self.own is None and self.type not in kinds:
            raise CaseError(
                f"{self.place}: type = {self.type!r} is no {self.role}{nearest(self.type, kinds)}; known:"
                f" {', '.join(kinds)}"
            )
        component = self.component
        declared = role_parameters(component)
        for key in self.parameters:
            if key not in declared:
                raise CaseError(f"{self.place}: {self.type} has no parameter {key!r}{nearest(key, declared)}")
        for key, parameter in declared.items():
            if key not in self.parameters:
                if parameter.default is None:
                    raise CaseError(
                        f"{self.place}: {key} is missing; {self.type} needs it: {parameter.doc}, in"
                        f" {parameter.unit}"
                    )
                continue
            wrong = parameter.objection(self.parameters[key])
            # A limit beyond everything is none.
            if (
                wrong is None
                and "min" not in key
                and "max" not in key
                and abs(self.parameters[key]) > LARGEST
            ):
                wrong = TOO_LARGE
            if wrong:
                raise CaseError(
                    f"{self.place}: {key} = {self.parameters[key]!r}: {wrong} ({parameter.doc},"
                    f" {parameter.unit})"
                )
        object.__setattr__(self, "parameters", {k: float(v) for k, v in self.parameters.items()})
        values = {k: p.default for k, p in declared.items() if p.default is not None} | dict(self.parameters)
        if wrong := component.conflict(values) or crossed_limits(form_for(component, values), values):
            raise CaseError(f"{self.place}: {wrong}")

    @property
    def component(self) -> Kind:
        """The component of the device."""
        return self.own or component_named(self.role, self.type)


def device_name(generator: str, role: str) -> str:
    """Return a device's name where the case gives none: G1, AVR1, GOV1, PSS1; for a plant X: X, AVR-X."""
    if role not in PREFIXES:
        return generator
    number = re.fullmatch(r"G(\d+)", generator)
    return PREFIXES[role] + (number[1] if number else f"-{generator}")
