"""New England's system with its loads behind transformers whose taps move, and limiters of field current.

The tap changers, limiters and shunts are the smallest components that act as such devices do: a condition, a
delay, and an effect on the element that they act on.
"""

from dataclasses import replace

import psmr
from tests.internals import Action, BusRow, DeviceRow, ShuntRow, TransformerRow, nonnegative, positive


def _magnitude(m, v):
    return m.sqrt(v.v_re**2 + v.v_im**2)


def _move(way):
    def effect(v, p):
        return {"moves": p.moves + way, "acts_on.tap": v.acts_on.tap + way * p.step}

    return effect


class Tap(psmr.Component):
    """A tap changer at the first end of a transformer, which holds the voltage of the second."""

    inputs = ("v_re", "v_im")
    algebraic = ("v",)
    v_low = psmr.Parameter("pu", "lower edge of the band", positive)
    v_high = psmr.Parameter("pu", "upper edge of the band", positive)
    step = psmr.Parameter("1", "change of the ratio", positive, 0.01)
    wait = psmr.Parameter("s", "time from the edge of the band to a move", positive, 30.0)
    least = psmr.Parameter("1", "most moves down, negative", default=-12.0)
    most = psmr.Parameter("1", "most moves up", default=12.0)
    moves = psmr.Parameter("1", "moves up less moves down", default=0.0)

    @staticmethod
    def equations(m, v, p):
        return (), (_magnitude(m, v) - v.v,), ()

    actions = (
        Action(
            "tap down",
            lambda m, v, p: m.min(p.v_low - v.v, p.moves - p.least - 0.5),
            lambda p: p.wait,
            _move(-1),
            again=True,
        ),
        Action(
            "tap up",
            lambda m, v, p: m.min(v.v - p.v_high, p.most - p.moves - 0.5),
            lambda p: p.wait,
            _move(1),
            again=True,
        ),
    )


class Limiter(psmr.Component):
    """The time of a voltage below a level, inverse to how far: it is said, and nothing changes."""

    inputs = ("v_re", "v_im")
    states = ("heat",)
    limits = {"heat": ("none", "full")}
    level = psmr.Parameter("pu", "voltage above which it cools", positive)
    none = psmr.Parameter("pu s", "least heat", default=0.0)
    full = psmr.Parameter("pu s", "heat at which it acts", positive, 0.3)
    acted = psmr.Parameter("1", "whether it has acted", default=0.0)

    @staticmethod
    def equations(m, v, p):
        return (p.level - _magnitude(m, v),), (), ()

    actions = (
        Action(
            "takes over",
            lambda m, v, p: m.min(v.heat - 0.999 * p.full, 0.5 - p.acted),
            effect=lambda v, p: {"acted": 1.0},
        ),
        Action(
            "lets go",
            lambda m, v, p: m.min(0.5 * p.full - v.heat, p.acted - 0.5),
            effect=lambda v, p: {"acted": 0.0},
        ),
    )


class Bank(psmr.Component):
    """A bank of equal capacitors at a shunt, switched by the voltage of a bus."""

    inputs = ("v_re", "v_im")
    algebraic = ("v",)
    v_low = psmr.Parameter("pu", "voltage below which a step is put in", positive)
    v_high = psmr.Parameter("pu", "voltage above which one is taken out", positive)
    step = psmr.Parameter("pu", "susceptance of a step", positive, 0.2)
    wait = psmr.Parameter("s", "time from the edge of the band", nonnegative, 5.0)
    count = psmr.Parameter("1", "steps that are in", default=0.0)
    most = psmr.Parameter("1", "steps that there are", default=4.0)

    @staticmethod
    def equations(m, v, p):
        return (), (_magnitude(m, v) - v.v,), ()

    actions = (
        Action(
            "step in",
            lambda m, v, p: m.min(p.v_low - v.v, p.most - p.count - 0.5),
            lambda p: p.wait,
            lambda v, p: {"count": p.count + 1, "acts_on.b": v.acts_on.b + p.step},
            again=True,
        ),
        Action(
            "step out",
            lambda m, v, p: m.min(v.v - p.v_high, p.count - 0.5),
            lambda p: p.wait,
            lambda v, p: {"count": p.count - 1, "acts_on.b": v.acts_on.b - p.step},
            again=True,
        ),
    )


GOVERNOR = {"r": 0.005, "t_1": 0.5, "v_max": 20.0, "v_min": 0.0, "t_2": 2.1, "t_3": 7.0, "d_t": 0.0}
"""A droop of 5 % on 1,000 MVA: the machines are on a base of 100 MVA."""


def case():
    """Return New England's case with governors, and its loads behind transformers of their own."""
    case = psmr.case("new-england")
    buses, transformers = list(case.buses), list(case.transformers)
    loads, shunts = [], list(case.shunts)
    for load in case.loads:
        if load.bus in (31, 39):
            loads.append(load)
            continue
        number = 100 + load.bus
        size = max(1.0, abs(complex(load.p_mw, load.q_mvar)) / 100.0)
        buses.append(BusRow(number, 20.0))
        transformers.append(TransformerRow(load.bus, number, x=0.1 / size, tap=1.0))
        loads.append(replace(load, bus=number, name=f"load{number}"))
        if len(shunts) < 8:
            shunts.append(ShuntRow(load.bus, b_mvar=0.0, name=f"bank{load.bus}"))
    generators = [
        replace(g, devices=(*g.devices, DeviceRow(f"GOV{g.bus}", "governor", "TGOV1", GOVERNOR)))
        for g in case.generators
    ]
    return replace(
        case,
        buses=tuple(buses),
        transformers=tuple(transformers),
        loads=tuple(loads),
        shunts=tuple(shunts),
        generators=tuple(generators),
    )


def system(wait=None, deadband=0.009, taps=22, limiters=20, banks=8):
    """Return the system with devices that act: `wait(k)` in s is the time of the k-th tap changer."""
    wait = wait or (lambda k: 29.0 + k % 5)
    built = psmr.build(case())
    start = dict(zip(built.names_x + built.names_y + built.names_u, built.w0[:-1], strict=True))
    devices = list(built.devices)

    def reads(bus):
        return {"v_re": f"{bus}.v_re", "v_im": f"{bus}.v_im"}

    def voltage(bus):
        return abs(complex(start[f"{bus}.v_re"], start[f"{bus}.v_im"]))

    moving = [d for d in built.devices if "tap" in d.parameters]
    moving.sort(key=lambda d: not d.connections["v_re_j"].startswith("bus1") or len(d.name) < 18)
    for k, at in enumerate(moving[:taps]):
        bus = at.connections["v_re_j"].rpartition(".")[0]
        v = voltage(bus)
        values = {"v_low": v - deadband, "v_high": v + deadband, "wait": wait(k)}
        devices.append(psmr.Device(f"LTC{k + 1}", Tap, values, reads(bus), acts_on=at.name))
        start[f"LTC{k + 1}.v"] = v
    machines = [
        d
        for d in built.devices
        if d.name.startswith("G") and "v_re" in d.connections and d.name[1:].isdigit()
    ]
    for k in range(limiters):
        bus = machines[k % len(machines)].connections["v_re"].rpartition(".")[0]
        values = {"level": voltage(bus) - 0.002 * (1 + k // len(machines))}
        devices.append(psmr.Device(f"OEL{k + 1}", Limiter, values, reads(bus)))
    shunts = [d for d in built.devices if d.name.startswith("bank")]
    for k, at in enumerate(shunts[:banks]):
        bus = at.connections["v_re"].rpartition(".")[0]
        v = voltage(bus)
        values = {"v_low": v - 0.02, "v_high": v + 0.03, "wait": 5.0 + k}
        devices.append(psmr.Device(f"MSC{k + 1}", Bank, values, reads(bus), acts_on=at.name))
        start[f"MSC{k + 1}.v"] = v
    return psmr.assemble(devices, start, "New England with taps")


def daily_ramp(rise=0.15, length=3600.0):
    """Return the events of an hour whose loads go up and down again."""
    half = 0.5 * length
    return [
        psmr.LoadRamp(bus="*", start=0.02 * length, end=half, factor=1.0 + rise, factor_q=1.0 + rise),
        psmr.LoadRamp(bus="*", start=half + 0.02 * length, end=0.98 * length, factor=1.0 / (1.0 + rise)),
    ]
