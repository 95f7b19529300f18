"""What the terminal, the page and the figures read of a deformation report."""

from __future__ import annotations

from typing import Any, Protocol

import pandas as pd


class Reported(Protocol):
    """The fields of `psmr.pencil.report.Deformation` that are shown; see there for the meaning of each."""

    @property
    def scheme(self) -> Any: ...  # noqa: D102
    @property
    def pencil(self) -> str: ...  # noqa: D102
    @property
    def step(self) -> float: ...  # noqa: D102
    @property
    def table(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def dominant(self) -> pd.Series | None: ...  # noqa: D102
    @property
    def stable(self) -> bool: ...  # noqa: D102
    @property
    def spurious(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def verdict(self) -> str: ...  # noqa: D102
    @property
    def warnings(self) -> tuple[str, ...]: ...  # noqa: D102
