"""The decorators that compile a function with numba and keep its machine code on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from psmr.base.files import uninterrupted
from psmr.dae.compile.cache.code_cache import CodeCache
from psmr.dae.compile.part import part


def _kept(function: Callable[..., Any], **options: Any) -> Any:
    options = {"error_model": "numpy", "fastmath": {"contract"}, **options}
    dispatcher = numba.njit(no_cfunc_wrapper=True, **options)(function)
    dispatcher._cache = CodeCache(dispatcher)
    dispatcher.compile = uninterrupted()(dispatcher._cache.releasing_locks()(dispatcher.compile))
    inside = part(function, **options)
    dispatcher.get_call_template, dispatcher.get_overload = inside.get_call_template, inside.get_overload
    return dispatcher


def compiled(function: Callable[..., Any]) -> Any:
    """Compile `function` with numba on first use and keep the machine code on disk.

    Division follows IEEE 754 (no exception), products and sums may be contracted to fused operations.
    """
    return _kept(function)


def lean(function: Callable[..., Any]) -> Any:
    """Compile as `compiled` does, but without the reference counts that numba keeps of every array.

    For functions that allocate nothing (numba refuses others) and use arrays that their caller keeps alive.
    On WSCC-9 a step takes a quarter less time, and its loop a third less to compile (measured).
    """
    return _kept(function, _nrt=False)
