"""DPsim and psmr with rotors on one network in phase quantities: ``python -m tests.peers.dpsim_machines``.

The study of `tests.peers.dpsim_emt` with two-axis machines for the voltages behind impedances, of constant
field voltage and torque, and DPsim's fourth-order machine (`SynchronGenerator4OrderVBR`): the same rotor,
and in both a stator without dynamics of its own and without resistance. DPsim begins at the voltages of the
equilibrium; the fault comes after 0.1 s.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import psmr
from tests.network.dynamic.phase_equations import NINE, made
from tests.peers.dpsim_emt import AFTER, AT, BEFORE, FAULT, STEPS, TOLERANCES, WATCHED, Reals, W, ours

MACHINE = {
    **{"s_n": 200.0, "h": 5.0, "d": 0.0, "r_a": 0.0},
    **{"x_d": 1.8, "x_q": 1.7, "x_d1": 0.3, "x_q1": 0.3, "t_d01": 8.0, "t_q01": 0.4},
}
# DPsim takes voltages between phases, rms: so many to one peak of a phase.
PEAK = np.sqrt(1.5)


def built() -> psmr.System:
    """Return the system with every element of the network, but no stator, dynamic."""
    case = made(**NINE)
    generators = tuple(
        replace(row, devices=(replace(row.devices[0], type="TwoAxisMachine", parameters=MACHINE),))
        for row in case.generators
    )
    case = replace(case, generators=generators, sequence=())
    return psmr.build(case, dynamic=psmr.Region("all", stators=False))


def theirs(system: psmr.System, h: float) -> tuple[float, Reals, float]:
    """Return processor time of 0.2 s, phase voltages, and how far they had moved before the fault in pu."""
    import dpsimpy as dpsim

    part, ground = dpsim.emt.ph3, dpsim.emt.SimNode.gnd
    value = dict(zip(system.names_y + system.names_x, [*system.y0, *system.x0], strict=True))
    volt = {n: complex(value[f"bus{n}.v_re"], value[f"bus{n}.v_im"]) for n in NINE["buses"]}
    nodes, parts = {}, []

    def node(name: str, at: complex):
        if name not in nodes:
            nodes[name] = dpsim.emt.SimNode(name, dpsim.PhaseType.ABC)
            three = dpsim.Math.single_phase_variable_to_three_phase(complex(at * PEAK))
            nodes[name].set_initial_voltage(three)
        return nodes[name]

    def add(element, *ends) -> None:
        element.connect(list(ends))
        parts.append(element)

    buses = {n: node(f"b{n}", v) for n, v in volt.items()}
    for bus, to, r, x in NINE["transformers"]:
        transformer = part.Inductor(f"t{bus}")
        transformer.set_parameters(np.eye(3) * x / W)
        add(transformer, buses[bus], buses[to])
        power = 1.5 * volt[bus] * np.conj((volt[bus] - volt[to]) / complex(r, x))
        machine = part.SynchronGenerator4OrderVBR(f"g{bus}")
        reactances = (MACHINE["x_d"], MACHINE["x_q"], 0.1, MACHINE["x_d1"], MACHINE["x_q1"])
        times = MACHINE["t_d01"], MACHINE["t_q01"]
        base = 1.5 * MACHINE["s_n"] / 100.0, PEAK, 60.0
        machine.set_operational_parameters_per_unit(*base, MACHINE["h"], *reactances, *times)
        machine.set_initial_values(complex(power), power.real, complex(volt[bus] * PEAK))
        machine.set_model_as_norton_source(True)
        add(machine, buses[bus])
    for a, b, r, x, c in NINE["lines"]:
        line = part.PiLine(f"l{a}{b}")
        line.set_parameters(np.eye(3) * r, np.eye(3) * x / W, np.eye(3) * c / W, np.eye(3) * 1e-9)
        add(line, buses[a], buses[b])
    for bus, p, q in NINE["loads"]:
        z = abs(volt[bus]) ** 2 / complex(p, -q) * 100.0
        between = node(f"d{bus}", volt[bus] * (1.0 - z.real / z))
        resistor, inductor = part.Resistor(f"d{bus}r"), part.Inductor(f"d{bus}l")
        resistor.set_parameters(np.eye(3) * z.real)
        inductor.set_parameters(np.eye(3) * z.imag / W)
        add(resistor, buses[bus], between)
        add(inductor, between, ground)
    switch = part.Switch("fault")
    switch.set_parameters(np.eye(3) * 1e9, np.eye(3) * FAULT, False)
    add(switch, buses[5], ground)

    log = dpsim.Logger("emt")
    for bus in WATCHED:
        log.log_attribute(f"v{bus}", "v", buses[bus])
    simulation = dpsim.Simulation("emt", dpsim.LogLevel.off)
    simulation.set_domain(dpsim.Domain.EMT)
    simulation.set_system(dpsim.SystemTopology(60, list(nodes.values()), parts))
    simulation.set_time_step(h)
    simulation.set_final_time(BEFORE + AFTER)
    simulation.do_init_from_nodes_and_terminals(True)
    simulation.add_logger(log)
    for t, closed in ((BEFORE, True), (BEFORE + 0.1, False)):
        simulation.add_event(dpsim.event.SwitchEvent3Ph(t, switch, closed))
    # It writes into the current folder.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        began = time.process_time()
        simulation.run()
        spent = (time.process_time() - began) * AFTER / (BEFORE + AFTER)
        table = np.genfromtxt(Path("logs/emt.csv"), delimiter=",", skip_header=1)
    t, values = table[:, 0], table[:, 1:]
    last = (t > BEFORE - 1.0 / 60.0) & (t < BEFORE - h / 2)
    turn = np.exp(1j * (W * t[last, None] - np.array([0, 1, 2]) * 2 * np.pi / 3))
    rest = np.hstack([np.real(volt[bus] * turn) for bus in WATCHED])
    return spent, values[np.searchsorted(t, BEFORE + AT - h / 2)], float(np.abs(values[last] - rest).max())


def rows() -> Iterator[str]:
    """Yield the rows of the table."""
    system = built()
    exact = ours(system, psmr.VariableStep(1e-10))[1]
    for h in STEPS:
        spent, found, moved = theirs(system, h)
        error = np.abs(found - exact).max()
        yield f"| DPsim | {1e6 * h:g} us | {error:.1e} | {spent:.3f} | {moved:.1e} |"
        spent, found = ours(system, psmr.SingleRate("TM", h))
        yield f"| psmr, TM | {1e6 * h:g} us | {np.abs(found - exact).max():.1e} | {spent:.3f} | |"
    for tolerance in TOLERANCES:
        spent, found = ours(system, psmr.VariableStep(tolerance))
        yield f"| psmr, VariableStep | {tolerance:g} | {np.abs(found - exact).max():.1e} | {spent:.3f} | |"


if __name__ == "__main__":
    for row in rows():
        print(row, flush=True)
