"""Voltage-source converters and DC grids: closed forms, droop, balances, and what is refused."""

import numpy as np
import pytest

import psmr
from psmr import Component, Device, Fault, SetPoint, VariableStep, assemble, build, simulate
from psmr.errors import CaseError
from tests.components import DcBus, DcLine, VoltageSource
from tests.internals import consistent
from tests.sundials import solver

_SOURCE = {"i_max": 1.2, "k_dc": 10.0, "k_idc": 40.0, "ac": 1.0, "k_ac": 2.0, "q_min": -0.5, "q_max": 0.5}
PARAMETERS = {VoltageSource: _SOURCE | {"x_r": 0.2, "loss_a": 0.01, "loss_b": 0.02}}
ZERO = {VoltageSource: ("t_p", "t_m", "k_idc")}
# Voltages of the points are above the floor below which there is none.
UNREACHED = {VoltageSource: {8: "second"}}
VARIANTS = {VoltageSource: ({"priority": 0.0}, {"ac": 0.0, "x_r": 0.0})}


class Sink(Component):
    """Takes the AC current of a converter."""

    algebraic = ("a", "b")
    rows = ("re", "im")

    @staticmethod
    def equations(m, v, p):
        return (), (-v.a, -v.b), ()


def converter(name, bus, **parameters):
    wires = {"v_d": f"{bus}.v", "i_d": f"{bus}.balance", "i_re": "sink.re", "i_im": "sink.im"}
    return Device(name, VoltageSource, {"i_max": 2.0, "t_p": 0.0} | parameters, wires)


def at(name, p, v_d):
    start = {
        "v_re": 1.0,
        "v_im": 0.0,
        "v_m": 1.0,
        "i": p / v_d,
        "i_p": p,
        "p_ref": p,
        "v_dref": v_d,
        "p_ac": p,
        "ac_ref": 0.0,
    }
    return {f"{name}.{key}": x for key, x in start.items()}


def eigenvalues(devices, start):
    return np.sort_complex(np.linalg.eigvals(assemble(devices, start).linearise().state_matrix()))


def test_eigenvalue_of_a_capacitor_with_droop():
    """c v' = p / v + p_2 / v with p = p_0 + k (v_ref - v): s = -(k + (p + p_2) / v) / (c v), p + p_2 = 0."""
    c, k, v = 0.04, 12.0, 0.98
    devices = [
        Device("sink", Sink, {}),
        Device("bus", DcBus, {"c": c}),
        converter("a", "bus", k_dc=k, t_m=0.0),
        converter("b", "bus", t_m=0.0),
    ]
    start = at("a", 0.7, v) | at("b", -0.7, v) | {"bus.v": v}
    np.testing.assert_allclose(eigenvalues(devices, start), [-k / (c * v)], rtol=1e-10)


def test_eigenvalues_of_a_regulated_dc_voltage_and_a_line():
    """Two capacitors, a line, PI of one, power at the other: the roots of the matrix written by hand."""
    c, k, k_i, r, l_s, v_1, p = 0.03, 5.0, 90.0, 0.02, 0.004, 1.0, 0.8
    i = (v_1 - np.sqrt(v_1**2 - 4 * r * p)) / (2 * r)
    v_2 = v_1 - r * i
    line = {"v_i": "one.v", "v_j": "two.v", "i_i": "one.balance", "i_j": "two.balance"}
    devices = [
        Device("sink", Sink, {}),
        Device("one", DcBus, {"c": c}),
        Device("two", DcBus, {"c": c}),
        Device("line", DcLine, {"r": r, "l": l_s}, line),
        converter("a", "one", k_dc=k, k_idc=k_i, t_m=0.0),
        converter("b", "two", t_m=0.0),
    ]
    start = at("a", v_1 * i, v_1) | at("b", -p, v_2) | {"one.v": v_1, "two.v": v_2, "line.i": i}
    by_hand = np.array(
        [  # v_1, v_2, i, x_v
            [(-k / v_1 - i / v_1) / c, 0, -1 / c, 1 / (v_1 * c)],
            [0, i / (v_2 * c), 1 / c, 0],
            [1 / l_s, -1 / l_s, -r / l_s, 0],
            [-k_i, 0, 0, 0],
        ]
    )
    np.testing.assert_allclose(
        eigenvalues(devices, start), np.sort_complex(np.linalg.eigvals(by_hand)), rtol=1e-9
    )


def three_terminals(**changes):
    """Three AC systems, a DC grid of a ring with droop at two terminals and power at the third."""
    names = (1, 2, 3)
    source = {"type": "VoltageSource", "t_p": 0.02, "ac": 1, "k_ac": 0.0, "k_iac": 50.0}
    given = ({"v_kv": 400.0}, {"p_mw": -300.0}, {"p_mw": -500.0})
    droops = (100.0, 20.0, 0.0)
    tables = {
        "buses": [{"number": k, "base_kv": 400.0} for k in names] + [{"number": 10 + k} for k in names],
        "lines": [{"from": k, "to": 10 + k, "x": 0.02} for k in names],
        "generators": [
            {
                "name": f"G{k}",
                "bus": 10 + k,
                "control": "slack",
                "v": 1.0,
                "machine": {"type": "InfiniteBus", "s_n": 1000.0, "x_d1": 0.01},
            }
            for k in names
        ],
        "dc_buses": [{"name": f"dc{k}", "base_kv": 400.0, "c_uf": 150.0} for k in names],
        "dc_lines": [
            {"name": f"dc{i}{j}", "from": f"dc{i}", "to": f"dc{j}", "r_ohm": 2.0, "l_mh": 40.0}
            for i, j in ((1, 2), (2, 3), (3, 1))
        ],
        "dc_converters": [
            {
                "name": f"vsc{k}",
                "bus": k,
                "dc_bus": f"dc{k}",
                "i_rated_ka": 2.5,
                "loss_mw": 3.0,
                "loss_kv": 1.0,
                "q_mvar": 40.0 * k,
                "device": source | {"k_dc": droops[k - 1], "i_max": (30.0, 12.0, 30.0)[k - 1]},
            }
            | given[k - 1]
            for k in names
        ],
    }
    for name, change in changes.items():
        tables[name] = change(tables[name]) if callable(change) else change
    return psmr.make_case("three terminals", base_mva=100.0, frequency_hz=50.0, **tables)


@pytest.fixture(scope="module")
def grid():
    return build(three_terminals())


def test_a_grid_starts_at_rest_and_balances_each_terminal(grid):
    value = dict(zip((*grid.names_x, *grid.names_y), grid.w0, strict=False))
    assert max(abs(grid.f(grid.x0, grid.y0)).max(), abs(grid.g(grid.x0, grid.y0)).max()) < 1e-10
    losses = 0.0
    for k in (1, 2, 3):
        i, v = value[f"vsc{k}.i"], value[f"dc{k}.v"]
        ac = abs(complex(value[f"bus{k}.v_re"], value[f"bus{k}.v_im"]))
        own = 0.03 + abs(i) / 400
        assert ac * value[f"vsc{k}.i_p"] == pytest.approx(v * i + own, abs=1e-12)
        losses += own
    in_lines = sum(0.125 / 100 * value[f"dc{name}.i"] ** 2 for name in ("12", "23", "31"))
    taken = sum(value[f"vsc{k}.p_ac"] for k in (1, 2, 3))
    assert taken == pytest.approx(losses + in_lines, abs=1e-10)


def test_a_loss_of_power_is_shared_by_droop(grid):
    """100 MW more at terminal 3: the two with droop take it up as their DC voltages say."""
    run = simulate(
        grid, VariableStep(tolerance=1e-7), t_end=3.0, events=[SetPoint("vsc3", "p_ref", -6.0, start=0.1)]
    )
    last = {name: run[name].iloc[-1] for name in ("vsc1.p_ac", "vsc2.p_ac", "vsc3.p_ac", "dc1.v", "dc2.v")}
    first = {name: run[name].iloc[0] for name in last}
    assert last["vsc3.p_ac"] == pytest.approx(-6.0, abs=1e-6)
    for k in (1, 2):
        change = last[f"vsc{k}.p_ac"] - first[f"vsc{k}.p_ac"]
        assert change == pytest.approx(-(100, 20)[k - 1] * (last[f"dc{k}.v"] - first[f"dc{k}.v"]), abs=1e-6)
        assert change > 0.1
    assert not run.changes[-1].acts


def test_a_step_of_a_power_is_that_of_ida(grid):
    """50 MW more at terminal 3: IDA at 1e-10 on the same f and g."""
    u = grid.u0
    u[grid.names_u.index("vsc3.p_ref")] = -5.5
    stepped = grid.with_start(u=u)
    x, y = stepped.x0, consistent(stepped, stepped.x0, stepped.y0)
    event = SetPoint("vsc3", "p_ref", -5.5, start=0.0)
    run = simulate(grid, VariableStep(tolerance=1e-7), t_end=0.2, events=[event])
    times, rows = np.unique(run.t, return_index=True)
    rates = np.r_[stepped.f(x, y), np.zeros(stepped.m)]
    found = solver(stepped, 1e-10, 1e-12).solve(times, np.r_[x, y], rates)
    assert found.success
    assert abs(run.x[rows] - found.y[:, : grid.n]).max() < 5e-6


def test_a_current_at_its_limit_is_listed(grid):
    """An order above its 12 pu of current: limited, said so, and let go."""
    more = [SetPoint("vsc2", "p_ref", -18.0, start=0.1), SetPoint("vsc2", "p_ref", -3.0, start=0.5)]
    run = simulate(grid, VariableStep(tolerance=1e-6), t_end=1.0, events=more)
    acts = [(act.device, act.kind, act.value) for change in run.changes for act in change.acts]
    assert acts == [("vsc2", "limiter", 1.0), ("vsc2", "limiter", 0.0)]
    assert np.hypot(run["vsc2.i_p"], run["vsc2.i_q"]).max() <= 12.0 + 1e-6


def test_a_line_commutated_rectifier_feeds_a_grid():
    """A rectifier behind its reactor gives 1.2 kA to the ring, whose droops take it up."""
    far = {"name": "dc0", "base_kv": 400.0}
    line = {"name": "dc01", "from": "dc0", "to": "dc1", "r_ohm": 1.0, "l_mh": 500.0}
    rectifier = {
        **{"name": "lcc", "bus": 1, "dc_bus": "dc0", "i_rated_ka": 1.5, "i_ka": 1.2, "bridges": 2},
        **{"x_ohm": 12.0, "angle_deg": 17.0, "device": {"type": "Rectifier"}},
    }
    system = build(
        three_terminals(
            dc_buses=lambda rows: [far, *rows],
            dc_lines=lambda rows: [line, *rows],
            dc_converters=lambda rows: [rectifier, *rows],
        )
    )
    assert max(abs(system.f(system.x0, system.y0)).max(), abs(system.g(system.x0, system.y0)).max()) < 1e-10
    assert psmr.modes(system.linearise())["real"].max() < 0
    run = simulate(
        system, VariableStep(tolerance=1e-6), t_end=6.0, events=[Fault(bus=1, start=0.1, clear=0.2, x=0.02)]
    )
    assert run["dc01.i"].min() >= -1e-12
    assert run["lcc.i"].iloc[-1] == pytest.approx(run["lcc.i"].iloc[0], abs=1e-3)


def test_three_line_commutated_terminals():
    """A rectifier, an inverter that holds the voltage, one that holds its current: each failure recovers."""

    def converter(k, kind, angle, **held):
        own = {"bridges": 2, "x_ohm": 12.0, "angle_deg": angle, "i_rated_ka": 1.5, "device": {"type": kind}}
        return {"name": f"lcc{k}", "bus": k, "dc_bus": f"d{k}"} | own | held

    ends = [("d1", "m"), ("m", "d2"), ("m", "d3")]
    system = build(
        three_terminals(
            shunts=[{"bus": k, "b_mvar": 200.0} for k in (1, 2, 3)],
            dc_buses=lambda _: [
                *({"name": f"d{k}", "base_kv": 400.0} for k in (1, 2, 3)),
                {"name": "m", "base_kv": 400.0, "c_uf": 20.0},
            ],
            dc_lines=lambda _: [
                {"name": i + j, "from": i, "to": j, "r_ohm": 4.0, "l_mh": 500.0} for i, j in ends
            ],
            dc_converters=lambda _: [
                converter(1, "Rectifier", 15.0, i_ka=1.5),
                converter(2, "Inverter", 18.0, v_kv=400.0),
                converter(3, "Inverter", 25.0, i_ka=-0.6),
            ],
        )
    )
    assert max(abs(system.f(system.x0, system.y0)).max(), abs(system.g(system.x0, system.y0)).max()) < 1e-10
    for bus in (2, 3):
        fault = Fault(bus=bus, start=0.1, clear=0.2, x=0.05)
        run = simulate(system, VariableStep(tolerance=1e-6), t_end=2.0, events=[fault])
        acts = [(act.device, act.kind) for change in run.changes for act in change.acts]
        assert acts == [(f"lcc{bus}", "commutation"), (f"lcc{bus}", "recovery")]
        for k in (1, 2, 3):
            assert run[f"lcc{k}.i"].iloc[-1] == pytest.approx(run[f"lcc{k}.i"].iloc[0], abs=1e-6)


def changed(k, device=None, **row):
    """Return the change of a converter's row and of its device, None for what is left out."""

    def change(rows):
        new = {key: x for key, x in (rows[k] | row).items() if x is not None}
        rows[k] = new | {"device": new["device"] | (device or {})}
        return rows

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(0, {"i_max": 3.0}), "i_max = 3: .* beyond its rating"),
        (changed(0, v_kv=None, p_mw=810.0), "holds the DC voltage; give one of them"),
        (changed(2, p_mw=-90000.0), "does not carry the powers of its converters"),
        (changed(2, {"x_r": 0.1, "v_cmax": 0.8}), "v_cmax = 0.8: drives less than the -1.2 pu"),
        (changed(0, {"q_min": 1.0}), "q_min = 1, .*: the converter gives"),
        (
            lambda rows: changed(1, {"k_dc": 0.0})(changed(0, {"k_dc": 0.0})(rows)),
            "k_dc = k_idc = 0: no converter",
        ),
    ],
)
def test_what_a_grid_that_cannot_be_gets(change, message):
    with pytest.raises(CaseError, match=message):
        build(three_terminals(dc_converters=change))
