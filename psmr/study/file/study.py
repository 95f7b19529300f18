"""A study: one TOML file that names case, scheme, events and outputs.

::

    format = "psmr-study"
    version = 1
    case = "wscc9.toml"            # beside this file, or a name that `psmr cases` lists; for a .raw file
                                   # dynamics = "wscc9.dyr" as well
    modules = ["mine"]             # Python modules beside this file with components and schemes of your own,
                                   # which are imported where whoever reads it allows that

    [scheme]                       # left out: a variable step with tolerance 1e-4
    type = "multirate"
    delta = 20.0
    h_slow = 0.05
    h_fast = 0.005

    [simulation]
    t_end = 10.0

    [[event]]
    type = "fault"
    bus = 5
    start = 1.0
    clear = 1.1
    trip = "5-7"

    [output]
    folder = "results/fault"       # in the current folder; left out, results/NAME after this file
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from psmr.files.read import CaseFile
from psmr.study.criteria import USUAL as USUAL_CRITERIA
from psmr.study.criteria import Criteria
from psmr.study.detectors.detection import Monitor
from psmr.study.events import Event
from psmr.study.file.recipe import Recipe
from psmr.study.record.record import Record

Row = TypeVar("Row")

FORMAT, VERSION = "psmr-study", 1
TABLES = ("scheme", "dynamic", "delays", "simulation", "event", "monitor", "criteria", "output")
FIGURES = ("png", "svg", "pdf", "none")


@dataclass(frozen=True)
class Output:
    """What a run leaves behind.

    Attributes
    ----------
    folder
        Where, relative to the current folder; in a file that says nothing ``results/NAME``, after the file.
    signals
        Names or patterns for the files and the figure; None: every signal, and for the figure what is worth
        seeing.
    csv, parquet, html, save
        Whether ``run.csv``, ``run.parquet``, ``report.html``, ``run.psmr`` (the whole run) are written.
    interactive
        Whether the report has figures to zoom and hover over as well.
    network
        Whether the report says what leaving out dynamics of the network does to the modes, also where the
        study has no region with them.
    figure
        Format of ``run.<format>``, ``"none"`` for none.
    """

    folder: str
    signals: tuple[str, ...] | None = None
    csv: bool = True
    parquet: bool = False
    figure: Annotated[str, FIGURES] = "none"
    html: bool = True
    save: bool = False
    interactive: bool = False
    network: bool = False


@dataclass(frozen=True)
class Places:
    """Where in its file a study says what can only be checked against the case: file, line and table."""

    events: tuple[str, ...] = ()
    scheme: str = ""
    signals: str = ""
    record: str = ""


@dataclass(frozen=True)
class Study:
    """A checked study file; the case is not read yet.

    Attributes
    ----------
    name
        Title, the file's name where it has none.
    case
        The case file, how to read it and how to solve its power flow.
    recipe
        How to make the scheme for the system.
    t_end
        Length of the run in s; None for a study without a simulation (a deformation report).
    events, monitors
        In the order of the file.
    criteria
        The limits by which the run is judged.
    output
        What to write; None: nothing.
    fast_points
        Whether the fast points within macro steps are recorded.
    record
        What the run keeps; None: every point, whole.
    source, text
        The file, and what it says.
    places
        Where in the file events, scheme and signals stand, for what is said of them later.
    """

    name: str
    case: CaseFile
    recipe: Recipe
    t_end: float | None = None
    events: tuple[Event, ...] = ()
    monitors: tuple[Monitor, ...] = ()
    criteria: Criteria = USUAL_CRITERIA
    output: Output | None = None
    fast_points: bool = False
    record: Record | None = None
    source: str = field(default="", compare=False)
    text: str = field(default="", compare=False, repr=False)
    places: Places = field(default=Places(), compare=False, repr=False)
