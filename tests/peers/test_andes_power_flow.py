"""The power flow of the PSS/E and MATPOWER files that the ANDES package carries, against ANDES' own.

Left out: nordic44, where ANDES 2.0 finds no solution from its start, and wscc9_3wxfr, whose winding without
impedance it gives a reactance of 1e-8 and then a voltage of zero.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from psmr.grid.powerflow import power_flow
from psmr.io.read import read_case

andes = pytest.importorskip("andes")
CASES = Path(andes.__file__).parent / "cases"

# ANDES adds 1e-8 pu to r and x of every branch, so that none is divided by zero
# (andes.models.line.line.Line, y_hk). The comparison adds the same.
GUARD = 1e-8


@pytest.mark.peers
@pytest.mark.parametrize(
    "name",
    [
        "ieee14/ieee14.raw",
        "ieee39/ieee39.raw",
        "kundur/kundur.raw",
        "npcc/npcc.raw",
        "wecc/wecc.raw",
        "wscc9/wscc9.raw",
        "matpower/case14.m",
        "matpower/case118.m",
        "matpower/case300.m",
    ],
)
def test_voltages_and_angles(name):
    case = read_case(CASES / name, frequency_hz=60.0 if name.endswith(".m") else None)
    guarded = {
        table: tuple(
            dataclasses.replace(row, r=row.r + GUARD, x=row.x + GUARD) for row in getattr(case, table)
        )
        for table in ("lines", "transformers")
    }
    ours = power_flow(dataclasses.replace(case, **guarded), tolerance=1e-12)
    system = andes.load(str(CASES / name), setup=True, no_output=True, default_config=True)
    system.PFlow.config.tol = 1e-12
    system.PFlow.run()
    assert system.PFlow.converged
    place = {int(number): i for i, number in enumerate(system.Bus.idx.v)}
    order = [place[bus.number] for bus in case.buses]
    np.testing.assert_allclose(ours.v, system.Bus.v.v[order], rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.angle, system.Bus.a.v[order], rtol=0, atol=1e-8)
