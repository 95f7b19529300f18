"""Write the devices of plants as PSS/E DYR records: what `psmr.files.psse.dyr` reads."""

from __future__ import annotations

import math
from collections.abc import Mapping

from psmr.base.errors import CaseError
from psmr.devices.catalogue import role_parameters
from psmr.devices.machines import InfiniteBus
from psmr.files.psse.dyr_records import ALIASES, MODELS, component_for, parameters
from psmr.network.case.case import Case
from psmr.network.case.tables import DeviceRow


def dyr_text(case: Case, units: Mapping[str, tuple[int, str]]) -> str:
    """Return the records of all plants' devices, empty where there are none.

    Parameters
    ----------
    case
        The case.
    units
        Bus and identifier of each generator, by its name.

    Raises
    ------
    CaseError
        Naming every device that PSS/E has no model of, or whose parameters its record has no place for.
    """
    records, wrong = [], []
    for generator in case.generators:
        bus, ident = units[generator.name]
        for device in generator.devices:
            try:
                model, values = _record(device)
            except CaseError as error:
                wrong.append(str(error))
                continue
            words = [repr(value) for value in values]
            if model in ALIASES:
                model, words[1] = ALIASES[model], f"'{_second(case, device, units)}'"
            numbers = " ".join(words)
            records.append(f"{bus} '{model}' '{ident}' {numbers} /\n")
    if wrong:
        raise CaseError("; ".join(wrong) + "; keep the case as .toml, or choose other models")
    return "".join(records)


def _second(case: Case, device: DeviceRow, units: Mapping[str, tuple[int, str]]) -> str:
    """Return the identifier of the second machine of a turbine."""
    bus, place = (int(device.parameters[name]) for name in ("bus2", "unit2"))
    return [units[row.name][1] for row in case.generators if row.bus == bus][place - 1]


def _record(device: DeviceRow) -> tuple[str, list[float]]:
    """Return a device's model and the values of its record."""
    if device.type == InfiniteBus.__name__:
        return "GENCLS", [0.0, 0.0]
    wrong = f"{device.place}: PSS/E has no model of {device.type}"
    for model in _MODELS_OF.get(device.type, ()):
        try:
            return model, _values(device, model)
        except CaseError as error:
            wrong = str(error)
    raise CaseError(wrong)


def _values(device: DeviceRow, model: str) -> list[float]:
    """Return the values of a device's record; a CaseError says what has no place in it."""
    component = component_for(model)[1]  # type: ignore[index]
    own = _full(component, device.parameters)
    values: dict[str, float] = {}
    written: list[float] = []
    for name in MODELS[model].split():
        plain, _, fixed = name.partition("=")
        idle = name.startswith("-")
        value = float(fixed) if fixed else 0.0 if idle else _value(plain, own)
        written.append(value)
        if not idle and not fixed:
            values[plain] = value
    # Read back: what the record has no place for would be lost.
    zr, zx = own.get("r_a", own.get("r_e", 0.0)), own.get("x_d1", own.get("x_e", 0.0))
    back = _full(component, parameters(component, values, own.get("s_n", 0.0), zr, zx))
    for name, value in own.items():
        if not math.isclose(back[name], value, rel_tol=1e-12):
            raise CaseError(
                f"{device.place}: {name} = {value:g}: a record of {model} makes it {back[name]:g}"
            )
    return written


def _value(name: str, own: Mapping[str, float]) -> float:
    """Return a value of a record from the component's parameters, the inverse of `psse_models.parameters`."""
    if name == "ta_tb":
        return own["t_a"] / own["t_b"] if own["t_b"] else 0.0
    if name.endswith("_deg"):
        return math.degrees(own[name.removesuffix("_deg")])
    return own[name]


def _full(component: type, given: Mapping[str, float]) -> dict[str, float]:
    """Return all parameters of a device, with the defaults of those not given."""
    defaults = {k: p.default for k, p in role_parameters(component).items() if p.default is not None}
    return defaults | dict(given)


_MODELS_OF: dict[str, list[str]] = {}
"""The models of each component, those declared last first."""
for _model in reversed(tuple(MODELS)):
    if _found := component_for(_model):
        _MODELS_OF.setdefault(_found[1].__name__, []).append(_model)
