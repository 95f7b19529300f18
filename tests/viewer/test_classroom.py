"""A server for a class: what a study may not name, what a browser may not send, sessions of their own."""

import asyncio
import json
import re
import time
import urllib.error
import urllib.request

import pytest

import psmr
from psmr.errors import InputError, PsmrError
from tests.internals import (
    Classroom,
    Job,
    Workbench,
    Workers,
    packed,
    server_module,
    unpacked,
    view_for_class,
)

pytest.importorskip("bokeh", reason="no bokeh here: pip install 'psmr[view]'")

HEAD = 'format = "psmr-study"\nversion = 1\n'
CASE = f'{HEAD}case = "wscc9"\n'
FIXED = '[scheme]\ntype = "single"\nmethod = "TM"\nh = 0.005\n'
END = "[simulation]\nt_end = 1.0\n"
SERIES = '[[event]]\ntype = "time-series"\nfile = "FILE"\ncolumn = "p"\nsignal = "load5.p"\n'

REFUSED = {
    "a file": (f'{HEAD}case = "/etc/passwd"\n{END}', "case = '/etc/passwd': this server reads no files but"),
    "dots": (
        f'{HEAD}case = "../../secret.toml"\n{END}',
        r"case = '\.\./\.\./secret.toml': this server reads",
    ),
    "an option": (f'{HEAD}case = "--allow-code"\n{END}', "case = '--allow-code': this server reads"),
    "standard input": (f'{HEAD}case = "-"\n{END}', "case = '-': this server reads"),
    "a list": (f'{HEAD}case = ["wscc9"]\n{END}', r"case = \['wscc9'\]: this server reads"),
    "no case": (HEAD + END, "case = None: this server reads"),
    "dynamics": (f'{CASE}dynamics = "/etc/passwd"\n{END}', "dynamics = '/etc/passwd': this server reads no"),
    "sequence": (f'{CASE}sequence = "x.seq"\n{END}', "sequence = 'x.seq': this server reads no files and"),
    "modules": (f'{CASE}modules = ["os"]\n{END}', r"modules = \['os'\]: .* runs no code that a study names"),
    "a series": (CASE + END + SERIES, "file = 'FILE': this server reads no files"),
    "a series later": (f'{CASE}{END}{SERIES}when = "bus5.v < 0.9"\n', "file = 'FILE': this server reads no"),
    "a library": (f'{CASE}{END}[generator.code]\nlibrary = "x.so"\n', "no field or table 'generator'"),
    "permission": (f"{CASE}allow_code = true\n{END}", "there is no field or table 'allow_code'"),
    "files of a record": (f'{CASE}{END}files = ["/tmp/x.csv"]\n', "there is no field 'files'"),
    "100 MB": (f"{CASE}{END}#{'x' * 20_000}", "has more than 20,000 characters, which this server takes"),
    "a deep key": (f"{CASE}{'a.' * 9000}b = 1\n{END}", "study:4: has a name of more than 32 parts"),
    "quotes in it": (
        f"{CASE}{'x' * 20}.'y'.\"z\"{'. a' * 30} = 1\n{END}",
        "has a name of more than 32 parts",
    ),
    "brackets": (f"{CASE}x = {'[' * 9000}{']' * 9000}\n{END}", "brackets are nested too deep"),
    "open quotes": (CASE + '\\"' * 9000 + END, "is not valid TOML"),
}


@pytest.fixture(scope="module")
def bench():
    return Workbench(psmr.case_path("wscc9/fault"), room=Classroom())


@pytest.mark.parametrize("what", REFUSED)
def test_a_study_of_a_class_names_no_file_and_no_code(bench, what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own, (text, words) = bench.fresh(), REFUSED[what]
    began = time.perf_counter()
    with pytest.raises(PsmrError, match=words):
        own.edit(text)
    assert time.perf_counter() - began < 5.0  # without the checks half of these take minutes
    assert own.text == bench.text


def test_a_file_called_as_a_case_is_not_read_and_nothing_is_written(bench, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wscc9").symlink_to("/etc/passwd")
    own = bench.fresh()
    own.edit(f'{CASE}{END}[output]\nfolder = "elsewhere"\n')
    Job(own).wait()
    with pytest.raises(InputError, match="this server writes no files"):
        own.save("mine.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["wscc9"]
    assert own.runs[0].colour in ("green", "amber")
    assert bench.runs == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            't_end = 1e9\n[scheme]\ntype = "single"\nmethod = "TM"\nh = 0.01\n',
            "too large: 1e.11 steps.* 50 MiB",
        ),
        (
            't_end = 1e9\nrecord = ["bus5.v"]\nevery = 1000000\n'
            '[scheme]\ntype = "single"\nmethod = "TM"\nh = 0.01\n',
            "the run is too long: .* this server computes 60 s",
        ),
        (
            't_end = 10\nrecord = ["*"]\nmemory = 0\n[scheme]\ntype = "single"\nmethod = "TM"\nh = 1e-5\n',
            "488 MiB of disk",
        ),
    ],
)
def test_a_run_that_is_too_large_is_refused_before_it_begins(bench, more, words):
    own = bench.fresh()
    own.edit(f"{CASE}[simulation]\n{more}")
    job = Job(own)
    job.wait()
    assert job.failed
    assert re.search(words, job.words)


def test_a_link_holds_a_study_and_no_more(bench):
    assert unpacked(packed(bench.text)) == bench.text
    assert len(packed(bench.text)) < 400
    bomb = packed("a" * 20_000)
    for link in ("", "x", "%00", "AAAA", bomb[:-4]):
        with pytest.raises(InputError, match="the link holds no"):
            unpacked(link)


def test_modules_in_a_link_are_not_imported_before_a_click(tmp_path):
    (tmp_path / "mine.py").write_text("raise SystemExit('ran')\n")
    (tmp_path / "study.toml").write_text(CASE + END)
    own = Workbench(tmp_path / "study.toml", allow_code=True)
    with pytest.raises(InputError, match="reading this file would run mine"):
        own.edit(f'{CASE}modules = ["mine"]\n{END}', trusted=False)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sessions": 0}, "sessions = 0: must be > 0"),
        ({"seconds": float("nan")}, "seconds"),
        ({"key": "a/b"}, "key = 'a/b': must be of letters"),
        ({"address": "0.0.0.0"}, "say with --public by which one browsers come"),
        ({"public": "psmr.example.org"}, "must be as in https://psmr.example.org/class"),
    ],
)
def test_what_a_class_cannot_have(given, words):
    with pytest.raises(InputError, match=words):
        Classroom(**given)


class NoWorkers:
    """In place of processes, which take seconds to begin: runs go on within the server."""

    run = None

    def __init__(self, room):
        self.stop = lambda: None


@pytest.fixture(scope="module")
def served():
    room = Classroom(workers=1, shared=2, public="http://class.example:8000/psmr", key="k-1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_module, "Workers", NoWorkers)
        page = view_for_class("wscc9/fault", room)
    yield page
    page.stop()


class Client:
    """A browser that says what it likes."""

    def __init__(self, served):
        self.local = f"http://127.0.0.1:{served.port}/psmr/k-1/"

    def get(self, path="", **headers):
        request = urllib.request.Request(self.local + path, headers={"Host": "class.example:8000", **headers})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers

    async def open(self, token=None):
        from tornado.httpclient import HTTPRequest
        from tornado.websocket import websocket_connect

        if token is None:
            page = (await asyncio.to_thread(self.get))[1]
            token = re.search(r'"token":"([^"]+)"', page)[1]
        headers = {"Host": "class.example:8000", "Origin": "http://class.example:8000"}
        request = HTTPRequest(self.local.replace("http", "ws") + "ws", headers=headers)
        self.socket = await websocket_connect(request, subprotocols=["bokeh", token])
        return await self.receive()

    async def receive(self):
        parts, left = [], 3
        while left:
            parts.append(await asyncio.wait_for(self.socket.read_message(), 20.0))
            if parts[-1] is None:
                return None
            left -= 1
            if len(parts) == 3:
                left = 2 * json.loads(parts[0]).get("num_buffers", 0)
        return json.loads(parts[0]), json.loads(parts[2])

    async def send(self, kind, content, number="1"):
        for part in ({"msgid": number, "msgtype": kind}, {}, content):
            await self.socket.write_message(json.dumps(part))

    async def patch(self, event):
        """Send a change; return what comes back for it, None where the connection is closed."""
        await self.send("PATCH-DOC", {"events": [event]}, "2")
        while (answer := await self.receive()) is not None and answer[0].get("reqid") != "2":
            pass
        return answer


def test_sessions_do_not_meet(served):
    before = len(served.open_benches)

    async def use():
        clients = [Client(served), Client(served)]
        for client in clients:
            await client.open()
        await clients[0].send("PULL-DOC-REQ", {})
        _, content = await clients[0].receive()
        root = re.search(r'"name": "TextAreaInput", "id": "(\w+)"', json.dumps(content))[1]
        event = {"kind": "ModelChanged", "model": {"id": root}, "attr": "value"}
        text = served.bench.text.replace("clear = 1.1", "clear = 1.05")
        await clients[0].patch(event | {"new": text})

    asyncio.run(use())
    first, second = served.open_benches[before:]
    assert "clear = 1.05" in first.text
    assert second.text == served.bench.text != first.text


def test_there_are_so_many_sessions(served, monkeypatch):
    from bokeh.document import Document

    monkeypatch.setattr(served, "room", Classroom(sessions=max(1, len(served.open_benches))))
    document = Document()
    if not served.open_benches:
        served.fill(Document())
    served.fill(document)
    (words,) = document.roots
    assert "pages are open, as many as there may be" in words.text


def test_what_a_browser_may_not_send(served):
    """More models, binary parts without end, a message that is too long, sessions of its own making."""
    client = Client(served)

    async def use():
        models = {"type": "object", "name": "Div", "id": "x1", "attributes": {"text": "x"}}
        await client.open()
        for event in (
            {"kind": "RootAdded", "model": models},
            {"kind": "ModelChanged", "model": {"id": "p1"}, "attr": "tags", "new": [[{"a": models}]]},
            {"kind": "TitleChanged", "title": "x"},
        ):
            assert (await client.patch(event))[0]["msgtype"] == "ERROR"
        await client.socket.write_message(b"x", binary=True)
        assert await client.socket.read_message() is None
        await client.open()
        await client.socket.write_message("x" * 3_000_000)
        assert await client.socket.read_message() is None
        from bokeh.util.token import generate_jwt_token

        assert await client.open(generate_jwt_token("mine", signed=False)) is None

    asyncio.run(use())


def test_only_the_address_that_browsers_use_is_answered(served):
    client = Client(served)
    assert client.get()[0] == 200
    assert client.get("?utm_source=mail")[0] == 200
    for path in (
        "?bokeh-session-id=mine",
        "?bokeh-token=x",
        "autoload.js?bokeh-autoload-element=x",
        "metadata",
    ):
        assert client.get(path)[0] == 404
    assert client.get(**{"Bokeh-Session-Id": "mine"})[0] == 404
    assert client.get(Host=f"127.0.0.1:{served.port}")[0] == 404
    assert client.get("static/../../../../etc/passwd")[0] in (403, 404)
    assert served.url == "http://class.example:8000/psmr/k-1/"
    assert "connect-src 'self' ws://class.example:8000;" in client.get()[2]["Content-Security-Policy"]


def test_a_result_is_kept_until_newer_ones_come(served):
    client, links = Client(served), [served.keep(f"<p>result {k}</p>") for k in range(3)]
    status, page, headers = client.get(links[2].removeprefix(served.url))
    assert (status, page) == (200, "<p>result 2</p>")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "script-src" not in headers["Content-Security-Policy"]
    status, page, _ = client.get(links[0].removeprefix(served.url))
    assert (status, page) == (404, "This result is not kept any more; ask for a new link.")


@pytest.mark.slow
def test_runs_wait_for_their_turn_and_end_in_time(bench):
    """A long run is ended, and the one behind it is done; what processes return comes back."""
    workers = Workers(Classroom(workers=1, seconds=3.0))
    long, short = bench.fresh(), bench.fresh()
    long.calculate = short.calculate = workers.run
    long.edit(bench.text.replace("t_end = 10.0", 't_end = 5e4\nrecord = ["bus5.v"]\nevery = 1000\n' + FIXED))
    long.room = Classroom(memory=1e6)
    first = Job(long)
    time.sleep(0.3)
    second = Job(short)
    time.sleep(0.5)
    assert second.queue == 1
    for job in (first, second):
        job.wait()
    assert re.search(r"ended at t = .* s: this server computes 3 s for a run", first.words)
    assert second.words.startswith("OK: ")
    page = Job(short, short.runs[0])
    page.wait()
    assert "Synchronism maintained" in page.page
    assert str(psmr.case_path("wscc9")) not in page.page
    third = Job(short)
    third.cancel()
    third.wait()
    assert third.words.startswith("Cancelled")
    workers.stop()
