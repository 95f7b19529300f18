"""Print the lowest versions that pyproject.toml allows, one a line, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
for needed in (*project["dependencies"], *extras["report"]):
    name, lowest = re.fullmatch(r"([A-Za-z0-9-]+)>=([0-9.]+)(?:,<[0-9.]+)?", needed).groups()
    print(f"{name}=={lowest}")
