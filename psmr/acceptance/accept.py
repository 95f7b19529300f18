"""Carry out the battery: at each strength of the source a sweep over trials; rows, figure and page."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from psmr.acceptance.accepted import Accepted
from psmr.acceptance.battery import PHASES, Trials, battery
from psmr.acceptance.bench import BenchFile, phasors_alone, plant_of
from psmr.acceptance.judge import FAIL, GROWS, Acceptance, growth_at_rest
from psmr.acceptance.page import write_page
from psmr.base.arguments import check_arguments
from psmr.base.declared import ALLOW_CODE
from psmr.base.errors import InputError, PsmrError, PsmrWarning
from psmr.files.case_file import CaseFile
from psmr.files.shipped import located
from psmr.study.file.recipe import Recipe
from psmr.study.file.study import Study, load_system
from psmr.study.output import write_text
from psmr.sweep.run_sweep import sweep

if TYPE_CHECKING:
    import pandas as pd

SCR = (20.0, 10.0, 5.0, 3.0, 2.0, 1.5, 1.0)
X_R = (2.0, 10.0, 30.0)
STANDARDS = ("NERC PRC-029-1", "IEEE 2800-2022")


def accept(
    case: str | os.PathLike[str],
    *,
    plant: Annotated[str | None, "the plant that stands on the bench (default: the only one)", "NAME"] = None,
    bus: Annotated[int | None, "bus where the source is connected (default: the plant's)", "N"] = None,
    scr: Annotated[
        tuple[float, ...], "short-circuit ratios on the plant's rating (default 20 to 1)", "RATIO"
    ] = SCR,
    x_r: Annotated[tuple[float, ...], "X/R of the source (default 2, 10 and 30)", "RATIO"] = X_R,
    standards: Annotated[
        tuple[str, ...], "what asks: NERC PRC-029-1 and IEEE 2800-2022 by default", "NAME"
    ] = STANDARDS,
    requirements: Annotated[
        str | os.PathLike[str] | None, "further standards, a TOML file of the form in the docs", "FILE"
    ] = None,
    folder: str | os.PathLike[str] | None = None,
    workers: Annotated[int | None, "processes (default: one for each core)", "N"] = None,
    report: Annotated[bool, "leave out figure and page"] = True,
    progress: Callable[[float, int], None] | None = None,
    allow_code: Annotated[bool, ALLOW_CODE] = False,
    **reading: Any,
) -> Accepted:
    """Put a plant on a source behind an impedance and try what grid codes ask of it.

    At each strength of the source the plant is started at its power, and dips, swells, phase jumps, ramps of
    frequency, steps of set-points and a scan of its impedance are tried, each from that start.

    All combinations of `scr` and `x_r` are tried. Everything goes to `folder`, ``results/accept-PLANT`` by
    default; `report` says whether figure and page are written, `progress` is called with the number of
    strengths that are done and of all, and `reading` are further fields of `CaseFile`.

    Raises CaseError and InputError for a case that cannot be read or has not one plant, and for a strength
    that cannot be.
    """
    check_arguments(accept, locals(), InputError)
    began = time.perf_counter()
    for name, values in (("scr", scr), ("x_r", x_r)):
        if not values or min(values) <= 0:
            raise InputError(f"{name} = {values}: must be ratios above 0")
    file = BenchFile(located(os.fspath(case)), plant=plant, bus=bus, allow_code=allow_code, **reading)
    row = plant_of(CaseFile.read(file), plant)
    place = Path(folder if folder is not None else Path("results") / f"accept-{row.name}")
    strengths = [(s, k) for k in x_r for s in sorted(scr, reverse=True)]
    # Unequal phases cost a hundred times what a phasor run costs: at one X/R.
    usual = min(x_r, key=lambda k: abs(math.log(k / 10)))
    parts: list[pd.DataFrame] = []
    traces: dict[tuple[float, float, str], Any] = {}
    left_out: dict[str, None] = {}
    for number, (s, k) in enumerate(strengths):
        for phases in (False, True)[: 1 + (k == usual)]:
            bench = replace(file, scr=s, x_r=k, phases=phases)
            found = _tried(bench, row, place, standards, requirements, workers, traces)
            if isinstance(found, str):
                left_out[found] = None
            else:
                parts.append(found)
        if progress is not None:
            progress(number + 1, len(strengths))
    import pandas as pd

    table = pd.concat(parts, ignore_index=True)
    done = Accepted(table, place, tuple(left_out), row.name, traces, (), time.perf_counter() - began)
    write_text(place / "rows.csv", table.to_csv(index=False))
    files = (place / "rows.csv", *(write_page(done) if report else ()))
    return replace(done, files=files)


def _tried(
    bench: BenchFile,
    row: Any,
    place: Path,
    standards: Sequence[str],
    requirements: Any,
    workers: int | None,
    traces: dict[tuple[float, float, str], Any],
) -> pd.DataFrame | str:
    """Return the rows of one strength, with or without phases, or why there are none."""
    import pandas as pd

    at = {"scr": bench.scr, "x_r": bench.x_r}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        name = f"bus{bench.bus or row.bus}"
        try:
            system = load_system(replace(bench, phases=False))
            if bench.phases:
                if why := phasors_alone(system, row.name, name):
                    return f"dips with unequal phases: {why}"
                system = load_system(bench)
        except PsmrError as error:
            if bench.phases:
                return f"dips with unequal phases at SCR {bench.scr:g}: {error}"
            why = f"does not start: {error}"
            start = {"trial": "at rest", "kind": "rest", "clause": "", "verdict": FAIL, "why": why}
            return pd.DataFrame([at | start])
        hertz = bench.read().frequency_hz
        trials = battery(system, tuple(standards), requirements, hertz)
        # Between two samples of code the plant has an impedance of its own, which is not that of the plant.
        sampled = bool(system.samplers)
        trials = tuple(
            t for t in trials if (t.what in PHASES) == bench.phases and not (sampled and t.kind == "scan")
        )
        if (growth := growth_at_rest(system)) > GROWS:
            if bench.phases:
                return f"all but the start at SCR {bench.scr:g}, X/R {bench.x_r:g}: a mode grows at rest"
            why = f"a mode grows at rest with {growth:.3g} 1/s"
            start = {"trial": "at rest", "kind": "rest", "clause": "", "verdict": FAIL, "why": why}
            return pd.DataFrame([at | start])
        measure = Acceptance(trials, row.name, name, row.rating_mva)
        recipe = Recipe({"tolerance": 1e-4}, kind="variable", usual=True)
        title = f"{row.name}, SCR {bench.scr:g}, X/R {bench.x_r:g}{', phases' * bench.phases}"
        found = sweep(
            Study(title, bench, recipe, t_end=max(trial.t_end for trial in trials)),
            [Trials(trials, name)],
            measure,
            folder=place / "runs" / title.replace(", ", "-").replace(" ", "").replace("/", ""),
            signals=[f"{name}.v", f"{row.name}.p"],
            workers=workers,
            report=False,
        )
    rows = found.table
    failed = rows["status"] == "failed"
    rows.loc[failed, "verdict"], rows.loc[failed, "why"] = FAIL, rows.loc[failed, "message"]
    for number, trial in zip(rows["run"], rows["trial"], strict=True):
        try:
            kept = found.signals(int(number))
        except PsmrError:
            continue
        v, p = kept[f"{name}.v"].to_numpy(), kept[f"{row.name}.p"].to_numpy() / row.rating_mva
        traces[bench.scr, bench.x_r, trial] = (kept.index.to_numpy(), v, p)
    return rows.drop(columns=["run", "status", "message", "warnings"]).assign(**at)
