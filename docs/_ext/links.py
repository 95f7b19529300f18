"""Sphinx extension: every link of the built pages leads somewhere, and no page needs what is elsewhere.

The site is read from a folder, without a server or a network: links within it name files and anchors that are
there, and no script, style, font or picture comes from another place.
"""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

from sphinx.errors import ExtensionError

ELSEWHERE = re.compile(r"(?:[a-z]+:)?//|(?:mailto|data|javascript):", re.IGNORECASE)
NEEDED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}


class Page(HTMLParser):
    """The anchors of a page, its links, and what it needs to be shown."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.needed: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in NEEDED and NEEDED[tag] in values and values.get("rel") not in ("canonical", "author"):
            self.needed.append(values[NEEDED[tag]])


@cache
def read(path: Path) -> Page:
    """Return what stands in a page."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken(folder: Path) -> list[str]:
    """Return a sentence for every link and every thing needed that is not in the folder."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        page = read(path)
        found += [f"{path.name} needs {url}" for url in page.needed if re.match(r"(?:https?:)?//", url)]
        for url in (*page.links, *page.needed):
            name, anchor = urldefrag(url)
            if ELSEWHERE.match(url):
                continue
            target = (path.parent / unquote(name.partition("?")[0])).resolve() if name else path
            if not target.is_file():
                found.append(f"{path.name}: no file for {url}")
            elif anchor and target.suffix == ".html" and unquote(anchor) not in read(target).anchors:
                found.append(f"{path.name}: no anchor for {url}")
    return found


def setup(app):
    """Look at the pages when they are written."""

    def look(app, error):
        if error is None and app.builder.name == "html":
            found = broken(Path(app.outdir))
            if found:
                raise ExtensionError("\n".join(["the pages cannot be read from a folder:", *found]))

    app.connect("build-finished", look)
    return {"parallel_read_safe": True}
