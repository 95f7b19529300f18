"""Make the table of the studies that ship with psmr: python docs/figures/shipped_studies.py (a minute)."""

import re
import time
from pathlib import Path

import psmr
from psmr.cli.run_study import run_study
from psmr.figures.run.report import BADGES
from psmr.files.shipped import shipped_files

HERE = Path(__file__).parent

rows = [
    "| study | verdict | processor time | estimated error | what its first lines say of the verdict |",
    "|---|---|---|---|---|",
]
for name in (row["name"] for row in shipped_files() if row["kind"] == "study"):
    study = psmr.read_study(psmr.case_path(name))
    if study.t_end is None:  # it has modes alone
        continue
    run_study(study, write=False)  # compiles, where nothing has before
    began = time.process_time()
    run = run_study(study, write=False)[1]
    colour, seconds = run.judgement.colour, time.process_time() - began
    error = "-" if run.judgement.error is None else f"{run.judgement.error.percent} %"
    head = study.text.split("format =")[0].replace("# ", "").replace("\n", " ")
    said = (
        ""
        if colour == "green"
        else next(part for part in head.split(". ") if re.search(rf"\b{colour}\b", part)).strip()
    )
    rows.append(f"| `{name}` | {BADGES[colour]} ({colour}) | {seconds:.1f} s | {error} | {said} |")
    print(rows[-1], flush=True)
(HERE / "shipped-studies.inc").write_text("\n".join(rows) + "\n", encoding="utf-8")
