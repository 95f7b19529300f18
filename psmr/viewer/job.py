"""A run that goes on beside the page, with its progress, and an end that can be asked for."""

from __future__ import annotations

import threading
import traceback
import warnings

from psmr.base.errors import PsmrError
from psmr.dae.compile.notice import say
from psmr.figures.run.report import BADGES
from psmr.study.run.run import Run
from psmr.study.run.simulate import simulate
from psmr.viewer.workbench import Finished, Workbench


class Cancelled(Exception):
    """Raised within a run whose end was asked for."""


class Job:
    """A run of the study of a workbench, on a thread of its own.

    Attributes
    ----------
    t, t_end
        Time reached and end of the run, in s.
    ended
        Whether there is nothing more to wait for; then `words` says how it ended.
    failed
        Whether it ended by an error.
    """

    def __init__(self, bench: Workbench) -> None:
        assert bench.study.t_end is not None
        self.bench, self.study, self.text, self.label = bench, bench.study, bench.text, bench.label()
        self.system, self.linear = bench.system, bench.linear
        self.t, self.t_end, self.words, self.ended = 0.0, bench.study.t_end, "", False
        self.failed = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._carry_out, name="psmr view: run", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Ask the run to end at the next point at which it says how far it is."""
        self._stop.set()

    def wait(self) -> None:
        """Wait for the end."""
        self._thread.join()

    def _carry_out(self) -> None:
        try:
            run = self._run()
        except Cancelled:
            self.words = f"Cancelled at t = {self.t:.3g} s; nothing is kept."
        except PsmrError as error:
            self.words, self.failed = str(error), True
        except Exception as error:  # a mistake of psmr's own: shown whole where the command was given
            say(traceback.format_exc())
            self.words, self.failed = f"{type(error).__name__}: {error}; please report this", True
        else:
            self.bench.runs.append(Finished(self.label, run, self.text))
            self.words = f"{BADGES[run.judgement.colour]}: {run.judgement.headline}"
        finally:
            self.ended = True

    def _run(self) -> Run:
        study = self.study
        with warnings.catch_warnings():
            # What the pencil warns of stands in the run's own judgement.
            warnings.simplefilter("ignore")
            return simulate(
                self.system,
                study.recipe.scheme(self.linear),
                study.t_end,
                study.events,
                all=study.fast_points,
                progress=self._reached,
                monitors=study.monitors,
                criteria=study.criteria,
                record=study.record,
            )

    def _reached(self, t: float) -> None:
        self.t = t
        if self._stop.is_set():
            raise Cancelled
