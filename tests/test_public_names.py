"""Every public name is called with arguments of the wrong kind: a sentence, or a right answer."""

import functools
import inspect
import math
import pickle
import re
import warnings
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import partitioning
import psmr
import psmr.pencil
from psmr.errors import PsmrError

STUDY = """\
format = "psmr-study"
version = 1
case = "{case}"
[simulation]
t_end = 0.1
"""
SWEEP = """\
format = "psmr-sweep"
version = 1
case = "{case}"
[simulation]
t_end = 0.1
[[axis]]
type = "parameter"
device = "AVR1"
name = "k_a"
values = [20.0, 25.0]
"""


# What is no argument of a user's: results, which psmr makes, errors, and declarations without arguments.
LEFT_OUT = {
    "Accepted",
    "Component",
    "ExternalCode",
    "ImpedanceScan",
    "Island",
    "Outcomes",
    "PsmrError",
    "Run",
    "errors",
    "Stability",
    "StateSpace",
    "Swept",
}

# Accepted beside what `may_be` says: without a limit is infinite, and a scheduler is asked for at need.
BESIDE = {
    ("Adaptive", "longest", "inf"),
    ("Adaptive", "longest", "10**400"),
    ("Adaptive", "longest", "10**5000"),
    ("sweep", "scheduler", "None"),
    ("sweep", "scheduler", "x"),
    ("Region", "buses", "['x']"),
}

# What sentences say of some arguments in place of their names.
SAID = {
    "times": ("t = ",),
    "wanted": ("record = ", "signals = ", "least_damped = "),
    "modes": ("least_damped = ",),
    "monitors": ("is not a monitor",),
    "events": ("is not an event",),
    "net": ("pandapowerNet",),
}

# Functions of one's own that are called: what they raise is no business of psmr's.
CALLED = {(name, "progress") for name in ("accept", "simulate", "sweep", "tune")} | {("certify", "report")}


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """What right arguments are made of."""
    folder, root = tmp_path_factory.mktemp("public"), Path(__file__).resolve().parents[1]
    path = root / "cases" / "wscc9" / "wscc9.toml"
    case = psmr.read_case(path)
    system = psmr.build(case)
    linear = system.linearise()
    scheme = psmr.SingleRate("TM", h=0.05)
    run = psmr.simulate(system, scheme, t_end=0.5, certify=False)
    run.save(folder / "run.psmr")
    phases = psmr.build(case, loads="impedance", dynamic=psmr.Region(5, zero_sequence=True))
    fault = psmr.Fault(5, 0.02, 0.05, phases="ag", r=0.1, x=0.0)
    unequal = psmr.simulate(phases, psmr.SingleRate("TM", 1 / 60 / 20), 0.06, [fault], certify=False)
    for name, text in (("study", STUDY), ("sweep", SWEEP)):
        (folder / f"{name}.toml").write_text(text.format(case=path))
    (folder / "series.csv").write_text("t,p\n0.1,1.0\n0.2,1.1\n")
    (folder / "trace.csv").write_text("t,G1.omega\n0.1,1.0\n0.2,1.0\n")
    return {
        "folder": folder,
        "path": path,
        "case": case,
        "system": system,
        "linear": linear,
        "scheme": scheme,
        "run": run,
        "unequal": unequal,
        "split": partitioning.by_participation(linear, delta=20.0),
        "study": psmr.read_study(folder / "study.toml"),
        "sweep": psmr.read_sweep(folder / "sweep.toml"),
        "swept": psmr.sweep(
            folder / "sweep.toml", folder=folder / "kept", signals="G1.omega", workers=1, report=False
        ),
    }


def right_calls(it):
    """Return (name, what is called, right arguments) for every public name."""
    case, system, linear, scheme, run = (it[key] for key in ("case", "system", "linear", "scheme", "run"))
    split, folder = it["split"], it["folder"]
    t = np.linspace(0.0, 1.0, 50)
    start = {"start": 0.1}
    device = system.devices[0]
    machine = {"type": "ClassicalMachine", "s_n": 100.0, "h": 5.0, "d": 0.0, "x_d1": 0.3}
    rows = {
        "buses": [{"number": 1}, {"number": 2}],
        "lines": [{"from": 1, "to": 2, "x": 0.1}],
        "generators": [{"name": "G1", "bus": 1, "control": "slack", "v": 1.0, "machine": machine}],
    }
    multirate = psmr.Multirate(split, 0.05, 5)
    smes = psmr.Smes(0.05, 0.001, 3)
    calls = {
        "Adaptive": {},
        "AngleSpread": {},
        "Criteria": {},
        "FrequencyOutside": {},
        "ArcLength": {"method": "RK4", "h": 0.1},
        "BranchOutages": start,
        "BusFaults": start,
        "Case": {f: getattr(case, f) for f in inspect.signature(psmr.Case).parameters},
        "CaseAxis": {"cases": ["a.toml"]},
        "ClearingTime": {},
        "Damping": {},
        "Device": {f: getattr(device, f) for f in inspect.signature(psmr.Device).parameters},
        "Region": {"buses": 5},
        "winding_data": {"x": 1.79, "x1": 0.169, "x2": 0.135, "t1": 4.3, "t2": 0.032, "x_l": 0.13},
        "network_deformation": {"case": case, "modes": [-0.2 + 8.6j]},
        "Fault": {"bus": 5, "start": 0.1, "clear": 0.2},
        "GeneratorTrip": {"generator": 1, **start},
        "GeneratorTrips": start,
        "LineClose": {"line": "5-7", **start},
        "LineTrip": {"line": "5-7", **start},
        "OpenPhases": {"line": "5-7", **start},
        "When": {"condition": "bus5.v < 0.7", "event": psmr.LineTrip("5-7", start=0.0)},
        "ListedEvents": {"file": "x.csv"},
        "LoadAxis": {"growths": [25.0]},
        "LoadMargin": {},
        "LoadRamp": {"bus": 5, "start": 0.1, "end": 0.2, "factor": 1.1},
        "LoadTrip": {"bus": 5, "start": 0.1, "fraction": 0.5},
        "ModeChoice": {"least_damped": 2},
        "Multirate": {"split": split, "h_slow": 0.05, "ratio": 5},
        "Parameter": {"unit": "pu", "doc": "something"},
        "Samples": {"period": "T"},
        "ParameterAxis": {"device": "AVR1", "name": "k_a", "values": [1.0, 2.0]},
        "ParameterStep": {"device": "AVR1", "name": "k_a", "value": 1.0, **start},
        "Record": {"signals": ["*.omega"]},
        "SampleAxis": {"device": "AVR1", "name": "k_a", "count": 2, "seed": 1, "low": 1.0, "high": 2.0},
        "SchemeAxis": {"field": "h", "values": [0.1]},
        "SetPoint": {"device": "AVR1", "name": "v_ref", "value": 1.0, **start},
        "ShuntSwitch": {"shunt": "shunt5", **start},
        "SingleRate": {"method": "TM", "h": 0.1},
        "SlowManifold": {"split": split, "h": 0.1},
        "Smes": {"h": 0.05, "delta": 0.001, "micro": 3},
        "Sweep": {"study": it["study"], "axes": it["sweep"].axes},
        "TimeSeries": {"file": folder / "series.csv", "column": "p", "signal": "load5.p"},
        "QuasiSteadyState": {},
        "SampledMultirate": {},
        "VariableStep": {},
        "VoltageCollapse": {},
        "add_dynamics": {"case": case},
        "assemble": {"devices": system.devices},
        "build": {"case": case},
        "certify": {"system": system, "scheme": scheme},
        "check": {"case": case},
        "continuous_taps": {"case": case},
        "critical_step": {"system": linear, "scheme": scheme, "last": 0.01, "first": 0.005},
        "deformation": {"linear": linear, "scheme": scheme},
        "explain": {"system": system, "scheme": scheme},
        "fit_mode": {"t": t, "signal": np.exp(-t) * np.cos(9 * t), "near": -1 + 9j},
        "from_pandapower": {"net": None},
        "load_run": {"path": folder / "run.psmr"},
        "make_case": {"name": "x", "base_mva": 100.0, "frequency_hz": 50.0, **rows},
        "mode_shapes": {"linear": linear},
        "pv_curve": {"case": case, "largest": 0.1},
        "qv_curve": {"case": case, "bus": 5, "count": 3},
        "modes": {"linear": linear},
        "one_line": {"system": system, "split": split},
        "participation": {"linear": linear, "modes": 1},
        "case": {"name": "wscc9"},
        "case_path": {"name": "wscc9"},
        "periodic_modes": {"run": it["unequal"], "t": 0.03},
        "with_delays": {"system": system, "delays": {"AVR1.v": 0.1}},
        "read_case": {"path": it["path"]},
        "read_study": {"path": folder / "study.toml"},
        "read_sweep": {"path": folder / "sweep.toml"},
        "simulate": {"system": system, "scheme": scheme, "t_end": 0.1, "certify": False},
        "impedance_scan": {"system": system, "bus": 5, "f": [1.0]},
        "simulated_response": {
            "state_space": system.state_space(system.names_u[0], system.names_x[0]),
            "scheme": scheme,
            "f": [1.0],
        },
        "step_operator": {"linear": linear, "scheme": scheme},
        "accept": {
            "case": "wscc9/wscc9-ibr",
            "plant": "C1",
            "scr": (3.0,),
            "x_r": (10.0,),
            "folder": folder / "accept",
        },
        "ringdown": {"system": system, "scheme": scheme, "seconds": 1.0},
        "sweep": {
            "base": it["sweep"],
            "folder": folder / "swept",
            "workers": 1,
            "report": False,
            "many": False,
        },
        "tune": {"system": system, "up_to": 2.0, "accuracy": 0.1},
        "read_trace": {"path": folder / "trace.csv"},
        "compare_trace": {"run": run, "trace": psmr.read_trace(folder / "trace.csv")},
        "view": {"path": it["path"], "show": False},
        "write_case": {"case": case, "path": folder / "case.toml"},
    }
    for name, given in calls.items():
        yield name, getattr(psmr, name), given
    report = psmr.deformation(linear, scheme)
    methods = [
        (case, "edit", {"values": {"load5.p_mw": 100.0}}),
        (it["swept"], "signals", {"run": 1}),
        (report, "to_csv", {"path": folder / "modes.csv"}),
        (report, "to_html", {"path": folder / "modes.html"}),
        (report, "plot_modes", {}),
        (report, "plot_deformations", {}),
        (case, "bus", {"number": 5}),
        (run, "at", {"times": [0.1], "names": ["G1.omega"]}),
        (run, "frame", {"names": ["G1.omega"]}),
        (run, "__getitem__", {"names": "G1.omega"}),
        (run, "values", {"names": "G1.omega"}),
        (run, "refined", {"times": [0.1]}),
        (run, "compare", {"other": run}),
        (run, "plot", {"names": "G1.omega"}),
        (run, "save", {"path": folder / "new.psmr"}),
        (run, "to_csv", {"path": folder / "new.csv", "names": "G1.omega"}),
        (run, "to_parquet", {"path": folder / "new.parquet", "names": "G1.omega"}),
        (run, "write_table", {"path": folder / "new.csv", "names": "G1.omega"}),
        (run, "to_html", {"path": folder / "new.html"}),
        (run, "to_xarray", {"names": "G1.omega"}),
        (run, "algebraic", {}),
        (scheme, "with_step", {"h": 0.1}),
        (multirate, "with_ratio", {"ratio": 4}),
        (multirate, "with_step", {"h": 0.1}),
        (smes, "with_step", {"h": 0.1}),
        (psmr.VariableStep(), "at_step", {"h": 0.1}),
        (psmr.Multirate, "from_steps", {"split": split, "h_slow": 0.1, "h_fast": 0.01}),
        (psmr.Smes, "for_system", {"linear": linear, "h": 0.05}),
        (psmr.ModeChoice, "of", {"wanted": 3}),
        (psmr.Record, "of", {"wanted": "*.omega"}),
    ]
    for owner, name, given in methods:
        kind = owner if isinstance(owner, type) else type(owner)
        yield f"{kind.__name__}.{name}", getattr(owner, name), given
    trajectories = import_module("psmr.figures.run.plots").trajectories

    def load_with(p_mw: "float"):
        return case.edit({"load5.p_mw": p_mw})

    yield "Case.edit of a value", load_with, {"p_mw": 100.0}
    # What `Run.plot` passes on.
    yield "trajectories", functools.partial(trajectories, run), {"names": "G1.omega"}


def wrong_values(it):
    """Return values by name, most of which are wrong for any one argument."""
    return {
        "None": None,
        "3": 3,
        "x": "x",
        "object": object(),
        "[]": [],
        "10**400": 10**400,
        "10**5000": 10**5000,
        "-1": -1,
        "b'x'": b"x",
        "nan": math.nan,
        "-inf": -math.inf,
        "inf": math.inf,
        "np.nan": np.float64("nan"),
        "True": True,
        "[object]": [object()],
        "['x']": ["x"],
        "{}": {},
        "class": psmr.SingleRate,
        "case": it["case"],
        "system": it["system"],
        "linear": it["linear"],
        "scheme": it["scheme"],
        "run": it["run"],
    }


def may_be(annotation, label):
    """Return whether a wrong value can be right for what an argument declares."""
    names = {
        "None": ("None",),
        "3": ("int", "float", "complex", "ArrayLike"),
        "-1": ("int", "float", "complex", "ArrayLike"),
        "x": ("str",),
        "True": ("bool",),
        "[]": ("Iterable", "Sequence", "tuple", "ArrayLike"),
        "['x']": ("Iterable[str]", "tuple[str"),
        "{}": ("Mapping",),
        "inf": ("ArrayLike",),
        "-inf": ("ArrayLike",),
        "class": ("Check",),
        "case": ("Case",),
        "system": ("System",),
        "linear": ("LinearDae",),
        "scheme": ("Scheme",),
        "run": ("Run",),
    }
    return any(
        re.search(rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])", str(annotation))
        for name in names.get(label, ())
    )


def with_one_replaced(function, given, parameter, value):
    """Call a function with one of its right arguments replaced."""
    arguments = dict(given)
    if parameter.kind is parameter.POSITIONAL_ONLY:
        arguments.pop(parameter.name, None)
        return function(value, **arguments)
    return function(**(arguments | {parameter.name: value}))


def names_it(words, parameter, label, value):
    """Return whether a sentence says which argument is wrong, or of what type it was.

    Of a text that means nothing and of a list of nothing it says what is missing.
    """
    if label in ("x", "['x']", "[]", "{}"):
        return True
    kind = value.__name__ if isinstance(value, type) else type(value).__name__
    return any(text in words for text in (parameter.name, kind, *SAID.get(parameter.name, ())))


def outcome(name, function, given, parameter, label, value):
    """Return "refused", "accepted" or what is wrong with the answer to a wrong argument."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with_one_replaced(function, given, parameter, value)
    except PsmrError as error:
        words = str(error)
        if not names_it(words, parameter, label, value):
            return f"a sentence that names nothing: {words}"
        return "refused" if len(words) < 700 else f"a sentence too long: {words}"
    except ArgumentsTaken:
        pass
    except Exception as error:
        return f"a traceback: {type(error).__name__}"
    right = may_be(parameter.annotation, label) or (name, parameter.name, label) in BESIDE
    return "accepted" if right else "accepted in silence"


class ArgumentsTaken(Exception):
    """What lies behind the arguments takes a minute, and is tested elsewhere."""


def test_wrong_arguments_get_a_sentence(things, monkeypatch):
    monkeypatch.chdir(things["folder"])

    def stop(*arguments, **more):
        raise ArgumentsTaken

    monkeypatch.setattr(import_module("psmr.study.tuning.tune"), "calibrate", stop)
    monkeypatch.setattr(import_module("psmr.viewer.server"), "Served", stop)
    monkeypatch.setattr(import_module("psmr.acceptance.accept"), "battery", stop)
    counted, wrong, seen = Counter(), [], set()
    for name, function, given in right_calls(things):
        seen.add(name)
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            for label, value in wrong_values(things).items():
                if (name, parameter.name) in CALLED and label == "class":
                    continue
                found = outcome(name, function, given, parameter, label, value)
                counted[found if found in ("refused", "accepted") else "wrong"] += 1
                if found not in ("refused", "accepted"):
                    wrong.append(f"{name}({parameter.name}={label}): {found}")
    assert not wrong, "\n".join(wrong)
    assert seen >= set(psmr.__all__) - LEFT_OUT
    # docs/benchmarks/reliability.md has the figures.
    assert counted["refused"] > 7000


def test_right_arguments_are_taken(things, monkeypatch):
    """What the calls with a wrong argument begin from is right itself."""
    monkeypatch.chdir(things["folder"])
    for name, function, given in right_calls(things):
        if name not in ("accept", "from_pandapower", "tune", "view"):
            # Of all but one the first argument is given by its name, of `Case.edit` by its place.
            place = [given.pop("values")] if name == "Case.edit" else []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(*place, **given)


def test_public_names_are_listed_and_found():
    assert dir(psmr) == sorted(psmr.__all__)
    for name in set(psmr.__all__) - {"errors"}:
        assert pickle.loads(pickle.dumps(getattr(psmr, name))) is getattr(psmr, name)
    with pytest.raises(AttributeError, match="psmr has no 'nothing'"):
        psmr.nothing  # noqa: B018
    for name in psmr.pencil.__all__:
        assert getattr(psmr.pencil, name) is not None
