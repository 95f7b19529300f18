"""Hand the points of a sweep to workers and write what comes back."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass

from psmr.base.errors import PsmrError, SimulationError, StudyError
from psmr.network.case.case import Case
from psmr.network.case.edit import devices_of
from psmr.sweep.point_runner import Batch, PointRunner
from psmr.sweep.store import Store

# Times that a point may end its worker before its row says so.
MOST_LOSSES = 3

# Points of one future: a fourth of an equal share, so that all workers end together, and so many at most.
SHARES, MOST_POINTS = 4, 500


@dataclass(frozen=True)
class Workers:
    """Those who carry out points: this process, processes of this machine, or a Dask cluster.

    Attributes
    ----------
    submit
        Returns the future of a batch, which may end before the last of the points.
    count
        Returns how many work at a time.
    died
        What a future fails with when a worker ended while it carried out the points.
    attempts
        How often the points were tried by then.
    ahead
        Futures for each of them: the one it works on, and the next.
    """

    submit: Callable[[Sequence[int]], Future[Batch]]
    count: Callable[[], int]
    died: type[Exception]
    attempts: int = 1
    ahead: int = 2


def refuse_homeless(cases: Sequence[Case]) -> None:
    """Raise StudyError for components that a notebook or script declares: other processes have not it.

    Raises
    ------
    StudyError
        Naming them.
    """
    own = {device.own for case in cases for _, device in devices_of(case) if device.own is not None}
    names = sorted(kind.__name__ for kind in own if kind.__module__ == "__main__")
    if names:
        raise StudyError(
            f"{', '.join(names)}: declared in this notebook or script, which the processes of a sweep do not"
            ' have; move it to a file, such as mine.py, and name that: modules = ["mine"]; or sweep in this'
            " process: workers=1"
        )


def dispatch(
    workers: Workers,
    runner: PointRunner,
    store: Store,
    undone: Sequence[int],
    progress: Callable[[int], None] | None = None,
) -> None:
    """Carry out points and write their rows as they arrive.

    The points of a future whose worker died are tried again one by one, and those that were lost twice while
    nothing else is carried out, so that a third loss is their own: the row says so.

    Parameters
    ----------
    workers
        Who carries them out.
    runner
        Makes the rows of points that cannot be carried out.
    store
        Where rows are written.
    undone
        Numbers of the points, in order.
    progress
        Called with the number of points that are done.
    """
    points, again = deque(undone), deque[int]()
    losses: Counter[int] = Counter()
    pending: dict[Future[Batch], tuple[int, ...]] = {}
    done = 0
    while points or again or pending:
        count = workers.count()
        most = 1 if any(lost > 1 for lost in losses.values()) else workers.ahead * count
        while (points or again) and len(pending) < most:
            size = min(MOST_POINTS, max(1, len(points) // (SHARES * count)))
            numbers = (again.popleft(),) if again else tuple(points.popleft() for _ in range(size))
            pending[workers.submit(numbers)] = numbers
        for future in wait(pending, return_when=FIRST_COMPLETED).done:
            numbers = pending.pop(future)
            try:
                batch = future.result()
                points.extendleft(reversed(numbers[len(batch.numbers) :]))
            except workers.died as error:
                losses.update(dict.fromkeys(numbers, workers.attempts if len(numbers) == 1 else 1))
                again.extend(number for number in numbers if losses[number] < MOST_LOSSES)
                given_up = [number for number in numbers if losses[number] >= MOST_LOSSES]
                if not given_up:
                    continue
                batch = runner.failed(given_up, f"no result after {MOST_LOSSES} attempts: {error}")
            except (PsmrError, CancelledError):
                raise
            except Exception as error:
                raise SimulationError(f"a worker failed: {type(error).__name__}: {error}") from error
            store.write(batch)
            for number in batch.numbers:
                losses.pop(number, None)
            done += len(batch.numbers)
            if progress is not None:
                progress(done)
