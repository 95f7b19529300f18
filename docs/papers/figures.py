"""Make the figures and tables of the pages on papers: python docs/papers/figures.py [NAME ...].

Each paper is reproduced as `psmr reproduce NAME` does it; its figures and the table of findings are what its
page shows.
"""

import json
import sys
import time
from pathlib import Path

from psmr.figures.with_matplotlib import STYLE
from psmr.papers.catalogue import PAPERS, reproduce


def table_text(table):
    """Return a table as Markdown."""
    rows = [list(table.columns), ["---"] * len(table.columns), *table.to_numpy().tolist()]
    return "".join("| " + " | ".join(map(str, row)) + " |\n" for row in rows)


HERE = Path(__file__).parent
# Shown where the reader's fonts are unknown: letters as outlines.
STYLE["svg.fonttype"] = "path"

for name in sys.argv[1:] or PAPERS:
    folder = HERE / "figures" / name
    began = time.perf_counter()
    result = reproduce(name, folder, print)
    (folder / "findings.inc").write_text(result.markdown(f"figures/{name}"), encoding="utf-8")
    record = [finding.record() for finding in result.findings]
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "findings.json").write_text(text + "\n", encoding="utf-8")
    if name == "huang-tzounas":
        table = result.tables["Statements on each parameter set"]
        (folder / "statements.inc").write_text(table_text(table), encoding="utf-8")
    print(f"{name}: {time.perf_counter() - began:.0f} s")
