"""Places of limiters at every exciter: open gates and signals of zero leave its equations as they are."""

from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest

from psmr.errors import InputError
from tests.devices.library import PARAMETERS
from tests.internals import LIMITS, ROLES, NumericMath, limited


def gates_of(exciter):
    """Kinds of limiters and codes of an exciter's gates, and of the error."""
    for kind, (_, signals) in LIMITS.items():
        for code in range(1, 6):
            try:
                yield kind, signals, code, limited(exciter, ((kind, code),))
            except InputError:
                assert code > 1


def test_open_gates_and_signals_of_zero_are_no_limiter():
    """Of every exciter, kind of limiter and place, term by term; and a signal that acts changes it."""
    generator, places = np.random.default_rng(3), 0
    for exciter in (kind for kind in ROLES["exciter"] if hasattr(kind, "place")):
        parameters = PARAMETERS[exciter]
        names = (*exciter.states, *exciter.algebraic, *exciter.inputs)
        values = dict(zip(names, generator.uniform(0.5, 1.5, len(names)), strict=True))

        def terms(kind, values, p=parameters):
            found = kind.equations(NumericMath, SimpleNamespace(**values), SimpleNamespace(**p))
            return [float(term) for term in chain(*found)]

        plain = terms(exciter, values)
        for kind, signals, code, beside in gates_of(exciter):
            far = 1e6 if code > 1 else 0.0
            none = {name: -far if name.endswith("uel") else far for name in signals}
            where = f"{exciter.__name__}, {kind}, {code}"
            assert terms(beside, values | none) == pytest.approx(plain, rel=1e-12), where
            # A signal at the error may meet a limit behind it on one side.
            acting = [dict.fromkeys(signals, value) for value in (-5.0, -0.1, 0.1, 5.0)]
            if code > 1:
                acting = [{name: -value for name, value in none.items()}]
            changed = [terms(beside, values | signal) for signal in acting]
            assert any(found != pytest.approx(plain, rel=1e-9) for found in changed), where
            places += 1
    assert places > 100
