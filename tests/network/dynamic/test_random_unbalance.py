"""Random unbalanced events in a region: the error of fixed steps falls with the square of the step."""

import numpy as np
import pytest

import psmr

BUSES = {"4-5": (4, 5), "5-7": (5, 7), "7-8": (7, 8), "8-9": (8, 9), "6-9": (6, 9), "4-6": (4, 6)}
FAULTS = ("ag", "bg", "cg", "ab", "bc", "ca", "abg", "bcg", "cag", "abc")
OPENINGS = ("a", "b", "c", "ab", "bc", "ca")
SIGNALS = [f"bus{k}.v_{phase}" for k in (5, 7, 9) for phase in "abc"]


def random_events(rng):
    line = str(rng.choice(list(BUSES)))
    start, clear = 0.01 + 0.01 * rng.random(), 0.05 + 0.02 * rng.random()
    trip = {"trip": line} if rng.random() < 0.4 else {}
    resistance, phases = float(10 ** rng.uniform(-2, 0)), str(rng.choice(FAULTS))
    bus = int(rng.choice(BUSES[line]))
    events = [psmr.Fault(bus, start, clear, r=resistance, x=0.0, phases=phases, **trip)]
    if rng.random() < 0.4:
        other = str(rng.choice([name for name in BUSES if name != line]))
        events.append(psmr.OpenPhases(other, 0.02 + 0.01 * rng.random(), phases=str(rng.choice(OPENINGS))))
    return events


@pytest.fixture(scope="module")
def wscc9():
    region = psmr.Region("all", zero_sequence=True)
    return psmr.build(psmr.case("wscc9"), loads="impedance", dynamic=region)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_the_error_falls_with_the_square_of_the_step(wscc9, seed):
    events, times = random_events(np.random.default_rng(seed)), np.linspace(0.08, 0.0899, 40)

    def simulated(scheme):
        run = psmr.simulate(wscc9, scheme, 0.09, events, certify=False)
        return run.at(times, SIGNALS).to_numpy(), len(run.instants)

    wanted, count = simulated(psmr.VariableStep(1e-7))
    errors = []
    for h in (4e-5, 2e-5):
        found, instants = simulated(psmr.SingleRate("TM", h))
        assert instants == count  # each phase is interrupted as often
        errors.append(np.sqrt(np.mean((found - wanted) ** 2)))
    assert errors[1] < 0.01
    assert 3.3 < errors[0] / errors[1] < 4.7  # 4 for the trapezoidal rule
