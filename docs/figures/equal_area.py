"""Make the figure of docs/course/exercise-1.md: python docs/figures/equal_area.py."""

from pathlib import Path

import numpy as np

from psmr.figures.chart import COLOURS, FAINT
from psmr.figures.with_matplotlib import STYLE, new_figure, save, styled

STYLE["svg.fonttype"] = "path"

POWER, BEFORE, AFTER = 0.8, 1.75, 1.3
START, LAST = np.arcsin(POWER / BEFORE), np.pi - np.arcsin(POWER / AFTER)
CLEARED = np.arccos(POWER / AFTER * (LAST - START) + np.cos(LAST))


with styled():
    figure = new_figure(7.2, 3.4)
    ax = figure.subplots()
    angle = np.linspace(0.0, np.pi, 400)
    ax.plot(angle, BEFORE * np.sin(angle), color=COLOURS[0])
    ax.plot(angle, AFTER * np.sin(angle), color=COLOURS[1])
    ax.axhline(0.0, color=COLOURS[2], linewidth=2.0)
    ax.axhline(POWER, color="0.3", linewidth=1.0)
    gained, lost = np.linspace(START, CLEARED, 50), np.linspace(CLEARED, LAST, 100)
    ax.fill_between(gained, 0.0, POWER, color=COLOURS[2], alpha=0.25, linewidth=0)
    ax.fill_between(lost, POWER, AFTER * np.sin(lost), color=COLOURS[1], alpha=0.25, linewidth=0)
    ax.text((START + CLEARED) / 2, POWER / 2, "gained", ha="center", va="center")
    ax.text((CLEARED + LAST) / 2, 0.98, "given back", ha="center", va="center")
    ax.text(2.2, 1.5, "before the fault", color=COLOURS[0])
    ax.text(np.pi / 2, AFTER + 0.06, "after the clearing", color=COLOURS[1], ha="center")
    ax.text(2.2, 0.05, "during the fault", color=COLOURS[2], ha="right")
    for place in (START, CLEARED, LAST):
        ax.axvline(place, color=FAINT, linewidth=0.8, zorder=0)
    ax.set_xticks([0.0, START, CLEARED, LAST, np.pi], ["0", "$\\delta_0$", "$\\delta_c$", "$\\delta_u$", "π"])
    ax.set_yticks([0.0, POWER, AFTER], ["0", "$P_m$", "$P_{max}$"])
    ax.set(xlim=(0.0, np.pi), ylim=(-0.05, 1.9), xlabel="rotor angle", ylabel="power")
save(figure, Path(__file__).with_name("equal-area.svg"))
