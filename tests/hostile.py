"""Names as a stranger's file may have them, a case that has them all, and what a page makes of them."""

import itertools
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import psmr

MARK = "x-hostile"
"""The element that names try to make."""

NAMES = [
    f"<{MARK}/onload=alert(1)>",
    f"</script><{MARK}>",
    f"</style></title></textarea><{MARK}>",
    f"'\"/><{MARK}>",
    f"--><{MARK}>]]>",
    f"&lt;{MARK}&gt;&#60;{MARK}>",
    "$x$",
    r"$\frac{$",
    r"\(\href{javascript:alert(1)}{x}\)",
    "$$x$$",
    f"@y{{safe}}<{MARK}>",
    "$name",
    "%s%n%(x)s%",
    "{{7*7}}{%x%}{0!r}",
    "_hidden",
    "=1+1",
    "`x`|[y](javascript:alert(1))",
    "*[a-z]?",
    "n" * 300,
    "発電機Ω",
]
"""As names of buses and devices, which have neither dots nor blanks."""

STEERING = ["\x1b[31m", "\n", "\r", "\t", "\0", "\x9b2J", "\u202e", "\u2028", "\ufeff"]
"""What no name or title may have; files with them are refused."""


def titles():
    """Return titles of cases and studies: the names among other words."""
    return [f"a {name} b." for name in NAMES]


def case(title="hostile"):
    """Return the WSCC 9-bus case with every name of `NAMES` in it: its 9 buses, 6 lines, 3 machines, ..."""
    found, count = psmr.case("wscc9"), itertools.count()

    def named(row):
        k = next(count)
        more = {}
        if hasattr(row, "devices"):
            more["devices"] = tuple(map(named, row.devices))
        return replace(row, name=f"{NAMES[k % len(NAMES)]}{k // len(NAMES) or ''}", **more)

    tables = ("generators", "buses", "loads", "lines", "transformers")
    return replace(found, name=title, **{table: tuple(map(named, getattr(found, table))) for table in tables})


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.attributes, self.text = Counter(), Counter(), []

    def handle_starttag(self, tag, attrs):
        self.found[tag] += 1
        for key, value in attrs:
            self.attributes[key] += 1
            if key in ("href", "src", "action") and "javascript:" in (value or ""):
                self.attributes["javascript:"] += 1

    def handle_data(self, data):
        self.text.append(data)


def check_page(text):
    """Assert that no name became markup on a page, or was carried out by what made it; return its text."""
    reader = _Reader()
    reader.feed(text)
    assert MARK not in reader.found
    assert not {key for key in reader.attributes if key.startswith("on")}
    assert "javascript:" not in reader.attributes
    words = "".join(reader.text)
    assert "49" not in re.findall(r"(?<!\d)49(?!\d)\{%", words)
    return words
