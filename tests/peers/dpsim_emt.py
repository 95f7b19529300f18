"""DPsim and psmr on one network in phase quantities: ``python -m tests.peers.dpsim_emt``, with dpsim 1.4.

WSCC 9-bus with voltages behind impedances, pi lines and loads of resistance and inductance; a three-phase
fault through 0.01 pu at bus 5 for 100 ms. Errors are the largest of the phase voltages of buses 5 and 8 at
each ms, against `VariableStep(1e-10)`; costs are processor times of 0.2 s from the fault on. DPsim steps
trapezoidally and starts from rest, so that its fault comes after 2 s, 120 whole periods.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import psmr
from tests.network.dynamic.test_dynamic_abc import NINE, made

Reals = NDArray[np.float64]
W, AFTER, SETTLED, BEFORE = 2 * np.pi * 60.0, 0.2, 2.0, 0.1
WATCHED = (5, 8)
FAULT = 0.01
STEPS = (5e-5, 2e-5, 1e-5)
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6)
AT = np.arange(1, 200) / 1000.0
"""Times after the beginning of the fault, s."""


def phases(run: psmr.Run) -> Reals:
    """Return the phase voltages of the watched buses at the times `AT`, (times, 3 buses)."""
    names = [f"bus{bus}.v_{part}" for bus in WATCHED for part in ("re", "im")]
    values = run.at(BEFORE + AT, names).to_numpy()
    turn = np.exp(1j * W * (BEFORE + AT[:, None, None] - np.array([0, 1, 2]) / 180.0))
    v = values[:, 0::2, None] + 1j * values[:, 1::2, None]
    return np.real(v * turn).reshape(len(AT), -1)


def ours(system: psmr.System, scheme: psmr.SingleRate | psmr.VariableStep) -> tuple[float, Reals]:
    """Return the processor time of a run from the fault on, and its phase voltages."""
    fault = psmr.Fault(5, BEFORE, BEFORE + 0.1, r=FAULT, x=0.0)
    spent = []
    for _ in range(2):
        began = time.process_time()
        run = psmr.simulate(system, scheme, BEFORE + AFTER, [fault], certify=False)
        spent.append(time.process_time() - began)
    return min(spent), phases(run)


def theirs(system: psmr.System, h: float) -> tuple[float, Reals]:
    """Return the same of DPsim, of its whole run the part from the fault on."""
    import dpsimpy as dpsim

    part, value = dpsim.emt.ph3, dict(zip(system.names_u, system.w0[system.n + system.m : -1], strict=True))
    start = dict(zip(system.names_y + system.names_x, [*system.y0, *system.x0], strict=True))
    ground, nodes, parts = dpsim.emt.SimNode.gnd, {}, []

    def node(name: str):
        return nodes.setdefault(name, dpsim.emt.SimNode(name, dpsim.PhaseType.ABC))

    def add(element, *ends: str):
        element.connect([node(end) if end else ground for end in ends])
        parts.append(element)

    def series(name: str, r: float, x: float, a: str, b: str) -> None:
        resistor, inductor = part.Resistor(f"{name}r"), part.Inductor(f"{name}l")
        resistor.set_parameters(np.eye(3) * r)
        inductor.set_parameters(np.eye(3) * x / W)
        add(resistor, a, f"{name}m")
        add(inductor, f"{name}m", b)

    joined = {a: (b, r, x) for a, b, r, x in NINE["transformers"]}
    for bus, _, _, r, x in NINE["sources"]:
        to, r_t, x_t = joined[bus]
        source = part.VoltageSource(f"e{bus}")
        e = value[f"G{bus}.e"] * np.exp(1j * value[f"G{bus}.delta"])
        # It takes a voltage between phases, rms, and gives the peak of a phase's.
        three = dpsim.Math.single_phase_variable_to_three_phase(complex(e * np.sqrt(1.5)))
        source.set_parameters(three, 60.0)
        add(source, "", f"e{bus}")
        series(f"s{bus}", r + r_t, x + x_t, f"e{bus}", f"b{to}")
    for a, b, r, x, c in NINE["lines"]:
        line = part.PiLine(f"l{a}{b}")
        line.set_parameters(np.eye(3) * r, np.eye(3) * x / W, np.eye(3) * c / W, np.eye(3) * 1e-9)
        add(line, f"b{a}", f"b{b}")
    for bus, p, q in NINE["loads"]:
        z = (start[f"bus{bus}.v_re"] ** 2 + start[f"bus{bus}.v_im"] ** 2) / complex(p, -q) * 100.0
        series(f"d{bus}", z.real, z.imag, f"b{bus}", "")
    switch = part.Switch("fault")
    switch.set_parameters(np.eye(3) * 1e9, np.eye(3) * FAULT, False)
    add(switch, "b5", "")
    topology = dpsim.SystemTopology(60, list(nodes.values()), parts)

    def run(t_end: float) -> float:
        log = dpsim.Logger("emt")
        for bus in WATCHED:
            log.log_attribute(f"v{bus}", "v", nodes[f"b{bus}"])
        simulation = dpsim.Simulation("emt", dpsim.LogLevel.off)
        simulation.set_domain(dpsim.Domain.EMT)
        simulation.set_system(topology)
        simulation.set_time_step(h)
        simulation.set_final_time(t_end)
        simulation.add_logger(log)
        for t, closed in ((SETTLED, True), (SETTLED + 0.1, False)):
            simulation.add_event(dpsim.event.SwitchEvent3Ph(t, switch, closed))
        began = time.process_time()
        simulation.run()
        return time.process_time() - began

    # It writes into the current folder.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        spent = run(SETTLED + AFTER) * AFTER / (SETTLED + AFTER)
        table = np.genfromtxt(Path("logs/emt.csv"), delimiter=",", skip_header=1)
    t, values = table[:, 0], table[:, 1:]
    rows = np.searchsorted(t, SETTLED + AT - h / 2)
    return spent, values[rows]


def rows() -> Iterator[str]:
    """Yield the rows of the table."""
    system = psmr.build(made(**NINE), dynamic=psmr.Region("all"))
    exact = ours(system, psmr.VariableStep(1e-10))[1]
    for h in STEPS:
        spent, found = theirs(system, h)
        yield f"| DPsim | {1e6 * h:g} us | {np.abs(found - exact).max():.1e} | {spent:.3f} |"
        spent, found = ours(system, psmr.SingleRate("TM", h))
        yield f"| psmr, TM | {1e6 * h:g} us | {np.abs(found - exact).max():.1e} | {spent:.3f} |"
    for tolerance in TOLERANCES:
        spent, found = ours(system, psmr.VariableStep(tolerance))
        yield f"| psmr, VariableStep | {tolerance:g} | {np.abs(found - exact).max():.1e} | {spent:.3f} |"


if __name__ == "__main__":
    for row in rows():
        print(row, flush=True)
