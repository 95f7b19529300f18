"""A unit: a function that is compiled once, on first use, and called by address from every loop."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba

from psmr.dae.compile.cache import cached_here


class Unit:
    """A function with a fixed signature, compiled when its address is first asked for."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self.function, self.signature = function, signature

    @functools.cached_property
    def _compiled(self) -> Any:
        with cached_here():
            options: Any = {"error_model": "numpy", "fastmath": {"contract"}, "_nrt": False}
            return numba.cfunc(self.signature, cache=True, **options)(self.function)

    @property
    def address(self) -> int:
        """Where the machine code is."""
        return int(self._compiled.address)


def unit(signature: Any) -> Callable[[Callable[..., Any]], Unit]:
    """Make a function with arguments of the given types a unit."""
    return lambda function: Unit(function, signature)
