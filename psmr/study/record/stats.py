"""The work of a run, and what a single-rate run at the fast step would have cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from psmr.base.errors import first_few
from psmr.integrate.run.trajectory import Counters
from psmr.study.certificate.certificate import Scheme

ROLES = {
    "step": "whole system",
    "predictor": "predictor",
    "algebraic": "algebraic equations",
    "fast": "fast set",
    "slow": "slow set",
    "event": "start and events",
}
# Times named of what happened often; the rest is counted.
TIMES = 5

# What is compared with a single-rate run, and in which words.
COMPARED = {
    "residuals": "residual evaluations",
    "factorisations": "factorisations",
    "solves": "linear solves",
}

HEAD = ("solved for", "order", "residuals", "Newton iterations", "factorisations", "solves")


@dataclass(frozen=True)
class Volume:
    """Work in matrix rows, each call counted with the order of its block.

    Sparse residuals, factorisations and solves cost time in proportion to the rows, as long as fill-in stays
    low.
    """

    residuals: float
    factorisations: float
    solves: float


@dataclass(frozen=True)
class Stats:
    """Work counters of a run.

    Attributes
    ----------
    counters
        What the integrator counted, by role and by matrix order.
    volume
        The same in matrix rows.
    single_rate
        What single rate at the fast step would have cost in matrix rows: as many iterations and
        factorisations per step as the fast set needed here. An estimate; None for a single-rate run.
    h_fast
        The step of that single rate in s; 0 where it would have the steps that samples ask for.
    """

    counters: Counters
    volume: Volume
    single_rate: Volume | None = None
    h_fast: float = 0.0

    @classmethod
    def of(cls, counters: Counters, scheme: Scheme, size: int) -> Stats:
        """Return the work of a run of `scheme` on a system of `size` = n + m variables."""
        orders = counters.orders

        def rows(count: Any) -> float:
            return float(sum(number * orders[role] for role, number in count.items()))

        volume = Volume(
            rows(counters.residuals), rows(counters.factorisations_by_role), rows(counters.solves)
        )
        if scheme.two_rates is None and orders.get("fast"):
            # At one rate all equations take the fast steps, with the factorisations that there were.
            solved = float(size * counters.solves.get("fast", 0))
            held = volume.factorisations
            return cls(counters, volume, Volume(solved, held, solved))
        if scheme.two_rates is None:
            return cls(counters, volume)
        # Without a fast set every variable takes the macro step; its counts are then those of the slow set.
        role, steps = ("fast", counters.steps) if orders.get("fast") else ("slow", counters.macro_steps)
        passes = steps * (1 + counters.corrections / max(1, counters.macro_steps))
        share = size * counters.steps / max(1.0, passes)
        single = Volume(
            share * counters.residuals.get(role, 0),
            share * counters.factorisations_by_role.get(role, 0),
            share * counters.solves.get(role, 0),
        )
        return cls(counters, volume, single, scheme.two_rates.h_fast)

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the work by role as texts: heads and rows."""
        c = self.counters
        rows: list[tuple[str, ...]] = [
            (
                words,
                str(c.orders[role]),
                str(c.residuals[role]),
                str(c.newton_iterations[role]),
                str(c.factorisations_by_role[role]),
                str(c.solves[role]),
            )
            for role, words in [(role, ROLES.get(role, role)) for role in c.orders]
            if c.orders[role] and c.residuals[role] + c.solves[role] > 0
        ]
        return HEAD, rows

    def notes(self) -> tuple[str, ...]:
        """Return the rest in sentences: steps, time, and the comparison with single rate."""
        c = self.counters
        steps = f"{c.steps} steps"
        if self.single_rate is not None and self.h_fast:
            steps = f"{c.macro_steps} macro steps, {c.steps} fast steps, {c.corrections} corrections"
        if c.rejected or c.reversals:
            steps += f", {c.rejected} rejected"
            if c.reversals:
                steps += f", {100 * c.chatter:.0f} % of the steps turned back"
        if c.partial:
            steps += f", {c.partial} matrices renewed in part"
        lines = [f"{steps}, {c.refreshes} matrix refactorisations; integration took {c.seconds:.3f} s"]
        if c.by_order:
            taken = ", ".join(f"{number} of order {q}" for q, number in enumerate(c.by_order) if q and number)
            lines.append(f"{c.by_order[0]} steps by the pair that begins after events and kinks, {taken}")
        if c.samples:
            often = sorted(c.samples.items(), key=lambda item: -item[1])
            taken = first_few([f"{number} of {name}" for name, number in often], TIMES)
            lines.append(f"{sum(c.samples.values())} samples: {taken}")
        lines += _helped(c)
        if self.single_rate is not None and not self.h_fast:
            cheaper = self.single_rate.solves / max(1.0, self.volume.solves)
            lines.append(
                f"two rates by samples: {c.steps} steps of the slow side; one rate at the fast steps would "
                f"solve {cheaper:.3g} times as much (estimate by matrix rows)"
            )
        elif self.single_rate is not None:
            parts = [
                f"{_ratio(getattr(self.volume, name), getattr(self.single_rate, name))} of the {words}"
                for name, words in COMPARED.items()
            ]
            step = f"{1000.0 * self.h_fast:g} ms"
            compared = f"compared with a single-rate run at {step} (estimate by matrix rows)"
            lines.append(f"{compared}: {', '.join(parts)}")
        return tuple(lines)

    def lines(self) -> tuple[str, ...]:
        """Return table and notes as lines of text."""
        head, rows = self.table()
        widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]

        def line(row: tuple[str, ...]) -> str:
            first = f"{row[0]:<{widths[0]}}"
            return "  ".join([first, *(f"{cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))])

        return (line(head), *(line(row) for row in rows), *self.notes())

    def record(self) -> dict[str, Any]:
        """Return everything as plain numbers by name."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _helped(c: Counters) -> list[str]:
    """Say which steps needed more than Newton as asked for; nothing where none did."""
    lines = []
    if c.honest or c.damped:
        lines.append(
            f"{c.honest} solves were done again with a matrix at every iteration, {c.damped} of them damped"
        )
    if c.divided:
        lines.append(
            f"{c.divided} steps had no solution as a whole and were taken in parts, at {_times(c.divided_at)}"
        )
    if c.jumped_at:
        lines.append(f"the algebraic variables jumped to another solution at {_times(c.jumped_at)}")
    if c.outdated_at:
        lines.append(
            f"the response of the network was formed anew {len(c.outdated_at)} times between events, since "
            f"it no longer held, at {_times(c.outdated_at)}"
        )
    return lines


def _times(times: Sequence[float]) -> str:
    """Return the first few times in words."""
    return f"t = {first_few([f'{t:.6g}' for t in times], TIMES)} s"


def _ratio(mine: float, other: float) -> str:
    return f"{100 * mine / other:.0f} %" if other else "-"
