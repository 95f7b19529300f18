"""What a release is compared with, and the least of what was measured."""

import re

from tests.programs.benchmarks.release import __main__ as release


class Fake:
    def __init__(self, *seconds):
        self.seconds = list(seconds)

    def run(self, study):
        return self.seconds.pop(0)


def test_a_whole_commit_is_stored_with_its_release():
    commit, name = release.compared_with()
    assert re.fullmatch("[0-9a-f]{40}", commit)
    assert re.fullmatch(r"\d+\.\d+\.\d+", name)


def test_the_least_of_each_version_counts():
    assert release.least((Fake(0.3, 0.2, 0.4), Fake(0.2, 0.5, 0.6)), "a study", 3) == (0.2, 0.2)


def test_long_studies_are_run_four_times():
    versions = Fake(*[5.0] * 9), Fake(*[6.0] * 9)
    assert release.least(versions, "a study", release.TIMES) == (5.0, 6.0)
    assert len(versions[0].seconds) == 5
