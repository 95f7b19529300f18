"""``psmr new``: write a commented start of a component of one's own, or of a study."""

from __future__ import annotations

import argparse
import keyword
import os
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from psmr.base.errors import InputError
from psmr.base.files import write_texts
from psmr.base.printable import in_line
from psmr.cli.console import show, tell_written
from psmr.cli.options import add_command, code_option, path

USUAL_CASE = "wscc9"


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    new = add_command(
        subparsers,
        "new",
        command,
        "write a commented start of a component of your own, or of a study",
        "psmr new component my_avr",
        json_flag=False,
    )
    new.add_argument("what", choices=("component", "study"))
    new.add_argument("name", metavar="NAME", type=path, help="of the module, or of the study: my_avr, fault")
    new.add_argument(
        "case", metavar="CASE", nargs="?", help=f"case of the study (default: a copy of {USUAL_CASE}.toml)"
    )
    new.add_argument("--dynamics", metavar="FILE", type=path, help="DYR file of a .raw case")
    new.add_argument("--sequence", metavar="FILE", type=path, help="SEQ file of a .raw case")
    code_option(new)


def command(arguments: argparse.Namespace) -> None:
    """Write a commented start."""
    if arguments.what == "component":
        if arguments.case or arguments.dynamics or arguments.sequence:
            raise InputError("psmr new component NAME: has a case of its own; leave out the other")
        texts, study = _component(arguments.name)
    else:
        texts, study = _study(arguments)
    for place in texts:
        if os.path.lexists(place):
            raise InputError(f"{place}: is there already; give another name, or move it away")
    write_texts(texts)
    tell_written(*map(str, texts))
    code = " --allow-code" if arguments.what == "component" or arguments.allow_code else ""
    show(f"\nRun it: psmr run {in_line(str(study))}{code}")


def _component(name: str) -> tuple[dict[Path, str], Path]:
    """Return the files of a new component, and its study."""
    place = Path(name)
    module = place.name.removesuffix(".py")
    if not module.isidentifier() or keyword.iskeyword(module) or module in sys.stdlib_module_names:
        raise InputError(
            f"NAME = {name!r}: must be a name for a Python module that Python has not itself, such as my_avr"
        )
    component = "".join(part[:1].upper() + part[1:] for part in module.split("_")) or "Own"
    words = {"module": module, "component": component, "record": component.upper()}
    folder = place.parent
    case, study = folder / f"{module}-case.toml", folder / f"{module}-study.toml"
    return {
        folder / f"{module}.py": _filled("component.py.txt", words),
        case: _filled("component-case.toml", words),
        study: _filled("component-study.toml", words),
    }, study


def _study(arguments: argparse.Namespace) -> tuple[dict[Path, str], Path]:
    """Return the files of a new study: itself, and a case where none was given."""
    from psmr.files.case_file import read_case
    from psmr.files.shipped import case_path
    from psmr.files.toml.write_case import toml_pairs

    name, dynamics, sequence = arguments.name, arguments.dynamics, arguments.sequence
    study = Path(name if name.endswith(".toml") else f"{name}.toml")
    texts: dict[Path, str] = {}
    if arguments.case is None:
        source = case_path(USUAL_CASE)
        place = study.parent / source.name
        if not place.exists():
            texts[place] = source.read_text(encoding="utf-8")
    else:
        source = place = Path(arguments.case)
    read = read_case(source, dynamics, sequence=sequence, allow_code=arguments.allow_code)
    bus = read.loads[0].bus if read.loads else read.buses[0].number
    head = {"name": f"{read.name}, fault at bus {bus}", "case": _beside(place, study)}
    for key, beside in (("dynamics", dynamics), ("sequence", sequence)):
        if beside is not None:
            head[key] = _beside(Path(beside), study)
    words = {
        "file": str(study),
        "head": toml_pairs(head),
        "bus": str(bus),
        "stem": study.stem,
    }
    texts[study] = _filled("study.toml", words)
    return texts, study


def _beside(place: Path, study: Path) -> str:
    """Return a path as the study names it: relative to its folder."""
    return Path(os.path.relpath(place, study.parent)).as_posix()


def _filled(template: str, words: Mapping[str, str]) -> str:
    text = files("psmr.cli").joinpath("templates", template).read_text(encoding="utf-8")
    return Template(text).substitute(words)
