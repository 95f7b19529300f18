"""Where the trapezoidal rule loses the stability of a delayed system, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psmr.figures.canvas import new_figure, styled
from psmr.figures.chart import COLOURS, FAINT, INK
from psmr.papers.bouterakos_tzounas.new_england import MOST
from psmr.papers.reproduction import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXACT: dict[str, Any] = {"color": INK, "linewidth": 2.6, "alpha": 0.35}


def by_delay(r: Results) -> Figure:
    """Draw the growth of the test equation over its delay: exactly, and by schemes."""
    with styled():
        figure = new_figure(8.2, 3.8)
        axis = figure.subplots()
        axis.axhline(0.0, color=FAINT, linewidth=0.8)
        for k, (words, (tau, growth)) in enumerate(r.growth_by_delay.items()):
            look: dict[str, Any] = EXACT if words == "exact" else {"color": COLOURS[k - 1], "linewidth": 1.2}
            axis.plot(tau, growth, **look, label=words)
        axis.set(
            xlabel="delay τ [s]",
            ylabel="growth [1/s]",
            title="x' = 7j x + x(t - τ): the trapezoidal rule needs a longer delay",
            xlim=(0.05, 0.6),
            ylim=(-1.6, 1.1),
        )
        axis.legend(loc="lower left", ncols=2)
    return figure


def new_england(r: Results) -> Figure:
    """Draw the growth by the number of delayed stabilisers, and two runs with all of them."""
    with styled():
        figure = new_figure(8.2, 3.6)
        left, right = figure.subplots(1, 2)
        left.axhline(0.0, color=FAINT, linewidth=0.8)
        columns = [
            column for column in r.by_number if column not in ("delayed stabilisers", "BEM, h = 0.3 s")
        ]
        for k, column in enumerate(columns):
            look: dict[str, Any] = EXACT if column == "exact" else {"color": COLOURS[k - 1], "linewidth": 1.2}
            left.plot(
                r.by_number["delayed stabilisers"],
                r.by_number[column],
                **look,
                marker="o",
                ms=3,
                label=column,
            )
        left.set(
            xlabel="delayed stabilisers",
            ylabel="growth of the least stable oscillation [1/s]",
            title="by the number of delayed signals",
            xticks=range(1, MOST + 1),
        )
        left.legend(loc="lower right")
        for (words, (t, apart)), colour in zip(r.swings.curves.items(), COLOURS, strict=False):
            right.plot(t, 1e6 * apart, color=colour, linewidth=0.8, label=words)
        right.set(
            xlabel="t [s]",
            ylabel="speed of plant 37 less 39 [1e-6 pu]",
            title=f"{MOST} delayed stabilisers: two runs",
        )
        right.legend(loc="upper left")
    return figure
