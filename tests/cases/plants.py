"""Generators with every parameter that may be left out filled in, so that two formats can be compared."""

import dataclasses

from tests.internals import component_named, defaults


def filled(generator):
    """Return a generator whose devices have all parameters."""
    devices = (
        dataclasses.replace(
            device, parameters=defaults(component_named(device.role, device.type)) | dict(device.parameters)
        )
        for device in generator.devices
    )
    return dataclasses.replace(generator, devices=tuple(devices))
