"""What devices do by themselves while a run goes on."""

import pytest

from tests.internals import Change, DeadParts, Detection, first_span, span_after

OPEN = (("line4-5", "status", 0.0), ("line5-7", "status", 0.0))


@pytest.mark.parametrize(("opened", "ends"), [(OPEN[:1], False), (OPEN, True)])
def test_a_device_that_leaves_buses_without_a_source_ends_the_run(system, opened, ends):
    """Bus 5 hangs at two lines."""
    detection, service = Detection(system, islanding=True), DeadParts(system)
    first = first_span(system, service)
    detection.begin(first)
    acts = Change(1.0, opened, label="a relay acts")
    assert detection.stops_before(span_after(system, first, 1.0, [acts], service)) is ends
    assert (detection.stop.t if ends else detection.stop) == (1.0 if ends else None)
