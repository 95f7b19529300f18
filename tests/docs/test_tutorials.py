"""The tutorial notebooks run in a kernel of their own, from top to bottom, and are kept without outputs."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
# What makes a notebook run on Colab, where psmr is not installed.
INSTALL = 'if importlib.util.find_spec("psmr") is None:\n    %pip install -q psmr'
FIGURES = {"1": 3, "2": 4, "3": 1, "4": 2}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_without_outputs(path):
    assert path.stat().st_size < 30_000
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert INSTALL in "".join(cells[1]["source"])
    for cell in cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_there_are_four():
    assert [path.stem[0] for path in NOTEBOOKS] == ["1", "2", "3", "4"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_figures_once(path, monkeypatch):
    pytest.importorskip("nbclient", reason="no nbclient here: pip install 'psmr[test]', to run the notebooks")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    from tutorials import executed

    before = sorted(path.parent.iterdir())
    notebook = executed(path)
    assert sorted(path.parent.iterdir()) == before
    pictures = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == FIGURES[path.stem[0]]
    assert sys.modules["tutorials"].page(notebook, path).count("_figures/") == len(pictures)
