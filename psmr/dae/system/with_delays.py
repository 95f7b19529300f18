"""A system in which some inputs are read as they were some time ago: delays of measurements and channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError, nearest, shown
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System


def with_delays(system: System, delays: Mapping[str, float]) -> System:
    """Return a system, at the same equilibrium, in which inputs of devices are read with a delay.

    Parameters
    ----------
    system
        From `psmr.build` or `psmr.assemble`, at rest.
    delays
        Delay in s by ``"device.input"``, for instance ``{"PSS2.omega": 0.1}``. ``"AVR1.v"`` is the voltage
        that AVR1 measures, its inputs v_re and v_im. A delay of 0 takes one away.

    Raises
    ------
    InputError
        For a device or input that is not there, with the nearest one, an input that reads no signal, and a
        delay that is not a finite time of at least 0.
    """
    check_arguments(with_delays, locals())
    devices = {device.name: device for device in system.devices}
    for name, tau in delays.items():
        if not isinstance(name, str) or "." not in name:
            raise InputError(f'delays: {shown(name)}: must be "device.input", for instance "AVR1.v"')
        owner, _, port = name.rpartition(".")
        if owner not in devices:
            raise InputError(f"delays: {name!r}: there is no device {owner!r}{nearest(owner, devices)}")
        device = devices[owner]
        inputs = device.component.inputs
        pair = (f"{port}_re", f"{port}_im")
        ports = pair if port not in inputs and set(pair) <= set(inputs) else (port,)
        devices[owner] = replace(device, delays={**device.delays, **dict.fromkeys(ports, tau)})
    names = (*system.names_x, *system.names_y, *system.names_u)
    start = dict(zip(names, map(float, system.w0[:-1]), strict=True))
    kept = {f"{d.name}.{port}" for d in devices.values() for port in d.held}
    start = {n: value for n, value in start.items() if n not in system.names_u or n in kept}
    found = assemble(tuple(devices.values()), start, name=system.name)
    return replace(found, w0=found.buffer(t=float(system.w0[-1])))
