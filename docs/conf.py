"""Sphinx configuration: MyST pages, API from docstrings, equations from declarations, an executed gallery."""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
os.environ.setdefault("MPLBACKEND", "Agg")

import partitioning
import psmr
import psmr.pencil

project = "psmr"
author = "the psmr contributors"
copyright = "2026, the psmr contributors"
release = version = psmr.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx-mathjax-offline",  # the pages show their formulas without a network
    "equations",
    "reference",
    "api",
    "gallery",
    "tutorials",
    "links",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_ext", "tutorials/*.ipynb", "api/*.inc"]

# Single backticks in docstrings name things of ours.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the extension "api" writes them as they are declared
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
autodoc_default_options = {"members": True, "exclude-members": "__init__"}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "psmr"
html_static_path = ["_static"]
html_css_files = ["psmr.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f4e79", "color-brand-content": "#1f4e79"},
    "dark_css_variables": {"color-brand-primary": "#7fb3e0", "color-brand-content": "#7fb3e0"},
}


def escape_bars(app, what, name, obj, options, lines):
    """Let ``|s|`` in a docstring be a magnitude, not a reStructuredText substitution."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"(?<![`\\])\|(?=[^\s|])([^|`]*[^\s|`\\])\|", r"\\|\1\\|", line)


def write_names(app):
    """Write the public names, which docs/stability.md shows, from the packages themselves."""
    parts = []
    for package in (psmr, psmr.errors, psmr.pencil, partitioning):
        own = [name for name in dir(package) if not name.startswith("_")]
        names = sorted(getattr(package, "__all__", own), key=str.lower)
        links = ", ".join(f"{{py:obj}}`{name} <{package.__name__}.{name}>`" for name in names)
        parts.append(f"`{package.__name__}`\n: {links}")
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    (folder / "names.inc").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def setup(app):
    """Connect the hooks above."""
    app.connect("builder-inited", write_names)
    app.connect("autodoc-process-docstring", escape_bars)
