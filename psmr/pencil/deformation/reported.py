"""What the terminal, the page and the figures read of a deformation report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd


class Reported(Protocol):
    """The fields of `psmr.pencil.deformation.report.Deformation` that are shown; see there."""

    @property
    def scheme(self) -> Any: ...  # noqa: D102
    @property
    def pencil(self) -> str: ...  # noqa: D102
    @property
    def step(self) -> float: ...  # noqa: D102
    @property
    def table(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def columns(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def dominant_at(self) -> int | None: ...  # noqa: D102
    @property
    def spurious_columns(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def dominant(self) -> pd.Series | None: ...  # noqa: D102
    @property
    def stable(self) -> bool: ...  # noqa: D102
    @property
    def spurious(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def verdict(self) -> str: ...  # noqa: D102
    @property
    def hidden(self) -> tuple[complex, ...]: ...  # noqa: D102
    @property
    def warnings(self) -> tuple[str, ...]: ...  # noqa: D102
