"""Damaged files: a clear error that names file and line, or a case that holds; nothing else, and no wait."""

import dataclasses
import math
import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psmr import Case, read_case
from psmr import check as check_start
from psmr.errors import CaseError, PsmrWarning
from tests.files.mutate import mutated, rescaled
from tests.files.raw import raw_text
from tests.files.test_matpower import GOOD as MATPOWER
from tests.files.test_psse_dyr import GOOD as DYR
from tests.internals import PsseRecord, check_residual, split, toml_text

FEW, MANY = 150, 2000


def outcome(folder, name, data, raw=None):
    """Read damaged data and check what comes of it; say whether a case did."""
    path = folder / name
    path.write_bytes(data)
    options = {"frequency_hz": 60.0} if name.endswith(".m") else {}
    if raw is not None:
        (folder / "case.raw").write_text(raw)
        path, options = folder / "case.raw", {"dynamics": path}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PsmrWarning)
            case = read_case(path, **options)
    except CaseError as error:
        # What a file as a whole lacks is on no line of it.
        whole = "no generator is in service" in str(error)
        assert whole or re.search(r"\.(raw|dyr|m):\d+", str(error)), f"no line: {error}"  # noqa: PT017
        return False
    check(case)
    return True


def check(case):
    """Every number of the case is finite, except limits that are infinite by choice."""
    assert isinstance(case, Case)
    for table in (case.buses, case.branches, case.shunts, case.loads, case.generators):
        for row in table:
            for item in dataclasses.fields(row):
                value = getattr(row, item.name)
                if isinstance(value, float):
                    assert math.isfinite(value) or ("limit" in item.metadata and not math.isnan(value))
    assert toml_text(case)


def survive(folder, texts, count):
    good = [outcome(folder, name, mutated(text, seed), raw) for name, text, raw, seed in texts(count)]
    # Both ends are reached, else the damage is too heavy or too light to show anything.
    assert 0 < sum(good) < len(good)


def raws(count):
    for seed in range(count):
        yield "case.raw", raw_text(32 + seed % 4), None, seed


def dyrs(count):
    for seed in range(count):
        yield "case.dyr", DYR, raw_text(), seed


def matpowers(count):
    for seed in range(count):
        yield "case.m", MATPOWER, None, seed


@pytest.mark.parametrize("texts", [raws, dyrs, matpowers])
def test_damaged_files(tmp_path, texts):
    survive(tmp_path, texts, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("texts", [raws, dyrs, matpowers])
def test_many_damaged_files(tmp_path, texts):
    survive(tmp_path, texts, MANY)


def looked_at(folder, seed):
    """Read damaged dynamic data and check the start of what comes of it; say whether it can start."""
    (folder / "case.raw").write_text(raw_text())
    (folder / "case.dyr").write_bytes((mutated if seed % 2 else rescaled)(DYR, seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        try:
            case = read_case(folder / "case.raw", folder / "case.dyr")
        except CaseError as error:
            assert re.search(r"\.(raw|dyr):\d+", str(error)), f"no line: {error}"  # noqa: PT017
            return None
        report = check_start(case)
    text = report.text(everything=True)
    assert "nan" not in text
    assert report.good == (report.system is not None)
    if report.good:
        assert np.isfinite(report.system.w0).all()
        check_residual(report.system)
    else:
        assert "error: " in text
    return report.good


def test_damaged_plants(tmp_path):
    outcomes = [looked_at(tmp_path, seed) for seed in range(30)]
    assert {None, True, False} == set(outcomes)


@pytest.mark.slow
def test_many_damaged_plants(tmp_path):
    outcomes = [looked_at(tmp_path, seed) for seed in range(MANY)]
    assert {None, True, False} == set(outcomes)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=300))
@pytest.mark.parametrize("name", ["case.raw", "case.dyr", "case.m"])
def test_any_bytes(tmp_path, name, data):
    outcome(tmp_path, name, data, raw_text() if name == "case.dyr" else None)


@settings(max_examples=300, deadline=None)
@given(line=st.text(alphabet="01.,-+eE'\"/ abc\t", max_size=60))
def test_any_record(line):
    try:
        fields = split(line, "here:1")
    except CaseError as error:
        assert "here:1" in str(error)  # noqa: PT017 - either way out is good, both are checked
        return
    record = PsseRecord("here", 1, "test", [f"F{i}" for i in range(len(fields))], fields)
    for i in range(len(fields)):
        for read in (record.real, record.whole):
            try:
                assert math.isfinite(read(f"F{i}"))
            except CaseError as error:
                assert f"F{i} = " in str(error)  # noqa: PT017
