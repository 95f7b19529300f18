"""Components of the user's own that a case, a study or a program names by their modules."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from psmr.base.errors import CaseError, InputError, nearest, warn
from psmr.base.modules import line_of, load_modules
from psmr.dae.compile.sample_kernels import traced_sampling
from psmr.dae.compile.trace import trace
from psmr.dae.declare.component import Component, local_variables, parameters_of
from psmr.dae.declare.sampling import check_sampled, samplings
from psmr.devices.catalogue import components, own_components
from psmr.devices.placement import placement


@dataclass(frozen=True)
class UserComponents:
    """The names of modules, and the components in them by name; whether others that a file names may be."""

    modules: tuple[str, ...] = ()
    kinds: Mapping[str, type[Component]] = field(default_factory=dict)
    allow_code: bool = False


NONE = UserComponents()


def load_user_components(
    modules: Iterable[str], folders: Iterable[Path], where: str, allowed: bool
) -> UserComponents:
    """Return the components in modules, which are imported; see `psmr.base.modules.load_modules`.

    Raises CaseError for modules that may not be imported, one that is not there or does not import, and a
    component whose equations cannot be read. Warns of a component with the name of one of psmr's, whose place
    it takes.
    """
    names = tuple(dict.fromkeys(modules))
    if not names:
        return NONE
    try:
        kinds = own_components(load_modules(names, folders, where, allowed))
    except InputError as error:
        raise CaseError(str(error)) from error
    for kind in kinds.values():
        if placement(kind).role and not kind.structural:
            _check(kind)
    for name in sorted(kinds.keys() & {kind.__name__ for kind in components()}):
        warn(f"{where}: {name} is that of the module {kinds[name].__module__}, in place of psmr's")
    return UserComponents(names, kinds)


def _check(kind: type[Component]) -> None:
    """Raise CaseError for equations that cannot be evaluated, or are more or fewer than is declared."""
    path = Path(getattr(sys.modules[kind.__module__], "__file__", None) or kind.__module__)
    function = "equations"
    try:
        check_sampled(kind)
        trace(kind)
        for sampling in samplings(kind):
            function = "reads" if sampling.external else "sample"
            traced_sampling(kind, sampling)
    except InputError as error:
        raise CaseError(f"{path}: {error}") from error
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        if isinstance(error, AttributeError) and isinstance(error.obj, SimpleNamespace):
            known = (*local_variables(kind), *parameters_of(kind))
            words = f"there is no variable or parameter {error.name!r}{nearest(str(error.name), known)}"
        raise CaseError(f"{path}:{line_of(error, path)}: {kind.__name__}.{function}: {words}") from error
