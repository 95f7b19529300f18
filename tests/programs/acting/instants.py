"""Random lists of what acts by itself: its instants with error control and with steps of a millisecond.

``python -m tests.programs.acting.instants [COUNT] [FIRST]`` prints a row a list: tap changers, banks of
capacitors, limiters and a cycle of generation control on WSCC's nine buses with random bands, times and a
random ramp of a load; how often they act in 60 s, by how much the instants of `VariableStep` at 1e-6 and of
the trapezoidal rule at 1 ms are apart at most, and which action that is.
"""

import sys
from dataclasses import replace

import numpy as np

import psmr
from tests.internals import ShuntRow, nonnegative, positive
from tests.systems.tapping import Bank, Limiter, Tap

STEP, LENGTH = 1e-3, 60.0


class Cycle(psmr.Component):
    """Generation control of one plant: an integral of the speed, every few seconds."""

    inputs = ("omega",)
    sampled_states = ("integral",)
    sampled_outputs = ("p_ref",)
    samples = psmr.Samples(period="T", offset="T_0")
    T = psmr.Parameter("s", "cycle", positive, 4.0)
    T_0 = psmr.Parameter("s", "first cycle", nonnegative, 0.0)
    k = psmr.Parameter("1/s", "integral gain", positive, 1.0)

    @staticmethod
    def sample(m, v, p):
        new = v.integral + p.k * p.T * (1 - v.omega)
        return (new,), (new,)


def listed(seed):
    """Return the system and the events of a list."""
    draw = np.random.default_rng(seed)
    case = psmr.case("wscc9")
    banks = draw.choice([5, 6, 8], size=draw.integers(0, 3), replace=False)
    shunts = [ShuntRow(int(bus), b_mvar=0.0, name=f"bank{bus}") for bus in banks]
    built = psmr.build(replace(case, shunts=(*case.shunts, *shunts)))
    start = dict(zip((*built.names_x, *built.names_y, *built.names_u), built.w0[:-1].tolist(), strict=True))
    devices = {device.name: device for device in built.devices}

    def reads(bus):
        return {"v_re": f"{bus}.v_re", "v_im": f"{bus}.v_im"}

    def add(name, kind, bus, values, acts_on=""):
        devices[name] = psmr.Device(name, kind, values, reads(bus), acts_on=acts_on)
        start[f"{name}.v"] = v = abs(complex(start[f"{bus}.v_re"], start[f"{bus}.v_im"]))
        return v

    def band(bus, least, most):
        v = abs(complex(start[f"{bus}.v_re"], start[f"{bus}.v_im"]))
        return {"v_low": v - draw.uniform(least, most), "v_high": v + draw.uniform(least, most)}

    for k, (name, bus) in enumerate(
        (("transformer1-4", "bus4"), ("transformer2-7", "bus7"), ("transformer3-9", "bus9"))
    ):
        if draw.random() < 0.7:
            values = band(bus, 0.008, 0.02) | {
                "step": draw.uniform(0.005, 0.012),
                "wait": draw.uniform(2.0, 15.0),
            }
            add(f"T{k}", Tap, bus, values, name)
    for bus in banks:
        values = band(f"bus{bus}", 0.01, 0.03) | {
            "step": draw.uniform(0.05, 0.2),
            "wait": draw.uniform(1.0, 10.0),
        }
        add(f"B{bus}", Bank, f"bus{bus}", values, f"bank{bus}")
    for k in range(1, 4):
        if draw.random() < 0.5:
            v = abs(complex(start[f"bus{k}.v_re"], start[f"bus{k}.v_im"]))
            values = {"level": v - draw.uniform(0.001, 0.01), "full": draw.uniform(0.01, 0.1)}
            devices[f"L{k}"] = psmr.Device(f"L{k}", Limiter, values, reads(f"bus{k}"))
    if draw.random() < 0.5:
        values = {
            "T": float(draw.uniform(2.0, 5.0)),
            "T_0": float(draw.uniform(0.0, 2.0)),
            "k": draw.uniform(0.2, 2.0),
        }
        devices["AGC"] = psmr.Device("AGC", Cycle, values, {"omega": "G2.omega"})
        plant = devices["GOV2"]
        devices["GOV2"] = replace(plant, connections={**plant.connections, "p_ref": "AGC.p_ref"})
        start["AGC.integral"] = start["AGC.p_ref"] = start.pop("GOV2.p_ref")
    begin = draw.uniform(0.5, 5.0)
    ramp = psmr.LoadRamp(
        int(draw.choice([5, 6, 8])), begin, begin + draw.uniform(5.0, 40.0), float(draw.uniform(1.2, 1.7))
    )
    known = {name for device in devices.values() for name in variables(device)}
    start = {name: value for name, value in start.items() if name in known}
    return psmr.assemble(list(devices.values()), start, f"list {seed}"), [ramp]


def variables(device):
    """Return the full names of what a device has."""
    kind = device.component
    own = (*kind.states, *kind.algebraic, *kind.sampled_states, *kind.sampled_outputs, *device.held)
    return [f"{device.name}.{name}" for name in own]


def compared(seed):
    """Return how many actions there are, and (difference in s, label) of the one furthest apart."""
    system, events = listed(seed)
    runs = [
        psmr.simulate(system, scheme, LENGTH, events, certify=False)
        for scheme in (psmr.VariableStep(1e-6), psmr.SingleRate("TM", STEP))
    ]
    ours, theirs = ([(str(change), change.t) for change in run.changes] for run in runs)
    if sorted(label for label, _ in ours) != sorted(label for label, _ in theirs):
        return len(ours), (np.inf, f"{len(ours)} and {len(theirs)} actions")
    apart = [
        (abs(own[1] - other[1]), own[0]) for own, other in zip(sorted(ours), sorted(theirs), strict=True)
    ]
    return len(ours), max(apart, default=(0.0, ""))


def main(count, first=0):
    """Print a row a list, and how many are within a step."""
    within = actions = 0
    for seed in range(first, first + count):
        number, (apart, label) = compared(seed)
        actions, within = actions + number, within + (apart <= STEP)
        print(f"{seed:4d} {number:4d} {1e3 * apart:10.4f} ms  {label}", flush=True)
    print(f"{within} of {count} lists within a step of {1e3 * STEP:g} ms, {actions} actions")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ["300"]))
