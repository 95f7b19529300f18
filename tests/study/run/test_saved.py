"""A run in a file: it is the run, and reading it runs nothing that stands in it."""

import io
import json
import os
import pickle
import random
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr import Component, Device, Parameter, assemble, cli, read_study
from psmr.errors import InputError, PsmrDeprecationWarning, PsmrWarning
from tests.internals import run_study


def test_a_saved_run_is_the_run(fault_run, tmp_path):
    place = tmp_path / "fault.psmr"
    fault_run.save(place)
    size = place.stat().st_size
    assert fault_run.spans
    assert fault_run["G*.p"].size
    fault_run.save(place)
    assert place.stat().st_size == size
    again = psmr.load_run(place)
    assert np.array_equal(again.x, fault_run.x)
    assert again.scheme == fault_run.scheme
    assert again.outcome == fault_run.outcome
    assert np.array_equal(again.values("G*.p"), fault_run.values("G*.p"))
    assert again.certificate_after == fault_run.certificate_after
    # What was one object is one again.
    assert again.names_x is again.system.names_x
    assert [p.name for p in tmp_path.iterdir()] == ["fault.psmr"]


@pytest.mark.parametrize(
    "case",
    [
        *("kundur/fault.toml", "wscc9/fault-emt.toml", "wscc9/fault-gfm.toml", "wscc9/fault-ibr.toml"),
        *("wscc9/fault-renewable.toml", "new-england/fault.toml"),
    ],
)
@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_runs_with_all_kinds_of_devices(wscc9, tmp_path, case):
    study = replace(read_study(wscc9.parent / case), t_end=1.2)
    _, run, _ = run_study(study, write=False)
    run.save(tmp_path / "run.psmr")
    same(psmr.load_run(tmp_path / "run.psmr"), run)


def same(again, run):
    for name in ("t", "x", "y"):
        assert np.array_equal(getattr(again, name), getattr(run, name))
    assert np.array_equal(again.values("*"), run.values("*"))
    for name in ("outcome", "scheme", "events", "instants", "acted", "changes", "stopped", "certificate"):
        assert getattr(again, name) == getattr(run, name), name
    assert again.stats.record() == run.stats.record()


@pytest.mark.parametrize(
    "scheme",
    [
        psmr.ArcLength("FEM", 0.01, weights={"G1.omega": 2.0}),
        psmr.Adaptive("RK54", 1e-5),
        psmr.VariableStep(1e-4),
        psmr.Smes(h=0.01, delta=1e-4, micro=10),
    ],
    ids=lambda scheme: type(scheme).__name__,
)
@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_runs_of_all_schemes_and_events(system, tmp_path, scheme):
    (tmp_path / "load.csv").write_text("t,p\n0,125\n0.1,120\n")
    monitors = [psmr.AngleSpread(0.1)]
    events = (
        psmr.Fault(bus=5, start=0.02, clear=0.03, trip="5-7"),
        psmr.LoadTrip(bus=6, start=0.02, fraction=0.5),
        psmr.ParameterStep("AVR1", "k_a", 10.0, start=0.02),
        psmr.TimeSeries(tmp_path / "load.csv", "p", "load8.p"),
    )
    run = psmr.simulate(system, scheme, 0.05, events, monitors=monitors, certify=False)
    assert run.stopped is not None
    run.save(tmp_path / "run.psmr")
    same(psmr.load_run(tmp_path / "run.psmr"), run)


def test_a_scheme_of_a_saved_run_names_what_the_run_had(system, scheme, tmp_path):
    scheme = replace(scheme, predictor="extrapolation", predict="slow")
    psmr.simulate(system, scheme, 0.05, certify=False).save(tmp_path / "run.psmr")
    again = psmr.load_run(tmp_path / "run.psmr").scheme
    assert again == scheme
    assert (again.interface, replace(again, predict="all").interface) == ("schur", "schur")


def test_a_run_that_kept_chosen_signals(system, scheme, tmp_path):
    run = psmr.simulate(system, scheme, 0.5, record=psmr.Record(["G*.p"], every=3, memory=0), certify=False)
    run.save(tmp_path / "run.psmr")
    again = psmr.load_run(tmp_path / "run.psmr")
    assert np.array_equal(again.values("G*.p"), run.values("G*.p"))
    assert (again.outcome, again.kept.every) == (run.outcome, 3)


def test_what_is_not_a_saved_run_is_said(fault_run, tmp_path):
    path = tmp_path / "x.run"
    with pytest.raises(InputError, match="cannot be read: No such file"):
        psmr.load_run(path)
    path.write_text("t,x\n")
    with pytest.raises(InputError, match=r"is not a run saved by run\.save"):
        psmr.load_run(path)


@pytest.mark.parametrize("version", [1, 9, "2", 2.0, True, None])
def test_another_version_of_the_format_is_said(tmp_path, version):
    with zipfile.ZipFile(tmp_path / "x.psmr", "w") as file:
        file.writestr("head.json", json.dumps({"format": "psmr-run", "version": version, "psmr": "3.0"}))
    words = rf"a run of version {version!r}, written by psmr 3.0; this psmr reads version 6; run the study"
    with pytest.raises(InputError, match=words):
        psmr.load_run(tmp_path / "x.psmr")


def altered(run, folder, head=None, body=None, arrays=None):
    """Save a run and change what its file holds; return its path."""
    run.save(folder / "whole.psmr")
    with zipfile.ZipFile(folder / "whole.psmr") as whole, zipfile.ZipFile(folder / "x.psmr", "w") as file:
        for name in whole.namelist():
            data = whole.read(name)
            if name == "head.json" and head is not None:
                data = json.dumps(json.loads(data) | head)
            if name == "run.json" and body is not None:
                data = body(json.loads(data))
                data = data if isinstance(data, str) else json.dumps(data)
            if arrays is not None and name.startswith("arrays/"):
                data = arrays(data)
            file.writestr(name, data)
    return folder / "x.psmr"


def test_classes_that_have_moved_and_fields_of_another_name_are_read(fault_run, tmp_path):
    """Files name a class by its module: one from before modules were joined is read all the same."""

    def earlier(body):
        def was(value):
            if isinstance(value, list):
                return [was(part) for part in value]
            if not isinstance(value, dict):
                return value
            found = {key: was(part) for key, part in value.items()}
            if found.get("object") == ["psmr.integrate.timeline.span", "Span"]:
                found["object"] = ["psmr.integrate.run.course", "Span"]
                fields = found["fields"]
                found["fields"] = {"late" if name == "delayed" else name: fields[name] for name in fields}
            if found.get("object", [""])[0] == "psmr.study.estimated_error":
                found["object"][0] = "psmr.study.estimated_error"
            return found

        return was(body)

    with pytest.warns(
        PsmrDeprecationWarning, match=r"x\.psmr: fields as psmr .* 1\.0: deprecated, psmr 2\.0"
    ) as told:
        again = psmr.load_run(altered(fault_run, tmp_path, body=earlier))
    assert told[0].filename == __file__
    assert again.timeline[0].first == 0
    assert str(again.outcome) == str(fault_run.outcome)


def test_a_run_of_another_psmr_is_said(fault_run, tmp_path):
    path = altered(fault_run, tmp_path, head={"psmr": "0.0.1"})
    with pytest.warns(
        PsmrWarning, match=r"x\.psmr: psmr 0\.0\.1 wrote it, this is .*; its points are as they"
    ):
        psmr.load_run(path)

    def other(body):
        body["fields"]["tint"] = body["fields"].pop("units")
        return body

    path = altered(fault_run, tmp_path, head={"psmr": "0.0.1"}, body=other)
    words = (
        r"cannot be opened: its Run has other fields \(tint, units\) than .* \(psmr 0\.0\.1 wrote it, this is"
    )
    with pytest.raises(InputError, match=words):
        psmr.load_run(path)


def with_system(change):
    def body(told):
        change(told["fields"]["system"]["fields"])
        return told

    return body


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda told: "[1]", "a list stands where a value is to be"),
        (lambda told: "3", "it holds a int and no run"),
        (lambda told: "{" * 3, "is not a run saved"),
        (lambda told: "[" * 100_000, "is not a run saved"),
        (lambda told: {"dict": [[1, 2]]}, "it holds a dict and no run"),
        (lambda told: {"set": [{"list": []}]}, "is damaged: TypeError unhashable"),
        (lambda told: {"what": 1}, "there is no kind of value 'what'"),
        (lambda told: {"same": 7}, "is damaged: IndexError"),
        (lambda told: {"array": 7000}, "is damaged: KeyError"),
        (lambda told: {"array": "../../etc/passwd"}, "is no number of an array"),
        (with_system(lambda fields: fields.update(w0=fields["together"])), "w0 of its system does not fit"),
    ],
)
def test_a_saved_run_that_is_damaged_is_said(fault_run, tmp_path, body, words):
    with pytest.raises(InputError, match=words):
        psmr.load_run(altered(fault_run, tmp_path, body=body))


def test_tables_that_compiled_code_believes_are_looked_at(fault_run, tmp_path):
    """It would read and write at these places, wherever they lie."""
    for name, value in (("index", 2**31), ("row", 10_000)):
        group = fault_run.system.groups[0]
        table = getattr(group, name).copy()
        table[0, 0] = value
        groups = (replace(group, **{name: table}), *fault_run.system.groups[1:])
        replace(fault_run, system=replace(fault_run.system, groups=groups)).save(tmp_path / "x.psmr")
        with pytest.raises(InputError, match=rf"x\.psmr: is damaged: {name} of its system does not fit"):
            psmr.load_run(tmp_path / "x.psmr")


def leaves(told, place=()):
    """Yield the places of all numbers, texts and words in what a file holds."""
    if isinstance(told, dict | list):
        for key, part in told.items() if isinstance(told, dict) else enumerate(told):
            yield from leaves(part, (*place, key))
    else:
        yield place


def test_a_value_of_another_kind_is_refused_or_does_no_harm(fault_run, tmp_path):
    """One leaf of the file is another one; of what is loaded outcome, work and values can be looked at."""
    draw, refused = random.Random(4), 0
    fault_run.save(tmp_path / "whole.psmr")
    with zipfile.ZipFile(tmp_path / "whole.psmr") as file:
        places = list(leaves(json.loads(file.read("run.json"))))
    for _ in range(60):
        place, value = draw.choice(places), draw.choice([None, "x", True, -1, [], {"array": 0}])

        def changed(told, place=place, value=value):
            inner = told
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = value
            return told

        try:
            run = psmr.load_run(altered(fault_run, tmp_path, body=changed))
            str(run.outcome), str(run.stats), run.at(0.25)
        except psmr.PsmrError:
            refused += 1
    assert refused > 20


def huge(data):
    """The head of an array of 7 TiB, without its numbers."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    return out.getvalue()


def texts(data):
    """An array of texts of the same shape."""
    out = io.BytesIO()
    np.save(out, np.lib.format.read_array(io.BytesIO(data)).astype("U3"))
    return out.getvalue()


@pytest.mark.parametrize("arrays", [huge, texts, lambda data: data[:-8], lambda data: b"x" + data[1:]])
def test_arrays_that_are_not_what_they_say_are_refused(fault_run, tmp_path, arrays):
    with pytest.raises(InputError, match=r"x\.psmr: is(?: damaged| not a run saved)"):
        psmr.load_run(altered(fault_run, tmp_path, arrays=arrays))


def test_rows_of_courses_that_do_not_fit_are_said(system, tmp_path):
    (tmp_path / "load.csv").write_text("t,p\n0,125\n0.1,120\n0.2,125\n")
    course = psmr.TimeSeries(tmp_path / "load.csv", "p", "load8.p")
    run = psmr.simulate(system, psmr.VariableStep(1e-3), 0.2, [course], certify=False)
    run.save(tmp_path / "run.psmr")
    same(psmr.load_run(tmp_path / "run.psmr"), run)
    change = next(change for change in run.changes if change.courses)
    (name, whole), *_ = change.courses
    object.__setattr__(change, "courses", ((name, replace(whole, rate=whole.rate[:1])),))
    run.save(tmp_path / "run.psmr")
    with pytest.raises(InputError, match=rf"is damaged: the rows of the course of {name} do not fit"):
        psmr.load_run(tmp_path / "run.psmr")


class Harm:
    """What a pickle runs when it is read."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_a_file_that_would_run_code_is_refused_before_it_does(fault_run, tmp_path):
    mark = tmp_path / "harmed"
    harm = pickle.dumps(Harm(mark))
    # As a version 1 file, which was a pickle, and as an array of objects, which is one.
    with zipfile.ZipFile(tmp_path / "one.psmr", "w") as file:
        file.writestr("head.json", json.dumps({"format": "psmr-run", "version": 1, "psmr": "0.1.0"}))
        file.writestr("run.pickle", harm)
    with pytest.raises(InputError, match=r"a run of version 1, written by psmr 0\.1\.0"):
        psmr.load_run(tmp_path / "one.psmr")
    array = io.BytesIO()
    np.lib.format.write_array(array, np.array([Harm(mark)], dtype=object), allow_pickle=True)
    for data in (array.getvalue(), harm):
        with pytest.raises(InputError, match=r"is damaged"):
            psmr.load_run(altered(fault_run, tmp_path, arrays=lambda old, data=data: data))
    assert not mark.exists()
    pickle.loads(harm)
    assert mark.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        *(("os", "system"), ("subprocess", "Popen"), ("builtins", "eval"), ("harmful", "Record")),
        *(("psmr.cli.__main__", "main"), ("psmr.__main__", "main"), ("psmr.cli.runs", "run")),
        *(("psmr.study.run.saved", "os"), ("psmr.study.run.saved", "os.system")),
        *(("psmr.integrate.run.recorder", "GrowingTable"), ("psmr.study.run.saved", "load_run")),
        *(("psmr.study.run.run", "System"), ("psmr.dae.compile.nothing", "X"), ("psmr.dae..x", "X")),
    ],
)
@pytest.mark.parametrize("kind", ["object", "class"])
def test_nothing_but_records_and_components_of_psmr_is_made(
    fault_run, tmp_path, monkeypatch, module, name, kind
):
    """No module is imported for a file but those of psmr whose classes a run consists of."""
    (tmp_path / "harmful.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'harmed')!r})\n")
    monkeypatch.syspath_prepend(tmp_path)
    told = {"object": [module, name], "fields": {}} if kind == "object" else {"class": [module, name]}
    path = altered(fault_run, tmp_path, body=lambda whole: told)
    with pytest.raises(InputError, match=r"x\.psmr: (cannot be opened|is damaged): "):
        psmr.load_run(path)
    assert not (tmp_path / "harmed").exists()
    assert "harmful" not in sys.modules
    assert "psmr.cli.__main__" not in sys.modules


MINE = """
from psmr.dae.declare.component import Component, Parameter

class Pond(Component):
    states = ("x",)
    a = Parameter(unit="1/s", doc="growth rate", default=1.0)

    @staticmethod
    def equations(m, v, p):
        return (p.a * v.x * (1 - v.x),), (), ()
"""


def test_components_of_ones_own_are_read_where_their_module_is_named(tmp_path, monkeypatch):
    (tmp_path / "ponds.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    import ponds

    own = assemble([Device("pond", ponds.Pond, {})], start={"pond.x": 0.1})
    run = psmr.simulate(own, psmr.SingleRate("TM", h=0.1), 0.2, certify=False)
    run.save(tmp_path / "pond.psmr")
    with pytest.raises(
        InputError, match=r"holds a Pond of the module ponds.*load_run\(path, modules=\['ponds'\]\)"
    ):
        psmr.load_run(tmp_path / "pond.psmr")
    again = psmr.load_run(tmp_path / "pond.psmr", modules=["ponds"])
    assert np.array_equal(again.x, run.x)
    picture = tmp_path / "pond.svg"
    drawn = ["plot", str(tmp_path / "pond.psmr"), "--signals", "pond.x", "-o", str(picture)]
    assert cli.main(drawn) != 0
    assert cli.main([*drawn, "--modules", "ponds"]) == 0
    assert "<svg" in picture.read_text()
    with pytest.raises(InputError, match=r"modules = 'ponds'.*a list of texts"):
        psmr.load_run(tmp_path / "pond.psmr", modules="ponds")
    monkeypatch.delitem(sys.modules, "ponds")
    (tmp_path / "ponds.py").unlink()
    with pytest.raises(InputError, match=r"modules: there is no ponds.py in "):
        psmr.load_run(tmp_path / "pond.psmr", modules=["ponds"])


def test_a_component_that_no_other_process_finds_is_not_saved(tmp_path):
    class Here(Component):
        states = ("x",)
        a = Parameter(unit="1/s", doc="rate", default=1.0)

        @staticmethod
        def equations(m, v, p):
            return (-p.a * v.x,), (), ()

    own = assemble([Device("here", Here, {})], start={"here.x": 0.1})
    run = psmr.simulate(own, psmr.SingleRate("TM", h=0.1), 0.2, certify=False)
    with pytest.raises(
        InputError,
        match=r"cannot be saved: .*Here is defined in a script, notebook or function, .*move Here to a file",
    ):
        run.save(tmp_path / "here.psmr")
    assert list(tmp_path.iterdir()) == []
