"""Write docs/benchmarks/performance.md and its figures.

``python -m tests.programs.benchmarks.equal_error.page [ROUNDS ...]`` makes them from
docs/figures/performance.jsonl and the files of `map` and `smoothness` beside it. Files of rounds that the
measurements wrote (the grid, `peers`, `large`) are gathered in the first one before, with the median of what
a run cost.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullFormatter

from tests.disturbances import ALL, DISTURBANCES, title
from tests.internals import COLOURS, FAINT, new_figure, save, styled
from tests.programs.benchmarks.equal_error import peers, targets
from tests.programs.benchmarks.equal_error.grid import EXTRAPOLATED, FIXED, LOOSE, SETUP, TIGHT, TM
from tests.programs.benchmarks.equal_error.large import KIND as LARGE_RUN
from tests.programs.benchmarks.equal_error.map import ROWS as PLANTS
from tests.programs.benchmarks.equal_error.records import Study, gather, studies, versions
from tests.programs.benchmarks.equal_error.smoothness import CASES as SMOOTH_CASES
from tests.programs.benchmarks.equal_error.smoothness import MINUTE, RICH
from tests.programs.benchmarks.equal_error.smoothness import ROWS as SMOOTHNESS

DOCS = Path(__file__).parents[4] / "docs"
ROWS = DOCS / "figures" / "performance.jsonl"
BLOCKS = "set-up of the blocks"
FAMILIES = (*FIXED, TM, EXTRAPOLATED, "TR-BDF2", "ESDIRK32", "ESDIRK43", "IDA")

# Errors and costs beyond these times the best of a panel say only that a scheme is of no use there.
WORST = 1e-1


def main() -> None:
    """Write the page and its figures."""
    if sources := [Path(name) for name in sys.argv[1:]]:
        gather(sources, ROWS)
    every = studies(ROWS)
    order = {(name, share): k for k, (name, share) in enumerate(ALL)}
    grid = [study for study in every if study.key[2] in DISTURBANCES and study.key[:2] in order]
    grid.sort(key=lambda study: (order[study.key[:2]], list(DISTURBANCES).index(study.key[2])))
    others = [study for study in every if study.key[0].partition(" ")[0] in (peers.ANDES, peers.TOPS)]
    run = next(study for study in every if study.key[2] == LARGE_RUN)
    smooth = studies(SMOOTHNESS)
    version, days = versions(ROWS)
    names = []
    for case in dict.fromkeys(study.key[:2] for study in grid):
        names.append(_figure([study for study in grid if study.key[:2] == case], *case))
    text = (Path(__file__).parent / "performance.md").read_text(encoding="utf-8")
    page = text.format(
        version=version,
        days=days,
        rounds=_rounds(grid),
        targets=targets.table(grid, others, run, studies(PLANTS)),
        ratios=_ratios(grid),
        multirate=_multirate(grid),
        peers=_peers(others, grid),
        agreement=_agreement(others),
        figures="\n\n".join(f"![Work against precision: {what}](../figures/{name})" for what, name in names),
        following=_following(grid),
        smoothness=_smoothness(smooth),
        smooth_version=versions(SMOOTHNESS)[0],
        allowed=_allowed(smooth, SMOOTH_CASES),
        allowed_rich=_allowed(smooth, RICH),
        kept_cost=_step_cost([s for s in grid if s.key[:2] in SMOOTH_CASES], "ESDIRK32, fixed"),
        quiet=_quiet(grid),
        quiet_best=_quiet_best(smooth),
        quiet_bound=_quiet_bound(smooth),
        by_kind=targets.by_kind(targets.converter_rich(grid), FIXED),
        step_cost=_step_cost(targets.converter_rich(grid), "TM"),
        exceptions=_exceptions(grid),
        **_slow_and_fast(grid),
    )
    (DOCS / "benchmarks" / "performance.md").write_text(page, encoding="utf-8")


def _slow_and_fast(grid: Sequence[Study]) -> dict[str, str]:
    """Return the errors of one rate with the long step and with the short one, and of both in a partition."""
    study = next(s for s in grid if s.key == ("case1354pegase", 0.6, "local fault"))
    wanted = {"slow_error": ("TM", "20 ms"), "fast_error": ("TM", "2 ms"), "both_error": (TM, "20 and 2 ms")}
    rows = {(row.family, row.label): row for row in study.rows}
    return {name: f"{rows[which].rms:.1e}" for name, which in wanted.items()}


def _step_cost(grid: Sequence[Study], family: str) -> str:
    """Return how many 20 ms steps a step of `VariableStep` costs, after a local fault and a load step."""
    found = []
    for study in grid:
        if study.key[2] in ("local fault", "load step") and (own_row := targets.row_of(study, LOOSE)):
            short = next(row for row in study.of(family) if row.label == "20 ms")
            found.append(own_row.seconds / own_row.steps / (short.seconds / short.steps))
    return f"{min(found):.1f} to {max(found):.1f}"


def _exceptions(grid: Sequence[Study]) -> str:
    """Return the runs whose errors are not proportional to the tolerance."""
    found = {
        f"{title(*study.key[:2])}, {study.key[2]} ({by})"
        for study in grid
        for by in ("rms", "largest")
        if not targets.follows(targets.over_tolerance(study, by))
    }
    return "; ".join(sorted(found))


def _rounds(grid: Sequence[Study]) -> str:
    """Return how many rounds each case has in words, and what was not measured."""
    counts: dict[int, list[str]] = {}
    for case in dict.fromkeys(study.key[:2] for study in grid):
        for count in sorted({study.rounds for study in grid if study.key[:2] == case}):
            counts.setdefault(count, []).append(title(*case))
    words = [f"{count} for {', '.join(names)}" for count, names in sorted(counts.items(), reverse=True)]
    known = {study.key for study in grid}
    words += [
        f"none for {title(*case)}, {kind}"
        for case in ALL
        for kind in DISTURBANCES
        if (*case, kind) not in known
    ]
    return "; ".join(words)


def _table(heads: str, sides: str, rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose columns stand to the left (l) or to the right (r)."""
    rule = ("--:" if side == "r" else "---" for side in sides)
    return "\n".join([f"| {heads} |", f"|{'|'.join(rule)}|", *(f"| {' | '.join(cells)} |" for cells in rows)])


def _what(study: Study) -> tuple[str, str]:
    """Return the cells with which most rows begin: the case and what happens."""
    return title(*study.key[:2]), study.key[2]


def _ratios(grid: Sequence[Study]) -> str:
    def cell(study: Study, families: Sequence[str], tolerance: float) -> str:
        return ", ".join(targets.against(study, families, tolerance, by) for by in targets.ERRORS)

    sides = [(families, tolerance) for families in (FIXED, ("IDA",)) for tolerance in (LOOSE, TIGHT)]
    return _table(
        "case | disturbance | fixed / variable, 1e-3: all, watched | 1e-4: all, watched "
        "| IDA / variable, 1e-3: all, watched | 1e-4: all, watched",
        "llllll",
        [(*_what(study), *(cell(study, *side) for side in sides)) for study in grid],
    )


def _multirate(grid: Sequence[Study]) -> str:
    rows = []
    for study in grid:
        if study.of(TM):
            pair = (targets.against(study, (TM,), LOOSE, by) for by in targets.ERRORS)
            rows.append((*_what(study), ", ".join(pair)))
    heads = "case | disturbance | fixed multirate, TM / variable, 1e-3: all, watched"
    return _table(heads, "lll", rows)


def _quiet(grid: Sequence[Study]) -> str:
    rows = []
    for study in grid:
        for tolerance in (LOOSE, TIGHT) if study.key[2] == "quiet minute" else ():
            if costs := targets.quiet_costs(study, tolerance).values():
                steps = ", ".join(f"{count:g}" for count, _ in costs)
                seconds = ", ".join(f"{max(0.0, spent):.4f}" for _, spent in costs)
                rows.append((title(*study.key[:2]), f"{tolerance:g}", steps, seconds))
    heads = "case | tolerance | steps in the first second, to 1 min, to 2 min | their processor time, s"
    return _table(heads, "llll", rows)


def _in_parts(each: Mapping[str, Any], which: str) -> tuple[int, int]:
    """Return the steps in the first second after the last change and those in what follows."""
    second = each[f"{which}_in_second"]
    return second, each[which] - second


def _quiet_best(smooth: Sequence[Study]) -> str:
    rows = []
    for study in smooth:
        for each in study.facts["sequences"] if study.key[2] == MINUTE else ():
            cells = []
            for which in ("steps", "best"):
                second, minute = _in_parts(each, which)
                cells.append(f"{second}, {minute}, {minute / second:.1f}")
            rows.append((title(*study.key[:2]), f"{each['tolerance']:g}", *cells))
    heads = "case | tolerance | `VariableStep`: first second, the 59 s after it, ratio "
    return _table(heads + "| best sequence: first second, the 59 s after it, ratio", "llll", rows)


def _quiet_bound(smooth: Sequence[Study]) -> str:
    """Return in words in how many runs the best sequence has fewer steps in the minute than in the second."""
    minutes = [study for study in smooth if study.key[2] == MINUTE]
    parts = [_in_parts(each, "best") for study in minutes for each in study.facts["sequences"]]
    ratios = sorted(minute / second for second, minute in parts)
    fewer = sum(ratio < 1.0 for ratio in ratios)
    middle = float(np.median(ratios))
    return f"{ratios[0]:.1f} to {ratios[-1]:.1f}, median {middle:.1f}; {fewer} of {len(ratios)} below 1"


def _smoothness(smooth: Sequence[Study]) -> str:
    rows = []
    for study in smooth:
        for each in study.facts["sequences"]:
            steps, best, staying = (each[name] for name in ("steps", "best", "staying"))
            counts = (f"{steps}", f"{best}", f"{staying:.0f}")
            ratios = (f"{staying / best:.1f}", f"{steps / best:.1f}")
            rows.append((*_what(study), f"{each['tolerance']:g}", *counts, *ratios))
    heads = "case | disturbance | tolerance | `VariableStep` | best sequence | a step that stays "
    return _table(heads + "| staying / best | `VariableStep` / best", "lllrrrrr", rows)


def _allowed(smooth: Sequence[Study], cases: Sequence[tuple[str, float]]) -> str:
    """Return by disturbance how many times more steps that stay are than the best sequence has."""
    words, own = [], [study for study in smooth if study.key[:2] in cases]
    for kind in dict.fromkeys(study.key[2] for study in own):
        found = [
            each["staying"] / each["best"]
            for study in own
            if study.key[2] == kind
            for each in study.facts["sequences"]
        ]
        words.append(f"{min(found):.1f} to {max(found):.1f} ({kind})")
    return ", ".join(words)


def _following(grid: Sequence[Study]) -> str:
    def cell(study: Study, by: str) -> str:
        return ", ".join(f"{value:.2g}" for value in targets.over_tolerance(study, by))

    rows = [(*_what(study), cell(study, "rms"), cell(study, "largest")) for study in grid]
    heads = "case | disturbance | rms error / tolerance, from 1e-2 on | largest error / tolerance"
    return _table(heads, "llll", rows)


def _peers(others: Sequence[Study], grid: Sequence[Study]) -> str:
    rows = []
    for study, row, cost, mark in targets.peer_costs(others, grid):
        measured = (row.label, f"{row.seconds:.2f}", f"{row.rms_watched:.1e}")
        ours = (f"{mark}{cost:.4f}", f"{'>' if mark else ''}{row.seconds / cost:.0f}")
        rows.append((study.key[0], study.key[2], *measured, *ours))
    heads = "program, its case | disturbance | step | its time, s | rms error "
    return _table(heads + "| `VariableStep` at that error, s | ratio", "lllrrrr", rows)


def _agreement(others: Sequence[Study]) -> str:
    rows = [row for study in others for row in study.of(peers.DIFFERENCE)]
    return f"{min(r.rms_watched for r in rows):.1e} to {max(r.rms_watched for r in rows):.1e}"


def _figure(kinds: Sequence[Study], case: str, converters: float) -> tuple[str, str]:
    """Draw a panel per disturbance: processor time over error, a line per family."""
    name = f"performance-{case}{f'-{converters:g}'.replace('.', '') if converters else ''}.svg"
    with styled():
        figure = new_figure(8.4, 3.4 * ((len(kinds) + 1) // 2) + 0.5)
        axes = figure.subplots((len(kinds) + 1) // 2, 2, squeeze=False, sharey=True).ravel()
        for ax, study in zip(axes, kinds, strict=False):
            for colour, marker, (family, points) in zip(COLOURS, "os^vD<>P*", _lines(study), strict=True):
                ax.loglog(*points, marker=marker, ls="-", label=family, color=colour, lw=1.1, ms=4)
            setup = study.of(SETUP)
            if setup:
                ax.axhline(setup[0].seconds, color=FAINT, lw=0.9, ls=":", label=BLOCKS)
            ax.yaxis.set_minor_formatter(NullFormatter())
            ax.set_title(study.key[2])
            ax.set_xlabel("rms error of all variables")
            ax.set_ylabel("processor time [s]")
        for ax in axes[len(kinds) :]:
            ax.remove()
        found = {line.get_label(): line for ax in axes for line in ax.get_lines() if len(line.get_xdata())}
        handles = [found[label] for label in (*FAMILIES, BLOCKS) if label in found]
        figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)
        save(figure, DOCS / "figures" / name)
    return title(case, converters), name


def _lines(study: Study) -> Iterator[tuple[str, tuple[list[float], list[float]]]]:
    for family in FAMILIES:
        points = sorted((row.rms, row.seconds) for row in study.of(family) if row.rms < WORST)
        yield family, ([x for x, _ in points], [y for _, y in points])


if __name__ == "__main__":
    main()
