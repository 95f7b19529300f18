"""All mistakes of a file at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from psmr.errors import CaseError

SHOWN = 50
"""So many mistakes are listed; of more only the number is said."""

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Mistakes:
    """Collects what is wrong with a file while the reading goes on."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def attempt(
        self, what: Callable[Given, Result], *arguments: Given.args, **more: Given.kwargs
    ) -> Result | None:
        """Return what a function returns; where it raises CaseError keep that, and return None."""
        try:
            return what(*arguments, **more)
        except CaseError as error:
            if str(error) not in self.found:
                self.found.append(str(error))
            return None

    def finish(self) -> None:
        """Raise CaseError with everything that was found, if anything was."""
        if len(self.found) == 1:
            raise CaseError(self.found[0])
        if self.found:
            more = len(self.found) - SHOWN
            rest = [f"... and {more} more"] if more > 0 else []
            raise CaseError("\n  ".join([f"{len(self.found)} mistakes:", *self.found[:SHOWN], *rest]))
