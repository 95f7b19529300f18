"""The table of a controller in a file, ``[generator.code]``: read where the person allowed code, and written.

::

    [generator.code]
    library = "plant.so"       # of the IEEE/CIGRE interface, beside this file; or fmu = "plant.fmu"
    mode = "instantaneous"     # what it works on, or "rms"; left out: what the library says
    delay = 0.0                # computing delay in s; offset: time of its first sample
    isolate = false            # whether it runs in a process of its own
    start = "rest.csv"         # where it begins from; written where it is not there yet

    [generator.code.parameters]
    Kp = 1.5                   # those that are not the library's own, by name

    [generator.code.inputs]
    Va = "v_a kV"              # a signal and its unit, with a factor between where there is one, or a number
    Pref = "p_ref MW"

    [generator.code.outputs]
    ma = "e_a 0.6 kV"          # 1 is 0.6 kV of the bridge's phase a
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.base.errors import InputError
from psmr.base.modules import ALLOW
from psmr.files.toml.document import Document, Field, Spec
from psmr.files.toml.lines import Path as TablePath
from psmr.network.case.code import Given, PlantCode
from psmr.network.case.row import DeviceRow
from psmr.sampled.code import FMU, LIBRARY, CodeFile
from psmr.sampled.description import EMT, RMS

_MODES = {"instantaneous": EMT, "rms": RMS}

_CODE: Spec = {
    "name": Field((str,)),
    LIBRARY: Field((str,)),
    FMU: Field((str,)),
    "mode": Field((str,), among=tuple(_MODES)),
    "period": Field((float,)),
    "offset": Field((float,)),
    "delay": Field((float,)),
    "clocks": Field((list[str],)),
    "isolate": Field((bool,)),
    "start": Field((str,)),
    **dict.fromkeys(("parameters", "inputs", "outputs"), Field((dict,))),
}


def read_code(document: Document, place: TablePath, given: Mapping[str, Any], name: str) -> DeviceRow:
    """Return the device of a controller in a file, called `name` where its table does not say.

    Raises the file's error where code is not allowed, before anything is opened, and for what does not fit
    the ports and the parameters of the file.
    """
    values = document.values(place, given, _CODE)
    kinds = [kind for kind in (LIBRARY, FMU) if kind in values]
    if len(kinds) != 1:
        document.fail('give library = "plant.so" or fmu = "plant.fmu", one of them', place)
    kind = kinds[0]
    path = str((document.path.parent / values[kind]).absolute())  # the same file from every folder
    if not document.allow_code:
        document.fail(
            f"{kind} = {values[kind]!r}: reading this file would run {path}; where you trust that code, give"
            f" {ALLOW}",
            place,
            kind,
        )
    for key in {LIBRARY: ("period", "clocks"), FMU: ("mode",)}[kind]:
        if key in values:
            document.fail(f"{key} has no place beside {kind}", place, key)
    parameters = _parameters(document, (*place, "parameters"), values.get("parameters", {}))
    where = document.where(place)
    period, clocks = values.get("period"), tuple(values.get("clocks", ()))
    isolate, start = values.get("isolate", False), values.get("start", "")
    start = str((document.path.parent / start).absolute()) if start else ""
    mode = _MODES.get(values.get("mode", ""), 0)
    file = CodeFile(path, kind, mode, parameters, isolate, period, clocks, start, where).allowed()
    tables = [_ports(document, (*place, what), values.get(what, {})) for what in ("inputs", "outputs")]
    try:
        info = file.opened().info
        file.instance("")  # what is wrong with its parameters
        code = PlantCode(file, *tables)
        code.check()
    except document.error:
        raise
    except InputError as error:
        document.fail(str(error), place)
    times = {"T": info.period, "T_0": values.get("offset", 0.0)}
    ahead = kind == FMU and not file.opened().scheduled  # its outputs are those at the end of its step
    times["T_d"] = values.get("delay", info.period if ahead else 0.0)
    return DeviceRow(values.get("name", name), "code", "Controller", times, code=code, where=where)


def _parameters(
    document: Document, place: TablePath, given: Mapping[str, Any]
) -> tuple[tuple[str, float | str], ...]:
    kinds = Field((int, float, str))
    return tuple(document.values(place, given, dict.fromkeys(given, kinds)).items())


def _ports(
    document: Document, place: TablePath, given: Mapping[str, Any]
) -> tuple[tuple[str, tuple[Given, ...]], ...]:
    """Return what a table says of each port, one of several values by a list."""
    found = []
    for port, value in given.items():
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if not isinstance(part, str | int | float) or isinstance(part, bool):
                document.fail(
                    f'{port}: must be a number, or a signal and its unit, as in "v_a kV"', place, port
                )
        found.append((port, tuple(parts)))
    return tuple(found)


def code_tables(device: DeviceRow, name: str) -> dict[str, dict[str, Any]]:
    """Return the tables of a controller by the ends of their names, as `read_code` reads them."""
    code = device.code
    assert code is not None
    file, p = code.file, device.parameters
    head: dict[str, Any] = {} if device.name == name else {"name": device.name}
    head[file.kind] = file.path
    if file.mode:
        head["mode"] = next(word for word, mode in _MODES.items() if mode == file.mode)
    head |= {"delay": p["T_d"], "offset": p["T_0"]}
    head |= {} if file.period is None else {"period": file.period}
    head |= {"clocks": list(file.clocks)} if file.clocks else {}
    head |= {"isolate": True} if file.isolate else {}
    head |= {"start": file.start} if file.start else {}
    tables = {"": head, ".parameters": dict(file.parameters)}
    for what, ports in ((".inputs", code.inputs), (".outputs", code.outputs)):
        tables[what] = {port: values[0] if len(values) == 1 else list(values) for port, values in ports}
    return {end: values for end, values in tables.items() if values}
