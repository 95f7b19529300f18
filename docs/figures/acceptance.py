"""Make the figure of docs/acceptance.md: python docs/figures/acceptance.py."""

import tempfile
from pathlib import Path

import psmr
from psmr.acceptance.page import trials_figure
from psmr.figures.with_matplotlib import save, to_matplotlib

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        case = "wscc9/wscc9-renewable"
        done = psmr.accept(case, plant="W3", scr=(20.0, 3.0, 1.0), x_r=(10.0,), folder=folder, report=False)
        print(done)
    save(to_matplotlib(trials_figure(done)), Path(__file__).parent / "acceptance.svg")
