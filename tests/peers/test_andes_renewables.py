"""Renewable plants: the eigenvalues of the nine-bus system with one at bus 3, in both programs.

ANDES 2.0 differs from the model guide in ways that the comparison sets alike:

- It divides the reactive power by the voltage and not by the filtered voltage: T_rv is zero here.
- It has a filter of 20 ms before the power order (its option tpfilt): that time constant is set to zero.
- With VFLAG = 1 the voltage loop is not given the voltage; with 0 it is. In REECA1 both of its switches are
  set after the start, which adds a constant and the voltage; REECB1 has no such switch and is compared with
  QFLAG = 0.
- Its reference with QFLAG = 1 is the difference of Vbias and the voltage: Vbias is the one that it starts
  with.
- A plant control without a branch measures no power: it measures the lossless transformer at the plant.
"""

import pytest

from psmr import build, read_case, write_case
from tests.internals import power_flow
from tests.peers.andes_system import load, start
from tests.peers.definitions import as_andes
from tests.peers.pairs import written
from tests.peers.pencils import differenced, eigenvalues, matched, own_eigenvalues

pytestmark = pytest.mark.peers

MACHINES = [
    f"{bus} 'GENROU' 1 8.0 0.03 0.4 0.05 6.5 0.0 1.8 1.7 0.3 0.55 0.25 0.06 0.04 0.3" for bus in (1, 2)
]
MACHINES += [f"{bus} 'SEXS' 1 0.1 10.0 20.0 0.1 -4.0 5.0" for bus in (1, 2)]
CONVERTER = "3 'REGCA1' 1 1 0.02 10.0 0.9 0.4 1.22 1.2 0.8 0.4 -1.3 0.02 0.7 99.0 -99.0 0.7"
TABLES = "-1.0 1.45 2.0 1.45 3.0 1.45 4.0 1.45 -1.0 1.45 2.0 1.45 3.0 1.45 4.0 1.45"
DIP = "0.85 1.2 0.0 -0.05 0.05 2.0 1.05 -1.05 0.0"
LOOPS = "0.05 4.0 -4.0 9.0 -9.0 0.1 2.0 0.5 40.0"
ORDER = "0.02 99.0 -99.0 1.2 0.0 1.5 0.05"
REECB1 = f"3 'REECB1' 1 0 {{flags}} {DIP} {LOOPS} {ORDER}"
REECA1 = f"3 'REECA1' 1 0 {{flags}} {DIP} 0.0 0.0 0.0 {LOOPS} {{bias!r}} {ORDER} {TABLES}"
# The frequency stays inside its dead band: ANDES measures it with two lags.
REPCA1 = (
    "3 'REPCA1' 1 0 {branch} '1' {plant} 0.02 2.0 5.0 0.05 0.15 0.7 0.01 0.05 0.02 0.1 -0.1 0.0 0.0 0.436"
    " -0.436 0.1 0.05 0.25 -0.0006 0.0006 99.0 -99.0 1.0 -1.0 0.1 20.0 20.0"
)

# Measured: 8e-8 at most, by the differences of ANDES' equations.
TOLERANCE = 2e-7

PLANTS = {
    "REECA1, voltage loop": (REECA1, "0 1 1 0 0", None),
    "REECA1, voltage as reference": (REECA1, "0 0 1 0 1", None),
    "REECA1, reactive power": (REECA1, "0 0 0 0 0", None),
    "REECA1, power factor": (REECA1, "1 0 0 0 0", None),
    "REECB1, reactive power": (REECB1, "0 1 0 0", None),
    "REECB1, power factor": (REECB1, "1 1 0 1", None),
    "REPCA1, reactive droop": (REECA1, "0 0 0 0 0", "0 1 1"),
    "REPCA1, compensation": (REECA1, "0 0 0 0 0", "1 1 1"),
    "REPCA1, reactive power": (REECA1, "0 0 0 0 0", "0 0 0"),
}


def pencils(raw, folder, name):
    """Return the eigenvalues of psmr and of ANDES."""
    control, flags, plant = PLANTS[name]
    records = [*MACHINES, CONVERTER, control, *([REPCA1] if plant else [])]
    flow = power_flow(read_case(raw), tolerance=1e-12)
    bias = 1.025 + (float(flow.q[2]) if flags.startswith("0 1 1") else 0.0)
    ours, theirs = (
        written(
            folder / f"{branch[0]}.dyr",
            [r.format(flags=flags, bias=bias, branch=branch, plant=plant) for r in records],
        )
        for branch in ("0 0", "3 9")
    )
    case = as_andes(read_case(raw, ours, mechanical="torque"))
    system = load(raw, theirs)
    start(system)
    for model in (system.REECA1, system.REECB1):
        system.dae.Tf[model.pfilt_y.a] = 0.0
    system.REECA1.SWV.s0[:] = 1.0
    found = build(case, power_flow(case, tolerance=1e-12))
    return own_eigenvalues(found), eigenvalues(system, differenced(system))


@pytest.mark.parametrize("name", PLANTS)
def test_eigenvalues(wscc9, tmp_path, name):
    short = tmp_path / "short.raw"
    short.write_text((wscc9 / "wscc9.raw").read_text().replace("1.025,0,128.0", "1.025,0,100.0"))
    raw, *_ = write_case(read_case(short), tmp_path / "case.raw")
    error, _, _ = matched(*pencils(raw, tmp_path, name))
    assert error[0] <= TOLERANCE
