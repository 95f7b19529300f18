"""The list of all models, from the catalogue of components and the layouts of PSS/E's records."""

import inspect
from collections.abc import Iterable, Mapping

from psmr.dae.declare.component import Component, flag
from psmr.devices.catalogue import (
    AREA_ROLES,
    DC_ROLES,
    DYNAMIC,
    LOAD_ROLES,
    NETWORK,
    RELAY_ROLES,
    ROLES,
    SHUNT_ROLES,
    TRANSFORMER_ROLES,
    role_parameters,
)
from psmr.files.psse.dyr_entries import ALIASES, LOAD_RECORDS, MODELS, SCOPES, component_for
from psmr.files.psse.dyr_entries import LOAD_COMPONENTS as LOADS
from psmr.files.psse.dyr_loads import STATIC_VAR_RECORDS as SYSTEMS
from psmr.files.psse.dyr_relays import RECORDS as RELAYS
from psmr.files.psse.dyr_transformers import RECORDS as TAP_CHANGERS

HEADS = ("model", "what it is", "PSS/E record", "states", "switches", "limits of the record")


def groups() -> Mapping[str, tuple[type[Component], ...]]:
    """Return every component by what it is in a case."""
    loads = {f"load: {role}": kinds for role, kinds in LOAD_ROLES.items()}
    network = {"network and static loads": NETWORK, "network with its own dynamics": DYNAMIC}
    shunts = {f"shunt: {role.replace('_', ' ')}": kinds for role, kinds in SHUNT_ROLES.items()}
    areas = {role.replace("_", " "): kinds for role, kinds in AREA_ROLES.items()}
    direct = {role.replace("dc_", "direct current: "): kinds for role, kinds in DC_ROLES.items()}
    return {**network, **ROLES, **loads, **shunts, **TRANSFORMER_ROLES, **RELAY_ROLES, **areas, **direct}


def records() -> dict[type[Component], list[str]]:
    """Return the names of the DYR records that become each component."""
    found: dict[type[Component], list[str]] = {}
    for model in MODELS:
        known = component_for(model)
        assert known is not None, f"{model}: a record without a component"
        found.setdefault(known[1], []).append(ALIASES.get(model, model))
    by_name = {kind.__name__: kind for kinds in groups().values() for kind in kinds}
    for model, names in LOADS.items():
        for name in names:
            found.setdefault(by_name[name], []).append(model)
    for model, names in {**RELAYS, **SYSTEMS, **TAP_CHANGERS}.items():
        for name in names:
            found.setdefault(by_name[name], []).append(model)
    return found


def count() -> int:
    """Return the number of kinds of PSS/E record, those of loads once for all whom they are for."""
    relays = {model[:-2] if model[-2:] in SCOPES else model for model in RELAYS}
    return len({*MODELS} - {*ALIASES}) + len(LOADS) + len(relays) + len(SYSTEMS) + len(TAP_CHANGERS) // 2


def options(kind: type[Component]) -> list[str]:
    """Return the parameters that switch parts of a component on and off or choose between them."""
    declared = role_parameters(kind)
    switches = [name for name, parameter in declared.items() if parameter.check is flag]
    return switches + [name for name in kind.structural if name in declared and name not in switches]


def sentence(kind: type[Component]) -> str:
    """Return the first sentence of a component's documentation, without where the rest of it stands."""
    first = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    return first.partition("; ")[0].rstrip(".").replace("|", "\\|")


def limits(values: Iterable[str]) -> str:
    """Return which values of a layout must be as given, and which are passed over."""
    fixed = [value.replace("=", " = ") for value in values if "=" in value]
    passed = [value.removeprefix("-") for value in values if value.startswith("-")]
    parts = [("only with ", fixed), ("passed over: ", passed)]
    return "; ".join(words + ", ".join(f"`{name}`" for name in names) for words, names in parts if names)


def table(kinds: Iterable[type[Component]], pages: Mapping[type[Component], str]) -> str:
    """Return the Markdown table of some components; `pages` says where each one's equations are."""
    known, rows = records(), []
    for kind in kinds:
        layouts = [MODELS[m] if m in MODELS else LOAD_RECORDS.get(m, "") for m in _layouts(kind, known)]
        values = [value for layout in layouts for value in layout.split()]
        rows.append(
            (
                f"[{kind.__name__}]({pages[kind]}#{kind.__name__.lower()})",
                sentence(kind),
                ", ".join(known.get(kind, ())),
                str(len(kind.states)),
                ", ".join(f"`{name}`" for name in options(kind)),
                limits(values),
            )
        )
    # A column that says nothing of any of them is left out.
    kept = [k for k in range(len(HEADS)) if any(row[k] for row in rows)]
    lines = [
        tuple(HEADS[k] for k in kept),
        ("---",) * len(kept),
        *(tuple(row[k] for k in kept) for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _layouts(kind: type[Component], known: Mapping[type[Component], list[str]]) -> list[str]:
    """Return the records whose values are those of a component, under the names of the layouts."""
    own = [alias for alias in ALIASES if (found := component_for(alias)) and found[1] is kind]
    return own or known.get(kind, [])
