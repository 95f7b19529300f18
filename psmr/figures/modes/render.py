"""The renderer of all HTML pages: jinja2 templates, one style sheet, figures as parts of the page."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psmr.base.errors import printable

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment
    from jinja2.bccache import Bucket

GLOSSARY: tuple[tuple[str, str], ...] = (
    ("FEM, TM, BEM", "The forward Euler method, the trapezoidal method, the backward Euler method."),
    (
        "macro step, fast step",
        "A multirate scheme takes the slow variables over one macro step, and the fast ones over several fast"
        " steps within it.",
    ),
    ("partition", "Which variables are fast and which are slow."),
    (
        "mode",
        "An eigenvalue s of the linearised system: its real part is a rate of growth in 1/s (negative:"
        " decay), its imaginary part an angular frequency in rad/s.",
    ),
    (
        "pencil",
        "A pair of matrices (E, J) and the eigenvalues of E w' = J w: of the system, its modes; of one step"
        " of the scheme, its multipliers.",
    ),
    (
        "multiplier",
        "The factor z by which one step of length h multiplies a mode. A mode s should become exp(s h); a"
        " multiplier with |z| > 1 grows.",
    ),
    (
        "represented",
        "A mode is represented when one multiplier of the step is recognisably its own. Modes that are too"
        " fast for the step are not: they decay at once.",
    ),
    ("spurious", "A multiplier that belongs to no mode of the system: the scheme made it."),
    (
        "deformation",
        "The relative distance |ŝ - s|/|s| of the simulated mode ŝ = ln(z)/h from the mode s of the system.",
    ),
    ("mode shape", "The right eigenvector of a mode: how far each device moves in it, and with what phase."),
    (
        "participation factor",
        "How much a state takes part in a mode, whatever its unit; over all states they add up to 100 %.",
    ),
    (
        "damping ratio",
        "-Re(s)/|s|. At 5 % an oscillation keeps 73 % of its amplitude from one period to the next.",
    ),
    (
        "centre of inertia",
        "The mean of the rotor angles, or of the speeds, weighted with the machines' kinetic energy.",
    ),
    (
        "non-windup limit",
        "A limit on a state itself: the state stays at the bound, and leaves it as soon as its derivative"
        " points inwards.",
    ),
)
"""Words, and a sentence or two for each, without markup."""

HOME = "psmr.figures.modes"
"""The package whose folder ``templates`` has the frame of every page and the style sheet."""

PAGES = "pages"
"""The folder of the cache that has compiled templates."""


def render(template: str, package: str = HOME, **values: Any) -> str:
    """Return a whole page that needs nothing from elsewhere.

    The template is one of the folder ``templates`` of a package, and extends ``base.html``; text among the
    values is escaped, also what would change the direction of the text beside it.
    """
    return printable(environment(package).get_template(template).render(**values))


@cache
def environment(package: str) -> Environment:
    """Return what makes pages of the templates of a package: every value is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        bytecode_cache=_template_cache(),
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, HOME))]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals["words"] = GLOSSARY
    return environment


@cache
def _template_cache() -> BytecodeCache:
    """Return the cache of compiled templates: compiling them takes longer than a page."""
    from jinja2 import BytecodeCache

    from psmr.dae.compile.cache_files import folder, write_entry
    from psmr.dae.compile.code_cache import PYTHON
    from psmr.dae.compile.shipped_code import read_entry

    class FileCache(BytecodeCache):
        def get_cache_key(self, name: str, filename: str | None = None) -> str:
            # Wherever the package stands; jinja2 looks at the text, and at its own version.
            place = "/".join(Path(filename or name).parts[-3:])
            return hashlib.sha256(f"{PYTHON} {place}".encode()).hexdigest()[:32]

        def load_bytecode(self, bucket: Bucket) -> None:
            data = read_entry(PAGES, bucket.key)
            if data is not None:
                bucket.bytecode_from_string(data)

        def dump_bytecode(self, bucket: Bucket) -> None:
            write_entry(folder(PAGES) / bucket.key, bucket.bytecode_to_string())

    return FileCache()


def complex_text(real: float, imag: float) -> str:
    """Return a number of the complex plane to four decimals."""
    if imag == 0.0:
        return f"{real:.4f}"
    return f"{real:.4f} {'+' if imag > 0 else '-'} j{abs(imag):.4f}"
