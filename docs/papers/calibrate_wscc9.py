"""Close the parameter sets of wscc9-static with the stabiliser, so that they have the paper's dominant mode.

python docs/papers/calibrate_wscc9.py

Each row of cases/wscc9/wscc9-static-sets.csv has rounded data but for two numbers: the gain k and the lead
t_1 of the stabiliser. Newton's method on these two brings the mode nearest to the printed one,
-0.19561 + j8.37291, there; they are then rounded to as few digits as keep both printed parts. A set is
written only if it is admissible: 33 states, stable, this mode the least damped, and exactly v_m, v_a and v_f
of the three machines fast at delta = 20 1/s. The first set goes into wscc9-static.toml as
well. How the rounded data of the six sets were found: cases/wscc9/SOURCE.md.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

import partitioning
import psmr
from psmr.papers.huang_tzounas.runs import SETS, parameter_sets, with_parameters

FOLDER = Path(__file__).resolve().parents[2] / "cases" / "wscc9"
MODE = -0.19561 + 8.37291j
HALF_DIGIT = 5e-6
CLOSING = ("stabiliser.k", "stabiliser.t_1")
FAST_X = {f"AVR{k}.{name}" for k in (1, 2, 3) for name in ("v_m", "v_a")}
FAST_Y = {f"AVR{k}.v_f" for k in (1, 2, 3)}


def linear(case, values):
    return psmr.build(with_parameters(case, values)).linearise()


def mode(case, values):
    found = np.linalg.eigvals(linear(case, values).state_matrix())
    return found[np.abs(found - MODE).argmin()]


def close(case, values):
    """Return the values with the two closing numbers solved for."""
    values = dict(values)
    for _ in range(20):
        off = mode(case, values) - MODE
        if abs(off) < 1e-10:
            return values
        columns = []
        for name in CLOSING:
            step = 1e-6 * values[name]
            columns.append((mode(case, values | {name: values[name] + step}) - MODE - off) / step)
        J = np.array([[c.real for c in columns], [c.imag for c in columns]])
        change = -np.linalg.solve(J, [off.real, off.imag])
        values |= {name: values[name] + float(d) for name, d in zip(CLOSING, change, strict=True)}
    raise SystemExit(f"no convergence: mode {mode(case, values)}")


def rounded(case, values):
    """Return the values with the closing numbers rounded to as few digits as keep both parts of the mode."""
    for digits in range(3, 9):
        kept = values | {name: float(f"{values[name]:.{digits}g}") for name in CLOSING}
        off = mode(case, kept) - MODE
        if max(abs(off.real), abs(off.imag)) < HALF_DIGIT:
            return kept
    raise SystemExit("eight digits do not keep the mode")


def objection(case, values):
    """Return why a set is not admissible, or nothing."""
    there = linear(case, values)
    found = np.linalg.eigvals(there.state_matrix())
    moving = found[np.abs(found) > 1e-6]
    swings = found[found.imag > 0.1]
    least = swings[(-swings.real / np.abs(swings)).argmin()]
    split = partitioning.by_participation(there, delta=20.0)
    fast_x = {n for n, fast in zip(split.names_x, split.fast_x, strict=True) if fast}
    fast_y = {n for n, fast in zip(split.names_y, split.fast_y, strict=True) if fast}
    if there.n != 33:
        return f"{there.n} states"
    if moving.real.max() >= 0:
        return f"unstable: {moving.real.max():.3g} 1/s"
    if abs(least - MODE) > 1e-4:
        return f"least damped is {least:.4f}"
    if (fast_x, fast_y) != (FAST_X, FAST_Y):
        return f"fast set differs in {sorted((fast_x ^ FAST_X) | (fast_y ^ FAST_Y))}"
    return None


def main():
    case = psmr.read_case(FOLDER / "wscc9-static.toml")
    sets = {}
    for name, values in parameter_sets(FOLDER).items():
        sets[name] = rounded(case, close(case, values))
        wrong = objection(case, sets[name])
        if wrong:
            raise SystemExit(f"set {name}: {wrong}")
        print(name, mode(case, sets[name]), {k: sets[name][k] for k in CLOSING})
    table = pd.DataFrame.from_dict(sets, orient="index").rename_axis("set")
    (FOLDER / SETS).write_text(table.to_csv(float_format="%.8g"), encoding="utf-8")
    path = FOLDER / "wscc9-static.toml"
    text = path.read_text(encoding="utf-8")
    for name, value in sets["A"].items():
        role, _, parameter = name.partition(".")
        block = rf"(\[generator\.{role}\]\n(?:[^\[]*\n)?{parameter} = )[^\n]*"
        number = repr(float(f"{value:.8g}"))
        text = re.sub(block, rf"\g<1>{number}", text)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
