"""The renewable plant's eigenvalues by PowerSimulationsDynamics.jl: which parameters and start they are of.

All five lists are of the file with default flags: its plant control has a dead band of 1 %, in which the
regulator does nothing at rest and its integrator is an eigenvalue 0. The files of the traces with REF_FLAG
have other gains and no dead band. Zeros beyond psmr's are blocks that a flag leaves out. The list of DERA1 is
of PfFlag = 0 with loads as impedances.
"""

import dataclasses
import tomllib

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import psmr
from tests.files.psse.traces import HERE, TRACES

LISTS = tomllib.loads((HERE / "RENA" / "eigenvalues.toml").read_text())
# The two lists of a system that the program builds itself: 9e-6 pu less at bus 103, as its own power flow
# leaves there, make 2.5e-6 of 8e-5 in both of them.
SHIFT = -9.15e-6
CASES = {
    "test29_eigvals_Rflag": ("default flags", {"ref_flag": 1.0}, 0.0),
    "test29_eigvals_Rflag_no_Vflag": ("default flags", {"ref_flag": 1.0}, 0.0),
    "test29_eigvals_Rflag_Qflag": ("default flags", {"ref_flag": 1.0, "v_flag": 1.0, "q_flag": 1.0}, 0.0),
    "test29_eigvals": ("default flags", {}, SHIFT),
    "test29_eigvals_fflag": ("frequency flag", {}, SHIFT),
    "test42_eigvals_freqflag0": ("DERA1", {"pf_flag": 0.0}, 0.0),
}
# psmr measures the frequency by a filter, whose 1/t_f = 25 that program has not; it has two blocks fewer.
FILTER = -25.0


def plant(words, flags, shift):
    """Return the case of a trace with other flags, and another voltage at bus 103."""
    trace = next(t for t in TRACES if t.name in (words, f"renewable plant, {words}"))
    case = dataclasses.replace(trace, given={"loads": "impedance"}).case(HERE)
    rows = []
    for generator in case.generators:
        devices = tuple(
            dataclasses.replace(
                row, parameters={**row.parameters, **{k: v for k, v in flags.items() if k in row.parameters}}
            )
            for row in generator.devices
        )
        v = generator.v + shift if generator.bus == 103 else generator.v
        rows.append(dataclasses.replace(generator, devices=devices, v=v))
    return dataclasses.replace(case, generators=tuple(rows))


def distance(ours, theirs):
    """Return the largest relative distance of the pairs that fit best; what one side has more are zeros."""
    apart = np.abs(ours[:, None] - theirs) / np.abs(theirs).clip(1e-2)
    i, j = linear_sum_assignment(apart)
    left = [*np.delete(ours, i), *np.delete(theirs, j)]
    return apart[i, j].max(), left


@pytest.mark.parametrize("name", CASES)
def test_eigenvalues(name):
    words, flags, shift = CASES[name]
    theirs = np.array([complex(*pair) for pair in LISTS[name]])
    ours = np.linalg.eigvals(psmr.build(plant(words, flags, shift)).linearise().state_matrix())
    if words == "frequency flag":
        ours = np.delete(ours, np.abs(ours - FILTER).argmin())
    found, left = distance(ours, theirs)
    assert found < 1e-5
    # What has no partner: a zero, or the filter of the voltage that acts on nothing.
    assert all(abs(x) < 1e-6 or abs(x + 50) < 1e-6 for x in left)


def test_without_the_shift():
    """The difference that is left where the voltage is the file's."""
    theirs = np.array([complex(*pair) for pair in LISTS["test29_eigvals"]])
    ours = np.linalg.eigvals(psmr.build(plant("default flags", {}, 0.0)).linearise().state_matrix())
    assert 5e-5 < distance(ours, theirs)[0] < 1e-4
