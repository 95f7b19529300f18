"""Make the picture of a report in the documentation, by Chromium: python docs/figures/make.py."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import psmr
from psmr.cli.run_study import run_study

HERE = Path(__file__).parent
# The top of the report of the first study, as a browser shows it.
SHOWN = (1240, 760)
study = psmr.read_study(psmr.case_path("wscc9/fault-ibr"))
browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
with tempfile.TemporaryDirectory() as folder:
    run_study(study, folder)
    subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--user-data-dir={folder}/profile", "--force-device-scale-factor=1.25",
         f"--window-size={SHOWN[0]},{SHOWN[1]}", f"--screenshot={HERE / 'report.png'}",
         (Path(folder) / "report.html").as_uri()],
        check=True, capture_output=True,
    )  # fmt: skip
