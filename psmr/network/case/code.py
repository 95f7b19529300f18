"""The controller in a file that a plant has, and what its ports are wired to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psmr.base.errors import InputError, first_few, nearest
from psmr.dae.declare.component import Component
from psmr.devices.controller import Controller, Wire, port_of, wire, wired
from psmr.sampled.code import FMU, CodeFile

Given = str | float
"""What a table says of one value of a port: a signal with its unit, or a number."""


@dataclass(frozen=True)
class PlantCode:
    """A controller in a file: what it is, and the tables of its ports.

    Attributes
    ----------
    file
        The file, which may be opened where the person allowed it.
    inputs, outputs
        Names of ports, and what each of their values is: all inputs, and those outputs that others take.

    Raises
    ------
    InputError
        For a port that it does not have, or that the table leaves out, and for a wire that is none.
    """

    file: CodeFile
    inputs: tuple[tuple[str, tuple[Given, ...]], ...]
    outputs: tuple[tuple[str, tuple[Given, ...]], ...] = ()

    def check(self) -> None:
        """Raise InputError for tables that do not fit the ports of the file, which is opened for it."""
        info = self.file.opened().info
        ports = {"inputs": info.inputs, "outputs": info.outputs}
        for what, given in (("inputs", dict(self.inputs)), ("outputs", dict(self.outputs))):
            known = {port.name: port for port in ports[what]}
            for name in given:
                if name not in known:
                    raise InputError(
                        f"{what}: {self._name} has no {what[:-1]} {name!r}{nearest(name, known)}"
                    )
            missing = [_described(port) for name, port in known.items() if name not in given]
            if missing and what == "inputs":
                raise InputError(
                    f"inputs: {self._name} also reads {first_few(missing, 6)}; say what each is, for instance"
                    f' {next(n for n in known if n not in given)} = "v_a kV", or a number'
                )
            for name, values in given.items():
                if len(values) not in (1, known[name].width):
                    raise InputError(f"{what}: {name} has {known[name].width} values, not {len(values)}")
                if what == "outputs" and any(not wire(value).signal for value in values):
                    raise InputError(f"outputs: {name} = {values[0]!r}: must be the signal that it is")
        self.wires()
        taken = [made.signal for made in self.targets() if made is not None]
        if twice := sorted({name for name in taken if taken.count(name) > 1}):
            raise InputError(f"outputs: {twice[0]} stands there twice; keep one")

    @property
    def _name(self) -> str:
        return str(self.file.opened().info.name)

    def wires(self) -> tuple[Wire, ...]:
        """Return what each value of its inputs is."""
        ports = self.file.opened().info.inputs
        return tuple(map(wire, _each(ports, dict(self.inputs)), self._units(ports)))

    def targets(self) -> tuple[Wire | None, ...]:
        """Return the signal that each value of its outputs is; None for what nobody takes."""
        ports = self.file.opened().info.outputs
        found = zip(_each(ports, dict(self.outputs)), self._units(ports), strict=True)
        return tuple(None if value is None else wire(value, unit) for value, unit in found)

    def _units(self, ports: Iterable[Any]) -> list[str]:
        """Return the unit of each value of ports that has one by rule: of a library it is but a text."""
        return [port.unit if self.file.kind == FMU else "" for port in ports for _ in range(port.width)]

    def component(self, frame: str, terminal: tuple[str, str]) -> type[Component]:
        """Return the class of its device in a plant whose currents are in a frame, see `wired`.

        What others take bears the name of the signal, the rest of its outputs that of the port.
        """
        wires, states = self.wires(), self.file.states()
        taken = {
            "v_re",
            "v_im",
            "v_0",
            "t",
            *states,
            *(made.signal for made in (*wires, *self.targets()) if made),
        }
        names: list[str] = []
        for made, label in zip(self.targets(), self.file.outputs(), strict=True):
            name = made.signal if made else re.sub(r"\W+", "_", label).strip("_")
            while made is None and (name in taken or name in names or hasattr(Controller, name)):
                name += "_out"
            names.append(name)
        return wired(Controller, wires, frame, terminal, states, tuple(names))

    def scales(self, p: Any) -> tuple[float, ...]:
        """Return what each value of its outputs is multiplied by to be per unit; p are its parameters."""
        return tuple(1.0 if made is None else made.per_unit(p) for made in self.targets())

    def elsewhere(self) -> dict[str, str]:
        """Return the connections of inputs that read other devices by their full names."""
        return {port_of(made.signal): made.signal for made in self.wires() if "." in made.signal}

    def needs_voltage(self) -> bool:
        """Whether a port is in a unit that needs the nominal voltage of the bus."""
        made = [one for one in (*self.wires(), *self.targets()) if one is not None]
        return any(one.unit in ("kV", "V", "kA", "A") for one in made)


def _each(ports: Iterable[Any], given: Mapping[str, Sequence[Given]]) -> list[Given | None]:
    """Return what is said of each value of ports, None where nothing is."""
    found: list[Given | None] = []
    for port in ports:
        values = given.get(port.name, (None,))
        found += values if len(values) == port.width else values * port.width  # type: ignore[operator]
    return found


def _described(port: Any) -> str:
    about = ", ".join(part for part in (port.text, port.unit) if part)
    return f"{port.name} ({about})" if about else str(port.name)
