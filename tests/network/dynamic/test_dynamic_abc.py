"""Networks with their own dynamics against equations in phase quantities, integrated otherwise."""

import copy
import itertools

import numpy as np
import pytest

import psmr
from tests.network.dynamic.phase_equations import (
    B0,
    FIVE,
    NINE,
    THREE,
    InductiveFault,
    made,
    phases,
    reference,
)

BEGIN, END, LAST = 0.01, 0.03, 0.05
SHORT = 0.014
"""End of a fault whose phases are joined directly: the reference takes steps of a microsecond in it."""


def star(phases, r, joint=1e-3):
    """Return the conductances of phases that are joined through `joint` each, and to ground through r."""
    own = [k for k, letter in enumerate("abc") if letter in phases]
    g = np.zeros((3, 3))
    if len(own) == 2 and "g" in phases:
        # The point of the star eliminated.
        total = 2 / joint + 1 / r
        for k, j in itertools.product(own, own):
            g[k, j] = (k == j) / joint - 1 / joint**2 / total
    elif len(own) == 2:
        g[np.ix_(own, own)] = np.array([[1, -1], [-1, 1]]) / r
    else:
        g[own, own] = 1 / r
    return g


def fault(bus, which="abc", r=0.02, clear=END):
    def begin(network, x):
        network.fault = {bus: star(which, r)}

    def end(network, x):
        network.fault = {}

    at_zero = False if "g" in which else None
    event = psmr.Fault(bus, BEGIN, clear, r=r, x=0.0, phases=which, at_zero=at_zero)
    return event, [(BEGIN, begin), (clear, end)]


def extinguished(bus, which, r, clear=END):
    """The same, each phase interrupted at the zero of its current."""

    def begin(network, x):
        network.fault = {bus: star(which, r)}

    def cleared(network, x):
        for k in range(3):
            if "abc"[k] in which:
                network.waiting[bus, k] = current(network, k), interrupt(k)

    def current(network, k):
        return lambda x: network.fault[bus][k] @ network.volts(x)[network.place[bus]]

    def interrupt(k):
        def then(network, x):
            left = [letter for letter in "abcg" if letter in which and letter != "abc"[k]]
            left = [
                letter for letter in left if letter == "g" or (bus, "abc".index(letter)) in network.waiting
            ]
            # What is left of a star with one phase is in series.
            more = 1e-3 if len(which) == 3 and "g" in which else 0.0
            network.fault[bus] = (
                star("".join(left), r + more) if len(left) > 1 or more == 0 else np.zeros((3, 3))
            )

        return then

    return psmr.Fault(bus, BEGIN, clear, r=r, x=0.0, phases=which), [(BEGIN, begin), (clear, cleared)]


def inductive(bus, which, r=0.01, x=0.04, clear=END, at_zero=None):
    """A fault through an inductance, interrupted at once or each phase at the zero of its current."""
    z = complex(r, x)

    def begin(network, x):
        network.branches[-1].on = True

    def end(network, x):
        network.branches[-1].on = False

    def cleared(network, x):
        fault, k0 = network.branches[-1], 3 * (len(network.branches) - 1)

        def current(k):
            return lambda x: fault.drawn(network.volts(x)[network.place[bus]], x[k0 : k0 + 3])[k]

        def interrupt(k):
            def then(network, x):
                fault.open.add(k)
                fault.on = len(which) == 3 and bool(set(fault.own) - fault.open)

            return then

        # Two phases that are joined without the ground have one zero.
        for k in fault.own[: 1 if len(which) == 2 else 3]:
            network.waiting["fault", k] = current(k), interrupt(k)

    zeros = at_zero is None
    event = psmr.Fault(bus, BEGIN, clear, r=r, x=z.imag, phases=which, at_zero=at_zero)
    return event, [(BEGIN, begin), (clear, cleared if zeros else end)], InductiveFault(bus, which, z)


def charging(grid, line, network, sign):
    a, b, _, _, c = grid["lines"][line]
    for bus in (a, b):
        network.charge[bus] = network.charge[bus] + sign * np.array([c, B0 * c]) / 2


def opening(grid, line, at_zero):
    """The line opens, with its charging after the last phase, and closes again without current."""
    a, b = grid["lines"][line][:2]

    def open_phase(k):
        def then(network, x):
            network.branches[line].open.add(k)
            x[3 * line + k] = 0.0
            if len(network.branches[line].open) == 3:
                charging(grid, line, network, -1)

        return then

    def begin(network, x):
        for k in range(3):
            if at_zero:
                network.waiting[line, k] = (lambda x, k=k: x[3 * line + k]), open_phase(k)
            else:
                open_phase(k)(network, x)

    def close(network, x):
        network.branches[line].open = set()
        charging(grid, line, network, 1)

    return psmr.LineTrip(f"{a}-{b}", BEGIN, END, at_zero=at_zero), [(BEGIN, begin), (END, close)]


def opened(grid, *names):
    """Transformers, reactors and loads, of which each phase opens at the zero of its current."""
    order = [*(f"line{a}-{b}" for a, b, *_ in grid["lines"]), *("" for _ in grid["sources"])]
    order += [f"load{n}" for n, *_ in grid["loads"]]
    order += [f"transformer{a}-{b}" for a, b, *_ in grid["links"]]
    order += [f"shunt{n}" for n, _ in grid["reactors"]]

    def begin(network, x):
        for place in map(order.index, names):
            for k in range(3):

                def then(network, x, place=place, k=k):
                    branch = network.branches[place]
                    others = set() if branch.grounded or not branch.open else {0, 1, 2}
                    branch.open |= {k} | others
                    x[[3 * place + n for n in branch.open]] = 0.0

                network.waiting[place, k] = (lambda x, at=3 * place + k: x[at]), then

    events = [
        psmr.LoadTrip(int(name[4:]), BEGIN, 1.0)
        if name.startswith("load")
        else psmr.ShuntSwitch(name, BEGIN, on=False)
        if name.startswith("shunt")
        else psmr.LineTrip(name, BEGIN)
        for name in names
    ]
    return events, [(BEGIN, begin)]


def open_phases(grid, line, phases):
    a, b = grid["lines"][line][:2]

    def open_phase(k):
        def then(network, x):
            network.branches[line].open.add(k)
            x[3 * line + k] = 0.0

        return then

    def begin(network, x):
        for k in ("abc".index(letter) for letter in phases):
            network.waiting[line, k] = (lambda x, k=k: x[3 * line + k]), open_phase(k)

    def close(network, x):
        network.branches[line].open = set()

    return psmr.OpenPhases(f"{a}-{b}", BEGIN, phases, END), [(BEGIN, begin), (END, close)]


BALANCED = {
    "3 buses, abc": (THREE, fault(2)),
    "3 buses, opening and energisation": (THREE, opening(THREE, 2, None)),
    "3 buses, ab": (THREE, fault(2, "ab")),
    "3 buses, bc": (THREE, fault(2, "bc")),
    "3 buses, ca": (THREE, fault(3, "ca")),
    "3 buses, abc through an inductance": (THREE, inductive(2, "abc", at_zero=False)),
    "3 buses, ca through an inductance": (THREE, inductive(3, "ca", at_zero=False)),
    "9 buses, bc": (NINE, fault(5, "bc")),
    "9 buses, abc": (NINE, fault(5)),
    "9 buses, opening and energisation": (NINE, opening(NINE, 2, None)),
}
"""Without a zero sequence: no event has one."""

UNBALANCED = {
    "3 buses, ag": (THREE, fault(2, "ag")),
    "3 buses, cg": (THREE, fault(3, "cg", 0.1)),
    "3 buses, bcg": (THREE, fault(2, "bcg", 0.05, SHORT)),
    "3 buses, ag to the zero of its current": (THREE, extinguished(2, "ag", 0.05)),
    "3 buses, cag to the zeros": (THREE, extinguished(2, "cag", 0.05, SHORT)),
    "3 buses, opening at the zeros": (THREE, opening(THREE, 2, True)),
    "3 buses, phase b open": (THREE, open_phases(THREE, 0, "b")),
    "3 buses, bg through an inductance to the zero": (THREE, inductive(2, "bg")),
    "3 buses, bc through an inductance to the zero": (THREE, inductive(2, "bc")),
    "3 buses, cag through an inductance to the zeros": (THREE, inductive(2, "cag", 0.05, clear=SHORT)),
    "3 buses, abc through an inductance to the zeros": (THREE, inductive(2, "abc")),
    "5 buses, a transformer": (FIVE, opened(FIVE, "transformer2-4")),
    "5 buses, a reactor with its neutral grounded": (FIVE, opened(FIVE, "shunt4")),
    "5 buses, a reactor without": (FIVE, opened(FIVE, "shunt5")),
    "5 buses, loads": (FIVE, opened(FIVE, "load3", "load2")),
    "5 buses, several at once": (FIVE, opened(FIVE, "transformer3-5", "shunt5", "load5", "load3")),
    "9 buses, ag through an inductance to the zero": (NINE, inductive(5, "ag", 0.0, 0.1)),
    "9 buses, abg through an inductance at once": (NINE, inductive(5, "abg", at_zero=False)),
    "9 buses, ag": (NINE, fault(5, "ag")),
    "9 buses, abg": (NINE, fault(7, "abg", 0.05, SHORT)),
    "9 buses, opening at the zeros": (NINE, opening(NINE, 2, True)),
    "9 buses, phases c and a open": (NINE, open_phases(NINE, 2, "ca")),
}


SLOW = {
    *(
        "3 buses, ca",
        "3 buses, cg",
        "3 buses, cag to the zeros",
        "9 buses, ag",
        "9 buses, abg",
        "9 buses, bc",
    ),
    "3 buses, ca through an inductance",
    "3 buses, cag through an inductance to the zeros",
    "3 buses, abc through an inductance to the zeros",
    "9 buses, ag through an inductance to the zero",
    "9 buses, abg through an inductance at once",
    "5 buses, a reactor with its neutral grounded",
    "5 buses, a reactor without",
    "5 buses, loads",
    *("9 buses, bc", "9 buses, opening at the zeros", "9 buses, phases c and a open", "9 buses, abc"),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in (*BALANCED, *UNBALANCED)],
)
def test_phase_quantities_are_those_of_equations_in_abc(name):
    zero = name in UNBALANCED
    grid, (event, plan, *inductance) = (BALANCED | UNBALANCED)[name]
    system = psmr.build(made(**grid), dynamic=psmr.Region("all", zero_sequence=zero))
    network, start = reference(grid, system)
    for branch in inductance:
        start = network.with_fault(start, copy.deepcopy(branch))
    at_rest = network.volts(start)
    solution = network.run(start, plan, LAST)
    events = event if isinstance(event, list) else [event]
    run = psmr.simulate(system, psmr.VariableStep(1e-9, method="ESDIRK43"), LAST, events, certify=False)
    # Points that are not at an instant of an event.
    t = np.linspace(0.0, LAST, 203)[1:-1]
    wanted = np.array([solution(q) for q in t])
    volts = np.array([network.volts(x) for x in wanted])
    names = [f"bus{bus}.v_{phase}" for bus in network.buses for phase in "abc"]
    found = run.at(t, names).to_numpy().reshape(volts.shape)
    assert np.abs(volts - at_rest).max() > 0.1
    assert np.abs(found - volts).max() < 1e-6
    if zero:
        ends = [f"line{a}-{b}" for a, b, *_ in grid["lines"]]
        re, im, i_0 = (
            run.at(t, [f"{line}{part}" for line in ends]).to_numpy() for part in (".i_re", ".i_im", "_zero.i")
        )
        series = phases(t[:, None], re + 1j * im) + i_0[..., None]
        assert np.abs(series - wanted[:, : 3 * len(ends)].reshape(series.shape)).max() < 1e-6


@pytest.mark.parametrize("which", ["ag", "bc"])
def test_the_fundamental_in_the_end_is_that_of_the_sequence_networks(which):
    """Voltages and currents of the sequence networks of the phasors, when all offsets have decayed."""
    case, period, steps, begin = made(**THREE, rigid=True), 1 / 60, 800, 0.01
    fault = psmr.Fault(2, begin, permanent=True, r=0.05, x=0.0, phases=which)
    names = [f"bus{bus}.v_{part}" for bus in (1, 2, 3) for part in "abc0"]
    names += [f"line1-2.i_{part}" for part in "abc0"]
    phasors = psmr.simulate(psmr.build(case), t_end=0.1, events=[fault], certify=False)
    wanted = phasors.at(np.array([0.05]), names).to_numpy()[0]
    system = psmr.build(case, dynamic=psmr.Region("all", zero_sequence=True))
    scheme = psmr.SingleRate("TM", h=period / steps)
    run = psmr.simulate(system, scheme, begin + 60 * period, [fault], certify=False)
    t = begin + period * (59 + np.arange(steps) / steps)
    found = np.abs(2 / steps * np.exp(-2j * np.pi * t / period) @ run.at(t, names).to_numpy())
    # The reactances are 5e-6 more with TM; 400 steps leave 1.9e-4, 800 a quarter.
    assert np.abs(found - wanted).max() < 1e-4
    assert wanted.max() > 2
