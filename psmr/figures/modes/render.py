"""The renderer of all HTML pages: jinja2 templates, one style sheet, figures as parts of the page."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from psmr.base.printable import printable
from psmr.figures.modes.glossary import GLOSSARY

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment
    from jinja2.bccache import Bucket

HOME = "psmr.figures.modes"
"""The package whose folder ``templates`` has the frame of every page and the style sheet."""


def render(template: str, package: str = HOME, **values: Any) -> str:
    """Return a whole page that needs nothing from elsewhere.

    Parameters
    ----------
    template
        Name of a template of the package; it extends ``base.html``.
    package
        Whose folder ``templates`` has it.
    values
        What it shows. Text is escaped, also what would change the direction of the text beside it.
    """
    return printable(_environment(package).get_template(template).render(**values))


@cache
def _environment(package: str) -> Environment:
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

    from psmr.dae.compile.cache.entry import read_entry, write_entry
    from psmr.dae.compile.cache.folder import folder

    place = folder("pages")

    class FileCache(BytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            data = read_entry(place / bucket.key)
            if data is not None:
                bucket.bytecode_from_string(data)

        def dump_bytecode(self, bucket: Bucket) -> None:
            write_entry(place / bucket.key, bucket.bytecode_to_string())

    return FileCache()


def complex_text(real: float, imag: float) -> str:
    """Return a number of the complex plane to four decimals."""
    if imag == 0.0:
        return f"{real:.4f}"
    return f"{real:.4f} {'+' if imag > 0 else '-'} j{abs(imag):.4f}"
