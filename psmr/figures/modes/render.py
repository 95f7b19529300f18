"""The renderer of all HTML pages: jinja2 templates, one style sheet, figures as parts of the page."""

from __future__ import annotations

import hashlib
import io
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from psmr.base.printable import printable
from psmr.figures.modes.glossary import GLOSSARY
from psmr.figures.svg.figure import PageFigure
from psmr.figures.svg.ink import THEME

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment
    from jinja2.bccache import Bucket
    from matplotlib.figure import Figure

HOME = "psmr.figures.modes"
"""The package whose folder ``templates`` has the frame of every page and the style sheet."""

MARGIN = 0.1
"""Inches around what is drawn."""


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


def inline_svg(figure: Figure | PageFigure, words: str, tight: bool = True) -> Markup:
    """Return a figure as an ``<svg>`` element in the colours of the page; `words` say what it shows.

    A `tight` one is cut to what is drawn; another keeps the figure's size.
    """
    if isinstance(figure, PageFigure):
        return figure.svg(words, whole=not tight)
    import matplotlib
    from matplotlib.transforms import Bbox

    buffer = io.StringIO()
    engine = figure.get_layout_engine()
    box: Any = "tight"
    if engine is not None:
        # Once is enough; saving would lay it out twice again, a third of the time that a page takes.
        engine.execute(figure)
        figure.set_layout_engine("none")
    else:
        # What is drawn is measured once; "tight" would draw it all to measure it, and then again.
        drawn = figure.get_tightbbox()
        box = Bbox.from_extents(drawn.x0 - MARGIN, drawn.y0 - MARGIN, drawn.x1 + MARGIN, drawn.y1 + MARGIN)
    # The same figure gives the same page, with text as text: small, searchable, in the reader's font.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "psmr"}):
        figure.savefig(
            buffer,
            format="svg",
            bbox_inches=box if tight else None,
            transparent=True,
            metadata={"Date": None, "Creator": None},
        )
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    # A hundredth of a point is less than any screen or printer shows.
    text = re.sub(r"<[^>]*>", lambda found: re.sub(r"(\d\.\d\d)\d+", r"\1", found[0]), text)
    text = re.sub(r"'DejaVu Sans'[^;\"]*?sans-serif", "system-ui, sans-serif", text)
    text = re.sub(r"#[0-9a-f]{6}\b", lambda found: _themed(found[0]), text)
    mark = hashlib.sha256(f"{words}{text}".encode()).hexdigest()[:6]
    # Several figures stand in one page: what is referred to by name needs one of its own, the rest none.
    named = set(re.findall(r"(?:url\(#|xlink:href=\"#)([^)\"]+)", text))
    text = re.sub(
        r' id="([^"]+)"', lambda found: f' id="{mark}-{found[1]}"' if found[1] in named else "", text
    )
    text = re.sub(r"(url\(#|xlink:href=\"#)", rf"\g<1>{mark}-", text)
    text = re.sub(r"^<svg ([^>]*?)>", lambda found: f"<svg {_sized(found[1])}>", text, count=1, flags=re.S)
    label = Markup('<svg role="img" aria-label="{}" ').format(words)
    return label + Markup(text[len("<svg ") :])


def _themed(colour: str) -> str:
    return f"var(--{THEME[colour]})" if colour in THEME else colour


def _sized(attributes: str) -> str:
    """Return the attributes of an svg element with its width as a style, so that the page may narrow it."""
    width = re.search(r'\bwidth="([\d.]+)pt"', attributes)
    points = float(width[1]) if width else 330.0
    kept = re.sub(r'\s*\b(width|height|version)="[^"]*"', "", attributes)
    return f'{kept} style="width: {points:.0f}pt"'


def complex_text(real: float, imag: float) -> str:
    """Return a number of the complex plane to four decimals."""
    if imag == 0.0:
        return f"{real:.4f}"
    return f"{real:.4f} {'+' if imag > 0 else '-'} j{abs(imag):.4f}"
