"""One step of one level, and what it says of the error; compiled.

A level below the first takes the variables that it reads of others from the polynomial through the start, the
inner stages and the end of the step that these have taken: for states and algebraic variables alike, of the
order of the stages at least.
"""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.numerics.refine.nest import AT, CARRIED, LOGGED, RECENT, STEP
from psmr.numerics.refine.split import add, clear
from psmr.numerics.refine.watch import errors_of_sets
from psmr.numerics.solve.explicit import project
from psmr.numerics.solve.lu import solve
from psmr.numerics.solve.passes import copy
from psmr.numerics.solve.records import VALID, kept_of, limits_of, lu_of, matrix_of, work_of
from psmr.numerics.solve.solver import ALL
from psmr.numerics.solve.status import DONE
from psmr.numerics.step.encoded import (
    AT_START,
    BLOCK,
    EXTRAPOLATE,
    NUMBERS,
    OPERATION,
    RATE,
    SAVE,
    STAGE,
    TARGET,
)
from psmr.numerics.step.estimate import filtered_estimate, largest_error, local_errors
from psmr.numerics.step.extrapolation import extrapolate
from psmr.numerics.step.instructions import stage
from psmr.numerics.step.machine import AUTONOMOUS, EFFORT, VALID_OF

# Where a set took more steps than this in a step of the last length, its estimate there says nothing: the set
# stays refined until its own steps say otherwise.
BLIND = 3.0


@lean
def interpolation(nodes, q, weights):  # type: ignore[no-untyped-def]
    """Write the weights at q of the polynomial through values at the nodes."""
    for j in range(nodes.size):
        weight = 1.0
        for i in range(nodes.size):
            if i != j:
                weight *= (q - nodes[i]) / (nodes[j] - nodes[i])
        weights[j] = weight


@lean
def outside(machine, nest, frame, level, time, w):  # type: ignore[no-untyped-def]
    """Write the variables that a level reads of others as they are at a time within their steps."""
    points, nodes, weights, places = machine.points, nest.nodes, nest.weights, nest.node_points
    last = places.size
    for k in range(level):
        interpolation(nodes, (time - nest.clock[k, AT]) / nest.clock[k, STEP], weights[k])
    for i in range(nest.reads[level]):
        v = nest.read[level, i]
        k = nest.level_of[frame.atom[v]]
        value = weights[k, last] * nest.final[v]
        for j in range(last):
            value += weights[k, j] * points[places[j], v]
        w[v] = value


@lean
def _keep(source, target, variables, level):  # type: ignore[no-untyped-def]
    """Keep the point of a level, with its time: all of it, or the level's own variables."""
    if level == 0:
        copy(source, target)
    else:
        for v in variables:
            target[v] = source[v]
        target[target.size - 1] = source[source.size - 1]


@lean
def attempt(machine, nest, frame, level, effort, w):  # type: ignore[no-untyped-def]
    """Take the present step of a level from the point in w, with an effort of its solves; return a status."""
    block, state, points = nest.blocks[level], machine.state, machine.points
    machine.blocks[0] = block
    variables = matrix_of(block).variables
    t, h = nest.clock[level, AT], nest.clock[level, STEP]
    for k in range(nest.outliving.shape[0]):
        points[nest.outliving[k, 1], w.size - 1] = nest.times[level, k]
    w[w.size - 1] = t
    _keep(w, points[AT_START], variables, level)
    if level > 0:
        state[VALID_OF] = -1
    for at in range(machine.code.shape[0]):
        row = machine.code[at]
        operation = row[OPERATION]
        if operation == RATE:
            if level == 0 and nest.state[CARRIED] == 0:
                if state[VALID_OF] != row[BLOCK] or state[AUTONOMOUS] == 0:
                    kept_of(block).memory[VALID] = 0.0
                project(block, w, machine.rates[row[TARGET]])
                state[VALID_OF] = row[BLOCK]
        elif operation == EXTRAPOLATE:
            extrapolate(machine, row, machine.numbers, t, h, w)
        elif operation == SAVE:
            _keep(w, points[row[TARGET]], variables, level)
        elif operation == STAGE:
            if level > 0:
                outside(machine, nest, frame, level, t + h * machine.numbers[row[NUMBERS]], w)
                state[VALID_OF] = -1
            state[EFFORT] = effort
            status = stage(machine, row, machine.numbers, t, h, w)
            state[EFFORT] = ALL
            if status != DONE:
                return status
    return DONE


@lean
def outlive(machine, nest, level, w):  # type: ignore[no-untyped-def]
    """Keep the points of an accepted step of a level that the next one begins with."""
    points, variables = machine.points, matrix_of(nest.blocks[level]).variables
    for k in range(nest.outliving.shape[0]):
        source, target = points[nest.outliving[k, 0]], points[nest.outliving[k, 1]]
        _keep(source, target, variables, level)
        nest.times[level, k] = source[source.size - 1]


@lean
def flatten(machine, nest, level, w):  # type: ignore[no-untyped-def]
    """Let the variables of a level that was refined begin the next step above where they are."""
    points = machine.points
    for v in matrix_of(nest.blocks[level]).variables:
        for k in range(nest.outliving.shape[0]):
            points[nest.outliving[k, 1], v] = w[v]


@lean
def weigh(machine, control, nest, frame, level, w):  # type: ignore[no-untyped-def]
    """Estimate the error of the present step of a level by sets; return (largest error, largest to go by).

    Both in units of the tolerance; by the second a set also counts that the step is too long to see.
    """
    h = nest.clock[level, STEP]
    error, block = nest.error, nest.blocks[level]
    filtered_estimate(block, machine.rates, control.difference, h, w)
    largest = largest_error(block, w, control.tolerance)
    if level == 0:
        for a in range(error.size):
            error[a] = 0.0
    else:
        for k in range(nest.counts[level]):
            error[nest.members[level, k]] = 0.0
    errors_of_sets(block, frame.atom, control.tolerance, error, w)
    seen = largest
    clear(nest.bins)
    if level == 0:
        for k in range(nest.state[RECENT]):
            a = nest.recent[k]
            if nest.pace[a] * h > BLIND:
                error[a] = max(error[a], (nest.pace[a] * h) ** control.order)
                seen = max(seen, error[a])
        for a in range(error.size):
            add(nest.bins, error[a], frame.sizes[a])
    else:
        for k in range(nest.counts[level]):
            a = nest.members[level, k]
            if nest.pace[a] * h > BLIND:
                error[a] = max(error[a], (nest.pace[a] * h) ** control.order)
                seen = max(seen, error[a])
            add(nest.bins, error[a], frame.sizes[a])
    return largest, seen


@lean
def remaining(machine, control, nest, frame, level, above, w):  # type: ignore[no-untyped-def]
    """Return the largest error of a step of a level that is left when sets with an error `above` add none.

    An error shows where it is large, which need not be where it arises: a regulator with a high gain has that
    of the voltage it measures. Steps of its own do not mend it.
    """
    block = nest.blocks[level]
    local_errors(block, machine.rates, control.difference, nest.clock[level, STEP])
    work, variables = work_of(block), matrix_of(block).variables
    for i in range(work.known.size):
        if nest.error[frame.atom[variables[i]]] > above:
            work.defect[i] = 0.0
    solve(lu_of(block), work.defect, work.update)
    return largest_error(block, w, control.tolerance)


@lean
def settle(machine, nest, frame, level):  # type: ignore[no-untyped-def]
    """Let the next step of a level begin with the rates at the end of this one, but for what is refined.

    A state that its limit holds stands still.
    """
    block, rates = nest.blocks[level], machine.rates
    variables, limits = matrix_of(block).variables, limits_of(block)
    for i in range(work_of(block).known.size):
        v = variables[i]
        if nest.level_of[frame.atom[v]] == level:
            rates[nest.first, v] = rates[nest.last, v]
    for b in range(limits.bounded.size):
        v = variables[limits.bounded[b]]
        if limits.held[b] != 0 and nest.level_of[frame.atom[v]] == level:
            rates[nest.first, v] = 0.0


@lean
def account(nest, h, order):  # type: ignore[no-untyped-def]
    """Take down what the refined sets needed in the accepted step of all, and write the log."""
    state = nest.state
    for k in range(state[RECENT]):
        nest.pace[nest.recent[k]] = 0.0
    for k in range(nest.counts[1]):
        a = nest.members[1, k]
        nest.recent[k] = a
        nest.pace[a] = nest.need[a] / h
        nest.error[a] = nest.need[a] ** order
        nest.log_set[state[LOGGED]], nest.log_steps[state[LOGGED]] = a, nest.taken[a]
        state[LOGGED] += 1
    state[RECENT] = nest.counts[1]
