"""Keys and values as TOML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any


def toml_pairs(values: Mapping[str, Any]) -> str:
    """Return a line ``key = value`` for each value: texts, numbers, truth values, and lists of these."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Iterable):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _text(value: str) -> str:
    """Return a basic string of TOML."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'
