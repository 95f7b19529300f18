"""Print a conda recipe of psmr: `python .ci/recipe.py [SDIST] > recipe/recipe.yaml`.

`rattler-build build -r recipe` builds it. The recipe, of format 1, is made from pyproject.toml, so that
nothing stands in two places. Its source is this checkout, or the sdist that is named, with its digest: a
path, or the address from which it can be loaded.
"""

import hashlib
import json
import sys
import tomllib
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
scope: dict[str, str] = {}
exec((ROOT / "psmr" / "version.py").read_text(encoding="utf-8"), scope)

# conda-forge's matplotlib brings a toolkit for windows, which psmr does not need.
NAMES = {"matplotlib": "matplotlib-base", "lazy-loader": "lazy_loader"}


def conda(requirement: str) -> str:
    """Return a requirement of pip as one of conda: the name apart, `numpy >=2.0`."""
    name, sign, version = requirement.partition(">=")
    return f"{NAMES.get(name, name)} {sign}{version}".strip()


def source(place: str | None) -> dict[str, str]:
    """Return from where the package is built."""
    if place is None:
        return {"path": str(ROOT)}
    address = place if "://" in place else Path(place).resolve().as_uri()
    with urllib.request.urlopen(address) as file:
        return {"url": address, "sha256": hashlib.sha256(file.read()).hexdigest()}


python = f"python {project['requires-python']}"
recipe = {
    "schema_version": 1,
    "package": {"name": project["name"], "version": scope["__version__"]},
    "source": source(sys.argv[1] if len(sys.argv) > 1 else None),
    "build": {
        "number": 0,
        "noarch": "python",
        "script": "python -m pip install . -vv --no-deps --no-build-isolation",
        "python": {"entry_points": [f"{name} = {at}" for name, at in project["scripts"].items()]},
    },
    "requirements": {
        "host": ["python 3.11.*", "pip", "setuptools >=77"],
        "run": [python, *map(conda, project["dependencies"])],
    },
    "tests": [
        {"python": {"imports": ["psmr", "partitioning"], "pip_check": True}},
        {"script": ["psmr --version", "psmr cases", "psmr run wscc9/fault-ibr -o fault"]},
    ],
    "about": {
        "summary": project["description"],
        "license": project["license"],
        "license_file": "docs/LICENSE",
        **({"homepage": project["urls"]["Source"]} if "Source" in project.get("urls", {}) else {}),
    },
}
# JSON is YAML.
print(json.dumps(recipe, indent=2))
