"""Units of FMI made of `unit.c`: compiled, described and zipped."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

COMPILER = shutil.which("cc") or shutil.which("gcc")
MISSING = "no C compiler to make a unit with" if COMPILER is None or sys.platform != "linux" else ""

HEAD = """<UnitDefinitions>
  <Unit name="pu"/>
  <Unit name="volt"><BaseUnit kg="1" m="2" s="-3" A="-1"/></Unit>
  <Unit name="kilovolt"><BaseUnit kg="1" m="2" s="-3" A="-1" factor="1000"/></Unit>
  <Unit name="degree"><BaseUnit rad="1" factor="0.017453292519943295"/></Unit>
  <Unit name="radians per second"><BaseUnit s="-1" rad="1"/></Unit>
  <Unit name="second"><BaseUnit s="1"/></Unit>
</UnitDefinitions>
<LogCategories><Category name="logStatusError"/></LogCategories>
<DefaultExperiment stepSize="0.001"/>"""

# Name, value reference, type of FMI 3, causality, variability, start, more attributes.
VARIABLES = [
    ("v_ref", 1, "Float64", "input", "continuous", "1", 'unit="pu"'),
    ("v_s", 2, "Float64", "input", "continuous", "0", 'unit="pu"'),
    ("v_c", 3, "Float64", "input", "continuous", "1", 'unit="pu"'),
    ("v_t", 4, "Float64", "input", "continuous", "1", 'unit="pu"'),
    ("i_f", 5, "Float64", "input", "continuous", "0", 'unit="pu"'),
    ("blocked", 6, "Boolean", "input", "discrete", "false", ""),
    ("v_f", 8, "Float64", "output", "continuous", None, 'unit="pu"'),
    ("samples", 9, "Int32", "output", "discrete", None, ""),
    ("k", 10, "Float64", "parameter", "fixed", "100", 'unit="pu" min="0" max="1000"'),
    ("t_b", 11, "Float64", "parameter", "fixed", "10", 'unit="second" min="0.001"'),
    ("e_max", 12, "Float64", "parameter", "tunable", "5", 'unit="pu" max="10"'),
    ("c_switch", 13, "Boolean", "parameter", "fixed", "true", ""),
    ("v_f_0", 14, "Float64", "parameter", "fixed", "0", 'unit="pu"'),
]
TIME = '<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>'
OLD = {"Float64": "Real", "Float32": "Real", "Int32": "Integer", "Int64": "Integer", "Boolean": "Boolean"}


def described(fmi, variables=VARIABLES, face="", kind="CoSimulation", version=None, more=""):
    """Return the description of the unit."""
    version = version or f"{fmi}.0"
    if fmi == 2:
        states = face.replace("FMUState", "FMUstate")
        rows = "".join(
            f'<ScalarVariable name="{name}" valueReference="{at}" causality="{causality}" '
            f'variability="{variability}"><{OLD[of]}{"" if start is None else f" start={start!r}"} '
            f"{attributes}/></ScalarVariable>"
            for name, at, of, causality, variability, start, attributes in variables
        )
        outputs = "".join(
            f'<Unknown index="{k}"/>' for k, row in enumerate(variables, 1) if row[3] == "output"
        )
        return (
            f'<fmiModelDescription fmiVersion="{version}" modelName="SCRX at samples" guid="{{scrx}}">'
            f'<{kind} modelIdentifier="scrx" {states}/>{HEAD}<ModelVariables>{rows}</ModelVariables>'
            f"<ModelStructure><Outputs>{outputs}</Outputs></ModelStructure></fmiModelDescription>"
        ).replace("'", '"')
    rows = "".join(
        f'<{of} name="{name}" valueReference="{at}" causality="{causality}" variability="{variability}"'
        f"{'' if start is None else f' start={start!r}'} {attributes}/>"
        for name, at, of, causality, variability, start, attributes in variables
    )
    outputs = "".join(f'<Output valueReference="{row[1]}"/>' for row in variables if row[3] == "output")
    return (
        f'<fmiModelDescription fmiVersion="{version}" modelName="SCRX at samples" '
        f'instantiationToken="{{scrx}}"><{kind} modelIdentifier="scrx" {face}/>{HEAD}'
        f"<ModelVariables>{TIME}{rows}{more}</ModelVariables>"
        f"<ModelStructure>{outputs}</ModelStructure></fmiModelDescription>"
    ).replace("'", '"')


STATE = 'canGetAndSetFMUState="true"'
WRITTEN = f'{STATE} canSerializeFMUState="true"'


def build(folder, fmi, *choices, face=WRITTEN, place=None, **about):
    """Return the path of a unit in a folder, made where it is not there."""
    folder = Path(folder)
    library = folder / f"scrx{fmi}{''.join(choices)}.so"
    if not library.exists():
        flags = [f"-DFMI={fmi}", *(f"-D{choice}" for choice in choices)]
        source = Path(__file__).with_name("unit.c")
        subprocess.run(
            [COMPILER, "-O1", "-w", "-shared", "-fPIC", *flags, "-o", library, source, "-lm"], check=True
        )
    place = place or ("linux64" if fmi == 2 else "x86_64-linux")
    path = folder / f"{library.stem}-{abs(hash((face, place, repr(about))))}.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", described(fmi, face=face, **about))
        archive.write(library, f"binaries/{place}/scrx.so")
    return path
