"""What devices do by themselves while a run goes on."""

import pytest

from tests.internals import Change, Detection


@pytest.mark.parametrize(("acts_at", "ends"), [(1.0, False), (6.0, True)])
def test_an_event_that_is_still_to_come_leaves_nothing_dead(system, acts_at, ends):
    """At 5 s both lines of bus 5 open; a device acts before, or behind it."""
    opened = Change(5.0, (("line4-5", "status", 0.0), ("line5-7", "status", 0.0)), label="both lines open")
    detection = Detection(system, [opened], islanding=True)
    assert detection.change(Change(acts_at, label="a relay acts")) is ends
    assert (detection.stop.t if ends else detection.stop) == (5.0 if ends else None)
