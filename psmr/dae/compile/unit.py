"""A unit: a function that is compiled once, on first use, and called by address from every loop."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from psmr.base.files import uninterrupted
from psmr.dae.compile.cache.code_cache import CodeCache
from psmr.dae.compile.notice import Notice
from psmr.dae.compile.numba_internals import CFunc, sigutils


class Unit:
    """A function with a fixed signature, compiled when its address is first asked for.

    Parameters
    ----------
    function, signature
        The function, and the numba types of its arguments and result: numbers and addresses.
    notice
        What is said when it must be compiled.
    """

    targetoptions: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}, "_nrt": False}
    is_compiling = False  # while it is, what it calls is compiled without a word

    def __init__(self, function: Callable[..., Any], signature: Any, notice: Notice) -> None:
        self.py_func, self.signature, self.notice = function, signature, notice

    @functools.cached_property
    def _compiled(self) -> Any:
        made: Any = CFunc(self.py_func, sigutils.normalize_signature(self.signature), {}, self.targetoptions)
        made._cache = CodeCache(self)
        made._cache.notice = self.notice
        self.is_compiling = True
        try:
            with uninterrupted(), made._cache.releasing_locks():
                made.compile()
        finally:
            self.is_compiling = False
        return made

    @property
    def address(self) -> int:
        """Where the machine code is."""
        return int(self._compiled.address)


def unit(signature: Any, what: str, seconds: float) -> Callable[[Callable[..., Any]], Unit]:
    """Make a function with arguments of the given types a unit; the rest is what is said of compiling it."""
    return lambda function: Unit(function, signature, Notice(what, seconds))
