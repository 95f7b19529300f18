"""A common step of the self-adjusting scheme as a matrix, held against the steps of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import psmr
from psmr.dae.declare.component import Component, Parameter
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.errors import SchemeError
from psmr.numerics.refine.activity import OwnSteps, evenly
from psmr.numerics.schemes.nested_step import NestedStep
from psmr.numerics.step import variable


class Slow(Component):
    """A cell of a chain, x' = 2 (left + k o - x), and what it shows of itself."""

    states = ("x",)
    algebraic = ("y",)
    inputs = ("left", "o")
    k = Parameter(unit="", doc="what it reads of an oscillator", default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (2.0 * (v.left + p.k * v.o - v.x),), (v.y - 0.9 * v.x - 0.1 * v.left,), ()


class Oscillator(Component):
    """An undamped oscillator that is driven by a cell."""

    states = ("x", "v")
    inputs = ("u",)
    f = Parameter(unit="Hz", doc="frequency", default=50.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (2 * np.pi * p.f * v.v, 2 * np.pi * p.f * (0.1 * v.u - v.x)), (), ()


def chain(*frequencies: float) -> Any:
    """A chain of 300 cells, of which one reads the last oscillator, and each oscillator the one before."""
    devices = [
        Device(
            f"S{i}",
            Slow,
            {"k": 0.1 if i == 4 else 0.0},
            {"o": "O0.x"} | ({"left": f"S{i - 1}.y"} if i else {}),
        )
        for i in range(300)
    ]
    devices += [
        Device(f"O{j}", Oscillator, {"f": f}, {"u": "S2.y" if j == 0 else f"O{j - 1}.x"})
        for j, f in enumerate(frequencies)
    ]
    return assemble(devices, {"S0.left": 1.0, **{f"O{j}.x": 1.0 for j in range(len(frequencies))}})


def at_rest(linear: Any) -> Any:
    """Where the equations, which are affine, are at rest: S0.left is 1 and not in the Jacobian."""
    constant = np.zeros(linear.n + linear.m)
    constant[linear.names_x.index("S0.x")] = 2.0
    constant[linear.n + linear.names_y.index("S0.y")] = -0.1
    return -np.linalg.solve(linear.jacobian().toarray(), constant)


@pytest.mark.parametrize("method", ["TR-BDF2", "ESDIRK32", "ESDIRK43"])
def test_the_map_is_what_a_refined_step_does(monkeypatch, method):
    monkeypatch.setattr(variable, "LEAST_ACCURATE", 1e-13)  # Newton to the end
    system, scheme = chain(50.0), psmr.SelfAdjusting(1e-3, method=method)
    linear = system.linearise()
    run = psmr.simulate(system, scheme, t_end=1.0, certify=False)
    activity, still = run.refined_steps, at_rest(linear)
    points = np.hstack([run.x, run.y]) - still
    size, off, seen, before = linear.n + linear.m, None, 0, []
    for k, (begin, end) in enumerate(activity.intervals):
        levels = activity.levels(k)
        devices = [level.devices for level in levels]
        if off is not None and devices != before:  # rates are carried over in other rows than of this split
            off = None
            if levels:
                break
        if not levels:
            continue
        before = devices
        at = int(np.searchsorted(run.t, begin - 1e-12))
        matrix = psmr.step_operator(linear, scheme.at_split(float(end - begin), levels))
        off = np.zeros(len(matrix) - size) if off is None else off
        after = matrix @ np.concatenate([points[at], off])
        assert np.abs(after[:size] - points[at + 1]).max() < 1e-11
        off, seen = after[size:], seen + 1
    assert seen >= 5, seen


def test_with_equal_steps_at_every_level_no_mode_of_its_own_is_bent_by_the_others():
    """An oscillator that reads nothing has the multiplier of its own steps, to the power of their number."""
    linear = assemble(
        [
            Device("S", Slow, {}, {}),
            Device("A", Oscillator, {"f": 1.0}, {}),
            Device("B", Oscillator, {"f": 50.0}, {}),
        ],
        {"S.left": 1.0, "A.u": 0.0, "B.u": 0.0, "S.o": 0.0, "A.x": 1.0, "B.x": 1.0},
    ).linearise()
    few = evenly((1.0,), 4)
    step = NestedStep("ESDIRK43", 0.2, (OwnSteps(("A",), few), OwnSteps(("B",), evenly(few, 200))))
    report = psmr.deformation(linear, step)
    for name, f, count in (("A", 1.0, 4), ("B", 50.0, 200)):
        alone = psmr.deformation(linear, psmr.SingleRate("ESDIRK43", 0.2 / count))
        at = [int(np.argmin(np.abs(r.columns["imag"] - 2 * np.pi * f))) for r in (report, alone)]
        ours, theirs = (
            r.columns["real_numerical"][j] + 1j * r.columns["imag_numerical"][j]
            for r, j in zip((report, alone), at, strict=True)
        )
        assert ours == pytest.approx(theirs, rel=1e-9), name


def test_levels_that_are_out_of_order_are_refused():
    with pytest.raises(SchemeError, match="each with steps within those of the one before"):
        NestedStep("ESDIRK43", 0.1, (OwnSteps(("A",), (0.5, 1.0)), OwnSteps(("B",), (0.3, 0.7, 1.0))))
    with pytest.raises(SchemeError, match="A is in two levels"):
        NestedStep("ESDIRK43", 0.1, (OwnSteps(("A",), (0.5, 1.0)), OwnSteps(("A",), (0.25, 0.5, 1.0))))


def test_the_certificate_names_the_split_and_represents_its_mode():
    run = psmr.simulate(chain(50.0), psmr.SelfAdjusting(1e-3), t_end=1.0)
    first, *_ = run.certificate.at_steps
    assert "% of the time (O0, 2 states, in steps of H/" in first.which
    assert all(step.mode_numerical is not None for step in run.certificate.at_steps)
    assert run.certificate.deformation < 1e-3
    assert run.certificate.partition == "found anew in each common step H"
    assert all("levels" not in step for step in run.certificate.record()["at_steps"])
