"""Read a case file of whatever format its suffix says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from psmr.errors import CaseError
from psmr.grid.case.case import Case

SUFFIXES = (".toml", ".raw", ".m")


@dataclass(frozen=True)
class CaseFile:
    """A case file, how to read it (the arguments of `read_case`) and how to solve its power flow.

    Attributes
    ----------
    path, dynamics, skip_unknown_models, frequency_hz
        See `read_case`.
    reactive_limits
        Whether generators keep to q_min_mvar and q_max_mvar, see `power_flow`.
    """

    path: str | Path
    dynamics: str | Path | None = None
    skip_unknown_models: bool = False
    frequency_hz: float | None = None
    reactive_limits: bool = False

    def read(self) -> Case:
        """Return the case."""
        return read_case(self.path, self.dynamics, self.skip_unknown_models, self.frequency_hz)


def read_case(
    path: str | Path,
    dynamics: str | Path | None = None,
    skip_unknown_models: bool = False,
    frequency_hz: float | None = None,
) -> Case:
    """Return the checked case in a file; the suffix says the format.

    Parameters
    ----------
    path
        ``.toml`` (psmr's own), ``.raw`` (PSS/E, versions 32 to 35) or ``.m`` (MATPOWER, version 2).
    dynamics
        DYR file with the plants' devices for a RAW file.
    skip_unknown_models
        For RAW and DYR: leave out devices that psmr has no model of, with a warning for each.
    frequency_hz
        For MATPOWER, whose files give none: the nominal frequency, 60 Hz with a warning when left out.

    Raises
    ------
    CaseError
        For a suffix that is not known, an option that the format has no use for, and everything the reader
        and `Case` object to.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise CaseError(
            f"{path}: psmr reads {', '.join(SUFFIXES)} and knows no format {suffix!r}; rename or convert"
            " the file"
        )
    if dynamics is not None and suffix != ".raw":
        raise CaseError(f"{dynamics}: dynamic data belong to a .raw file; {path} has its own, or none")
    if frequency_hz is not None and suffix != ".m":
        raise CaseError(f"{path}: gives its own frequency; frequency_hz is for MATPOWER files")
    if suffix == ".raw":
        from psmr.io.psse.raw import read_raw

        return read_raw(path, dynamics, skip_unknown_models)
    if suffix == ".m":
        from psmr.io.matpower.read import read_matpower

        return read_matpower(path, frequency_hz)
    from psmr.io.toml.read_case import read_toml

    return read_toml(path)
