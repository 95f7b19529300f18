"""The server of the page: on this machine alone, at an address that holds a secret."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import threading
import webbrowser
from pathlib import Path
from typing import Annotated, Any

from psmr.base.arguments import check_arguments
from psmr.base.declared import ALLOW_CODE, Option
from psmr.base.errors import InputError, PsmrError
from psmr.base.modules import optional
from psmr.files.shipped import located
from psmr.viewer.page import Page
from psmr.viewer.workbench import Workbench

LOOPBACK = "127.0.0.1"

CONNECTIONS = Path("/proc/net/tcp")
"""Where Linux lists connections, with the user of each end."""

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws://{host}; "
    "base-uri 'none'; form-action 'none'"
)
"""Where the page may load from and send to: this server alone."""

HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""The address, which holds the secret, is told to nobody."""


class Served:
    """A page that is served at `url` until `stop`; in a notebook it is shown."""

    def __init__(self, bench: Workbench, port: int = 0) -> None:
        optional("bokeh.server.server", "psmr view", "psmr[view]", "use psmr run and its report")
        self.bench = bench
        port = _free(port)
        token = secrets.token_urlsafe(16)
        self.url = f"http://{LOOPBACK}:{port}/{token}/"
        started = threading.Event()

        def serve() -> None:
            import asyncio

            asyncio.set_event_loop(asyncio.new_event_loop())
            self.server = _server(bench, port, token)
            self.server.start()
            started.set()
            self.server.io_loop.start()

        self._thread = threading.Thread(target=serve, name="psmr view", daemon=True)
        self._thread.start()
        if not started.wait(30.0):
            raise PsmrError(
                f"the page was not served at port {port} within 30 s; try another one with --port"
            )

    def stop(self) -> None:
        """End the server."""
        loop = self.server.io_loop

        def end() -> None:
            self.server.stop()
            loop.stop()

        loop.add_callback(end)
        self._thread.join(10.0)

    def open(self) -> bool:
        """Show the page in a browser; return whether there is one."""
        return webbrowser.open(self.url)

    def __repr__(self) -> str:
        return f"Served({self.bench.system.name!r} at {self.url})"

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" style="width:100%;height:900px;border:0"></iframe>'


def _server(bench: Workbench, port: int, token: str) -> Any:
    """Return a server that answers at one address of this machine alone, and nothing but the page."""
    from bokeh.server.server import BaseServer
    from bokeh.server.tornado import BokehTornado
    from tornado.httpserver import HTTPServer
    from tornado.ioloop import IOLoop
    from tornado.netutil import bind_sockets
    from tornado.web import ErrorHandler, OutputTransform

    host = f"{LOOPBACK}:{port}"
    headers = HEADERS | {"Content-Security-Policy": POLICY.format(host=host)}

    class Closed(OutputTransform):
        """What a browser is told not to do with what it gets."""

        def __init__(self, request: Any) -> None:
            pass

        def transform_first_chunk(self, status: int, given: Any, chunk: bytes, end: bool) -> Any:
            given.pop("Access-Control-Allow-Origin", None)
            for name, value in headers.items():
                given[name] = value
            return status, given, chunk

    class Application(BokehTornado):
        """Routes of the page, for requests that name this host and know the secret."""

        def find_handler(self, request: Any, **more: Any) -> Any:
            # Another name of this machine is that of a page elsewhere, whose server has it lead here.
            given = request.path.split("/")[1].encode()
            if request.host == host and secrets.compare_digest(given, token.encode()):
                return super().find_handler(request, **more)
            return self.get_handler_delegate(request, ErrorHandler, {"status_code": 404})

    class Listener(HTTPServer):
        """What takes connections, of this user's programs alone where the system says whose they are."""

        def handle_stream(self, stream: Any, address: Any) -> None:
            if of_another_user(address[1], port):
                stream.close()
            else:
                super().handle_stream(stream, address)

    application = Application(
        {"/": lambda document: Page(bench, document) and None},
        prefix=token,
        extra_websocket_origins=[host],
        absolute_url=f"http://{host}/",
        transforms=[Closed],
        log_function=lambda handler: None,  # the path of a request is whatever somebody asked for
    )
    server = Listener(application)
    server.add_sockets(bind_sockets(port, LOOPBACK))
    return BaseServer(IOLoop.current(), application, server)


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


def _free(port: int) -> int:
    """Return a port that nobody uses: that asked for, or any for 0; else InputError."""
    if not 0 <= port <= 65535:
        raise InputError(f"port = {port}: must be from 1 to 65535, or left out")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise InputError(f"port = {port}: {why}; choose another one, or leave it out") from error
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
