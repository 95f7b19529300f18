"""``psmr view``: a local page on which a study is edited, run and compared."""

from __future__ import annotations

import argparse
import threading
from typing import Any

from psmr.base.numbers import whole_in
from psmr.cli.console import show
from psmr.cli.options import add_command, code_option, input_file, path


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    view = add_command(
        subparsers,
        "view",
        command,
        "edit, run and compare studies on a local page in the browser",
        "psmr view wscc9/fault",
        json_flag=False,
    )
    view.add_argument(
        "file", type=input_file, metavar="FILE", help="case or study file, or a name that `psmr cases` lists"
    )
    view.add_argument(
        "--dynamics", type=path, metavar="FILE", help="DYR file with the dynamic data of a .raw file"
    )
    view.add_argument(
        "--port", type=whole_in, default=0, metavar="N", help="port of this machine; any free one"
    )
    code_option(view)
    view.add_argument("--no-browser", action="store_true", help="print the address alone")


def command(arguments: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C."""
    from psmr.viewer.server import Served
    from psmr.viewer.workbench import Workbench

    served = Served(Workbench(arguments.file, arguments.dynamics, arguments.allow_code), arguments.port)
    show(f"{served.url}\nServed on this machine alone, to whoever has the address; Ctrl-C ends it.")
    if not arguments.no_browser and not served.open():
        show("No browser was found: open the address in one.")
    try:
        threading.Event().wait()
    finally:
        served.stop()
