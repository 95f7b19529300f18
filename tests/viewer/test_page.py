"""The page of `psmr view` in a real browser."""

import asyncio
import json
import os
import socket
import urllib.error
import urllib.request

import pytest

import psmr
from tests.internals import of_another_user
from tests.viewer.browser import BROWSER, Browser

pytest.importorskip("bokeh", reason="no bokeh here: pip install 'psmr[view]'")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt-get install chromium")

# Where the symbol of a fault is on the page and where bus 8 is, in pixels.
FAULT_TO_BUS_8 = """
(() => {
  const diagram = Bokeh.documents[0].get_model_by_name("diagram");
  const find = (view) => view.model === diagram ? view : (view.child_views || []).map(find).find((v) => v);
  const view = Array.from(Bokeh.index.roots).map(find).find((v) => v);
  const box = view.el.getBoundingClientRect();
  const sources = diagram.renderers.map((r) => r.data_source.data);
  const symbols = sources.find((data) => data.what);
  const labels = sources.find((data) => data.text && Array.from(data.text).includes("8"));
  const k = Array.from(labels.text).indexOf("8");
  const at = (x, y) => [box.x + view.frame.x_scale.compute(x), box.y + view.frame.y_scale.compute(y)];
  return JSON.stringify([...at(symbols.x[0], symbols.y[0]), ...at(labels.x[k], labels.y[k])]);
})()
"""
MESSAGE = "Bokeh.documents[0].get_model_by_name('message').text"
SHOWN = "Bokeh.documents[0].get_model_by_name('diagram').renderers.length > 0"


@pytest.fixture
def served():
    page = psmr.view("wscc9/fault", show=False)
    yield page
    page.stop()


@pytest.mark.slow
@needs_browser
def test_a_fault_is_dragged_onto_a_bus_and_run(served, tmp_path):
    async def use():
        async with Browser(1400, 1200) as browser:
            await browser.call("Page.navigate", url=served.url)
            await browser.until(SHOWN)
            await asyncio.sleep(1.0)
            await browser.drag(*json.loads(await browser.evaluate(FAULT_TO_BUS_8)))
            await browser.until(f"{MESSAGE}.includes('bus8')")
            await browser.press("Run")
            await browser.until(f"{MESSAGE}.includes('Synchronism maintained')", seconds=300.0)
            assert browser.errors == []

    asyncio.run(use())
    (bench,) = served.open_benches
    assert [place for _, place in bench.events()] == ["bus5", "bus8"]
    (finished,) = bench.runs
    # The page's study gives the page's run.
    study = psmr.read_study(bench.save(str(tmp_path / "seen.toml"), replace=True))
    assert study.events == finished.run.events
    assert finished.run.t[-1] == 10.0


@pytest.mark.slow
@needs_browser
def test_nothing_is_loaded_from_elsewhere_and_a_telephone_shows_it(served):
    async def use():
        async with Browser(400, 800) as browser:
            await browser.call("Page.navigate", url=served.url)
            await browser.until(SHOWN)
            await asyncio.sleep(1.0)
            assert await browser.evaluate("document.documentElement.scrollWidth") <= 400
            names = await browser.evaluate(
                "JSON.stringify(performance.getEntriesByType('resource').map((e) => e.name))"
            )
            assert json.loads(names)
            elsewhere = [name for name in json.loads(names) if not name.startswith((served.url, "data:"))]
            assert elsewhere == []

    asyncio.run(use())


def test_whoever_does_not_know_the_address_gets_nothing(served):
    root = served.url.rsplit("/", 2)[0]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(root + "/")
    with urllib.request.urlopen(served.url) as answer:
        assert b"WSCC 9-bus" in answer.read()
    assert served.url in served._repr_html_()


def test_a_port_in_use_is_refused(served):
    port = int(served.url.split(":")[2].split("/")[0])
    with pytest.raises(psmr.errors.InputError, match=rf"port = {port}: is in use"):
        psmr.view("wscc9", port=port, show=False)


def test_a_name_that_leads_here_gets_nothing(served):
    """A page elsewhere can have its own name lead to this machine, and then reads what that answers."""

    def status(url, **headers):
        try:
            return urllib.request.urlopen(urllib.request.Request(url, headers=headers)).status
        except urllib.error.HTTPError as error:
            return error.code

    port = served.url.split(":")[2].split("/")[0]
    for host in ("elsewhere.example", f"elsewhere.example:{port}", f"localhost:{port}", ""):
        assert status(served.url, Host=host) in (400, 404)
    root = served.url.rsplit("/", 2)[0]
    secret = served.url.rsplit("/", 2)[1]
    for path in (
        "/ws",
        "/static/js/bokeh.min.js",
        "/favicon.ico",
        f"/{secret[:-1]}/",
        f"/{secret}x/",
        "/../",
    ):
        assert status(root + path) == 404
    assert status(served.url + "static/js/bokeh.min.js") == 200
    assert status(served.url + "static/../../../../../../../../etc/passwd") == 403
    answer = urllib.request.urlopen(served.url)
    assert "connect-src 'self'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Access-Control-Allow-Origin"] is None


def test_a_page_elsewhere_opens_no_connection(served):
    from tornado.httpclient import HTTPClientError, HTTPRequest
    from tornado.websocket import websocket_connect

    async def status(**headers):
        url = served.url.replace("http", "ws") + "ws"
        try:
            await websocket_connect(HTTPRequest(url, headers=headers), subprotocols=["bokeh", "x.y"])
        except HTTPClientError as error:
            return error.code
        return 101

    port = served.url.split(":")[2].split("/")[0]
    assert asyncio.run(status(Origin="http://elsewhere.example")) == 403
    assert asyncio.run(status(Origin=f"http://127.0.0.1:{port}", Host="elsewhere.example")) == 404


@pytest.mark.skipif(getattr(os, "getuid", lambda: 1)() != 0, reason="only root can be another user")
def test_another_user_gets_nothing(served):
    """The list of processes shows the address to all users of a machine."""
    port, path = served.url.split(":")[2].split("/", 1)

    def answer(user):
        os.seteuid(user)  # whose a socket is, is settled when it is made
        try:
            stream = socket.create_connection(("127.0.0.1", int(port)))
        finally:
            os.seteuid(0)
        with stream:
            stream.sendall(f"GET /{path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            try:
                return stream.recv(20)
            except ConnectionResetError:
                return b""

    assert answer(0).startswith(b"HTTP/1.1 200")
    assert answer(12345) == b""


def test_whose_a_connection_is(tmp_path):
    """A line of /proc/net/tcp: number, both ends, state, queues, timer, retransmissions, user, ..."""
    table, own = tmp_path / "tcp", getattr(os, "getuid", lambda: 1)()
    head = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    )
    row = "   0: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 {:5} 0 123 1\n"
    for user, another in ((own, False), (0, False), (own + 1, True)):
        table.write_text(head + row.format(user))
        assert of_another_user(0xC350, 8080, table) is another
        assert not of_another_user(0xC351, 8080, table)
    assert not of_another_user(0xC350, 8080, tmp_path / "nowhere")
