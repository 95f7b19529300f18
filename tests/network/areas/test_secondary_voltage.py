"""Secondary voltage control of a pilot bus: what is held, by whose reactive power, and what limits do."""

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError
from tests.systems.two_areas import LOAD_STEP, two_areas

PILOT = 3


def controlled(limits=None, area=None, second=False, **other):
    """Return the two areas with a control of bus 3 by G1 and G2, 3 to 1, in place of generation control."""

    def change(tables):
        control = {"type": "SecondaryVoltageControl", "bus": PILOT, "k_i": 4.0, "k_p": 20.0} | other
        tables["areas"] = [{"number": 1, "voltage_control": control}] if area is None else area
        for plant, part in zip(tables["generators"], (0.75, 0.25, float(second), 0.0), strict=True):
            del plant["participation"]
            if part:
                given = {
                    "type": "ReactiveParticipation",
                    "part": part,
                    "k_q": 0.1,
                    "dv_max": 0.2,
                    "dv_min": -0.2,
                }
                plant["reactive_participation"] = given | (limits or {}).get(plant["name"], {})

    return two_areas(change)


def test_the_pilot_bus_is_held_by_the_parts_of_units():
    system = psmr.build(controlled())
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 400.0, [LOAD_STEP])
    assert np.abs(run["SVR1.level"][:0.9]).max() < 1e-9
    assert abs(run["bus3.v"][5.0:].iloc[0] - run["bus3.v"].iloc[0]) > 5e-4
    assert run["bus3.v"].iloc[-1] == pytest.approx(run["bus3.v"].iloc[0], abs=1e-6)
    risen = [run[f"G{k}.q"].iloc[-1] - run[f"G{k}.q"].iloc[0] for k in (1, 2)]
    assert risen == pytest.approx(
        [75 * run["SVR1.level"].iloc[-1], 25 * run["SVR1.level"].iloc[-1]], rel=1e-4
    )
    assert risen[0] > 10.0


@pytest.mark.slow
def test_a_sampled_control_steps_at_its_cycles():
    """Levels are sums of k_i T e plus k_p e, by the voltages just before each cycle."""
    system = psmr.build(controlled(type="SampledVoltageControl", T=5.0, T_0=2.0, k_i=0.4, k_p=5.0))
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 600.0, [LOAD_STEP])
    cycles = np.arange(2.0, 600.0, 5.0)
    error = run["bus3.v"].iloc[0] - run.at(cycles, "bus3.v", side="before")["bus3.v"].to_numpy()
    wanted = 0.4 * 5.0 * np.cumsum(error) + 5.0 * error
    assert run.at(cycles, "SVR1.level")["SVR1.level"].to_numpy() == pytest.approx(wanted, abs=1e-6)
    assert run["bus3.v"].iloc[-1] == pytest.approx(run["bus3.v"].iloc[0], abs=1e-6)


def test_a_unit_at_its_limit_leaves_the_rest_to_the_other():
    system = psmr.build(controlled())
    most = {"G1": {"q_max": 100 * float(system.device("RPC1").parameters["q_0"]) + 5.0}}
    system = psmr.build(controlled(limits=most))
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 400.0, [LOAD_STEP])
    assert run["G1.q"].iloc[-1] == pytest.approx(most["G1"]["q_max"], abs=1e-3)
    assert run["bus3.v"].iloc[-1] == pytest.approx(run["bus3.v"].iloc[0], abs=1e-6)


def test_bad_controls():
    with pytest.raises(CaseError, match=r"G1 starts at [0-9.]+ Mvar, outside these limits"):
        psmr.build(controlled(limits={"G1": {"q_max": 5.0}}))
    with pytest.raises(CaseError, match=r"G1 is in area 1, whose .* has no .area.voltage_control"):
        controlled(area=[])
    control = {"type": "SecondaryVoltageControl", "bus": PILOT, "k_i": 4.0}
    both = [{"number": k, "voltage_control": control} for k in (1, 2)]
    with pytest.raises(CaseError, match=r"bus = 3: SVR1 keeps the voltage of this bus already"):
        controlled(area=both, second=True)
    with pytest.raises(CaseError, match=r"0.5 of G1, 0.25 of G2, must add up to 1"):
        controlled(limits={"G1": {"part": 0.5}})
