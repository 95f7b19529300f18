"""The cache of compiled code: an unwritable place, several cold processes at once, one notice."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
from psmr.dae.system.assemble import assemble
from psmr.dae.declare.component import Component
from psmr.dae.compile.cache import folder
from psmr.dae.declare.device import Device


class Relaxation(Component):
    states = ("x",)

    @staticmethod
    def equations(m, v, p):
        return (-3.0 * v.x,), (), ()


system = assemble([Device("a", Relaxation, {})], {"a.x": 2.0})
print(system.f(system.x0, system.y0)[0], folder())
"""


def start(cache):
    """Start the program in a process of its own with the given cache folder."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PSMR_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_cold_processes_side_by_side_agree_and_leave_a_sound_cache(tmp_path):
    processes = [start(tmp_path) for _ in range(3)]
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert out.split()[0] == "-6.0"
        assert err.count("compiling for this machine") == 1
    out, err = start(tmp_path).communicate(timeout=300)
    assert out.split()[0] == "-6.0"
    assert err == ""  # warm: nothing is compiled, nothing is said
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.slow
def test_a_named_folder_that_cannot_be_written_is_replaced_and_the_notice_says_where(tmp_path):
    taken = tmp_path / "a file, not a folder"
    taken.write_text("")
    out, err = start(taken).communicate(timeout=300)
    value, place = out.split(maxsplit=1)
    assert value == "-6.0"
    assert str(tmp_path) not in place
    assert f"{taken} cannot be written; compiled code is kept in {place.strip()}" in err
