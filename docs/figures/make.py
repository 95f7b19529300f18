"""Make the figures of the README: python docs/figures/make.py (with Chromium, for that of the report)."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import partitioning
import psmr
from psmr.figures.modes.figures import eigenvalue_map
from psmr.figures.with_matplotlib import STYLE, save

HERE = Path(__file__).parent
# Shown where the reader's fonts are unknown: letters as outlines.
STYLE["svg.fonttype"] = "path"

system = psmr.build(psmr.read_case(HERE.parents[1] / "cases" / "wscc9" / "wscc9.toml"))
linear = system.linearise()
split = partitioning.by_participation(linear, delta=20.0)
scheme = psmr.Multirate(split, h_slow=0.05, ratio=10, predictor="FEM", solution="TM")
run = psmr.simulate(system, scheme, 10.0, [psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")])
save(run.plot(title="WSCC 9-bus, fault at bus 5: multirate, 50 ms and 5 ms"), HERE / "wscc9-fault.svg")

bent = psmr.Multirate(split, h_slow=0.05, ratio=10, predictor="BEM", solution="BEM")
save(eigenvalue_map(psmr.deformation(linear, bent)), HERE / "wscc9-deformation.svg")

# The top of the report, as a browser shows it.
SHOWN = (1240, 1050)
browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
with tempfile.TemporaryDirectory() as folder:
    run.to_html(Path(folder) / "report.html")
    subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--user-data-dir={folder}/profile", "--force-device-scale-factor=1.25",
         f"--window-size={SHOWN[0]},{SHOWN[1]}", f"--screenshot={HERE / 'report.png'}",
         (Path(folder) / "report.html").as_uri()],
        check=True, capture_output=True,
    )  # fmt: skip
