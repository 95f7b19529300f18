"""The rooms of psmr and the imports between them, drawn from the code.

Run ``python docs/figures/architecture.py``; what every room imports, `base`, has no arrows.
"""

from __future__ import annotations

import ast
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent

# Layers from the ground up, with those of the same height in one row.
FLOORS = (
    ("base", "partitioning"),
    ("dae",),
    ("integrate", "devices"),
    ("pencil", "network"),
    ("files",),
    ("study",),
    ("sweep",),
    ("figures",),
    ("papers", "viewer"),
    ("cli",),
)
WORDS = {
    "base": "errors, arguments, whole files",
    "partitioning": "which variables are fast",
    "dae": "declared, compiled, assembled",
    "integrate": "how a DAE is advanced",
    "devices": "machines, controls, loads",
    "pencil": "what a scheme does to modes",
    "network": "case, power flow, start",
    "files": "files to a case and back",
    "study": "file, events, run, outcome",
    "sweep": "many runs of one study",
    "figures": "every figure and page",
    "papers": "papers, claim by claim",
    "viewer": "the page of psmr view",
    "cli": "one file a command",
}


def layer(name: str) -> str | None:
    """Return the layer of a module's name, None for what is not ours."""
    parts = name.split(".")
    if parts[0] == "partitioning":
        return "partitioning"
    return parts[1] if parts[0] == "psmr" and len(parts) > 1 and parts[1] in WORDS else None


def imports() -> dict[tuple[str, str], int]:
    """Return how many files of one layer import another."""
    found: dict[tuple[str, str], int] = {}
    for path in [*(ROOT / "psmr").rglob("*.py"), *(ROOT / "partitioning").rglob("*.py")]:
        own = layer(".".join(path.relative_to(ROOT).with_suffix("").parts))
        if own is None:
            continue
        names = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names.add(layer(node.module))
            elif isinstance(node, ast.Import):
                names |= {layer(alias.name) for alias in node.names}
        for other in names - {own, "base", None}:
            found[own, str(other)] = found.get((own, str(other)), 0) + 1
    return found


def draw() -> None:
    """Write the figure."""
    places = {
        name: (x * 4.6 - (len(floor) - 1) * 2.3, y * 1.5)
        for y, floor in enumerate(FLOORS)
        for x, name in enumerate(floor)
    }
    figure, axes = plt.subplots(figsize=(8.4, 11.6))
    for (own, other), count in imports().items():
        (x0, y0), (x1, y1) = places[own], places[other]
        assert y1 <= y0, f"{own} imports {other}, which stands above it"
        axes.annotate(
            "",
            (x1 + 0.25 * (x0 - x1), y1 + 0.42),
            (x0 + 0.05 * (x1 - x0), y0 - 0.42),
            arrowprops={"arrowstyle": "-|>", "color": "#9aa3af", "lw": 0.5 + 0.025 * min(count, 60)},
            zorder=1,
        )
    for name, (x, y) in places.items():
        box = FancyBboxPatch(
            (x - 1.85, y - 0.4), 3.7, 0.8, "round,pad=0.03", fc="#eef3f9", ec="#2b5c8a", zorder=2
        )
        axes.add_patch(box)
        axes.text(x, y + 0.14, name, ha="center", va="center", fontsize=10.5, weight="bold", zorder=3)
        axes.text(x, y - 0.17, WORDS[name], ha="center", va="center", fontsize=8.5, color="#3b4453", zorder=3)
    axes.set_xlim(-4.6, 4.6)
    axes.set_ylim(-0.7, 1.5 * len(FLOORS) - 0.8)
    axes.set_axis_off()
    figure.savefig(HERE / "architecture.svg", bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    draw()
