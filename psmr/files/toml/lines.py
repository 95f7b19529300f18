"""Where a table or a key stands in the text of a TOML file.

tomllib gives values without lines, and the libraries that keep them take many times as long. The headers are
found in one pass that stops at brackets and at texts of many lines alone; the keys below a header are found
when a message asks for one. The text is one that tomllib has read.
"""

from __future__ import annotations

import re
import tomllib

Path = tuple[str | int, ...]

_KEY = r"(?:[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_DOTTED = re.compile(rf"[ \t]*({_KEY}(?:[ \t]*\.[ \t]*{_KEY})*)[ \t]*")
_BARE = re.compile(r"\[\[?([A-Za-z0-9_.-]+)\]")
"""A header of bare names without blanks: nearly all of them, read at a fifth of the time."""

_NAMES = re.compile(_KEY)
_STOP = re.compile(r"\[|\"\"\"|'''")
_SHORT = re.compile(r"[^\[\]{}\"'#\n]*\[[^\[\]{}\"'#\n]*\][ \t\r]*\n")
"""A key whose value is a list of numbers on the same line."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_TEXT = re.compile(
    r"\"\"\"(?:[^\\]|\\.)*?\"{3,5}(?!\")|'''.*?'{3,5}(?!')|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'", re.DOTALL
)
_PLAIN = re.compile(r"[^,\]}\n#]*")
_TOKEN = re.compile(rf"{_TEXT.pattern}|#[^\n]*|[\[\]{{}}\n]", re.DOTALL)


class Lines:
    """Line numbers (from 1) of the tables and keys of a TOML text.

    A path is what leads to the table in the parsed document: ``("generator", 1, "exciter")`` is the exciter
    of the second ``[[generator]]``.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._headers: dict[Path, int] = {(): 0}
        self._bodies: dict[Path, tuple[int, int]] = {}
        self._keys: dict[Path, dict[Path, int]] = {}
        self._find_headers()

    def table(self, path: Path) -> int:
        """Return the line of a table: of its header, or of the key that it is written at."""
        return self._headers[path] if path in self._headers else self._below(path)

    def key(self, path: Path, name: str) -> int:
        """Return the line of a key of a table, or of the table of that name; the table's for neither."""
        for place in ((*path, name), (*path, name, 0)):
            if place in self._headers:
                return self._headers[place]
        return max(self._below((*path, name)), 1)

    def _find_headers(self) -> None:
        """Note the line of each header, and where what stands below it begins and ends."""
        text, count = self._text, dict[Path, int]()
        path: Path = ()
        begin = position = counted = 0
        line = 1
        while stop := _STOP.search(text, position):
            start = text.rfind("\n", position, stop.start()) + 1 or position
            if stop[0] == "[" and not text[start : stop.start()].strip(" \t"):
                self._bodies[path] = begin, start
                line, counted = line + text.count("\n", counted, start), start
                path = self._header(stop.start(), count)
                self._headers[path] = line
                begin = position = (text.find("\n", start) + 1) or len(text)
            elif simple := _SHORT.match(text, start):
                position = simple.end()
            else:
                position = _end_of_statement(text, start)
        self._bodies[path] = begin, len(text)

    def _header(self, start: int, count: dict[Path, int]) -> Path:
        """Return the path of the table whose header begins at a place."""
        many = self._text.startswith("[[", start)
        found = _BARE.match(self._text, start)
        if found:
            names = tuple(found[1].split("."))
        else:
            dotted = _DOTTED.match(self._text, start + 1 + many)
            names = _names(dotted[1]) if dotted else ()
        path: Path = ()
        for name in names[:-1]:
            path = (*path, name)
            if path in count:
                path = (*path, count[path] - 1)
        path = (*path, *names[-1:])
        if many:
            count[path] = count.get(path, 0) + 1
            path = (*path, count[path] - 1)
        return path

    def _below(self, path: Path) -> int:
        """Return the line of what is written below the header that is nearest above it."""
        size = next(k for k in range(len(path), -1, -1) if path[:k] in self._headers)
        header = path[:size]
        if header not in self._keys:
            self._keys[header] = self._keys_of(header)
        known = self._keys[header]
        return next(
            (known[path[:k]] for k in range(len(path), size, -1) if path[:k] in known), self._headers[header]
        )

    def _keys_of(self, header: Path) -> dict[Path, int]:
        """Return the lines of the keys below a header, of those in inline tables and arrays too."""
        position, end = self._bodies[header]
        found: dict[Path, int] = {}
        scan = _Scan(self._text, found, position, self._headers[header] + bool(header))
        while scan.blank() < end:
            scan.pair(header)
        return found


class _Scan:
    """A place in a TOML text that moves over keys and values, and notes the lines at which they begin."""

    def __init__(self, text: str, found: dict[Path, int], position: int, line: int) -> None:
        self.text, self.found, self.position = text, found, position
        self.line, self.counted = max(line, 1), position

    def blank(self) -> int:
        """Move over blanks, ends of lines and comments."""
        return self.move(_BLANK)

    def move(self, pattern: re.Pattern[str]) -> int:
        """Move over what a pattern matches here, if it does."""
        found = pattern.match(self.text, self.position)
        self.position = found.end() if found else self.position
        return self.position

    def note(self, path: Path) -> None:
        """Note that something begins here."""
        self.line += self.text.count("\n", self.counted, self.position)
        self.counted = self.position
        self.found.setdefault(path, self.line)

    def pair(self, path: Path) -> None:
        """Move over a key and its value in a table."""
        names = _DOTTED.match(self.text, self.position)
        if names is None:
            raise ValueError(
                f"no key at {self.text[self.position :][:20]!r}"
            )  # tomllib would have refused it
        for name in _names(names[1]):
            path = (*path, name)
            self.note(path)
        self.position = self.text.index("=", names.end()) + 1
        self.value(path)

    def value(self, path: Path) -> None:
        """Move over a value."""
        self.blank()
        bracket = self.text[self.position : self.position + 1]
        if bracket not in ("[", "{"):
            self.move(_TEXT if bracket in ('"', "'") else _PLAIN)
            return
        self.position += 1
        row = 0
        while self.text[self.blank()] not in "]}":
            if bracket == "{":
                self.pair(path)
            else:
                self.note((*path, row))
                self.value((*path, row))
                row += 1
            if self.text[self.blank()] == ",":
                self.position += 1
        self.position += 1


def _names(dotted: str) -> tuple[str, ...]:
    """Return the parts of a dotted key, without quotes."""
    return tuple(
        next(iter(tomllib.loads(f"{key} = 0"))) if key[0] == '"' else key.strip("'")
        for key in _NAMES.findall(dotted)
    )


def _end_of_statement(text: str, start: int) -> int:
    """Return where the line after a key and its value begins, which may take many lines."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in ("[", "{"):
            depth += 1
        elif token[0] in ("]", "}"):
            depth -= 1
        elif token[0] == "\n" and not depth:
            return token.end()
    return len(text)
