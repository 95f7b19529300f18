"""Imports go in one direction only, and tests reach psmr by names that may move; these tests read them."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import networkx
import pytest

from tests import internals

ROOT = Path(__file__).resolve().parents[1]

# What each room may import of ours, besides itself. Figures stand above what they draw: results ask for them
# through `psmr.base.modules`.
LOW = {"base", "version"}
BELOW = {
    "partitioning": set(),
    "version": set(),
    "base": set(),
    "errors": {"base"},
    "dae": LOW,
    "integrate": LOW | {"dae", "partitioning"},
    "pencil": LOW | {"dae", "integrate", "partitioning"},
    "sampled": LOW | {"dae", "integrate"},
    "devices": LOW | {"dae"},
    "network": LOW | {"partitioning", "dae", "integrate", "sampled", "devices"},
    "files": LOW | {"dae", "sampled", "devices", "network"},
}
BELOW["study"] = BELOW["files"] | {"partitioning", "integrate", "pencil", "files"}
BELOW["sweep"] = BELOW["study"] | {"study"}
BELOW["figures"] = BELOW["sweep"] | {"sweep"}
BELOW["acceptance"] = BELOW["figures"] | {"figures"}
BELOW["viewer"] = BELOW["figures"] | {"figures"}
BELOW["papers"] = BELOW["figures"] | {"figures"}
BELOW["course"] = BELOW["sweep"] | {"sweep"}
BELOW["cli"] = BELOW["papers"] | {"papers", "viewer", "acceptance", "course"}
BELOW["__main__"] = {"cli"}


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


def edges() -> set[tuple[str, str]]:
    """Return which of our modules import which."""
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in FILES}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    found = set()
    for name, path in modules.items():
        for target, _ in imported(path):
            parts = target.split(".")
            prefixes = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
            found.add((name, next((known for known in prefixes if known in modules), name)))
    return found


def circles(pairs) -> list[list[str]]:
    graph = networkx.DiGraph(pair for pair in pairs if pair[0] != pair[1])
    return [sorted(found) for found in networkx.strongly_connected_components(graph) if len(found) > 1]


def test_no_files_import_one_another_in_a_circle():
    assert not circles(edges())


def test_no_folders_import_one_another_in_a_circle():
    """What stands in a folder, files and folders alike, is in one order, in every folder."""
    siblings: dict[str, set[tuple[str, str]]] = {}
    for one, other in edges():
        a, b = one.split("."), other.split(".")
        depth = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
        if depth:
            siblings.setdefault(".".join(a[:depth]), set()).add((a[depth], b[depth]))
    found = {folder: rooms for folder, pairs in siblings.items() if (rooms := circles(pairs))}
    assert not found


def test_reader_sees_every_form_of_import(tmp_path, monkeypatch):
    import sys

    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    file = tmp_path / "psmr" / "integrate" / "bad.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import psmr.network.case\nfrom psmr import network\nfrom ..network import case\nimport psmr.dae\n"
    )
    wrong = sorted(line for name, line in imported(file) if not allowed(name, "integrate"))
    assert wrong == [1, 2, 3]


# What tests may import besides `tests.internals` and `tests.components`.
PUBLIC = {"psmr", "psmr.errors", "psmr.cli", "psmr.pencil", "partitioning"}
TEST_FILES = sorted(
    file
    for file in (ROOT / "tests").rglob("*.py")
    if file.relative_to(ROOT / "tests").parts not in {("internals.py",), ("components.py",)}
)


def modules_imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the module of each import, of ``import a.b`` and of ``from a.b import c`` alike."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module


def a_test_may_import(file: Path, module: str) -> bool:
    if module.split(".")[0] not in ("psmr", "partitioning") or module in PUBLIC:
        return True
    return file.parent.name == "papers" and module.startswith("psmr.papers")


def test_tests_import_public_names_and_what_is_listed():
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {module}"
        for file in TEST_FILES
        for line, module in modules_imported(ast.parse(file.read_text(encoding="utf-8")))
        if not a_test_may_import(file, module)
    ]
    assert not wrong, "import public names from psmr, internals from tests.internals:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import psmr.dae.system.system", ["psmr.dae.system.system"]),
        ("def f():\n    from psmr.files.case_file import read_case", ["psmr.files.case_file"]),
        ("from psmr import read_case\nfrom psmr.errors import CaseError\nimport partitioning", []),
    ],
)
def test_a_deep_import_is_seen(text, found):
    file = ROOT / "tests" / "dae" / "test_some.py"
    assert [
        module for _, module in modules_imported(ast.parse(text)) if not a_test_may_import(file, module)
    ] == found


def test_every_name_that_is_listed_is_there_and_needed():
    used = {
        alias.name
        for file in TEST_FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "tests.internals"
        for alias in node.names
    }
    assert sorted(set(internals.PLACES) - used) == []
    for module, name in internals.PLACES.values():
        assert not name or hasattr(import_module(module), name), f"{module} has no {name}"
        assert not name.startswith("_"), f"{module}.{name} is private; a name that tests need is not"


def test_every_function_that_is_asked_for_by_name_is_there():
    asked = {
        {"draw": "figures.", "function_above": ""}[node.func.id] + node.args[0].value
        for file in (ROOT / "psmr").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in ("draw", "function_above") and isinstance(node.args[0], ast.Constant)
        if isinstance(node.args[0].value, str)
    }
    assert len(asked) > 9
    for name in asked:
        module, _, function = name.rpartition(".")
        assert callable(getattr(import_module(f"psmr.{module}"), function)), name
