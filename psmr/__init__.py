"""Multirate simulation of power systems that says how much its own numerics bent the system's modes.

Every public name is loaded when it is first used, so that importing psmr, and a command that needs one half
of it, costs nothing for the other half. The names stand in `__init__.pyi`.
"""

import lazy_loader

from psmr.version import __version__ as __version__

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):
    if name in __all__ or name.startswith("_"):
        return _load(name)
    from psmr.base.arguments import unknown_name

    raise AttributeError(unknown_name(name, __all__), name=name)
