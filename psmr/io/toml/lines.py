"""Where a table or a key stands in the text of a TOML file.

tomllib gives values without lines. An error message needs them, so the headers are looked up in the text once
more.
"""

from __future__ import annotations

import re

_HEADER = re.compile(r"^\s*(\[\[?)\s*([A-Za-z0-9_.\-\s\"']+?)\s*\]\]?\s*(?:#.*)?$")

Path = tuple[str | int, ...]


class Lines:
    """Line numbers (from 1) of the tables and keys of a TOML text.

    A path is what leads to the table in the parsed document: ``("generator", 1, "exciter")`` is the exciter
    of the second ``[[generator]]``.
    """

    def __init__(self, text: str) -> None:
        self._text = text.splitlines()
        self._headers: dict[Path, int] = {(): 0}
        count: dict[Path, int] = {}
        for number, line in enumerate(self._text, start=1):
            match = _HEADER.match(line)
            if not match:
                continue
            names = [name.strip().strip("\"'") for name in match[2].split(".")]
            path: Path = ()
            for name in names[:-1]:
                path = (*path, name)
                if path in count:
                    path = (*path, count[path] - 1)
            path = (*path, names[-1])
            if match[1] == "[[":
                count[path] = count.get(path, 0) + 1
                path = (*path, count[path] - 1)
            self._headers[path] = number

    def table(self, path: Path) -> int:
        """Return the line of a table's header; that of the enclosing table where it is written inline."""
        while path not in self._headers:
            path = path[:-1]
        return self._headers[path]

    def key(self, path: Path, name: str) -> int:
        """Return the line of a key of a table, or of the table of that name; the header's for neither."""
        for place in ((*path, name), (*path, name, 0)):
            if place in self._headers:
                return self._headers[place]
        first = self.table(path)
        pattern = re.compile(rf"^\s*[\"']?{re.escape(name)}[\"']?\s*=")
        for number in range(first + 1, len(self._text) + 1):
            line = self._text[number - 1]
            if _HEADER.match(line):
                break
            if pattern.match(line):
                return number
        return max(first, 1)
