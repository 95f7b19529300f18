"""A run as JSON and arrays: what a file of it holds, and how it is made again without running what is in it.

Every value is encoded by its kind, an object by its class and its fields. Reading makes objects of classes
that psmr declares and fills their fields: no function that a file names is called, and no module is imported
for it that is not psmr's, except those that the reader trusts.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

import numpy as np

from partitioning.partition import Partition
from psmr.base.arguments import misfit
from psmr.base.errors import InputError, shown
from psmr.base.modules import ALLOW
from psmr.dae.compile.codegen import CompiledComponent, compile_component
from psmr.dae.declare.component import Component
from psmr.dae.declare.forms import MAKERS, Origin, packed, unpacked
from psmr.devices import catalogue  # noqa: F401  # imports all that makes classes
from psmr.integrate.schemes.choices import DefaultChoice, Weights

OWN = re.compile(
    r"(partitioning|psmr\.(dae|integrate|papers|devices|pencil\.(deformation|modes)"
    r"|study\.(certificate|criteria|events|detectors|outcome|record|run)))(\.[a-z_0-9]+)*"
)
"""Modules of psmr in which the classes stand of which a run consists."""


CHECKED = (
    "psmr.dae.declare.",
    "psmr.integrate.schemes.",
    "psmr.papers.",
    "psmr.study.detectors.monitors",
    "psmr.study.criteria",
)
"""Where records look at what they are given, and may do so again. Events do not: some read files for it."""


class Encoder:
    """Turns values into what JSON can hold; arrays go to a list beside it.

    What is met again is encoded by its number, so that it is written once and is one object again.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.modules: set[str] = set()  # other than psmr's, whose classes it holds
        self._met: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no number of an object is given twice

    def encode(self, value: Any) -> Any:
        """Return a value for JSON; raises InputError for a value of a kind that a file cannot hold."""
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, DefaultChoice):  # what the run had, whatever will be usual
            return str(value)
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is complex:
            return {"complex": [self.encode(value.real), self.encode(value.imag)]}
        if id(value) in self._met:
            return {"same": self._met[id(value)]}
        encoded = self._encoded(value)
        self._met[id(value)] = len(self._alive)
        self._alive.append(value)
        return encoded

    def _encoded(self, value: Any) -> dict[str, Any]:
        kind = type(value)
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value)
        if kind in (tuple, list, set, frozenset):
            return {kind.__name__: [self.encode(part) for part in value]}
        if kind is Weights:
            return {"weights": self.encode(dict(value))}
        if kind in (dict, MappingProxyType):
            return {"dict": [[self.encode(key), self.encode(part)] for key, part in value.items()]}
        if isinstance(value, PurePath):
            return {"path": str(value)}
        if isinstance(value, CompiledComponent):
            return {"compiled": self.encode(value.component)}
        if isinstance(value, type) and issubclass(value, Component):
            return self._class(packed(value))
        if isinstance(value, Partition):
            return {"partition": [self.encode(part) for part in value.__reduce__()[1]]}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            state = {item.name: self.encode(getattr(value, item.name)) for item in dataclasses.fields(value)}
            return {"object": self._named(kind), "fields": state}
        raise InputError(
            f"it holds a {kind.__module__}.{kind.__qualname__}, which no file can keep; a dataclass "
            "in a module of its own can be kept"
        )

    def _array(self, value: Any) -> dict[str, Any]:
        if value.dtype == object and value.ndim == 1:  # a column of words
            return {"objects": [self.encode(part) for part in value]}
        if value.dtype.hasobject:
            raise InputError(f"it holds an array of {value.dtype}, which no file can keep")
        self.arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "number": len(self.arrays) - 1}

    def _class(self, component: type[Component] | Origin) -> dict[str, Any]:
        if not isinstance(component, Origin):
            return {"class": self._named(component)}
        maker = component.maker.__name__
        choices = [self.encode(choice) for choice in component.choices]
        return {"made": maker, "of": self._class(component.component), "choices": choices}

    def _named(self, kind: type) -> list[str]:
        """Return module and name of a class that another process finds by them.

        Raises InputError for a class that is not defined at the top level of a module.
        """
        if kind.__module__ == "__main__" or "." in kind.__qualname__:
            raise InputError(
                f"{kind.__qualname__} is defined in a script, notebook or function, which no other process"
                " finds: such a run stays in this one, where it can be plotted, and its report and tables be"
                f" written; to save it or to sweep it on several processes, move {kind.__name__} to a"
                ' file, such as mine.py, and name that: modules = ["mine"]'
            )
        if not OWN.fullmatch(kind.__module__):
            self.modules.add(kind.__module__)
        return [kind.__module__, kind.__qualname__]


class Damaged(Exception):
    """What was read is nothing that `Encoder` writes."""


class Decoder:
    """Makes values again of what `Encoder` gave.

    `array`: Returns an array by its number.
    `modules`: Names of modules beside psmr's whose classes are made.
    """

    def __init__(self, array: Callable[[int], np.ndarray], modules: Iterable[str] = ()) -> None:
        self.array, self.modules = array, frozenset(modules)
        self._met: list[Any] = []

    def decode(self, encoded: Any) -> Any:
        """Return the value that was encoded.

        Raises Damaged for what `Encoder` does not write; InputError for a class of a module that is neither
        psmr's nor trusted, and one that has changed.
        """
        if encoded is None or isinstance(encoded, bool | int | float | str):
            return encoded
        if not isinstance(encoded, dict) or not encoded:
            raise Damaged(f"a {type(encoded).__name__} stands where a value is to be")
        kind = next(iter(encoded))
        given = encoded[kind]
        if kind == "float":
            return float(given)
        if kind == "complex":
            return complex(*map(self.decode, given))
        if kind == "same":
            return self._met[given]
        made = self._made(kind, given, encoded)
        self._met.append(made)
        return made

    def _made(self, kind: str, given: Any, encoded: Mapping[str, Any]) -> Any:
        match kind:
            case "array":
                return self.array(given)
            case "number":
                return self.array(given)[()]
            case "objects":
                column = np.empty(len(given), dtype=object)
                column[:] = [self.decode(part) for part in given]
                return column
            case "tuple" | "list" | "set" | "frozenset":
                make = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}[kind]
                return make([self.decode(part) for part in given])
            case "dict":
                return {self.decode(key): self.decode(part) for key, part in given}
            case "weights":
                return Weights(self.decode(given))
            case "path":
                return Path(given)
            case "compiled":
                return compile_component(self.decode(given))
            case "class" | "made":
                return unpacked(self._component(encoded))
            case "partition":
                return Partition(*map(self.decode, given))
            case "object":
                return self._object(given, encoded["fields"])
        raise Damaged(f"there is no kind of value {kind!r}")

    def _component(self, encoded: Mapping[str, Any]) -> type[Component] | Origin:
        if "made" in encoded:
            choices = tuple(map(self.decode, encoded["choices"]))
            return Origin(MAKERS[encoded["made"]], self._component(encoded["of"]), choices)
        found = self._found(*encoded["class"])
        if not issubclass(found, Component):
            raise Damaged(f"{found.__name__} is no component")
        return found

    def _object(self, name: Any, fields: Mapping[str, Any]) -> Any:
        kind = self._found(*name)
        if not dataclasses.is_dataclass(kind):
            raise Damaged(f"{kind.__name__} is no record")
        known = {item.name for item in dataclasses.fields(kind)}
        if known != fields.keys():
            other = ", ".join(sorted(known ^ fields.keys()))
            raise InputError(f"its {kind.__name__} has other fields ({other}) than that of this psmr")
        made = object.__new__(kind)
        for field, encoded in fields.items():
            object.__setattr__(made, field, self.decode(encoded))
        if wrong := misfit(made):
            raise Damaged(wrong)
        check = getattr(made, "__post_init__", None)
        if check is not None and kind.__module__.startswith(CHECKED):
            check()
        return made

    def _found(self, module: str, name: str) -> type:
        """Return a class that may be made, by its module and name."""
        if not all(part.isidentifier() for part in (*module.split("."), name)):
            raise Damaged(f"{shown(f'{module}.{name}')} is no name of a class")
        if not OWN.fullmatch(module) and module not in self.modules:
            raise InputError(
                f"it holds a {name} of the module {module}, which is not psmr's; where you trust both, "
                f"psmr.load_run(path, modules=[{module!r}]) or psmr plot --modules {module}; {ALLOW} imports"
                " all that it names"
            )
        found = vars(importlib.import_module(module)).get(name)
        if not isinstance(found, type) or found.__module__ != module:
            raise InputError(f"the module {module} has no class {name}")
        return found
