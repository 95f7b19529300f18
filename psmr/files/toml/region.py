"""The table [dynamic] of case and study files: the part of the network with its own dynamics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from psmr.base.errors import InputError, error_at
from psmr.files.toml.document import Document, Field, Spec, specification
from psmr.network.case.region import Region

PLACE = ("dynamic",)

DYNAMIC: Spec = {
    "buses": Field((str, int, list[int], list[str]), fills="buses"),
    **specification(Region, without=("buses", "modes", "where")),
    "modes": Field((str, float, list[str], list[float]), fills="modes"),
}


def read_region(document: Document) -> Region | None:
    """Return the region in a document, None where it has no table [dynamic]."""
    given = document.table(PLACE[0])
    if given is None:
        return None
    where = document.where(PLACE)
    values = document.values(PLACE, given, DYNAMIC)
    try:
        return Region(**values, where=where)
    except document.error:
        raise
    except InputError as error:
        raise error_at(error, document.error, where) from error


def region_values(region: Region) -> Mapping[str, Any]:
    """Return the fields of the table of a region; what has its default is left out."""
    values = {
        item.name: getattr(region, item.name)
        for item in fields(region)
        if item.compare and getattr(region, item.name) != item.default
    }
    if "modes" in values:
        values["modes"] = [str(s).strip("()") for s in region.modes]
    return values
