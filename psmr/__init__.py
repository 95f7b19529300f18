"""Multirate simulation of power systems that says how much its own numerics bent the system's modes.

Every public name is loaded when it is first used, so that importing psmr, and a command that needs one half
of it, costs nothing for the other half. The names stand in `__init__.pyi`.
"""

import lazy_loader

from psmr.version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
