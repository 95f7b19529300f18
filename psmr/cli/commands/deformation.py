"""``psmr deformation``: report how much a scheme deforms each mode."""

from __future__ import annotations

import argparse
from typing import Any

from psmr.base.errors import InputError
from psmr.base.files import PAGES, TABLES
from psmr.cli.console import print_json, show, tell_written
from psmr.cli.options import (
    add_command,
    case_file,
    case_options,
    check_study_options,
    names_study,
    output_option,
    require_targets,
    scheme_options,
)


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    deform = add_command(
        subparsers,
        "deformation",
        command,
        "say how much a scheme deforms each mode",
        "psmr deformation cases/wscc9/deformation.toml -o report.html",
    )
    case_options(deform, "CASE|STUDY", "study file, or case file with a scheme")
    deform.add_argument("--pencil", choices=("exact", "published"), default="exact")
    deform.add_argument(
        "--least-damped", type=int, metavar="K", help="only the K least damped modes, by sparse matrices"
    )
    deform.add_argument(
        "--band", type=float, nargs=2, metavar=("LO", "HI"), help="only modes between these frequencies in Hz"
    )
    scheme_options(deform)
    output_option(deform, "FILE", "write the report as one page (.html) or the table (.csv)")


def command(arguments: argparse.Namespace) -> None:
    """Report how much a scheme deforms each mode."""
    from psmr.cli.run_study import prepare
    from psmr.pencil.deformation.deformation import deformation
    from psmr.study.file.read_study import read_study
    from psmr.study.file.study import load_system

    require_targets({"-o": arguments.output}, (*PAGES, *TABLES))
    given = {key: getattr(arguments, key) for key in _SCHEME if getattr(arguments, key) is not None}
    if names_study(arguments):
        check_study_options(arguments, given)
        system, recipe = prepare(read_study(arguments.case, arguments.allow_code))
    else:
        recipe = _recipe(given)
        system = load_system(case_file(arguments))
    linear = system.linearise()
    chosen = {"least_damped": arguments.least_damped, "band_hz": arguments.band and tuple(arguments.band)}
    chosen = {key: value for key, value in chosen.items() if value is not None}
    report = deformation(linear, recipe.scheme(linear), pencil=arguments.pencil, modes=chosen or None)
    if arguments.output:
        table = arguments.output.lower().endswith(TABLES)
        (report.to_csv if table else report.to_html)(arguments.output)
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
    show(system.name, report)
    tell_written(arguments.output)


_SCHEME = (
    "method",
    "h",
    "delta",
    "algebraic",
    "h_slow",
    "h_fast",
    "predictor",
    "solution",
    "interpolation",
    "predict",
    "corrections",
    "coupling",
    "interface",
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
