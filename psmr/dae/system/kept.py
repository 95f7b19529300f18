"""What is found of a system once, and kept with it for whatever is done with it later.

It belongs to this very system: one that is made from it (`dataclasses.replace`, `System.with_values`), copied
or unpickled begins with nothing. Since a system never changes, what is found under a key that says all else
it depends on stays right. What is asked for once is not kept: most systems of a sweep are run once. Of each
kind the results last asked for are kept, so that they do not grow in number with the runs.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from psmr.dae.system.system import System

Result = TypeVar("Result")

_lock = threading.Lock()


_ASKED = object()


def kept(
    system: System, kind: str, key: Hashable, make: Callable[[], Result], most: int, at_once: bool = False
) -> Result:
    """Return what `make` returns, or returned when it was asked for under this key before.

    `kind`: What it is; of each `most` results are kept.
    `key`: What it depends on beside the system. Others that ask get the same, also on other threads: it must
      not be altered.
    `at_once`: Whether it is kept when it is asked for the first time.
    """
    found: OrderedDict[Hashable, Any] = _of_kind(system, kind)
    with _lock:
        known = found.get(key)
        if known is not None:
            found.move_to_end(key)
        if known is None or known is _ASKED:
            found.setdefault(key, _ASKED)
            while len(found) > most:
                found.popitem(last=False)
        else:
            return known[0]
    made = make()
    if known is _ASKED or at_once:
        with _lock:
            if key in found:
                found[key] = (made,)
    return made


def is_frozen(record: object) -> bool:
    """Return whether a record stays what it is, and so may be a key: another may be altered and be equal."""
    declared = vars(type(record)).get("__dataclass_params__")
    try:
        hash(record)
    except TypeError:
        return False
    return declared is not None and bool(declared.frozen)


def _of_kind(system: System, kind: str) -> OrderedDict[Hashable, Any]:
    store: dict[str, OrderedDict[Hashable, Any]] = vars(system).setdefault("_kept", {})
    return store.setdefault(kind, OrderedDict())
