"""The oracle: the circuit integrated exactly from sample to sample, with the code in the loop."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numba
import numpy as np
from scipy.linalg import expm

from tests.internals import CodeLibrary
from tests.programs.real_code.circuit import BRIDGE, CHOKE, SIZE, SOURCE, Circuit, Reals, step

PERIOD = 1e-5
"""Time between two samples of the controller, in s."""

TURN = 0.05
"""A time in s of whole samples and whole turns of the source."""

RAMP = 1e-3
"""In how many s a step of a reference or of the source is made."""

CIRCUIT = Circuit()

OFFSET_FREE = 3.0
"""When the direct currents that switching on has left are taken out, in s.

The flux that they hold in the core decays with 88 s: without this no run would be at rest at 4 s.
"""

KEPT = 10
"""Of so many samples one is kept."""

BASE: Mapping[str, float] = {
    **{"VAMP0": 28169.13, "FSRC0": 60.0, "PHI0": 1e-6, "PREF0": 0.9, "QREF0": 0.05, "VREF0": 1.01},
    **{"QCFLG": 1.0, "VTFLG": 0.0, "V2FLG": 1.0, "FFLAG": 0.0, "DDN": 20.0, "DUP": 0.0},
    **{"KQ_I": 40.0, "KQ_P": 0.0, "KV_I": 100.0, "KV_P": 0.0, "KQV1": 2.0, "KQV2": 2.0},
}
"""What the cases vary, as it is in the netlist's own case."""

PARAMETERS = {
    **{"QCFLG": "Qctl_CL_flag", "VTFLG": "Vt_flag", "V2FLG": "V2_flag", "FFLAG": "f_flag"},
    **{"DDN": "Ddn", "DUP": "Dup", "KQ_I": "Kq_i", "KQ_P": "Kq_p", "KV_I": "Kv_i", "KV_P": "Kv_p"},
    **{"KQV1": "Kqv1", "KQV2": "Kqv2"},
}
"""The controller's parameters that cases vary; Tr = 0.005 is the netlist's."""

POWERS = slice(13, 15)
"""Places of Pout and Qout among its outputs."""

STEPPED = ("PREF", "QREF", "VREF", "VAMP", "FSRC", "PHI")


@dataclass(frozen=True)
class Case:
    """One case of the list: values by the names of `BASE`, times in s of switches, and what is stepped."""

    number: int
    title: str
    values: Mapping[str, float]
    closes: Mapping[str, float] = field(default_factory=dict)
    opens: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Case:
        """Return a case from an entry of the published list."""
        given = dict(entry["Parms"])
        closes = {name[1:3]: t for name, t in given.items() if name[0] == "T" and name[-1] == "1"}
        opens = {name[1:3]: t for name, t in given.items() if name[0] == "T" and name[-1] == "2"}
        steps = {name: (given[f"T{name}"], given[f"D{name}"]) for name in STEPPED if f"T{name}" in given}
        values = {name: float(value) for name, value in given.items() if name in BASE}
        return cls(int(entry["Fig"]), str(entry["Title"]), {**BASE, **values}, closes, opens, steps)

    def value(self, name: str, t: float) -> float:
        """Return a reference or a quantity of the source at t in s."""
        begin, size = self.steps.get(name, (np.inf, 0.0))
        return self.values[f"{name}0"] + size * min(max((t - begin) / RAMP, 0.0), 1.0)

    def angle(self, t: float) -> float:
        """Return the angle of the source in rad at t in s."""
        begin, size = self.steps.get("FSRC", (np.inf, 0.0))
        beyond = max(t - begin, 0.0)
        turned = size * (beyond - RAMP / 2 if beyond > RAMP else beyond**2 / (2 * RAMP))
        return 2 * np.pi * (self.values["FSRC0"] * t + turned) + self.value("PHI", t)

    @property
    def parameters(self) -> dict[str, float]:
        """The controller's parameters."""
        return {"Tr": 0.005} | {own: self.values[name] for name, own in PARAMETERS.items()}


@dataclass(frozen=True, eq=False)
class Trace:
    """What a run gives: time in s, voltages and currents of the three phases in pu, outputs of the code.

    `opened`: when each switch opened. `state`, `values`: those of circuit and code at the end.
    """

    t: Reals
    v: Reals
    i: Reals
    outputs: Reals
    opened: Mapping[str, float]
    state: Reals
    values: Reals


def run(path: str, case: Case, t_end: float = 5.0, parts: int = 0, kept: int = KEPT) -> Trace:
    """Integrate a case from zero.

    The circuit goes from sample to sample by its exact map, or with `parts` steps of the trapezoidal rule.
    """
    circuit = CIRCUIT
    code = CodeLibrary(path).instance(f"case {case.number}", **case.parameters)
    march = _march(code.address)
    count = round(t_end / PERIOD)
    states = len(code.states)
    values, reads = np.zeros_like(code.values), np.zeros(15)
    z = np.zeros(SIZE)
    z[SOURCE] = _source(case, 0.0)
    rows = np.zeros((count // kept + 1, 6 + len(values) - states))
    mean = np.zeros(BRIDGE.start)
    closed: tuple[str, ...] = ()
    opened: dict[str, float] = {}
    k = 0
    while k < count:
        t = k * PERIOD
        ramps = [begin for begin, _ in case.steps.values() if begin <= t + 1e-9 < begin + RAMP]
        begins = [t1 for t1 in (*case.closes.values(), *case.opens.values()) if t1 > t + 1e-9]
        begins += [b for b, _ in case.steps.values() if b > t + 1e-9]
        begins += [at for at in (OFFSET_FREE, OFFSET_FREE + TURN) if at > t + 1e-9]
        if abs(t - OFFSET_FREE - TURN) < 1e-9:
            z[: BRIDGE.start] -= mean / round(TURN / PERIOD)
        free = (name for name in case.closes if name not in closed and name not in opened)
        closed += tuple(name for name in free if case.closes[name] <= t + 1e-9)
        last = k + 1 if ramps else min([count, *(round(b / PERIOD) for b in begins)])
        middle = t + PERIOD / 2 if ramps else t + RAMP / 1e3
        hertz = case.value("FSRC", middle)
        z[SOURCE] = _source(case, t, middle)
        references = [case.value(name, t) for name in ("PREF", "QREF", "VREF")]
        opening = tuple(case.opens.get(name, np.inf) <= t + 1e-9 for name in closed)
        phi = step(circuit, closed, hertz, PERIOD, parts)
        _, currents = circuit.terminals(closed)
        watched = currents[list(opening)] if any(opening) else np.zeros((0, SIZE))
        seen = circuit.measured(closed, hertz)
        mean[:] = 0.0
        status, k = march(
            code.handle, k, last, PERIOD, phi, seen, watched, z, mean, np.array(references), reads, values,
            states, rows, kept, circuit.v_bridge, circuit.v_base, circuit.i_base,
        )  # fmt: skip
        if status < 0:
            raise RuntimeError(code.failure(k * PERIOD, reads))
        if status:  # a zero of a current of a switch that opens lies within the sample that begins at k
            z, closed = _cross_openings(circuit, case, z, closed, opening, hertz, k * PERIOD, opened)
            k += 1
    return Trace(
        np.arange(len(rows)) * kept * PERIOD, rows[:, :3], rows[:, 3:6], rows[:, 6:], opened, z, values
    )


def _source(case: Case, t: float, middle: float | None = None) -> Reals:
    """Return the real and imaginary part of the source at t, with its size of `middle`."""
    angle, size = case.angle(t), case.value("VAMP", t if middle is None else middle)
    return np.array([size * np.cos(angle), size * np.sin(angle)])


def _cross_openings(
    circuit: Circuit, case: Case, z: Reals, closed: tuple[str, ...], opening: tuple[bool, ...], hertz: float,
    t: float, opened: dict[str, float],
) -> tuple[Reals, tuple[str, ...]]:  # fmt: skip
    """Return the state a sample after t and what is closed then, with each switch opened at its zero."""
    done = 0.0
    while done < PERIOD:
        rest = PERIOD - done
        a, (_, currents) = circuit.rates(closed, hertz), circuit.terminals(closed)
        may = [name in closed and flag for name, flag in zip(closed, opening, strict=False)]
        zeros = []
        for row, name in enumerate(closed):
            if not may[row]:
                continue
            before, after = currents[row] @ z, currents[row] @ expm(a * rest) @ z
            if before * after <= 0.0 and before != 0.0:
                low, high = 0.0, rest
                for _ in range(60):
                    middle = (low + high) / 2
                    same = (currents[row] @ expm(a * middle) @ z) * before > 0
                    low, high = (middle, high) if same else (low, middle)
                zeros.append((high, name))
        if not zeros:
            return expm(a * rest) @ z, closed
        at, name = min(zeros)
        z = expm(a * at) @ z
        done += at
        opened[name] = t + done
        keep = [k for k, other in enumerate(closed) if other != name]
        closed, opening = tuple(closed[k] for k in keep), tuple(opening[k] for k in keep)
    return z, closed


@cache
def _march(address: int) -> Callable[..., tuple[int, int]]:
    """Return the compiled loop over samples for the code's function."""
    kinds = ctypes.c_int64, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p
    sample = ctypes.CFUNCTYPE(*kinds)(address)
    bridge, choke = BRIDGE.start, CHOKE.start

    @numba.njit
    def march(
        handle, k, last, period, phi, seen, watched, z, mean, references, reads, values, states, rows, kept,
        v_bridge, v_base, i_base,
    ):  # fmt: skip
        size = len(z)
        new = np.empty(size)
        while k < last:
            t = k * period
            for p in range(3):
                v = 0.0
                for c in range(size):
                    v += seen[p, c] * z[c]
                reads[p] = v / 1e3
                reads[3 + p] = reads[6 + p] = z[choke + p] / 1e3
            reads[11], reads[12], reads[14] = references[0], references[1], references[2]
            if sample(handle, t, reads.ctypes.data, values.ctypes.data) != 0:
                return -1, k
            if k % kept == 0:
                for p in range(3):
                    rows[k // kept, p] = reads[p] * 1e3 / v_base
                    rows[k // kept, 3 + p] = reads[3 + p] * 1e3 / i_base
                for p in range(rows.shape[1] - 6):
                    rows[k // kept, 6 + p] = values[states + p]
            for p in range(3):
                z[bridge + p] = v_bridge * values[states + p]
            for r in range(size):
                total = 0.0
                for c in range(size):
                    total += phi[r, c] * z[c]
                new[r] = total
            for w in range(watched.shape[0]):
                before, after = 0.0, 0.0
                for c in range(size):
                    before += watched[w, c] * z[c]
                    after += watched[w, c] * new[c]
                if before * after <= 0.0:
                    return 1, k
            z[:] = new
            for r in range(len(mean)):
                mean[r] += z[r]
            k += 1
        return 0, k

    return march
