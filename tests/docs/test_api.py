"""The API pages: every public name on exactly one, with its types, and examples of valid Python."""

import ast
import sys
from pathlib import Path

import pytest

import partitioning
import psmr
import psmr.pencil

FOLDER = Path(__file__).parents[2] / "docs" / "api"


@pytest.fixture
def api(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER.parent / "_ext")
    import api

    yield api
    sys.modules.pop("api")


def test_every_public_name_is_on_one_page_with_an_example(api):
    cells = [cell for group in api.groups(FOLDER) for cell in group.cells]
    documented = [name for cell in cells for name in cell.names]
    found = [id(api.named(name)) for name in documented]
    assert len(set(found)) == len(found)
    public = {
        f"{package.__name__}.{name}"
        for package in (psmr, psmr.errors, psmr.pencil, partitioning)
        for name in getattr(package, "__all__", [name for name in dir(package) if name[0].isupper()])
    }
    assert sorted(name for name in public if id(api.named(name)) not in found) == []
    for cell in cells:
        ast.parse(cell.code)
        name = cell.names[0]
        if name in public - {f"psmr.errors.{name}" for name in dir(psmr.errors)}:
            # What is returned and not made shows what it has.
            assert cell.code if isinstance(api.named(name), type) else name.rpartition(".")[2] in cell.code, (
                name
            )


def test_a_signature_has_types_and_no_more_of_what_declares_them(api):
    words, back = api.typed(None, "function", "psmr.pv_curve", psmr.pv_curve, None, "(case)", None)
    assert words.startswith("(case: Case | System, loads: int | str = '*', ")
    assert "Annotated" not in words
    assert back == "PvCurve"
    words, _ = api.typed(None, "class", "psmr.Smes", psmr.Smes, None, "(h)", None)
    assert words.startswith("(h: float, delta: float, micro: int, ")
    words, _ = api.typed(None, "function", "psmr.simulate", psmr.simulate, None, "(system)", None)
    assert "Never" not in words
