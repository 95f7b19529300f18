"""Compare the wheel and the sdist in a folder with the repository: `python .ci/distributions.py dist`.

The wheel has psmr and partitioning with what belongs into them from elsewhere (cases, pages of the course),
every file that git knows of them and no other; the sdist has what it was made from, readme, licence and
citation. No file is a symbolic link, which a clone may lack.
"""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

folder = Path(sys.argv[1])
(wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
git = subprocess.run("git ls-files -s", shell=True, text=True, stdout=subprocess.PIPE)
modes = {
    name: mode.split()[0] for mode, _, name in (line.partition("\t") for line in git.stdout.splitlines())
}
if git.returncode:
    print("no repository of git: compared with the files that are here")
    here = (path for path in Path().rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    modes = {path.as_posix(): "120000" if path.is_symlink() else "100644" for path in here}
code = {name for name in modes if name.startswith(("psmr/", "partitioning/"))}
setup = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
moved = {
    name: name.replace(folder, package.replace(".", "/"), 1)
    for package, folder in setup["package-dir"].items()
    for name in modes
    if name.startswith(f"{folder}/")
}

found = zipfile.ZipFile(wheel).namelist()
about = {name.partition(".dist-info/")[2] for name in found if ".dist-info/" in name}
packed = {name for name in found if ".dist-info/" not in name}
with tarfile.open(sdist) as archive:
    sources = {name.partition("/")[2] for name in archive.getnames()}
cited = {"docs/LICENSE", "docs/CITATION.cff"}
wrong = {
    "symbolic links": {name for name, mode in modes.items() if mode == "120000"},
    "files that the wheel lacks or should not have": packed ^ (code | set(moved.values())),
    "texts that the wheel lacks": {f"licenses/{name}" for name in cited} - about,
    "files that the sdist lacks": (code | set(moved) | cited | {"pyproject.toml", "README.md"}) - sources,
}
for words, names in wrong.items():
    if names:
        print(f"{words}: {', '.join(sorted(names))}")
print(f"{wheel.name}: {len(packed)} files, {len(moved)} from elsewhere; {sdist.name}: {len(sources)} files")
sys.exit(any(wrong.values()))
