"""However a command ends: a sentence, its exit code, and no file that is half written."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

import psmr
from psmr.errors import InputError, StudyError
from tests.internals import csv_table, run_study, save

PSMR = [sys.executable, "-m", "psmr"]
SLOW = partial(pytest.param, marks=pytest.mark.slow)


def files(folder):
    return sorted(name for name in os.listdir(folder) if name != ".study")


@pytest.fixture
def small_files():
    """Let no file of this process grow beyond 1 KiB, as with a quota that is used up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


WRITERS = {
    "run.csv": lambda run, place: run.to_csv(place),
    "run.parquet": lambda run, place: run.to_parquet(place),
    "report.html": lambda run, place: run.to_html(place),
    "run.psmr": lambda run, place: run.save(place),
    "run.svg": lambda run, place: save(run.plot(["G*.omega"]), place),
    "run.png": lambda run, place: save(run.plot(["G*.omega"]), place),
    "run.pdf": lambda run, place: save(run.plot(["G*.omega"]), place),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_says_that_there_is_no_room(fault_run, tmp_path, small_files, name):
    WRITERS[name](fault_run, tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    small_files()
    with pytest.raises(
        StudyError, match=rf"cannot write to .*{name}: .*File too large; choose another place"
    ):
        WRITERS[name](fault_run, tmp_path / name)
    assert files(tmp_path) == [name]
    assert (tmp_path / name).read_bytes() == whole


def test_a_run_that_writes_while_it_goes_says_so_too(system, tmp_path, small_files):
    small_files()
    record = psmr.Record(files=[tmp_path / "run.csv"])
    with pytest.raises(StudyError, match=r"cannot write to .*run\.csv: File too large"):
        psmr.simulate(system, psmr.SingleRate("TM", 0.01), 5.0, record=record)
    assert files(tmp_path) == []


@pytest.mark.parametrize("name", WRITERS)
def test_no_writer_replaces_what_is_protected(fault_run, tmp_path, name):
    (tmp_path / name).write_text("kept")
    (tmp_path / name).chmod(0o444)
    with pytest.raises(
        InputError, match=rf"cannot write to .*{name}: it is protected against writing; make it writable"
    ):
        WRITERS[name](fault_run, tmp_path / name)
    assert (files(tmp_path), (tmp_path / name).read_text()) == ([name], "kept")


@pytest.mark.parametrize("name", ["run.csv", "report.html", "run.svg"])
def test_a_protected_result_is_found_before_the_run(tmp_path, study_text, name):
    """Also one that the new run would only remove, as out of date."""
    (tmp_path / name).write_text("kept")
    (tmp_path / name).chmod(0o444)
    (tmp_path / "study.toml").write_text(study_text)
    study = psmr.read_study(tmp_path / "study.toml")
    with pytest.raises(StudyError, match=rf"{name}: it is protected against writing"):
        run_study(study, tmp_path, progress=lambda t: pytest.fail("the run began"))
    assert files(tmp_path) == sorted([name, "study.toml"])


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_knows_what_it_writes(fault_run, tmp_path, name):
    for wrong in (f"{name}.gz", "run.xlsx", "run"):
        with pytest.raises(InputError, match=rf"{wrong}: must end in \..*, which is what is written there"):
            WRITERS[name](fault_run, tmp_path / wrong)
    with pytest.raises(InputError, match="the path of a file is empty"):
        WRITERS[name](fault_run, "")
    assert files(tmp_path) == []


def test_an_empty_folder_is_no_folder(tmp_path, study_text):
    study = tmp_path / "study.toml"
    for line in ('[output]\nfolder = ""\n', "[output]\n"):
        study.write_text(study_text.split("[output]")[0] + line)
        with pytest.raises(StudyError, match="the path is empty; name a folder"):
            run_study(psmr.read_study(study), "" if "=" not in line else None)
    faults = psmr.BusFaults(buses=["bus5"], start=0.1, clearing=[0.1])
    with pytest.raises(StudyError, match="the path is empty; name a folder"):
        psmr.sweep(psmr.read_study(study), [faults], folder="")


@pytest.mark.parametrize("name", ["x.bmp", "x", "x.", "x.png.", "x.foo"])
def test_a_picture_of_no_format(fault_run, tmp_path, name):
    figure = fault_run.plot(["G1.omega"])
    with pytest.raises(
        InputError, match=r"must end in \.svg, \.png, \.pdf, .* or \.webp, which is what is written there"
    ):
        save(figure, tmp_path / name)
    assert files(tmp_path) == []


def test_a_table_of_no_format(fault_run, tmp_path):
    for name in ("x", "x.txt", "x.csv."):
        with pytest.raises(InputError, match=r"must end in \.csv, \.parquet or \.pq"):
            fault_run.write_table(tmp_path / name)
    assert files(tmp_path) == []


def test_a_table_that_fails_midway_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), csv_table(tmp_path / "a.csv", ["x"]):
        raise ZeroDivisionError
    assert files(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", [SLOW(""), "1"])
@pytest.mark.parametrize(
    "words", [("modes", "{case}"), ("modes", "{case}", "--json"), ("--version",), ("--help",), ("run", "-h")]
)
def test_standard_output_that_is_full(wscc9, words, unbuffered):
    words = [word.format(case=wscc9 / "wscc9.toml") for word in words]
    more = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PSMR, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=more)
    assert done.returncode == 1
    assert done.stderr == (
        "psmr: error: standard output: No space left on device; what was to be written there is lost\n"
    )


@pytest.mark.parametrize(
    "ends", ["| head -n 1", SLOW("| true"), SLOW(">&-"), SLOW("2>&-"), SLOW(">&- 2>&-"), "2>/dev/full"]
)
def test_streams_that_lead_nowhere(wscc9, ends):
    line = f"{sys.executable} -m psmr modes {wscc9 / 'wscc9.toml'} {ends}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_closed_standard_output_is_said_before_the_run(tmp_path, study_text):
    """A file would take its number, and what is printed would go into the file."""
    (tmp_path / "study.toml").write_text(study_text)
    line = f"{sys.executable} -m psmr run {tmp_path / 'study.toml'} -o {tmp_path / 'out'}"
    done = subprocess.run(["bash", "-c", f"{line} >&-"], capture_output=True, text=True)
    assert (done.returncode, files(tmp_path)) == (1, ["study.toml"])
    assert done.stderr == (
        "psmr: error: standard output is closed; send it to a file, or to /dev/null if nobody is to read it\n"
    )
    done = subprocess.run(["bash", "-c", f"{line} 2>&- <&-"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Written" in done.stdout


def started(study, folder, *words):
    """Return a run in its own process that has begun to write its signals."""
    child = subprocess.Popen(
        [*PSMR, "run", str(study), "-o", str(folder), *words],
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run under nohup ignore it, and a run that inherits this goes on, as it should.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not list(folder.glob(".run*")):  # the folder may come and go meanwhile
        assert child.poll() is None, child.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return child


@pytest.fixture
def long_study(tmp_path, study_text):
    study = tmp_path / "long.toml"
    study.write_text(
        study_text.replace("t_end = 0.5", 't_end = 3000.0\nrecord = ["*"]').replace(
            'signals = ["*.omega"]', ""
        )
    )
    return study


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_run(tmp_path, long_study, number):
    child = started(long_study, tmp_path / "out")
    child.send_signal(number)
    said = child.communicate(timeout=60)[1]
    how = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
    assert said.splitlines()[-1] == f"psmr: error: {how}; no partial files were left behind"
    assert "Traceback" not in said
    assert child.returncode == 128 + number
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_killed_run_leaves_no_result_and_the_next_one_tidies_up(tmp_path, long_study, study_text):
    out = tmp_path / "out"
    child = started(long_study, out)
    child.kill()
    child.communicate()
    assert all(name.startswith(".run.psmr-") for name in files(out))
    study = tmp_path / "short.toml"
    study.write_text(study_text)
    subprocess.run([*PSMR, "run", str(study), "-o", str(out)], check=True, capture_output=True)
    assert files(out) == ["report.html", "run.csv"]


@pytest.fixture
def small_disk(tmp_path):
    """Yield a disk of 256 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=1777", "tmpfs", str(place)]
    if (
        os.name != "posix"
        or not shutil.which("mount")
        or subprocess.run(mount, capture_output=True).returncode
    ):
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.slow  # compiles everything
def test_a_disk_that_fills(tmp_path, study_text, long_study, small_disk):
    out = small_disk / "out"
    done = subprocess.run(
        [*PSMR, "run", str(long_study), "-o", str(out), "--yes"], capture_output=True, text=True
    )
    assert (done.returncode, out.exists()) == (2, False)
    assert done.stderr.splitlines()[-1] == (
        f"psmr: error: cannot write to {out}/run.csv: No space left on device; choose another place (-o, or "
        "[output] folder)"
    )
    # With the cache on it as well: it runs, says once that nothing is kept, and the result is whole.
    study = tmp_path / "short.toml"
    study.write_text(study_text)
    done = subprocess.run(
        [*PSMR, "run", str(study), "-o", str(tmp_path / "here"), "--no-report"],
        capture_output=True,
        text=True,
        env={**os.environ, "PSMR_CACHE_DIR": str(small_disk / "cache")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("cannot be kept") == 1
    assert "Traceback" not in done.stderr
    assert files(tmp_path / "here") == ["run.csv"]


SWALLOWED = """
import os, signal, sys, time
from psmr.cli.entry import heed_signals

class Late:
    def __del__(self):
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        time.sleep(0.001)

heed_signals()
try:
    late = Late()
    del late
    time.sleep(5.0)
    print("went on")
except KeyboardInterrupt as end:
    print(type(end).__name__)
"""


@pytest.mark.parametrize(("name", "kind"), [("SIGTERM", "EndedBySignal"), ("SIGINT", "KeyboardInterrupt")])
def test_a_signal_while_an_object_is_cleared_away_is_not_lost(name, kind):
    """What is raised there goes nowhere: it is raised once more, and no traceback is shown."""
    done = subprocess.run([sys.executable, "-c", SWALLOWED, name], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == (kind, "")


TRANSLATED = """
import os, signal, sys, time
from psmr.cli import entry

name = sys.argv.pop()

def command(arguments):
    try:
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(5.0)
    except KeyboardInterrupt:  # as numpy does while it is imported
        raise ImportError("could not import a module")

entry.call = command
sys.argv.insert(1, "warmup")
sys.exit(entry.main())
"""


@pytest.mark.parametrize(
    ("name", "words"), [("SIGTERM", "ended by SIGTERM"), ("SIGINT", "interrupted; no partial files")]
)
def test_a_signal_that_a_library_makes_another_error_of_is_what_is_told(name, words):
    done = subprocess.run(
        [sys.executable, "-c", TRANSLATED, name], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 128 + getattr(signal, name)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


THROUGH_EXEC = """
import os, signal, sys
import psmr.cli
from psmr.cli import entry

def command(arguments):
    exec("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(5.0)")

entry.call = command
sys.argv = ["psmr", "warmup"]
sys.exit(psmr.cli.main())
"""


def test_an_interrupt_within_an_exec_has_the_exit_code_of_others():
    """Python remembers it, and ended itself by the signal after everything was said."""
    done = subprocess.run([sys.executable, "-c", THROUGH_EXEC], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert "psmr: error: interrupted; no partial files were left behind" in done.stderr


def test_an_interrupt_before_the_command_begins_is_no_traceback():
    code = """
import sys
import psmr.cli
from psmr.cli import entry

def interrupted():
    raise KeyboardInterrupt

entry.heed_signals = interrupted
sys.argv = ["psmr", "--version"]
sys.exit(psmr.cli.main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "psmr: error: interrupted before anything was begun\n"


def test_an_interrupt_while_psmr_is_imported_is_no_traceback():
    code = """
import sys
import psmr.cli

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == "psmr.cli.cases":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
sys.exit(psmr.cli.main(["warmup"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "psmr: error: interrupted before anything was begun\n"
