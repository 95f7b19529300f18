"""The command line: run a study, look at modes, partitions and deformations.

Results go to standard output or to files, everything else to standard error; the exit code is 0 only for
success, 2 for input that is wrong and 1 for a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psmr.errors import InputError, PsmrError, PsmrWarning

if TYPE_CHECKING:
    import pandas as pd


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.simplefilter("always", PsmrWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        try:
            arguments.command(arguments)
            sys.stdout.flush()
        except InputError as error:
            return _fail(error, 2)
        except PsmrError as error:
            return _fail(error, 1)
        except KeyboardInterrupt:
            return _fail("interrupted; nothing was written", 130)
        except BrokenPipeError:
            # The reader of our output (`head`) has gone; standard output must not complain again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="psmr",
        description="Multirate simulation of power systems that says how much the numerics deform each mode.",
    )
    top.add_argument("--version", action="version", version=f"psmr {_version()}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    run = _command(commands, "run", _run, "run a study file", "psmr run cases/wscc9/fault.toml -o out")
    run.add_argument("study", metavar="STUDY", help="study file (TOML)")
    run.add_argument(
        "--figure", action="store_true", help="write run.svg: trajectories with the events marked"
    )
    run.add_argument(
        "--html", action="store_true", help="write report.html: one page with every figure inside"
    )
    _output(run, "FOLDER", "write the results here, in place of the study's own folder")

    modes = _command(
        commands, "modes", _modes, "list the modes of a case", "psmr modes cases/wscc9/wscc9.toml"
    )
    modes.add_argument("case", metavar="CASE", help="case file")
    _output(modes, "FILE", "write the table as CSV")

    partition = _command(
        commands,
        "partition",
        _partition,
        "say which variables are fast, and why",
        "psmr partition cases/wscc9/wscc9.toml --delta 20",
    )
    partition.add_argument("case", metavar="CASE", help="case file")
    how = partition.add_mutually_exclusive_group(required=True)
    how.add_argument("--delta", type=float, metavar="D", help="threshold in 1/s; faster modes are fast")
    how.add_argument(
        "--suggest", action="store_true", help="list thresholds that lie in a gap of the spectrum"
    )
    partition.add_argument(
        "--algebraic",
        choices=("participation", "fast"),
        default="participation",
        help="where algebraic variables go: by their participation (default), or all fast",
    )
    partition.add_argument(
        "--figure", metavar="FILE", help="draw it on the one-line graph (.svg, .png, .pdf)"
    )
    _output(partition, "FILE", "write the table as CSV")

    deform = _command(
        commands,
        "deformation",
        _deformation,
        "say how much a scheme deforms each mode",
        "psmr deformation cases/wscc9/deformation.toml -o report.html",
    )
    deform.add_argument("file", metavar="CASE|STUDY", help="study file, or case file with a scheme")
    deform.add_argument("--pencil", choices=("exact", "published"), default="exact")
    deform.add_argument(
        "--least-damped", type=int, metavar="K", help="only the K least damped modes, by sparse matrices"
    )
    deform.add_argument(
        "--band", type=float, nargs=2, metavar=("LO", "HI"), help="only modes between these frequencies in Hz"
    )
    _scheme_options(deform)
    _output(deform, "FILE", "write the report as one page (.html) or the table (.csv)")

    tune = _command(
        commands,
        "tune",
        _tune,
        "find the cheapest scheme that bends the modes of a band by less than asked",
        "psmr tune cases/wscc9/wscc9.toml --accuracy 1% --up-to 2Hz -o out",
    )
    tune.add_argument("case", metavar="CASE", help="case file")
    tune.add_argument(
        "--up-to",
        type=_hertz,
        required=True,
        metavar="F",
        help="modes up to this frequency count, for instance 2Hz",
    )
    tune.add_argument(
        "--accuracy", type=_fraction, metavar="P", help="largest relative deformation, for instance 1%%"
    )
    tune.add_argument(
        "--damping-error",
        type=_fraction,
        metavar="P",
        help="largest change of a damping ratio, for instance 0.2pp",
    )
    tune.add_argument(
        "--frequency-error",
        type=_fraction,
        metavar="P",
        help="largest change of a frequency, for instance 0.5%%",
    )
    tune.add_argument(
        "--margin",
        type=_fraction,
        default=0.1,
        metavar="P",
        help="stable with steps longer by this, too (default 10%%)",
    )
    _output(tune, "FOLDER", "write the winner as a study, the Pareto figure and every candidate (CSV)")

    explain = _command(
        commands,
        "explain",
        _explain,
        "say what one macro step of a study's scheme does to its system",
        "psmr explain cases/wscc9/fault.toml",
    )
    explain.add_argument("study", metavar="STUDY", help="study file")

    convert = _command(
        commands,
        "convert",
        _convert,
        "convert a PSS/E or MATPOWER case to TOML",
        "psmr convert grid.raw grid.toml --dynamics grid.dyr",
    )
    convert.add_argument("source", metavar="SOURCE", help="case file: .raw, .m or .toml")
    convert.add_argument("target", metavar="TARGET", help="file to write, .toml")
    convert.add_argument("--dynamics", metavar="FILE", help="DYR file with the dynamic data of a .raw file")
    convert.add_argument(
        "--skip-unknown-models",
        action="store_true",
        help="leave out devices that psmr has no model of, with a warning for each",
    )
    convert.add_argument(
        "--frequency", type=float, metavar="HZ", help="nominal frequency, which .m files do not have"
    )

    paper = _command(
        commands,
        "reproduce",
        _reproduce,
        "reproduce a paper's tables and figures",
        "psmr reproduce gil-sanfelice-nikravesh -o out",
    )
    paper.add_argument(
        "paper",
        metavar="NAME",
        help="huang-tzounas, shi-rojas, gil-sanfelice-nikravesh or kuznetsov-krasnikov",
    )
    _output(paper, "FOLDER", "write tables (CSV), figures and a page with every claim beside ours")

    _command(commands, "warmup", _warmup, "compile everything ahead", "psmr warmup", json_flag=False)
    return top


def _command(
    commands: Any, name: str, function: Any, help: str, example: str, json_flag: bool = True
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=f"{help[0].upper()}{help[1:]}.", epilog=f"example: {example}"
    )
    command.set_defaults(command=function)
    if json_flag:
        command.add_argument("--json", action="store_true", help="print the result as JSON")
    return command


def _output(command: argparse.ArgumentParser, metavar: str, help: str) -> None:
    command.add_argument("-o", "--output", metavar=metavar, help=help)


def _scheme_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("scheme, for a case file")
    group.add_argument(
        "--method", choices=("FEM", "TM", "BEM", "RK4", "SDIRK2"), help="single rate, with --h"
    )
    group.add_argument("--h", type=float, metavar="S", help="step size in s")
    group.add_argument("--delta", type=float, metavar="D", help="multirate: threshold in 1/s")
    group.add_argument("--algebraic", choices=("participation", "fast"))
    group.add_argument("--h-slow", type=float, metavar="S", help="macro step in s")
    group.add_argument("--h-fast", type=float, metavar="S", help="fast step in s")
    group.add_argument("--predictor", choices=("FEM", "TM", "BEM"))
    group.add_argument("--solution", choices=("TM", "BEM"))
    group.add_argument("--interpolation", choices=("linear", "spline"))
    group.add_argument("--predict", choices=("all", "slow"))
    group.add_argument("--corrections", type=_corrections, metavar="K", help="0, 1, 2, ... or converge")


def _corrections(text: str) -> int | str:
    return text if text == "converge" else int(text)


def _fraction(text: str) -> float:
    """Read 1%, 0.2pp or 0.01 as a fraction."""
    number = text.strip().removesuffix("pp").removesuffix("%").strip()
    value = float(number)
    return value / 100.0 if number != text.strip() else value


def _hertz(text: str) -> float:
    """Read 2Hz or 2 as a frequency in Hz."""
    return float(text.strip().lower().removesuffix("hz"))


def _run(arguments: argparse.Namespace) -> None:
    from psmr.study.execute import run_study
    from psmr.study.study import read_study

    study = read_study(arguments.study)
    with _Progress(study.t_end) as progress:
        extra: dict[str, Any] = {"figure": "svg"} if arguments.figure else {}
        extra |= {"html": True} if arguments.html else {}
        _, run, files = run_study(study, arguments.output, progress, extra)
    if arguments.json:
        _print_json(_run_record(study.name, run, files))
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
        "events": [{"t": t, "label": label} for t, label in run.instants],
        "certificate": None if run.certificate is None else asdict(run.certificate),
        "stats": run.stats.record(),
        "files": [str(path) for path in files],
    }


def _modes(arguments: argparse.Namespace) -> None:
    from psmr.dae.linear import modes
    from psmr.study.execute import load_system

    system = load_system(arguments.case)
    table = modes(system.linearise())
    head = f"{system.name}: {system.n} states, {system.m} algebraic variables, eigenvalues in 1/s and rad/s"
    _give_table(arguments, table, head)


def _partition(arguments: argparse.Namespace) -> None:
    import partitioning
    from psmr.study.execute import load_system
    from psmr.study.recipe import Split, partition_of

    system = load_system(arguments.case)
    linear = system.linearise()
    if arguments.suggest:
        if arguments.figure:
            raise InputError("--figure draws one partition; give --delta in place of --suggest")
        head = f"{system.name}: thresholds in the gaps of the spectrum"
        _give_table(arguments, partitioning.suggest_delta(linear), head)
        return
    split = partition_of(Split(delta=arguments.delta, algebraic=arguments.algebraic), linear)
    if arguments.figure:
        from psmr.study.canvas import save
        from psmr.study.oneline import one_line

        save(one_line(system, split), arguments.figure)
    _give_table(arguments, split.table, f"{system.name}: {split}")


def _deformation(arguments: argparse.Namespace) -> None:
    from psmr.pencil.deformation import deformation
    from psmr.study.execute import load_system, prepare
    from psmr.study.study import is_study, read_study

    given = {key: getattr(arguments, key) for key in _SCHEME if getattr(arguments, key) is not None}
    if is_study(arguments.file):
        if given:
            option = "--" + next(iter(given)).replace("_", "-")
            raise InputError(
                f"{option}: {arguments.file} is a study, its scheme is in [scheme]; "
                "give the option with a case file"
            )
        system, recipe = prepare(read_study(arguments.file))
    else:
        recipe = _recipe(given)
        system = load_system(arguments.file)
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
        _print_json(
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


_SCHEME = (
    *("method", "h", "delta", "algebraic", "h_slow", "h_fast"),
    *("predictor", "solution", "interpolation", "predict", "corrections"),
)


def _recipe(given: dict[str, Any]) -> Any:
    from psmr.study.recipe import Recipe, Split

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


def _convert(arguments: argparse.Namespace) -> None:
    from psmr.io.read import read_case
    from psmr.io.write_toml import write_toml

    source, target = arguments.source, arguments.target
    if os.path.splitext(target)[1].lower() != ".toml":
        raise InputError(f"{target}: psmr writes cases as .toml")
    if os.path.exists(target) and os.path.exists(source) and os.path.samefile(source, target):
        raise InputError(f"{target}: is the source itself; give another target")
    case = read_case(source, arguments.dynamics, arguments.skip_unknown_models, arguments.frequency)
    write_toml(case, target)
    if arguments.json:
        tables = ("buses", "lines", "transformers", "shunts", "loads", "generators")
        counts = {table: len(getattr(case, table)) for table in tables}
        devices = sum(len(generator.devices) for generator in case.generators)
        _print_json({"case": case.name, "target": target, **counts, "devices": devices})
        return
    print(case, f"Written {target}", sep="\n")


def _reproduce(arguments: argparse.Namespace) -> None:
    import tempfile

    from psmr.reproduce.papers import reproduce
    from psmr.study.files import check_writable

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
        _print_json(record)
        return
    print(result)
    if files:
        print("\nWritten", *(f"  {path}" for path in files), sep="\n")


def _tune(arguments: argparse.Namespace) -> None:
    from psmr.study.execute import load_system
    from psmr.study.files import check_writable
    from psmr.study.tune import tune
    from psmr.study.tuned import confirm, tuning_record, write_tuning

    if arguments.output:
        check_writable(arguments.output)
    system = load_system(arguments.case)
    with _Progress(1.0, unit="") as progress:
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
    files = write_tuning(arguments.output, tuning, arguments.case) if arguments.output else ()
    if arguments.json:
        _print_json(tuning_record(tuning, confirmation) | {"files": [str(path) for path in files]})
        return
    print(tuning, confirmation, sep="\n\n")
    if files:
        print("\nWritten", *(f"  {path}" for path in files), sep="\n")


def _explain(arguments: argparse.Namespace) -> None:
    from dataclasses import asdict

    from psmr.study.execute import prepare
    from psmr.study.explain import explain
    from psmr.study.study import read_study

    system, recipe = prepare(read_study(arguments.study))
    explanation = explain(system, recipe.scheme(system.linearise()))
    if arguments.json:
        _print_json(asdict(explanation))
        return
    print(explanation)


def _warmup(arguments: argparse.Namespace) -> None:
    from psmr.study.warmup import warmup

    print(warmup())


def _give_table(arguments: argparse.Namespace, table: pd.DataFrame, head: str) -> None:
    if arguments.output:
        from psmr.study.files import write_text

        write_text(arguments.output, table.to_csv(index=False))
    if arguments.json:
        _print_json(table.to_dict("records"))
        return
    print(head)
    print(table.to_string(index=False, float_format=lambda value: f"{value:.5g}", na_rep=""))


def _print_json(record: Any) -> None:
    print(json.dumps(_plain(record), indent=2, allow_nan=False, ensure_ascii=False))


def _plain(value: Any) -> Any:
    """Return a record as JSON has it: complex numbers as [real, imaginary], what is not finite as null."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, float) and not (abs(value) < float("inf")):
        return None
    return value


class _Progress:
    """A bar on standard error that follows the simulated time or the share done; only where one watches."""

    def __init__(self, t_end: float | None, unit: str = " s") -> None:
        self.t_end, self.unit = t_end, unit
        self.bar: Any = None

    def __enter__(self) -> _Progress:
        return self

    def __call__(self, t: float) -> None:
        if self.t_end is None or not sys.stderr.isatty():
            return
        if self.bar is None:
            from tqdm import tqdm

            shape = f"{{l_bar}}{{bar}}| {{n:.2f}} of {{total:g}}{self.unit} [{{elapsed}}, {{remaining}} left]"
            self.bar = tqdm(total=self.t_end, file=sys.stderr, bar_format=shape, leave=False, delay=0.5)
        self.bar.update(t - self.bar.n)

    def __exit__(self, *reason: object) -> None:
        if self.bar is not None:
            self.bar.close()


def _show_warning(message: Any, category: type[Warning], *place: Any, **rest: Any) -> None:
    print(f"psmr: warning: {message}", file=sys.stderr)


def _fail(error: object, code: int) -> int:
    print(f"psmr: error: {error}", file=sys.stderr)
    return code


def _version() -> str:
    from psmr import __version__

    return __version__


if __name__ == "__main__":
    sys.exit(main())
