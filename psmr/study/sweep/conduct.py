"""Hand the points of a sweep to a crew, batch by batch, and write what comes back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from psmr.study.sweep.bench import Batch, Bench
from psmr.study.sweep.crews.crew import Crew, Lost
from psmr.study.sweep.store import Store

# Times that a point may take its worker with it before its row says so.
MOST_LOSSES = 3

# A batch grows by at most this factor beyond the one whose time is known, and has at most as many points.
GROWTH, MOST_POINTS = 8, 5000

# The last batches may be so many times shorter than others, and take so many seconds for each worker at
# least: what a batch costs beside its points is some ten milliseconds, of them a few where it is handed out.
LAST, HANDED_OUT = 10, 0.005


@dataclass(frozen=True)
class Given:
    """A batch and how often it was lost."""

    numbers: tuple[int, ...]
    losses: int = 0


class Pace:
    """How many points a batch should have, from the time that the last ones took."""

    def __init__(self, shortest: float) -> None:
        self.shortest = shortest
        self.seconds: float | None = None
        self.most = 1

    def learn(self, batch: Batch) -> None:
        """Take note of a batch that is done."""
        each = max(batch.seconds, 1e-6) / len(batch.numbers)
        self.seconds = each if self.seconds is None else 0.7 * self.seconds + 0.3 * each
        self.most = min(MOST_POINTS, max(self.most, GROWTH * len(batch.numbers)))

    def size(self, left: int, workers: int) -> int:
        """Return the points of the next batch, of those that are left for a number of workers.

        Half of an equal share, so that batches become short towards the end and all workers end together
        (after guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers 36, 1987); no more
        than ten times the shortest time, and no less than it but for the last ones.
        """
        if self.seconds is None:
            return 1
        least = 1.1 * self.shortest / self.seconds
        last = min(least, max(least / LAST, HANDED_OUT * workers / self.seconds))
        return max(1, min(self.most, left, round(max(min(left / (2 * workers), 10.0 * least), last))))


def conduct(
    crew: Crew,
    bench: Bench,
    store: Store,
    undone: Sequence[int],
    progress: Callable[[int], None] | None = None,
) -> None:
    """Carry out points and write their rows as they arrive.

    A batch whose worker dies is given again, whole and then in halves; a point that has lost its worker
    `MOST_LOSSES` times becomes a row that says so.

    Parameters
    ----------
    crew
        Who does the work.
    bench
        Makes the rows of points that cannot be carried out.
    store
        Where rows are written.
    undone
        Numbers of the points, in order.
    progress
        Called with the number of points that are done.
    """
    pace = Pace(crew.shortest)
    again: deque[Given] = deque()
    away: dict[int, Given] = {}
    place = done = 0
    while done < len(undone):
        while (again or place < len(undone)) and crew.wants():
            if again:
                given = again.popleft()
            else:
                size = pace.size(len(undone) - place, crew.workers)
                given = Given(tuple(int(number) for number in undone[place : place + size]))
                place += len(given.numbers)
            away[given.numbers[0]] = given
            crew.give(given.numbers)
        found = crew.take()
        given = away.pop(found.numbers[0])
        if isinstance(found, Lost):
            given = Given(given.numbers, given.losses + found.tries)
            if len(given.numbers) > 1 or given.losses < MOST_LOSSES:
                again.extend(_retried(given))
                continue
            found = bench.failed(given.numbers, f"no result after {given.losses} attempts: {found.reason}")
        else:
            pace.learn(found)
            if rest := given.numbers[len(found.numbers) :]:  # the signals filled the memory of a batch
                again.append(Given(rest))
        store.write(found)
        done += len(found.numbers)
        if progress is not None:
            progress(done)


def _retried(given: Given) -> tuple[Given, ...]:
    """Return how a batch that was lost is given again: whole, and after that in halves."""
    numbers, losses = given.numbers, given.losses
    if len(numbers) == 1 or losses == 1:
        return (given,)
    half = len(numbers) // 2
    return Given(numbers[:half], 1), Given(numbers[half:], 1)
