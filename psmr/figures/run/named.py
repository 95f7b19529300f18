"""The signals that the first lines of a report name: what they speak of, a figure must show."""

from __future__ import annotations

import re
from collections.abc import Sequence

from psmr.figures.chart import COLOURS
from psmr.network.signals.signals import quantity
from psmr.study.record.recorded import Recorded

SHOWN = ("v", "omega", "slip", "theta", "delta", "p", "p_from")
"""Which signal of a device that is named is drawn: the first of these that it has, else its first one."""

WORD = re.compile(r"[^\s,;:()]+")


def named_signals(run: Recorded) -> tuple[str, ...]:
    """Return the signals that outcome and reasons name, those of the findings first.

    A state that is named stands for itself, a device for the first of `SHOWN`; both only where the run kept
    them.
    """
    judgement = run.judgement
    text = " ".join((judgement.headline, *(words for _, words in run.outcome.facts()), *judgement.reasons))
    spoken = dict.fromkeys(word.rstrip(".'") for word in WORD.findall(text))
    names = run.signals.names
    known, of = set(names), dict[str, list[str]]()
    for name in names:
        of.setdefault(name.rpartition(".")[0], []).append(name)
    found = [name for finding in run.outcome.findings for name in finding.signals if name in known]
    for word in spoken:
        if word in known:
            found.append(word)
        elif word in of and not any(name.rpartition(".")[0] == word for name in found):
            found.append(_shown(of[word]))
    return tuple(dict.fromkeys(found))


def _shown(names: Sequence[str]) -> str:
    own = {quantity(name): name for name in names}
    return next((own[kind] for kind in SHOWN if kind in own), names[0])


def panels_with(panels: Sequence[tuple[str, ...]], named: Sequence[str]) -> list[tuple[str, ...]]:
    """Return panels and, after them, others for what is named and none of them draws.

    A panel of many draws as many of its named signals as it has colours.
    """
    room, drawn = len(COLOURS) - 2, set[str]()
    for panel in panels:
        within = set(panel)
        drawn |= (
            within if len(panel) <= len(COLOURS) else {*[name for name in named if name in within][:room]}
        )
    kinds: dict[str, list[str]] = {}
    for name in named:
        if name not in drawn:
            kinds.setdefault(quantity(name), []).append(name)
    step = len(COLOURS)
    parts = [group[k : k + step] for group in kinds.values() for k in range(0, len(group), step)]
    return [*panels, *map(tuple, parts)]
