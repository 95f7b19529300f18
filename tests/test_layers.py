"""Imports go in one direction only; this test reads them."""

import ast
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).resolve().parents[1]

# What each layer may import of ours, besides itself.
BELOW = {
    "partitioning": set(),
    "printable": set(),
    "errors": {"printable"},
    "optional": {"errors"},
    "numbers": set(),
    "arguments": {"errors", "numbers"},
    "uninterrupted": set(),
    "files": {"errors", "printable", "uninterrupted"},
    "version": set(),
    "dae": {"arguments", "errors", "printable", "numbers", "uninterrupted"},
    "numerics": {"arguments", "errors", "numbers", "dae", "partitioning"},
    "pencil": {"arguments", "errors", "files", "printable", "numbers", "dae", "numerics", "partitioning"},
    "grid": {"arguments", "errors", "printable", "numbers", "dae", "numerics.solve"},
    "io": {"arguments", "errors", "optional", "files", "printable", "dae", "grid"},
    "study": {
        "arguments",
        "errors",
        "optional",
        "files",
        "numbers",
        "version",
        "dae",
        "numerics",
        "pencil",
        "grid",
        "io",
        "partitioning",
    },
    "papers": {
        "arguments",
        "errors",
        "numbers",
        "version",
        "dae",
        "numerics",
        "pencil",
        "grid",
        "io",
        "study",
        "partitioning",
    },
    "cli": {
        "errors",
        "optional",
        "files",
        "numbers",
        "printable",
        "version",
        "dae",
        "numerics",
        "pencil",
        "grid",
        "io",
        "study",
        "papers",
        "partitioning",
    },
    "__main__": {"cli"},
}


def layer(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0] if parts[0] == "partitioning" else parts[1]


def imported(path: Path) -> set[tuple[str, int]]:
    """Every module of ours that the file imports, with the line; ``from a import b`` counts as ``a.b``."""
    found = set()
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) + 1 - node.level]) if node.level else []
            module = ".".join(base + ([node.module] if node.module else []))
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {(name, node.lineno) for name in names if name.split(".")[0] in ("psmr", "partitioning")}
    return found


def allowed(name: str, own: str) -> bool:
    if name.split(".")[0] == "partitioning":
        return own == "partitioning" or "partitioning" in BELOW[own]
    inner = name.removeprefix("psmr.").removeprefix("psmr")
    return any(inner == a or inner.startswith(a + ".") for a in (BELOW[own] | {own}))


FILES = sorted(
    path
    for package in ("psmr", "partitioning")
    for path in (ROOT / package).rglob("*.py")
    if path != ROOT / "psmr" / "__init__.py"
)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_in_one_direction(path):
    own = layer(path)
    assert own in BELOW, f"{own} is no layer of psmr"
    wrong = sorted((line, name) for name, line in imported(path) if not allowed(name, own))
    assert not wrong, f"{path.relative_to(ROOT)} imports upwards: {wrong}"


def test_no_files_import_one_another_in_a_circle():
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in FILES}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    graph = networkx.DiGraph()
    for name, path in modules.items():
        for target, _ in imported(path):
            parts = target.split(".")
            prefixes = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
            graph.add_edge(name, next((known for known in prefixes if known in modules), name))
    circles = [sorted(found) for found in networkx.strongly_connected_components(graph) if len(found) > 1]
    assert not circles


def test_reader_sees_every_form_of_import(tmp_path, monkeypatch):
    import sys

    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    file = tmp_path / "psmr" / "numerics" / "bad.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import psmr.grid.case\nfrom psmr import grid\nfrom ..grid import case\nfrom psmr.dae import system\n"
    )
    wrong = sorted(line for name, line in imported(file) if not allowed(name, "numerics"))
    assert wrong == [1, 2, 3]
