"""Commands on the linearised system: its modes and partition, and what a scheme makes of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from psmr.base.declared import ALLOW_CODE, Option
from psmr.base.errors import InputError
from psmr.base.files import PAGES, TABLES
from psmr.cli.console import Progress, give_table, print_result
from psmr.cli.options import (
    CASE,
    CSV,
    JSON,
    PICTURE,
    START,
    STUDY,
    TABLE,
    Fills,
    Given,
    OutputPath,
    case_file,
    input_file,
    names_study,
    path,
    system_and_recipe,
)

if TYPE_CHECKING:
    from psmr.study.file.recipe import Recipe
_MULTIRATE = "psmr.integrate.schemes.multirate.Multirate"
_HEADING = "scheme, for a case file"
SINGLE = Fills("psmr.integrate.schemes.one_step.SingleRate", "method h", _HEADING, choosing=True)
SPLIT = Fills("psmr.study.file.recipe.Split", "delta algebraic", _HEADING)
STEPS = Fills(f"{_MULTIRATE}.from_steps", "h_slow h_fast", _HEADING, choosing=True)
CHOICES = Fills(
    _MULTIRATE, "predictor solution interpolation predict coupling interface corrections", _HEADING
)
PENCIL = Fills("psmr.pencil.deformation.deformation.deformation", "pencil")
MODES = Fills("psmr.pencil.modes.search.ModeChoice", "least_damped band_hz")
GOAL = Fills("psmr.study.tuning.tune.tune", "up_to accuracy damping frequency margin")
ALGEBRAIC = Fills(SPLIT.made, "algebraic")
REPORT = OutputPath((*PAGES, *TABLES))
STUDY_WITH_SCHEME = Option(
    "study file, or case file with a scheme, or a name that `psmr cases` lists; - reads standard input",
    "CASE|STUDY",
)


def modes(
    case: Annotated[str, input_file, CASE],
    *,
    json: Annotated[bool, JSON] = False,
    reading: Annotated[Given, START],
    network: Annotated[bool, "beside each mode, what it is where the network has its own dynamics"] = False,
    output: Annotated[str | None, TABLE, CSV] = None,
) -> None:
    """List the modes of a case.

    example: psmr modes cases/wscc9/wscc9.toml
    """
    from psmr.dae.system.eigenvalues import modes
    from psmr.network.start.initialise import timers
    from psmr.study.file.study import load_system

    file = case_file(case, reading)
    if network:
        from psmr.study.certificate.network_deformation import network_deformation

        found = network_deformation(file.read(), power_flow=file.solve)
        give_table(found.table, str(found), json, output)
        return
    system = load_system(file)
    head = (
        f"{system.name}: {system.n} states, {system.m} algebraic variables; eigenvalues in 1/s and rad/s, one"
        " row for both of a conjugate pair"
    )
    if system.s:
        head += f"; what {', '.join(dict.fromkeys(s.device for s in system.samplers))} samples is held fixed"
    table = modes(system.linearise())
    counting = [system.names_x[place] for place in timers(system)]
    still = (table.real == 0) & table.dominant_state.isin(counting)
    if still.any():
        head += f"; {still.sum()} timers that stand still, or run by the clock, have no row"
    give_table(table[~still], head, json, output)


def partition(
    case: Annotated[str, input_file, CASE],
    *,
    json: Annotated[bool, JSON] = False,
    reading: Annotated[Given, START],
    delta: Annotated[float, "threshold in 1/s; faster modes are fast", "D", Option(either="how")],
    suggest: Annotated[
        bool, "list thresholds that lie in a gap of the spectrum", Option(either="how")
    ] = False,
    split: Annotated[Given, ALGEBRAIC],
    figure: Annotated[str | None, PICTURE, "draw it on the one-line graph (.svg, .png, .pdf)", "FILE"] = None,
    output: Annotated[str | None, TABLE, CSV] = None,
) -> None:
    """Say which variables are fast, and why.

    example: psmr partition cases/wscc9/wscc9.toml --delta 20
    """
    import partitioning
    from psmr.study.file.recipe import Split, partition_of
    from psmr.study.file.study import load_system

    system = load_system(case_file(case, reading))
    linear = system.linearise()
    if suggest:
        if figure:
            raise InputError("--figure draws one partition; give --delta in place of --suggest")
        head = f"{system.name}: thresholds in the gaps of the spectrum"
        give_table(partitioning.suggest_delta(linear), head, json, output)
        return
    found = partition_of(Split(delta=delta, **split), linear)
    if figure:
        from psmr.figures.run.oneline import one_line
        from psmr.figures.with_matplotlib import save

        save(one_line(system, found), figure)
    give_table(found.table, f"{system.name}: {found}", json, output, figure)


def deformation(
    case: Annotated[str, input_file, STUDY_WITH_SCHEME],
    *,
    json: Annotated[bool, JSON] = False,
    reading: Annotated[Given, START],
    pencil: Annotated[Given, PENCIL],
    modes: Annotated[Given, MODES],
    single: Annotated[Given, SINGLE],
    split: Annotated[Given, SPLIT],
    steps: Annotated[Given, STEPS],
    choices: Annotated[Given, CHOICES],
    output: Annotated[
        str | None,
        REPORT,
        "write the report as one page (.html) or the table (.csv)",
        "FILE",
        Option(name="o,output"),
    ] = None,
) -> None:
    """Say how much a scheme deforms each mode.

    example: psmr deformation cases/wscc9/deformation.toml -o report.html
    """
    from psmr.pencil.deformation.deformation import deformation
    from psmr.pencil.operator.sampled import NotLinearisedError
    from psmr.study.certificate.ringdown import ringdown

    several = {**steps, **choices}
    if not names_study(case, reading):  # what is wrong with the options is said before the case is read
        _recipe(single, split, several)
    system, recipe = system_and_recipe(case, reading, {**single, **split, **several})
    linear = system.linearise()
    made = (recipe or _recipe(single, split, several)).scheme(linear)
    try:
        report = deformation(linear, made, **pencil, modes=modes or None)
    except NotLinearisedError as error:
        words = f"{system.name}: {error}, as here, in 1/s and rad/s, beside those with what is sampled held"
        give_table(ringdown(system, made), words, json, output)
        return
    if output:
        if output.lower().endswith(TABLES):
            report.to_csv(output)
        else:
            report.to_html(output, f"{system.name}, mode deformation")
    record = {
        "system": system.name,
        "scheme": str(report.scheme),
        "pencil": report.pencil,
        "verdict": report.verdict,
        "stable": bool(report.stable),
        "spectral_radius": float(report.spectral_radius),
        "dominant": None if report.dominant is None else report.dominant.to_dict(),
        "modes": report.table.to_dict("records"),
        "spurious": report.spurious.to_dict("records"),
        "warnings": list(report.warnings),
    }
    print_result(json, record, system.name, report, written=[output])


def _recipe(single: Given, split: Given, multirate: Given) -> Recipe:
    """Return the scheme that the options of a case make."""
    from psmr.study.file.recipe import Recipe, Split

    several = {**split, **multirate}
    if single and several:
        option = "--" + next(iter(several)).replace("_", "-")
        raise InputError(f"{option} belongs to a multirate scheme, --method and --h to single rate")
    if single:
        if len(single) < 2:
            raise InputError("a single-rate scheme needs --method and --h")
        recipe = Recipe(single)
    else:
        missing = [
            f"--{key.replace('_', '-')}" for key in ("delta", "h_slow", "h_fast") if key not in several
        ]
        if missing:
            example = "for instance --delta 20 --h-slow 0.05 --h-fast 0.005, or --method TM --h 0.005"
            words = f"a case file needs a scheme from the options: {', '.join(missing)} missing; {example}"
            raise InputError(words)
        recipe = Recipe(multirate, Split(**split))
    recipe.check()
    return recipe


def tune(
    case: Annotated[str, input_file, CASE],
    *,
    json: Annotated[bool, JSON] = False,
    reading: Annotated[Given, START],
    goal: Annotated[Given, GOAL],
    output: Annotated[
        str | None,
        path,
        "write the winner as a study, the Pareto figure and every candidate (CSV)",
        "FOLDER",
        Option(name="o,output"),
    ] = None,
) -> None:
    """Find the cheapest scheme that deforms the modes of a band by no more than allowed.

    example: psmr tune cases/wscc9/wscc9.toml --accuracy 1% --up-to 2Hz -o out
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        # Thousands of small eigenvalue problems: with threads they take ten times as long (measured).
        os.environ.setdefault(name, "1")
    from psmr.study.file.study import load_system
    from psmr.study.output import check_writable
    from psmr.study.tuning.tune import FILES, confirm, tune, tuning_record, write_tuning

    if output:
        check_writable(output, FILES)
    file = case_file(case, reading)
    system = load_system(file)
    with Progress(1.0, unit="") as progress:
        tuning = tune(system, **goal, progress=progress)
    confirmation = confirm(system, tuning.winner)
    files = write_tuning(output, tuning, file) if output else ()
    record = tuning_record(tuning, confirmation) | {"files": [str(path) for path in files]}
    print_result(json, record, tuning, "", confirmation, listed=files)


def explain(
    study: Annotated[str, input_file, STUDY],
    *,
    json: Annotated[bool, JSON] = False,
    allow_code: Annotated[bool, ALLOW_CODE] = False,
) -> None:
    """Describe, step by step, what the solver does in one macro step.

    example: psmr explain cases/wscc9/fault-published.toml
    """
    from dataclasses import asdict

    from psmr.cli.run_study import prepare
    from psmr.study.explain import explain
    from psmr.study.file.read_study import read_study

    system, recipe = prepare(read_study(study, allow_code))
    explanation = explain(system, recipe.scheme(system.linearise()))
    print_result(json, asdict(explanation), explanation)
