"""What a command imports: only what it uses, since half of a warm run is imports."""

import subprocess
import sys

NEVER = ("pandas", "matplotlib", "sympy", "networkx", "bokeh", "distributed", "pyarrow", "tqdm")
LATER = ("numpy.f2py", "numpy.testing")

RUN = """
import sys
from psmr.cli import main
sys.argv = ["psmr", "run", "wscc9/fault", "-o", sys.argv[1]]
code = main()
named = {name.partition(".")[0] for name in sys.modules}
print([name for name in %r if name in named])
print([name for name in %r if type(sys.modules.get(name)).__name__ != "_LazyModule"])
import numpy
print(numpy.f2py.get_include()[-3:], numpy.testing.assert_allclose(1.0, 1.0))
"""


def test_a_run_imports_neither_tables_nor_figures_nor_what_scipy_takes_of_numpy(tmp_path):
    """Modules that are put off are there when something of them is used."""
    code = RUN % (NEVER, LATER)
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-3:] == ["[]", "[]", "src None"]
