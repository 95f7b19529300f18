"""Distributed generation alone, against its diagram as a differential equation solved with scipy."""

import dataclasses

import numpy as np
import pytest

import psmr
from psmr import Component, Device, assemble
from psmr.errors import InputError
from tests.components import DERA1
from tests.devices.alone import TOLERANCE, Sink, guess_of, respond, run_alone
from tests.devices.diagram import TIMES, clip, step
from tests.devices.library import PARAMETERS
from tests.devices.renewables.test_renewables import band
from tests.files.psse.traces import HERE
from tests.internals import Terminal, with_algebraic_resolved

BASE = PARAMETERS[DERA1] | {
    **{"v_0": 1.0, "k_qv": 3.0, "dbd1": -0.02, "dbd2": 0.03, "iqh1": 0.35, "iql1": -0.25, "t_g": 0.02},
    **{"rrpwr": 2.0, "dp_max": 1.5, "dp_min": -2.0, "d_dn": 30.0, "d_up": 20.0, "fdbd1": -0.001},
    **{"fdbd2": 0.0015, "fe_max": 0.3, "fe_min": -0.25, "p_max": 0.8, "p_min": 0.2, "i_max": 0.9},
}


def dera1(p, u, x):
    v_m, p_m, i_qv, angle, x_p, p_ord, i_p, i_q = x
    phasor = u.v_re + 1j * u.v_im
    v = abs(phasor)
    asked = u.q_ref * (p_m if p["pf_flag"] else 1.0)
    injected = p["k_qv"] * band((p["v_ref0"] or p["v_0"]) - v_m, p["dbd1"], p["dbd2"])
    injected = clip(injected, p["iql1"], p["iqh1"]) if p["k_qv"] else 0.0
    ahead = np.angle(phasor * np.exp(-1j * angle))
    slow = band(u.f_ref - 1 - ahead / p["t_rf"] / (2 * np.pi * p["f_n"]), p["fdbd1"], p["fdbd2"])
    droop = p["d_up"] * slow if slow > 0 else p["d_dn"] * slow
    error = clip(u.p_ref + droop - p_m, p["fe_min"], p["fe_max"])
    regulated = clip(p["k_pg"] * error + x_p, p["p_min"], p["p_max"])
    order = regulated if p["freq_flag"] else u.p_ref
    active, reactive = p_ord / v_m, injected + i_qv

    def room(taken):
        return np.sqrt(max(p["i_max"] ** 2 - taken**2, 0.0))

    def lowest(limit):
        return 0.0 if p["type_flag"] else -limit

    if p["pq_flag"]:
        ip_cmd = clip(active, lowest(p["i_max"]), p["i_max"])
        iq_cmd = clip(reactive, -room(ip_cmd), room(ip_cmd))
    else:
        iq_cmd = clip(reactive, -p["i_max"], p["i_max"])
        ip_cmd = clip(active, lowest(room(iq_cmd)), room(iq_cmd))
    rise = (ip_cmd - i_p) / p["t_g"]
    rates = (
        (v - v_m) / p["t_rv"],
        (v * i_p - p_m) / p["t_p"],
        (asked / v_m - i_qv) / p["t_iq"],
        ahead / p["t_rf"],
        p["k_ig"] * error,
        clip((order - p_ord) / p["t_pord"], p["dp_min"], p["dp_max"]),
        min(rise, p["rrpwr"]) if i_p >= 0 else max(rise, -p["rrpwr"]),
        (iq_cmd - i_q) / p["t_g"],
    )
    i = (i_p - 1j * i_q) * phasor / v * p["s_n"] / p["s_base"]
    bounds = (p["p_min"], p["p_max"])
    return rates, {4: bounds, 5: bounds}, (ip_cmd, iq_cmd, i.real, i.imag)


TRIPS = {
    **{"vtrip_flag": 1.0, "vl0": 0.4, "vl1": 0.8, "vh1": 1.15, "vh0": 1.4, "tvl0": 0.2, "tvl1": 0.15},
    **{"tvh0": 0.2, "tvh1": 0.1, "vrfrac": 0.6, "t_v": 0.05, "freq_flag": 0.0, "k_qv": 0.0, "i_max": 2.0},
}


def worked(levels, p, t_end=4.0, h=1e-5):
    """The part that works at TIMES, from the rules taken one small step after the other, as PSS/E does.

    `levels` is |v| over time; v_m is its filter, `work` the filter of the multiplier.
    """
    below, above = {"vl0": 0.0, "vl1": 0.0}, {"vh0": 0.0, "vh1": 0.0}
    least, most, parted_low, parted_high, lost = p["vl1"], p["vh1"], False, False, False
    v_m, work, found = levels(-1.0), 1.0, []
    steps, wanted = round(t_end / h), iter(np.round(TIMES / h).astype(int))
    due = next(wanted)
    for k in range(steps + 1):
        if k == due:
            found.append(work)
            due = next(wanted, -1)
        for key in below:
            below[key] = below[key] + h if v_m < p[key] else 0.0
        for key in above:
            above[key] = above[key] + h if v_m > p[key] else 0.0
        lost |= below["vl0"] >= p["tvl0"] or above["vh0"] >= p["tvh0"]
        parted_low |= below["vl1"] >= p["tvl1"]
        parted_high |= above["vh1"] >= p["tvh1"]
        least = max(min(least, v_m), p["vl0"]) if parted_low else least
        most = min(max(most, v_m), p["vh0"]) if parted_high else most

        def part(x, x_0, x_1, extreme, parted):
            inside = min(max((x - x_0) / (x_1 - x_0), 0.0), 1.0)
            deepest = (extreme - x_0) / (x_1 - x_0)
            return deepest + p["vrfrac"] * (inside - deepest) if parted and inside > deepest else inside

        low = part(v_m, p["vl0"], p["vl1"], least, parted_low)
        high = part(v_m, p["vh0"], p["vh1"], most, parted_high)
        aim = 0.0 if lost else low * high
        work += h * (aim - work) / p["t_v"]
        v_m += h * (levels((k + 0.5) * h) - v_m) / p["t_rv"]
    return np.array(found)


def with_trips(p, size):
    """A run of the device with the voltage size(t), and what its list of events has."""
    inputs = {
        "v_re": step(0.6, *((t, 0.6 * size(t)) for t in size.jumps)),
        "v_im": step(0.8, *((t, 0.8 * size(t)) for t in size.jumps)),
        "p_ref": step(0.6),
        "f_ref": step(1.0),
    }
    guess = guess_of(DERA1, p, Terminal(0.6 + 0.8j, (0.6 - 0.2j) * (0.6 + 0.8j) * 0.64, {}))
    inputs["q_ref"] = step(float(guess["q_ref"]))
    component = Device("d", DERA1, p, {"i_re": "x.s", "i_im": "x.s"}).component
    return run_alone(component, p, guess, inputs)


SAGS = {
    "part, deeper, back": step(1.0, (0.5013, 0.7), (0.9017, 0.55), (1.3013, 0.75), (1.8017, 1.0)),
    "too short": step(1.0, (0.5013, 0.7), (0.6017, 1.0), (1.3013, 0.5), (1.4017, 1.0)),
    "all": step(1.0, (0.5013, 0.2), (1.2017, 1.0)),
    "high, then low": step(1.0, (0.5013, 1.25), (0.9017, 1.0), (1.5013, 0.6), (2.1017, 1.0)),
    "all by high": step(1.0, (0.5013, 1.5), (1.1017, 1.0)),
}


@pytest.mark.parametrize("name", SAGS)
def test_trips_by_voltage(name):
    p = BASE | TRIPS
    found = with_trips(p, SAGS[name])
    expected = worked(SAGS[name], p)
    assert np.abs(found.work - expected).max() < 2e-3
    assert (expected.min() < 0.99) or name == "too short"


def test_trips_are_listed_and_act_on_the_bus():
    """A plant in a network: a part trips in the fault, all in a longer and deeper one."""
    folder = HERE / "DERA"
    shares = {"p": (0.0, 1.0, 0.0), "q": (1.0, 0.0, 0.0)}
    case = psmr.read_case(folder / "ThreeBusMulti.raw", folder / "ThreeBus_DERA1.dyr", loads=shares)
    plant = case.generators[1]
    trips = {
        "vtrip_flag": 1.0,
        "ftrip_flag": 1.0,
        "vl0": 0.4,
        "vl1": 0.9,
        "vh1": 1.15,
        "vh0": 1.3,
        "fl": 59.0,
    }
    trips |= {"tvl0": 0.3, "tvl1": 0.1, "vrfrac": 0.4, "fh": 61.2, "tfl": 0.1, "tfh": 0.1, "v_pr": 0.5}
    row = dataclasses.replace(plant.devices[0], parameters={**plant.devices[0].parameters, **trips})
    plant = dataclasses.replace(plant, devices=(row,))
    system = psmr.build(dataclasses.replace(case, generators=(case.generators[0], plant)))
    scheme = psmr.SingleRate("TM", h=0.002)
    part = psmr.simulate(system, scheme, 1.5, [psmr.Fault(102, 0.5, 0.75, x=0.05)], certify=False)
    assert [label for _, label in part.instants][1] == "G102: part tripped by low voltage"
    assert part.values("G102.work")[-1, 0] == pytest.approx(0.4, abs=1e-3)
    whole = psmr.simulate(system, scheme, 1.5, [psmr.Fault(102, 0.5, 1.0, x=0.001)], certify=False)
    assert "G102: all tripped by low voltage" in [label for _, label in whole.instants]
    assert abs(whole.values("G102.i_p")[-1, 0]) < 1e-3
    # What leaves voltage and frequency as they should be trips nothing.
    run = psmr.simulate(system, scheme, 1.0, [psmr.LineTrip("101-102", 0.5)], certify=False)
    assert len(run.instants) == 1


@pytest.mark.parametrize(("speed", "words"), [(1.03, "high"), (0.97, "low")])
def test_trips_by_frequency(speed, words):
    """The phasor turns from 0.5 s on: 3 % of the frequency for longer than tfl or tfh; v_pr keeps it in."""
    p = BASE | {"ftrip_flag": 1.0, "fl": 58.8, "fh": 61.2, "tfl": 0.1, "tfh": 0.1, "v_pr": 0.5, "t_v": 0.02}
    p |= {"freq_flag": 0.0, "k_qv": 0.0}

    class Turning(Component):
        """A source of voltage whose angle turns by itself."""

        states = ("angle",)
        algebraic = ("v_re", "v_im")
        inputs = ("slip", "size")

        @staticmethod
        def equations(m, v, p):
            """Return the rate of the angle and the voltage."""
            rest = (v.size * m.cos(v.angle) - v.v_re, v.size * m.sin(v.angle) - v.v_im)
            return (2 * np.pi * 60.0 * v.slip,), rest, ()

    guess = guess_of(DERA1, p, Terminal(0.6 + 0.8j, (0.6 - 0.2j) * (0.6 + 0.8j) * 0.64, {}))
    wires = {"v_re": "bus.v_re", "v_im": "bus.v_im", "i_re": "sink.s", "i_im": "sink.s"}
    begin = {f"d.{k}": float(v) for k, v in guess.items()} | {"d.f_ref": 1.0, "d.p_ref": 0.6}
    begin |= {"bus.angle": np.angle(0.6 + 0.8j), "bus.v_re": 0.6, "bus.v_im": 0.8, "bus.slip": 0.0}
    begin |= {"bus.size": 1.0}
    devices = [Device("bus", Turning, {}), Device("d", DERA1, p, wires), Device("sink", Sink, {})]
    names = {f"{d.name}.{v}" for d in devices for v in (*d.component.states, *d.component.algebraic)}
    names |= {f"d.{v}" for v in ("p_ref", "q_ref", "f_ref")} | {"bus.slip", "bus.size"}
    system = with_algebraic_resolved(assemble(devices, {k: v for k, v in begin.items() if k in names}))
    turn = psmr.SetPoint("bus", "slip", speed - 1, 0.5)
    scheme = psmr.SingleRate("TM", h=0.001)
    run = psmr.simulate(system, scheme, 1.0, [turn], certify=False)
    # The measured frequency is 1 + 0.03 (1 - exp(-t/t_rf)): it reaches 1.02 or 0.98 after t_rf ln 3.
    when = 0.5 + p["t_rf"] * np.log(3.0) + 0.1
    assert run.instants[-1] == (pytest.approx(when, abs=1e-5), f"d: all tripped by {words} frequency")
    low = psmr.SetPoint("bus", "size", 0.4, 0.5)
    held = psmr.simulate(system, scheme, 1.0, [turn, low], certify=False)
    assert len(held.instants) == 1


FLAGS = [
    {},
    {"freq_flag": 0.0, "pf_flag": 0.0},
    {"pq_flag": 1.0, "v_ref0": 0.99},
    {"type_flag": 0.0, "p_min": -0.6, "freq_flag": 0.0},
]


@pytest.mark.parametrize("change", FLAGS, ids=str)
def test_dera1(change):
    """Both sides of every limit: a sag, a swell, a frequency beyond both ends of its band, two orders."""
    p = BASE | change
    size = step(
        1.0, (0.3013, 0.85), (0.7017, 1.02), (1.5013, 1.2), (1.8017, 1.0), (2.6013, 0.6), (2.9017, 1.0)
    )
    turned = step(np.angle(0.6 + 0.8j), (1.1013, 1.2), (2.1017, 0.7))
    times = sorted({*size.jumps, *turned.jumps})
    inputs = {
        "v_re": step(0.6, *((t, size(t) * np.cos(turned(t))) for t in times)),
        "v_im": step(0.8, *((t, size(t) * np.sin(turned(t))) for t in times)),
        "p_ref": step(0.6, (0.1017, 1.1), (1.3013, -0.8), (2.3017, 0.7), (3.5013, 0.5)),
        "f_ref": step(1.0, (3.2013, 1.02), (3.4017, 0.98), (3.6017, 1.0)),
    }
    terminal = Terminal(0.6 + 0.8j, (0.6 - 0.2j) * (0.6 + 0.8j) * 0.64, {})
    guess = guess_of(DERA1, p, terminal)
    # An injection at the start would be one of the voltage's reference.
    injected = p["k_qv"] * band((p["v_ref0"] or 1.0) - 1.0, p["dbd1"], p["dbd2"])
    assert injected == 0.0
    q = float(guess["q_ref"])
    inputs["q_ref"] = step(q, (0.9013, 4 * q), (1.7017, -4 * q), (2.4013, q))
    found = run_alone(DERA1, p, guess, inputs)
    power = 0.6 if p["freq_flag"] else 0.0
    angle = np.angle(0.6 + 0.8j) if p["freq_flag"] else 0.0
    start = (1.0, 0.6, 0.2, angle, power, 0.6, 0.6, 0.2)
    expected = respond(dera1, p, start, inputs)
    for own, other in zip((found.ip_cmd, found.iq_cmd, found.i_re, found.i_im), expected.T, strict=True):
        assert np.abs(own - other).max() < 2 * TOLERANCE
    # With frequency control the order itself is limited, and p_ord comes near it by its lag.
    near = 2e-3 if p["freq_flag"] else 1e-9
    assert found.p_ord.max() == pytest.approx(p["p_max"], abs=near)
    assert found.p_ord.min() == pytest.approx(p["p_min"], abs=near)
    assert (np.hypot(found.ip_cmd, found.iq_cmd) >= p["i_max"] - 1e-6).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dbd1": 0.1}, r"dbd1 = 0\.1: must be at most 0"),
        ({"dp_min": 0.5}, r"dp_min = 0\.5: must be < 0"),
        ({"k_ig": 0.0}, "k_ig = 0: must be > 0 where freq_flag is 1"),
        ({"p_min": -0.2}, r"type_flag = 1 and p_min = -0\.2"),
        ({"iql1": 0.7}, r"iql1 = 0\.7: must be below iqh1"),
        (TRIPS | {"vl0": 0.9}, r"vl0 = 0\.9: must be below vl1 = 0\.8"),
        (TRIPS | {"t_rv": 0.0}, "t_rv = 0: must be > 0 where vtrip_flag is 1"),
        ({"ftrip_flag": 1.0, "fl": 61.0, "fh": 60.0}, "fl = 61: must be below fh = 60"),
        ({"ftrip_flag": 1.0, "fl": 59.0, "fh": 1.02}, r"fl = 59 and fh = 1\.02: both must be in Hz"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    wires = {port: f"x.{port}" for port in DERA1.outputs}
    with pytest.raises(InputError, match=message):
        Device("d", DERA1, PARAMETERS[DERA1] | change, wires)
