"""How many threads linear algebra takes: one, in all that psmr does with dense matrices.

The matrices are small, and threads of BLAS wait for each other: on a machine with other work the eigenvalues
of 300 states take ten times as long on two threads as on one, in wall and in processor time (measured).
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
Result = TypeVar("Result")

SMALL = 64
"""Order of a matrix below which BLAS takes one thread anyway."""

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")

_limited = False


@contextmanager
def one_thread(order: int) -> Iterator[None]:
    """Let BLAS work on one thread with matrices of an order, and put back what it had, also after an error.

    Only where the main thread asks: OpenBLAS does not reliably take another number from others (measured).
    """
    global _limited
    if (
        order < SMALL
        or _limited
        or any(os.environ.get(name) == "1" for name in VARIABLES)
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    with _controller().limit(limits=1):
        _limited = True
        try:
            yield
        finally:
            _limited = False


def on_one_thread(function: Callable[P, Result]) -> Callable[P, Result]:
    """Let a function work on one thread; its first argument is a matrix, or a DAE of n + m variables."""

    @functools.wraps(function)
    def limited(*arguments: P.args, **named: P.kwargs) -> Result:
        first: Any = next(iter((*arguments, *named.values())), None)
        order = (
            len(first) if isinstance(first, np.ndarray) else getattr(first, "n", 0) + getattr(first, "m", 0)
        )
        with one_thread(order):
            return function(*arguments, **named)

    return limited


@functools.cache
def _controller() -> Any:
    # To look for the libraries takes ten milliseconds, once; all of them are loaded by who comes here.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
