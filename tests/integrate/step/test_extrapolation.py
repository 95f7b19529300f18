"""Where Newton begins: stages extrapolated from points of this step and of the one before it."""

import numpy as np
import pytest

import psmr
from tests import systems
from tests.internals import COUNT, EXTRAPOLATE, LIST, OPERATION, PAIRS, extrapolate


def _third_order(tableau, name, stretch):
    """Return (s, value) of a point of the step before, `stretch` times as long, or of this one, on x = t^3.

    The rates are those at the stages: x_i = h sum a_ij 3 (c_j h)^2, and the end of a step is a stage too.
    """
    A, c = tableau.A, tableau.c
    own = name.removeprefix("older ")
    i = 0 if own == "now" else int(own.removeprefix("stage ")) - 1
    if name == own:
        return c[i], float(A[i] @ (3.0 * c**2))
    there = c - 1.0
    end = float(tableau.b @ (3.0 * there**2))
    return stretch * there[i], stretch**3 * (float(A[i] @ (3.0 * there**2)) - end)


@pytest.mark.parametrize("name", sorted(PAIRS))
@pytest.mark.parametrize("stretch", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("known", ["all", "this step"])
def test_a_stage_is_extrapolated_as_the_method_gives_it(name, stretch, known):
    """A parabola exactly, and from four points on the cubic terms that the stages have."""
    system, h, t = systems.quadratic().system, 0.25, 1.5
    scheme = psmr.VariableStep(1e-4, method=name)
    w = np.append(system.w0, 0.0)
    engine = scheme.engine(system, system.parameters, w, False).stepper
    machine, places = engine.ready(w), engine.encoded.places
    names = {place: point for point, place in places.items()}
    tableau = PAIRS[name].tableau
    stage = 1
    for row in machine.code:
        if row[OPERATION] != EXTRAPOLATE:
            continue
        stage += 1
        there = 0
        for place in row[LIST : LIST + row[COUNT]]:
            s, cube = _third_order(tableau, names[place], stretch)
            machine.points[place, :2] = 1.0 + s * h - 2.0 * (s * h) ** 2, cube * h**3
            missing = known == "this step" and names[place].startswith("older ")
            machine.points[place, -1] = np.nan if missing else t + s * h
            there += not missing
        extrapolate(machine, row, machine.numbers, t, h, w)
        s, cube = _third_order(tableau, f"stage {stage}", stretch)
        if there >= 3:
            assert w[0] == pytest.approx(1.0 + s * h - 2.0 * (s * h) ** 2, abs=1e-10)
        if there >= 4:
            assert w[1] == pytest.approx(cube * h**3, abs=1e-10)
    assert stage == tableau.stages
