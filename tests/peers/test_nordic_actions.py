"""Nordic A with tap changers and limiters written here, integrated by IDA: when does each act?

IDA finds the zeros of what begins and ends a timer. What is taken from psmr is the residual of its equations,
and no instant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import psmr
from tests.internals import Change, System, project
from tests.peers.limited import limited_matrix, limited_residual
from tests.peers.spans import Spans

pytest.importorskip("sksundae")
pytestmark = [pytest.mark.peers, pytest.mark.slow]

END, PACE = 69.0, 1e5
FAULT = psmr.Fault(4032, 1.0, 1.1, trip="4032-4044")


class Acting:
    """The system as it acts: transformers by voltages out of their bands, regulators by field currents."""

    def __init__(self, system: System, tolerance: float) -> None:
        self.system, self.tolerance, self.acts = system, tolerance, list[tuple[float, str]]()
        self.spans = Spans(system, ())
        devices = [(d.name, system.parameters_at(d.name), d) for d in system.devices]
        self.taps = [(name, p, d) for name, p, d in devices if name.startswith("LTC-")]
        self.regulators = [(name, p) for name, p, d in devices if name.startswith("AVR-")]
        self.v = np.array([system.index(f"{name}.v") for name, _, _ in self.taps])
        self.set, self.band = (np.array([p[key] for _, p, _ in self.taps]) for key in ("v_set", "half_band"))
        self.at, self.due = [p["at"] for _, p, _ in self.taps], np.full(len(self.taps), np.inf)
        machines = [name.removeprefix("AVR-") for name, _ in self.regulators]
        self.i_f = np.array([system.index(f"{name}.i_f") for name in machines])
        self.y = np.array([system.index(f"{name}.y") for name, _ in self.regulators])
        self.limit, self.d = (np.array([p[key] for _, p in self.regulators]) for key in ("i_f_lim", "d"))

    def events(self, y: np.ndarray) -> np.ndarray:
        """Return what is above zero out of a band, above a limit, below it, and once a timer has run out."""
        off = np.abs(y[self.v] - self.set) - self.band
        excess = y[self.i_f] - self.limit
        return np.concatenate([off, excess, self.d - excess, y[self.y]])

    def set_to(self, device: str, parameter: str, value: float) -> None:
        group, row, column = self.system.parameter_place(device, parameter)
        self.spans.parameters[group][row, column] = value

    def look(self, t: float, fired: np.ndarray) -> bool:
        """Let timers begin and end by what holds, and regulators switch; return whether any did."""
        found = self.events(self.spans.w)
        held = np.where(fired != 0, fired > 0, found > 0)
        count = len(self.taps)
        for k, out in enumerate(held[:count]):
            if out and self.due[k] == np.inf:
                self.due[k] = t + self.taps[k][1]["t_first"]
            elif not out:
                self.due[k] = np.inf
        switched = False
        for flags, key in zip(np.split(held[count:], 3), ("above", "below", "limiting"), strict=True):
            for (name, p), flag in zip(self.regulators, flags, strict=True):
                if p[key] != flag:
                    p[key], switched = float(flag), True
                    self.set_to(name, key, float(flag))
                    if key == "limiting" and flag:
                        self.acts.append((t, name))
        return switched

    def move(self, t: float) -> bool:
        """Move the taps that are due."""
        moved = False
        for k in np.flatnonzero(self.due <= t + 1e-9):
            name, p, device = self.taps[k]
            self.at[k] += np.sign(self.set[k] - self.spans.w[self.v[k]]) * p["direction"]
            step = (p["tap_max"] - p["tap_min"]) / (p["positions"] - 1)
            self.set_to(name, "at", self.at[k])
            self.set_to(device.acts_on, "tap", p["tap_min"] + (self.at[k] - 1) * step)
            self.due[k] = t + p["t_next"]
            self.acts.append((t, name))
            moved = True
        return moved

    def run(self, given: list[Change], end: float) -> list[tuple[float, str]]:
        """Integrate up to `end`, through changes that are given, and return (t, device) of what acted."""
        t, none = 0.0, np.zeros(len(self.events(self.spans.w)))
        self.spans.start(t)
        while t < end:
            until = min(end, self.due.min(), *(change.t for change in given if change.t > t + 1e-9))
            t, fired = self.march(t, until)
            again = False
            for change in given:
                if change.t == t:
                    self.spans._take(change)
                    again = True
            again |= self.move(t)
            if again:
                self.spans.start(t)
            if self.look(t, none if again else fired):
                self.spans.start(t)
        return self.acts

    def march(self, begin: float, end: float) -> tuple[float, np.ndarray]:
        """Integrate to the first zero, or to `end`; return the time, and which way each passed zero."""
        from sksundae.ida import IDA

        from tests.peers.ida import _pattern

        w, size, block = self.spans.w, self.spans.size, self.spans.all
        matrix, address, scratch = block.records.matrix, block.address, np.empty(self.spans.size)

        def residual(t: float, y: np.ndarray, rate: np.ndarray, out: np.ndarray) -> None:
            w[:size], w[-1] = y, t
            limited_residual(address, w, rate, out, PACE)

        def jacobian(t: float, y: Any, rate: Any, out: Any, factor: float, into: np.ndarray) -> None:
            w[:size], w[-1] = y, t
            limited_matrix(address, w, rate, factor, PACE, scratch)
            into[:] = matrix.J[: block.kernels.nnz]

        def events(t: float, y: np.ndarray, rate: np.ndarray, out: np.ndarray) -> None:
            out[:] = self.events(y)

        solver = IDA(
            residual,
            jacfn=jacobian,
            algebraic_idx=np.arange(self.system.n, size),
            sparsity=_pattern(block),
            linsolver="sparse",
            rtol=self.tolerance,
            atol=self.tolerance,
            max_num_steps=200_000,
            calc_initcond=None,
            eventsfn=events,
            num_events=len(self.events(w)),
        )
        rates = np.zeros(size)
        project(address, w, rates)
        solution: Any = solver.solve(np.array([begin, end]), w[:size].copy(), rates)
        assert solution.success or solution.t_events is not None, solution.message
        w[:size], w[-1] = solution.y[-1], solution.t[-1]
        fired = solution.i_events[-1] if solution.i_events is not None and len(solution.i_events) else None
        none = np.zeros(len(self.events(w)))
        return (end, none) if fired is None else (float(solution.t[-1]), np.asarray(fired, dtype=float))


def test_taps_and_limiters_act_when_idas_zeros_say_so():
    """45 moves of tap changers and the first three limiters, the same ones within 0.01 s."""
    system = psmr.build(psmr.case("nordic"))
    run = psmr.simulate(system, psmr.VariableStep(1e-6), END, [FAULT], certify=False)
    given = [change for change in run.changes if change.causes]
    own = [(c.t, act.device) for c in run.changes for act in c.acts if act.kind == "tap"]
    own += [(t, f"AVR-{name}") for t, name in run.outcome.controls.limited]
    found = Acting(system, 1e-6).run(given, END)
    times: list[dict[str, list[float]]] = [{}, {}]
    for acts, by_device in zip((own, found), times, strict=True):
        for t, device in sorted(acts):
            by_device.setdefault(device, []).append(float(t))
    limited = [device for device in times[0] if device.startswith("AVR")]
    assert limited == ["AVR-g12", "AVR-g14", "AVR-g7"]
    assert sum(map(len, times[0].values())) == 48
    assert times[1] == {device: pytest.approx(at, abs=0.01) for device, at in times[0].items()}
