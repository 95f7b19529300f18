"""What can run code that is not psmr's own, or make pages, stands in few files, each for a reason."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

RUNS = {
    "exec", "eval", "__import__", "importlib.import_module", "importlib.util.spec_from_file_location",
    "runpy.run_path", "runpy.run_module", "pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load",
    "marshal.loads", "pd.read_pickle", "np.load", "yaml.load", "subprocess.run", "subprocess.Popen",
    "os.system", "os.popen", "ctypes.CDLL",
}  # fmt: skip

WORDS = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in (*RUNS, "allow_pickle")))

ALLOWED = {
    "psmr/base/modules.py": "modules of the user's own, where they are allowed, and names in psmr's source",
    "psmr/base/declared.py": "psmr's own modules, for what a name stands for in them",
    "psmr/cli/__init__.py": "an empty text",
    "psmr/dae/compile/code_cache.py": "entries of the cache, which are this user's",
    "psmr/devices/catalogue.py": "psmr's own modules, listed by their folder",
    "psmr/sampled/fmu.py": "parts of FMPy, which loads a unit of FMI that the user allowed",
    "psmr/sampled/isolated.py": "psmr itself as a process, which runs such a controller, and the C library",
    "psmr/sampled/library.py": "a controller that the user allowed, as a library",
    "psmr/study/file/recipe.py": "psmr's own modules",
    "psmr/study/file/study.py": "psmr's own modules, listed by their folder",
    "psmr/study/run/saved.py": "psmr's own modules, and those that the reader named",
    "psmr/sweep/workers.py": "what a sweep's own process sent its workers",
    "psmr/papers/catalogue.py": "psmr's own modules",
}


def calls(file):
    """Yield the dotted names of what a file calls, and of arguments that allow pickles."""
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if WORDS.search(text) else ():
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)
            for argument in node.keywords:
                if argument.arg == "allow_pickle" and not (
                    isinstance(argument.value, ast.Constant) and argument.value.value is False
                ):
                    yield "pickle.loads"


def test_what_runs_code_is_known():
    files = [*ROOT.glob("psmr/**/*.py"), *ROOT.glob("partitioning/**/*.py")]
    found = {file.relative_to(ROOT).as_posix() for file in files if RUNS & set(calls(file))}
    assert found == ALLOWED.keys()


def test_pages_are_made_by_one_environment_that_escapes():
    """Others would have to be told to escape; bokeh's does not."""
    makers = {"Environment", "Template", "from_string", "get_env"}
    found = set()
    for file in ROOT.glob("psmr/**/*.py"):
        text = file.read_text(encoding="utf-8")
        if "jinja2" in text or "bokeh" in text:
            made = {
                ast.unparse(node.func) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)
            }
            found |= {file.name} if makers & {name.split(".")[-1] for name in made} else set()
    assert found == {"render.py"}
    assert "|safe" not in "".join(
        path.read_text(encoding="utf-8").replace(" ", "") for path in ROOT.glob("psmr/**/templates/*.html")
    )
