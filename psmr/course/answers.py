"""What answers the questions of the course, in closed form, by the linearised system, or by a run."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from partitioning import by_participation
from psmr.course.exercise import Exercise
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.integrate.schemes.multirate import Multirate
from psmr.integrate.schemes.one_step import SingleRate
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.network.start.initialise import build
from psmr.pencil.deformation.critical import critical_step
from psmr.pencil.deformation.deformation import deformation
from psmr.pencil.modes.search import ModeChoice
from psmr.pencil.modes.shapes import ModeShape, mode_shapes
from psmr.study.certificate.network_deformation import network_deformation, whole_network
from psmr.study.detectors.detection import AngleSpread
from psmr.study.events import Fault
from psmr.study.run.run import Run
from psmr.study.run.simulate import simulate
from psmr.sweep.bisection import last_survivor

# Of exercise 1: reactances in pu, synchronous speed in rad/s.
X_D1, X_T, SPEED = 0.3, 0.1, 2 * math.pi * 50.0
MACHINES = ("G1", "G2", "G3", "G4")
BETWEEN_AREAS = ModeChoice(band_hz=(0.2, 0.9), damping_below=0.6)
# Step in s from which the search for a stability limit goes up; longest fault in ms that is tried.
FIRST, LONGEST = 1e-5, 600
OUT_OF_STEP = (AngleSpread(limit_deg=180.0),)


@cache
def _system(e: Exercise) -> System:
    return build(e.case())


@cache
def _linear(e: Exercise) -> LinearDae:
    return _system(e).linearise()


@cache
def _run(e: Exercise, bus: int, start: float, clear: float, trip: str | None, t_end: float) -> Run:
    system, fault = _system(e), Fault(bus=bus, start=start, clear=clear, trip=trip)
    return simulate(
        system, t_end=t_end, events=[fault], monitors=OUT_OF_STEP, record=["bus*.v"], certify=False
    )


def _source(e: Exercise) -> tuple[float, float]:
    """Return magnitude and angle in rad of the voltage behind the transient reactance."""
    x = X_T + e["x"] / 2
    v = cmath.rect(1.0, math.asin(e["p"] * x))
    return cmath.polar(v + X_D1 * (v - 1.0) / x)


def _most(e: Exercise, lines: int = 1) -> float:
    return _source(e)[0] / (X_D1 + X_T + e["x"] / lines)


def _critical_angle(e: Exercise, lines: int = 1) -> float:
    """Return the critical clearing angle in rad (Kundur 1994, section 13.1)."""
    share = e["p"] / _most(e, lines)
    last = math.pi - math.asin(share)
    return math.acos(share * (last - _source(e)[1]) + math.cos(last))


def _critical_time(e: Exercise) -> float:
    return 1e3 * math.sqrt(4 * e["h"] * (_critical_angle(e) - _source(e)[1]) / (SPEED * e["p"]))


def _clearing(e: Exercise) -> float:
    """Return the angle in rad at which a fault of 80 % of the critical time is cleared."""
    return _source(e)[1] + 0.8**2 * (_critical_angle(e) - _source(e)[1])


def _return(e: Exercise) -> float:
    """Return the largest angle in rad after that: where both areas are equal."""
    most, start, clear = _most(e), _source(e)[1], _clearing(e)
    last = math.pi - math.asin(e["p"] / most)
    return float(brentq(lambda d: e["p"] * (d - start) - most * (math.cos(clear) - math.cos(d)), clear, last))


@cache
def _shape(e: Exercise, where: tuple[str, ...] = ()) -> ModeShape:
    """Return the mode between the areas, with stabilisers at some machines."""
    made = e.case("case-2-stabilised.toml" if where else "")
    if where:
        made = made.edit({f"PSS{name[1]}.k_s": 0.0 for name in MACHINES if name not in where})
    shapes = mode_shapes(build(made).linearise(), BETWEEN_AREAS)
    return next(shape for shape in shapes if shape.quantity == "omega")


def _tie(e: Exercise) -> float:
    run = simulate(_system(e), t_end=0.01, certify=False)
    return float(run.values(["line7-8.p_from", "line7-8-2.p_from"])[0].sum())


def _initial(e: Exercise, name: str) -> float:
    system = _system(e.only("load"))
    return math.degrees(system.x0[system.names_x.index(name)])


def _swing(e: Exercise) -> Any:
    return _run(e.only("load"), e["fault"][0], 1.0, e["clear"], e["fault"][1], 5.0).outcome


def _after(e: Exercise, ms: int, trip: str | None = None) -> Any:
    return _run(e.only(), e["fault"][0], 0.1, 0.1 + ms / 1000, trip, 6.0).outcome


@cache
def _critical(e: Exercise, trip: str | None = None) -> int:
    return last_survivor(LONGEST, lambda ms: _after(e, ms, trip).lost is None)


@cache
def _fastest(e: Exercise) -> complex:
    values = np.linalg.eigvals(_linear(e).state_matrix())
    return complex(values[np.argmax(abs(values))])


@cache
def _limit(e: Exercise, method: str) -> float:
    return 1e6 * critical_step(_linear(e), SingleRate(method, h=FIRST), first=FIRST).h


def _kept(e: Exercise) -> float:
    z = _fastest(e.only("t_i")) * e["h"] / 1000
    return abs((1 + z / 2) / (1 - z / 2))


def _fast(e: Exercise) -> int:
    return int(by_participation(_linear(e.only("t_i")), delta=e["delta"]).fast_x.sum())


def _share(e: Exercise) -> float:
    part = _fast(e) / _linear(e.only("t_i")).n
    return 100 * (part + (1 - part) / e["h"])


@cache
def _bent(e: Exercise, method: str = "") -> Any:
    """Return what a method makes of the least damped swing; the multirate scheme where none is named."""
    linear, h = _linear(e.only("load")), e["h"] / 1000
    if method:
        return deformation(linear, SingleRate(method, h=h)).dominant
    split = by_participation(linear, delta=20.0)
    return deformation(linear, Multirate(split, h, e["ratio"], predictor="FEM", solution="TM")).dominant


def _mode(e: Exercise, end: str = "", method: str = "TM") -> complex:
    row = _bent(e.only("load", "h"), method)
    return complex(row[f"real{end}"], row[f"imag{end}"])


def _damping(s: complex) -> float:
    return -100 * s.real / abs(s)


def _longest(e: Exercise) -> float:
    """Return the step in ms of backward Euler, which shows -ln(1 - h s)/h, with the given deformation."""
    s, part = _mode(e), e["percent"] / 100
    return 1e3 * float(brentq(lambda h: abs(np.log(1 - h * s) / h + s) / abs(s) - part, 1e-6, 0.1))


@cache
def _current(e: Exercise, full: bool) -> tuple[float, int]:
    """Return the largest current of C3 in pu, and the number of states."""
    system = build(e.case(), loads="impedance", dynamic=whole_network() if full else None)
    fault = Fault(bus=e["fault"][0], start=0.1, clear=0.2, r=e["fault"][1], x=0.0)
    run = simulate(system, VariableStep(1e-5), 0.3, [fault], certify=False)
    return float(run.values("C3.i").max()), system.n


@cache
def _left_out(e: Exercise, low_hz: float, high_hz: float) -> float:
    """Return in % the largest deformation by phasors in a band."""
    found = network_deformation(e.case(), loads="impedance")
    hertz = np.imag(found.modes) / (2 * np.pi)
    return 100 * float(np.nanmax(np.array(found.by_model)[(hertz > low_hz) & (hertz < high_hz)]))


def _collapse(e: Exercise) -> Any:
    return _run(e.only("load"), 4032, 1.0, 1.1, "4032-4044", 200.0)


def _moves(e: Exercise) -> int:
    taps = _collapse(e).outcome.controls.taps
    return sum(0.0 < t <= 100.0 for each in taps if each.acts_on == e["transformer"] for t in each.t)


ANSWERS: Mapping[str, Callable[[Exercise], float | str]] = {
    "rotor_angle": lambda e: math.degrees(_source(e)[1]),
    "terminal_angle": lambda e: math.degrees(math.asin(e["p"] * (X_T + e["x"] / 2))),
    "power_after": _most,
    "power_before": lambda e: _most(e, 2),
    "critical_angle": lambda e: math.degrees(_critical_angle(e)),
    "critical_angle_two_lines": lambda e: math.degrees(_critical_angle(e, 2)),
    "critical_time": _critical_time,
    "critical_time_without_two": lambda e: _critical_time(e) / math.sqrt(2),
    "return_angle": lambda e: math.degrees(_return(e)),
    "clearing_angle": lambda e: math.degrees(_clearing(e)),
    "tie": lambda e: _tie(e.only("loads")),
    "tie_circuit": lambda e: _tie(e.only("loads")) / 2,
    "mode_frequency": lambda e: _shape(e.only("loads", "gain")).frequency_hz,
    "mode_damping": lambda e: 100 * _shape(e.only("loads", "gain")).damping_ratio,
    "mode_participation": lambda e: max(
        MACHINES, key=lambda name: float(_shape(e.only("loads", "gain")).participation[f"{name}.omega"])
    ),
    "one_stabiliser": lambda e: 100 * _shape(e.only("loads", "gain"), (e["at"],)).damping_ratio,
    "four_stabilisers": lambda e: 100 * _shape(e.only("loads", "gain"), MACHINES).damping_ratio,
    "best_stabiliser": lambda e: max(
        MACHINES, key=lambda name: _shape(e.only("loads", "gain"), (name,)).damping_ratio
    ),
    "relative_angle": lambda e: _initial(e, "G2.delta") - _initial(e, "G1.delta"),
    "own_angle": lambda e: _initial(e, "G2.delta"),
    "field_voltage": lambda e: math.radians(_initial(e, "AVR3.v_f")),
    "angle_difference": lambda e: _swing(e).angle_difference.value,
    "angle_moved": lambda e: _swing(e).angle_spread.value,
    "time_of_difference": lambda e: _swing(e).angle_difference.t - 1.0,
    "time_in_run": lambda e: _swing(e).angle_difference.t,
    "lowest_voltage": lambda e: _swing(e).lowest_voltage.value,
    "difference_of_ten": lambda e: _after(e, e["ms"]).angle_difference.value,
    "moved_of_ten": lambda e: _after(e, e["ms"]).angle_spread.value,
    "clearing_time": lambda e: _critical(e.only("fault")),
    "clearing_instant": lambda e: 100 + _critical(e.only("fault")),
    "clearing_time_line": lambda e: _critical(e.only("fault"), e["fault"][1]),
    "first_lost": lambda e: " ".join(_after(e, _critical(e.only("fault")) + 1).lost.first),
    "fastest": lambda e: abs(_fastest(e.only("t_i"))),
    "fastest_time": lambda e: 1e6 / abs(_fastest(e.only("t_i"))),
    "euler_limit": lambda e: _limit(e.only("t_i"), "FEM"),
    "runge_kutta_limit": lambda e: _limit(e.only("t_i"), "RK4"),
    "kept": _kept,
    "fast_states": _fast,
    "share": _share,
    "share_saved": lambda e: 100 - _share(e),
    "swing_damping": lambda e: _damping(_mode(e)),
    "swing_frequency": lambda e: _mode(e).imag / (2 * math.pi),
    "trapezoidal_frequency": lambda e: _mode(e, "_numerical").imag / (2 * math.pi),
    "euler_damping": lambda e: _damping(_mode(e, "_numerical", "BEM")),
    "multirate_deformation": lambda e: 100 * float(_bent(e)["relative_deformation"]),
    "longest_step": _longest,
    "longest_step_halved": lambda e: _longest(e) / 2,
    "states_full": lambda e: _current(e, True)[1],
    "states_phasors": lambda e: _current(e, False)[1],
    "swings_left_out": lambda e: _left_out(e.only("load"), 1.0, 2.0),
    "controls_left_out": lambda e: _left_out(e.only("load"), 100.0, 500.0),
    "current_phasors": lambda e: _current(e, False)[0],
    "current_full": lambda e: _current(e, True)[0],
    "first_limited": lambda e: _collapse(e).outcome.controls.limited[0][1],
    "time_limited": lambda e: _collapse(e).outcome.controls.limited[0][0],
    "moves": _moves,
    "voltage": lambda e: float(_collapse(e).at([100.0], f"bus{e['bus']}.v").iloc[0, 0]),
    "time_lost": lambda e: _collapse(e).outcome.lost.t,
}
"""By name, as the data of an exercise call it."""
