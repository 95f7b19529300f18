"""The components of the library by name, wherever they stand: ``from tests.components import SEXS``."""

import pkgutil
from importlib import import_module

import psmr.devices
from psmr import Component


def _library() -> dict[str, type[Component]]:
    found: dict[str, type[Component]] = {}
    for entry in pkgutil.walk_packages(psmr.devices.__path__, "psmr.devices."):
        for name, kind in vars(import_module(entry.name)).items():
            if isinstance(kind, type) and issubclass(kind, Component) and kind.__module__ == entry.name:
                found[name] = kind
    return found


_LIBRARY = _library()


def __getattr__(name: str) -> type[Component]:
    if name not in _LIBRARY:
        raise AttributeError(f"psmr.devices declares no component {name}")
    return _LIBRARY[name]
