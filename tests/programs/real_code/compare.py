"""The same circuit and code by psmr: a plant of a case behind the transformer, in a region with phases."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import psmr
from tests.internals import BenchSource, DeviceRow
from tests.programs.real_code.circuit import PHASES, Circuit
from tests.programs.real_code.oracle import CIRCUIT, PERIOD, POWERS, RAMP, Case, run

BEGIN, GIVEN, FROM, UNTIL = 3.5, 0.01, 3.9, 4.5
"""Times in s: at which of the oracle psmr's own begins, a whole number of turns of the source; when its
references become those of the case; and from when until when both are compared."""

FAULT = 1e-7
"""Resistance of a closed switch in pu: what a larger one takes from the direct current of a fault is seen."""

PHASES_OF = {"AG": "ag", "BG": "bg", "CG": "cg", "AB": "ab", "BC": "bc", "AC": "ca"}

NETWORK = """
format = "psmr-case"
version = 1
name = "test circuit of EPRI's controller"
base_mva = 1.0
frequency_hz = 60.0
{buses}
[[line]]
name = "star"
from = 1
to = 2
r = {r_star}
x = {x_star}
[[shunt]]
name = "core"
bus = 2
b_mvar = {b_core}
[[shunt]]
name = "losses"
bus = 2
g_mw = {g_core}
[[shunt]]
name = "capacitance"
bus = 3
b_mvar = 1e-5
[[transformer]]
name = "delta"
from = 2
to = 3
r = {r_delta}
x = {x_delta}
tap = {tap}
shift_deg = 30.0
[[line]]
name = "grid"
from = 3
to = 4
x = {x_grid}
[[line]]
name = "damping"
from = 3
to = 4
circuit = 2
r = {r_grid}
x = 1e-4
[[sequence]]
element = "star"
r0 = {r_star}
x0 = {x_star}
[[sequence]]
element = "core"
connection = "Y"
[[sequence]]
element = "losses"
connection = "Y"
[[sequence]]
element = "delta"
connection = "Yd"
[[sequence]]
element = "grid"
r0 = 0.0
x0 = {x_grid}
[[sequence]]
element = "damping"
r0 = {r_grid}
x0 = 1e-4
[[sequence]]
element = "infinite"
r2 = 0.0
x2 = 1e-8
r0 = 0.0
x0 = 1e-8
[[line]]
name = "stub"
from = 4
to = 5
x = 0.1
[[generator]]
name = "infinite"
bus = 4
control = "slack"
v = 1.0
[generator.machine]
type = "InfiniteBus"
s_n = 1.0
x_d1 = 1e-8
[[generator]]
name = "plant"
bus = 1
control = "pq"
p_mw = {p}
q_mvar = {q}
[generator.converter]
type = "AveragedBridge"
s_n = 1.0
r_f = {r_choke}
x_f = {x_choke}
[generator.code]
library = "{library}"
[generator.code.parameters]
{parameters}
[generator.code.inputs]
Vta = "v_a kV"
Vtb = "v_b kV"
Vtc = "v_c kV"
I1a = "i_a kA"
I1b = "i_b kA"
I1c = "i_c kA"
I2a = "i_a kA"
I2b = "i_b kA"
I2c = "i_c kA"
Idc = 0
VdcMPPT = 0
Vdc_meas = 0
Pref = "p_ref pu"
Qref = "q_ref pu"
Vref = "v_ref pu"
[generator.code.outputs]
m_a = "e_a 0.6 kV"
m_b = "e_b 0.6 kV"
m_c = "e_c 0.6 kV"
"""


def case_text(library: str, case: Case, power: complex, circuit: Circuit = CIRCUIT) -> str:
    """Return the case file: the circuit per unit of 1 MVA, 600 V and 34.5 kV, the plant at a power."""
    z, z_mv = 0.6**2, 34.5**2
    buses = "".join(
        f"[[bus]]\nnumber = {k}\nbase_kv = {kv}\n"
        for k, kv in ((1, 0.6), (2, 0.6), (3, 34.5), (4, 34.5), (5, 34.5))
    )
    winding = 3 * z_mv  # of one phase, a third of the power at the voltage between two
    return NETWORK.format(
        buses=buses,
        library=library,
        p=power.real,
        q=power.imag,
        r_star=circuit.r_star / z,
        x_star=circuit.x_star / z,
        b_core=-z / (circuit.omega * circuit.l_core),
        g_core=z / circuit.r_core,
        r_delta=circuit.r_delta / winding,
        x_delta=circuit.x_delta / winding,
        tap=34500.0 / circuit.ratio / (600.0 / np.sqrt(3.0)),
        x_grid=circuit.x_grid / z_mv,
        r_grid=circuit.r_grid / z_mv,
        r_choke=circuit.r_choke / z,
        x_choke=circuit.omega * circuit.l_choke / z,
        parameters="\n".join(f"{name} = {float(value)!r}" for name, value in case.parameters.items()),
    )


@dataclass(frozen=True)
class Compared:
    """Of a case: largest differences of voltages and currents in pu, and when they were, in s.

    `apart`: by how much the switches opened at other times, in s; `seconds`: processor time of psmr's run.
    """

    case: Case
    v: float
    i: float
    v_at: float
    i_at: float
    apart: float
    seconds: float

    @property
    def worst(self) -> float:
        """The larger of both."""
        return max(self.v, self.i)


def system_of(library: str, case: Case, power: complex) -> Any:
    """Return psmr's system of the circuit, in phases, at rest."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "epri.toml"
        file.write_text(case_text(library, case, power), encoding="utf-8")
        found = psmr.read_case(file, allow_code=True)
    rows = []
    for row in found.generators:
        if row.name == "infinite":
            (device,) = row.devices
            moved = DeviceRow(
                device.name, "machine", BenchSource.__name__, device.parameters, own=BenchSource
            )
            row = replace(row, devices=(moved,))
        rows.append(row)
    found = replace(found, generators=tuple(rows), dynamic=psmr.Region((1, 2, 3), zero_sequence=True))
    return psmr.build(found)


def events_of(case: Case) -> list[Any]:
    """Return what happens in a case."""
    found: list[Any] = [
        psmr.SetPoint("CODE-plant", f"{name[0].lower()}_ref", case.values[f"{name}0"], GIVEN)
        for name in ("PREF", "QREF", "VREF")
    ]
    if case.closes:
        # Of several switches each is one phase to the ground: all three.
        (name, at), *others = case.closes.items()
        phases = "abc" if others else PHASES_OF[name]
        found.append(psmr.Fault(3, at - BEGIN, case.opens[name] - BEGIN, phases=phases, r=FAULT, x=0.0))
    scales = {"VAMP": 1 / case.values["VAMP0"], "FSRC": 1 / 60.0}
    names = {"VAMP": "gain", "FSRC": "dw", "PHI": "jump"}
    for name, (at, size) in case.steps.items():
        if name in names:
            before = 1.0 if name == "VAMP" else 0.0
            value, device, port = before + size * scales.get(name, 1.0), "infinite", names[name]
        else:
            device, port = "CODE-plant", f"{name[0].lower()}_ref"
            value = case.values[f"{name}0"] + size
        found.append(psmr.SetPoint(device, port, value, at - BEGIN, at - BEGIN + RAMP))
    return found


def compared(library: str, case: Case, scheme: Any) -> Compared:
    """Run a case both ways and compare voltages and currents of all phases at every sample."""
    oracle = run(library, case, UNTIL, kept=1)
    power = complex(*oracle.outputs[round(FROM / PERIOD) - 10, POWERS])
    system = system_of(library, case, power)
    began = time.process_time()
    own = psmr.simulate(system, scheme, UNTIL - BEGIN, events_of(case), certify=False)
    seconds = time.process_time() - began
    samples = np.arange(round(FROM / PERIOD), round(UNTIL / PERIOD))
    t = samples * PERIOD - BEGIN
    at = np.searchsorted(own.t, t - 2e-9)  # a sample reads before what happens at its instant
    v = np.column_stack([own[f"bus1.v_{x}"].to_numpy()[at] for x in "abc"])
    current = (own["plant.i_d"].to_numpy() + 1j * own["plant.i_q"].to_numpy())[at]
    turned = current * np.exp(1j * CIRCUIT.omega * t)
    i = (turned[:, None] * np.exp(-1j * PHASES)).real
    dv, di = (np.abs(a - b[samples]).max(axis=1) for a, b in ((v, oracle.v), (i, oracle.i)))
    opened = sorted(at for at, words in own.instants if "zero of its current" in words)
    apart = np.abs(np.array(opened) + BEGIN - sorted(oracle.opened.values()))
    return Compared(
        case, float(dv.max()), float(di.max()), float(t[dv.argmax()] + BEGIN), float(t[di.argmax()] + BEGIN),
        float(apart.max()) if apart.size else 0.0, seconds,
    )  # fmt: skip


def table(results: Sequence[Compared]) -> list[str]:
    """Return the lines of a table, and what it comes to."""
    lines = ["| case | | v [pu] | i [pu] | openings [us] |", "|--:|---|--:|--:|--:|"]
    for r in results:
        opened = f"{1e6 * r.apart:.2f}" if r.case.opens else ""
        lines.append(f"| {r.case.number} | {r.case.title} | {r.v:.1e} | {r.i:.1e} | {opened} |")
    within = sum(r.worst <= 1e-3 for r in results)
    mean = sum(r.seconds for r in results) / len(results) / (UNTIL - BEGIN)
    return [
        *lines,
        "",
        f"{within} of {len(results)} within 1e-3 pu; {mean:.1f} s of processor time a second.",
    ]
