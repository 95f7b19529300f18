"""Make the figures and tables of the pages on papers: python docs/papers/figures.py [NAME ...].

Each paper is reproduced as `psmr reproduce NAME` does it; its figures and the table of findings are what its
page shows.
"""

import sys
from pathlib import Path

from psmr.reproduce.papers import reproduce
from psmr.study.output.canvas import STYLE

HERE = Path(__file__).parent
# Shown where the reader's fonts are unknown: letters as outlines.
STYLE["svg.fonttype"] = "path"

for name in sys.argv[1:] or ["gil-sanfelice-nikravesh"]:
    folder = HERE / "figures" / name
    result = reproduce(name, folder, print)
    (folder / "findings.inc").write_text(result.markdown(), encoding="utf-8")
