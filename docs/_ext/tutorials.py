"""Sphinx extension: run the tutorial notebooks and make a page of each, with its outputs.

The notebooks are kept without outputs; what stands in the documentation was computed when it was built.
"""

import base64
import os
import tempfile
import tomllib
from html import escape
from pathlib import Path

FOLDER = "tutorials"
PICTURES = {"image/svg+xml": "svg", "image/png": "png"}


def build(source: Path) -> None:
    """Run every notebook in a kernel of its own and write ``<notebook>.md`` beside it."""
    for path in sorted((source / FOLDER).glob("*.ipynb")):
        path.with_suffix(".md").write_text(page(executed(path), path), encoding="utf-8")


def executed(path: Path):
    """Return a notebook with its outputs, run in an empty folder: it is all that Colab has."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    # Without a choice of ours, so that the kernel shows figures in the notebook.
    environment = {key: value for key, value in os.environ.items() if key != "MPLBACKEND"}
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute(
            env=environment
        )
        left = os.listdir(folder)
    if left:
        raise RuntimeError(f"{path.name} leaves {', '.join(left)}")
    return notebook


def ways(path: Path) -> str:
    """Return the line on where a notebook can be had: a file, and Colab where the project has an address."""
    project = tomllib.loads((path.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = project.get("urls", {}).get("Source", "").removesuffix("/")
    github = source.removeprefix("https://github.com/")
    line = f"{{download}}`Download this page as a notebook <{path.name}>`"
    if source and github != source:
        address = f"{github}/blob/main/docs/{FOLDER}/{path.name}"
        return f"{line} · [open it in Colab](https://colab.research.google.com/github/{address})"
    return f"{line}; in [Colab](https://colab.research.google.com/), *File*, *Upload notebook* opens it."


def page(notebook, path: Path) -> str:
    """Return a notebook as one Markdown page, its pictures beside it."""
    parts = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source.replace(".ipynb)", ".md)"))
        elif cell.cell_type == "code":
            parts.append(f"```python\n{cell.source}\n```")
            for k, output in enumerate(cell.outputs):
                parts += shown(output, path, f"{path.stem}-{number}-{k}")
        if number == 0:
            parts.append(ways(path))
    return "\n\n".join(parts) + "\n"


def shown(output, path: Path, name: str) -> list[str]:
    """Return what a page shows of one output: a picture, a table, or text."""
    if output.output_type == "stream":
        # What is compiled is said once on a machine, and would stand in a page by chance.
        lines = [line for line in output.text.splitlines() if not line.startswith("psmr: compiling")]
        text = "\n".join(lines).strip()
        return [f"```text\n{text}\n```"] if text else []
    data = output.get("data", {})
    for kind, suffix in PICTURES.items():
        if kind in data:
            target = path.parent / "_figures" / f"{name}.{suffix}"
            target.parent.mkdir(exist_ok=True)
            raw = data[kind].encode() if suffix == "svg" else base64.b64decode(data[kind])
            target.write_bytes(raw)
            return [f"![Output of the cell above](_figures/{target.name})"]
    if "text/html" in data:
        return [f'```{{raw}} html\n<div class="output">{data["text/html"]}</div>\n```']
    return [f"<pre>{escape(data['text/plain'])}</pre>"] if "text/plain" in data else []


def setup(app):
    """Run the notebooks before Sphinx looks for sources."""
    app.connect("builder-inited", lambda app: build(Path(app.srcdir)))
    return {"parallel_read_safe": True}
