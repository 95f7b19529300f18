"""The voltage compensator: what the exciter regulates, at rest, in a run, and where it cannot be."""

from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning
from tests.devices.library import PARAMETERS
from tests.files.psse.traces import HERE, TRACES, trapezoidal
from tests.internals import ROLES, NumericMath
from tests.internals import compensated as regulating
from tests.standing import after
from tests.sundials import solver

TRACE = next(trace for trace in TRACES if trace.name == "SEXS")


def read(tmp_path, record, dyr=None):
    path = tmp_path / "case.dyr"
    path.write_text((HERE / (dyr or TRACE.dyr)).read_text() + f"\n{record}\n")
    return psmr.read_case(HERE / TRACE.raw, path, loads="impedance")


def compensated(run, r_c, x_c):
    """The magnitude of the voltage behind an impedance, from the machine's power at its terminals."""
    v = run["bus102.v"].to_numpy()
    power = (run["G102.p"].to_numpy() + 1j * run["G102.q"].to_numpy()) / 100.0
    return np.abs(v + (r_c + 1j * x_c) * np.conj(power / v))


@pytest.mark.parametrize(("r_c", "x_c"), [(0.0, -0.06), (0.02, 0.05)])
def test_the_exciter_regulates_the_compensated_voltage(tmp_path, r_c, x_c):
    case = read(tmp_path, f"102 'IEEEVC' 1 {r_c} {x_c} /")
    (device,) = [d for row in case.generators for d in row.devices if d.role == "compensator"]
    assert (device.name, device.parameters) == ("VC102", {"r_c": r_c, "x_c": x_c})
    system = psmr.build(case)
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-8
    run = trapezoidal(TRACE, system)
    seen = np.hypot(run["VC102.u_re"].to_numpy(), run["VC102.u_im"].to_numpy())
    assert np.abs(seen - compensated(run, r_c, x_c)).max() < 1e-9
    # At rest again the field voltage is the gain times what is left of the error of that voltage.
    p = next(d for d in system.devices if d.name == "AVR102").parameters
    v_ref = dict(zip(system.names_u, system.u0, strict=True))["AVR102.v_ref"]
    assert run["AVR102.v_f"].iloc[-1] == pytest.approx(p["k"] * (v_ref - seen[-1]), abs=2e-3)


def test_none_is_the_same_as_zero(tmp_path):
    plain = trapezoidal(TRACE, psmr.build(TRACE.case(HERE)))
    zero = trapezoidal(TRACE, psmr.build(read(tmp_path, "102 'IEEEVC' 1 0 0 /")))
    assert np.abs(plain["AVR102.v_f"].to_numpy() - zero["AVR102.v_f"].to_numpy()).max() < 1e-9


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("102 'IEEEVC' 1 0.1 /", "IEEEVC: has 1 values; must have 2: r_c x_c"),
        ("101 'IEEEVC' 1 0.1 0 /", None),
    ],
)
def test_records(tmp_path, record, message):
    if message is None:
        with pytest.warns(PsmrWarning, match="acts on an infinite bus"):
            read(tmp_path, record)
    else:
        with pytest.raises(CaseError, match=message):
            read(tmp_path, record)


def test_comp_looks_into_the_network(tmp_path):
    (one, other) = (
        next(d for row in read(tmp_path, record).generators for d in row.devices if d.role == "compensator")
        for record in ("102 'COMP' 1 0.06 /", "102 'IEEEVC' 1 0 -0.06 /")
    )
    assert (one.type, one.parameters) == (other.type, other.parameters)


FED = {
    "EXST1": "0.01 5 -5 1 5 50 0.01 6 -6 0.05 0.01 1",
    "SCRX": "0.1 10 100 0.05 -4 5 0 10",
    "ESDC2A": "0.01 40 0.05 1 0.5 3 -3 0 0.5 0.05 1 0 2.5 0.05 3.5 0.2",
    "EXDC2": "0 40 0 1 0.5 3 -3 0 0.5 0.05 1 0 2.5 0.05 3.5 0.2",
}


@pytest.mark.parametrize("model", FED)
def test_beside_an_exciter_that_the_terminal_voltage_feeds(tmp_path, model):
    """It regulates the compensated voltage, and the terminal voltage is its supply."""
    text = (HERE / TRACE.dyr).read_text()
    first, _, rest = text.partition("'SEXS'")
    ahead = first[: first.rindex("\n") + 1]
    path = tmp_path / "case.dyr"
    path.write_text(f"{ahead}102 '{model}' 1 {FED[model]} /\n{rest.partition('/')[2]}\n102 'COMP' 1 0.08 /\n")
    system = psmr.build(psmr.read_case(HERE / TRACE.raw, path, loads="impedance"))
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-8
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.002), t_end=8.0, events=TRACE.events, certify=False)
    seen = np.hypot(run["VC102.u_re"].to_numpy(), run["VC102.u_im"].to_numpy())
    assert np.abs(seen - compensated(run, 0.0, -0.08)).max() < 1e-9
    v = run["bus102.v"].to_numpy()
    assert np.ptp(v) > 5e-3
    device = next(d for d in system.devices if d.name == "AVR102")
    assert {device.connections["v_re"], device.connections["u_re"]} == {"bus102.v_re", "VC102.u_re"}
    if model == "SCRX":
        # Its field voltage, and that alone, is the terminal voltage times the regulator's signal.
        assert np.abs(run["AVR102.v_f"].to_numpy() - v * run["AVR102.v_a"].to_numpy()).max() < 1e-9
    if model == "EXST1":
        lagging = np.abs(run["AVR102.v_m"].to_numpy() - seen)
        assert lagging[-1] < 1e-4 < np.abs(seen - v)[-1]
    if model == "ESDC2A":
        assert np.abs(run["AVR102.v_r_high"].to_numpy() - 3 * v).max() < 1e-9


def test_every_exciter_takes_a_compensator():
    """Zero compensation is none, term by term: only the regulated voltage is another name."""
    generator = np.random.default_rng(5)
    for exciter in ROLES["exciter"]:
        names = (*exciter.states, *exciter.algebraic, *exciter.inputs)
        values = dict(zip(names, generator.uniform(0.5, 1.5, len(names)), strict=True))

        def terms(kind, u_re, values=values, p=PARAMETERS[exciter]):
            v = SimpleNamespace(**values, u_re=u_re, u_im=values["v_im"])
            return list(chain(*kind.equations(NumericMath, v, SimpleNamespace(**p))))

        free = SimpleNamespace(**values)
        plain = list(chain(*exciter.equations(NumericMath, free, SimpleNamespace(**PARAMETERS[exciter]))))
        assert terms(regulating(exciter), values["v_re"]) == plain
        assert terms(regulating(exciter), values["v_re"] + 2.0) != plain


def test_without_an_exciter(tmp_path):
    path = tmp_path / "case.dyr"
    path.write_text((HERE / "LOAD" / "ThreeBus_GENROU.dyr").read_text() + "\n102 'IEEEVC' 1 0 -0.05 /\n")
    with pytest.raises(CaseError, match="no device of G102 reads the output of IEEEVC"):
        psmr.build(psmr.read_case(HERE / TRACE.raw, path, loads="impedance"))


@pytest.mark.peers
def test_against_ida_with_a_stabiliser(tmp_path):
    """IEEEVC and IEE2ST beside SEXS, after a line trip: the trapezoidal rule and SUNDIALS' IDA."""
    stabiliser = "102 'IEE2ST' 1 1 0 3 0 0.3 0.1 0.03 0.03 10 10 0.4 0.04 0.1 0.05 0 0 0.05 -0.05 0 0 /"
    system = psmr.build(read(tmp_path, f"102 'IEEEVC' 1 0.01 -0.05 /\n{stabiliser}"))
    (event,) = TRACE.events
    runs = [
        psmr.simulate(system, psmr.SingleRate("TM", h=h), t_end=2.0, events=[event], certify=False)
        for h in (1e-3, 5e-4)
    ]
    now = after(system, event.changes(system), event.start)
    k = np.flatnonzero(runs[0].t == 1.0)[-1]
    x, y = runs[0].x[k], runs[0].y[k]
    rate = np.concatenate([now.f(x, y), np.zeros(now.m)])
    found = solver(now, rtol=1e-10, atol=1e-12).solve([1.0, 2.0], np.concatenate([x, y]), rate)
    errors = [np.abs(run.x[-1] - found.y[-1][: now.n]).max() for run in runs]
    # No limit is met: the signal is small.
    assert np.abs(runs[1]["PSS102.v_s"].to_numpy()).max() < 0.05
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)
    exact = runs[1].x[-1] + (runs[1].x[-1] - runs[0].x[-1]) / 3
    assert np.abs(found.y[-1][: now.n] - exact).max() < 1e-7
