"""Advice on a run that is off: it can be typed, was tried, and is neither short nor too fine."""

import dataclasses
import math
import re

import numpy as np
import pytest

import partitioning
import psmr
from tests.internals import Advice, GlobalError, Scheme, advice_module, rounded_down

FAULT = (psmr.Fault(bus=5, start=0.5, clear=0.6, trip="5-7"),)
STUDY = """\
format = "psmr-study"
version = 1
case = "wscc9"
[simulation]
t_end = 0.01
[scheme]
"""
KINDS = {
    "SingleRate": "single",
    "Multirate": "multirate",
    "VariableStep": "variable",
    "Smes": "smes",
    "SlowManifold": "slow-manifold",
    "ArcLength": "arc-length",
    "Adaptive": "adaptive",
    "SampledMultirate": "sampled",
    "QuasiSteadyState": "quasi-steady",
}
PARTS = (0.999, 0.9, 0.5, 0.3, 0.04, 1e-3, 1e-6, 1e-12, 1e-40, 1e-320)


@pytest.fixture(scope="module")
def system():
    return psmr.build(psmr.case("wscc9"))


@pytest.fixture(scope="module")
def split(system):
    return partitioning.by_participation(system.linearise(), delta=20.0)


def schemes(split):
    """Yield schemes of every public class, with steps and tolerances round and not, large and small."""
    steps = (0.05, 1 / 60, 0.0083, 3.3e-5, 1e-299)
    for method in ("FEM", "TM", "BEM", "RK4", "SDIRK2"):
        yield from (psmr.SingleRate(method, h, newton="honest") for h in steps)
    yield psmr.SingleRate("TM", 0.02, tolerance=1e-7, damped=True)
    for solution in ("TM", "BEM"):
        for ratio in (1, 3, 7, 10, 137, 10_000):
            yield from (psmr.Multirate(split, h, ratio, solution=solution) for h in steps)
    yield psmr.Multirate(split, 0.05, 5, predictor="extrapolation", predict="slow")
    yield psmr.Multirate(split, 0.05, 5, predictor="TM", corrections="converge", interpolation="spline")
    for method in ("auto", "ESDIRK32", "ESDIRK43", "TR-BDF2"):
        yield from (psmr.VariableStep(t, method, h_max=0.5) for t in (0.99, 1e-2, 1.3e-4, 1e-4, 3e-8))
    yield psmr.VariableStep(psmr.VariableStep(1e-6).least_tolerance)
    yield from (psmr.SampledMultirate(t) for t in (1e-2, 1.3e-4, 3e-8))
    yield from (psmr.QuasiSteadyState(tolerance=t) for t in (1e-2, 1.3e-4, 3e-8))
    for base in ("FEM", "RK2", "RK4"):
        yield from (psmr.Smes(0.02, 0.02 / k, 3, base) for k in (14, 20, 100))
    yield from (psmr.SlowManifold(split, h, jacobian="kept") for h in steps)
    for method in ("RK54", "Adams"):
        yield from (psmr.Adaptive(method, rtol, rtol / 10) for rtol in (1e-1, 3e-6, 1e-10))
    for method in ("FEM", "RK2", "RK4", psmr.Adaptive("RK54", 1e-3, 1e-5)):
        yield psmr.ArcLength(method, 0.02, weights={"G1.delta": 2.0}, weight_t=3.0)


def value(text: str) -> object:
    return text[1:-1] if text.startswith('"') else int(text) if re.fullmatch(r"\d+", text) else float(text)


def table(words: str) -> dict[str, object]:
    """Return the fields of a study that advice names, as one reads them."""
    fields = re.match(r"Take (.*?)\. (?:Tried|That)", words)[1]
    return {name: value(text) for name, text in re.findall(r"(\w+) = ([^ ,]+?)(?: s)?(?:, |$)", fields)}


def test_every_public_class_of_schemes_is_here(split):
    public = [getattr(psmr, name) for name in psmr.__all__]
    classes = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Scheme)}
    assert {type(scheme) for scheme in schemes(split)} == classes
    assert {kind.__name__ for kind in classes} == set(KINDS)


def test_a_finer_scheme_is_valid_round_and_finer_or_there_is_none(split):
    found = 0
    for scheme in schemes(split):
        for part in PARTS:
            finer = scheme.finer(part)
            if finer is None:
                continue
            found += 1
            assert dataclasses.replace(finer) == finer  # its own checks once more
            names = [name for name, _, _ in finer.accuracy]
            assert names == [name for name, _, _ in scheme.accuracy]
            for (name, new, _), (_, old, _) in zip(finer.accuracy, scheme.accuracy, strict=True):
                assert new < old or (name in ("delta", "micro") and new == old), (scheme, part)
                if name in ("h", "h_fast", "tolerance", "rtol", "atol"):
                    assert rounded_down(new * (1.0 + 1e-9)) == pytest.approx(new, rel=1e-12), (scheme, part)
            # What was asked for, at most a third less, and nothing else changes.
            place = names.index("h_fast") if "h_fast" in names else 0
            wanted = part ** (1.0 / scheme.order) * scheme.accuracy[place][1]
            assert 0.74 * wanted <= finer.accuracy[place][1] <= wanted * (1.0 + 1e-9), (scheme, part)
            changed = {
                field.name
                for field in dataclasses.fields(scheme)
                if getattr(finer, field.name) != getattr(scheme, field.name)
            }
            assert changed <= {*names, "method"}, (scheme, part)
    assert found > 300


def test_there_is_none_below_what_a_scheme_can_be(split):
    assert psmr.Smes(0.02, 0.001, 3).finer(0.1) is None  # three micro steps take 3 ms
    assert psmr.Smes(0.02, 0.001, 3).finer(0.5).h == 0.01
    # A study that leaves the micro steps out would have others searched for the new h.
    assert table(str(Advice(psmr.Smes(0.01, 0.001, 3)))) == {"h": 0.01, "delta": 0.001, "micro": 3}
    assert psmr.VariableStep(1e-8).finer(1e-6) is None
    assert psmr.Adaptive("RK54", 1e-9, 1e-12).finer(0.01) is None  # Newton's tolerance is 1e-10
    assert psmr.SingleRate("BEM", 1e-299).finer(1e-3) is None


def test_the_order_says_by_how_much(split):
    assert psmr.SingleRate("BEM", 0.05).finer(0.1).h == 0.005
    assert psmr.SingleRate("TM", 0.05).finer(0.04).h == 0.01
    assert psmr.SingleRate("RK4", 0.05).finer(0.4**4 * 1.001).h == 0.02
    finer = psmr.Multirate(split, 0.05, 10).finer(0.0577)
    assert (finer.h_slow, finer.h_fast) == (0.012, pytest.approx(0.0012, rel=1e-15))
    assert psmr.VariableStep(1e-2).finer(0.26).tolerance == 0.0025
    assert psmr.VariableStep(2e-4).finer(0.3).name == "ESDIRK43"
    assert psmr.VariableStep(2e-4).finer(6.1e-9) is None  # 1.2e-12: ESDIRK32 could, ESDIRK43 cannot
    assert psmr.ArcLength("RK2", 0.02).finer(0.25).h == 0.01
    assert psmr.Adaptive("RK54", 1e-2, 1e-4).finer(0.1).accuracy == (("rtol", 1e-3, ""), ("atol", 1e-5, ""))


@pytest.mark.parametrize(
    ("value", "round"),
    [
        (1.0, 1.0),
        (0.1, 0.1),
        (0.99999, 0.8),
        (0.0119, 0.01),
        (0.012, 0.012),
        (7.9e-5, 6e-5),
        (3e-7, 3e-7),
        (0.0, 0.0),
    ],
)
def test_round_numbers(value, round):
    assert rounded_down(value) == round


def test_advice_can_be_typed_into_a_study(system, split, tmp_path):
    """Every field that is advised, beside the choices that the scheme had: the study makes that scheme."""
    linear = system.linearise()
    for scheme in schemes(split):
        finer = scheme.finer(0.2)
        if (
            finer is None
            or isinstance(getattr(scheme, "method", None), psmr.Adaptive)
            or getattr(scheme, "ratio", 1) == 10_000
        ):
            continue
        given = {
            field.name: getattr(scheme, field.name)
            for field in dataclasses.fields(scheme)
            if field.name not in ("split", "weights", "ratio")
            and getattr(scheme, field.name) not in (None, math.inf)
        }
        given |= table(str(Advice(finer)))
        if scheme.split is not None:
            given["delta"] = 20.0
        lines = [
            f"{name} = {str(v).lower() if isinstance(v, bool) else repr(v)}" for name, v in given.items()
        ]
        study = tmp_path / "study.toml"
        study.write_text(
            STUDY + "\n".join([f'type = "{KINDS[type(scheme).__name__]}"', *lines]).replace("'", '"')
        )
        recipe = psmr.read_study(study).recipe
        choices = {**recipe.choices, **({} if scheme.split is None else {"split": split})}
        made = recipe.made.chosen(choices, linear)
        if isinstance(scheme, psmr.ArcLength):
            finer = dataclasses.replace(finer, weights=1.0)
        if isinstance(scheme, psmr.Smes):
            assert made.delta == pytest.approx(finer.delta, rel=1e-11)
            made = dataclasses.replace(made, delta=finer.delta)
        assert made == finer


def test_another_scheme_can_be_typed_into_a_study(tmp_path):
    advice = Advice(psmr.VariableStep(0.0025), another=True)
    study = tmp_path / "study.toml"
    study.write_text(
        STUDY + "\n".join(f"{name} = {v!r}" for name, v in table(str(advice)).items()).replace("'", '"')
    )
    assert psmr.read_study(study).recipe.scheme(None) == psmr.VariableStep(0.0025)


def test_words_of_advice(split):
    error = GlobalError(0.0042, "voltage", "bus5.v", 0.1, 0.1, 0.1, psmr.VariableStep(), psmr.VariableStep())
    said = {
        Advice(
            psmr.SingleRate("TM", 0.0025), error
        ): "Take h = 0.0025 s. Tried: an estimated error of 0.42 %.",
        Advice(psmr.VariableStep(3e-4), dataclasses.replace(error, bound=True)): "Take tolerance = 0.0003. "
        "Tried: an estimated error of at most 0.42 %.",
        Advice(
            psmr.Multirate(split, 0.01, 10)
        ): "Take h_slow = 0.01 s, h_fast = 0.001 s. That is a guess by the "
        "order of the method: to try it takes too long.",
        Advice(psmr.VariableStep(3e-4), error, another=True): 'Take type = "variable", tolerance = 0.0003. '
        "Tried: an estimated error of 0.42 %.",
    }
    assert {advice: str(advice) for advice in said} == said


@pytest.fixture(scope="module")
def off(system):
    return psmr.simulate(system, psmr.SingleRate("TM", 0.05), 2.0, FAULT)


class Errors:
    """Errors in parts of those of schemes, by a function of what sets them, in place of trials."""

    def __init__(self, monkeypatch, function):
        self.function, self.tried = function, []
        monkeypatch.setattr(advice_module, "_tried", self)

    def __call__(self, run, scheme, most):
        self.tried.append(scheme.accuracy[0][1])
        part = self.function(scheme)
        if part is None:
            return None
        return GlobalError(part, "voltage", "bus5.v", 0.1, 0.1, 0.1, psmr.VariableStep(), scheme)

    def on(self, run, part):
        error = GlobalError(part, "voltage", "bus5.v", 0.1, 0.1, 0.1, psmr.VariableStep(), run.scheme)
        return advice_module.advice_on(run, error)


@pytest.mark.parametrize("order", [0.7, 1.0, 1.5, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("worst", [0.0091, 0.013, 0.05, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("method", ["BEM", "TM", "RK4"])
def test_whatever_the_order_advice_is_enough_and_not_too_fine(off, monkeypatch, order, worst, method):
    run = dataclasses.replace(off, scheme=psmr.SingleRate(method, 0.05))
    errors = Errors(monkeypatch, lambda scheme: worst * (scheme.h / 0.05) ** order)
    monkeypatch.setattr(advice_module, "ROWS", 1e12)
    found = errors.on(run, worst)
    assert found.error.part <= 0.0075
    assert found.error.part == errors.function(found.scheme)
    assert not found.another
    needed = 0.05 * (0.01 / worst) ** (1.0 / order)
    assert needed < 3.0 * found.scheme.h
    assert len(errors.tried) <= 8
    if order == {"BEM": 1.0, "TM": 2.0, "RK4": 4.0}[method] and 0.013 <= worst <= 0.3 and method != "RK4":
        assert len(errors.tried) <= 2


def test_steps_that_pass_over_a_transient_are_not_enough(off, monkeypatch):
    """Off by 2 % at 50 ms and by 20 % at 5 ms, which has points within it."""
    errors = Errors(
        monkeypatch, lambda scheme: 0.02 if scheme.h > 0.02 else 0.2 * min(1.0, (scheme.h / 0.002) ** 2)
    )
    monkeypatch.setattr(advice_module, "ROWS", 1e12)
    found = errors.on(off, 0.02)
    assert 1e-4 <= found.scheme.h <= 4e-4
    assert (
        sorted(errors.tried, reverse=True)[: errors.tried.index(found.scheme.h)]
        == errors.tried[: errors.tried.index(found.scheme.h)]
    )


def test_what_fails_when_tried_is_not_proposed(off, monkeypatch):
    errors = Errors(monkeypatch, lambda scheme: None if scheme.h > 0.004 else 0.004)
    found = errors.on(off, 0.5)
    assert 0.0013 < found.scheme.h <= 0.004
    assert found.error.part == 0.004


def test_where_no_step_is_enough_error_control_is_proposed(off, monkeypatch):
    errors = Errors(
        monkeypatch, lambda scheme: 0.4 * scheme.tolerance if scheme.error_control is not None else 0.5
    )
    found = errors.on(off, 0.5)
    assert found.another
    assert found.scheme == psmr.VariableStep(0.015)
    assert found.error.part == 0.006
    # Down by an eighth at most; 60 us would take 33,000 steps, of 32,000 that two million rows are.
    assert errors.tried == [0.006, 0.0006, 0.01, 0.025, 0.015]


def test_what_cannot_be_built_is_replaced(off, monkeypatch):
    run = dataclasses.replace(off, scheme=psmr.Smes(0.02, 0.0035, 5))
    errors = Errors(monkeypatch, lambda scheme: 0.5 * scheme.tolerance)
    found = errors.on(run, 0.5)
    assert found.another
    assert found.scheme.tolerance == 0.015


@pytest.mark.parametrize("another", [None, 0.5])
def test_a_guess_is_said_to_be_one(off, monkeypatch, another):
    """Where neither steps nor tolerances are enough, or no trial may be made."""
    errors = Errors(monkeypatch, lambda scheme: another)
    if another is None:
        monkeypatch.setattr(advice_module, "WORK", 0.0)
        monkeypatch.setattr(advice_module, "ROWS", 0.0)
    found = errors.on(off, 0.05)
    assert found.error is None
    assert not found.another
    assert bool(errors.tried) == (another is not None)
    assert "That is a guess" in str(found)
    if another is None:
        assert found.scheme.h == pytest.approx(0.05 * math.sqrt(0.1), rel=0.25)


def test_a_tolerance_has_no_other_scheme_beside_it(off, monkeypatch):
    run = dataclasses.replace(off, scheme=psmr.VariableStep(0.05, "TR-BDF2"))
    errors = Errors(monkeypatch, lambda scheme: scheme.tolerance)
    found = errors.on(run, 0.05)
    assert found.scheme.method == "TR-BDF2"
    assert not found.another
    assert 1.0 / 300 < found.scheme.tolerance <= 0.0075


def test_where_no_tolerance_is_enough_nothing_is_advised(off, monkeypatch):
    """Down to the least that there is; another method is not what was asked for."""
    run = dataclasses.replace(off, scheme=psmr.VariableStep(0.05, "TR-BDF2"))
    errors = Errors(monkeypatch, lambda scheme: 0.5 if scheme.method == "TR-BDF2" else 0.004)
    assert errors.on(run, 0.5) is None
    assert len(errors.tried) == advice_module.TRIALS or errors.tried[-1] < 1e-7


def test_what_a_trial_is_made_with(system, split, monkeypatch):
    """Its steps are macro steps; it has more samples than the run, of chosen steps nearly all."""
    budgets, dense = [], []
    again, samples = advice_module.integrate_again, advice_module.Samples

    def integrated(run, scheme, end, detectors, most):
        budgets.append(most.most)
        return again(run, scheme, end, detectors, most)

    def sampling(system, **given):
        dense.append(given["dense"])
        return samples(system, **given)

    monkeypatch.setattr(advice_module, "integrate_again", integrated)
    monkeypatch.setattr(advice_module, "Samples", sampling)
    monkeypatch.setattr(advice_module, "ROWS", 0.0)
    monkeypatch.setattr(advice_module, "WORK", 10.0)
    run = psmr.simulate(system, psmr.Multirate(split, 0.05, 5), 1.0, FAULT)
    assert run.judgement.error.advice.error is not None
    assert budgets[0] == 2.0 * run.stats.counters.steps
    assert dense[0] == 5
    run = psmr.simulate(system, psmr.VariableStep(0.1, "TR-BDF2"), 4.0, FAULT)
    dense.clear()
    assert run.judgement.error.advice is not None
    assert dense[0] == 50


def test_values_after_a_loss_of_synchronism_do_not_count_in_a_trial(system):
    lost = [psmr.Fault(bus=5, start=0.5, clear=1.1, trip="5-7")]
    run = psmr.simulate(system, psmr.SingleRate("BEM", 0.05), 4.0, lost)
    advice = run.judgement.error.advice
    taken = psmr.simulate(system, advice.scheme, 4.0, lost, certify=False)
    assert advice.error.t <= taken.outcome.lost.t < 4.0


def test_trials_take_no_more_steps_than_they_may(system, monkeypatch):
    """A tenth of a second at 5 ms is 20 steps; with five times as many a step of 1 ms can be tried, once."""
    monkeypatch.setattr(advice_module, "ROWS", 0.0)
    taken, own = [], advice_module.integrate_again

    def counted(*arguments):
        steps = own(*arguments)
        taken.append((arguments[1], steps))
        return steps

    monkeypatch.setattr(advice_module, "integrate_again", counted)
    run = psmr.simulate(system, psmr.SingleRate("BEM", 0.05), 2.0, FAULT)
    advice = run.judgement.error.advice
    assert (
        sum(steps for scheme, steps in taken if scheme.error_control is None) <= 5 * run.stats.counters.steps
    )
    assert advice.another
    assert (
        sum(steps for scheme, steps in taken if scheme.error_control is not None)
        <= 5 * run.stats.counters.steps
    )


def test_coarser_steps_are_tried_where_the_first_took_all_that_there_was(system, monkeypatch):
    """An eighth of 50 ms is off by 0.1 %, after which a fifth and a third are tried."""
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.05), 2.0, FAULT)
    monkeypatch.setattr(advice_module, "_finer_part", lambda off, order: 0.125)
    monkeypatch.setattr(advice_module, "ROWS", 0.0)
    monkeypatch.setattr(advice_module, "WORK", 9.0)
    monkeypatch.setattr(advice_module, "NEEDED", 1.8)
    assert run.judgement.error.advice.scheme.h >= 0.015
    assert not run.judgement.error.advice.another


def test_a_converter_that_is_passed_over_is_advised_a_step_that_resolves_it():
    """Of the orders of the method followed "Take h = 0.0013 s", which was off by 7 %."""
    system = psmr.build(psmr.case("wscc9-ibr"))
    events = [psmr.LoadTrip(5, 0.129, 0.9, reconnect=0.184), psmr.SetPoint("C2", "v_ref", 0.9225, 0.31)]
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 0.5, events)
    exact = psmr.simulate(system, psmr.VariableStep(1e-9), 0.5, events, certify=False)
    advice = run.judgement.error.advice
    taken = psmr.simulate(system, advice.scheme, 0.5, events)
    assert taken.judgement.colour == "green"
    voltages = [f"bus{k}.v" for k in range(1, 10)]
    instants = [0.0, 0.129, 0.184, 0.31]
    t = taken.t[~np.isin(taken.t, instants)]
    change = np.ptp(exact.frame(voltages).to_numpy(), axis=0).max()
    off = np.abs(taken.at(t, voltages) - exact.at(t, voltages)).to_numpy().max() / change
    assert off < 0.01
    assert off == pytest.approx(advice.error.part, rel=0.5)


def test_a_run_whose_scheme_cannot_be_finer_has_a_judgement(tmp_path):
    """SMES on WSCC 9-bus with converters, where h below 10.6 ms has no room for its five micro steps."""
    system = psmr.build(psmr.case("wscc9-ibr"))
    scheme = psmr.Smes.for_system(system.linearise(), h=0.02, base="RK2")
    run = psmr.simulate(system, scheme, 2.0, [psmr.Fault(5, 0.5, 0.6)])
    assert run.judgement.colour == "amber"
    assert run.judgement.error.part == pytest.approx(0.103, abs=0.002)
    assert 'Take type = "variable", tolerance = ' in run.summary()
    advice = run.judgement.error.advice
    taken = psmr.simulate(system, advice.scheme, 2.0, [psmr.Fault(5, 0.5, 0.6)])
    assert taken.judgement.colour == "green"


def test_advice_is_sought_once_and_only_for_a_run_that_is_off(off, system, monkeypatch):
    asked = []
    own = advice_module.advice_on
    run = dataclasses.replace(off)
    monkeypatch.setattr("psmr.study.run.run.advice_on", lambda *given: asked.append(1) or own(*given))
    assert run.estimated_error.advice is None
    assert not asked
    assert run.judgement == run.judgement
    assert len(asked) == 1
    near = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 1.0, FAULT)
    assert near.judgement.error.part < 0.009
    assert near.judgement.error.advice is None
    assert len(asked) == 1


def test_what_states_at_rest_leave_out_is_had_of_error_control(system):
    """A guess at a tolerance of 1e-11 was given: no tolerance brings a swing back."""
    run = psmr.simulate(system, psmr.QuasiSteadyState(), 3.0, FAULT)
    off, doubt = run.judgement.reasons[-2:]
    assert re.search(
        r'Take type = "variable", tolerance = \S+\. Tried: an estimated error of 0\.\d+ %\.$', off
    )
    assert doubt.startswith(
        "fault at bus5 (t = 0.5 s): fast states are at their equilibrium with the fault on"
    )
    trip = psmr.simulate(system, psmr.QuasiSteadyState(), 3.0, [psmr.LineTrip("5-7", 0.6)])
    assert "with the fault on" not in " ".join(trip.judgement.reasons)
