"""Controls of a two-terminal line with line-commutated converters: CDC4T and CDC6T of PSS/E.

They give the current order of the rectifier, the voltage order of the inverter, and block and bypass. With
the DC voltage v_m of the inverter behind a lag TVDC and the current i_m behind TIDC,

    i_des = P / (v_m + R i_m) of a power at the rectifier (SETVL > 0), P / v_m at the inverter, or the current
    i_ord = max(min(i_des, VDCOL(v_m)), C0)

VDCOL is the line through (V1, C1), (V2, C2), (V3, C3), constant beyond its ends; three zeros are none. Below
VCMOD kV at the inverter a power control holds the current of its start, for at least TCMODE.

Sources: Siemens PTI, PSS/E Model Library, CDC4T and CDC6T; what the values are: the help of PowerWorld on DC
line models; their order and units: the program STEPS (H. Li, Shandong University), which reads both records.
PSS/E takes the currents and voltages that are ordered for reached at once; here the converters' regulators
and the line's inductance reach them, so that a record's times begin where its conditions hold.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Action, Component, Parameter, Terms, flag, nonnegative, positive, whole

POWER, CURRENT = 1, 2
"""What a line holds, as MDC of its RAW record says."""

NORMAL, BLOCKED, RESTARTS = 0.0, 1.0, 2.0
_RESET = 200.0
"""Rate in 1/s at which a blocked line's ramps go back to zero."""
_AT_ONCE = 1e3
"""Rate in pu/s of a restart without ramps."""


def _ac(m: Any, v: Any, end: str) -> Any:
    re, im = getattr(v, f"{end}_re"), getattr(v, f"{end}_im")
    return m.sqrt(re * re + im * im)


def _all(m: Any, *conditions: Any) -> Any:
    """Return what is above zero where all conditions are."""
    return functools.reduce(m.min, conditions)


def _is(m: Any, p: Any, phase: float) -> Any:
    return 0.5 - m.abs(p.phase - phase)


def _then(words: str, condition: Any, delay: Any = "", kind: str = "", **values: float) -> Action:
    """Return the action that gives remembered parameters new values, after a delay by its name."""

    def wait(p: Any) -> Any:
        return delay(p) if callable(delay) else getattr(p, delay) if delay else 0.0

    return Action(words, condition, wait, lambda v, p: values, protects=kind == "block", kind=kind)


def _blocks(condition: Any, delay: str = "") -> Action:
    """Return the action that blocks the line."""

    def holds(m: Any, v: Any, p: Any) -> Any:
        return m.min(condition(m, v, p), -_is(m, p, BLOCKED))

    return _then("blocked", holds, delay, "block", phase=BLOCKED, waited=0.0)


def _bypasses(condition: Any, delay: str = "") -> Action:
    """Return the action that bypasses the inverter."""

    def holds(m: Any, v: Any, p: Any) -> Any:
        return _all(m, condition(m, v, p), _is(m, p, NORMAL), 0.5 - p.bypassed)

    return _then("inverter bypassed", holds, delay, "block", bypassed=1.0, waited=0.0)


def _sound(m: Any, v: Any, p: Any) -> Any:
    """Return what is above zero where the rectifier's AC voltage is back."""
    return _ac(m, v, "u") - p.vunbl


def _waits(what: Any, delay: str) -> Action:
    return _then("", lambda m, v, p: m.min(what(m, p), 0.5 - p.waited), delay, waited=1.0)


def _restarts(sound: Any, restart: Any = "", end: str = "") -> tuple[Action, ...]:
    """Return how a line comes back, with the delays of a restart and of the end of a bypass by name."""
    return (
        _waits(lambda m, p: _is(m, p, BLOCKED), "tblock"),
        _then(
            "restarts",
            lambda m, v, p: _all(m, sound(m, v, p), _is(m, p, BLOCKED), p.waited - 0.5),
            restart,
            "recovery",
            phase=RESTARTS,
            bypassed=0.0,
        ),
        _waits(lambda m, p: m.min(p.bypassed - 0.5, -_is(m, p, BLOCKED)), "tbypas"),
        _then(
            "bypass ends",
            lambda m, v, p: _all(
                m, _ac(m, v, "w") - p.vunby, p.bypassed - 0.5, p.waited - 0.5, -_is(m, p, BLOCKED)
            ),
            end,
            "recovery",
            phase=RESTARTS,
            bypassed=0.0,
        ),
        _then(
            "back at its orders",
            lambda m, v, p: _all(m, v.r_i - 1, v.r_v - 1, _is(m, p, RESTARTS)),
            kind="recovery",
            phase=NORMAL,
        ),
    )


HOLDS_CURRENT = (
    _then(
        "holds its current",
        lambda m, v, p: _all(
            m, p.vcmod / p.v_base - v.v_i, 1.5 - p.mode, _is(m, p, NORMAL), 0.5 - p.held, 0.5 - p.bypassed
        ),
        held=1.0,
        held_long=0.0,
    ),
    _then("", lambda m, v, p: m.min(p.held - 0.5, 0.5 - p.held_long), "tcmode", held_long=1.0),
    _then(
        "holds its power",
        lambda m, v, p: _all(m, v.v_i - p.vcmod / p.v_base, p.held - 0.5, p.held_long - 0.5),
        held=0.0,
    ),
)


def vdcol(m: Any, volts: Any, p: Any) -> Any:
    """Return the current in pu that the voltage-dependent current order limiter allows at a voltage in pu."""
    x = volts * p.v_base
    none = m.where(m.le(p.v3, 0), 1, 0)
    first = p.c1 + (p.c2 - p.c1) * m.max((x - p.v1) / (p.v2 - p.v1 + none), 0)
    second = p.c2 + (p.c3 - p.c2) * m.min((x - p.v2) / (p.v3 - p.v2 + none), 1)
    allowed = m.where(m.ge(x, p.v2), second, first) / p.i_base
    return m.where(m.le(p.v3, 0), 1e6, allowed)


def _ramp(m: Any, p: Any, r: Any, rate: Any) -> Any:
    """Return the rate of a ramp: to 0 while the line does not work, up where it restarts, to 1 else."""
    idle = m.max(p.bypassed, m.where(m.ge(0.5, m.abs(p.phase - BLOCKED)), 1, 0))
    up = m.where(m.ge(p.phase, RESTARTS), m.where(m.le(rate, 0), _AT_ONCE, rate), _RESET * (1 - r))
    return m.where(m.ge(idle, 1), -_RESET * r, up)


def orders(m: Any, v: Any, p: Any, volts: Any) -> tuple[Terms, Terms, Terms]:
    """Return measurements, ramps and orders of a control whose power is that at a measured voltage in pu."""
    held = v.order * (p.mode - POWER) + p.i_set * p.held
    wanted = m.where(m.ge(p.mode + p.held, 1.5), held, v.order / m.max(volts, 0.05))
    restarts = m.where(m.ge(p.phase, RESTARTS), 1, 0)
    cap = p.rscur / p.i_base + v.r_i * p.i_set
    asked = m.min(m.min(wanted, vdcol(m, v.v_m, p)), cap + (1 - restarts) * 1e6)
    least = m.min(p.rsvolt / p.v_base + v.r_v * v.v_set, v.v_set)
    on = m.where(m.ge(m.abs(p.phase - BLOCKED), 0.5), 1, 0)
    return (
        (
            (v.v_i - v.v_m) / p.tvdc,
            (v.i - v.i_m) / p.tidc,
            _ramp(m, p, v.r_i, p.cramp),
            _ramp(m, p, v.r_v, p.vramp),
        ),
        (
            on * m.max(asked, p.c0 / p.i_base) - v.i_ord,
            restarts * least + (1 - restarts) * v.v_set - v.v_ord,
            on - v.on,
            p.bypassed - v.shorted,
        ),
        (),
    )


class CDC4T(Component):
    """Control of a two-terminal line: orders, blocking by the rectifier's AC voltage, bypass by DC voltage.

    ::

        blocks    AC voltage of the rectifier below VBLOCK
        restarts  above VUNBL, TBLOCK after it was blocked: RSCUR + (ramp CRAMP), RSVOLT + (ramp VRAMP)
        bypasses  DC voltage of the inverter below VBYPAS, unless it restarts
        ends      AC voltage of the inverter above VUNBY, TBYPAS after it was bypassed, and restarts

    ALFDY and GAMDY are the smallest angles of its converters. A ramp <= 0 goes back at once. Values are in
    the record's units: degrees, s, pu of AC voltage, kV and A of DC.
    """

    role = "dc_control"
    records: ClassVar[tuple[str, ...]] = (
        "CDC4T alfdy gamdy tvdc tidc vblock vunbl tblock vbypas vunby tbypas rsvolt rscur vramp cramp c0 v1"
        " c1 v2 c2 v3 c3 tcmode",
    )
    states: ClassVar[tuple[str, ...]] = ("v_m", "i_m", "r_i", "r_v")
    algebraic = ("i_ord", "v_ord", "on", "shorted")
    inputs = ("v_r", "v_i", "i", "u_re", "u_im", "w_re", "w_im", "order", "v_set")
    lags: ClassVar[Mapping[str, tuple[str, ...]]] = {"v_m": ("tvdc",), "i_m": ("tidc",)}
    memory: ClassVar[tuple[str, ...]] = (
        *("v_base", "i_base", "mode", "at_rectifier", "r_line", "vcmod", "i_set"),
        *("phase", "waited", "bypassed", "held", "held_long"),
    )

    alfdy = Parameter("deg", "smallest firing angle of the rectifier", positive)
    gamdy = Parameter("deg", "smallest margin angle of the inverter", positive)
    tvdc = Parameter("s", "lag of the measured DC voltage", nonnegative)
    tidc = Parameter("s", "lag of the measured current", nonnegative)
    vblock = Parameter("pu", "AC voltage of the rectifier below which it blocks", nonnegative)
    vunbl = Parameter("pu", "AC voltage of the rectifier above which it restarts", nonnegative)
    tblock = Parameter("s", "time for which it stays blocked at least", nonnegative)
    vbypas = Parameter("kV", "DC voltage of the inverter below which it is bypassed", nonnegative)
    vunby = Parameter("pu", "AC voltage of the inverter above which the bypass ends", nonnegative)
    tbypas = Parameter("s", "time for which it stays bypassed at least", nonnegative)
    rsvolt = Parameter("kV", "DC voltage order from which it restarts", nonnegative)
    rscur = Parameter("A", "current order from which it restarts", nonnegative)
    vramp = Parameter("pu/s", "ramp of the voltage order, <= 0 for none")
    cramp = Parameter("pu/s", "ramp of the current order, <= 0 for none")
    c0 = Parameter("A", "smallest current order", nonnegative)
    v1 = Parameter("kV", "voltage of point 1 of the VDCOL", nonnegative)
    c1 = Parameter("A", "current of point 1 of the VDCOL", nonnegative)
    v2 = Parameter("kV", "voltage of point 2 of the VDCOL", nonnegative)
    c2 = Parameter("A", "current of point 2 of the VDCOL", nonnegative)
    v3 = Parameter("kV", "voltage of point 3 of the VDCOL, 0 for none", nonnegative)
    c3 = Parameter("A", "current of point 3 of the VDCOL", nonnegative)
    tcmode = Parameter("s", "time for which a power control holds its current at least", nonnegative)

    v_base = Parameter("kV", "base of the DC voltages", positive, default=1.0)
    i_base = Parameter("A", "base of the DC currents", positive, default=1.0)
    mode = Parameter("1", "1 holds a power, 2 a current", whole(1, 2), default=2.0)
    at_rectifier = Parameter("1", "whether the power is the rectifier's", flag, default=1.0)
    r_line = Parameter("pu", "resistance of the line", nonnegative, default=0.0)
    vcmod = Parameter("kV", "voltage below which a power control holds its current", nonnegative, default=0.0)
    i_set = Parameter("pu", "current at the start", nonnegative, default=0.0)
    phase = Parameter("1", "0 in normal operation, 1 blocked, 2 restarts", default=0.0)
    waited = Parameter("1", "whether the time of a block or bypass is over", default=0.0)
    bypassed = Parameter("1", "whether the inverter is bypassed", default=0.0)
    held = Parameter("1", "whether a power control holds its current", default=0.0)
    held_long = Parameter("1", "whether it has done so for TCMODE", default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return measurements and ramps, and the orders."""
        return orders(m, v, p, v.v_m + p.at_rectifier * p.r_line * v.i_m)

    actions: ClassVar[tuple[Action, ...]] = (
        _blocks(lambda m, v, p: p.vblock - _ac(m, v, "u")),
        _bypasses(lambda m, v, p: p.vbypas / p.v_base - v.v_i),
        *_restarts(_sound),
        *HOLDS_CURRENT,
    )

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a VDCOL that is no curve, and to thresholds that are the wrong way round."""
        points = [p["v1"], p["v2"], p["v3"]]
        if any(points) and not points[0] < points[1] < points[2]:
            return f"v1, v2, v3 = {points}: must rise; give three zeros for no VDCOL"
        if p["vunbl"] < p["vblock"]:
            return f"vunbl = {p['vunbl']:g}: must be at least vblock = {p['vblock']:g}"
        return None


_FURTHER = "vdeblk tdeblk treblk vinblk tcom vdebyp tdebyp tinreb tunby tvrdc"


class CDC6T(CDC4T):
    """Control of a two-terminal line: CDC4T, with what the inverter sees and with delays.

    ::

        blocks    as CDC4T; also AC voltage of the rectifier below VDEBLK for TDEBLK, and of the inverter
                  below VINBLK, TCOM later (communication)
        restarts  both above VUNBL and VUNBY, for TREBLK, and for TINREB + TCOM
        bypasses  as CDC4T; also AC voltage of the inverter below VDEBYP for TDEBYP
        ends      AC voltage of the inverter above VUNBY for TUNBY

    With TVRDC > 0 a power at the rectifier is that of its own measured voltage.
    """

    records = (f"{CDC4T.records[0].replace('CDC4T', 'CDC6T')} {_FURTHER}",)
    states = (*CDC4T.states, "v_rm")
    lags = {**CDC4T.lags, "v_rm": ("tvrdc",)}

    vdeblk = Parameter("pu", "AC voltage of the rectifier below which it blocks later", nonnegative)
    tdeblk = Parameter("s", "time after which it does", nonnegative)
    treblk = Parameter("s", "time for which the rectifier's voltage is back before a restart", nonnegative)
    vinblk = Parameter("pu", "AC voltage of the inverter below which the line blocks", nonnegative)
    tcom = Parameter("s", "time of communication between the converters", nonnegative)
    vdebyp = Parameter("pu", "AC voltage of the inverter below which it is bypassed later", nonnegative)
    tdebyp = Parameter("s", "time after which it is", nonnegative)
    tinreb = Parameter("s", "time for which the inverter's voltage is back before a restart", nonnegative)
    tunby = Parameter("s", "time for which the inverter's voltage is back before a bypass ends", nonnegative)
    tvrdc = Parameter("s", "lag of the measured DC voltage of the rectifier", nonnegative)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return those of CDC4T, with the rectifier's own voltage for its power."""
        own = p.at_rectifier * m.where(m.le(p.tvrdc, 0), 0, 1)
        volts = own * v.v_rm + (1 - own) * (v.v_m + p.at_rectifier * p.r_line * v.i_m)
        derivatives, residuals, _ = orders(m, v, p, volts)
        return (*derivatives, (v.v_r - v.v_rm) / p.tvrdc), residuals, ()

    actions = (
        _blocks(lambda m, v, p: p.vblock - _ac(m, v, "u")),
        _blocks(lambda m, v, p: p.vdeblk - _ac(m, v, "u"), "tdeblk"),
        _blocks(lambda m, v, p: p.vinblk - _ac(m, v, "w"), "tcom"),
        _bypasses(lambda m, v, p: p.vbypas / p.v_base - v.v_i),
        _bypasses(lambda m, v, p: p.vdebyp - _ac(m, v, "w"), "tdebyp"),
        *_restarts(
            lambda m, v, p: m.min(_sound(m, v, p), _ac(m, v, "w") - p.vunby),
            lambda p: np.maximum(p.treblk, p.tinreb + p.tcom),
            "tunby",
        ),
        *HOLDS_CURRENT,
    )
