"""What each command does with its arguments."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psmr.cli.console import Progress, give_table, print_json
from psmr.errors import InputError

if TYPE_CHECKING:
    from psmr.io.read import CaseFile


def run_command(arguments: argparse.Namespace) -> None:
    """Run a study and show what came of it."""
    from psmr.study.file.study import read_study
    from psmr.study.run.execute import default_folder, run_study

    study = read_study(arguments.study)
    folder = arguments.output or (None if study.output else default_folder(study))
    with Progress(study.t_end) as progress:
        extra: dict[str, Any] = {"figure": "svg"} if arguments.figure else {}
        extra |= {"html": False} if arguments.no_report else {"html": True} if arguments.html else {}
        extra |= {"signals": tuple(arguments.signals)} if arguments.signals else {}
        _, run, files = run_study(study, folder, progress, extra)
    if arguments.json:
        print_json(_run_record(study.name, run, files))
        return
    print(run.summary())
    if files:
        print("\nWritten", *(f"  {path}" for path in files), sep="\n")


def _run_record(title: str, run: Any, files: Sequence[Any]) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "study": title,
        "system": run.name,
        "scheme": str(run.scheme),
        "t_end": float(run.t[-1]),
        "points": len(run.t),
        "outcome": {"colour": run.judgement.colour, "headline": run.judgement.headline}
        | {"reasons": run.judgement.reasons}
        | asdict(run.outcome),
        "events": [{"t": t, "label": label} for t, label in run.instants],
        "stopped": None if run.stopped is None else asdict(run.stopped),
        "certificate": None if run.certificate is None else asdict(run.certificate),
        "certificate_after": None if run.certificate_after is None else asdict(run.certificate_after),
        "stats": run.stats.record(),
        "files": [str(path) for path in files],
    }


def _file(arguments: argparse.Namespace) -> CaseFile:
    """Return the case file that a command names, with the options on how to read it."""
    from psmr.io.read import CaseFile

    # Converting a case solves no power flow of it.
    limits = getattr(arguments, "reactive_limits", False)
    return CaseFile(
        arguments.case, arguments.dynamics, arguments.skip_unknown_models, arguments.frequency, limits
    )


def check_command(arguments: argparse.Namespace) -> int:
    """Say whether a case starts at rest, and what is off; return 1 where it cannot start."""
    from psmr.study.check import check
    from psmr.study.file.study import is_study, read_study

    if is_study(arguments.case):
        _check_study_options(arguments, {})
        file = read_study(arguments.case).case
    else:
        file = _file(arguments)
    report = check(file.read(), file.reactive_limits, modes=arguments.modes or None)
    if arguments.output:
        from psmr.study.output.files import write_text

        write_text(arguments.output, report.variables.to_csv(index=False))
    if arguments.json:
        print_json(report.record())
    else:
        print(report.text(arguments.all))
    return 0 if report.good else 1


def modes_command(arguments: argparse.Namespace) -> None:
    """List the modes of a case."""
    from psmr.dae.system.linear import modes
    from psmr.study.run.execute import load_system

    system = load_system(_file(arguments))
    table = modes(system.linearise())
    head = f"{system.name}: {system.n} states, {system.m} algebraic variables, eigenvalues in 1/s and rad/s"
    give_table(arguments, table, head)


def partition_command(arguments: argparse.Namespace) -> None:
    """Show a partition, or thresholds worth trying."""
    import partitioning
    from psmr.study.file.recipe import Split, partition_of
    from psmr.study.run.execute import load_system

    system = load_system(_file(arguments))
    linear = system.linearise()
    if arguments.suggest:
        if arguments.figure:
            raise InputError("--figure draws one partition; give --delta in place of --suggest")
        head = f"{system.name}: thresholds in the gaps of the spectrum"
        give_table(arguments, partitioning.suggest_delta(linear), head)
        return
    split = partition_of(Split(delta=arguments.delta, algebraic=arguments.algebraic), linear)
    if arguments.figure:
        from psmr.study.output.canvas import save
        from psmr.study.output.oneline import one_line

        save(one_line(system, split), arguments.figure)
    give_table(arguments, split.table, f"{system.name}: {split}")


def deformation_command(arguments: argparse.Namespace) -> None:
    """Report how much a scheme deforms each mode."""
    from psmr.pencil.deformation.deformation import deformation
    from psmr.study.file.study import is_study, read_study
    from psmr.study.run.execute import load_system, prepare

    given = {key: getattr(arguments, key) for key in _SCHEME if getattr(arguments, key) is not None}
    if is_study(arguments.case):
        _check_study_options(arguments, given)
        system, recipe = prepare(read_study(arguments.case))
    else:
        recipe = _recipe(given)
        system = load_system(_file(arguments))
    linear = system.linearise()
    chosen = {"least_damped": arguments.least_damped, "band_hz": arguments.band and tuple(arguments.band)}
    chosen = {key: value for key, value in chosen.items() if value is not None}
    report = deformation(linear, recipe.scheme(linear), pencil=arguments.pencil, modes=chosen or None)
    if arguments.output:
        suffix = os.path.splitext(arguments.output)[1].lower()
        if suffix not in (".html", ".csv"):
            raise InputError(f"-o {arguments.output}: must end in .html (report) or .csv (table)")
        (report.to_html if suffix == ".html" else report.to_csv)(arguments.output)
    if arguments.json:
        dominant = None if report.dominant is None else report.dominant.to_dict()
        print_json(
            {
                "system": system.name,
                "scheme": str(report.scheme),
                "pencil": report.pencil,
                "verdict": report.verdict,
                "stable": bool(report.stable),
                "spectral_radius": float(report.spectral_radius),
                "dominant": dominant,
                "modes": report.table.to_dict("records"),
                "spurious": report.spurious.to_dict("records"),
                "warnings": list(report.warnings),
            }
        )
        return
    print(system.name, report, sep="\n")


def _check_study_options(arguments: argparse.Namespace, scheme: dict[str, Any]) -> None:
    """Raise InputError for an option that belongs to a case file, where a study is given."""
    fields = {key: key for key in ("dynamics", "skip_unknown_models", "reactive_limits")}
    fields["frequency"] = "frequency_hz"
    places = dict.fromkeys(scheme, "its scheme is in [scheme]")
    places |= {key: f"it has a field {field}" for key, field in fields.items() if getattr(arguments, key)}
    for key, where in places.items():
        option = "--" + key.replace("_", "-")
        raise InputError(f"{option}: {arguments.case} is a study, {where}; give the option with a case file")


_SCHEME = (
    *("method", "h", "delta", "algebraic", "h_slow", "h_fast"),
    *("predictor", "solution", "interpolation", "predict", "corrections"),
)


def _recipe(given: dict[str, Any]) -> Any:
    from psmr.study.file.recipe import Recipe, Split

    example = "for instance --delta 20 --h-slow 0.05 --h-fast 0.005, or --method TM --h 0.005"
    if "method" in given or "h" in given:
        extra = [key for key in given if key not in ("method", "h")]
        if extra:
            option = "--" + extra[0].replace("_", "-")
            raise InputError(f"{option} belongs to a multirate scheme, --method and --h to single rate")
        if len(given) < 2:
            raise InputError("a single-rate scheme needs --method and --h")
        recipe = Recipe(given)
    else:
        missing = [key for key in ("delta", "h_slow", "h_fast") if key not in given]
        if missing:
            options = ", ".join("--" + key.replace("_", "-") for key in missing)
            raise InputError(f"a case file needs a scheme from the options: {options} missing; {example}")
        split = Split(delta=given.pop("delta"), algebraic=given.pop("algebraic", "participation"))
        recipe = Recipe(given, split)
    recipe.check()
    return recipe


def convert_command(arguments: argparse.Namespace) -> None:
    """Write a case in another format."""
    from psmr.io.write import write_case

    source, target = arguments.case, arguments.target
    if os.path.exists(target) and os.path.exists(source) and os.path.samefile(source, target):
        raise InputError(f"{target}: is the source itself; give another target")
    drawn = {key: getattr(arguments, key) for key in ("seed", "converters")}
    drawn = {key: value for key, value in drawn.items() if value is not None}
    if drawn and not arguments.add_dynamics:
        raise InputError(f"--{next(iter(drawn))} says what --add-dynamics draws; give that, too")
    case = _file(arguments).read()
    if arguments.add_dynamics:
        from psmr.grid.synthetic.dynamics import add_dynamics

        case = add_dynamics(case, **drawn)
    files = [str(path) for path in write_case(case, target)]
    if arguments.json:
        tables = ("buses", "lines", "transformers", "shunts", "loads", "generators")
        counts = {table: len(getattr(case, table)) for table in tables}
        devices = sum(len(generator.devices) for generator in case.generators)
        print_json({"case": case.name, "target": target, **counts, "devices": devices, "files": files})
        return
    print(case, f"Written {' and '.join(files)}", sep="\n")


def reproduce_command(arguments: argparse.Namespace) -> None:
    """Reproduce a paper's tables and figures."""
    import tempfile

    from psmr.reproduce.papers import reproduce
    from psmr.study.output.files import check_writable

    def say(words: str) -> None:
        if sys.stderr.isatty():
            print(f"psmr: {words} ...", file=sys.stderr)

    if arguments.output:
        check_writable(arguments.output)
    with tempfile.TemporaryDirectory() as scratch:
        result = reproduce(arguments.paper, scratch, say)
        files = result.write(arguments.output) if arguments.output else ()
    if arguments.json:
        record = result.record() | {"figures": {}, "files": [str(path) for path in files]}
        print_json(record)
        return
    print(result)
    if files:
        print("\nWritten", *(f"  {path}" for path in files), sep="\n")


def tune_command(arguments: argparse.Namespace) -> None:
    """Search the cheapest scheme that is accurate enough."""
    from psmr.study.output.files import check_writable
    from psmr.study.run.execute import load_system
    from psmr.study.tuning.tune import tune
    from psmr.study.tuning.tuned import confirm, tuning_record, write_tuning

    if arguments.output:
        check_writable(arguments.output)
    file = _file(arguments)
    system = load_system(file)
    with Progress(1.0, unit="") as progress:
        tuning = tune(
            system,
            up_to=arguments.up_to,
            accuracy=arguments.accuracy,
            damping=arguments.damping_error,
            frequency=arguments.frequency_error,
            margin=arguments.margin,
            progress=progress,
        )
    confirmation = confirm(system, tuning.winner)
    files = write_tuning(arguments.output, tuning, file) if arguments.output else ()
    if arguments.json:
        print_json(tuning_record(tuning, confirmation) | {"files": [str(path) for path in files]})
        return
    print(tuning, confirmation, sep="\n\n")
    if files:
        print("\nWritten", *(f"  {path}" for path in files), sep="\n")


def explain_command(arguments: argparse.Namespace) -> None:
    """Say in words what one macro step does."""
    from dataclasses import asdict

    from psmr.study.explain import explain
    from psmr.study.file.study import read_study
    from psmr.study.run.execute import prepare

    system, recipe = prepare(read_study(arguments.study))
    explanation = explain(system, recipe.scheme(system.linearise()))
    if arguments.json:
        print_json(asdict(explanation))
        return
    print(explanation)


def warmup_command(arguments: argparse.Namespace) -> None:
    """Compile everything ahead."""
    from psmr.study.warmup import warmup

    print(warmup())
