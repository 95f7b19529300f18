"""The server of the page: on this machine alone, at an address that holds a secret."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import threading
import webbrowser

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError, PsmrError
from psmr.base.optional import optional
from psmr.files.shipped import located
from psmr.viewer.page import Page
from psmr.viewer.workbench import Workbench

LOOPBACK = "127.0.0.1"


class Served:
    """A page that is served at `url` until `stop`; in a notebook it is shown."""

    def __init__(self, bench: Workbench, port: int = 0) -> None:
        optional("bokeh.server.server", "psmr view", "psmr[view]", "use psmr run and its report")
        from bokeh.server.server import Server

        self.bench = bench
        port = _free(port)
        token = secrets.token_urlsafe(16)
        self.url = f"http://{LOOPBACK}:{port}/{token}/"
        started = threading.Event()

        def serve() -> None:
            import asyncio

            asyncio.set_event_loop(asyncio.new_event_loop())
            self.server = Server(
                {"/": lambda document: Page(bench, document) and None},
                address=LOOPBACK,
                port=port,
                prefix=token,
                allow_websocket_origin=[f"{LOOPBACK}:{port}"],
            )
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


def _free(port: int) -> int:
    """Return a port of this machine that nobody uses: the one that is asked for, or any for 0.

    Raises
    ------
    InputError
        For a port that is no port, is in use, or must not be used.
    """
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
    dynamics: str | os.PathLike[str] | None = None,
    port: int = 0,
    show: bool = True,
    allow_code: bool = False,
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
