"""The server of the page, at an address that holds a secret: for one user on this machine, or for a class."""

from __future__ import annotations

import errno
import logging
import os
import secrets
import socket
import threading
import webbrowser
import zlib
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from psmr.base.arguments import check_arguments
from psmr.base.declared import ALLOW_CODE, Option
from psmr.base.errors import InputError, PsmrError
from psmr.base.modules import optional
from psmr.files.shipped import located
from psmr.viewer.classroom import Classroom
from psmr.viewer.page import Page
from psmr.viewer.workbench import Job, Workbench
from psmr.viewer.workers import Workers

LOOPBACK = "127.0.0.1"

CONNECTIONS = Path("/proc/net/tcp")
"""Where Linux lists connections, with the user of each end."""

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' {socket}; "
    "base-uri 'none'; form-action 'none'"
)
"""Where the page may load from and send to: this server alone."""

RESULT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; sandbox allow-popups"
"""A result that is shared loads nothing, and runs nothing."""

ROUTES = ("", "ws", "static", "shared")
"""What is served behind the secret; bokeh would also open sessions at others."""

MOST_BYTES = 2**21
"""Bytes of a message of a browser at most: a study that is far too long still gets its sentence."""

UNUSED = 60.0
"""Seconds for which a session is kept that no browser is connected to."""

HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""The address, which holds the secret, is told to nobody."""


class Served:
    """A page that is served at `url` until `stop`; in a notebook it is shown.

    `bench` is where every session begins, and `open_benches` are those of the sessions that there are.
    """

    def __init__(self, bench: Workbench, port: int = 0) -> None:
        optional("bokeh.server.server", "psmr view", "psmr[view]", "use psmr run and its report")
        self.bench, self.room = bench, bench.room
        self.open_benches: list[Workbench] = []
        listening = LOOPBACK if self.room is None else self.room.address
        self.port = _free(listening, port)
        self.workers: Workers | None = None
        self.results: dict[str, bytes] = {}
        if self.room is not None:
            Job(bench.fresh()).wait()  # compiles what is missing, which no limit of time ends
            self.workers = Workers(self.room)
            bench.calculate = self.workers.run
            for name in ("bokeh", "tornado"):  # which would write down whatever anybody sends
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        public = "" if self.room is None else self.room.public.rstrip("/")
        named = f"[{listening}]" if ":" in listening else listening
        key = "" if self.room is None else self.room.key
        self.url = f"{public or f'http://{named}:{self.port}'}/{key or secrets.token_urlsafe(16)}/"
        started = threading.Event()

        def serve() -> None:
            import asyncio

            asyncio.set_event_loop(asyncio.new_event_loop())
            self.server = _server(self, listening)
            self.server.start()
            started.set()
            self.server.io_loop.start()

        self._thread = threading.Thread(target=serve, name="psmr view", daemon=True)
        self._thread.start()
        if not started.wait(30.0):
            raise PsmrError(
                f"the page was not served at port {self.port} within 30 s; try another one with --port"
            )

    def fill(self, document: Any) -> None:
        """Make the page of a new session."""
        if self.room is not None and len(self.open_benches) >= self.room.sessions:
            from bokeh.models import Div

            words = f"{self.room.sessions} pages are open, as many as there may be; try again in a minute."
            document.add_root(Div(text=words, disable_math=True))
            return
        bench = self.bench.fresh()
        page = Page(bench, document, self.url, self.keep if self.room else None)
        self.open_benches.append(bench)

        def closed(context: Any) -> None:
            page.close()
            self.open_benches.remove(bench)

        document.on_session_destroyed(closed)

    def keep(self, page: str) -> str:
        """Keep the page of a result, of all the newest so many, and return the link to it."""
        name = secrets.token_urlsafe(16)
        self.results[name] = zlib.compress(page.encode())
        while self.room and len(self.results) > self.room.shared:
            del self.results[next(iter(self.results))]
        return f"{self.url}shared/{name}"

    def stop(self) -> None:
        """End the server."""
        for end in (self.server.stop, self.server.io_loop.stop):
            self.server.io_loop.add_callback(end)
        self._thread.join(10.0)
        if self.workers is not None:
            self.workers.stop()

    def open(self) -> bool:
        """Show the page in a browser; return whether there is one."""
        return webbrowser.open(self.url)

    def __repr__(self) -> str:
        return f"Served({self.bench.system.name!r} at {self.url})"

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" style="width:100%;height:900px;border:0"></iframe>'


def _server(served: Served, listening: str) -> Any:
    """Return a server that answers at one address, and nothing but the page."""
    from bokeh.server.server import BaseServer
    from bokeh.server.tornado import BokehTornado
    from bokeh.server.views.ws import WSHandler
    from tornado.httpserver import HTTPServer
    from tornado.ioloop import IOLoop
    from tornado.netutil import bind_sockets
    from tornado.web import ErrorHandler, OutputTransform, RequestHandler

    room, port = served.room, served.port
    place = urlsplit(served.url)
    host, prefix = place.netloc, place.path.strip("/")
    socket_url = f"{'wss' if place.scheme == 'https' else 'ws'}://{host}"
    headers = HEADERS | {"Content-Security-Policy": POLICY.format(socket=socket_url)}

    class Closed(OutputTransform):
        """What a browser is told not to do with what it gets."""

        def __init__(self, request: Any) -> None:
            pass

        def transform_first_chunk(self, status: int, given: Any, chunk: bytes, end: bool) -> Any:
            given.pop("Access-Control-Allow-Origin", None)
            for name, value in headers.items():
                given.setdefault(name, value)
            return status, given, chunk

    class Result(RequestHandler):
        """The page of a run that somebody shared."""

        def get(self, name: str) -> None:
            page = served.results.get(name)
            self.set_status(200 if page else 404)
            self.set_header("Content-Security-Policy", RESULT)
            self.finish(
                zlib.decompress(page) if page else "This result is not kept any more; ask for a new link."
            )

    class Socket(WSHandler):  # type: ignore[misc]  # bokeh is not typed
        """What takes the messages of a browser, which are texts: of others bokeh collects any number."""

        async def on_message(self, fragment: str | bytes) -> None:
            if isinstance(fragment, bytes):
                self.close(1003, "no binary messages")
            else:
                await super().on_message(fragment)

    class Application(BokehTornado):
        """Routes of the page, for requests that name this host and know the secret."""

        def find_handler(self, request: Any, **more: Any) -> Any:
            # Another name of this machine is that of a page elsewhere, whose server has it lead here.
            path = request.path.strip("/")
            known = secrets.compare_digest(path[: len(prefix)].encode(), prefix.encode())
            before, _, rest = path[len(prefix) :].partition("/")
            # Whose session a page is, is up to the server.
            chosen = any(name.lower().startswith("bokeh-") for name in (*request.arguments, *request.headers))
            served_here = known and not before and rest.split("/")[0] in ROUTES
            if request.host != host or not served_here or chosen:
                return self.get_handler_delegate(request, ErrorHandler, {"status_code": 404})
            found = super().find_handler(request, **more)
            if getattr(found, "handler_class", None) is WSHandler:
                found.handler_class = Socket
            return found

    class Listener(HTTPServer):
        """What takes connections: for one user from programs of theirs alone, where the system says whose."""

        def handle_stream(self, stream: Any, address: Any) -> None:
            if room is None and of_another_user(address[1], port):
                stream.close()
            else:
                super().handle_stream(stream, address)

    def fill(document: Any) -> None:
        apply = document.apply_json_patch

        def checked(patch: Any, **more: Any) -> None:
            if makes_models(getattr(patch, "content", patch)):
                raise ValueError("a browser changes what the page has, and adds nothing")
            apply(patch, **more)

        document.apply_json_patch = checked
        served.fill(document)

    application = Application(
        {"/": fill},
        prefix=prefix,
        extra_patterns=[(r"/shared/([\w-]+)", Result)],
        extra_websocket_origins=[host],
        absolute_url=f"{place.scheme}://{host}/",
        secret_key=secrets.token_bytes(32),
        sign_sessions=True,
        unused_session_lifetime_milliseconds=int(1e3 * UNUSED),
        websocket_max_message_size_bytes=MOST_BYTES,
        transforms=[Closed],
        log_function=lambda handler: None,  # the path of a request is whatever somebody asked for
    )
    server = Listener(application, max_body_size=MOST_BYTES, idle_connection_timeout=UNUSED)
    server.add_sockets(bind_sockets(port, listening))
    return BaseServer(IOLoop.current(), application, server)


def makes_models(patch: Any) -> bool:
    """Return whether a message of a browser defines models, or does more than to change values of theirs."""
    if any(event["kind"] not in ("ModelChanged", "MessageSent") for event in patch["events"]):
        return True
    left = [patch]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if part.get("type") == "object":
                return True
            left += part.values()
        elif isinstance(part, list):
            left += part
    return False


def of_another_user(client: int, port: int, table: Path = CONNECTIONS) -> bool:
    """Return whether a connection from one port of this machine to another one is of another user, not root.

    The address of the page, which a browser is given as an argument, can be seen in the list of processes.
    """
    try:
        rows = [line.split() for line in table.read_text(encoding="ascii").splitlines()[1:]]
    except OSError:  # Linux alone has this table
        return False
    ends = [f"0100007F:{number:04X}" for number in (client, port)]  # of 127.0.0.1
    users = [int(row[7]) for row in rows if row[1:3] == ends]
    return any(user not in (0, os.getuid()) for user in users)


def _free(address: str, port: int) -> int:
    """Return a port that nobody uses: that asked for, or any for 0; else InputError."""
    if not 0 <= port <= 65535:
        raise InputError(f"port = {port}: must be from 1 to 65535, or left out")
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            at = "" if address == LOOPBACK else f" of address {address}"
            raise InputError(f"port = {port}{at}: {why}; choose another one, or leave it out") from error
        return int(probe.getsockname()[1])


def view(
    path: str | os.PathLike[str],
    *,
    dynamics: Annotated[
        str | os.PathLike[str] | None, "DYR file with the dynamic data of a .raw file", "FILE"
    ] = None,
    port: Annotated[int, "port of this machine; any free one", "N"] = 0,
    show: Annotated[bool, "print the address alone", Option(name="browser")] = True,
    allow_code: Annotated[bool, ALLOW_CODE] = False,
) -> Served:
    """Serve a page on which a study is edited, run and compared; in a notebook the page is shown there.

    Parameters
    ----------
    path
        A case file, a study file, or a name that `psmr cases` lists.
    dynamics
        DYR file of a RAW file.
    port
        Of this machine; 0: any that is free.
    show
        Open a browser.
    allow_code
        Whether the modules are imported that the study, also as it is edited on the page, or its case names,
        which runs them: for files whose authors you trust.

    Returns
    -------
    Served
        With its address `url`, and `stop()`.

    Raises
    ------
    InputError
        For a file that is neither, and a port in use.
    PsmrError
        Where bokeh is not installed.
    """
    check_arguments(view, locals())
    served = Served(Workbench(located(os.fspath(path)), dynamics, allow_code), port)
    if show:
        served.open()
    return served


def view_for_class(
    path: str | os.PathLike[str],
    room: Classroom,
    dynamics: str | os.PathLike[str] | None = None,
    port: int = 0,
) -> Served:
    """Serve the page to a class: each tab of a browser its own study and runs, within the limits of `room`.

    Raises as `view`.
    """
    return Served(Workbench(located(os.fspath(path)), dynamics, room=room), port)
