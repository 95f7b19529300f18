"""Compiling ahead: everything, with a bar on a terminal and nothing else on standard error."""

import sys
import time

from psmr import Component
from tests.internals import codegen_module as codegen
from tests.internals import root
from tests.internals import warmup_module as warmup


class NeverSeen(Component):
    """A component that no cache can have."""

    states = ("x",)

    @staticmethod
    def equations(m, v, p):
        return (v.x * time.time_ns(),), (), ()


def test_the_library_is_compiled_and_the_place_is_named(monkeypatch, capsys):
    monkeypatch.setattr(warmup, "_schemes", lambda split: [])
    monkeypatch.setattr(warmup, "components", lambda: (NeverSeen,))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    text = warmup.warmup()
    assert NeverSeen in codegen._compiled
    assert text.startswith(f"1 components and the integrators are compiled in {root()} (")
    said = capsys.readouterr().err
    assert "NeverSeen" in said
    assert "psmr: compiling" not in said
    kept = {file.name.partition("-")[0] for file in root().rglob("*-*")}
    # What runs ask for beside the integration: values between points, tables of many numbers.
    assert {"psmr.integrate.solve.equations.project", "psmr.study.output._write"} <= kept
