"""What devices do by themselves while a run goes on."""

import pytest

from tests.internals import Change, DeadParts, Detection, first_span

OPEN = (("line4-5", "status", 0.0), ("line5-7", "status", 0.0))


@pytest.mark.parametrize(("opened", "ends"), [(OPEN[:1], False), (OPEN, True)])
def test_a_device_that_leaves_buses_without_a_source_ends_the_run(system, opened, ends):
    """Bus 5 hangs at two lines."""
    detection = Detection(system, islanding=True)
    detection.begin(first_span(system, DeadParts(system)))
    assert detection.change(Change(1.0, opened, label="a relay acts")) is ends
    assert (detection.stop.t if ends else detection.stop) == (1.0 if ends else None)
