"""Put compiled code into a wheel of psmr: `python .ci/compiled_wheel.py dist/psmr-1.0.0-py3-none-any.whl`.

Lets `psmr warmup` of the wheel compile for every processor of this platform's kind
(`psmr.dae.compile.shipped_code`), and writes beside it a wheel of this Python and platform that has the code
as ``psmr/compiled``; prints its path. Runs in an environment with psmr's dependencies: the code serves the
versions of numba and llvmlite that are installed there, and psmr compiles as ever where there are others. The
wheel has the tags of llvmlite's own, without which it is nothing.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

TARGET = """
import json
from psmr.dae.compile.shipped_code import portable_target
target = portable_target()
print(json.dumps(target and target.environment))
"""


def main(wheel: Path) -> Path:
    """Write the wheel with compiled code and return its path."""
    lines = (distribution("llvmlite").read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")]
    with tempfile.TemporaryDirectory() as place:
        return with_files(wheel, compiled(wheel, Path(place)), tags)


def compiled(wheel: Path, place: Path) -> dict[str, bytes]:
    """Return machine code of a wheel by its path in it, compiled in an empty folder."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place / "psmr")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment = kept | {"PYTHONPATH": str(place / "psmr"), "PSMR_CACHE_DIR": str(place / "compiled")}

    def output(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, check=True, cwd=place, env=environment, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    target = json.loads(output("-c", TARGET))
    if target is None:
        sys.exit("psmr.dae.compile.shipped_code knows no kind of processors for this machine")
    environment |= target
    print(output("-m", "psmr", "warmup").strip(), file=sys.stderr)
    return {
        f"psmr/{file.relative_to(place).as_posix()}": file.read_bytes()
        for file in sorted((place / "compiled").rglob("*"))
        if file.is_file() and not file.name.startswith(".")
    }


def with_files(wheel: Path, files: dict[str, bytes], tags: list[str]) -> Path:
    """Write a wheel with more files, and of other tags, beside a wheel; return its path."""
    python, abi, _ = tags[0].split("-")
    name, version = wheel.name.split("-")[:2]
    info, platforms = f"{name}-{version}.dist-info", ".".join(tag.split("-")[2] for tag in tags)
    made = wheel.with_name(f"{name}-{version}-{python}-{abi}-{platforms}.whl")
    with zipfile.ZipFile(wheel) as old:
        content = {file: old.read(file) for file in old.namelist() if file != f"{info}/RECORD"}
    head = content[f"{info}/WHEEL"].decode().splitlines()
    head = [line for line in head if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    head += ["Root-Is-Purelib: false", *(f"Tag: {tag}" for tag in tags), ""]
    content |= {**files, f"{info}/WHEEL": "\n".join(head).encode()}
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for file, data in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.writerow([file, f"sha256={digest}", len(data)])
    rows.writerow([f"{info}/RECORD", "", ""])
    content[f"{info}/RECORD"] = record.getvalue().encode()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for file, data in content.items():
            new.writestr(file, data)
    return made


if __name__ == "__main__":
    print(main(Path(sys.argv[1]).resolve()))
