"""Controllers of the project's own, in C, compiled where there is a compiler."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "code"
COMPILER = shutil.which("cc") or shutil.which("gcc")


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Return what compiles a source with choices into a library, once for each."""
    if COMPILER is None or sys.platform == "win32":
        pytest.skip("no C compiler to make a controller with")
    folder = tmp_path_factory.mktemp("code")

    def build(*choices, source="scrx"):
        path = folder / f"{source}{''.join(choices)}.so"
        if not path.exists():
            flags = [f"-D{choice}" for choice in choices]
            command = [
                COMPILER,
                "-O1",
                "-shared",
                "-fPIC",
                *flags,
                "-o",
                path,
                SOURCES / f"{source}.c",
                "-lm",
            ]
            subprocess.run(command, check=True)
        return path

    return build
