"""Taps, phase shifters and switched shunts moved to where their controls want them, as a load flow does.

After each power flow all controls whose quantities are outside their bands move together by what the
linearised power flow asks for, by one position at least and never beyond their ranges; the power flow is
solved again. A control in steps that would turn round for the third time stays where it is, so that there is
an end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import splu

from psmr.base.arrays import Complexes, Reals
from psmr.base.errors import InputError, PowerFlowError, first_few, nearest, warn
from psmr.devices.network import Transformer
from psmr.devices.switched_shunts import shunt_positions
from psmr.network.case.case import Case
from psmr.network.case.rows import two_ports
from psmr.network.case.tables import ACTIVE, VOLTAGE, ShuntRow, TransformerRow
from psmr.network.case.tap_changers import regulated
from psmr.network.powerflow.power_balance import Balance, jacobian
from psmr.network.powerflow.powerflow import PowerFlow

SHUNTS, TAPS, PHASE_SHIFTERS = "shunts", "taps", "phase-shifters"
ADJUSTABLE = (SHUNTS, TAPS, PHASE_SHIFTERS)

ROUNDS = 100
"""Most power flows."""
TURNS = 2
"""How often a control may turn round."""
HALVINGS = 4
"""How often a move is halved that leads to no power flow."""
INSIDE = 1e-4
"""What a quantity may be outside its band, in pu of voltage, and of power on the system base."""
STILL = 1e-9
"""Difference below which two positions are one."""
BLIND = 1e-6
"""Sensitivity below which a control does not act on what it controls."""
DEPENDENT = 1e-6
"""Part of the largest effect below which controls, moved over their ranges together, have none."""
SHOWN = 6
AT_END = "is at the end of its range"
NO_POSITION = "has no position within the band"
NO_FLOW = "would move on, to where the power flow has no solution"


@dataclass
class _Control:
    """A control: its row, its positions in ascending order (a range where it is continuous), where it is."""

    row: TransformerRow | ShuntRow
    what: str
    positions: Reals
    continuous: bool
    at: float
    began: float
    turns: int = 0
    last: int = 0
    stuck: str = ""

    def moved(self, wanted: float) -> float:
        """Return the position for a wanted one: the nearest one beyond where it is now, within the range."""
        wanted = float(np.clip(wanted, self.positions[0], self.positions[-1]))
        if self.continuous or abs(wanted - self.at) < STILL:
            return wanted
        beyond = self.positions[
            self.positions > self.at + STILL if wanted > self.at else self.positions < self.at - STILL
        ]
        return self.at if not beyond.size else float(beyond[np.argmin(np.abs(beyond - wanted))])


def check_adjust(adjust: Sequence[str]) -> None:
    """Raise InputError for something that cannot be adjusted."""
    for name in adjust:
        if name not in ADJUSTABLE:
            known = ", ".join(map(repr, ADJUSTABLE))
            raise InputError(f"adjust = {name!r}: must be of {known}{nearest(str(name), ADJUSTABLE)}")


def adjusted(case: Case, adjust: Sequence[str], solve: Callable[..., PowerFlow]) -> Case:
    """Return the case with controls where they keep what they control.

    `adjust` says which move, of `ADJUSTABLE`; `solve` solves the power flow of a case, from the one that is
    its `start`. Warns with what was moved, and what cannot be kept. Raises InputError for something that
    cannot be adjusted and PowerFlowError where the power flow has no solution.
    """
    check_adjust(adjust)
    controls = list(_controls(case, adjust))
    flow = solve(case)
    for _ in range(ROUNDS if controls else 0):
        wanted = _wanted(case, flow, controls)
        if not wanted:
            break
        for _ in range(1 + HALVINGS):
            new = _placed(case, controls, wanted)
            try:
                flow = solve(new, start=flow)
                break
            except PowerFlowError:
                halves = {i: (controls[i].at + at) / 2 for i, at in wanted.items()}
                wanted = {i: controls[i].moved(half) for i, half in halves.items()}
        else:
            for i in wanted:
                controls[i].stuck = NO_FLOW
            break
        case = new
        for i, at in wanted.items():
            control = controls[i]
            direction = int(np.sign(at - control.at))
            control.turns += direction == -control.last
            control.at, control.last = at, direction
    _tell(case, flow, controls, adjust)
    return case


def _controls(case: Case, adjust: Sequence[str]) -> Iterator[_Control]:
    for row, places in map(regulated, case.transformers):
        kind = PHASE_SHIFTERS if row.controls == ACTIVE else TAPS
        if not (row.status and row.controls and kind in adjust):
            continue
        at = row.shift_deg if row.controls == ACTIVE else row.tap
        count = 2 if row.controls == ACTIVE else row.positions
        positions = np.array(places) if places else np.linspace(row.tap_min, row.tap_max, count)
        yield _Control(row, row.controls, positions, row.controls == ACTIVE and not places, at, at)
    for shunt in case.shunts:
        keeps = shunt.control_bus and shunt.controls == VOLTAGE
        if shunt.status and shunt.steps and keeps and SHUNTS in adjust:
            positions = shunt_positions(shunt.steps)
            at = shunt.b_mvar
            yield _Control(shunt, VOLTAGE, positions, shunt.continuous, at, at)


def _band(row: TransformerRow | ShuntRow, base: float) -> tuple[float, float]:
    if isinstance(row, ShuntRow):
        return row.v_low, row.v_high
    unit = 1.0 if row.controls == VOLTAGE else base
    return row.control_low / unit, row.control_high / unit


def _wanted(case: Case, flow: PowerFlow, controls: Sequence[_Control]) -> dict[int, float]:
    """Return where the controls move that are outside their bands, by their place in the list."""
    values = _values(case, flow, controls)
    errors: dict[int, float] = {}
    for i, (control, value) in enumerate(zip(controls, values, strict=True)):
        low, high = _band(control.row, case.base_mva)
        error = low - value if value < low - INSIDE else high - value if value > high + INSIDE else 0.0
        if error and (control.stuck != NO_POSITION or control.continuous or control.turns < TURNS):
            control.stuck = ""
            errors[i] = error
    if not errors:
        return {}
    outside = [controls[i] for i in errors]
    slopes = _sensitivities(case, flow, outside)
    steps = _steps(slopes, np.array([*errors.values()]), outside)
    wanted = {}
    for i, slope, step in zip(errors, np.diag(slopes), steps, strict=True):
        control = controls[i]
        at = control.moved(control.at + step)
        if abs(slope) < BLIND:
            control.stuck = "does not act on it"
        elif abs(at - control.at) < STILL:
            ends = control.positions[[0, -1]]
            control.stuck = AT_END if np.abs(ends - control.at).min() < STILL else NO_POSITION
        elif np.sign(at - control.at) == -control.last and control.turns >= TURNS and not control.continuous:
            control.stuck = NO_POSITION
        else:
            wanted[i] = at
    return wanted


def _steps(slopes: Reals, errors: Reals, controls: Sequence[_Control]) -> Reals:
    """Return by how much controls move together: each keeps what it controls, or is at an end.

    What moves nothing, phase shifters in all branches of a cut by one angle, is no part of a step.
    """
    at = np.array([control.at for control in controls])
    low = np.array([control.positions[0] for control in controls]) - at
    high = np.array([control.positions[-1] for control in controls]) - at
    span = high - low
    steps = np.zeros(len(controls))
    free = np.abs(np.diag(slopes)) >= BLIND
    while free.any():
        left = errors[free] - slopes[np.ix_(free, ~free)] @ steps[~free]
        over_range = slopes[np.ix_(free, free)] * span[free]
        steps[free] = span[free] * np.linalg.lstsq(over_range, left, rcond=DEPENDENT)[0]
        beyond = free & ((steps < low) | (steps > high))
        if not beyond.any():
            break
        steps[beyond] = np.clip(steps[beyond], low[beyond], high[beyond])
        free &= ~beyond
    return steps


def _values(case: Case, flow: PowerFlow, controls: Sequence[_Control]) -> Reals:
    """Return the quantities that are controlled, in pu."""
    rows = {row.name: row for row in case.transformers}
    found = np.zeros(len(controls))
    for i, control in enumerate(controls):
        if control.what == VOLTAGE:
            found[i] = flow.v[case.places[control.row.control_bus]]
            continue
        row = rows[control.row.name]
        v = flow.voltage[[case.places[row.from_bus], case.places[row.to_bus]]]
        power = v[0] * np.conj(_two_port(row)[0] @ v)
        found[i] = power.real if control.what == ACTIVE else power.imag
    return found


def _two_port(row: TransformerRow) -> Complexes:
    """Return the (2, 2) complex admittance matrix of a transformer in pu."""
    return np.asarray(two_ports(Transformer, [row])[0])


def _sensitivities(case: Case, flow: PowerFlow, controls: Sequence[_Control]) -> Reals:
    """Return (m, m) derivatives in pu: how what each control (row) controls follows a position (column)."""
    balance = Balance.of(case)
    limited = {row.bus for row in case.generators if row.name in flow.at_limit}
    balance.pv[[case.places[bus] for bus in limited]] = False
    lu = splu(jacobian(balance, flow.v, flow.angle))
    free_angle, free_v, reactive = balance.free_angle, balance.free_v, balance.reactive_rows()
    size = len(case.buses)
    rows = {row.name: row for row in case.transformers}
    ends = {
        control.row.name: [case.places[control.row.from_bus], case.places[control.row.to_bus]]
        for control in controls
        if isinstance(control.row, TransformerRow)
    }
    voltages = [k for k, control in enumerate(controls) if control.what == VOLTAGE]
    places = [case.places[controls[k].row.control_bus] for k in voltages]
    powers = [
        (k, ends[control.row.name], _two_port(rows[control.row.name])[0])
        for k, control in enumerate(controls)
        if control.what != VOLTAGE
    ]
    found = np.zeros((len(controls), len(controls)))
    for k, control in enumerate(controls):
        demand = np.zeros(size, dtype=complex)
        own = 0j
        if isinstance(control.row, ShuntRow):
            bus = case.places[control.row.bus]
            demand[bus] = -1j * flow.v[bus] ** 2 / case.base_mva
        else:
            row = rows[control.row.name]
            v, step = flow.voltage[ends[row.name]], 1e-5
            two = [_two_port(_at(row, control.at + d, control.what)) for d in (step, -step)]
            change = (two[0] - two[1]) / (2 * step)
            injected = v * np.conj(change @ v)
            demand[ends[row.name]] += injected
            own = injected[0]
        dx = lu.solve(-np.concatenate([demand.real[free_angle], reactive @ demand.imag]))
        dangle, dv = np.zeros(size), np.zeros(size)
        dangle[free_angle], dv[free_v] = dx[: free_angle.size], dx[free_angle.size :]
        found[voltages, k] = dv[places]
        dvoltage = flow.voltage * (dv / flow.v + 1j * dangle)
        for j, at, admittances in powers:
            v, change = flow.voltage[at], dvoltage[at]
            power = change[0] * np.conj(admittances @ v) + v[0] * np.conj(admittances @ change)
            power += own if j == k else 0.0
            found[j, k] = power.real if controls[j].what == ACTIVE else power.imag
    return found


def effects(case: Case, flow: PowerFlow, rows: Sequence[TransformerRow | ShuntRow]) -> Reals:
    """Return (m,) derivatives in pu of what each controls by its tap, shift in degrees, or Mvar."""
    controls = []
    for row in rows:
        if isinstance(row, ShuntRow):
            controls.append(_Control(row, VOLTAGE, np.zeros(2), True, row.b_mvar, row.b_mvar))
            continue
        at = row.shift_deg if row.controls == ACTIVE else row.tap
        both = np.array([row.tap_min, row.tap_max])
        controls.append(_Control(row, row.controls, both, True, at, at))
    return np.diag(_sensitivities(case, flow, controls))


def _at(row: TransformerRow, position: float, what: str) -> TransformerRow:
    """Return a transformer at another tap or shift, its impedance following its correction."""
    new = replace(row, shift_deg=position) if what == ACTIVE else replace(row, tap=position)
    if not row.correction:
        return new
    at, real, imag = (np.array(row.correction[k::3]) for k in range(3))
    by_angle = not 0 < at[0] < at[-1] < 3
    factors = [
        complex(np.interp(x, at, real), np.interp(x, at, imag))
        for x in ((row.shift_deg, new.shift_deg) if by_angle else (row.tap, new.tap))
    ]
    z = complex(row.r, row.x) * factors[1] / factors[0]
    return replace(new, r=z.real, x=z.imag)


def _placed(case: Case, controls: Sequence[_Control], wanted: dict[int, float]) -> Case:
    shunts: dict[str, ShuntRow] = {}
    transformers: dict[str, TransformerRow] = {}
    rows = {row.name: row for row in case.transformers}
    for i, position in wanted.items():
        row = controls[i].row
        if isinstance(row, ShuntRow):
            shunts[row.name] = replace(row, b_mvar=position)
        else:
            transformers[row.name] = _at(rows[row.name], position, controls[i].what)
    return replace(
        case,
        transformers=tuple(transformers.get(row.name, row) for row in case.transformers),
        shunts=tuple(shunts.get(row.name, row) for row in case.shunts),
    )


def _tell(case: Case, flow: PowerFlow, controls: Sequence[_Control], adjust: Sequence[str]) -> None:
    """Warn of what was moved, and of what is outside its band all the same."""
    moved = [c for c in controls if abs(c.at - c.began) > STILL]
    words = f"{len(controls)} controls ({', '.join(adjust)}): {len(moved)} moved"
    words += _listed([f"{c.row.name} {c.began:.6g} to {c.at:.6g}" for c in moved])
    outside = []
    for control, value in zip(controls, _values(case, flow, controls), strict=True):
        low, high = _band(control.row, case.base_mva)
        if not low - INSIDE <= value <= high + INSIDE:
            why = control.stuck or "was still moving"
            outside.append(f"{control.row.name} {value:.5g} for {low:.5g} to {high:.5g} pu: {why}")
    words += f"; {len(outside)} outside their bands" + _listed(outside)
    warn(f"{case.source or case.name}: power flow: {words}")


def _listed(words: Sequence[str]) -> str:
    return f" ({first_few(words, SHOWN, '; ')})" if words else ""
