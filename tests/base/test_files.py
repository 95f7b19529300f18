"""Files are written whole or not at all, and nothing but regular files is replaced."""

import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap

import pytest

from psmr.errors import CaseError, InputError, StudyError
from tests.internals import abridged, atomic, check_writable, write_text, write_texts


def left(folder):
    return sorted(os.listdir(folder))


def test_a_file_is_replaced_whole_or_stays(tmp_path):
    place = tmp_path / "a.csv"
    write_text(place, "old")

    def fails():
        with atomic(place) as temporary:
            temporary.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert (place.read_text(), left(tmp_path)) == ("old", ["a.csv"])
    write_text(place, "new")
    assert (place.read_text(), left(tmp_path)) == ("new", ["a.csv"])
    mask = os.umask(0)
    os.umask(mask)
    assert place.stat().st_mode & 0o777 == 0o666 & ~mask


def link(place):
    (place.parent / "aim").write_text("kept")
    place.symlink_to(place.parent / "aim")


def bound(place):
    here = os.getcwd()
    os.chdir(place.parent)  # the path of a socket may have a hundred characters only
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(place.name)
    os.chdir(here)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (link, "a symbolic link"),
        (lambda place: place.symlink_to("nowhere"), "a symbolic link"),
        (os.mkfifo, "no regular file"),
        (bound, "no regular file"),
        (os.mkdir, "a folder"),
        (lambda place: os.mknod(place, 0o666 | 0o020000, os.makedev(1, 7)), "no regular file"),
    ],
    ids=["link", "dangling", "pipe", "socket", "folder", "device"],
)
def test_only_regular_files_are_replaced(tmp_path, make, what):
    place = tmp_path / "out.csv"
    try:
        make(place)
    except PermissionError:
        pytest.skip("devices are made by root alone")
    before, names = os.lstat(place), left(tmp_path)
    with pytest.raises(StudyError, match=rf"cannot write to .*out\.csv: it is {what}.*name another file"):
        write_text(place, "text")
    after = os.lstat(place)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert left(tmp_path) == names
    if what == "a symbolic link" and (tmp_path / "aim").exists():
        assert (tmp_path / "aim").read_text() == "kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's file is made by root alone")
def test_a_file_of_another_user_is_not_replaced(tmp_path):
    """Its folder would let it be, as it lets any file be removed."""
    place = tmp_path / "out.csv"
    place.write_text("theirs")
    tmp_path.chmod(0o777)
    code = (
        "import os, sys; from psmr.base.files import write_texts; from pathlib import Path\n"
        "os.setresgid(12345, 12345, 12345); os.setresuid(12345, 12345, 12345)\n"
        "try: write_texts({Path('out.csv'): 'mine'})\n"
        "except Exception as error: print(error)"
    )
    os.chmod(place, 0o644)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stderr, place.read_text()) == ("", "theirs")
    assert "out.csv: it is protected against writing" in done.stdout


def test_what_came_in_between_is_not_replaced_either(tmp_path):
    place = tmp_path / "out.csv"

    def links():
        with atomic(place) as temporary:
            temporary.write_text("text")
            place.symlink_to("nowhere")

    with pytest.raises(InputError, match="it is a symbolic link"):
        links()
    assert left(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "y" * 300])
def test_names_that_cannot_be(tmp_path, name):
    with pytest.raises(StudyError, match="cannot write to") as caught:
        write_text(tmp_path / name, "text")
    assert len(str(caught.value)) < 500
    with pytest.raises(StudyError, match="cannot write to") as caught:
        check_writable(tmp_path / name)
    assert len(str(caught.value)) < 500
    assert left(tmp_path) == []


def test_a_path_is_shown_so_that_it_can_be_read():
    assert abridged("a/b.csv") == "a/b.csv"
    assert abridged("a\x1b[2Jb") == r"a\u001b[2Jb"
    assert len(abridged("x" * 9000)) == 203


def test_folders_that_were_made_go_with_what_fails(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "b.dyr").mkdir()
    for place in ("new/deep/a.raw", "old/a.raw"):
        with pytest.raises(CaseError, match=r"b\.dyr: it is a folder"):
            write_texts({tmp_path / place: "1", tmp_path / "b.dyr": "2"}, CaseError)
    assert left(tmp_path) == ["b.dyr", "old"]
    write_texts({tmp_path / "new/deep/a.raw": "1"}, CaseError)
    assert left(tmp_path) == ["b.dyr", "new", "old"]


def test_several_files_or_none(tmp_path):
    (tmp_path / "b.dyr").mkdir()
    texts = {tmp_path / "a.raw": "1", tmp_path / "b.dyr": "2"}
    with pytest.raises(CaseError, match=r"b\.dyr: it is a folder"):
        write_texts(texts, CaseError)
    assert left(tmp_path) == ["b.dyr"]


def test_a_disk_that_is_full(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(
            StudyError, match=r"cannot write to .*a\.csv: File too large; choose another place"
        ):
            write_text(tmp_path / "a.csv", "x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert left(tmp_path) == []


def killed_while_writing(folder):
    """Start a process that writes, kill it, and return what it left."""
    code = """
        import sys, time
        from psmr.base.files import atomic
        with atomic(sys.argv[1]) as temporary:
            temporary.write_text("half")
            print("writing", flush=True)
            time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(folder / "a.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "writing\n"
        yield child
        child.send_signal(signal.SIGKILL)
    yield child


def test_the_next_run_removes_what_a_killed_one_left(tmp_path):
    steps = killed_while_writing(tmp_path)
    next(steps)
    (name,) = left(tmp_path)
    # While its process lives nobody takes it away.
    write_text(tmp_path / "b.csv", "b")
    assert left(tmp_path) == sorted([name, "b.csv"])
    next(steps)
    assert left(tmp_path) == sorted([name, "b.csv"])
    (tmp_path / ".psmr-mine.csv").write_text("of somebody else")
    write_text(tmp_path / "c.csv", "c")
    assert left(tmp_path) == [".psmr-mine.csv", "b.csv", "c.csv"]


def test_many_processes_in_one_folder(tmp_path):
    code = """
        import sys
        from psmr.study.output import write_text
        for k in range(60):
            write_text(sys.argv[1], sys.argv[2] * 1000)
    """
    places = [(str(tmp_path / "same.csv"), letter) for letter in "abc"]
    running = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), *place], stderr=subprocess.PIPE)
        for place in places
    ]
    assert [child.communicate()[1] for child in running] == [b"", b"", b""]
    assert (tmp_path / "same.csv").read_text() in {letter * 1000 for letter in "abc"}
    assert left(tmp_path) == ["same.csv"]
