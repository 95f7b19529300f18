"""The cache of compiled code: what it believes, refuses and says, and that nothing in it is stale."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import psmr
from tests.internals import acquire, compiled_statements, read_entry, release, uninterrupted

PACKAGE = Path(psmr.__file__).parent
SLOW = partial(pytest.param, marks=pytest.mark.slow)

PROGRAM = """
from psmr.dae.system.assemble import assemble
from psmr.dae.declare.component import Component
from psmr.dae.compile.cache_files import root
from psmr.dae.declare.device import Device

GAIN = {"k": %s}


class Relaxation(Component):
    states = ("x",)

    @staticmethod
    def equations(m, v, p):
        return (-GAIN["k"] * v.x,), (), ()


system = assemble([Device("a", Relaxation, {})], {"a.x": 2.0})
print(system.f(system.x0, system.y0)[0], root())
"""


def start(cache, gain=3.0, before=""):
    """Start the program in a process of its own with the given cache folder."""
    return subprocess.Popen(
        [sys.executable, "-c", before + PROGRAM % gain],
        env=os.environ | {"PSMR_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(process):
    """Return the derivative, the root of the cache and the lines of standard error."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    value, place = out.strip().split(maxsplit=1)
    return float(value), Path(place), err.splitlines()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Return a cache folder in which the program has run."""
    place = tmp_path_factory.mktemp("filled") / "cache"
    value, root, lines = outcome(start(place))
    assert (value, root) == (-6.0, place)
    assert any("compiling a component model, less than a second" in line for line in lines)
    assert any(
        "compiling the evaluation of residual and Jacobian" in line and str(place) in line for line in lines
    )
    assert place.stat().st_mode & 0o777 == 0o700
    return place


@pytest.fixture
def warm(filled, tmp_path):
    """Return a copy of that folder."""
    return Path(shutil.copytree(filled, tmp_path / "cache"))


def entries(place):
    """Return the files of a cache folder."""
    files = [file for file in place.rglob("*") if file.is_file()]
    return sorted(files, key=lambda file: (file.parent.name != "components", file))


def test_a_warm_process_compiles_nothing_and_says_nothing(warm):
    before = entries(warm)
    assert outcome(start(warm)) == (-6.0, warm, [])
    assert entries(warm) == before


def test_a_constant_in_a_table_counts(warm):
    value, _, lines = outcome(start(warm, gain=4.0))
    assert value == -8.0
    assert lines == ["psmr: compiling a component model, less than a second"]
    assert outcome(start(warm)) == (-6.0, warm, [])


def edited(folder, edit):
    """Copy psmr into a folder and change some of its sources; return what makes the program use the copy."""
    shutil.copytree(PACKAGE, folder / "psmr", ignore=shutil.ignore_patterns("__pycache__"))
    for file in sorted(folder.rglob("psmr/*/*/*.py")):
        file.write_text(edit(file, file.read_text(encoding="utf-8")), encoding="utf-8")
    return f"import sys; sys.path.insert(0, {str(folder)!r})\n"


def test_words_and_layout_compile_nothing(warm, tmp_path):
    def edit(file, text):
        text = text.replace(":\n    ", ":  # a comment\n\n    ")
        return re.sub(r'"""([A-Z])', r'"""Other words. \1', text)

    before = edited(tmp_path, edit)
    assert outcome(start(warm, before=before)) == (-6.0, warm, [])


def test_a_statement_of_a_compiled_function_compiles_anew(warm, tmp_path):
    def edit(file, text):
        return text + "\nUNUSED = 1\n" if file.name == "records.py" else text

    text = outcome(start(warm, before=edited(tmp_path, edit)))[2]
    assert any("compiling the evaluation of residual and Jacobian" in line for line in text)


def test_what_compiled_code_depends_on():
    """Statements of modules that import a compiler and of what those import count; a scheme's do not."""
    sources = {
        "psmr.a": b"from numba import njit\nfrom psmr import b\n",
        "psmr.b": b"import psmr.c\n",
        "psmr.c": b"CONSTANT = 1.0\n",
        "psmr.d": b"from psmr.c import CONSTANT\n",
    }
    found = compiled_statements(sources)
    assert sorted(found) == ["psmr.a", "psmr.b", "psmr.c"]
    same = sources | {"psmr.c": b'# words\nCONSTANT = (\n    1.0)\n"""More words."""\n', "psmr.d": b"x = 1"}
    assert compiled_statements(same) == found
    assert compiled_statements(sources | {"psmr.c": b"CONSTANT = 2.0\n"}) != found
    files = [file for layer in ("dae", "integrate") for file in (PACKAGE / layer).rglob("*.py")]
    real = {".".join(f.relative_to(PACKAGE.parent).with_suffix("").parts): f for f in files}
    counted = compiled_statements({name: file.read_bytes() for name, file in real.items()})
    assert {
        "psmr.integrate.solve.newton",
        "psmr.integrate.solve.records",
        "psmr.dae.compile.decorators",
    } <= set(counted)
    assert "psmr.integrate.schemes.one_step" not in counted


def damage(how):
    """Return a function that damages an entry."""
    return {
        "empty": lambda data: b"",
        "cut short": lambda data: data[: len(data) // 2],
        "one bit": lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
        "something else": lambda data: b"\x80\x05K\x01.",
    }[how]


@pytest.mark.parametrize("how", [SLOW("empty"), SLOW("cut short"), "one bit", SLOW("something else")])
def test_damaged_entries_are_rebuilt_with_one_warning(warm, how):
    for file in entries(warm):
        file.write_bytes(damage(how)(file.read_bytes()))
    value, _, lines = outcome(start(warm))
    assert value == -6.0
    assert sum("it is damaged" in line and "compiled anew" in line for line in lines) == 1
    assert outcome(start(warm)) == (-6.0, warm, [])


@pytest.mark.skipif(os.name == "nt", reason="Windows has neither owners by number nor modes")
def test_an_entry_that_others_may_write_or_that_is_a_link_is_not_loaded(warm, tmp_path):
    for entry in entries(warm)[0], entries(warm)[-1]:  # of a component, and of numba
        entry.chmod(0o666)
        assert any("others may write it (mode 666" in line for line in outcome(start(warm))[2])
        moved = tmp_path / "moved"
        moved.write_bytes(entry.read_bytes())
        entry.unlink()
        entry.symlink_to(moved)
        assert any("it is a symbolic link" in line for line in outcome(start(warm))[2])
        assert not entry.is_symlink()
    assert outcome(start(warm)) == (-6.0, warm, [])


def test_an_entry_under_the_name_of_another_is_not_loaded(warm):
    """Who may write a folder above can move a user's own files: each is bound to its folder and name."""
    first, *_, last = entries(warm)
    first.write_bytes(last.read_bytes())
    assert any(f"{first}: it is damaged" in line for line in outcome(start(warm))[2])
    moved = warm / "moved"
    moved.mkdir(mode=0o700)
    os.link(last, moved / last.name)
    assert read_entry(last) is not None
    assert read_entry(moved / last.name) is None
    assert outcome(start(warm)) == (-6.0, warm, [])


def test_an_entry_of_another_version_is_made_anew_without_a_word(warm):
    for file in entries(warm):
        file.write_bytes(file.read_bytes().replace(b"psmr compiled code, 2\n", b"psmr compiled code, 1\n", 1))
    assert not any("damaged" in line for line in outcome(start(warm))[2])
    assert outcome(start(warm)) == (-6.0, warm, [])


def refused(place):
    """Return the reason for which a folder is not used; the run is right all the same."""
    value, root, lines = outcome(start(place))
    assert value == -6.0
    assert root != place
    assert not root.exists()  # private, removed at the end
    about = [line for line in lines if "cannot keep compiled code" in line]
    assert len(about) == 1
    assert about[0].endswith(
        "; make it a folder of yours or name one with PSMR_CACHE_DIR, until then each process compiles for "
        f"itself (in {root})"
    )
    # Nor is it said that something is compiled once for this machine.
    assert not any("once for this machine" in line for line in lines)
    return about[0].removeprefix(f"psmr: {place} cannot keep compiled code: ").partition("; make it")[0]


ROOT_ONLY = pytest.mark.skipif(
    getattr(os, "getuid", lambda: 1)() != 0, reason="only root gives a folder away"
)


@pytest.mark.skipif(os.name == "nt", reason="Windows has neither owners by number nor modes")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda place: place.write_text(""), "it is a file, no folder"),
        (
            lambda place: (place.mkdir(), place.chmod(0o777)),
            "others may write it (mode 777; where all in it is yours, `chmod -R go-w '{place}'` mends that)",
        ),
        (lambda place: place.symlink_to(place.parent), "it is a symbolic link"),
        pytest.param(
            lambda place: (place.mkdir(), os.chown(place, 12345, 12345)),
            "it belongs to another user (number 12345)",
            marks=ROOT_ONLY,
        ),
    ],
)
def test_a_folder_that_is_not_ones_own_is_refused(tmp_path, make, reason):
    make(tmp_path / "a place")
    assert refused(tmp_path / "a place") == reason.format(place=tmp_path / "a place")


def test_a_full_disk_means_running_without_and_is_said_once(tmp_path):
    limit = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    )
    value, _, lines = outcome(start(tmp_path / "cache", before=limit))
    assert value == -6.0
    assert sum("cannot be kept in" in line and "going on without" in line for line in lines) == 1
    assert entries(tmp_path) == []


def test_a_users_own_jitted_function_is_not_announced(tmp_path):
    program = "import psmr.dae.compile.kernels, numba\nprint(numba.njit(lambda x: x + 1)(1))\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PSMR_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("2\n", "")


@pytest.mark.slow
def test_cold_processes_side_by_side_agree_and_leave_a_sound_cache(tmp_path):
    place = tmp_path / "cache"
    said = []
    for process in [start(place) for _ in range(3)]:
        value, _, lines = outcome(process)
        assert value == -6.0
        said += [line for line in lines if "compiling the evaluation of residual" in line]
    assert len([line for line in said if "waiting" not in line]) == 1  # the others find what one has made
    assert outcome(start(place)) == (-6.0, place, [])
    assert not list(tmp_path.rglob("*.tmp"))


def test_who_waits_for_an_entry_has_the_lock_when_its_maker_is_gone(tmp_path):
    pytest.importorskip("fcntl")
    entry, waited = tmp_path / "entry", []
    code = f"""
import sys, time
from pathlib import Path
from psmr.dae.compile.cache_files import acquire
lock = acquire(Path({str(entry)!r}), None)
print("taken", flush=True)
time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "taken\n"
    lock = acquire(entry, lambda: (waited.append(process.poll()), process.kill()))
    assert waited == [None]  # it was said while the maker was at work
    assert process.wait() != 0
    release(entry, lock)
    assert not list(tmp_path.iterdir())


def test_patience_with_another_process_ends(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    monkeypatch.setattr("psmr.dae.compile.cache_files.TIMEOUT", 0.1)
    entry = tmp_path / "entry"
    lock = acquire(entry, None)
    assert acquire(entry, None) is None
    release(entry, lock)


def test_who_is_to_end_waits_for_no_lock(tmp_path):
    pytest.importorskip("fcntl")
    entry = tmp_path / "entry"
    lock, tried = acquire(entry, None), []

    def interrupted():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            tried.append(acquire(entry, None))

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert tried == [None]
    release(entry, lock)


def test_a_lock_is_released_for_a_forked_process_too(tmp_path):
    pytest.importorskip("fcntl")
    entry = tmp_path / "entry"
    lock = acquire(entry, None)
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    try:
        release(entry, lock)
        again = acquire(entry, None)
        assert again is not None
        release(entry, again)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_function_that_cannot_be_compiled_leaves_no_lock(tmp_path):
    code = """
from psmr.dae.compile.decorators import compiled

@compiled
def wrong(x):
    return x.nothing

try:
    wrong(1.0)
except Exception as error:
    print(type(error).__name__)
"""
    file = tmp_path / "wrong.py"
    file.write_text(code)
    environment = os.environ | {"PSMR_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True)
    assert done.stdout == "TypingError\n", done.stderr
    assert not list(tmp_path.rglob("*.lock"))


def test_time_of_compiling_is_known_and_no_part_of_that_of_a_run(monkeypatch):
    from tests.internals import compiled, seconds_compiling
    from tests.internals import integrate_module as integrate

    number = time.time()  # a closure that no cache has

    @compiled
    def shifted(x):
        return x + number

    before = seconds_compiling()
    shifted(1.0)
    after = seconds_compiling()
    assert after > before
    shifted(2.0)
    assert seconds_compiling() == after

    told = iter([100.0, 140.0])
    monkeypatch.setattr(integrate, "seconds_compiling", lambda: next(told))
    system = psmr.build(psmr.case("wscc9"))
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 0.1, certify=False)
    assert -40.0 < run.stats.counters.seconds < -30.0
