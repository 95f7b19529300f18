"""How the command line shows things: tables, JSON, a progress bar."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psmr.base.errors import in_line, printable

if TYPE_CHECKING:
    import pandas as pd


# Bytes above which a file is large.
LARGE = 20 * 2**20


def show(*what: Any) -> None:
    """Print results, a line or more each, with nothing in them that steers a terminal."""
    print(*(printable(str(part)) for part in what), sep="\n")


def give_table(
    table: pd.DataFrame,
    head: str,
    json: bool,
    output: str | None,
    figure: str | None = None,
    left: bool = False,
) -> None:
    """Write a table where -o asks for it, and show it as text under a heading or as JSON.

    `figure` is a file that the command has written before; with `left` the columns of text are aligned left.
    """
    write_csv(output, table)
    if json:
        print_json(table.to_dict("records"))
        return
    if left:
        table = table.apply(lambda column: column.str.ljust(column.str.len().max()))
    justify = "left" if left else None
    words = table.to_string(
        index=False, float_format=lambda value: f"{value:.5g}", na_rep="", justify=justify
    )
    show(head, words)
    tell_written(figure, output)


def print_result(
    json: bool, record: Any, *words: Any, written: Iterable[str | None] = (), listed: Sequence[Path] = ()
) -> None:
    """Show the result of a command: its record as JSON, or words and which files were written.

    A record that is large is made by a function, where it is shown. Files are `listed` a line each,
    large ones with their sizes.
    """
    if json:
        print_json(record() if callable(record) else record)
        return
    if words:
        show(*words)
    tell_written(*written)
    if listed:
        show("\nWritten", *(f"  {in_line(str(path))}{_size(path)}" for path in listed))


def write_csv(path: str | None, table: pd.DataFrame) -> None:
    """Write a table as CSV where an option names a file for it."""
    if path:
        from psmr.study.output import write_text

        write_text(path, table.to_csv(index=False))


def tell_written(*files: str | None) -> None:
    """Print which files a command has written, of those that options named."""
    named = [file for file in files if file is not None]
    if named:
        show(f"Written {' and '.join(map(in_line, named))}")


def _size(path: Path) -> str:
    if not is_large(path):
        return ""
    from psmr.integrate.run.recorder import bytes_text

    return f" ({bytes_text(path.stat().st_size)})"


def is_large(path: Path) -> bool:
    """Return whether a file is so large that its size should be known to who has it written."""
    return path.is_file() and path.stat().st_size > LARGE


def print_json(record: Any) -> None:
    """Print a record as JSON."""
    show(json.dumps(json_value(record), indent=2, allow_nan=False, ensure_ascii=False))


def json_value(value: Any) -> Any:
    """Return a record as JSON has it: complex numbers as [real, imaginary], what is not finite as null."""
    if isinstance(value, dict):
        return {str(key): json_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, complex):
        return [json_value(value.real), json_value(value.imag)]
    if isinstance(value, float) and not (abs(value) < float("inf")):
        return None
    return value


class Progress:
    """A bar on standard error that follows the simulated time or the share done; only where one watches."""

    def __init__(self, t_end: float | None, unit: str = " s") -> None:
        self.t_end, self.unit = t_end, unit
        self.bar: Any = None
        self.words: Any = None

    def __enter__(self) -> Progress:
        return self

    def __call__(self, t: float) -> None:
        """Move the bar to t."""
        if self.t_end is None or not sys.stderr.isatty():
            return
        if self.words is not None:
            self.words.close()
            self.words = None
        if self.bar is None:
            from tqdm import tqdm

            shape = f"{{l_bar}}{{bar}}| {{n:.2f}} of {{total:g}}{self.unit} [{{elapsed}}, {{remaining}} left]"
            self.bar = tqdm(total=self.t_end, file=sys.stderr, bar_format=shape, leave=False, delay=0.5)
        self.bar.update(t - self.bar.n)

    def stage(self, words: str) -> None:
        """Show what is done beside the simulation, in place of the bar."""
        if not sys.stderr.isatty():
            return
        from tqdm import tqdm

        if self.bar is not None:
            self.bar.close()
            self.bar = None
        if self.words is None:
            self.words = tqdm(file=sys.stderr, bar_format="{desc} [{elapsed}]", leave=False, delay=0.5)
        self.words.set_description_str(in_line(words))

    def __exit__(self, *reason: object) -> None:
        for bar in (self.bar, self.words):
            if bar is not None:
                bar.close()
