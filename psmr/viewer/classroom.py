"""What a class may do on one server: how much each session, which cases, links to studies and to runs."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from psmr.base.arguments import settle_fields
from psmr.base.errors import InputError, StudyError, nearest, shown
from psmr.files.text import parsed_toml
from psmr.files.toml.document import specification
from psmr.integrate.run.recorder import bytes_text
from psmr.study.file.study import EVENTS, HEAD
from psmr.study.run.set_up import Size

LONGEST_TEXT = 20_000
"""Characters of a study at most, of a class or in a link; those that ship have up to 2,000."""

OUTSIDE = {"modules"} | {
    name
    for fields_of_table in (HEAD, *map(specification, EVENTS.values()))
    for name, field in fields_of_table.items()
    if Path in field.kinds and name != "case"
}
"""Fields of a study that name files or code."""

MIB = 2.0**20


@dataclass(frozen=True)
class Classroom:
    """How a page is served to many, and what each of its sessions, a tab of a browser, may use.

    `public` is the address that browsers use, ``https://host/path``, where a proxy or a name leads here;
    `key` the part of the address without which nothing is served, one made up where it is empty.
    """

    address: Annotated[str, "address of this machine at which it listens", "ADDRESS"] = "127.0.0.1"
    public: Annotated[str, "address that browsers use, where a proxy or a name leads here", "URL"] = ""
    key: Annotated[str, "last part of the address; by default a secret made up at each start", "WORD"] = ""
    sessions: Annotated[int, "browser tabs at once at most (100)", "N"] = 100
    workers: Annotated[int, "runs that are computed at once, the others wait (2)", "N"] = 2
    seconds: Annotated[float, "computing time of a run at most (60)", "S"] = 60.0
    memory: Annotated[float, "points of a run at most, in MiB (50)", "MIB"] = 50.0
    runs: Annotated[int, "newest runs that a session keeps (5)", "N"] = 5
    shared: Annotated[int, "newest results that are kept for those who have the link (200)", "N"] = 200

    def __post_init__(self) -> None:
        settle_fields(self, numbers=True)
        for field in fields(self)[3:]:
            if not 0 < getattr(self, field.name) < 1e9:
                raise InputError(f"{field.name} = {getattr(self, field.name):g}: must be > 0, and below 1e9")
        if not re.fullmatch(r"[\w-]*", self.key, re.ASCII):
            raise InputError(f"key = {shown(self.key)}: must be of letters, digits, - and _")
        parts = urlsplit(self.public)
        if self.public and (parts.scheme not in ("http", "https") or not parts.netloc or parts.query):
            raise InputError(f"public = {shown(self.public)}: must be as in https://psmr.example.org/class")
        if not self.public and self.address in ("", "0.0.0.0", "::"):
            raise InputError(
                f"address = {shown(self.address)}: is every address of this machine; say with --public by"
                " which one browsers come, as in http://192.168.1.5:5006"
            )

    def refuse_run(self, size: Size) -> None:
        """Raise InputError for a run of which is known that it is too large; its time only to a magnitude."""
        if size.memory + size.disk > self.memory * MIB:
            raise InputError(
                f"the run is too large: {size}; this server keeps {bytes_text(self.memory * MIB)}. Record"
                " fewer signals or every k-th step (record, every in [simulation]), or take a shorter run"
            )
        if size.seconds > 10.0 * self.seconds:
            raise InputError(
                f"the run is too long: {size}; this server computes {self.seconds:g} s for a run. Take a"
                " shorter run or longer steps"
            )

    def admitted(self, text: str, cases: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the tables of a study with the files of its case in place of the case's name.

        StudyError for a text that takes long to read, for a case that is none of `cases`, and for whatever
        else names a file or code.
        """
        if len(text) > LONGEST_TEXT:
            raise StudyError(
                f"study: has more than {LONGEST_TEXT:,} characters, which this server takes; leave some out"
            )
        content = parsed_toml("study", text)
        name = content.get("case")
        if not isinstance(name, str) or name not in cases:
            hint = nearest(str(name)[:80], cases)
            raise StudyError(
                f"study: case = {shown(name)}: this server reads no files but its own cases{hint}; known:"
                f" {', '.join(cases)}"
            )
        for key, value in _fields(content):
            if key in OUTSIDE:
                raise StudyError(
                    f"study: {key} = {shown(value)}: this server reads no files and runs no code that a study"
                    " names; leave it out, or use psmr on your own machine"
                )
        return {**content, **cases[name]}


def _fields(part: Any) -> Iterator[tuple[str, Any]]:
    """Yield every field of some tables and of those in them."""
    if isinstance(part, Mapping):
        yield from part.items()
        part = [*part.values()]
    for inner in part if isinstance(part, list) else ():
        yield from _fields(inner)


def packed(text: str) -> str:
    """Return a text as the part of a link behind ``#study=``; InputError where it is too long."""
    if len(text) > LONGEST_TEXT:
        raise InputError(
            f"the study has more than {LONGEST_TEXT:,} characters, too many for a link; send it as a file"
        )
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).rstrip(b"=").decode()


def unpacked(link: str) -> str:
    """Return the text of such a part; InputError where it is none, or longer than a study may be."""
    try:
        data = base64.urlsafe_b64decode(link + "=" * (-len(link) % 4))
        stream = zlib.decompressobj()
        text = stream.decompress(data, 4 * LONGEST_TEXT).decode()
    except (binascii.Error, zlib.error, ValueError) as error:
        raise InputError("the link holds no study; was it copied whole?") from error
    if not stream.eof:
        raise InputError(f"the link holds no whole study of at most {LONGEST_TEXT:,} characters")
    return text
