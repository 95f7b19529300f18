"""A system as matrices between named inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.state_space import StateSpace
from psmr.dae.system.system import System
from psmr.network.signals.inputs import chosen_inputs
from psmr.network.signals.outputs import OutputRows, rate_rows
from psmr.network.signals.signals import Signals, quantity, unit_of, units_of


def state_space(
    system: System,
    inputs: str | Iterable[str],
    outputs: str | Iterable[str],
    linear: LinearDae | None = None,
) -> StateSpace:
    """Return the system linearised at its starting point; see `psmr.System.state_space`.

    Parameters
    ----------
    system, inputs, outputs
        See there.
    linear
        The linearisation where it is another one than `system.linearise()`: that in a turning frame.
    """
    check_arguments(state_space, locals())
    w, size = system.w0, system.n + system.m
    linear = system.linearise() if linear is None else linear
    signals = Signals.of(system)
    named = {outputs} if isinstance(outputs, str) else set(outputs)
    unbalanced = set(signals.unbalanced) - named  # those that only a pattern means
    chosen = tuple(name for name in signals.select(outputs) if name not in unbalanced)
    expansion = signals.expansion(chosen)
    names = expansion.names
    given = chosen_inputs(system, w, inputs)
    b = sparse.csc_array(given.columns)
    b.data[system.held_at_limits(w)[b.indices]] = 0.0

    places = list(given.parameters.values())
    rows = OutputRows(system, w, signals, places).matrix(names)
    direct = np.zeros((len(names), len(given.names)))
    for k, position in given.held.items():
        direct[:, k] = rows[:, [position]].toarray()[:, 0]
    for number, k in enumerate(given.parameters):
        direct[:, k] = rows[:, [len(w) + number]].toarray()[:, 0]
    c, with_rate = sparse.csr_array(rows[:, :size]), np.zeros_like(direct)
    late = sparse.csr_array(rows[:, [delay.input for delay in system.delays]])

    turning = [k for k, name in enumerate(names) if signals.computed(name) and _is_frequency(name)]
    if turning:
        if system.delays:
            raise InputError(
                f"outputs: {names[turning[0]]} is the rate of an angle, which with delays has the rates of "
                "what is read late; take the angle: at f in Hz its gain in rad times j f is that of the "
                "frequency"
            )
        slopes = rate_rows(linear, b, c[turning], direct[turning])
        hertz = [part / (2 * np.pi) for part in slopes]
        c = c.tolil()
        c[turning] = hertz[0]
        c, direct[turning], with_rate[turning] = sparse.csr_array(c), hertz[1], hertz[2]
    units, factors = units_of(system), expansion.matrix()
    return StateSpace(
        linear=linear,
        b=b,
        c=sparse.csr_array(sparse.csr_array(factors) @ c),
        c_late=sparse.csr_array(sparse.csr_array(factors) @ late),
        d=factors @ direct,
        d_rate=factors @ with_rate,
        inputs=given.names,
        outputs=chosen,
        input_units=given.units,
        output_units=tuple(unit_of(signals, units, name) for name in chosen),
        name=system.name,
    )


def _is_frequency(name: str) -> bool:
    return quantity(name) in ("frequency", "coi_frequency")
